//! Assignment of CPUs to threads, and the run queue. The thread with the least CPU time comes
//! first, as in the kernel's fair scheduler.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::ThreadNumber;

pub(super) struct Cpus {
    cpus: Vec<Cpu>,
    idle: Vec<u32>,
    /// Ready threads by CPU time received. The bits of a non-negative float sort in the order of
    /// its value.
    queue: BinaryHeap<Reverse<(u64, u64, ThreadNumber)>>,
    queued: u64,
    working: u32,
    /// Largest CPU time of any thread at the moment it received a CPU.
    floor: f64,
}

#[derive(Clone, Copy)]
struct Cpu {
    thread: Option<ThreadNumber>,
    /// CPU time of the thread when it arrived at this CPU.
    cpu_time: f64,
    /// Work clock at the start of the current work; `None` while no work runs.
    work_start: Option<f64>,
    /// Whether the thread may be preempted.
    preemptible: bool,
    /// Counter of starts on this CPU. An event with an older turn is stale.
    turn: u32,
}

impl Cpus {
    pub(super) fn new(cpus: u32) -> Self {
        Self {
            cpus: vec![
                Cpu { thread: None, cpu_time: 0.0, work_start: None, preemptible: true, turn: 0 };
                cpus as usize
            ],
            idle: (0..cpus).rev().collect(),
            queue: BinaryHeap::new(),
            queued: 0,
            working: 0,
            floor: 0.0,
        }
    }

    /// Number of CPUs that are not idle.
    pub(super) fn busy(&self) -> u32 {
        (self.cpus.len() - self.idle.len()) as u32
    }

    /// Number of CPUs that do work.
    pub(super) const fn working(&self) -> u32 {
        self.working
    }

    pub(super) const fn floor(&self) -> f64 {
        self.floor
    }

    pub(super) fn has_idle(&self) -> bool {
        !self.idle.is_empty()
    }

    pub(super) fn take_idle(&mut self) -> Option<u32> {
        self.idle.pop()
    }

    // Run queue.

    pub(super) fn queue_is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn enqueue(&mut self, id: ThreadNumber, cpu_time: f64) {
        self.queued += 1;
        self.queue.push(Reverse((cpu_time.max(0.0).to_bits(), self.queued, id)));
    }

    /// CPU time received by the first thread in the queue.
    pub(super) fn first_queued(&self) -> Option<f64> {
        self.queue.peek().map(|Reverse((cpu_time, ..))| f64::from_bits(*cpu_time))
    }

    pub(super) fn take_queued(&mut self) -> Option<ThreadNumber> {
        self.queue.pop().map(|Reverse((.., id))| id)
    }

    // Single CPU.

    pub(super) fn occupy(&mut self, cpu: u32, thread: ThreadNumber, cpu_time: f64) {
        let state = &mut self.cpus[cpu as usize];
        *state =
            Cpu { thread: Some(thread), cpu_time, work_start: None, preemptible: true, turn: state.turn + 1 };
        self.floor = self.floor.max(cpu_time);
    }

    /// Starts work for the thread on this CPU, with or without preemption. Returns the number of
    /// the turn.
    pub(super) fn start_work(&mut self, cpu: u32, work_clock: f64, preemptible: bool) -> u32 {
        let state = &mut self.cpus[cpu as usize];
        state.work_start = Some(work_clock);
        state.preemptible = preemptible;
        state.turn += 1;
        self.working += 1;
        state.turn
    }

    /// Marks the thread on this CPU as spinning.
    pub(super) fn mark_spinning(&mut self, cpu: u32) {
        self.cpus[cpu as usize].turn += 1;
    }

    /// Stops the work of the thread on this CPU. Returns the work since its start.
    pub(super) fn stop_work(&mut self, cpu: u32, work_clock: f64) -> f64 {
        let state = &mut self.cpus[cpu as usize];
        let Some(since) = state.work_start.take() else { return 0.0 };
        self.working -= 1;
        state.turn += 1;
        state.cpu_time += work_clock - since;
        work_clock - since
    }

    /// Marks a CPU as idle.
    pub(super) fn vacate(&mut self, cpu: u32) {
        self.cpus[cpu as usize].thread = None;
        self.idle.push(cpu);
    }

    /// Thread that works on this CPU, if the turn is still current.
    pub(super) fn thread_at_turn(&self, cpu: u32, turn: u32) -> Option<ThreadNumber> {
        let state = self.cpus[cpu as usize];
        state.thread.filter(|_| state.turn == turn)
    }

    pub(super) fn cpu_of_thread(&self, id: ThreadNumber) -> Option<u32> {
        (0..).zip(&self.cpus).find(|(_, state)| state.thread == Some(id)).map(|(cpu, _)| cpu)
    }

    /// Preemptible working thread with the most CPU time: its CPU, its number and its CPU time.
    pub(super) fn longest_running(&self, work_clock: f64) -> Option<(u32, ThreadNumber, f64)> {
        (0..)
            .zip(&self.cpus)
            .filter(|(_, state)| state.preemptible)
            .filter_map(|(cpu, state)| {
                Some((cpu, state.thread?, state.cpu_time + work_clock - state.work_start?))
            })
            .max_by(|a, b| a.2.total_cmp(&b.2))
    }
}
