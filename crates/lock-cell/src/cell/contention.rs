//! Contention of threads for one lock over a time window: turns of each thread, and the CPU time
//! used.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use morecores_study::lock::ContentionSample;
use morecores_study::{Bytes, CpuId, Nanos};

use super::cpu::{self, ThreadCpuTime};
use super::lock_under_test::LockUnderTest;
use super::work::Work;
use morecores_workloads::clock::Span;
use morecores_workloads::{WorkloadError, memory, team};

/// Contention of threads for one lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contention {
    pub(super) threads: usize,
    pub(super) hold: Nanos,
    pub(super) think: Nanos,
    /// Whether every wait is timed.
    pub(super) times_waits: bool,
    pub(super) window: Nanos,
}

/// Flag that marks the end of the measurement. It has its own cache line, of which all CPUs hold a
/// copy until the single write.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct StopFlag(AtomicBool);

impl StopFlag {
    #[inline(always)]
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Sleeps for `time` and then sets the flag.
    pub(super) fn set_after(&self, time: Nanos) {
        thread::sleep(time.into());
        self.0.store(true, Relaxed);
    }
}

/// Barrier at which threads begin together. The threads wait awake and yield to each other: a
/// thread that was woken first would have turns before the others are awake.
#[derive(Debug)]
pub(super) struct StartBarrier {
    arrived: AtomicUsize,
    expected: usize,
}

impl StartBarrier {
    /// A barrier for `expected` threads.
    pub(super) const fn new(expected: usize) -> Self {
        Self { arrived: AtomicUsize::new(0), expected }
    }

    /// Waits for the other threads.
    pub(super) fn wait(&self) {
        self.arrived.fetch_add(1, Relaxed);
        while self.arrived.load(Relaxed) < self.expected {
            thread::yield_now();
        }
    }

    /// Barrier for the coordinating thread, which takes no turn itself.
    pub(super) fn wait_for_threads(&self) {
        while self.arrived.load(Relaxed) < self.expected {
            thread::sleep(Duration::from_micros(50));
        }
    }
}

/// Result of one thread.
#[derive(Clone, Copy, Debug)]
struct ThreadResult {
    span: Span,
    turns: u64,
    cpu_time: ThreadCpuTime,
    longest_wait: Option<Nanos>,
}

impl Contention {
    /// Measures the contention for `lock` on these CPUs in turn, and checks that no two threads
    /// held the lock at once.
    pub(super) fn run<U: LockUnderTest>(
        self,
        lock: &U,
        cpus: &[CpuId],
    ) -> Result<ContentionSample, WorkloadError> {
        let first = cpus[0];
        let (hold, think) =
            run_on_cpu(first, || Ok((U::calibrate_hold(self.hold)?, Work::calibrate(self.think))))?;
        let memory = Bytes(U::memory(hold).0 * self.threads as u64);
        memory::require(memory, "the number of threads, or the time for which they hold the lock")?;
        let (stop, start) = (&StopFlag::default(), &StartBarrier::new(self.threads));
        // One more thread sleeps during the measurement and tells the others at its end.
        let piece = |index: usize| {
            move || {
                if index == self.threads {
                    start.wait_for_threads();
                    stop.set_after(self.window);
                    return Ok(None);
                }
                let pin_result = cpu::pin(cpus[index % cpus.len()]);
                let mut thread_state = U::thread_state(hold);
                start.wait();
                pin_result?;
                Ok(Some(if self.times_waits {
                    take_turns::<U, true>(lock, &mut thread_state, think, stop)
                } else {
                    take_turns::<U, false>(lock, &mut thread_state, think, stop)
                }))
            }
        };
        let thread_results = team::run("lock", (0..=self.threads).map(piece).collect())?;
        let thread_results: Vec<ThreadResult> =
            thread_results.into_iter().filter_map(Result::transpose).collect::<Result<_, _>>()?;
        let turns: Vec<u64> = thread_results.iter().map(|thread| thread.turns).collect();
        let (reported, observed) = (turns.iter().sum::<u64>(), lock.turn_count(hold));
        if reported != observed {
            return Err(WorkloadError::WrongResult {
                what: format!("lock-cell, turns that {} threads left under the lock", self.threads),
                expected: reported.to_string(),
                got: observed.to_string(),
            });
        }
        Ok(ContentionSample {
            window_ns: Span::elapsed_time(thread_results.iter().map(|thread| thread.span)),
            turns,
            user_ns: thread_results.iter().map(|thread| thread.cpu_time.user).sum(),
            system_ns: thread_results.iter().map(|thread| thread.cpu_time.system).sum(),
            longest_waits_ns: thread_results.iter().map(|thread| thread.longest_wait).collect(),
        })
    }
}

/// Runs `work` on a new thread on this CPU.
pub(super) fn run_on_cpu<T: Send>(
    cpu: CpuId,
    work: impl FnOnce() -> Result<T, WorkloadError> + Send,
) -> Result<T, WorkloadError> {
    let piece = || {
        cpu::pin(cpu)?;
        work()
    };
    team::run("lock", vec![piece])?.remove(0)
}

/// Takes turns until the measurement is over. A thread that waits at the end still takes its turn,
/// and its whole wait counts.
#[inline(never)]
fn take_turns<U: LockUnderTest, const TIMES_WAITS: bool>(
    lock: &U,
    thread_state: &mut U::ThreadState,
    think: Work,
    stop: &StopFlag,
) -> ThreadResult {
    let mut turns = 0;
    let mut longest_wait = None;
    let (cpu_time, (span, ())) = ThreadCpuTime::measure(|| {
        Span::measure(|| {
            while !stop.is_set() {
                if TIMES_WAITS {
                    longest_wait = longest_wait.max(lock.take_timed_turn(thread_state));
                } else {
                    lock.take_turn(thread_state);
                }
                turns += 1;
                think.run();
            }
        })
    });
    // A thread that came too late for any turn has waited for none.
    if TIMES_WAITS && turns == 0 {
        longest_wait = Some(Nanos::ZERO);
    }
    ThreadResult { span, turns, cpu_time, longest_wait }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    /// A lock without mutual exclusion: one turn in a thousand leaves no trace.
    #[derive(Default)]
    struct UnlockedCounter(AtomicU64);

    impl LockUnderTest for UnlockedCounter {
        type Hold = ();
        type ThreadState = u64;

        fn calibrate_hold(_: Nanos) -> Result<(), WorkloadError> {
            Ok(())
        }

        fn memory((): ()) -> Bytes {
            Bytes(0)
        }

        fn thread_state((): ()) -> u64 {
            0
        }

        fn take_turn(&self, turns: &mut u64) {
            *turns += 1;
            self.0.fetch_add(u64::from(!turns.is_multiple_of(1000)), Relaxed);
        }

        fn take_timed_turn(&self, turns: &mut u64) -> Option<Nanos> {
            self.take_turn(turns);
            None
        }

        fn take_shortest_turn(&self, turns: &mut u64) {
            self.take_turn(turns);
        }

        fn turn_count(&self, (): ()) -> u64 {
            self.0.load(Relaxed)
        }
    }

    #[test]
    fn lost_turns_are_a_wrong_result() {
        let cpu = super::super::cpu::usable_cpus().unwrap().first().unwrap();
        for times_waits in [false, true] {
            let contention = Contention {
                threads: 2,
                hold: Nanos::ZERO,
                think: Nanos::ZERO,
                times_waits,
                window: Nanos::from_millis(10),
            };
            let error = contention.run(&UnlockedCounter::default(), &[cpu]).unwrap_err();
            assert_eq!(error.exit_status(), 1, "{error}");
            assert!(error.to_string().contains("turns that 2 threads left under the lock"), "{error}");
        }
    }
}
