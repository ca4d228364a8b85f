//! Lock at which threads take turns: a user-space lock or a kernel lock.
//!
//! Each cell decides on the threads and on the duration of the measurement.

use morecores_study::{Bytes, Nanos};

use super::lock::{Lock, Seat};
use super::work::Work;
use crate::{WorkloadError, clock};

/// A lock from the view of the threads that take turns at it. In a turn a thread acquires the lock,
/// holds it for a time and releases it.
pub(super) trait Post: Sync {
    /// Work that lasts for a hold time.
    type Hold: Copy + Send + Sync;
    /// Per-thread data for the hold.
    type Hand;

    /// Calibrates a hold of the given CPU time, on the CPU of the caller.
    fn hold(time: Nanos) -> Result<Self::Hold, WorkloadError>;

    /// Memory that each thread needs for the hold.
    fn memory(hold: Self::Hold) -> Bytes;

    /// Per-thread data of the calling thread.
    fn hand(hold: Self::Hold) -> Self::Hand;

    /// Takes one turn.
    fn turn(&self, hand: &mut Self::Hand);

    /// Takes one turn and returns its wait; nothing if the wait cannot be separated from the turn.
    fn watched(&self, hand: &mut Self::Hand) -> Option<Nanos>;

    /// Takes the shortest possible turn.
    fn touch(&self, hand: &mut Self::Hand);

    /// Number of turns with this hold, derived from the data under the lock. [`touch`](Self::touch)
    /// may leave no trace there.
    fn turns(&self, hold: Self::Hold) -> u64;
}

impl<L: Lock> Post for Seat<L> {
    type Hold = Work;
    type Hand = Work;

    fn hold(time: Nanos) -> Result<Work, WorkloadError> {
        Ok(Work::lasting(time))
    }

    fn memory(_: Work) -> Bytes {
        Bytes(0)
    }

    fn hand(hold: Work) -> Work {
        hold
    }

    #[inline(always)]
    fn turn(&self, work: &mut Work) {
        self.with(|turns| {
            *turns += 1;
            work.run();
        });
    }

    #[inline(always)]
    fn watched(&self, work: &mut Work) -> Option<Nanos> {
        let asked = clock::now();
        let got = self.with(|turns| {
            let got = clock::now();
            *turns += 1;
            work.run();
            got
        });
        Some(got.since(asked))
    }

    #[inline(always)]
    fn touch(&self, _: &mut Work) {
        self.with(|_| ());
    }

    fn turns(&self, _: Work) -> u64 {
        self.with(|turns| *turns)
    }
}
