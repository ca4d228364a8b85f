//! The tables of a study of locks as text.

use morecores_statistics::MIN_RUNS;
use morecores_study::Quantity;
use morecores_view::Estimate;
use morecores_view::locks::{LockCosts, LockPoint, LockResult, LocksView};
use morecores_view::page::TableCell;

use super::in_seconds;
use crate::format::cpus_with_ends;
use crate::table::{Column, Table, estimate_cell, figure_cell};

/// Table of each lock by itself; with `ends`, each figure has its interval.
pub(crate) fn single_lock_table(view: &LocksView, ends: bool) -> Option<Table> {
    let locks = &view.locks;
    let any = locks.iter().any(|l| l.free_ns.is_some() || l.handoff_ns.is_some());
    let written = |quantity: Quantity, estimate: Option<Estimate>| match estimate {
        Some(estimate) if !ends => figure_cell(quantity, Some(estimate.value)),
        estimate => estimate_cell(quantity, estimate.as_ref()),
    };
    let times = |field: fn(&LockCosts) -> Option<Estimate>| {
        let cell = |lock: &LockCosts| written(Quantity::Time, field(lock).map(|ns| in_seconds(&ns)));
        locks.iter().map(cell).collect::<Vec<_>>()
    };
    let burned = locks.iter().map(|lock| written(Quantity::Share, lock.preempted_burned));
    let columns = vec![
        Column::labels("lock", locks.iter().map(|lock| lock.lock.name().to_owned())),
        Column::figures(0, "free", times(|lock| lock.free_ns)),
        Column::figures(1, "hand-over", times(|lock| lock.handoff_ns)),
        Column::figures(4, "preempted,\non a CPU", burned),
        Column::figures(3, "preempted,\nwait", times(|lock| lock.preempted_wait_ns)),
        Column::figures(
            2,
            "longest wait\nof all points",
            locks.iter().map(|lock| wait_cell(lock.longest_wait_ns)),
        ),
    ];
    any.then(|| Table::new("Each lock by itself", columns))
}

/// Cell of a wait in nanoseconds.
fn wait_cell(ns: Option<u64>) -> TableCell {
    figure_cell(Quantity::Time, ns.map(|ns| ns as f64 * 1e-9))
}

/// Points with one hold and think time.
pub(crate) struct Contention<'a> {
    pub(crate) hold_ns: u64,
    pub(crate) think_ns: u64,
    /// Points by threads, ascending.
    pub(crate) points: Vec<&'a LockPoint>,
}

impl Contention<'_> {
    /// Name of the contention: `Held for 1 µs, away for 0`.
    pub(crate) fn name(&self) -> String {
        let time = |ns: u64| Quantity::PlannedTime.text(ns as f64);
        format!("Held for {}, away for {}", time(self.hold_ns), time(self.think_ns))
    }

    /// Locks with a figure at any of the points, in the order of the plan.
    pub(crate) fn locks(&self, view: &LocksView) -> Vec<morecores_study::lock::LockName> {
        let has = |lock| self.points.iter().any(|point| find_result(point, lock).is_some());
        view.plan.locks.iter().copied().filter(|&lock| has(lock)).collect()
    }
}

/// Result of a lock at a point.
pub(crate) fn find_result(point: &LockPoint, lock: morecores_study::lock::LockName) -> Option<&LockResult> {
    point.results.iter().find(|result| result.lock == lock)
}

/// Points by hold and think time, both ascending.
pub(crate) fn contentions(view: &LocksView) -> Vec<Contention<'_>> {
    let mut kinds: Vec<(u64, u64)> = view.points.iter().map(|p| (p.hold_ns, p.think_ns)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let contention = |(hold_ns, think_ns)| {
        let points = view.points.iter().filter(|p| (p.hold_ns, p.think_ns) == (hold_ns, think_ns));
        Contention { hold_ns, think_ns, points: points.collect() }
    };
    kinds.into_iter().map(contention).collect()
}

/// Table of rates relative to the fastest lock, a column for each number of threads; then the CPUs
/// for locking at the largest number of threads.
pub(crate) fn share_table(view: &LocksView, contention: &Contention<'_>) -> Table {
    let locks = contention.locks(view);
    let name = |n: u32| if n == 1 { "1 thread".to_owned() } else { format!("{n} threads") };
    let mut labels: Vec<String> = locks.iter().map(|lock| lock.name().to_owned()).collect();
    labels.push("fastest, holds/s".to_owned());
    let mut columns = vec![Column::labels("lock", labels)];
    for (index, point) in contention.points.iter().enumerate() {
        let share = |lock| {
            figure_cell(Quantity::Share, find_result(point, lock).map(|result| result.of_fastest.value))
        };
        let fastest = point.results.iter().map(|r| r.per_s.value).fold(0.0, f64::max);
        let cells = locks.iter().map(|&lock| share(lock)).chain([figure_cell(Quantity::Rate, Some(fastest))]);
        // The most and the fewest threads stay longest.
        let rank = if index == 0 || index + 1 == contention.points.len() { 0 } else { 2 };
        columns.push(Column::figures(rank, &name(point.threads), cells));
    }
    if let Some(most) = contention.points.last() {
        let burned = |lock| {
            figure_cell(Quantity::Cpus, find_result(most, lock).map(|result| result.burned_cpus.value))
        };
        let header = format!("CPUs for locking\nby {}", name(most.threads));
        let cells = locks.iter().map(|&lock| burned(lock)).chain([TableCell::default()]);
        columns.push(Column::figures(1, &header, cells));
    }
    Table::new(format!("{}: share of the fastest one's rate", contention.name()), columns)
}

/// Table of all results of one hold and think time: a row for each lock and number of threads.
pub(crate) fn full_table(view: &LocksView, contention: &Contention<'_>) -> Table {
    let locks = contention.locks(view);
    let rows: Vec<(u32, &LockResult)> = locks
        .iter()
        .flat_map(|&lock| {
            contention.points.iter().filter_map(move |p| Some((p.threads, find_result(p, lock)?)))
        })
        .collect();
    let cells = |cell: fn(&LockResult) -> TableCell| rows.iter().map(|(_, r)| cell(r)).collect::<Vec<_>>();
    let cpus = |cpus: &Estimate| TableCell::figure(Quantity::Cpus, Some(cpus.value), cpus_with_ends(cpus));
    let burned = rows.iter().map(|(_, r)| cpus(&r.burned_cpus));
    let threads = rows.iter().map(|(threads, _)| figure_cell(Quantity::Count, Some(f64::from(*threads))));
    let columns = vec![
        Column::labels("lock", rows.iter().map(|(_, r)| r.lock.name().to_owned())),
        Column::figures(0, "threads", threads),
        Column::figures(0, "holds/s", cells(|r| estimate_cell(Quantity::Rate, Some(&r.per_s)))),
        Column::figures(1, "of the\nfastest", cells(|r| estimate_cell(Quantity::Share, Some(&r.of_fastest)))),
        Column::figures(5, "CPUs\nbusy", rows.iter().map(|(_, r)| cpus(&r.cpus))),
        Column::figures(2, "CPUs for\nlocking", burned),
        Column::figures(4, "luckiest", cells(|r| figure_cell(Quantity::Number, Some(r.luckiest)))),
        Column::figures(4, "unluckiest", cells(|r| figure_cell(Quantity::Number, Some(r.unluckiest)))),
        Column::figures(3, "longest\nwait", cells(|r| wait_cell(r.longest_wait_ns))),
    ];
    Table::new(contention.name(), columns)
}

/// Explains how to read the figures of the tables; `has_shares` tells whether they contain shares
/// of threads.
pub(crate) fn tables_note(view: &LocksView, has_shares: bool) -> String {
    let shares = if has_shares { " luckiest, unluckiest: a thread's holds over an equal share." } else { "" };
    let ends = if view.rounds as usize >= MIN_RUNS {
        " [a, b]: 95% interval of the median over rounds."
    } else {
        ""
    };
    format!(
        "free: lock and unlock without contention. hand-over: from an unlock to a waiter on another CPU. preempted: while the owner is off \
         its CPU, how long a wait is and the share of it that the waiter spends on a CPU. CPUs for locking: busy beyond what holds and \
         thinks took.{shares}{ends}"
    )
}
