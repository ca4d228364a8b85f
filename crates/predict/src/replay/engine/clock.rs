//! What is due next, by the real clock and by the one that work goes by.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::Id;

/// Something that becomes due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Due {
    /// The work begun on this CPU at this turn of it is done.
    WorkDone { cpu: u32, turn: u32 },
    /// A thread that was woken reaches a CPU.
    Ready(Id),
    /// A sleep is over.
    Slept(Id),
    /// A device has served somebody.
    Served { device: u32, id: Id },
    /// Time to see whether somebody has had a CPU for too long.
    Tick,
}

pub(super) struct Clocks {
    slowdown: Vec<f64>,
    /// Real time, in nanoseconds.
    now: f64,
    /// Work that any one CPU could have done by now.
    worked: f64,
    /// How fast that goes now, to the real time.
    rate: f64,
    /// By `worked`.
    work: BinaryHeap<Reverse<Entry>>,
    /// By `now`.
    real: BinaryHeap<Reverse<Entry>>,
    /// So that what is due at once comes in the order in which it was asked for.
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

    /// So many CPUs are at work from now on.
    pub(super) fn set_busy(&mut self, cpus: u32) {
        let last = self.slowdown.last().copied().unwrap_or(1.0);
        let slowdown = match cpus {
            0 => 1.0,
            _ => self.slowdown.get(cpus as usize - 1).copied().unwrap_or(last),
        };
        self.rate = 1.0 / slowdown.max(1.0);
    }

    /// After so much real time from now.
    pub(super) fn at(&mut self, after: f64, due: Due) {
        let entry = self.entry(self.now + after, due);
        self.real.push(Reverse(entry));
    }

    /// Once this CPU has done so much work from now.
    pub(super) fn work(&mut self, cpu: u32, turn: u32, work: f64) {
        let entry = self.entry(self.worked + work, Due::WorkDone { cpu, turn });
        self.work.push(Reverse(entry));
    }

    fn entry(&mut self, at: f64, due: Due) -> Entry {
        self.asked += 1;
        Entry { at, order: self.asked, due }
    }

    /// What comes next, and the real time that passes until then.
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
