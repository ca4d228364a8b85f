//! Times of single operations: a free lock, a switch between two threads on one CPU, and a
//! cache-line transfer between two CPUs. Each figure is a median over batches, so that
//! interruptions do not affect it.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Release};

use morecores_study::{CpuId, Nanos};
use rustix::thread::futex;

use super::contest::on;
use super::cpu;
use super::post::Post;
use crate::{WorkloadError, clock, team};

/// Pairs of lock and unlock in a batch. A batch takes some microseconds, so the clock reading is
/// negligible.
const PAIRS: u32 = 1000;

/// Round trips in a batch: tens of microseconds.
const TRIPS: u32 = 100;

/// Minimum number of batches for the median, for any window.
const LEAST: usize = 5;

/// Duration of an uncontended lock and unlock, in nanoseconds.
pub(super) fn free<P: Post>(post: &P, cpu: CpuId, window: Nanos) -> Result<f64, WorkloadError> {
    on(cpu, || {
        let mut hand = P::hand(P::hold(Nanos::ZERO)?);
        Ok(median_batch(window, || {
            for _ in 0..PAIRS {
                // The compiler must not know which lock it is, nor that all iterations use the same
                // lock.
                black_box(post).touch(&mut hand);
            }
        }) / f64::from(PAIRS))
    })
}

/// Median duration of a batch, in nanoseconds.
fn median_batch(window: Nanos, mut batch: impl FnMut()) -> f64 {
    let begun = clock::now();
    let mut times = Vec::new();
    let mut before = begun;
    while times.len() < LEAST || before.since(begun) < window {
        batch();
        let now = clock::now();
        times.push(now.since(before).0 as f64);
        // A second reading of the clock excludes the time to grow the list.
        before = clock::now();
    }
    median(times)
}

/// Median of the times; NaN for an empty list.
pub(super) fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    let (low, high) = (times.len().saturating_sub(1) / 2, times.len() / 2);
    times.get(low).zip(times.get(high)).map_or(f64::NAN, |(low, high)| (low + high) / 2.0)
}

/// Owner of the turn, in its own cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Whose(AtomicU32);

/// Turn of the first thread.
const MINE: u32 = 0;
/// Turn of the second thread.
const YOURS: u32 = 1;
/// Last turn of the second thread.
const END: u32 = 2;

/// One-way time between two threads, in nanoseconds. The first thread measures round trips in
/// batches.
fn ways(
    cpus: [CpuId; 2],
    window: Nanos,
    tell: impl Fn(&AtomicU32, u32) + Sync,
    hear: impl Fn(&AtomicU32, u32) -> u32 + Sync,
) -> Result<f64, WorkloadError> {
    let whose = &Whose::default();
    let (tell, hear) = (&|word| tell(&whose.0, word), &|than| hear(&whose.0, than));
    let piece = |index: usize| {
        move || {
            let pinned = cpu::pin(cpus[index]);
            if index == 1 {
                while hear(MINE) == YOURS {
                    tell(MINE);
                }
                return pinned.map(|()| None);
            }
            let batch = median_batch(window, || {
                for _ in 0..TRIPS {
                    tell(YOURS);
                    hear(YOURS);
                }
            });
            tell(END);
            pinned.map(|()| Some(batch / f64::from(2 * TRIPS)))
        }
    };
    let times = team::run("lock", (0..2).map(piece).collect())?;
    let times: Vec<Option<f64>> = times.into_iter().collect::<Result<_, _>>()?;
    Ok(times.into_iter().flatten().next().unwrap_or(f64::NAN))
}

/// Time of a switch between two threads on one CPU, in nanoseconds. Each thread wakes the other and
/// sleeps until it is woken. The time includes the two system calls.
pub(super) fn switch(cpu: CpuId, window: Nanos) -> Result<f64, WorkloadError> {
    let tell = |word: &AtomicU32, whose| {
        word.store(whose, Release);
        let _ = futex::wake(word, futex::Flags::PRIVATE, 1);
    };
    let hear = |word: &AtomicU32, than| {
        loop {
            let whose = word.load(Acquire);
            if whose != than {
                return whose;
            }
            // The wait returns at once if the turn has already changed. The loop rechecks the word
            // after every return.
            let _ = futex::wait(word, futex::Flags::PRIVATE, than, None);
        }
    };
    ways([cpu; 2], window, tell, hear)
}

/// One-way time of a cache line from one CPU to another that polls a word, in nanoseconds. The loop
/// has no pause instruction between two polls, since the pause would be added to the time.
pub(super) fn line(from: CpuId, to: CpuId, window: Nanos) -> Result<f64, WorkloadError> {
    if from == to {
        return Err(WorkloadError::Unfit(format!("a cache line does not travel from CPU {from} to itself")));
    }
    let hear = |word: &AtomicU32, than| {
        loop {
            let whose = word.load(Acquire);
            if whose != than {
                return whose;
            }
        }
    };
    ways([from, to], window, |word, whose| word.store(whose, Release), hear)
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
