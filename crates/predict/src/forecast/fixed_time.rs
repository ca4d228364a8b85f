//! Commands that run for a fixed time: a timer ends them, not the end of their work. This module
//! only recognises them.

use super::evidence::{Evidence, MeasuredPoint};

/// Share of a run that its first thread waits for one timer, from which the timer ends the run.
const FIXED_TIME_SHARE: f64 = 0.9;

/// Largest relative difference of elapsed times that are equal. A timer is exact, and two counts
/// of a contended lock can agree by chance.
pub(super) const TOLERANCE: f64 = 0.005;

/// Largest relative excess of an elapsed time over a whole number of seconds. Two equal times of
/// whole seconds are no chance.
const WHOLE_SECOND_EXCESS: f64 = 0.02;

/// Growth of the CPU time, as a share of the growth of the CPU count, from which a command uses its
/// CPUs for all of a fixed time.
const MIN_WORK_GROWTH: f64 = 0.25;

/// Elapsed time of a command that a timer ends. Its first thread sleeps for the whole run. Or it
/// takes as long on every count and uses more CPU time on more CPUs. Or its runs on the only count
/// all take the same whole number of seconds.
pub(super) fn fixed_time(evidence: &Evidence) -> Option<f64> {
    let (first, last) = evidence.points.first().zip(evidence.points.last())?;
    if !evidence.is_time {
        return None;
    }
    let sleeps = !evidence.programs.is_empty()
        && evidence.programs.iter().all(|program| program.timer_wait_share >= FIXED_TIME_SHARE);
    (sleeps || takes_equal_times(&evidence.points, *first, *last)).then_some(last.elapsed)
}

fn takes_equal_times(points: &[MeasuredPoint], first: MeasuredPoint, last: MeasuredPoint) -> bool {
    let excess = first.elapsed - (first.elapsed + TOLERANCE).floor();
    let is_whole = first.elapsed >= 1.0 && excess <= WHOLE_SECOND_EXCESS * first.elapsed.min(5.0);
    if points.len() == 1 {
        // The command also starts and ends.
        return is_whole && excess > 0.0 && first.error > 0.0 && first.deviation <= TOLERANCE;
    }
    let is_equal = |point: &MeasuredPoint| (point.elapsed / first.elapsed).ln().abs() <= TOLERANCE;
    let cpu_growth = f64::from(last.cpus) / f64::from(first.cpus) - 1.0;
    let work_growth = last.work.zip(first.work).map_or(0.0, |(last, first)| last / first - 1.0);
    points.iter().all(is_equal)
        && (is_whole || points.len() > 2)
        && work_growth >= MIN_WORK_GROWTH * cpu_growth
}
