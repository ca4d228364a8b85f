//! Number of threads of one name that were ready to run at once, and for long: the size of a pool, whether its threads
//! work, spin or wait for a CPU.
//!
//! The stages of a pipe have different names, and threads that take turns are ready together for microseconds only:
//! neither is a pool.

use std::collections::HashMap;

use morecores_study::Nanos;
use morecores_study::trace::Comm;
use morecores_view::Workers;

use crate::trace::{State, Timeline};

/// The shortest time for which threads are ready together that counts. Who wakes another and then sleeps is ready
/// beside it for microseconds; who shares a CPU is so for a time slice, 3 ms or more (`sched_base_slice`, sched(7)).
const LASTING: Nanos = Nanos::from_millis(1);

/// Share of the elapsed time for which so many must be ready together. A choice: what holds for less of a run moves its
/// elapsed time by less.
const SUSTAINED: f64 = 0.25;

/// The most threads of one name that were ready to run at once; none where there never were two for long.
pub(super) fn workers(timeline: &Timeline) -> Option<Workers> {
    let least = SUSTAINED * timeline.elapsed().as_secs_f64();
    let mut most: Option<(Comm, u32)> = None;
    for Ready { name, mut edges } in ready(timeline).into_values() {
        edges.sort_unstable();
        let levels = lasting(&edges);
        // With more threads it is for less time.
        let threads = levels.partition_point(|time| time.as_secs_f64() >= least) as u32;
        let larger = |(other, least): (Comm, u32)| (threads, other.0) > (least, name.0);
        if threads > 1 && most.is_none_or(larger) {
            most = Some((name, threads));
        }
    }
    most.map(|(name, threads)| Workers { name: name.to_string(), threads })
}

/// The threads of one name.
struct Ready {
    /// Their name, without the number at its end where they differ in that.
    name: Comm,
    /// Instants at which one of them became ready to run (1), or ceased to be so (-1).
    edges: Vec<(Nanos, i32)>,
}

/// Times in which threads were ready to run, by name without number.
fn ready(timeline: &Timeline) -> HashMap<Comm, Ready> {
    let mut ready: HashMap<Comm, Ready> = HashMap::new();
    for (_, thread) in timeline.tree().filter(|(_, thread)| !thread.kernel) {
        for segment in &thread.segments {
            if matches!(segment.state, State::Blocked(_)) {
                continue;
            }
            // What it has become by the end: a child is its parent's program only up to its exec.
            let name = thread.name_at(segment.to);
            let common = without_number(name);
            let of_name = ready.entry(common).or_insert_with(|| Ready { name, edges: Vec::new() });
            if of_name.name != name {
                of_name.name = common;
            }
            of_name.edges.extend([(segment.from, 1), (segment.to, -1)]);
        }
    }
    ready
}

/// For how long in all at least 1, 2, … were ready at once, without times shorter than [`LASTING`].
fn lasting(edges: &[(Nanos, i32)]) -> Vec<Nanos> {
    let mut since: Vec<Nanos> = Vec::new();
    let mut levels: Vec<Nanos> = Vec::new();
    // Who gets a CPU ceases to wait and begins to run at the same instant, and is ready all the time.
    for same in edges.chunk_by(|one, next| one.0 == next.0) {
        let (at, change) = (same[0].0, same.iter().map(|(_, change)| change).sum::<i32>());
        for _ in 0..change {
            since.push(at);
            levels.resize(levels.len().max(since.len()), Nanos::ZERO);
        }
        for _ in change..0 {
            let Some(from) = since.pop() else { continue };
            if at.since(from) >= LASTING {
                levels[since.len()] = levels[since.len()] + at.since(from);
            }
        }
    }
    levels
}

/// A name without the number at its end.
fn without_number(name: Comm) -> Comm {
    let text = name.to_string();
    let trimmed = text.trim_end_matches(|c: char| c.is_ascii_digit());
    if trimmed.is_empty() { name } else { Comm::new(trimmed) }
}
