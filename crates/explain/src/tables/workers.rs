//! Number of threads of one name that were ready at the same time for long: the size of a pool, no
//! matter whether its threads work, spin or wait for a CPU.
//!
//! The stages of a pipe have different names, and threads that take turns are ready together only
//! for microseconds. Neither is a pool.

use std::collections::HashMap;

use morecores_study::Nanos;
use morecores_study::trace::Comm;
use morecores_view::Workers;

use crate::trace::{Segment, State, Timeline};

/// Shortest time for which threads must be ready together to count. A thread that wakes another and
/// then sleeps is ready beside it for microseconds. Threads that share a CPU are ready together for
/// a time slice, 3 ms or more (`sched_base_slice`, sched(7)).
const MIN_READY_TIME: Nanos = Nanos::from_millis(1);

/// Longest time on a CPU of a thread that only looks for work and yields: with rayon 1.13 some
/// microseconds. It is a choice: a small part of a time slice.
const MAX_LOOK: Nanos = Nanos::from_micros(50);

/// Share of the elapsed time for which the threads must be ready together. It is a choice: a
/// condition that holds for less of a run changes the elapsed time by less.
const MIN_READY_SHARE: f64 = 0.25;

/// Largest number of threads of one name that were ready at the same time; none if there were never
/// two for long.
pub(super) fn workers(timeline: &Timeline) -> Option<Workers> {
    let least = MIN_READY_SHARE * timeline.elapsed().as_secs_f64();
    let mut most: Option<(Comm, u32)> = None;
    for ReadyThreads { name, mut edges } in ready_threads(timeline).into_values() {
        edges.sort_unstable();
        let levels = ready_times_by_count(&edges);
        // The time decreases with the number of threads.
        let threads = levels.partition_point(|time| time.as_secs_f64() >= least) as u32;
        let larger = |(other, least): (Comm, u32)| (threads, other.0) > (least, name.0);
        if threads > 1 && most.is_none_or(larger) {
            most = Some((name, threads));
        }
    }
    most.map(|(name, threads)| Workers { name: name.to_string(), threads })
}

/// Threads of one name.
struct ReadyThreads {
    /// Common name of the threads, without the number at the end if they differ in that.
    name: Comm,
    /// Instants at which a thread became ready (1), or stopped being ready (-1).
    edges: Vec<(Nanos, i32)>,
}

/// Times in which threads were ready, by name without number.
fn ready_threads(timeline: &Timeline) -> HashMap<Comm, ReadyThreads> {
    let mut ready: HashMap<Comm, ReadyThreads> = HashMap::new();
    for (_, thread) in timeline.tree().filter(|(_, thread)| !thread.kernel) {
        for (index, segment) in thread.segments.iter().enumerate() {
            if matches!(segment.state, State::Blocked(_)) || only_looks(&thread.segments[index..]) {
                continue;
            }
            // The name at the end of the segment counts: a child has its parent's program only
            // until its exec.
            let name = thread.name_at(segment.to);
            let common = strip_number(name);
            let threads = ready.entry(common).or_insert_with(|| ReadyThreads { name, edges: Vec::new() });
            if threads.name != name {
                threads.name = common;
            }
            threads.edges.extend([(segment.from, 1), (segment.to, -1)]);
        }
    }
    ready
}

/// Whether a thread that is ready now will look for work, and then give its CPU away: an idle
/// thread of a pool calls `sched_yield` in a loop, and another thread runs for a time slice between
/// two looks.
fn only_looks(segments: &[Segment]) -> bool {
    let [ready, look, after, ..] = segments else { return false };
    ready.state == State::Runnable
        && matches!(look.state, State::Running { .. })
        && look.to.since(look.from) <= MAX_LOOK
        && after.state == State::Runnable
}

/// Total times for which at least 1, 2, … threads were ready at once, without times shorter than
/// [`MIN_READY_TIME`].
fn ready_times_by_count(edges: &[(Nanos, i32)]) -> Vec<Nanos> {
    let mut since: Vec<Nanos> = Vec::new();
    let mut levels: Vec<Nanos> = Vec::new();
    // A thread that gets a CPU stops waiting and begins to run at one instant, and is ready
    // throughout.
    for simultaneous in edges.chunk_by(|one, next| one.0 == next.0) {
        let (at, change) = (simultaneous[0].0, simultaneous.iter().map(|(_, change)| change).sum::<i32>());
        for _ in 0..change {
            since.push(at);
            levels.resize(levels.len().max(since.len()), Nanos::ZERO);
        }
        for _ in change..0 {
            let Some(from) = since.pop() else { continue };
            if at.since(from) >= MIN_READY_TIME {
                levels[since.len()] = levels[since.len()] + at.since(from);
            }
        }
    }
    levels
}

/// Name without the number at its end.
fn strip_number(name: Comm) -> Comm {
    let text = name.to_string();
    let trimmed = text.trim_end_matches(|c: char| c.is_ascii_digit());
    if trimmed.is_empty() { name } else { Comm::new(trimmed) }
}
