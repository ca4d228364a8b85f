//! Code of the command in the derived view: its functions with the losses that they hold, and its
//! locks.

use morecores_study::trace::{LockMode, Module};
use serde::{Deserialize, Serialize};

use crate::Component;

/// Time of one component that code holds: its own CPU time by samples; the idle time of other CPUs
/// while it ran alone; or the idle time of CPUs while threads waited in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CodeTime {
    /// Component with this time. Time in the kernel includes spinning for the kernel's locks.
    pub component: Component,
    /// CPU-seconds.
    pub seconds: f64,
    /// Standard error of the time, since samples and recorded stacks are a part of all moments.
    pub error_s: f64,
}

/// Times of one function or call, in the order of the components. A component without time is
/// absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CodeTimes(pub Vec<CodeTime>);

impl CodeTimes {
    /// CPU-seconds of a component.
    pub fn seconds(&self, component: Component) -> f64 {
        self.sum(|of| of == component).0
    }

    /// CPU time in seconds, in user mode and in the kernel, with its standard error.
    pub fn cpu(&self) -> (f64, f64) {
        self.sum(|of| matches!(of, Component::UserWork | Component::KernelWork))
    }

    /// Idle time of other CPUs while the code ran and there was too little parallel work, in
    /// CPU-seconds, with its standard error.
    pub fn others_idle(&self) -> (f64, f64) {
        self.sum(|of| of == Component::IdleTooLittleWork)
    }

    /// Sum of the times of these components, with the standard error of independent times.
    fn sum(&self, is_summed: impl Fn(Component) -> bool) -> (f64, f64) {
        let summed = self.0.iter().filter(|time| is_summed(time.component));
        summed.fold((0.0, 0.0), |(seconds, error), time| (seconds + time.seconds, time.error_s.hypot(error)))
    }
}

/// Function of a command, with the times that it holds itself. A sample stands for the time between
/// two samples. A wait counts at the innermost function outside the libraries of the language.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FunctionView {
    /// Command that ran the function.
    pub command: String,
    /// Name of the function. A function without a symbol has the name of its file and the offset of
    /// its first byte there: `ld+0x1a30`. In brackets: `[kernel]` for code of the kernel without a
    /// name, a file for its code outside all known functions, `[anon]` for generated code without a
    /// name, `[unknown]`.
    pub function: String,
    /// Path of the file with the function's code; `[kernel]` for the kernel, null for unknown code.
    pub module: Option<String>,
    /// Line with the most of the function's time, `file:line`, else the function's first line; null
    /// if neither is known.
    pub source: Option<String>,
    /// Times of the function without those that it calls.
    pub times: CodeTimes,
    /// CPU time of the function on the critical path, in seconds, by samples; null for a trace
    /// without a critical path.
    #[serde(default)]
    pub path_s: Option<f64>,
}

/// Function of a command below certain callers, with all that it calls. A sample stands for the
/// time between two samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CallNode {
    /// Index of the caller's node; null for a command.
    pub caller: Option<u32>,
    /// Name of the function, as in [`FunctionView`]; the name of the command without a caller.
    pub function: String,
    /// Whether the compiler inlined the function into its caller; false for a command.
    #[serde(default)]
    pub inlined: bool,
    /// Path of the file with the function's code; `[kernel]` for the kernel, null for a command and
    /// for unknown code.
    pub module: Option<String>,
    /// Line with the most of the time, `file:line`, else the function's first line; null if neither
    /// is known.
    pub source: Option<String>,
    /// Times of the function and of all that it calls.
    pub times: CodeTimes,
    /// Mean number of threads of the command that ran at the samples of the call, this one
    /// included; zero without a sample.
    pub running: f64,
}

/// Moments of a trace, and those with a recorded user stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct StackCoverage {
    /// Samples in user mode and in the kernel.
    pub samples: u64,
    /// Samples with a stack.
    pub sample_stacks: u64,
    /// Waits.
    pub waits: u64,
    /// Waits with a stack: a random share of all.
    pub wait_stacks: u64,
    /// Wake-ups by threads of the command.
    pub wakes: u64,
    /// Wake-ups with a stack: a random share of all.
    pub wake_stacks: u64,
    /// Stacks that reach the first function of their thread.
    pub complete: u64,
}

impl StackCoverage {
    /// Number of all stacks.
    pub const fn stacks(&self) -> u64 {
        self.sample_stacks + self.wait_stacks + self.wake_stacks
    }
}

/// Part of a loss that code holds: the excess of its time over the baseline's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CodeLoss {
    /// Component whose loss it is a part of.
    pub loss: Component,
    /// Lost CPUs; negative if the code takes less.
    pub lost_cpus: f64,
    /// 95% interval of the lost CPUs, from the number of samples or stacks and the interval of the
    /// speedup.
    pub ci95: [f64; 2],
}

/// Part of a loss that one function holds without those that it calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FunctionLoss {
    /// Command that ran the function.
    pub command: String,
    /// Name of the function, as in [`FunctionView`].
    pub function: String,
    /// Path of the file with the function's code; `[kernel]` for the kernel, null for unknown code.
    pub module: Option<String>,
    /// Place in the source code, `file:line`; null if it is unknown.
    pub source: Option<String>,
    /// Loss and its part.
    #[serde(flatten)]
    pub part: CodeLoss,
}

/// Parts of the losses that a function below certain callers holds, with all that it calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CallLoss {
    /// Index of the caller's node; null for a command.
    pub caller: Option<u32>,
    /// Name of the function, as in [`CallNode`].
    pub function: String,
    /// Path of the file with the function's code, as in [`CallNode`].
    pub module: Option<String>,
    /// Place in the source code, `file:line`; null if it is unknown.
    pub source: Option<String>,
    /// Mean number of running threads at this count, as in [`CallNode`]; zero without a sample.
    pub running: f64,
    /// Notable parts of losses, in the order of the components.
    pub parts: Vec<CodeLoss>,
}

impl FunctionLoss {
    /// Name of the kernel among the modules, and of its code without names among the functions.
    pub const KERNEL: &str = Module::KERNEL;
}

/// Known lock of a language's runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RuntimeLock {
    /// Global interpreter lock of CPython.
    PythonGil,
    /// Locks of the C library's memory allocator: one for each of its arenas.
    MallocArena,
}

/// Lock of the command's own: a futex that the trace shows to be a lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct UserLockView {
    /// Command whose threads waited.
    pub command: String,
    /// Variable with the lock, `cache+0x28` for a lock inside a variable; null for locks without a
    /// variable, such as those on the heap. Such locks are one row for each function that waits
    /// for them.
    pub name: Option<String>,
    /// Lock of a language's runtime that it is; null for any other lock.
    #[serde(default)]
    pub runtime: Option<RuntimeLock>,
    /// Number of waits.
    pub waits: u64,
    /// Time of all waits together, in seconds.
    pub wait_s: f64,
    /// Longest wait, in seconds.
    pub max_wait_s: f64,
    /// Time in seconds for which a known thread held the lock while others waited for it.
    pub held_s: f64,
    /// Places where threads waited, longest waits first; none without recorded stacks.
    #[serde(default)]
    pub sites: Vec<CodeSite>,
    /// Places that released the lock, by the time for which it was held while others waited.
    #[serde(default)]
    pub holders: Vec<CodeSite>,
    /// Threads that held the lock while others waited for it, by name, longest time first.
    #[serde(default)]
    pub owners: Vec<LockOwner>,
}

/// Threads of one name that held a lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LockOwner {
    /// Name of the threads.
    pub thread: String,
    /// Time in seconds for which they held the lock while others waited for it.
    pub held_s: f64,
}

/// All holds of a lock of the command's own, in one mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LockHoldsView {
    /// Command whose threads held the lock.
    pub command: String,
    /// Variable with the lock, as in [`UserLockView`]; null for locks without a variable, which are
    /// one row for each function that takes them.
    pub name: Option<String>,
    /// Mode in which the lock was held.
    pub mode: LockMode,
    /// Number of holds.
    pub holds: u64,
    /// Time of all holds together, in seconds. That of several readers can exceed the elapsed time.
    pub held_s: f64,
    /// Longest hold, in seconds.
    pub max_hold_s: f64,
    /// Time of the probes within the holds, in seconds, which the other figures do not include. It
    /// is the number of holds times the time that was measured before the run.
    pub probes_s: f64,
    /// Functions that took the lock, longest holds first.
    pub sites: Vec<CodeSite>,
}

/// Kind of an object of a program's own for which threads wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// Mutual exclusion.
    Mutex,
    /// Lock for readers and writers.
    ReadWriteLock,
    /// Condition variable.
    ConditionVariable,
    /// Semaphore.
    Semaphore,
    /// Barrier.
    Barrier,
    /// End of a thread.
    Join,
    /// Parked thread of Rust's standard library.
    Park,
    /// Runtime of OpenMP: most of all its barriers, which end each parallel region.
    OpenMp,
    /// Library of MPI: messages, and other processes.
    Mpi,
    /// Memory allocator.
    Allocator,
    /// Pool of rayon: work for its thread, or the end of work that it does for the waiting thread.
    Rayon,
    /// Runtime of tokio: work or events for its thread, or the end of a future.
    Tokio,
    /// Scheduler of Go: a thread without a goroutine that can run. The goroutines' own waits are
    /// not seen.
    GoScheduler,
    /// Java virtual machine.
    Jvm,
}

/// Waits of a command's threads in one system call at one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct WaitView {
    /// Command whose threads waited.
    pub command: String,
    /// System call, or `page fault`; null if it is unknown.
    pub call: Option<String>,
    /// Place of the waits.
    #[serde(flatten)]
    pub site: CodeSite,
}

/// Place in the command's code that waits, or that releases a lock: a line of the innermost
/// function outside the libraries of the language. The times are estimates from a random sample of
/// the stacks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CodeSite {
    /// Name of the function, as in [`FunctionView`].
    pub function: String,
    /// Place in the source code, `file:line`; null if it is unknown.
    pub source: Option<String>,
    /// Path of the file with the function's code; null for unknown code.
    pub module: Option<String>,
    /// Name of the function's caller; null if it is unknown.
    pub caller: Option<String>,
    /// Kind of the object that threads wait for; null if it is unknown, and for a release.
    #[serde(default)]
    pub kind: Option<WaitKind>,
    /// Number of waits or holds.
    pub count: f64,
    /// Time of all of them together, in seconds.
    pub seconds: f64,
    /// Standard error of this time; zero if each wait has a recorded stack.
    pub seconds_error: f64,
}
