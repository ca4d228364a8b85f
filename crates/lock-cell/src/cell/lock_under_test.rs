//! Lock at which threads take turns: a user-space lock or a kernel lock.
//!
//! Each cell decides on the threads and on the duration of the measurement.

use morecores_study::{Bytes, Nanos};

use super::work::Work;
use morecores_workloads::lock::{Lock, PaddedLock};
use morecores_workloads::{WorkloadError, clock};

/// A lock from the view of the threads that take turns at it. In a turn a thread acquires the lock,
/// holds it for a time and releases it.
pub(super) trait LockUnderTest: Sync {
    /// Work that lasts for a hold time.
    type Hold: Copy + Send + Sync;
    /// Per-thread data for the hold.
    type ThreadState;

    /// Calibrates a hold of the given CPU time, on the CPU of the caller.
    fn calibrate_hold(time: Nanos) -> Result<Self::Hold, WorkloadError>;

    /// Memory that each thread needs for the hold.
    fn memory(hold: Self::Hold) -> Bytes;

    /// Per-thread data of the calling thread.
    fn thread_state(hold: Self::Hold) -> Self::ThreadState;

    /// Takes one turn.
    fn take_turn(&self, thread_state: &mut Self::ThreadState);

    /// Takes one turn and returns its wait; nothing if the wait cannot be separated from the turn.
    fn take_timed_turn(&self, thread_state: &mut Self::ThreadState) -> Option<Nanos>;

    /// Takes the shortest possible turn.
    fn take_shortest_turn(&self, thread_state: &mut Self::ThreadState);

    /// Number of turns with this hold, derived from the data under the lock.
    /// [`take_shortest_turn`](Self::take_shortest_turn) may leave no trace there.
    fn turn_count(&self, hold: Self::Hold) -> u64;
}

impl<L: Lock> LockUnderTest for PaddedLock<L> {
    type Hold = Work;
    type ThreadState = Work;

    fn calibrate_hold(time: Nanos) -> Result<Work, WorkloadError> {
        Ok(Work::calibrate(time))
    }

    fn memory(_: Work) -> Bytes {
        Bytes(0)
    }

    fn thread_state(hold: Work) -> Work {
        hold
    }

    #[inline(always)]
    fn take_turn(&self, work: &mut Work) {
        self.with(|turns| {
            *turns += 1;
            work.run();
        });
    }

    #[inline(always)]
    fn take_timed_turn(&self, work: &mut Work) -> Option<Nanos> {
        let wait_start = clock::monotonic();
        let wait_end = self.with(|turns| {
            let wait_end = clock::monotonic();
            *turns += 1;
            work.run();
            wait_end
        });
        Some(wait_end.since(wait_start))
    }

    #[inline(always)]
    fn take_shortest_turn(&self, _: &mut Work) {
        self.with(|_| ());
    }

    fn turn_count(&self, _: Work) -> u64 {
        self.with(|turns| *turns)
    }
}
