//! State of a thread during the replay. The engine decides its next step.

use crate::replay::ThreadNumber;

/// State of a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ThreadState {
    NotStarted,
    /// Ready to run, without a CPU.
    Ready,
    /// On a CPU, at work.
    Working,
    /// On a CPU, spinning for a lock.
    Spinning,
    /// Off the CPU until another thread or an event releases it.
    Waiting,
    Ended,
}

/// Thread of the program in the replay.
pub(super) struct Thread {
    pub(super) state: ThreadState,
    /// Index of the current step.
    pub(super) step: usize,
    /// Current piece of shared work: its index, the piece and the step in the piece.
    pub(super) piece: Option<(u32, usize, usize)>,
    /// Remaining work of the current step; `None` before its start.
    pub(super) remaining: Option<f64>,
    /// Work done on a CPU so far: the fair scheduler's measure.
    pub(super) cpu_time: f64,
    pub(super) marks: u32,
    /// Threads that wait for a number of marks, or for the end of this thread.
    pub(super) waiters: Vec<(u32, ThreadNumber)>,
    /// Start of the current wait for a lock.
    pub(super) lock_wait_start: Option<f64>,
    /// Start of the current polling.
    pub(super) polling_start: f64,
}
