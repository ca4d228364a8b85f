//! What is known of a thread while it is replayed. What it does next is the engine's.

use crate::replay::Id;

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum At {
    Unborn,
    /// It could run.
    Ready,
    /// On a CPU, at work.
    Working,
    /// On a CPU, waiting for a lock.
    Spinning,
    /// Off CPU until somebody releases it.
    Waiting,
    Ended,
}

/// A thread of the program, in the replay.
pub(super) struct Thread {
    pub(super) at: At,
    /// The step it is at.
    pub(super) step: usize,
    /// The piece of a bag that it is at, and the step of that.
    pub(super) piece: Option<(u32, usize, usize)>,
    /// What is left of the work of that step; none while it has not been begun.
    pub(super) left: Option<f64>,
    /// How much work it has been given a CPU for: the fair scheduler's measure.
    pub(super) served: f64,
    pub(super) marks: u32,
    /// Who waits for its marks or its end, by how many marks.
    pub(super) awaited_by: Vec<(u32, Id)>,
    /// Since when it waits for a lock.
    pub(super) waits_since: Option<f64>,
    /// Since when it looks every so often.
    pub(super) watches_since: f64,
}
