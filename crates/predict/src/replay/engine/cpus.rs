//! Assignment of CPUs to threads, and the run queue. The thread with the least CPU time comes
//! first, as in the kernel's fair scheduler.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Id;

pub(super) struct Cpus {
    cpus: Vec<Cpu>,
    idle: Vec<u32>,
    /// Ready threads by CPU time received. The bits of a non-negative float sort in the order of
    /// its value.
    queue: BinaryHeap<Reverse<(u64, u64, Id)>>,
    queued: u64,
    working: u32,
    /// Largest CPU time of any thread at the moment it received a CPU.
    floor: f64,
}

#[derive(Clone, Copy)]
struct Cpu {
    who: Option<Id>,
    /// CPU time of the thread when it arrived at this CPU.
    served: f64,
    /// Work clock at the start of the current work; `None` while no work runs.
    since: Option<f64>,
    /// Whether the thread may be preempted.
    may_leave: bool,
    /// Counter of starts on this CPU. An event with an older turn is stale.
    turn: u32,
}

impl Cpus {
    pub(super) fn new(cpus: u32) -> Self {
        Self {
            cpus: vec![Cpu { who: None, served: 0.0, since: None, may_leave: true, turn: 0 }; cpus as usize],
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

    pub(super) fn queue(&mut self, id: Id, served: f64) {
        self.queued += 1;
        self.queue.push(Reverse((served.max(0.0).to_bits(), self.queued, id)));
    }

    /// CPU time received by the first thread in the queue.
    pub(super) fn first_queued(&self) -> Option<f64> {
        self.queue.peek().map(|Reverse((served, ..))| f64::from_bits(*served))
    }

    pub(super) fn take_queued(&mut self) -> Option<Id> {
        self.queue.pop().map(|Reverse((.., id))| id)
    }

    // Single CPU.

    pub(super) fn occupy(&mut self, cpu: u32, who: Id, served: f64) {
        let place = &mut self.cpus[cpu as usize];
        *place = Cpu { who: Some(who), served, since: None, may_leave: true, turn: place.turn + 1 };
        self.floor = self.floor.max(served);
    }

    /// Starts work for the thread on this CPU, with or without preemption. Returns the number of
    /// the turn.
    pub(super) fn begin(&mut self, cpu: u32, worked: f64, may_leave: bool) -> u32 {
        let place = &mut self.cpus[cpu as usize];
        place.since = Some(worked);
        place.may_leave = may_leave;
        place.turn += 1;
        self.working += 1;
        place.turn
    }

    /// Marks the thread on this CPU as spinning.
    pub(super) fn spin(&mut self, cpu: u32) {
        self.cpus[cpu as usize].turn += 1;
    }

    /// Stops the work of the thread on this CPU. Returns the work since its start.
    pub(super) fn done(&mut self, cpu: u32, worked: f64) -> f64 {
        let place = &mut self.cpus[cpu as usize];
        let Some(since) = place.since.take() else { return 0.0 };
        self.working -= 1;
        place.turn += 1;
        place.served += worked - since;
        worked - since
    }

    /// Marks a CPU as idle.
    pub(super) fn vacate(&mut self, cpu: u32) {
        self.cpus[cpu as usize].who = None;
        self.idle.push(cpu);
    }

    /// Thread that works on this CPU, if the turn is still current.
    pub(super) fn of_turn(&self, cpu: u32, turn: u32) -> Option<Id> {
        let place = self.cpus[cpu as usize];
        place.who.filter(|_| place.turn == turn)
    }

    pub(super) fn of_thread(&self, id: Id) -> Option<u32> {
        (0..).zip(&self.cpus).find(|(_, place)| place.who == Some(id)).map(|(cpu, _)| cpu)
    }

    /// Preemptible working thread with the most CPU time: its CPU, its number and its CPU time.
    pub(super) fn most_served(&self, worked: f64) -> Option<(u32, Id, f64)> {
        (0..)
            .zip(&self.cpus)
            .filter(|(_, place)| place.may_leave)
            .filter_map(|(cpu, place)| Some((cpu, place.who?, place.served + worked - place.since?)))
            .max_by(|a, b| a.2.total_cmp(&b.2))
    }
}
