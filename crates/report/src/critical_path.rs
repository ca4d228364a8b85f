//! The critical path of a traced run, and its threads by criticality, as tables. This module
//! computes no time.

use morecores_study::Quantity;
use morecores_view::page::TableCell;
use morecores_view::{
    CriticalPathView, PathActivity, PathEdge, PathEdgeKind, PathPart, ThreadView, TraceView,
};

use crate::format::{ABSENT, count, cpus};
use crate::table::{Column, ColumnKind, Table, figure_cell};

/// Number of parts or threads shown.
const MAX_ROWS: usize = 10;

/// Number of kinds of changes of thread shown, and the share of all changes below which one is not.
const MAX_EDGES: usize = 3;
const LEAST_EDGE_SHARE: f64 = 0.05;

/// Share of the elapsed time below which a part of the path has no row.
const LEAST_SHARE: f64 = 0.001;

/// Name of an activity on the critical path, after the name of its command.
pub(crate) const fn activity_name(activity: PathActivity) -> &'static str {
    match activity {
        PathActivity::Running => "runs",
        PathActivity::Ready => "waits for a CPU",
        PathActivity::Held => "is held back by a limit",
        PathActivity::KernelWork => "waits for work in the kernel",
        PathActivity::KernelLock => "waits for a kernel lock",
        PathActivity::UserLock => "waits for a lock of its own",
        PathActivity::Disk => "waits for a disk",
        PathActivity::Device => "waits for a device",
        PathActivity::Rcu => "waits for RCU",
        PathActivity::Uninterruptible => "waits in the kernel",
        PathActivity::Peer => "waits for another program or the network",
        PathActivity::Timer => "waits for a timer",
        PathActivity::Unknown => "unknown",
    }
}

/// Parts of the critical path, most time first; none without a path.
pub(crate) fn critical_path_table(trace: &TraceView) -> Option<Table> {
    let path = trace.critical_path.as_ref()?;
    let whole = trace.elapsed_s;
    let notable = path.parts.iter().filter(|part| part.time_s > 0.0 && part.time_s >= LEAST_SHARE * whole);
    let rows: Vec<&PathPart> = notable.take(MAX_ROWS).collect();
    if rows.is_empty() {
        return None;
    }
    let share = |seconds: Option<f64>| figure_cell(Quantity::Share, seconds.map(|seconds| seconds / whole));
    let command =
        |part: &&PathPart| TableCell::name(part.command.clone().unwrap_or_else(|| ABSENT.to_owned()));
    let columns = vec![
        Column::new(ColumnKind::Name(0), "command", rows.iter().map(command)),
        Column::labels("on the path it", rows.iter().map(|part| activity_name(part.activity).to_owned())),
        Column::figures(0, "time", rows.iter().map(|part| figure_cell(Quantity::Time, Some(part.time_s)))),
        Column::figures(0, "share", rows.iter().map(|part| share(Some(part.time_s)))),
        Column::figures(1, "gain at\nmost", rows.iter().map(|part| share(part.gain_bound_s))),
    ];
    let handovers = count(path.handovers as f64);
    let title = format!(
        "critical path on {}, of the elapsed time; it goes {handovers} times from one thread to another{}",
        cpus(trace.cpus),
        edges_in_words(path)
    );
    Some(Table::new(title, columns))
}

/// The most frequent changes of thread, after the number of all: ` (40% end waits in wait4, …)`.
fn edges_in_words(path: &CriticalPathView) -> String {
    let all = path.handovers as f64;
    let is_notable = |edge: &&PathEdge| edge.count as f64 >= LEAST_EDGE_SHARE * all;
    let in_words = |edge: &PathEdge| {
        let share = Quantity::Share.text(edge.count as f64 / all);
        match (edge.kind, &edge.call) {
            (PathEdgeKind::Start, _) => format!("{share} start it"),
            (PathEdgeKind::UserLock, _) => format!("{share} release a lock"),
            (PathEdgeKind::KernelLock, _) => format!("{share} release a kernel lock"),
            (PathEdgeKind::Call, Some(call)) => format!("{share} end its {call}"),
            (PathEdgeKind::Call | PathEdgeKind::Unknown, _) => format!("{share} unknown"),
        }
    };
    let edges: Vec<String> = path.edges.iter().filter(is_notable).take(MAX_EDGES).map(in_words).collect();
    if edges.is_empty() { String::new() } else { format!(" ({})", edges.join(", ")) }
}

/// Threads by criticality; none without a running thread.
pub(crate) fn threads_table(trace: &TraceView) -> Option<Table> {
    let ran = trace.threads.iter().filter(|thread| thread.criticality_s > 0.0);
    let mut rows: Vec<ThreadView> = ran.cloned().collect();
    let hidden = rows.split_off(rows.len().min(MAX_ROWS));
    rows.extend(folded_threads(&hidden));
    if rows.is_empty() {
        return None;
    }
    let all_s: f64 = trace.threads.iter().map(|thread| thread.criticality_s).sum();
    let share = |seconds: Option<f64>, whole: f64| {
        figure_cell(Quantity::Share, seconds.filter(|_| whole > 0.0).map(|seconds| seconds / whole))
    };
    let columns = vec![
        Column::new(ColumnKind::Name(0), "thread", rows.iter().map(|row| TableCell::name(thread_name(row)))),
        Column::new(
            ColumnKind::Name(1),
            "command",
            rows.iter().map(|row| TableCell::name(row.command.clone())),
        ),
        Column::figures(2, "CPU time", rows.iter().map(|row| figure_cell(Quantity::Time, Some(row.cpu_s)))),
        Column::figures(0, "criticality", rows.iter().map(|row| share(Some(row.criticality_s), all_s))),
        Column::figures(
            1,
            "threads\nbeside it",
            rows.iter()
                .map(|row| figure_cell(Quantity::Cpus, Some((row.cpu_s / row.criticality_s - 1.0).max(0.0)))),
        ),
        Column::figures(1, "critical\npath", rows.iter().map(|row| share(row.path_s, trace.elapsed_s))),
    ];
    Some(Table::new(format!("threads on {}, by criticality", cpus(trace.cpus)), columns))
}

/// One row for several; none for no row.
fn folded_threads(rows: &[ThreadView]) -> Option<ThreadView> {
    let sum = |of: fn(&ThreadView) -> f64| rows.iter().map(of).sum();
    (!rows.is_empty()).then(|| ThreadView {
        command: ABSENT.to_owned(),
        thread: None,
        tid: None,
        threads: rows.iter().map(|row| row.threads).sum(),
        cpu_s: sum(|row| row.cpu_s),
        criticality_s: sum(|row| row.criticality_s),
        path_s: rows.iter().map(|row| row.path_s).sum(),
    })
}

/// Name of a thread with its number, or the number of threads.
fn thread_name(row: &ThreadView) -> String {
    match (&row.thread, row.tid) {
        (Some(name), Some(tid)) => format!("{name} ({tid})"),
        _ => format!("{} others", count(row.threads as f64)),
    }
}
