//! A traced program with its locks: how long each is held follows from its waits, and where the same lock was waited for in the run
//! that had a CPU for each thread, from those waits first.

use super::evidence::Evidence;
use super::traced::TracedProgram;
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

/// How much longer a lock is held for each busy CPU beyond those traced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Growth {
    /// As a share of how long it was held there.
    pub(super) mean: f64,
    /// The standard error of that.
    pub(super) deviation: f64,
}

impl Locked {
    /// Of `program`, which is one of the evidence.
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

    /// With these of its locks alone, and other demands.
    pub(super) fn with(demands: &Program, locks: &[LockUse]) -> Program {
        with_locks(demands, locks, POINTS)
    }
}

/// The locks of a traced run with the shares for which a replay waits as long.
fn told_by_waits(of: &TracedProgram, inflation: Inflation) -> Vec<LockUse> {
    calibrated(&of.demands.program, &of.locks, &of.machine(of.cpus, inflation), POINTS)
}

/// Of each lock of `program`: from its shares in the runs with a CPU for each thread on as many CPUs and on the next fewer with a trace.
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
        // What is held across waits alone grows with no CPU.
        if here.share == 0.0 || there.share == 0.0 {
            return None;
        }
        let apart = f64::from(most.cpus - fewer.cpus);
        let ratio = there.share / here.share;
        // Waits grow with the square of a small share.
        let chance = 0.5 * (1.0 / f64::from(here.waits) + 1.0 / f64::from(there.waits)).sqrt();
        let deviation = ratio * chance.hypot(SHARE_ERROR) / apart;
        Some(Growth { mean: (1.0 - ratio) / apart, deviation })
    };
    (0..program.locks.len()).map(of_lock).collect()
}

/// What a ratio of shares by their waits may be off by, however many there are: turns are not quite exponential.
const SHARE_ERROR: f64 = 0.1;

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
