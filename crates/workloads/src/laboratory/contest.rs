//! Contest of threads for one lock over a time window: turns of each thread, and the CPU time used.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use morecores_study::lock::ContestSample;
use morecores_study::{Bytes, CpuId, Nanos};

use super::cpu::{self, Used};
use super::post::Post;
use super::work::Work;
use crate::clock::Span;
use crate::{WorkloadError, memory, team};

/// A contest for one lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contest {
    pub(super) threads: usize,
    pub(super) hold: Nanos,
    pub(super) think: Nanos,
    /// Whether every wait is timed.
    pub(super) watched: bool,
    pub(super) window: Nanos,
}

/// Flag that marks the end of the contest. It has its own cache line, of which all CPUs hold a copy
/// until the single write.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Over(AtomicBool);

impl Over {
    #[inline(always)]
    pub(super) fn is(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Sleeps for `time` and then sets the flag.
    pub(super) fn after(&self, time: Nanos) {
        thread::sleep(time.into());
        self.0.store(true, Relaxed);
    }
}

/// Barrier at which threads begin together. The threads wait awake and yield to each other: a
/// thread that was woken first would have turns before the others are awake.
#[derive(Debug)]
pub(super) struct Start {
    there: AtomicUsize,
    expected: usize,
}

impl Start {
    /// A barrier for `expected` threads.
    pub(super) const fn of(expected: usize) -> Self {
        Self { there: AtomicUsize::new(0), expected }
    }

    /// Waits for the other threads.
    pub(super) fn pass(&self) {
        self.there.fetch_add(1, Relaxed);
        while self.there.load(Relaxed) < self.expected {
            thread::yield_now();
        }
    }

    /// Barrier for the coordinating thread, which takes no turn itself.
    pub(super) fn watch(&self) {
        while self.there.load(Relaxed) < self.expected {
            thread::sleep(Duration::from_micros(50));
        }
    }
}

/// Activity of one thread.
#[derive(Clone, Copy, Debug)]
struct Done {
    span: Span,
    turns: u64,
    used: Used,
    longest: Option<Nanos>,
}

impl Contest {
    /// Runs the contest at `post` on these CPUs in turn, and checks that no two threads held the
    /// lock at once.
    pub(super) fn at<P: Post>(self, post: &P, cpus: &[CpuId]) -> Result<ContestSample, WorkloadError> {
        let first = cpus[0];
        let (hold, think) = on(first, || Ok((P::hold(self.hold)?, Work::lasting(self.think))))?;
        let memory = Bytes(P::memory(hold).0 * self.threads as u64);
        memory::require(memory, "the number of threads, or the time for which they hold the lock")?;
        let (over, start) = (&Over::default(), &Start::of(self.threads));
        // One more thread sleeps during the contest and tells the others at its end.
        let piece = |index: usize| {
            move || {
                if index == self.threads {
                    start.watch();
                    over.after(self.window);
                    return Ok(None);
                }
                let pinned = cpu::pin(cpus[index % cpus.len()]);
                let mut hand = P::hand(hold);
                start.pass();
                pinned?;
                Ok(Some(if self.watched {
                    take_turns::<P, true>(post, &mut hand, think, over)
                } else {
                    take_turns::<P, false>(post, &mut hand, think, over)
                }))
            }
        };
        let done = team::run("lock", (0..=self.threads).map(piece).collect())?;
        let done: Vec<Done> = done.into_iter().filter_map(Result::transpose).collect::<Result<_, _>>()?;
        let turns: Vec<u64> = done.iter().map(|one| one.turns).collect();
        let (told, left) = (turns.iter().sum::<u64>(), post.turns(hold));
        if told != left {
            return Err(WorkloadError::Wrong {
                what: format!("lock-cell, turns that {} threads left under the lock", self.threads),
                expected: told.to_string(),
                got: left.to_string(),
            });
        }
        Ok(ContestSample {
            window_ns: Span::around(done.iter().map(|one| one.span)),
            turns,
            user_ns: done.iter().map(|one| one.used.user).sum(),
            system_ns: done.iter().map(|one| one.used.system).sum(),
            longest_waits_ns: done.iter().map(|one| one.longest).collect(),
        })
    }
}

/// Runs `work` on a new thread on this CPU.
pub(super) fn on<T: Send>(
    cpu: CpuId,
    work: impl FnOnce() -> Result<T, WorkloadError> + Send,
) -> Result<T, WorkloadError> {
    let piece = || {
        cpu::pin(cpu)?;
        work()
    };
    team::run("lock", vec![piece])?.remove(0)
}

/// Takes turns until the contest is over. A thread that waits at the end still takes its turn, and
/// its whole wait counts.
#[inline(never)]
fn take_turns<P: Post, const WATCHED: bool>(post: &P, hand: &mut P::Hand, think: Work, over: &Over) -> Done {
    let mut turns = 0;
    let mut longest = None;
    let (used, (span, ())) = Used::by(|| {
        Span::of(|| {
            while !over.is() {
                if WATCHED {
                    longest = longest.max(post.watched(hand));
                } else {
                    post.turn(hand);
                }
                turns += 1;
                think.run();
            }
        })
    });
    // A thread that came too late for any turn has waited for none.
    if WATCHED && turns == 0 {
        longest = Some(Nanos::ZERO);
    }
    Done { span, turns, used, longest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    /// A lock without mutual exclusion: one turn in a thousand leaves no trace.
    #[derive(Default)]
    struct Open(AtomicU64);

    impl Post for Open {
        type Hold = ();
        type Hand = u64;

        fn hold(_: Nanos) -> Result<(), WorkloadError> {
            Ok(())
        }

        fn memory((): ()) -> Bytes {
            Bytes(0)
        }

        fn hand((): ()) -> u64 {
            0
        }

        fn turn(&self, turns: &mut u64) {
            *turns += 1;
            self.0.fetch_add(u64::from(!turns.is_multiple_of(1000)), Relaxed);
        }

        fn watched(&self, turns: &mut u64) -> Option<Nanos> {
            self.turn(turns);
            None
        }

        fn touch(&self, turns: &mut u64) {
            self.turn(turns);
        }

        fn turns(&self, (): ()) -> u64 {
            self.0.load(Relaxed)
        }
    }

    #[test]
    fn turns_that_left_nothing_are_a_wrong_result() {
        let cpu = super::super::cpu::usable().unwrap().first().unwrap();
        for watched in [false, true] {
            let contest = Contest {
                threads: 2,
                hold: Nanos::ZERO,
                think: Nanos::ZERO,
                watched,
                window: Nanos::from_millis(10),
            };
            let error = contest.at(&Open::default(), &[cpu]).unwrap_err();
            assert_eq!(error.exit_status(), 1, "{error}");
            assert!(error.to_string().contains("turns that 2 threads left under the lock"), "{error}");
        }
    }
}
