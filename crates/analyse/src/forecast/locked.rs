//! A traced program with its locks: how long each is held follows from its waits, and where the same lock was waited for in the run
//! that had a CPU for each thread, from those waits first.

use super::ensemble::machine;
use super::evidence::{Evidence, TracedProgram};
use crate::demand::{LockUse, calibrated, with_locks};
use crate::replay::{Inflation, Program};

/// Points of each lock at which its users take it.
const POINTS: u32 = 2000;

/// Waits that tell as much with a CPU for each thread as any number with more threads than CPUs: those also depend on whom the
/// scheduler takes the CPU from, which differs from kernel to kernel.
const AS_MANY: f64 = 20.0;

/// A program and its locks.
pub(super) struct Locked {
    /// With the shares that are replayed, in the order of the program's own list.
    pub(super) locks: Vec<LockUse>,
    /// What is replayed.
    pub(super) whole: Program,
}

impl Locked {
    /// Of `program`, which is one of the evidence.
    pub(super) fn of(evidence: &Evidence, program: &TracedProgram, inflation: Inflation) -> Self {
        let calibrated = |of: &TracedProgram| {
            calibrated(&of.demands.program, &of.locks, &machine(of, of.cpus, inflation), POINTS)
        };
        let mut locks = calibrated(program);
        let roomy = evidence.own_program(program.cpus).filter(|own| own.n != program.n);
        if let Some(roomy) = roomy.filter(|own| own.cpus > 1 && !own.locks.is_empty()) {
            let known = calibrated(roomy);
            for (place, lock) in locks.iter_mut().enumerate() {
                let Some(same) = same_lock(program, place, roomy) else { continue };
                let waits = f64::from(known[same].waits);
                let weight = waits / (waits + AS_MANY);
                lock.share = known[same].share.powf(weight) * lock.share.powf(1.0 - weight);
            }
        }
        let whole = with_locks(&program.demands.program, &locks, POINTS);
        Self { locks, whole }
    }

    /// With these of its locks alone, and other demands.
    pub(super) fn with(demands: &Program, locks: &[LockUse]) -> Program {
        with_locks(demands, locks, POINTS)
    }
}

/// Which of the locks of another run of the program is the lock at this place: one at the same address, else the only one with its
/// name. Addresses change from run to run, names hold an address where nothing better is known.
fn same_lock(program: &TracedProgram, place: usize, other: &TracedProgram) -> Option<usize> {
    let lock = &program.locks[place];
    let at_address = other.locks.iter().position(|of| of.lock == lock.lock && of.policy == lock.policy);
    let named = |of: &TracedProgram| -> Vec<usize> {
        let same = |at: &usize| {
            of.locks[*at].policy == lock.policy && of.lock_names[*at] == program.lock_names[place]
        };
        (0..of.locks.len()).filter(same).collect()
    };
    at_address.or_else(|| match (named(program).as_slice(), named(other).as_slice()) {
        ([_], [only]) => Some(*only),
        _ => None,
    })
}
