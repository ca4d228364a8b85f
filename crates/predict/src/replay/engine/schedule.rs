//! Scheduling of threads on CPUs: wake-up, assignment and preemption. This module does not know
//! steps; the engine decides the use of a CPU.

use morecores_study::Nanos;

use super::clock::Event;
use super::{Engine, ThreadNumber, ThreadState};

impl Engine<'_> {
    /// Makes a waiting thread ready.
    pub(super) fn wake(&mut self, id: ThreadNumber) {
        if self.threads[id as usize].state == ThreadState::Waiting {
            self.make_ready(id);
        }
    }

    pub(super) fn make_ready(&mut self, id: ThreadNumber) {
        let thread = &mut self.threads[id as usize];
        if !matches!(thread.state, ThreadState::NotStarted | ThreadState::Waiting) {
            return;
        }
        thread.state = ThreadState::Ready;
        // A thread that slept gets credit for one slice at most (`place_entity` in
        // `kernel/sched/fair.c`).
        thread.cpu_time = thread.cpu_time.max(self.cpus.floor() - self.machine.slice.0 as f64);
        if self.cpus.has_idle() && self.machine.wake_latency > Nanos::ZERO {
            self.clocks.schedule(self.machine.wake_latency.0 as f64, Event::Arrival(id));
        } else {
            self.dispatch_or_queue(id);
        }
    }

    pub(super) fn dispatch_or_queue(&mut self, id: ThreadNumber) {
        if let Some(cpu) = self.cpus.take_idle() {
            self.assign(id, cpu);
            return;
        }
        let cpu_time = self.threads[id as usize].cpu_time;
        self.cpus.enqueue(id, cpu_time);
        self.keep_ticking();
        self.preempt_longest_running(self.machine.slice.0 as f64);
    }

    fn assign(&mut self, id: ThreadNumber, cpu: u32) {
        self.cpus.occupy(cpu, id, self.threads[id as usize].cpu_time);
        self.assigned.push((id, cpu));
    }

    /// Records the work of the thread on this CPU since its start.
    pub(super) fn account_work(&mut self, id: ThreadNumber, cpu: u32) -> f64 {
        let done = self.cpus.stop_work(cpu, self.clocks.work_done());
        self.threads[id as usize].cpu_time += done;
        done
    }

    /// Preempts the thread with the most CPU time if the first thread in the queue has more than
    /// `margin` less.
    fn preempt_longest_running(&mut self, margin: f64) -> bool {
        let Some(first) = self.cpus.first_queued() else { return false };
        let Some((cpu, id, most)) = self.cpus.longest_running(self.clocks.work_done()) else { return false };
        if most - first <= margin {
            return false;
        }
        let done = self.account_work(id, cpu);
        let thread = &mut self.threads[id as usize];
        thread.remaining = thread.remaining.map(|remaining| (remaining - done).max(0.0));
        thread.state = ThreadState::Ready;
        let cpu_time = thread.cpu_time;
        let Some(next) = self.cpus.take_queued() else { return false };
        self.cpus.enqueue(id, cpu_time);
        self.assign(next, cpu);
        true
    }

    pub(super) fn tick(&mut self) {
        for _ in 0..self.machine.cpus {
            if !self.preempt_longest_running(0.0) {
                break;
            }
        }
        self.ticking = false;
        self.keep_ticking();
    }

    fn keep_ticking(&mut self) {
        if !self.ticking && !self.cpus.queue_is_empty() {
            self.ticking = true;
            self.clocks.schedule(self.machine.slice.0 as f64, Event::Tick);
        }
    }
}
