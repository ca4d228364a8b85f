//! Hand-over time: from an unlock on one CPU until a waiting thread on another CPU holds the lock.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use morecores_study::{CpuId, Nanos};

use super::alone::median;
use super::cpu;
use super::kernel::Offset;
use super::lock::{Lock, Seat};
use super::post::Post;
use super::work::Work;
use crate::{WorkloadError, clock, team};

/// Hold time after the other thread has announced its arrival. The time is long enough that a
/// waiter that blocks at once is asleep: a system call and a switch take 1 to 2 µs on a current
/// machine. A waiter that first spins for a while is still spinning.
const HOLD: Nanos = Nanos::from_micros(3);

/// Maximum number of measured hand-overs: the median of more is no better.
const MOST: u64 = 20_000;

/// Minimum number of measured hand-overs, for any window.
const LEAST: u64 = 20;

/// Progress of the two threads, each word in its own cache line.
#[derive(Debug, Default)]
struct Between {
    /// Last round with an owner of the lock, from 1.
    held: Line<AtomicU64>,
    /// Last round in which the other thread announced its arrival.
    coming: Line<AtomicU64>,
    /// Whether the round is the last.
    end: Line<AtomicBool>,
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Line<T>(T);

/// Polls a word until it has reached `round`.
fn until(word: &Line<AtomicU64>, round: u64) {
    while word.0.load(Acquire) < round {
        std::hint::spin_loop();
    }
}

/// Times at which one of the two threads released or acquired the lock, by round. Each thread keeps
/// its own: a cache line that both write would have to travel before the lock does.
#[derive(Debug, Default)]
struct Stamps {
    gave: Vec<(u64, Nanos)>,
    got: Vec<(u64, Nanos)>,
}

impl Stamps {
    fn new() -> Self {
        let room = || Vec::with_capacity(MOST as usize / 2 + 2);
        Self { gave: room(), got: room() }
    }
}

/// Median hand-over time in nanoseconds, between two threads that pass the lock to each other.
/// Neither thread reacquires the lock before the other has held it.
pub(super) fn measured<L: Lock>(
    seat: &Seat<L>,
    cpus: [CpuId; 2],
    window: Nanos,
) -> Result<f64, WorkloadError> {
    let between = &Between::default();
    two(cpus, |index| {
        let mut stamps = Stamps::new();
        let begun = clock::now();
        // This thread takes every other round, from 1.
        for round in (1 + index..).step_by(2) {
            // The wait ensures that the other thread holds the lock: the thread that released it
            // cannot reacquire it first.
            until(&between.held, round - 1);
            between.coming.0.store(round - 1, Release);
            let ended = seat.with(|_| {
                let now = clock::now();
                stamps.got.push((round, now));
                if between.end.0.load(Relaxed) {
                    return true;
                }
                between.held.0.store(round, Release);
                until(&between.coming, round);
                let there = clock::now();
                while clock::now().since(there) < HOLD {}
                let end = round >= MOST || (round >= LEAST && there.since(begun) >= window);
                if end {
                    between.end.0.store(true, Relaxed);
                }
                stamps.gave.push((round, clock::now()));
                end
            });
            if ended {
                break;
            }
        }
        stamps
    })
}

/// Hand-over time of a kernel lock, which is held during a system call. The time runs from the
/// return of the call that held the lock to the return of the shortest call that waited for it.
pub(super) fn of_the_kernel(cpus: [CpuId; 2], window: Nanos) -> Result<f64, WorkloadError> {
    let file = &Offset::new()?;
    // The hold is three times the other thread's delay before its call, so that the other thread
    // certainly waits.
    let (hold, third) =
        super::contest::on(cpus[0], || Ok((Offset::hold(Nanos(3 * HOLD.0))?, Work::lasting(HOLD))))?;
    let between = &Between::default();
    two(cpus, |index| {
        let mut stamps = Stamps::new();
        let begun = clock::now();
        let (mut long, mut short) = (Offset::hand(hold), Offset::hand(1));
        for round in 1.. {
            let mine = round % 2 == 1 - index;
            if mine {
                until(&between.coming, round - 1);
                let now = clock::now();
                let end = round >= MOST || (round >= LEAST && now.since(begun) >= window);
                if end {
                    between.end.0.store(true, Relaxed);
                }
                between.held.0.store(round, Release);
                file.turn(&mut long);
                stamps.gave.push((round, clock::now()));
                if end {
                    break;
                }
            } else {
                until(&between.held, round);
                third.run();
                file.touch(&mut short);
                stamps.got.push((round + 1, clock::now()));
                let end = between.end.0.load(Relaxed);
                between.coming.0.store(round, Release);
                if end {
                    break;
                }
            }
        }
        stamps
    })
}

/// Runs both sides and compares their timestamps.
fn two(cpus: [CpuId; 2], side: impl Fn(u64) -> Stamps + Sync) -> Result<f64, WorkloadError> {
    let side = &side;
    let piece = |index: usize| {
        move || {
            let pinned = cpu::pin(cpus[index]);
            let stamps = side(index as u64);
            pinned.map(|()| stamps)
        }
    };
    let mut stamps = team::run("lock", (0..2).map(piece).collect())?.into_iter();
    let (Some(one), Some(other)) = (stamps.next(), stamps.next()) else {
        return Err(WorkloadError::Unfit("two threads are needed".to_owned()));
    };
    let (one, other) = (one?, other?);
    let mut times = between(&one.gave, &other.got);
    times.extend(between(&other.gave, &one.got));
    if times.is_empty() {
        return Err(WorkloadError::Unfit(
            "no hand-over could be timed: the machine is too busy, run it again".to_owned(),
        ));
    }
    // Each stamp is taken during a reading of the clock, so the interval between two stamps
    // includes one reading.
    let reading = (0..1000).map(|_| clock::now()).map(|now| clock::now().since(now).0 as f64).collect();
    Ok((median_of_ticks(times) - median_of_ticks(reading)).max(0.0))
}

/// Median of times from a clock that counts in steps, where a step may be a large part of a time. A
/// step is 10 ns if the time-stamp counter is driven by a clock of 100 MHz. Equal readings are
/// assumed to be spread evenly within the step.
fn median_of_ticks(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    let middle = median(times.clone());
    let below = times.partition_point(|time| *time < middle);
    let above = times.partition_point(|time| *time <= middle);
    let lower = below.checked_sub(1).and_then(|index| times.get(index)).map(|time| middle - time);
    let upper = times.get(above).map(|time| time - middle);
    let (Some(lower), Some(upper)) = (lower, upper) else { return middle };
    // The step is the smaller distance: the other one may span a gap.
    let (alike, step) = ((above - below).max(1) as f64, lower.min(upper));
    let rank = if above == below { 0.5 } else { (times.len() as f64 / 2.0 - below as f64) / alike };
    middle + (rank - 0.5) * step
}

/// Times from each round's end to the start of the next round. A round that seems to start before
/// the previous end is left out, since its thread did not wait.
fn between(gave: &[(u64, Nanos)], got: &[(u64, Nanos)]) -> Vec<f64> {
    let mut got = got.iter().peekable();
    let mut times = Vec::new();
    for (round, from) in gave {
        while got.next_if(|(next, _)| next <= round).is_some() {}
        if let Some((_, to)) = got.next_if(|(next, to)| *next == round + 1 && to > from) {
            times.push(to.since(*from).0 as f64);
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_the_clock_do_not_make_steps_of_the_median() {
        // The times run from 42 to 61.99, read in steps of 10 around 40, 50 and 60.
        let times = |offset: f64| -> Vec<f64> {
            (0..2000).map(|i| ((offset + f64::from(i) / 100.0) / 10.0).round() * 10.0).collect()
        };
        for offset in [42.0, 43.0, 46.0] {
            let found = median_of_ticks(times(offset));
            assert!((found - offset - 10.0).abs() < 0.1, "{offset} {found}");
        }
        // Without equal readings there is nothing to spread.
        assert_eq!(median_of_ticks(vec![1.0, 2.0, 30.0]), 2.0);
        assert_eq!(median_of_ticks(vec![7.0; 5]), 7.0);
        assert_eq!(median_of_ticks(vec![1.0, 3.0]), 2.0);
    }

    #[test]
    fn a_hand_over_is_from_one_round_to_the_next() {
        let stamps = |all: &[(u64, u64)]| all.iter().map(|&(r, t)| (r, Nanos(t))).collect::<Vec<_>>();
        let gave = stamps(&[(1, 100), (3, 300), (5, 500), (7, 700)]);
        // Round 4 starts before the end of round 3, and round 6 is missing.
        let got = stamps(&[(2, 110), (4, 290), (8, 730)]);
        assert_eq!(between(&gave, &got), [10.0, 30.0]);
    }
}
