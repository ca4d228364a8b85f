//! Threads of the command by criticality: the time of each, weighted by one over the number of
//! running threads.
//!
//! Du Bois, Eyerman, Sartor & Eeckhout, *Criticality stacks: identifying critical threads in
//! parallel programs using synchronization behavior*, ISCA 2013; Du Bois, Sartor, Eyerman &
//! Eeckhout, *Bottle graphs: visualizing scalability bottlenecks in multi-threaded applications*,
//! OOPSLA 2013.

use std::collections::BTreeMap;

use morecores_study::Nanos;
use morecores_view::ThreadView;

use super::concurrency::ConcurrencySpan;
use super::programs::{ProgramId, Programs};
use crate::trace::{State, ThreadId, Timeline};

/// Share of all criticality, or of the critical path, from which a thread has a row of its own. A
/// choice: a hundredth is the smallest part of a picture that can be seen.
const LEAST_SHARE: f64 = 0.01;

/// Rows of the threads, highest criticality first, and then rows of the remaining threads by
/// command. `path_times` are the threads' CPU times on the critical path, if it is known.
pub(super) fn threads(
    timeline: &Timeline,
    programs: &Programs,
    concurrency: &[ConcurrencySpan],
    path_times: Option<&[Nanos]>,
) -> Vec<ThreadView> {
    let clock = CriticalityClock::new(concurrency);
    let row = |id: ThreadId| {
        let thread = timeline.thread(id);
        let end = thread.segments.last()?.to;
        let running = thread.segments.iter().filter(|s| matches!(s.state, State::Running { .. }));
        let criticality_s = running.map(|s| clock.at(s.to) - clock.at(s.from)).sum();
        let view = ThreadView {
            command: programs.thread_name(timeline, id, end),
            thread: Some(thread.name_at(end).to_string()),
            tid: Some(thread.tid.0),
            threads: 1,
            cpu_s: thread.on_cpu().as_secs_f64(),
            criticality_s,
            path_s: path_times.map(|times| times[id.index()].as_secs_f64()),
        };
        Some((programs.program_at(id, end), view))
    };
    let rows: Vec<(ProgramId, ThreadView)> = timeline.tree().filter_map(|(id, _)| row(id)).collect();
    let whole_s = rows.iter().map(|(_, row)| row.criticality_s).sum::<f64>();
    let path_s = |row: &ThreadView| row.path_s.unwrap_or(0.0);
    let whole_path_s = rows.iter().map(|(_, row)| path_s(row)).sum::<f64>();
    let is_notable = |row: &ThreadView| {
        row.criticality_s >= LEAST_SHARE * whole_s
            || path_s(row) > 0.0 && path_s(row) >= LEAST_SHARE * whole_path_s
    };
    let (notable, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(_, row)| is_notable(row));
    let mut merged: BTreeMap<ProgramId, ThreadView> = BTreeMap::new();
    for (program, other) in others {
        match merged.get_mut(&program) {
            Some(row) => merge(row, &other),
            None => {
                merged.insert(program, other);
            }
        }
    }
    let by_criticality =
        |one: &ThreadView, other: &ThreadView| other.criticality_s.total_cmp(&one.criticality_s);
    let mut own: Vec<ThreadView> = notable.into_iter().map(|(_, row)| row).collect();
    own.sort_by(by_criticality);
    let mut others: Vec<ThreadView> = merged.into_values().collect();
    others.sort_by(by_criticality);
    own.extend(others);
    own
}

/// Adds a thread to a row.
fn merge(row: &mut ThreadView, other: &ThreadView) {
    (row.thread, row.tid) = (None, None);
    row.threads += other.threads;
    row.cpu_s += other.cpu_s;
    row.criticality_s += other.criticality_s;
    row.path_s = row.path_s.zip(other.path_s).map(|(one, other)| one + other);
}

/// Clock that advances by one over the number of running threads.
struct CriticalityClock {
    /// Instants at which the speed changes, with the clock's time in seconds and its speed from
    /// then on.
    changes: Vec<(Nanos, f64, f64)>,
}

impl CriticalityClock {
    fn new(concurrency: &[ConcurrencySpan]) -> Self {
        let mut time = 0.0;
        let mut changes = Vec::with_capacity(concurrency.len());
        for span in concurrency {
            let speed = if span.running == 0 { 0.0 } else { 1.0 / f64::from(span.running) };
            changes.push((span.from, time, speed));
            time += speed * span.length().as_secs_f64();
        }
        Self { changes }
    }

    /// Time of the clock at an instant, in seconds.
    fn at(&self, at: Nanos) -> f64 {
        let index = self.changes.partition_point(|(from, ..)| *from <= at);
        let Some((from, time, speed)) = index.checked_sub(1).map(|index| self.changes[index]) else {
            return 0.0;
        };
        time + speed * at.since(from).as_secs_f64()
    }
}
