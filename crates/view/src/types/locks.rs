//! The derived view of a study of locks: what `morecores show --json` prints of one.
//!
//! Only shapes; `morecores-predict` computes them. Times are nanoseconds, because that is what locks cost.

use serde::{Deserialize, Serialize};

use crate::{Estimate, Warning};
use morecores_study::lock::{LockName, LockPlan};
use morecores_study::{CpuId, Host};

/// Name of the schema of [`LocksView`].
pub const LOCKS_VIEW_SCHEMA: &str = "morecores.locks-view/1";

/// A study of locks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LocksView {
    /// [`LOCKS_VIEW_SCHEMA`].
    pub schema: String,
    /// What was to be measured.
    pub plan: LockPlan,
    /// On what.
    pub host: Host,
    /// Rounds of which at least one cell is there.
    pub rounds: u32,
    /// Whether everything that was planned is there.
    pub whole: bool,
    /// Lines of the study that cannot be read.
    pub damaged_lines: u64,
    /// Share of the CPUs' time that the hypervisor took while contests ran; null where it does not tell.
    pub steal: Option<f64>,
    /// What waiting costs on this machine.
    pub prices: Prices,
    /// Each lock by itself, in the order of the plan.
    pub locks: Vec<LockCosts>,
    /// Each point of contention: threads, then hold, then think.
    pub points: Vec<LockPoint>,
    /// What the prices say of spinning and blocking, and how often that is right; null where the study has not both.
    pub cost_model: Option<CostModel>,
    /// Which lock to take when.
    pub advice: Vec<LockAdvice>,
    /// Work of other programs before and while it was measured, as of a study of a command: `not_quiet`, `work_outside_tree`.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

/// What waiting costs on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Prices {
    /// From one thread to another on the same CPU, each blocking for the other.
    pub switch_ns: Option<Estimate>,
    /// From an unlock until a thread that sleeps on another CPU has the lock: the hand-over of the blocking lock.
    pub wake_ns: Option<Estimate>,
    /// A cache line from one CPU to another.
    pub lines: Vec<LinePrice>,
}

/// A cache line's way between two CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LinePrice {
    /// One of them.
    pub from: CpuId,
    /// The other.
    pub to: CpuId,
    /// One way.
    pub ns: Estimate,
}

/// What a lock costs by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LockCosts {
    /// Which.
    pub lock: LockName,
    /// Lock and unlock where nobody else wants it.
    pub free_ns: Option<Estimate>,
    /// From an unlock on one CPU until a thread that waited on another has it.
    pub hand_over_ns: Option<Estimate>,
    /// Share of a CPU that a waiter burns while the owner is off its CPU.
    pub preempted_burned: Option<Estimate>,
    /// How long such a wait is.
    pub preempted_wait_ns: Option<Estimate>,
    /// The longest wait of any thread in any watched contest of the study; null for a kernel lock, which is out of our sight, and
    /// where nothing was watched.
    pub longest_wait_ns: Option<u64>,
}

/// One point of contention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LockPoint {
    /// Threads at the lock.
    pub threads: u32,
    /// For how long each holds it.
    pub hold_ns: u64,
    /// For how long each stays away from it.
    pub think_ns: u64,
    /// Each lock, in the order of the plan.
    pub results: Vec<LockResult>,
}

/// What one lock did at one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LockResult {
    /// Which.
    pub lock: LockName,
    /// Holds a second, all threads together.
    pub per_s: Estimate,
    /// Its rate over that of the fastest lock of the point, in pairs of the same round.
    pub of_fastest: Estimate,
    /// CPUs busy, in user mode and in the kernel.
    pub cpus: Estimate,
    /// CPUs busy beyond what the holds and thinks themselves took: waiting, locking and unlocking.
    pub burned_cpus: Estimate,
    /// The luckiest thread's share of the holds over an equal share: 1 is fair. The median over rounds.
    pub luckiest: f64,
    /// The unluckiest thread's.
    pub unluckiest: f64,
    /// The longest wait of any thread in the watched contests; null where there are none.
    pub longest_wait_ns: Option<u64>,
}

/// Spinning against blocking: what the prices say, and what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CostModel {
    /// The spin bound: a wait that is expected to be longer is cheaper asleep.
    pub bound_ns: f64,
    /// The spinning lock that is compared.
    pub spinning: LockName,
    /// The blocking one.
    pub blocking: LockName,
    /// The points at which their rates differ by more than their intervals.
    pub told_apart: u32,
    /// Of those, the ones at which the model names the better one.
    pub right: u32,
    /// Each of them.
    pub points: Vec<CostModelPoint>,
}

/// What the cost model says of one point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CostModelPoint {
    /// Threads at the lock.
    pub threads: u32,
    /// For how long each holds it.
    pub hold_ns: u64,
    /// For how long each stays away from it.
    pub think_ns: u64,
    /// The ratio of the spinning lock's merit to the blocking one's that the model expects.
    pub expected: f64,
    /// The measured one: of the rates, in pairs of the same round.
    pub measured: Estimate,
    /// Whether the model is right; null where the two cannot be told apart.
    pub right: Option<bool>,
}

/// Under which contention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum LockSituation {
    /// Nobody else wants it.
    Free,
    /// Threads have a CPU each, and hold it for a time below the spin bound.
    ShortHolds,
    /// Threads have a CPU each, and hold it for longer.
    LongHolds,
    /// There are more threads than CPUs.
    MoreThreadsThanCpus,
}

/// Which lock to take in a situation, of those that let no thread starve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LockAdvice {
    /// In which.
    pub situation: LockSituation,
    /// The best ones: those that cannot be told from the very best, best first.
    pub take: Vec<LockName>,
    /// Those that must not be taken there, worst first, with the share of the best one's rate that they reach.
    pub never: Vec<LockName>,
    /// The rate of the worst of those over the best one's, in the geometric mean of the situation's points.
    pub worst: Option<f64>,
}
