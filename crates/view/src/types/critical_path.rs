//! The critical path and the threads of a traced run, in the derived view.

use serde::{Deserialize, Serialize};

/// Chain of dependent activities that decided the end of a traced run. Their times add up to the
/// elapsed time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CriticalPathView {
    /// Parts of the path, most time first.
    pub parts: Vec<PathPart>,
    /// Number of times that the path goes from one thread to another.
    pub handovers: u64,
    /// These changes by what made the next thread ready, most frequent first; empty in a report of
    /// an older version.
    #[serde(default)]
    pub edges: Vec<PathEdge>,
}

/// Changes of the critical path from one thread to another of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PathEdge {
    /// Kind of the changes.
    pub kind: PathEdgeKind,
    /// System call in which the next thread had waited, or `page fault`; null for other kinds than
    /// `call`, and for an unknown call.
    pub call: Option<String>,
    /// Number of the changes.
    pub count: u64,
}

/// Kind of a change of the critical path from one thread to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum PathEdgeKind {
    /// The thread created the next one.
    Start,
    /// It released a lock of the command's own, for which the next one had waited.
    UserLock,
    /// It released a kernel lock, for which the next one had waited.
    KernelLock,
    /// It ended a wait of the next one in a system call.
    Call,
    /// The trace does not show it.
    Unknown,
}

/// Part of the critical path: one kind of activity of one command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PathPart {
    /// Kind of the activity.
    pub activity: PathActivity,
    /// Command of the activity; null where the trace shows no thread.
    pub command: Option<String>,
    /// Time of the part on the path, in seconds.
    pub time_s: f64,
    /// Upper bound on the saved elapsed time, in seconds, if no activity of this kind and command
    /// took any time. It may exceed `time_s`, because threads would wait less for CPUs and locks.
    /// Null for a part with less than a hundredth of the elapsed time.
    pub gain_bound_s: Option<f64>,
}

/// Kind of an activity on the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum PathActivity {
    /// A thread is on a CPU.
    Running,
    /// A thread is ready and has no CPU.
    Ready,
    /// A thread is ready, but its group may not run: a quota, a freezer.
    Held,
    /// The kernel works on behalf of a thread: queued work, a packet.
    KernelWork,
    /// Wait for a kernel lock that no thread of the command released.
    KernelLock,
    /// Wait for a lock of the command's own that no thread of the command released.
    UserLock,
    /// Wait for a disk.
    Disk,
    /// Wait for a device that is no disk.
    Device,
    /// Wait for the end of an RCU grace period.
    Rcu,
    /// Uninterruptible wait in the kernel.
    Uninterruptible,
    /// Wait for a process outside the tree, or the network.
    Peer,
    /// Wait for a timer.
    Timer,
    /// The trace does not show the activity.
    Unknown,
}

/// Thread of the command, or several threads of one command together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ThreadView {
    /// Command that the thread ran last.
    pub command: String,
    /// Last name of the thread; null for several threads together.
    pub thread: Option<String>,
    /// Number of the thread; null for several threads together.
    pub tid: Option<u32>,
    /// Number of threads in this row.
    pub threads: u64,
    /// CPU time, in seconds.
    pub cpu_s: f64,
    /// Criticality, in seconds: CPU time in which each instant counts as one divided by the number
    /// of running threads (Du Bois et al., ISCA 2013). The sum over all threads is the time in
    /// which at least one thread ran. `cpu_s / criticality_s` is the mean number of threads that
    /// ran while this one did.
    pub criticality_s: f64,
    /// CPU time on the critical path, in seconds; null for a trace without wake-ups.
    pub path_s: Option<f64>,
}

/// Times of a traced run from which its efficiencies follow, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct EfficiencyTimes {
    /// CPU time of all threads, without spinning for locks and messages.
    pub useful_s: f64,
    /// Such CPU time of the worker with the most. Threads of which one began after the other's end
    /// are one worker. At least `useful_s` divided by the number of CPUs.
    pub longest_useful_s: f64,
    /// Length of the longest chain of dependent activities, without waits for CPUs, devices and
    /// other programs, and without spinning for no one. At least `longest_useful_s`; null for a
    /// trace without wake-ups.
    pub ideal_s: Option<f64>,
}
