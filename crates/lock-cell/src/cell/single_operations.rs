//! Times of single operations: a free lock, a switch between two threads on one CPU, and a
//! cache-line transfer between two CPUs. Each figure is a median over batches, so that
//! interruptions do not affect it.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Release};

use morecores_study::{CpuId, Nanos};
use rustix::thread::futex;

use super::contention::run_on_cpu;
use super::cpu;
use super::lock_under_test::LockUnderTest;
use morecores_workloads::{WorkloadError, clock, team};

/// Pairs of lock and unlock in a batch. A batch takes some microseconds, so the clock reading is
/// negligible.
const PAIRS_PER_BATCH: u32 = 1000;

/// Round trips in a batch: tens of microseconds.
const TRIPS_PER_BATCH: u32 = 100;

/// Minimum number of batches for the median, for any window.
const MIN_BATCHES: usize = 5;

/// Duration of an uncontended lock and unlock, in nanoseconds.
pub(super) fn measure_free<U: LockUnderTest>(
    lock: &U,
    cpu: CpuId,
    window: Nanos,
) -> Result<f64, WorkloadError> {
    run_on_cpu(cpu, || {
        let mut thread_state = U::thread_state(U::calibrate_hold(Nanos::ZERO)?);
        Ok(median_batch(window, || {
            for _ in 0..PAIRS_PER_BATCH {
                // The compiler must not know which lock it is, nor that all iterations use the same
                // lock.
                black_box(lock).take_shortest_turn(&mut thread_state);
            }
        }) / f64::from(PAIRS_PER_BATCH))
    })
}

/// Median duration of a batch, in nanoseconds.
fn median_batch(window: Nanos, mut batch: impl FnMut()) -> f64 {
    let start = clock::monotonic();
    let mut times = Vec::new();
    let mut before = start;
    while times.len() < MIN_BATCHES || before.since(start) < window {
        batch();
        let now = clock::monotonic();
        times.push(now.since(before).0 as f64);
        // A second reading of the clock excludes the time to grow the list.
        before = clock::monotonic();
    }
    median(times)
}

/// Median of the times; NaN for an empty list. Defined here because the measured program does not
/// link the statistics.
pub(super) fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    let (low, high) = (times.len().saturating_sub(1) / 2, times.len() / 2);
    times.get(low).zip(times.get(high)).map_or(f64::NAN, |(low, high)| (low + high) / 2.0)
}

/// Owner of the turn, in its own cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct TurnWord(AtomicU32);

/// Turn of the first thread.
const FIRST: u32 = 0;
/// Turn of the second thread.
const SECOND: u32 = 1;
/// Last turn of the second thread.
const END: u32 = 2;

/// One-way time between two threads, in nanoseconds. The first thread measures round trips in
/// batches.
fn measure_one_way(
    cpus: [CpuId; 2],
    window: Nanos,
    set_turn: impl Fn(&AtomicU32, u32) + Sync,
    wait_for_turn_change: impl Fn(&AtomicU32, u32) -> u32 + Sync,
) -> Result<f64, WorkloadError> {
    let turn = &TurnWord::default();
    let (set_turn, wait_for_turn_change) =
        (&|word| set_turn(&turn.0, word), &|previous| wait_for_turn_change(&turn.0, previous));
    let piece = |index: usize| {
        move || {
            let pin_result = cpu::pin(cpus[index]);
            if index == 1 {
                while wait_for_turn_change(FIRST) == SECOND {
                    set_turn(FIRST);
                }
                return pin_result.map(|()| None);
            }
            let batch = median_batch(window, || {
                for _ in 0..TRIPS_PER_BATCH {
                    set_turn(SECOND);
                    wait_for_turn_change(SECOND);
                }
            });
            set_turn(END);
            pin_result.map(|()| Some(batch / f64::from(2 * TRIPS_PER_BATCH)))
        }
    };
    let times = team::run("lock", (0..2).map(piece).collect())?;
    let times: Vec<Option<f64>> = times.into_iter().collect::<Result<_, _>>()?;
    Ok(times.into_iter().flatten().next().unwrap_or(f64::NAN))
}

/// Time of a switch between two threads on one CPU, in nanoseconds. Each thread wakes the other and
/// sleeps until it is woken. The time includes the two system calls.
pub(super) fn measure_switch(cpu: CpuId, window: Nanos) -> Result<f64, WorkloadError> {
    let set_turn = |word: &AtomicU32, turn| {
        word.store(turn, Release);
        let _ = futex::wake(word, futex::Flags::PRIVATE, 1);
    };
    let wait_for_turn_change = |word: &AtomicU32, previous| {
        loop {
            let turn = word.load(Acquire);
            if turn != previous {
                return turn;
            }
            // The wait returns at once if the turn has already changed. The loop rechecks the word
            // after every return.
            let _ = futex::wait(word, futex::Flags::PRIVATE, previous, None);
        }
    };
    measure_one_way([cpu; 2], window, set_turn, wait_for_turn_change)
}

/// One-way time of a cache line from one CPU to another that polls a word, in nanoseconds. The loop
/// has no pause instruction between two polls, since the pause would be added to the time.
pub(super) fn measure_line(from: CpuId, to: CpuId, window: Nanos) -> Result<f64, WorkloadError> {
    if from == to {
        return Err(WorkloadError::CannotRun(format!(
            "a cache line does not travel from CPU {from} to itself"
        )));
    }
    let wait_for_turn_change = |word: &AtomicU32, previous| {
        loop {
            let turn = word.load(Acquire);
            if turn != previous {
                return turn;
            }
        }
    };
    measure_one_way([from, to], window, |word, turn| word.store(turn, Release), wait_for_turn_change)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one() {
        assert_eq!(median(vec![5.0, 1.0, 3.0]), 3.0);
        assert_eq!(median(vec![4.0, 1.0, 3.0, 100.0]), 3.5);
        assert!(median(Vec::new()).is_nan());
    }
}
