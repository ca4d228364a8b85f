//! Advice on a study: what would make the command faster on more CPUs.

use serde::{Deserialize, Serialize};

use super::prediction::Gain;

/// Steps towards a faster command on more CPUs, by the traced run with the most CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// Number of CPUs of the traced run.
    pub cpus: u32,
    /// Elapsed time of the timed runs on these CPUs, in seconds.
    pub elapsed_s: f64,
    /// Share of the elapsed time in which two or more threads were running or ready to run.
    pub parallel_share: f64,
    /// Largest number of threads that were running or ready at once for at least a twentieth of the
    /// elapsed time.
    pub ready_threads: u32,
    /// Work that one thread did alone, longest first; null if the trace has no stacks of samples.
    pub serial_work: Option<Vec<SerialWork>>,
    /// Gains from removing obstacles, by replay, largest first.
    pub gains: Vec<Gain>,
}

/// Call that one thread executed while no other work was ready, with all that it calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SerialWork {
    /// Command that executed the call.
    pub command: String,
    /// Name of the function.
    pub function: String,
    /// Name of its caller; null if it is unknown.
    pub caller: Option<String>,
    /// Place in the source code, `file:line`; null if it is unknown.
    pub source: Option<String>,
    /// Time alone in seconds, in the traced run.
    pub alone_s: f64,
    /// 95% interval of this time, from the number of samples.
    pub alone_ci95: [f64; 2],
    /// Time saved if the call were divided evenly, without any cost, on each number of CPUs.
    pub saved: Vec<SavedTime>,
}

/// Time that a change saves on a number of CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedTime {
    /// Number of CPUs.
    pub cpus: u32,
    /// Saved elapsed time, in seconds.
    pub saved_s: f64,
}
