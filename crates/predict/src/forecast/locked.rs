//! Traced program with its locks. The hold time of each lock follows from its waits. If the run
//! with one CPU per thread waited for the same lock, those waits take precedence.

use super::evidence::Evidence;
use super::traced::TracedProgram;
use crate::demand::{LockUse, calibrated, with_locks};
use crate::replay::{Inflation, Program};

/// Number of points per lock at which its users take it.
const POINTS: u32 = 2000;

/// Number of waits in the run with one CPU per thread that carries as much information as any
/// number of waits in an oversubscribed run. Waits under oversubscription also depend on preemption
/// by the scheduler, which differs between kernels.
const AS_MANY: f64 = 20.0;

/// Program and its locks.
pub(super) struct Locked {
    /// Locks with the shares for the replay, in the order of the program's own list.
    pub(super) locks: Vec<LockUse>,
    /// Program with its locks inserted, for the replay.
    pub(super) whole: Program,
}

/// Growth of a lock's hold time per busy CPU beyond the traced ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Growth {
    /// Mean growth, as a share of the hold time in the traced run.
    pub(super) mean: f64,
    /// Standard error of the mean growth.
    pub(super) deviation: f64,
}

impl Locked {
    /// Calibrates the locks of `program`, which is one of the evidence's programs.
    pub(super) fn of(evidence: &Evidence, program: &TracedProgram, inflation: Inflation) -> Self {
        let mut locks = told_by_waits(program, inflation);
        let roomy = evidence.own_program(program.cpus).filter(|own| own.n != program.n);
        if let Some(roomy) = roomy.filter(|own| own.cpus > 1 && !own.locks.is_empty()) {
            let known = told_by_waits(roomy, inflation);
            for (place, lock) in locks.iter_mut().enumerate() {
                let Some(same) = same_lock(program, place, roomy) else { continue };
                if lock.share == 0.0 || known[same].share == 0.0 {
                    continue;
                }
                let waits = f64::from(known[same].waits);
                let weight = waits / (waits + AS_MANY);
                lock.share = known[same].share.powf(weight) * lock.share.powf(1.0 - weight);
            }
        }
        let whole = with_locks(&program.demands.program, &locks, POINTS);
        Self { locks, whole }
    }

    /// Program with only the given locks, on other demands.
    pub(super) fn with(demands: &Program, locks: &[LockUse]) -> Program {
        with_locks(demands, locks, POINTS)
    }
}

/// Locks of a traced run, with the shares at which a replay waits as long as the trace.
fn told_by_waits(of: &TracedProgram, inflation: Inflation) -> Vec<LockUse> {
    calibrated(&of.demands.program, &of.locks, &of.machine(of.cpus, inflation), POINTS)
}

/// Growth of each lock of `program`. It compares the lock's shares in two runs with one CPU per
/// thread: on the same number of CPUs, and on the next smaller traced count.
pub(super) fn growth(
    evidence: &Evidence,
    program: &TracedProgram,
    inflation: Inflation,
) -> Vec<Option<Growth>> {
    let own = |cpus: u32| evidence.own_program(cpus).filter(|own| !own.locks.is_empty());
    let counts = evidence.points.iter().map(|point| point.cpus);
    let fewer =
        counts.filter(|cpus| (2..program.cpus).contains(cpus)).filter_map(own).max_by_key(|own| own.cpus);
    let Some((most, fewer)) = own(program.cpus).zip(fewer) else { return vec![None; program.locks.len()] };
    let [shares, before] = [most, fewer].map(|own| told_by_waits(own, inflation));
    let of_lock = |place: usize| {
        let here = &shares[same_lock(program, place, most)?];
        let there = &before[same_lock(program, place, fewer)?];
        // Zero share: the lock is only held across waits, so its hold time does not grow with the
        // CPUs.
        if here.share == 0.0 || there.share == 0.0 {
            return None;
        }
        let apart = f64::from(most.cpus - fewer.cpus);
        let ratio = there.share / here.share;
        // Waits grow with the square of a small share, so the share's relative error is half that
        // of the waits.
        let chance = 0.5 * (1.0 / f64::from(here.waits) + 1.0 / f64::from(there.waits)).sqrt();
        let deviation = ratio * chance.hypot(SHARE_ERROR) / apart;
        Some(Growth { mean: (1.0 - ratio) / apart, deviation })
    };
    (0..program.locks.len()).map(of_lock).collect()
}

/// Relative error of a ratio of shares that come from waits, for any number of waits: the turns are
/// not quite exponential.
const SHARE_ERROR: f64 = 0.1;

/// Index of the same lock in another run of the program: the lock at the same address, otherwise
/// the only lock with its name. Addresses change from run to run. A name contains an address when
/// nothing better is known.
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
