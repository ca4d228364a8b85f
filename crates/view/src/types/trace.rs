//! Traced runs and speedup stacks in the derived view: where the CPUs went.
//!
//! Every duration is in seconds of CPU time or of elapsed time, as its description says.

use serde::{Deserialize, Serialize};

use morecores_study::trace::{TraceSource, Untraced};
use morecores_study::{CpuId, CpuSet};

/// The CPU-seconds of the allotted CPUs over one traced run, divided without overlap: together they are
/// `cpus · elapsed`, since what no rule explains is one of them. A part that this trace cannot tell is null and is
/// contained in another: work in the kernel in user work, spinning in the work of whoever spins, interrupts and steal
/// in what they hit, pinned threads and those held back in scheduling, other idle time in too little work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Components {
    /// Work of the tree in user mode.
    pub user_work_s: f64,
    /// Work of the tree in the kernel: system calls and faults.
    pub kernel_work_s: Option<f64>,
    /// Interrupts, hard and soft.
    pub interrupt_s: Option<f64>,
    /// The tree spinning for kernel locks.
    pub kernel_lock_spin_s: Option<f64>,
    /// Other processes and kernel threads.
    pub other_processes_s: f64,
    /// The tracer: its reader, and what its programs took.
    pub tracer_s: f64,
    /// Time that a hypervisor took while a thread was running.
    pub steal_s: Option<f64>,
    /// Idle although a thread was runnable and allowed there.
    pub idle_scheduling_s: f64,
    /// Idle although a thread was ready: a quota, a frozen group or a real-time budget held it back.
    pub idle_held_s: Option<f64>,
    /// Idle although a thread was runnable, but not allowed there.
    pub idle_pinned_s: Option<f64>,
    /// Idle, a thread waiting for a kernel lock.
    pub idle_kernel_lock_s: Option<f64>,
    /// Idle, a thread waiting for a user lock.
    pub idle_user_lock_s: Option<f64>,
    /// Idle, a thread waiting for a disk.
    pub idle_disk_s: Option<f64>,
    /// Idle, a thread waiting for somebody outside the tree.
    pub idle_peer_s: Option<f64>,
    /// Idle, a thread waiting for a device that is no disk.
    pub idle_device_s: Option<f64>,
    /// Idle, a thread waiting until all CPUs have passed a grace period of the kernel's RCU.
    pub idle_rcu_s: Option<f64>,
    /// Idle, a thread waiting in the kernel for something that no event tells, where no signal may end that.
    pub idle_uninterruptible_s: Option<f64>,
    /// Idle, all threads waiting and a timer ending that.
    pub idle_timer_s: Option<f64>,
    /// Idle for want of parallel work.
    pub idle_too_little_work_s: f64,
    /// What no rule explains; may be negative.
    pub unexplained_s: f64,
}

/// Of the CPU time that was lost to locks of the command's own, seconds in which the holder of the lock waited itself, by
/// what for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct BehindLock {
    /// For a device.
    pub disk_s: f64,
    /// For somebody outside the tree.
    pub peer_s: f64,
    /// For a timer.
    pub timer_s: f64,
}

/// What did not fit together in the events of a trace, and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Misfits {
    /// Switches away from a thread that was not known to run there, and threads that began to run while running
    /// elsewhere.
    pub misplaced: u64,
    /// Threads that nobody was seen to make.
    pub unborn: u64,
    /// Waits that ended without anybody seen to end them; where the source tells no wakers, that is always so and not
    /// counted.
    pub unwoken: u64,
    /// Wake-ups that came before their wait was seen to begin. These waits are taken for none.
    pub early: u64,
}

/// Shares of the elapsed time by how many threads of the tree there were: index k is exactly k, the last index that
/// many or more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Parallelism {
    /// Running.
    pub running: Vec<f64>,
    /// Running or runnable.
    pub runnable: Vec<f64>,
}

/// Threads of one name that were ready to run at the same time: the workers of a pool, or the processes of one. Digits at
/// the end of a name, by which a pool tells its threads apart, are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Workers {
    /// Their name.
    pub name: String,
    /// Number of them on a CPU or waiting for one, for a quarter of the elapsed time or more.
    pub threads: u32,
}

/// A stretch with at most one running thread and none runnable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SerialPhase {
    /// Since the run began.
    pub start_s: f64,
    /// Elapsed time.
    pub duration_s: f64,
    /// The command that ran longest in it; where nothing ran for more than half of it, what ended most of the silence: a
    /// timer, a device, a process outside the tree.
    pub culprit: String,
}

/// One command: all processes of the tree that ran a program of this name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CommandView {
    /// Its name.
    pub name: String,
    /// How often it was begun.
    pub calls: u64,
    /// CPU time, exact.
    pub cpu_s: f64,
    /// Its share of the tree's CPU time.
    pub cpu_ratio: f64,
    /// Its system time over its CPU time, by the kernel's ticks; null where no tick found it.
    pub kernel_ratio: Option<f64>,
    /// Standard error of `kernel_ratio`, from the number of ticks.
    pub kernel_ratio_error: Option<f64>,
    /// Its waits for kernel locks, spinning and asleep, over its CPU time plus those asleep.
    pub waiting_ratio: Option<f64>,
}

/// One kernel lock, or all locks that are waited for in the same place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LockView {
    /// `spinlock`, `rwlock`, `mutex`, `rwsem`, `percpu_rwsem`, `rtmutex`, `semaphore`.
    pub kind: String,
    /// The lock where it is known by name, elsewhere the locking function.
    pub symbol: String,
    /// Who wanted it: the first function of the stack that is no lock primitive; null where no stack was taken. How
    /// short waits without a stack divide over callers is estimated.
    pub caller: Option<String>,
    /// How many waits.
    pub count: u64,
    /// Sum of the waits.
    pub wait_s: f64,
    /// Of which on a CPU.
    pub spin_s: f64,
    /// The longest; of divided waits, the longest that may have been its.
    pub max_wait_s: f64,
}

/// The part of a run with one thread at most, and the rest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SerialAndParallel {
    /// Elapsed time in serial phases.
    pub serial_s: f64,
    /// Elapsed time in none.
    pub parallel_s: f64,
}

/// What stands where a program's name does and nothing ran.
pub const NOBODY: &str = "nothing";

/// Who was running while CPUs were idle for want of parallel work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Culprit {
    /// The command.
    pub name: String,
    /// CPU-seconds of idle time charged to it; in a speedup stack, CPUs.
    pub lost_cpus: f64,
    /// How most of the others waited meanwhile, weighted by the idle time: `wait4`, `futex`; null where nobody waited.
    pub waiting_in: Option<String>,
}

/// One traced run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TraceView {
    /// How many CPUs it was allotted.
    pub cpus: u32,
    /// What `{n}` was.
    pub n: u32,
    /// Which CPUs.
    pub cpu_set: CpuSet,
    /// What told the events.
    pub source: TraceSource,
    /// Elapsed time, traced.
    pub elapsed_s: f64,
    /// Elapsed time over the median of the untraced runs, minus one; null where there are none.
    pub overhead: Option<f64>,
    /// Events in the stream.
    pub events: u64,
    /// Events that were lost, missed ones included; every figure is then a guess.
    pub lost_events: u64,
    /// What did not fit together in them.
    pub misfits: Misfits,
    /// Where the CPU-seconds went.
    pub components: Components,
    /// `components.unexplained_s` by CPU.
    pub unexplained_by_cpu: Vec<(CpuId, f64)>,
    /// CPU time that the kernel accounted to threads on these CPUs beyond the time there was: what its clock and the
    /// trace's disagree about. In no component, since it is the time in which a CPU woke for a thread.
    pub overaccounted_s: f64,
    /// Of the work in either mode, what looks like work but spins in loops of the program's own, by samples: around
    /// PAUSE, TPAUSE or UMWAIT, or of `sched_yield`. A lower bound, since a loop of loads alone is not told from work;
    /// null without samples.
    pub user_spin_s: Option<f64>,
    /// CPU time of the tree, and of kernel threads for it, outside the allotted CPUs.
    pub outside_cpu_s: f64,
    /// Of which the tree's own: the point is then on more CPUs than it says.
    pub outside_tree_s: f64,
    /// System over user + system time.
    pub kernel_ratio: Option<f64>,
    /// What told it.
    pub kernel_ratio_estimator: String,
    /// Waits of the tree for kernel locks, spinning and asleep, over its CPU time plus those asleep. A lower bound.
    pub waiting_ratio: Option<f64>,
    /// Time holding kernel locks over CPU time; null: this kernel does not let holds be traced.
    pub lock_ratio: Option<f64>,
    /// How many threads ran.
    pub parallelism: Parallelism,
    /// The most threads of one name that were ready to run at once; null where there never were two for long.
    #[serde(default)]
    pub workers: Option<Workers>,
    /// Serial phases, in the order of time.
    pub serial_phases: Vec<SerialPhase>,
    /// A gap between two parts of a serial phase that is not longer than this does not divide it.
    pub serial_gap_s: f64,
    /// Shorter stretches are no serial phases.
    pub serial_minimum_s: f64,
    /// Time in serial phases and outside them.
    pub parts: SerialAndParallel,
    /// The commands, most CPU time first.
    pub commands: Vec<CommandView>,
    /// Kernel locks, longest waits first.
    pub locks: Vec<LockView>,
    /// Who ran while CPUs were idle for want of work: CPU-seconds, most first.
    pub culprits: Vec<Culprit>,
    /// Processes outside the tree that used the allotted CPUs, by name and CPU-seconds, most first.
    pub others: Vec<(String, f64)>,
    /// CPU time of others on the allotted CPUs by the CPUs' own counters, where the trace does not tell it: it is then in
    /// idle time. Null where the trace tells it or nobody looked.
    #[serde(default)]
    pub untold_others_s: Option<f64>,
    /// What stood behind the locks of `idle_user_lock_s`.
    #[serde(default)]
    pub behind_user_lock: BehindLock,
    /// What this trace cannot tell, and why.
    pub untraced: Vec<Untraced>,
}

/// The loss of each component, in CPUs: what it takes more at this count than the baseline's share, scaled by the
/// speedup, would be. May be negative. Named as in [`Components`], without the unit; null where either run cannot tell
/// it, and then contained in the same other one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[allow(missing_docs, reason = "one per field of Components, described there")]
pub struct Losses {
    pub user_work: f64,
    pub kernel_work: Option<f64>,
    pub interrupt: Option<f64>,
    pub kernel_lock_spin: Option<f64>,
    pub other_processes: f64,
    pub tracer: f64,
    pub steal: Option<f64>,
    pub idle_scheduling: f64,
    pub idle_held: Option<f64>,
    pub idle_pinned: Option<f64>,
    pub idle_kernel_lock: Option<f64>,
    pub idle_user_lock: Option<f64>,
    pub idle_disk: Option<f64>,
    pub idle_peer: Option<f64>,
    pub idle_device: Option<f64>,
    pub idle_rcu: Option<f64>,
    pub idle_uninterruptible: Option<f64>,
    pub idle_timer: Option<f64>,
    pub idle_too_little_work: f64,
    pub unexplained: f64,
}

/// The speedup stack at one CPU count: `cpus = speedup · base_cpus + Σ losses` for the baseline's CPU count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct StackView {
    /// The CPU count.
    pub cpus: u32,
    /// What `{n}` was.
    pub n: u32,
    /// The CPU count of the baseline: the smallest traced one.
    pub base_cpus: u32,
    /// What `{n}` was in the baseline; with another `n` the program itself may differ.
    pub base_n: u32,
    /// The speedup of the untraced runs over the baseline.
    pub speedup: f64,
    /// Where the CPUs went that are not in it.
    pub losses: Losses,
    /// Who ran while CPUs were idle for want of work, most first; lost CPUs at this count less the baseline's share.
    pub culprits: Vec<Culprit>,
    /// Speedup of the serial part alone; null where that is in either run shorter than the least serial phase, where a
    /// metric was asked for, and where the baseline did one thing after the other.
    pub serial_speedup: Option<f64>,
    /// Speedup of the rest alone; null by the same rules but the last: the serial part is then taken to last as long there.
    pub parallel_speedup: Option<f64>,
}
