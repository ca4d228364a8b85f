//! Scheduling of threads on CPUs: wake-up, assignment and preemption. This module does not know
//! steps; the engine decides the use of a CPU.

use morecores_study::Nanos;

use super::clock::Due;
use super::{At, Engine, Id};

impl Engine<'_> {
    /// Makes a waiting thread ready.
    pub(super) fn release(&mut self, id: Id) {
        if self.threads[id as usize].at == At::Waiting {
            self.make_ready(id);
        }
    }

    pub(super) fn make_ready(&mut self, id: Id) {
        let thread = &mut self.threads[id as usize];
        if !matches!(thread.at, At::Unborn | At::Waiting) {
            return;
        }
        thread.at = At::Ready;
        // A thread that slept gets credit for one slice at most (`place_entity` in
        // `kernel/sched/fair.c`).
        thread.served = thread.served.max(self.cpus.floor() - self.machine.slice.0 as f64);
        if self.cpus.has_idle() && self.machine.wake_latency > Nanos::ZERO {
            self.clocks.at(self.machine.wake_latency.0 as f64, Due::Ready(id));
        } else {
            self.dispatch_or_queue(id);
        }
    }

    pub(super) fn dispatch_or_queue(&mut self, id: Id) {
        if let Some(cpu) = self.cpus.take_idle() {
            self.place(id, cpu);
            return;
        }
        let served = self.threads[id as usize].served;
        self.cpus.queue(id, served);
        self.keep_ticking();
        self.preempt_most_served(self.machine.slice.0 as f64);
    }

    fn place(&mut self, id: Id, cpu: u32) {
        self.cpus.occupy(cpu, id, self.threads[id as usize].served);
        self.placed.push((id, cpu));
    }

    /// Records the work of the thread on this CPU since its start.
    pub(super) fn served(&mut self, id: Id, cpu: u32) -> f64 {
        let done = self.cpus.done(cpu, self.clocks.worked());
        self.threads[id as usize].served += done;
        done
    }

    /// Preempts the thread with the most CPU time if the first thread in the queue has more than
    /// `margin` less.
    fn preempt_most_served(&mut self, margin: f64) -> bool {
        let Some(first) = self.cpus.first_queued() else { return false };
        let Some((cpu, id, most)) = self.cpus.most_served(self.clocks.worked()) else { return false };
        if most - first <= margin {
            return false;
        }
        let done = self.served(id, cpu);
        let thread = &mut self.threads[id as usize];
        thread.left = thread.left.map(|left| (left - done).max(0.0));
        thread.at = At::Ready;
        let served = thread.served;
        let Some(next) = self.cpus.take_queued() else { return false };
        self.cpus.queue(id, served);
        self.place(next, cpu);
        true
    }

    pub(super) fn tick(&mut self) {
        for _ in 0..self.machine.cpus {
            if !self.preempt_most_served(0.0) {
                break;
            }
        }
        self.ticking = false;
        self.keep_ticking();
    }

    fn keep_ticking(&mut self) {
        if !self.ticking && !self.cpus.queue_is_empty() {
            self.ticking = true;
            self.clocks.at(self.machine.slice.0 as f64, Due::Tick);
        }
    }
}
