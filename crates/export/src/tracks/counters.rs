//! Counters over the run: the allotted CPUs by component, and the threads that wait for each lock.
//! Their values are means over the steps of the run, so that their sums are those of the report.

use std::collections::{BTreeMap, HashMap};
use std::io;

use morecores_explain::trace::{Cause, Occupant, Timeline, awaited_futex};
use morecores_study::Nanos;

use super::{TrackSink, step, time};
use crate::ExportedRun;

/// Largest number of locks with a counter of their own: those with the longest waits.
const LOCKS: usize = 8;

/// Counters that a viewer draws together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CounterGroup {
    /// Allotted CPUs, by component.
    Cpus,
    /// Waiting threads, by lock.
    LockWaits,
}

impl CounterGroup {
    pub(crate) const ALL: [Self; 2] = [Self::Cpus, Self::LockWaits];

    /// Title of the group.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Cpus => "CPUs by component",
            Self::LockWaits => "threads waiting for locks",
        }
    }

    /// Unit of the values.
    pub(crate) const fn unit(self) -> &'static str {
        match self {
            Self::Cpus => "CPUs",
            Self::LockWaits => "threads",
        }
    }
}

/// Counter with a value at each instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counter {
    /// Group of the counter.
    pub(crate) group: CounterGroup,
    /// Component or lock.
    pub(crate) name: String,
}

/// All counters of a run.
pub(super) struct Counters {
    pub(super) names: Vec<Counter>,
    elapsed: u64,
    step: u64,
    series: Vec<Series>,
}

/// Counters of a run: of components and locks that occur.
pub(super) fn counters(run: &ExportedRun<'_>) -> Counters {
    let timeline = &run.trace.timeline;
    let mut counters = Counters {
        names: Vec::new(),
        elapsed: timeline.elapsed().0,
        step: step(timeline),
        series: Vec::new(),
    };
    add_components(run, &mut counters);
    add_lock_waits(run, &mut counters);
    counters
}

impl Counters {
    fn add_series(&mut self, group: CounterGroup, name: &str) -> usize {
        let steps = self.elapsed.div_ceil(self.step) as usize;
        self.names.push(Counter { group, name: name.to_owned() });
        self.series.push(Series { parts: vec![0.0; steps], changes: vec![0.0; steps + 1] });
        self.series.len() - 1
    }

    /// Adds an amount to a counter between two instants.
    fn add(&mut self, series: usize, timeline: &Timeline, from: Nanos, to: Nanos, amount: f64) {
        let (from, to) = (time(timeline, from), time(timeline, to).min(self.elapsed));
        if from < to {
            self.series[series].add(self.step, from, to, amount);
        }
    }

    /// Passes the values to a sink, where they change.
    pub(super) fn write(self, sink: &mut impl TrackSink) -> io::Result<()> {
        let mut sums = vec![0.0; self.series.len()];
        let mut last: Vec<f64> = Vec::new();
        for (index, from) in (0..self.elapsed).step_by(self.step as usize).enumerate() {
            let length = self.step.min(self.elapsed - from) as f64;
            let mut values = Vec::with_capacity(sums.len());
            for (series, sum) in self.series.iter().zip(&mut sums) {
                *sum += series.changes[index];
                // Sums of fractions do not return to zero exactly.
                values.push(((*sum + series.parts[index] / length) * 1e9).round().max(0.0) / 1e9);
            }
            if values != last {
                sink.values(from, &values)?;
                last = values;
            }
        }
        sink.values(self.elapsed, &vec![0.0; sums.len()])
    }
}

/// One counter.
struct Series {
    /// For each step, the amounts that hold for a part of it, times the length of this part.
    parts: Vec<f64>,
    /// For each step, the change of the amount that holds for all of it.
    changes: Vec<f64>,
}

impl Series {
    fn add(&mut self, step: u64, from: u64, to: u64, amount: f64) {
        let (first, last) = ((from / step) as usize, ((to - 1) / step) as usize);
        if first == last {
            self.parts[first] += amount * (to - from) as f64;
            return;
        }
        self.parts[first] += amount * ((first as u64 + 1) * step - from) as f64;
        self.parts[last] += amount * (to - last as u64 * step) as f64;
        self.changes[first + 1] += amount;
        self.changes[last] -= amount;
    }
}

fn add_components(run: &ExportedRun<'_>, counters: &mut Counters) {
    let timeline = &run.trace.timeline;
    let mut series: HashMap<&'static str, usize> = HashMap::new();
    let mut add = |from: Nanos, to: Nanos, name: &'static str, cpus: f64| {
        if cpus > 0.0 && from < to {
            let number = *series.entry(name).or_insert_with(|| counters.add_series(CounterGroup::Cpus, name));
            counters.add(number, timeline, from, to, cpus);
        }
    };
    for cpu in timeline.cpus.iter().filter(|cpu| cpu.allotted) {
        for span in &cpu.spans {
            let interrupts = span.interrupts.0 as f64 / span.length().0.max(1) as f64;
            add(span.from, span.to, "interrupts", interrupts);
            let name = match span.occupant {
                // The idle rule divides the rest.
                Occupant::Idle => continue,
                Occupant::Unseen => "other processes",
                Occupant::Lost => "unknown",
                Occupant::Thread(id) => match timeline.thread(id) {
                    thread if thread.in_tree => "command",
                    thread if thread.tracer => "tracer",
                    _ => "other processes",
                },
            };
            add(span.from, span.to, name, 1.0 - interrupts);
        }
    }
    for span in &run.idle().spans {
        let length_s = span.to.since(span.from).as_secs_f64();
        add(span.from, span.to, idle_name(span.cause), span.seconds / length_s);
    }
}

fn add_lock_waits(run: &ExportedRun<'_>, counters: &mut Counters) {
    let timeline = &run.trace.timeline;
    let names = run.lock_names();
    let lock_of = |number: usize| match run.causes[number] {
        Cause::KernelLock => Some("kernel locks"),
        Cause::UserLock => {
            let futex = awaited_futex(timeline, &timeline.waits[number]);
            Some(futex.and_then(|futex| names.get(&futex)).map_or("a lock without a name", String::as_str))
        }
        _ => None,
    };
    let in_tree = |number: &usize| timeline.thread(timeline.waits[*number].thread).in_tree;
    let waits = || (0..timeline.waits.len()).filter(in_tree).filter_map(|n| Some((n, lock_of(n)?)));
    let mut totals: BTreeMap<&str, u64> = BTreeMap::new();
    for (number, lock) in waits() {
        let wait = &timeline.waits[number];
        *totals.entry(lock).or_default() += wait.to.since(wait.from).0;
    }
    let mut locks: Vec<(&str, u64)> = totals.into_iter().collect();
    locks.sort_by_key(|(_, total)| std::cmp::Reverse(*total));
    let others = locks.len() > LOCKS;
    locks.truncate(LOCKS);
    let group = CounterGroup::LockWaits;
    let series: HashMap<&str, usize> =
        locks.into_iter().map(|(lock, _)| (lock, counters.add_series(group, lock))).collect();
    let others = others.then(|| counters.add_series(group, "other locks"));
    for (number, lock) in waits() {
        let wait = &timeline.waits[number];
        if let Some(series) = series.get(lock).copied().or(others) {
            counters.add(series, timeline, wait.from, wait.to, 1.0);
        }
    }
}

/// Name of an idle component, by its cause as in the table of idle time.
fn idle_name(cause: &str) -> &'static str {
    match cause {
        "scheduling" => "idle: scheduling",
        "held" => "idle: held back",
        "pinned" => "idle: pinned",
        "kernel_lock" => "idle: kernel lock",
        "user_lock" => "idle: user lock",
        "disk" => "idle: disk",
        "peer" => "idle: another program",
        "device" => "idle: device",
        "rcu" => "idle: RCU",
        "uninterruptible" => "idle: kernel",
        "timer" => "idle: timer",
        _ => "idle: too little parallel work",
    }
}
