//! Traced program with its locks. The hold time of each lock follows from its waits. If the run
//! with one CPU per thread waited for the same lock, those waits take precedence.

use super::evidence::{Evidence, measured_program};
use super::traced_program::TracedProgram;
use crate::demand::{LockUse, add_locks, calibrate_locks};
use crate::replay::{Inflation, Program};

/// Number of points per lock at which its users take it.
const HOLD_POINTS: u32 = 2000;

/// Number of waits in the run with one CPU per thread that carries as much information as any
/// number of waits in an oversubscribed run. Waits under oversubscription also depend on preemption
/// by the scheduler, which differs between kernels.
const FULL_WEIGHT_WAITS: f64 = 20.0;

/// Program and its locks.
pub(super) struct LockedProgram {
    /// Locks with the shares for the replay, in the order of the program's own list.
    pub(super) locks: Vec<LockUse>,
    /// Program with its locks inserted, for the replay.
    pub(super) program: Program,
}

/// Growth of a lock's hold time per busy CPU beyond the traced ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HoldGrowth {
    /// Mean growth, as a share of the hold time in the traced run.
    pub(super) mean: f64,
    /// Standard error of the mean growth.
    pub(super) deviation: f64,
}

impl LockedProgram {
    /// Calibrates the locks of `program`. `dedicated` is the run of the measured configuration on
    /// the same CPUs, if it is another run.
    pub(super) fn calibrate(
        program: &TracedProgram,
        dedicated: Option<&TracedProgram>,
        inflation: Inflation,
    ) -> Self {
        let mut locks = calibrate_from_waits(program, inflation);
        if let Some(dedicated) = dedicated.filter(|own| own.cpus > 1 && !own.locks.is_empty()) {
            let known = calibrate_from_waits(dedicated, inflation);
            for (index, lock) in locks.iter_mut().enumerate() {
                let Some(other_index) = same_lock(program, index, dedicated) else { continue };
                if lock.share == 0.0 || known[other_index].share == 0.0 {
                    continue;
                }
                let waits = f64::from(known[other_index].waits);
                let weight = waits / (waits + FULL_WEIGHT_WAITS);
                lock.share = known[other_index].share.powf(weight) * lock.share.powf(1.0 - weight);
            }
        }
        let program = add_locks(&program.demands.program, &locks, HOLD_POINTS);
        Self { locks, program }
    }

    /// Program with only the given locks, on other demands.
    pub(super) fn insert_locks(demands: &Program, locks: &[LockUse]) -> Program {
        add_locks(demands, locks, HOLD_POINTS)
    }
}

/// Locks of a traced run, with the shares at which a replay waits as long as the trace.
fn calibrate_from_waits(program: &TracedProgram, inflation: Inflation) -> Vec<LockUse> {
    calibrate_locks(
        &program.demands.program,
        &program.locks,
        &program.machine(program.cpus, inflation),
        HOLD_POINTS,
    )
}

/// Growth of each lock of `program`. It compares the lock's shares in two runs with one CPU per
/// thread: on the same number of CPUs, and on the next smaller traced count.
pub(super) fn hold_growth(
    evidence: &Evidence,
    program: &TracedProgram,
    inflation: Inflation,
) -> Vec<Option<HoldGrowth>> {
    let own = |cpus: u32| measured_program(evidence, cpus).filter(|own| !own.locks.is_empty());
    let counts = evidence.points.iter().map(|point| point.cpus);
    let fewer =
        counts.filter(|cpus| (2..program.cpus).contains(cpus)).filter_map(own).max_by_key(|own| own.cpus);
    let Some((most, fewer)) = own(program.cpus).zip(fewer) else { return vec![None; program.locks.len()] };
    let [shares, before] = [most, fewer].map(|own| calibrate_from_waits(own, inflation));
    let lock_growth = |index: usize| {
        let larger = &shares[same_lock(program, index, most)?];
        let smaller = &before[same_lock(program, index, fewer)?];
        // Zero share: the lock is only held across waits, so its hold time does not grow with the
        // CPUs.
        if larger.share == 0.0 || smaller.share == 0.0 {
            return None;
        }
        let cpu_difference = f64::from(most.cpus - fewer.cpus);
        let ratio = smaller.share / larger.share;
        // Waits grow with the square of a small share, so the share's relative error is half that
        // of the waits.
        let chance = 0.5 * (1.0 / f64::from(larger.waits) + 1.0 / f64::from(smaller.waits)).sqrt();
        let deviation = ratio * chance.hypot(SHARE_ERROR) / cpu_difference;
        Some(HoldGrowth { mean: (1.0 - ratio) / cpu_difference, deviation })
    };
    (0..program.locks.len()).map(lock_growth).collect()
}

/// Relative error of a ratio of shares that come from waits, for any number of waits: the turns are
/// not quite exponential.
const SHARE_ERROR: f64 = 0.1;

/// Relative error of a lock's hold time, which comes from its waits: they grow with the square of a
/// small share. Holds across waits are in the trace, so their time is known.
pub(super) fn share_error(lock: &LockUse) -> f64 {
    if lock.share == 0.0 { 0.0 } else { (0.5 / f64::from(lock.waits.max(1)).sqrt()).hypot(SHARE_ERROR) }
}

/// Index of the same lock in another run of the program: the lock at the same address, otherwise
/// the only lock with its name. Addresses change from run to run. A name contains an address when
/// nothing better is known.
fn same_lock(program: &TracedProgram, index: usize, other: &TracedProgram) -> Option<usize> {
    let lock = &program.locks[index];
    let at_address = other.locks.iter().position(|other| other.id == lock.id && other.policy == lock.policy);
    let same_name = |searched: &TracedProgram| -> Vec<usize> {
        let same = |at: &usize| {
            searched.locks[*at].policy == lock.policy && searched.lock_names[*at] == program.lock_names[index]
        };
        (0..searched.locks.len()).filter(same).collect()
    };
    at_address.or_else(|| match (same_name(program).as_slice(), same_name(other).as_slice()) {
        ([_], [only]) => Some(*only),
        _ => None,
    })
}
