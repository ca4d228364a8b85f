//! Queue of future events on two clocks: real time, and work per CPU.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::Id;

/// Future event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Due {
    /// Completion of the work that started on this CPU at this turn.
    WorkDone { cpu: u32, turn: u32 },
    /// Arrival of a woken thread at a CPU.
    Ready(Id),
    /// End of a sleep.
    Slept(Id),
    /// End of a device's service.
    Served { device: u32, id: Id },
    /// Check for threads with too much CPU time.
    Tick,
}

pub(super) struct Clocks {
    slowdown: Vec<f64>,
    /// Real time in nanoseconds.
    now: f64,
    /// Work that a continuously busy CPU would have done by now.
    worked: f64,
    /// Current rate of work per unit of real time.
    rate: f64,
    /// Events on the work clock, by `worked`.
    work: BinaryHeap<Reverse<Entry>>,
    /// Events on the real clock, by `now`.
    real: BinaryHeap<Reverse<Entry>>,
    /// Counter that keeps simultaneous events in the order of their requests.
    asked: u64,
}

struct Entry {
    at: f64,
    order: u64,
    due: Due,
}

impl Clocks {
    pub(super) fn new(slowdown: &[f64]) -> Self {
        Self {
            slowdown: slowdown.to_vec(),
            now: 0.0,
            worked: 0.0,
            rate: 1.0,
            work: BinaryHeap::new(),
            real: BinaryHeap::new(),
            asked: 0,
        }
    }

    pub(super) const fn now(&self) -> f64 {
        self.now
    }

    pub(super) const fn worked(&self) -> f64 {
        self.worked
    }

    /// Sets the number of working CPUs from now on.
    pub(super) fn set_busy(&mut self, cpus: u32) {
        let last = self.slowdown.last().copied().unwrap_or(1.0);
        let slowdown = match cpus {
            0 => 1.0,
            _ => self.slowdown.get(cpus as usize - 1).copied().unwrap_or(last),
        };
        self.rate = 1.0 / slowdown.max(1.0);
    }

    /// Schedules an event after `after` of real time.
    pub(super) fn at(&mut self, after: f64, due: Due) {
        let entry = self.entry(self.now + after, due);
        self.real.push(Reverse(entry));
    }

    /// Schedules the completion of `work` on this CPU.
    pub(super) fn work(&mut self, cpu: u32, turn: u32, work: f64) {
        let entry = self.entry(self.worked + work, Due::WorkDone { cpu, turn });
        self.work.push(Reverse(entry));
    }

    fn entry(&mut self, at: f64, due: Due) -> Entry {
        self.asked += 1;
        Entry { at, order: self.asked, due }
    }

    /// Next event, with the real time until it.
    pub(super) fn next(&mut self) -> Option<(Due, f64)> {
        let until_work =
            self.work.peek().map(|Reverse(entry)| ((entry.at - self.worked) / self.rate).max(0.0));
        let until_real = self.real.peek().map(|Reverse(entry)| (entry.at - self.now).max(0.0));
        let work_first = match (until_work, until_real) {
            (Some(work), Some(real)) => work <= real,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return None,
        };
        let (heap, passed) =
            if work_first { (&mut self.work, until_work?) } else { (&mut self.real, until_real?) };
        let Reverse(entry) = heap.pop()?;
        self.now += passed;
        self.worked += passed * self.rate;
        Some((entry.due, passed))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at).then(self.order.cmp(&other.order))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}
