//! Where threads take their turns: at a lock of a program's, or at one of the kernel's.
//!
//! Who takes turns, and how long it is measured, is the business of each cell.

use morecores_study::{Bytes, Nanos};

use super::lock::{Lock, Seat};
use super::work::Work;
use crate::{WorkloadError, clock};

/// A lock as those who take turns at it see it. A turn is: take it, hold it for a time, give it back.
pub(super) trait Post: Sync {
    /// What is done to hold it for a time.
    type Hold: Copy + Send + Sync;
    /// What a thread needs of its own for that.
    type Hand;

    /// Finds out, on the CPU on which the caller is, how to hold it for so much CPU time.
    fn hold(time: Nanos) -> Result<Self::Hold, WorkloadError>;

    /// Memory that each thread takes for that.
    fn memory(hold: Self::Hold) -> Bytes;

    /// Of the calling thread.
    fn hand(hold: Self::Hold) -> Self::Hand;

    /// One turn.
    fn turn(&self, hand: &mut Self::Hand);

    /// One turn, and how long it was waited for. Nothing where the wait cannot be told from the turn.
    fn watched(&self, hand: &mut Self::Hand) -> Option<Nanos>;

    /// The shortest turn that there is.
    fn touch(&self, hand: &mut Self::Hand);

    /// How many turns were taken that held it so, by what they left under the lock; [`touch`](Self::touch) may leave
    /// nothing.
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
