//! Waits for a preempted owner: a busy thread shares the owner's CPU, so that some holds last one
//! time slice longer.

use morecores_study::lock::LockSample;
use morecores_study::{CpuId, Nanos};

use super::contest::{Over, Start, on};
use super::cpu;
use super::post::Post;
use super::work::Work;
use crate::{WorkloadError, clock, team};

/// CPU time for which the owner holds the lock, and for which it leaves the lock free in between.
/// The two times are equal, so that the waiter acquires the lock between two holds. Long waits then
/// have a single cause.
const HOLD: Nanos = Nanos::from_micros(200);

/// Threshold of a long wait: five holds. A longer wait is attributed to a preempted owner. A time
/// slice is 1 to 4 ms (`base_slice_ns` of the scheduler, rounded up to a tick).
const LONG: Nanos = Nanos::from_millis(1);

/// Shortest window. It contains some tens of slices, and the waiter meets several of them. A study
/// has several rounds of it.
const LEAST: Nanos = Nanos::from_millis(100);

/// Runs an owner and a busy thread on the first CPU, and a waiter on the second.
pub(super) fn measured<P: Post>(
    post: &P,
    cpus: [CpuId; 2],
    window: Nanos,
) -> Result<LockSample, WorkloadError> {
    let (hold, none, think) =
        on(cpus[0], || Ok((P::hold(HOLD)?, P::hold(Nanos::ZERO)?, Work::lasting(HOLD))))?;
    let (over, start) = (&Over::default(), &Start::of(3));
    let piece = |role: usize| {
        move || {
            let pinned = match role {
                0 | 1 => cpu::pin(cpus[0]),
                2 => cpu::pin(cpus[1]),
                _ => Ok(()),
            };
            let mut waits = Waits::default();
            if role < 3 {
                start.pass();
            }
            match role {
                0 => {
                    let mut hand = P::hand(hold);
                    while !over.is() {
                        post.turn(&mut hand);
                        think.run();
                    }
                }
                1 => {
                    while !over.is() {
                        think.run();
                    }
                }
                2 => {
                    let mut hand = P::hand(none);
                    while !over.is() {
                        waits.see(|| post.turn(&mut hand));
                        think.run();
                    }
                }
                _ => {
                    start.watch();
                    over.after(window.max(LEAST));
                }
            }
            pinned.map(|()| waits)
        }
    };
    let mut all = Waits::default();
    for waits in team::run("lock", (0..4).map(piece).collect())? {
        all.add(waits?);
    }
    Ok(LockSample::Preempted { waited_ns: all.waited, burned_ns: all.burned, waits: all.count })
}

/// Totals of the long waits.
#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    waited: Nanos,
    burned: Nanos,
    count: u64,
}

impl Waits {
    /// Counts a turn if its wait was long. The turn itself takes no time. The CPU time is read
    /// inside the elapsed time, so that the burned time never exceeds the wait.
    fn see(&mut self, turn: impl FnOnce()) {
        let (asked, used) = (clock::now(), cpu::time());
        turn();
        let burned = cpu::time().since(used);
        let waited = clock::now().since(asked);
        if waited > LONG {
            self.add(Self { waited, burned, count: 1 });
        }
    }

    fn add(&mut self, other: Self) {
        self.waited += other.waited;
        self.burned += other.burned;
        self.count += other.count;
    }
}
