//! State of a thread during the replay. The engine decides its next step.

use crate::replay::Id;

/// State of a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum At {
    Unborn,
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
    pub(super) at: At,
    /// Index of the current step.
    pub(super) step: usize,
    /// Current piece of a bag: bag, piece and step in the piece.
    pub(super) piece: Option<(u32, usize, usize)>,
    /// Remaining work of the current step; `None` before its start.
    pub(super) left: Option<f64>,
    /// Work done on a CPU so far: the fair scheduler's measure.
    pub(super) served: f64,
    pub(super) marks: u32,
    /// Threads that wait for a number of marks, or for the end of this thread.
    pub(super) awaited_by: Vec<(u32, Id)>,
    /// Start of the current wait for a lock.
    pub(super) waits_since: Option<f64>,
    /// Start of the current polling.
    pub(super) watches_since: f64,
}
