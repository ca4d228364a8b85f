//! The tables of a study of locks as text.

use morecores_study::Quantity;
use morecores_view::{Estimate, LockPoint, LockResult, LocksView};

use super::{time, time_with_ends};
use crate::format::{ABSENT, cpu_share, cpus_with_ends, percent, ratio, with_ends};

/// A table with its title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) columns: Vec<Column>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// May be broken at its newlines.
    pub(crate) header: String,
    pub(crate) cells: Vec<String>,
    /// None for names. For figures the order of omission where there is no room: the highest first,
    /// 0 never.
    pub(crate) rank: Option<u8>,
}

impl Column {
    fn names(header: &str, cells: impl IntoIterator<Item = String>) -> Self {
        Self { header: header.to_owned(), cells: cells.into_iter().collect(), rank: None }
    }

    fn figures(rank: u8, header: &str, cells: impl IntoIterator<Item = String>) -> Self {
        Self { header: header.to_owned(), cells: cells.into_iter().collect(), rank: Some(rank) }
    }
}

/// Table of each lock by itself; with `ends`, each figure has its interval.
pub(crate) fn single_lock_table(view: &LocksView, ends: bool) -> Option<Table> {
    let locks = &view.locks;
    let any = locks.iter().any(|l| l.free_ns.is_some() || l.hand_over_ns.is_some());
    let written = |estimate: Option<Estimate>, with: fn(&Estimate) -> String, without: fn(f64) -> String| {
        estimate.map_or(ABSENT.to_owned(), |e| if ends { with(&e) } else { without(e.value) })
    };
    let times = |field: fn(&morecores_view::LockCosts) -> Option<Estimate>| {
        locks.iter().map(move |lock| written(field(lock), time_with_ends, time)).collect::<Vec<_>>()
    };
    let burned =
        locks.iter().map(|lock| written(lock.preempted_burned, |e| with_ends(Quantity::Share, e), percent));
    let waits = locks.iter().map(|lock| lock.longest_wait_ns.map_or(ABSENT.to_owned(), |ns| time(ns as f64)));
    any.then(|| Table {
        title: "Each lock by itself".to_owned(),
        columns: vec![
            Column::names("lock", locks.iter().map(|lock| lock.lock.name().to_owned())),
            Column::figures(0, "free", times(|lock| lock.free_ns)),
            Column::figures(1, "hand-over", times(|lock| lock.hand_over_ns)),
            Column::figures(4, "preempted,\nburned", burned),
            Column::figures(3, "preempted,\nwait", times(|lock| lock.preempted_wait_ns)),
            Column::figures(2, "longest wait\nof all points", waits),
        ],
    })
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
/// burned at the largest number of threads.
pub(crate) fn share_table(view: &LocksView, contention: &Contention<'_>) -> Table {
    let locks = contention.locks(view);
    let name = |n: u32| if n == 1 { "1 thread".to_owned() } else { format!("{n} threads") };
    let mut labels: Vec<String> = locks.iter().map(|lock| lock.name().to_owned()).collect();
    labels.push("fastest, holds/s".to_owned());
    let mut columns = vec![Column::names("lock", labels)];
    for (index, point) in contention.points.iter().enumerate() {
        let share =
            |lock| find_result(point, lock).map_or(ABSENT.to_owned(), |r| percent(r.of_fastest.value));
        let fastest = point.results.iter().map(|r| r.per_s.value).fold(0.0, f64::max);
        let cells = locks.iter().map(|&lock| share(lock)).chain([Quantity::Rate.text(fastest)]);
        // The most and the fewest threads stay longest.
        let rank = if index == 0 || index + 1 == contention.points.len() { 0 } else { 2 };
        columns.push(Column::figures(rank, &name(point.threads), cells));
    }
    if let Some(most) = contention.points.last() {
        let burned =
            |lock| find_result(most, lock).map_or(ABSENT.to_owned(), |r| cpu_share(r.burned_cpus.value));
        let header = format!("CPUs burned\nby {}", name(most.threads));
        let cells = locks.iter().map(|&lock| burned(lock)).chain([String::new()]);
        columns.push(Column::figures(1, &header, cells));
    }
    Table { title: format!("{}: share of the fastest one's rate", contention.name()), columns }
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
    let cells = |cell: &dyn Fn(&LockResult) -> String| rows.iter().map(|(_, r)| cell(r)).collect::<Vec<_>>();
    Table {
        title: contention.name(),
        columns: vec![
            Column::names("lock", cells(&|r| r.lock.name().to_owned())),
            Column::figures(0, "threads", rows.iter().map(|(threads, _)| threads.to_string())),
            Column::figures(0, "holds/s", cells(&|r| with_ends(Quantity::Rate, &r.per_s))),
            Column::figures(1, "of the\nfastest", cells(&|r| with_ends(Quantity::Share, &r.of_fastest))),
            Column::figures(5, "CPUs\nbusy", cells(&|r| cpus_with_ends(&r.cpus))),
            Column::figures(2, "CPUs\nburned", cells(&|r| cpus_with_ends(&r.burned_cpus))),
            Column::figures(4, "luckiest", cells(&|r| ratio(r.luckiest))),
            Column::figures(4, "unluckiest", cells(&|r| ratio(r.unluckiest))),
            Column::figures(
                3,
                "longest\nwait",
                cells(&|r| r.longest_wait_ns.map_or(ABSENT.to_owned(), |ns| time(ns as f64))),
            ),
        ],
    }
}

/// Explains how to read the figures of the tables; `has_shares` tells whether they contain shares
/// of threads.
pub(crate) fn tables_note(view: &LocksView, has_shares: bool) -> String {
    let shares = if has_shares { " luckiest, unluckiest: a thread's holds over an equal share." } else { "" };
    let ends = if view.rounds >= 6 { " [a, b]: 95% interval of the median over rounds." } else { "" };
    format!(
        "free: lock and unlock without contention. hand-over: from an unlock to a waiter on another CPU. preempted: while the owner is off \
         its CPU, how long a wait is and the share of it that the waiter spends on a CPU. CPUs burned: busy beyond what holds and \
         thinks took.{shares}{ends}"
    )
}
