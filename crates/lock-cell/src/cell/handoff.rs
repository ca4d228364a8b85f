//! Handoff time: from an unlock on one CPU until a waiting thread on another CPU holds the lock.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use morecores_study::{CpuId, Nanos};

use super::cpu;
use super::lock_under_test::LockUnderTest;
use super::offset_lock::OffsetLock;
use super::single_operations::median;
use super::work::Work;
use morecores_workloads::lock::{Lock, PaddedLock};
use morecores_workloads::{WorkloadError, clock, team};

/// Hold time after the other thread has announced its arrival. The time is long enough that a
/// waiter that blocks at once is asleep: a system call and a switch take 1 to 2 µs on a current
/// machine. A waiter that first spins for a while is still spinning.
const HOLD: Nanos = Nanos::from_micros(3);

/// Maximum number of measured handoffs: the median of more is no better.
const MAX_ROUNDS: u64 = 20_000;

/// Minimum number of measured handoffs, for any window.
const MIN_ROUNDS: u64 = 20;

/// Progress of the two threads, each word in its own cache line.
#[derive(Debug, Default)]
struct Progress {
    /// Last round with an owner of the lock, from 1.
    held_round: CacheLine<AtomicU64>,
    /// Last round in which the other thread announced its arrival.
    announced_round: CacheLine<AtomicU64>,
    /// Whether the round is the last.
    is_last_round: CacheLine<AtomicBool>,
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct CacheLine<T>(T);

/// Polls a word until it has reached `round`.
fn spin_until(word: &CacheLine<AtomicU64>, round: u64) {
    while word.0.load(Acquire) < round {
        std::hint::spin_loop();
    }
}

/// Times at which one of the two threads released or acquired the lock, by round. Each thread keeps
/// its own: a cache line that both write would have to travel before the lock does.
#[derive(Debug, Default)]
struct Timestamps {
    released: Vec<(u64, Nanos)>,
    acquired: Vec<(u64, Nanos)>,
    /// Time of one reading of the clock in nanoseconds, in each round that read it often.
    readings: Vec<f64>,
}

impl Timestamps {
    fn new() -> Self {
        let room = || Vec::with_capacity(MAX_ROUNDS as usize / 2 + 2);
        Self { released: room(), acquired: room(), readings: Vec::with_capacity(MAX_ROUNDS as usize / 2 + 2) }
    }
}

/// Median handoff time in nanoseconds, between two threads that pass the lock to each other.
/// Neither thread reacquires the lock before the other has held it.
pub(super) fn measure<L: Lock>(
    lock: &PaddedLock<L>,
    cpus: [CpuId; 2],
    window: Nanos,
) -> Result<f64, WorkloadError> {
    let progress = &Progress::default();
    run_both(cpus, |index| {
        let mut timestamps = Timestamps::new();
        let start = clock::monotonic();
        // This thread takes every other round, from 1.
        for round in (1 + index..).step_by(2) {
            // The wait ensures that the other thread holds the lock: the thread that released it
            // cannot reacquire it first.
            spin_until(&progress.held_round, round - 1);
            progress.announced_round.0.store(round - 1, Release);
            let ended = lock.with(|_| {
                let now = clock::monotonic();
                timestamps.acquired.push((round, now));
                if progress.is_last_round.0.load(Relaxed) {
                    return true;
                }
                progress.held_round.0.store(round, Release);
                spin_until(&progress.announced_round, round);
                let arrival = clock::monotonic();
                timestamps.readings.push(hold(arrival));
                let end = round >= MAX_ROUNDS || (round >= MIN_ROUNDS && arrival.since(start) >= window);
                if end {
                    progress.is_last_round.0.store(true, Relaxed);
                }
                timestamps.released.push((round, clock::monotonic()));
                end
            });
            if ended {
                break;
            }
        }
        timestamps
    })
}

/// Reads the clock until [`HOLD`] after the arrival. Returns the time of one reading, in
/// nanoseconds.
fn hold(arrival: Nanos) -> f64 {
    let mut count = 0.0;
    loop {
        let held = clock::monotonic().since(arrival);
        count += 1.0;
        if held >= HOLD {
            return held.0 as f64 / count;
        }
    }
}

/// Handoff time of a kernel lock, which is held during a system call. The time runs from the
/// return of the call that held the lock to the return of the shortest call that waited for it.
pub(super) fn measure_kernel_lock(cpus: [CpuId; 2], window: Nanos) -> Result<f64, WorkloadError> {
    let file = &OffsetLock::new()?;
    // The hold is three times the other thread's delay before its call, so that the other thread
    // certainly waits.
    let (hold, delay) = super::contention::run_on_cpu(cpus[0], || {
        Ok((OffsetLock::calibrate_hold(Nanos(3 * HOLD.0))?, Work::calibrate(HOLD)))
    })?;
    let progress = &Progress::default();
    run_both(cpus, |index| {
        let mut timestamps = Timestamps::new();
        let start = clock::monotonic();
        let (mut long, mut short) = (OffsetLock::thread_state(hold), OffsetLock::thread_state(1));
        for round in 1.. {
            let releases = round % 2 == 1 - index;
            if releases {
                spin_until(&progress.announced_round, round - 1);
                let now = clock::monotonic();
                let end = round >= MAX_ROUNDS || (round >= MIN_ROUNDS && now.since(start) >= window);
                if end {
                    progress.is_last_round.0.store(true, Relaxed);
                }
                progress.held_round.0.store(round, Release);
                file.take_turn(&mut long);
                timestamps.released.push((round, clock::monotonic()));
                if end {
                    break;
                }
            } else {
                spin_until(&progress.held_round, round);
                delay.run();
                file.take_shortest_turn(&mut short);
                timestamps.acquired.push((round + 1, clock::monotonic()));
                let end = progress.is_last_round.0.load(Relaxed);
                progress.announced_round.0.store(round, Release);
                if end {
                    break;
                }
            }
        }
        timestamps
    })
}

/// Runs both sides and compares their timestamps.
fn run_both(cpus: [CpuId; 2], side: impl Fn(u64) -> Timestamps + Sync) -> Result<f64, WorkloadError> {
    let side = &side;
    let piece = |index: usize| {
        move || {
            let pin_result = cpu::pin(cpus[index]);
            let timestamps = side(index as u64);
            pin_result.map(|()| timestamps)
        }
    };
    let mut timestamps = team::run("lock", (0..2).map(piece).collect())?.into_iter();
    let (Some(first), Some(second)) = (timestamps.next(), timestamps.next()) else {
        return Err(WorkloadError::CannotRun("two threads are needed".to_owned()));
    };
    let (first, second) = (first?, second?);
    let mut times = handoff_times(&first.released, &second.acquired);
    times.extend(handoff_times(&second.released, &first.acquired));
    if times.is_empty() {
        return Err(WorkloadError::CannotRun(
            "no hand-over could be timed: the machine is too busy, run it again".to_owned(),
        ));
    }
    // Each stamp is taken during a reading of the clock, so the interval between two stamps
    // includes one reading. Those of the measured rounds count, because a shared host changes the
    // speed of a CPU from one millisecond to the next.
    let mut readings = [first.readings, second.readings].concat();
    if readings.is_empty() {
        readings =
            (0..1000).map(|_| clock::monotonic()).map(|now| clock::monotonic().since(now).0 as f64).collect();
    }
    let time = median_of_ticks(times) - median_of_ticks(readings);
    if time <= 0.0 {
        return Err(WorkloadError::CannotRun(
            "the hand-over took no longer than a reading of the clock: run it again".to_owned(),
        ));
    }
    Ok(time)
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
    let (equal_count, step) = ((above - below).max(1) as f64, lower.min(upper));
    let rank = if above == below { 0.5 } else { (times.len() as f64 / 2.0 - below as f64) / equal_count };
    middle + (rank - 0.5) * step
}

/// Times from each round's end to the start of the next round. A round that seems to start before
/// the previous end is left out, since its thread did not wait.
fn handoff_times(released: &[(u64, Nanos)], acquired: &[(u64, Nanos)]) -> Vec<f64> {
    let mut acquired = acquired.iter().peekable();
    let mut times = Vec::new();
    for (round, from) in released {
        while acquired.next_if(|(next, _)| next <= round).is_some() {}
        if let Some((_, to)) = acquired.next_if(|(next, to)| *next == round + 1 && to > from) {
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
    fn a_handoff_is_from_one_round_to_the_next() {
        let timestamps = |all: &[(u64, u64)]| all.iter().map(|&(r, t)| (r, Nanos(t))).collect::<Vec<_>>();
        let released = timestamps(&[(1, 100), (3, 300), (5, 500), (7, 700)]);
        // Round 4 starts before the end of round 3, and round 6 is missing.
        let acquired = timestamps(&[(2, 110), (4, 290), (8, 730)]);
        assert_eq!(handoff_times(&released, &acquired), [10.0, 30.0]);
    }
}
