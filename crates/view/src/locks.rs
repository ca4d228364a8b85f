//! Derived view of a study of locks, as `morecores show --json` prints it, and the spin bound of a
//! machine.
//!
//! This module holds types only; `morecores-lock-lab` computes them. Times are in nanoseconds, the
//! scale of a lock operation.

use serde::{Deserialize, Serialize};

use crate::{CellView, Estimate, Warning};
use morecores_study::lock::{LockName, LockPlan};
use morecores_study::{CpuId, Host};

/// Name of the schema of [`LocksView`].
pub const LOCKS_VIEW_SCHEMA: &str = "morecores.locks-view/1";

/// View of a study of locks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LocksView {
    /// Schema name, [`LOCKS_VIEW_SCHEMA`].
    pub schema: String,
    /// Plan of the measurement.
    pub plan: LockPlan,
    /// Machine that ran the study.
    pub host: Host,
    /// Number of rounds with at least one measured cell.
    pub rounds: u32,
    /// Whether every planned cell was measured.
    pub whole: bool,
    /// Number of lines of the study that cannot be read.
    pub damaged_lines: u64,
    /// Share of the CPUs' time that the hypervisor took during the measurements of contention;
    /// null if the hypervisor does not report it.
    pub steal: Option<f64>,
    /// Costs of waiting on this machine.
    pub prices: Prices,
    /// Costs of each lock by itself, in the order of the plan.
    pub locks: Vec<LockCosts>,
    /// Measured cells with the figures that studies of every subject have, in the order of the
    /// plan.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub cells: Vec<CellView>,
    /// Points of contention, sorted by threads, then hold, then think.
    pub points: Vec<LockPoint>,
    /// Spinning against blocking as the prices predict it, and the share of correct predictions;
    /// null without prices or without both locks.
    pub cost_model: Option<CostModel>,
    /// Recommended locks by situation.
    pub advice: Vec<LockAdvice>,
    /// Work of other programs before and during the measurement, with the warnings of a study of a
    /// command: `not_quiet`, `work_outside_tree`.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

/// Costs of waiting on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Prices {
    /// Time of a switch between two threads on one CPU that block for each other.
    pub switch_ns: Option<Estimate>,
    /// Time from an unlock until a thread that sleeps on another CPU has the lock: the handoff
    /// time of the blocking lock.
    pub wake_ns: Option<Estimate>,
    /// Transfer times of a cache line between CPUs.
    pub lines: Vec<LinePrice>,
}

/// Transfer time of a cache line between two CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LinePrice {
    /// First CPU.
    pub from: CpuId,
    /// Second CPU.
    pub to: CpuId,
    /// Time of one transfer, one way.
    pub ns: Estimate,
}

/// Costs of one lock by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LockCosts {
    /// Name of the lock.
    pub lock: LockName,
    /// Time of a lock and an unlock without contention.
    pub free_ns: Option<Estimate>,
    /// Time from an unlock on one CPU until a waiting thread on another CPU has the lock.
    #[serde(rename = "hand_over_ns")]
    pub handoff_ns: Option<Estimate>,
    /// Share of a CPU that a waiter burns while the owner is off its CPU.
    pub preempted_burned: Option<Estimate>,
    /// Length of the wait for an owner that is off its CPU.
    pub preempted_wait_ns: Option<Estimate>,
    /// Longest wait of any thread in any measurement of contention with timed waits. Null for a
    /// kernel lock, whose waits cannot be timed, and without such a measurement.
    pub longest_wait_ns: Option<u64>,
}

/// Results at one point of contention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LockPoint {
    /// Number of threads that contend for the lock.
    pub threads: u32,
    /// Time for which each thread holds the lock.
    pub hold_ns: u64,
    /// Time for which each thread stays away from the lock.
    pub think_ns: u64,
    /// Result of each lock, in the order of the plan.
    pub results: Vec<LockResult>,
}

/// Result of one lock at one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LockResult {
    /// Name of the lock.
    pub lock: LockName,
    /// Holds per second of all threads together.
    pub per_s: Estimate,
    /// Ratio of the lock's rate to that of the fastest lock of the point, from pairs of the same
    /// round.
    pub of_fastest: Estimate,
    /// CPUs busy, in user mode and in the kernel.
    pub cpus: Estimate,
    /// CPUs busy beyond the holds and thinks themselves: waiting, locking and unlocking.
    pub burned_cpus: Estimate,
    /// Share of the holds of the thread with the most, divided by an equal share; 1 is fair. Median
    /// over rounds.
    pub luckiest: f64,
    /// Share of the holds of the thread with the fewest, divided by an equal share. Median over
    /// rounds.
    pub unluckiest: f64,
    /// Longest wait of any thread in the measurements with timed waits; null without one.
    pub longest_wait_ns: Option<u64>,
}

/// Cost model of spinning against blocking, with its predictions and the measured ratios.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CostModel {
    /// Spin bound; a wait that is expected to be longer is cheaper asleep.
    pub bound_ns: f64,
    /// Spinning lock of the comparison.
    pub spinning: LockName,
    /// Blocking lock of the comparison.
    pub blocking: LockName,
    /// Number of points at which the interval of the measured ratio excludes 1.
    pub told_apart: u32,
    /// Number of these points at which the model names the better lock.
    pub right: u32,
    /// All compared points.
    pub points: Vec<CostModelPoint>,
}

/// Prediction of the cost model at one point, with the measured ratio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CostModelPoint {
    /// Number of threads that contend for the lock.
    pub threads: u32,
    /// Time for which each thread holds the lock.
    pub hold_ns: u64,
    /// Time for which each thread stays away from the lock.
    pub think_ns: u64,
    /// Ratio of the spinning lock's rate to the blocking lock's that the model predicts.
    pub expected: f64,
    /// Measured ratio of the rates, from pairs of the same round.
    pub measured: Estimate,
    /// Whether the model names the better lock; null if the measurement cannot tell.
    pub right: Option<bool>,
}

/// Situation of contention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum LockSituation {
    /// No contention.
    Free,
    /// At most one thread per CPU, and holds shorter than the spin bound.
    ShortHolds,
    /// At most one thread per CPU, and holds at or above the spin bound.
    LongHolds,
    /// More threads than CPUs.
    MoreThreadsThanCpus,
}

/// Recommendation for one situation, among the locks that let no thread starve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LockAdvice {
    /// Situation of contention.
    pub situation: LockSituation,
    /// Locks to choose, best first: the best lock, and those that cannot be distinguished from it
    /// or are about as fast.
    pub take: Vec<LockName>,
    /// Locks to avoid, worst first: those with less than half of the best lock's rate.
    pub never: Vec<LockName>,
    /// Ratio of the rate of the worst lock to avoid to the best lock's, as the geometric mean over
    /// the situation's points.
    pub worst: Option<f64>,
}

/// Spin bound of a machine, as `morecores tune-spin --json` prints it. The lock itself derives the
/// bound from the times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpinTuning {
    /// CPUs that this process may use; on one CPU, spinning is useless and `spins` is 0.
    pub cpus: u32,
    /// Cost of a sleep and a wake-up, in nanoseconds: the median of `sleeps`.
    pub sleep_ns: f64,
    /// Measurements of a sleep and a wake-up, in nanoseconds, in order.
    pub sleeps: Vec<f64>,
    /// Time of one turn of the spinning loop, in nanoseconds.
    pub spin_ns: f64,
    /// Largest number of turns that a waiter makes before it sleeps. These turns take about as long
    /// as a sleep and a wake-up, or a small multiple of that time.
    pub spins: u32,
}
