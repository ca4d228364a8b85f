//! Waits for a preempted owner: a busy thread shares the owner's CPU, so that some holds last one
//! time slice longer.

use morecores_study::lock::LockSample;
use morecores_study::{CpuId, Nanos};

use super::contention::{StartBarrier, StopFlag, run_on_cpu};
use super::cpu;
use super::lock_under_test::LockUnderTest;
use super::work::Work;
use morecores_workloads::{WorkloadError, clock, team};

/// CPU time for which the owner holds the lock, and for which it leaves the lock free in between.
/// The two times are equal, so that the waiter acquires the lock between two holds. Long waits then
/// have a single cause.
const HOLD: Nanos = Nanos::from_micros(200);

/// Threshold of a long wait: five holds. A longer wait is attributed to a preempted owner. A time
/// slice is 1 to 4 ms (`base_slice_ns` of the scheduler, rounded up to a tick).
const LONG_WAIT: Nanos = Nanos::from_millis(1);

/// Shortest window. It contains some tens of slices, and the waiter meets several of them. A study
/// has several rounds of it.
const MIN_WINDOW: Nanos = Nanos::from_millis(100);

/// Runs an owner and a busy thread on the first CPU, and a waiter on the second.
pub(super) fn measure<U: LockUnderTest>(
    lock: &U,
    cpus: [CpuId; 2],
    window: Nanos,
) -> Result<LockSample, WorkloadError> {
    let (hold, no_hold, think) = run_on_cpu(cpus[0], || {
        Ok((U::calibrate_hold(HOLD)?, U::calibrate_hold(Nanos::ZERO)?, Work::calibrate(HOLD)))
    })?;
    let (stop, start) = (&StopFlag::default(), &StartBarrier::new(3));
    let piece = |role: usize| {
        move || {
            let pin_result = match role {
                0 | 1 => cpu::pin(cpus[0]),
                2 => cpu::pin(cpus[1]),
                _ => Ok(()),
            };
            let mut waits = LongWaits::default();
            if role < 3 {
                start.wait();
            }
            match role {
                0 => {
                    let mut thread_state = U::thread_state(hold);
                    while !stop.is_set() {
                        lock.take_turn(&mut thread_state);
                        think.run();
                    }
                }
                1 => {
                    while !stop.is_set() {
                        think.run();
                    }
                }
                2 => {
                    let mut thread_state = U::thread_state(no_hold);
                    while !stop.is_set() {
                        waits.record(|| lock.take_turn(&mut thread_state));
                        think.run();
                    }
                }
                _ => {
                    start.wait_for_threads();
                    stop.set_after(window.max(MIN_WINDOW));
                }
            }
            pin_result.map(|()| waits)
        }
    };
    let mut all = LongWaits::default();
    for waits in team::run("lock", (0..4).map(piece).collect())? {
        all.add(waits?);
    }
    Ok(LockSample::Preempted { waited_ns: all.wait_time, burned_ns: all.burned_time, waits: all.count })
}

/// Totals of the long waits.
#[derive(Clone, Copy, Debug, Default)]
struct LongWaits {
    wait_time: Nanos,
    burned_time: Nanos,
    count: u64,
}

impl LongWaits {
    /// Counts a turn if its wait was long. The turn itself takes no time. The CPU time is read
    /// inside the elapsed time, so that the burned time never exceeds the wait.
    fn record(&mut self, turn: impl FnOnce()) {
        let (wait_start, cpu_time_before) = (clock::monotonic(), clock::thread_cpu());
        turn();
        let burned_time = clock::thread_cpu().since(cpu_time_before);
        let wait_time = clock::monotonic().since(wait_start);
        if wait_time > LONG_WAIT {
            self.add(Self { wait_time, burned_time, count: 1 });
        }
    }

    fn add(&mut self, other: Self) {
        self.wait_time += other.wait_time;
        self.burned_time += other.burned_time;
        self.count += other.count;
    }
}
