//! Numbers of running and runnable threads of the tree at each instant.

use morecores_study::Nanos;

use crate::trace::{State, Timeline};

/// A stretch of time in which neither number changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// Beginning of the stretch.
    pub(super) from: Nanos,
    /// End of the stretch.
    pub(super) to: Nanos,
    /// Number of threads on any CPU.
    pub(super) running: u32,
    /// Number of threads that are ready and have no CPU.
    pub(super) runnable: u32,
}

impl Moment {
    /// Length of the stretch.
    pub(super) const fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

/// Divides the window into moments, without gap or overlap and without moments of zero length.
pub(super) fn moments(timeline: &Timeline) -> Vec<Moment> {
    let mut edges: Vec<(Nanos, i32, i32)> = Vec::new();
    for (_, thread) in timeline.tree() {
        for segment in &thread.segments {
            let (running, runnable) = match segment.state {
                State::Running { .. } => (1, 0),
                State::Runnable | State::Held(_) => (0, 1),
                State::Blocked(_) => continue,
            };
            edges.push((segment.from, running, runnable));
            edges.push((segment.to, -running, -runnable));
        }
    }
    edges.sort_unstable_by_key(|(at, ..)| *at);
    let mut moments: Vec<Moment> = Vec::new();
    let (mut since, mut running, mut runnable) = (timeline.began, 0_i32, 0_i32);
    for (at, more_running, more_runnable) in edges.into_iter().chain([(timeline.ended, 0, 0)]) {
        if at > since {
            let (running, runnable) = (running.unsigned_abs(), runnable.unsigned_abs());
            match moments.last_mut() {
                Some(last) if (last.running, last.runnable) == (running, runnable) => last.to = at,
                _ => moments.push(Moment { from: since, to: at, running, runnable }),
            }
            since = at;
        }
        running += more_running;
        runnable += more_runnable;
    }
    moments
}
