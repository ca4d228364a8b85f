//! Times of single operations: a free lock, a switch between two threads of a CPU, a cache line between two CPUs. Each is
//! the median over batches, so that what comes in between does not count.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Release};

use morecores_study::{CpuId, Nanos};
use rustix::thread::futex;

use super::contest::on;
use super::cpu;
use super::post::Post;
use crate::{WorkloadError, clock, team};

/// Pairs of lock and unlock in a batch: some microseconds, beside which the reading of the clock is little.
const PAIRS: u32 = 1000;

/// Ways back and forth in a batch: tens of microseconds.
const TRIPS: u32 = 100;

/// Batches of which there is a median, whatever the window.
const LEAST: usize = 5;

/// A lock and an unlock where nobody else wants it, in nanoseconds.
pub(super) fn free<P: Post>(post: &P, cpu: CpuId, window: Nanos) -> Result<f64, WorkloadError> {
    on(cpu, || {
        let mut hand = P::hand(P::hold(Nanos::ZERO)?);
        Ok(median_batch(window, || {
            for _ in 0..PAIRS {
                // The compiler is not to know which lock it is, nor that it is the same each time.
                black_box(post).touch(&mut hand);
            }
        }) / f64::from(PAIRS))
    })
}

/// What a batch takes, in nanoseconds.
fn median_batch(window: Nanos, mut batch: impl FnMut()) -> f64 {
    let begun = clock::now();
    let mut times = Vec::new();
    let mut before = begun;
    while times.len() < LEAST || before.since(begun) < window {
        batch();
        let now = clock::now();
        times.push(now.since(before).0 as f64);
        // Not the same reading: the list may have been moved meanwhile.
        before = clock::now();
    }
    median(times)
}

/// The middle one; not a number for none.
pub(super) fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    let (low, high) = (times.len().saturating_sub(1) / 2, times.len() / 2);
    times.get(low).zip(times.get(high)).map_or(f64::NAN, |(low, high)| (low + high) / 2.0)
}

/// Whose turn it is, in a line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Whose(AtomicU32);

/// The first thread's.
const MINE: u32 = 0;
/// The other one's.
const YOURS: u32 = 1;
/// The other one's, for the last time.
const END: u32 = 2;

/// From one thread to the other and back, in batches by the first one: nanoseconds one way.
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

/// From one thread to another on the same CPU: each wakes the other and sleeps until it is woken. Nanoseconds, the two
/// system calls included.
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
            // Returns at once where it is another's turn meanwhile; whatever else ends it, the word is looked at again.
            let _ = futex::wait(word, futex::Flags::PRIVATE, than, None);
        }
    };
    ways([cpu; 2], window, tell, hear)
}

/// From one CPU to another that looks at a word until it changes: nanoseconds one way. No instruction that rests the CPU
/// stands between two looks: its length would be added to the way.
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
