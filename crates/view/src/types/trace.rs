//! Traced runs and speedup stacks in the derived view: the use of the CPUs' time.
//!
//! Durations are in seconds. The description of each field says whether it is CPU time or elapsed
//! time.

use serde::{Deserialize, Serialize};

use morecores_study::trace::{TraceSource, UntracedFact};
use morecores_study::{Coordinates, CpuEstimator, CpuId, CpuSet};

use super::code::{
    CallLoss, CallNode, FunctionLoss, FunctionView, LockHoldsView, StackCoverage, UserLockView, WaitView,
};
use super::critical_path::{CriticalPathView, EfficiencyTimes, ThreadView};
use super::openmp::OpenMpView;
use crate::{ComponentIntervals, Components, Losses};

/// Part of the CPU time lost to the command's own locks, in seconds, during which the lock's holder
/// waited itself. Divided by the target of the holder's wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct HolderWaits {
    /// Holder's wait for a device.
    pub disk_s: f64,
    /// Holder's wait for a process outside the tree.
    pub peer_s: f64,
    /// Holder's wait for a timer.
    pub timer_s: f64,
}

/// Counts of contradictions between the events of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Inconsistencies {
    /// Switches away from a thread not known to run on that CPU, and starts of threads already
    /// running on another CPU.
    pub misplaced: u64,
    /// Threads whose creation the trace does not show.
    pub unborn: u64,
    /// Waits whose end has no wake-up in the trace. Not counted for a source that never records the
    /// waker.
    pub unwoken: u64,
    /// Wake-ups before the recorded start of the wait. These waits get zero length.
    pub early: u64,
}

/// Place of a trace whose time is counted in two independent ways, which an operational law makes
/// equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum OperationalLaw {
    /// Little's law for the run queues.
    RunQueue,
    /// Little's law for the waits for futexes: the command's locks, queues and signals.
    FutexWaits,
    /// Little's law for all other waits.
    OtherWaits,
    /// Utilisation law for the CPUs.
    CpuTime,
}

/// Violation of an operational law: two amounts of one time, in seconds of all threads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LawViolation {
    /// Violated law.
    pub law: OperationalLaw,
    /// Number of events times the mean time; for CPU time, the time that the kernel accounted.
    pub counted_s: f64,
    /// Time by the timeline.
    pub integrated_s: f64,
}

/// Shares of the elapsed time by number of threads of the tree. Index k stands for exactly k
/// threads, the last index for that number or more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Parallelism {
    /// Shares by number of running threads.
    pub running: Vec<f64>,
    /// Shares by number of running or runnable threads.
    pub runnable: Vec<f64>,
}

/// Threads of one name that were ready to run at the same time: the workers of a thread pool, or
/// the processes of one pool. The name lacks the digits at its end, by which a pool numbers its
/// threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Workers {
    /// Name of the threads.
    pub name: String,
    /// Largest number of these threads that were running or runnable at once for at least a quarter
    /// of the elapsed time.
    pub threads: u32,
}

/// Stretch of time with at most one running thread and no runnable one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SerialPhase {
    /// Start, in seconds since the run began.
    pub start_s: f64,
    /// Elapsed time of the phase.
    pub duration_s: f64,
    /// Command that ran longest in the phase. If nothing ran for more than half of the phase, the
    /// cause that ended most of the idle time instead: a timer, a device or a process outside the
    /// tree.
    pub culprit: String,
    /// Kind of that cause; null if the culprit is a command.
    #[serde(default)]
    pub cause: Option<IdleCause>,
}

/// Event that ended the idle time of a serial phase. The names are those of the idle components.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum IdleCause {
    /// A timer.
    Timer,
    /// A disk, or a file system behind one.
    Disk,
    /// A device that is no disk.
    Device,
    /// The end of an RCU grace period.
    Rcu,
    /// An uninterruptible wait in the kernel.
    Uninterruptible,
    /// A process outside the tree, or the network.
    Peer,
    /// A kernel lock.
    KernelLock,
    /// A lock of the command's own.
    UserLock,
    /// No known event.
    Unknown,
}

/// One command: all processes of the tree that ran a program of this name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CommandView {
    /// Name of the program.
    pub name: String,
    /// Number of times that the tree started the program.
    pub calls: u64,
    /// CPU time, exact.
    pub cpu_s: f64,
    /// Share of the tree's CPU time.
    pub cpu_ratio: f64,
    /// System time divided by CPU time, sampled by the kernel's ticks; null if no tick hit the
    /// command.
    pub kernel_ratio: Option<f64>,
    /// Standard error of `kernel_ratio`, from the number of ticks.
    pub kernel_ratio_error: Option<f64>,
    /// Waits for kernel locks, spinning and asleep, divided by the CPU time plus the waits asleep.
    pub waiting_ratio: Option<f64>,
}

/// One kernel lock, or all locks with the same waiting place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LockView {
    /// Kind of lock: `spinlock`, `rwlock`, `mutex`, `rwsem`, `percpu_rwsem`, `rtmutex` or
    /// `semaphore`.
    pub kind: String,
    /// Name of the lock if known, otherwise the locking function.
    pub symbol: String,
    /// Caller that wanted the lock: the first function of the stack that is no lock primitive. Null
    /// if no stack was taken. Short waits without a stack are divided over the callers by an
    /// estimate.
    pub caller: Option<String>,
    /// Number of waits.
    pub count: u64,
    /// Sum of the waits.
    pub wait_s: f64,
    /// Part of `wait_s` spent on a CPU.
    pub spin_s: f64,
    /// Longest wait. Of waits divided over several callers, the longest that this caller may have
    /// had.
    pub max_wait_s: f64,
}

/// Elapsed time of a run inside and outside its serial phases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SerialAndParallel {
    /// Elapsed time in serial phases.
    pub serial_s: f64,
    /// Elapsed time outside serial phases.
    pub parallel_s: f64,
}

/// Placeholder for a program's name where no program ran.
pub const NO_CULPRIT: &str = "nothing";

/// Command that ran while CPUs were idle for lack of parallel work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Culprit {
    /// Name of the command.
    pub name: String,
    /// Idle time charged to the command: CPU-seconds in a trace, CPUs in a speedup stack.
    pub lost_cpus: f64,
    /// System call in which most of the other threads waited at the time, weighted by the idle
    /// time: `wait4`, `futex`. Null if no thread waited.
    pub waiting_in: Option<String>,
}

/// Source of the kernel ratio of a traced run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(untagged)]
pub enum KernelRatioEstimator {
    /// Events of the trace.
    Trace(TraceEstimator),
    /// CPU account of the run.
    Account(CpuEstimator),
}

/// Events of a trace that tell time in user mode from time in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum TraceEstimator {
    /// Ticks of the kernel.
    #[serde(rename = "ticks")]
    Ticks,
    /// Samples of the CPUs.
    #[serde(rename = "samples")]
    Samples,
    /// Both.
    #[serde(rename = "ticks and samples")]
    TicksAndSamples,
}

impl KernelRatioEstimator {
    /// Name of the estimator, as shown with every figure.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trace(TraceEstimator::Ticks) => "ticks",
            Self::Trace(TraceEstimator::Samples) => "samples",
            Self::Trace(TraceEstimator::TicksAndSamples) => "ticks and samples",
            Self::Account(estimator) => estimator.name(),
        }
    }
}

/// Figures of one traced run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TraceView {
    /// Number of allotted CPUs.
    pub cpus: u32,
    /// Value of `{n}`.
    pub n: u32,
    /// Values on further axes.
    #[serde(default, skip_serializing_if = "Coordinates::is_empty")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub axes: Coordinates,
    /// Allotted CPUs.
    pub cpu_set: CpuSet,
    /// Source of the events.
    pub source: TraceSource,
    /// Number of traced runs of this cell behind the stack. The figures here are those of the run
    /// with the median elapsed time, except `components_ci95`.
    #[serde(default = "one_run")]
    pub runs: u32,
    /// Elapsed time of the traced run.
    pub elapsed_s: f64,
    /// Ratio of the traced elapsed time to the median of the untraced runs, minus one; null without
    /// untraced runs.
    pub overhead: Option<f64>,
    /// Number of events in the stream.
    pub events: u64,
    /// Number of lost events, missed ones included; above zero, every figure is a guess.
    pub lost_events: u64,
    /// Contradictions between the events.
    pub misfits: Inconsistencies,
    /// Operational laws that the trace violates.
    #[serde(default)]
    pub law_violations: Vec<LawViolation>,
    /// CPU-seconds by component.
    pub components: Components,
    /// 95% interval of the mean of each component over the traced runs of the cell, in CPU-seconds
    /// of a run of `elapsed_s`. Null with one run.
    #[serde(default)]
    pub components_ci95: Option<ComponentIntervals>,
    /// `components.unexplained_s` by CPU.
    pub unexplained_by_cpu: Vec<(CpuId, f64)>,
    /// CPU time that the kernel accounted to threads on these CPUs beyond the available time: the
    /// difference between the kernel's clock and the trace's. A CPU spends this time waking up for
    /// a thread, so no component contains it.
    pub overaccounted_s: f64,
    /// Work, in user mode or the kernel, that samples show to be spinning in the program's own
    /// loops: around PAUSE, TPAUSE or UMWAIT, or of `sched_yield`. A lower bound, because a loop of
    /// loads alone cannot be told from work. Null without samples.
    pub user_spin_s: Option<f64>,
    /// CPU time outside the allotted CPUs, of the tree and of kernel threads that work for it.
    pub outside_cpu_s: f64,
    /// Part of `outside_cpu_s` that the tree itself used; above zero, the point used more CPUs than
    /// its count says.
    pub outside_tree_s: f64,
    /// System time divided by user + system time.
    pub kernel_ratio: Option<f64>,
    /// Source of `kernel_ratio`.
    pub kernel_ratio_estimator: KernelRatioEstimator,
    /// Waits of the tree for kernel locks, spinning and asleep, divided by its CPU time plus the
    /// waits asleep. A lower bound.
    pub waiting_ratio: Option<f64>,
    /// Time holding kernel locks divided by CPU time; null if the kernel does not allow tracing it.
    pub lock_ratio: Option<f64>,
    /// Number of running and runnable threads over the run.
    pub parallelism: Parallelism,
    /// Largest number of threads of one name that were ready to run at once; null if there were
    /// never two for long.
    #[serde(default)]
    pub workers: Option<Workers>,
    /// Serial phases, in order of time.
    pub serial_phases: Vec<SerialPhase>,
    /// Longest gap, in seconds, that does not divide a serial phase in two.
    pub serial_gap_s: f64,
    /// Shortest stretch, in seconds, that counts as a serial phase.
    pub serial_minimum_s: f64,
    /// Elapsed time inside and outside serial phases.
    pub parts: SerialAndParallel,
    /// Commands, most CPU time first.
    pub commands: Vec<CommandView>,
    /// Kernel locks, longest waits first.
    pub locks: Vec<LockView>,
    /// Locks of the command's own, longest waits first; empty for a trace from perf events.
    #[serde(default)]
    pub user_locks: Vec<UserLockView>,
    /// All holds of the command's own locks, longest first, also those for which no thread waited;
    /// null unless each was counted.
    #[serde(default)]
    pub lock_holds: Option<Vec<LockHoldsView>>,
    /// Waits of the command's threads by place, longest first, each with at least a hundredth of
    /// all waiting time. Waiting time is no loss by itself: a pool's threads may wait for work.
    /// Empty for a trace without stacks.
    #[serde(default)]
    pub waits: Vec<WaitView>,
    /// Waits of the command's threads for each other in OpenMP's runtime, longest first: a row for
    /// each command with a team of threads. Empty for a trace without stacks.
    #[serde(default)]
    pub openmp: Vec<OpenMpView>,
    /// Chain of dependent activities that decided the end of the run; null for a trace without
    /// wake-ups, and for one of an older version.
    #[serde(default)]
    pub critical_path: Option<CriticalPathView>,
    /// Threads of the command, highest criticality first. A thread has a row of its own from a
    /// hundredth of all criticality or of the critical path on; the last rows hold the others by
    /// command.
    #[serde(default)]
    pub threads: Vec<ThreadView>,
    /// Times from which the efficiencies follow; null for a report of an older version.
    #[serde(default)]
    pub efficiency_times: Option<EfficiencyTimes>,
    /// Commands that ran while CPUs were idle for lack of parallel work, in CPU-seconds, most
    /// first.
    pub culprits: Vec<Culprit>,
    /// Functions that the command ran or waited in, most time first: each with at least a
    /// thousandth of all CPU time or of all idle time that functions hold. Empty for a trace
    /// without samples, and for one of an older version.
    #[serde(default)]
    pub functions: Vec<FunctionView>,
    /// Calls of the command's functions, by the stacks of samples and waits: depth first from each
    /// command, most time first, each with at least a five-hundredth of all CPU time or of all idle
    /// time that functions hold. Empty for a trace without stacks.
    #[serde(default)]
    pub call_tree: Vec<CallNode>,
    /// Time between two samples of a CPU, in seconds; null for a trace without samples.
    #[serde(default)]
    pub sample_period_s: Option<f64>,
    /// Number of recorded stacks; null for a trace without stacks.
    #[serde(default)]
    pub stack_coverage: Option<StackCoverage>,
    /// Processes outside the tree that used the allotted CPUs: names and CPU-seconds, most first.
    pub others: Vec<(String, f64)>,
    /// CPU time of other programs on the allotted CPUs, from the CPUs' own counters, for a trace
    /// that does not show it. Idle time contains this time. Null if the trace shows other programs,
    /// or if nothing was read.
    #[serde(default)]
    pub untold_others_s: Option<f64>,
    /// Waits of the holders of the locks in `idle_user_lock_s`.
    #[serde(default)]
    pub behind_user_lock: HolderWaits,
    /// Facts that this trace cannot tell, with the reasons.
    pub untraced: Vec<UntracedFact>,
}

fn one_run() -> u32 {
    1
}

/// Speedup stack at one CPU count: `cpus = speedup · base_cpus + Σ losses`, with the baseline's
/// CPU count `base_cpus`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct StackView {
    /// CPU count.
    pub cpus: u32,
    /// Value of `{n}`.
    pub n: u32,
    /// Values on further axes.
    #[serde(default, skip_serializing_if = "Coordinates::is_empty")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub axes: Coordinates,
    /// CPU count of the baseline, the smallest traced count.
    pub base_cpus: u32,
    /// Value of `{n}` in the baseline; with another `n` the program itself may differ.
    pub base_n: u32,
    /// Speedup of the untraced runs over the baseline.
    pub speedup: f64,
    /// CPUs that the speedup does not contain, by component.
    pub losses: Losses,
    /// 95% interval of each loss, from the interval of the speedup and from the spread of several
    /// traced runs. Null if the speedup has no interval.
    #[serde(default)]
    pub losses_ci95: Option<ComponentIntervals>,
    /// Commands that ran while CPUs were idle for lack of parallel work, most first. The values are
    /// CPUs lost at this count minus the baseline's share.
    pub culprits: Vec<Culprit>,
    /// Functions that hold a part of a loss: most lost CPUs first. Empty for traces without
    /// functions.
    #[serde(default)]
    pub functions: Vec<FunctionLoss>,
    /// Calls that hold a part of a loss, with all that they call: depth first from each command,
    /// each with at least a hundredth of a CPU. Empty for traces without stacks.
    #[serde(default)]
    pub calls: Vec<CallLoss>,
    /// Speedup of the serial part alone. Null in three cases: the serial part of either run is
    /// shorter than the shortest serial phase; a metric was requested; or the baseline ran
    /// everything serially.
    pub serial_speedup: Option<f64>,
    /// Speedup of the parallel part alone. Null in the first two of these cases. If the baseline
    /// ran everything serially, its serial part is assumed to last as long as at this count.
    pub parallel_speedup: Option<f64>,
}
