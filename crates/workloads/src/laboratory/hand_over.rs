//! From an unlock on one CPU until a thread that waited on another has the lock.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use morecores_study::{CpuId, Nanos};

use super::alone::median;
use super::cpu;
use super::kernel::Offset;
use super::lock::{Lock, Seat};
use super::post::Post;
use super::work::Work;
use crate::{WorkloadError, clock, team};

/// For how long the lock is held after the other has said that it comes. So long that a waiter that blocks at once sleeps:
/// a system call and a switch take 1 to 2 µs on a machine of today. Whoever spins for a while first spins still.
const HOLD: Nanos = Nanos::from_micros(3);

/// Hand-overs that are measured at most: the median of more is no better.
const MOST: u64 = 20_000;

/// And at least, whatever the window.
const LEAST: u64 = 20;

/// How far the two are, each in a line of its own.
#[derive(Debug, Default)]
struct Between {
    /// The last round whose owner has the lock, from 1 on.
    held: Line<AtomicU64>,
    /// The last round in which the other said that it comes.
    coming: Line<AtomicU64>,
    /// The round is the last.
    end: Line<AtomicBool>,
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Line<T>(T);

/// Waits, by looking, until a word has come so far.
fn until(word: &Line<AtomicU64>, round: u64) {
    while word.0.load(Acquire) < round {
        std::hint::spin_loop();
    }
}

/// When one of the two gave the lock back, or got it, by round. Kept by each for itself: a line that both write to would
/// have to travel before the lock does.
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

/// The median time in nanoseconds, between two threads that hand the lock to each other. None takes it back before the
/// other has had it.
pub(super) fn measured<L: Lock>(
    seat: &Seat<L>,
    cpus: [CpuId; 2],
    window: Nanos,
) -> Result<f64, WorkloadError> {
    let between = &Between::default();
    two(cpus, |index| {
        let mut stamps = Stamps::new();
        let begun = clock::now();
        // Every other round is this one's, from 1 on.
        for round in (1 + index..).step_by(2) {
            // The other has it: whoever has just given it back does not come in between.
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

/// The same of a lock of the kernel's, which is held while a call goes on: from the return of the call that held it to the
/// return of the shortest call that waited for it.
pub(super) fn of_the_kernel(cpus: [CpuId; 2], window: Nanos) -> Result<f64, WorkloadError> {
    let file = &Offset::new()?;
    // So long that the other, who waits for a third of it before it calls, surely waits.
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

/// Runs both sides, and compares their stamps.
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
    // A stamp is taken within a reading of the clock: from one to the next is a reading besides.
    let reading = (0..1000).map(|_| clock::now()).map(|now| clock::now().since(now).0 as f64).collect();
    Ok((median_of_ticks(times) - median_of_ticks(reading)).max(0.0))
}

/// The median of times by a clock that counts in steps, which may be a good part of them: 10 ns where the time stamp counter
/// is driven by a clock of 100 MHz. Times that read alike are taken to lie evenly within the step.
fn median_of_ticks(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    let middle = median(times.clone());
    let below = times.partition_point(|time| *time < middle);
    let above = times.partition_point(|time| *time <= middle);
    let lower = below.checked_sub(1).and_then(|index| times.get(index)).map(|time| middle - time);
    let upper = times.get(above).map(|time| time - middle);
    let (Some(lower), Some(upper)) = (lower, upper) else { return middle };
    // The step is the shorter way: the other may lead over a gap.
    let (alike, step) = ((above - below).max(1) as f64, lower.min(upper));
    let rank = if above == below { 0.5 } else { (times.len() as f64 / 2.0 - below as f64) / alike };
    middle + (rank - 0.5) * step
}

/// From each round's end to the beginning of the next. One that seems to have begun before was not waited for.
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
        // Times from 42 to 61.99, read in steps of 10 around 40, 50 and 60.
        let times = |offset: f64| -> Vec<f64> {
            (0..2000).map(|i| ((offset + f64::from(i) / 100.0) / 10.0).round() * 10.0).collect()
        };
        for offset in [42.0, 43.0, 46.0] {
            let found = median_of_ticks(times(offset));
            assert!((found - offset - 10.0).abs() < 0.1, "{offset} {found}");
        }
        // Nothing to share out where no two are alike.
        assert_eq!(median_of_ticks(vec![1.0, 2.0, 30.0]), 2.0);
        assert_eq!(median_of_ticks(vec![7.0; 5]), 7.0);
        assert_eq!(median_of_ticks(vec![1.0, 3.0]), 2.0);
    }

    #[test]
    fn a_hand_over_is_from_one_round_to_the_next() {
        let stamps = |all: &[(u64, u64)]| all.iter().map(|&(r, t)| (r, Nanos(t))).collect::<Vec<_>>();
        let gave = stamps(&[(1, 100), (3, 300), (5, 500), (7, 700)]);
        // Round 4 began before round 3 had ended, and round 6 is missing.
        let got = stamps(&[(2, 110), (4, 290), (8, 730)]);
        assert_eq!(between(&gave, &got), [10.0, 30.0]);
    }
}
