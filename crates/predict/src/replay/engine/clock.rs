//! Queue of future events on two clocks: real time, and work per CPU.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::ThreadNumber;

/// Future event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Event {
    /// Completion of the work that started on this CPU at this turn.
    WorkDone { cpu: u32, turn: u32 },
    /// Arrival of a woken thread at a CPU.
    Arrival(ThreadNumber),
    /// End of a sleep.
    SleepEnd(ThreadNumber),
    /// End of a device's service.
    ServiceEnd { device: u32, id: ThreadNumber },
    /// Check for threads with too much CPU time.
    Tick,
}

pub(super) struct Clocks {
    slowdown: Vec<f64>,
    /// Real time in nanoseconds.
    now: f64,
    /// Work that a continuously busy CPU would have done by now.
    work_done: f64,
    /// Current rate of work per unit of real time.
    rate: f64,
    /// Events on the work clock, by `work_done`.
    work_events: BinaryHeap<Reverse<QueueEntry>>,
    /// Events on the real clock, by `now`.
    real_events: BinaryHeap<Reverse<QueueEntry>>,
    /// Counter that keeps simultaneous events in the order of their requests.
    scheduled: u64,
}

struct QueueEntry {
    at: f64,
    order: u64,
    event: Event,
}

impl Clocks {
    pub(super) fn new(slowdown: &[f64]) -> Self {
        Self {
            slowdown: slowdown.to_vec(),
            now: 0.0,
            work_done: 0.0,
            rate: 1.0,
            work_events: BinaryHeap::new(),
            real_events: BinaryHeap::new(),
            scheduled: 0,
        }
    }

    pub(super) const fn now(&self) -> f64 {
        self.now
    }

    pub(super) const fn work_done(&self) -> f64 {
        self.work_done
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
    pub(super) fn schedule(&mut self, after: f64, event: Event) {
        let entry = self.new_entry(self.now + after, event);
        self.real_events.push(Reverse(entry));
    }

    /// Schedules the completion of `work` on this CPU.
    pub(super) fn schedule_work(&mut self, cpu: u32, turn: u32, work: f64) {
        let entry = self.new_entry(self.work_done + work, Event::WorkDone { cpu, turn });
        self.work_events.push(Reverse(entry));
    }

    fn new_entry(&mut self, at: f64, event: Event) -> QueueEntry {
        self.scheduled += 1;
        QueueEntry { at, order: self.scheduled, event }
    }

    /// Next event, with the real time until it.
    pub(super) fn next(&mut self) -> Option<(Event, f64)> {
        let until_work =
            self.work_events.peek().map(|Reverse(entry)| ((entry.at - self.work_done) / self.rate).max(0.0));
        let until_real = self.real_events.peek().map(|Reverse(entry)| (entry.at - self.now).max(0.0));
        let work_first = match (until_work, until_real) {
            (Some(work), Some(real)) => work <= real,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return None,
        };
        let (heap, passed) = if work_first {
            (&mut self.work_events, until_work?)
        } else {
            (&mut self.real_events, until_real?)
        };
        let Reverse(entry) = heap.pop()?;
        self.now += passed;
        self.work_done += passed * self.rate;
        Some((entry.event, passed))
    }
}

impl Ord for QueueEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at).then(self.order.cmp(&other.order))
    }
}

impl PartialOrd for QueueEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for QueueEntry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for QueueEntry {}
