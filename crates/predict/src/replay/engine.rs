//! Discrete-event simulation of threads on CPUs.
//!
//! The engine has two clocks. Work advances on a virtual clock, which slows down with the number of
//! busy CPUs: shared memory and caches stretch all work in progress alike. Devices, sleeps and
//! wake-ups follow the real clock.

mod clock;
mod cpus;
mod schedule;
mod thread;

use morecores_study::Nanos;

use super::Id;
use super::machine::Machine;
use super::program::{LockPolicy, Program, Step};
use super::waiting::{Device, Line, Lock};
use clock::{Clocks, Due};
use cpus::Cpus;
use thread::{At, Thread};

/// Result of a replay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replayed {
    /// Time until the end of the first thread.
    pub elapsed: Nanos,
    /// CPU time of all threads, including slowdown and spinning.
    pub busy: Nanos,
    /// Time during which one thread is on a CPU and no other thread is ready.
    pub alone: Nanos,
    /// Wait time for each lock, without the wait for a CPU that follows.
    pub lock_waits: Vec<Nanos>,
    /// Service time of each device, summed over its channels.
    pub device_busy: Vec<Nanos>,
    /// Number of waits that no step of the program would have ended, and that the engine cut short.
    /// Such a wait depends on an order that the trace does not show.
    pub forced: u32,
}

/// Runs `program` on `machine`.
pub fn replay(program: &Program, machine: &Machine) -> Replayed {
    Engine::new(program, machine).run()
}

struct Engine<'p> {
    program: &'p Program,
    machine: &'p Machine,
    clocks: Clocks,
    cpus: Cpus,
    threads: Vec<Thread>,
    channels: Vec<Line>,
    locks: Vec<Lock>,
    devices: Vec<Device>,
    /// Index of the next piece of each bag.
    bags: Vec<usize>,
    /// Threads that received a CPU and have not yet continued there.
    placed: Vec<(Id, u32)>,
    /// Whether a tick is scheduled that preempts threads with too much CPU time.
    ticking: bool,
    busy: f64,
    alone: f64,
    result: Replayed,
}

/// Reason for the stop of a thread's walk through its steps.
enum Comes {
    /// Work that needs the CPU.
    Work(f64),
    /// Lock that the thread spins for.
    Spin,
    /// Wait off the CPU.
    Wait,
    /// End of the thread.
    End,
}

impl<'p> Engine<'p> {
    fn new(program: &'p Program, machine: &'p Machine) -> Self {
        let thread = || Thread {
            at: At::Unborn,
            step: 0,
            piece: None,
            left: None,
            served: 0.0,
            marks: 0,
            awaited_by: Vec::new(),
            waits_since: None,
            watches_since: 0.0,
        };
        Self {
            program,
            machine,
            clocks: Clocks::new(&machine.slowdown),
            cpus: Cpus::new(machine.cpus.max(1)),
            threads: program.threads.iter().map(|_| thread()).collect(),
            channels: program.channels.iter().map(|tokens| Line::with(*tokens)).collect(),
            locks: program.locks.iter().map(|_| Lock::default()).collect(),
            devices: program.devices.iter().map(|channels| Device::with(*channels)).collect(),
            bags: vec![0; program.bags.len()],
            placed: Vec::new(),
            ticking: false,
            busy: 0.0,
            alone: 0.0,
            result: Replayed {
                lock_waits: vec![Nanos::ZERO; program.locks.len()],
                device_busy: vec![Nanos::ZERO; program.devices.len()],
                ..Replayed::default()
            },
        }
    }

    fn run(mut self) -> Replayed {
        if self.threads.is_empty() {
            return self.result;
        }
        self.make_ready(0);
        loop {
            while let Some((id, cpu)) = self.placed.pop() {
                self.go_on(id, cpu);
            }
            if self.threads[0].at == At::Ended {
                break;
            }
            match self.clocks.next() {
                Some((due, passed)) => {
                    self.account(passed);
                    self.happens(due);
                }
                None => self.force(),
            }
        }
        let nanos = |time: f64| Nanos(time.round() as u64);
        Replayed {
            elapsed: nanos(self.clocks.now()),
            busy: nanos(self.busy),
            alone: nanos(self.alone),
            ..self.result
        }
    }

    /// Adds the passed real time to the totals.
    fn account(&mut self, passed: f64) {
        let busy = self.cpus.busy();
        self.busy += passed * f64::from(busy);
        if busy == 1 && self.cpus.queue_is_empty() {
            self.alone += passed;
        }
    }

    fn happens(&mut self, due: Due) {
        match due {
            Due::WorkDone { cpu, turn } => {
                if let Some(id) = self.cpus.of_turn(cpu, turn) {
                    self.served(id, cpu);
                    self.finish_work(id);
                    self.placed.push((id, cpu));
                }
            }
            Due::Ready(id) => self.dispatch_or_queue(id),
            Due::Slept(id) => self.release(id),
            Due::Served { device, id } => {
                if let Some((next, time)) = self.devices[device as usize].done() {
                    self.serve(device, next, time);
                }
                self.release(id);
            }
            Due::Tick => self.tick(),
        }
    }

    /// Ends a wait when no event is left and the program has not ended.
    fn force(&mut self) {
        self.result.forced += 1;
        // The search starts at the last thread, because the first thread most often waits for all
        // others.
        let waiting = |at: &Thread| at.at == At::Waiting;
        let stuck = self.threads.iter().rposition(waiting);
        match stuck {
            Some(id) => {
                let id = id as Id;
                let served: Vec<Id> = self.channels.iter_mut().flat_map(|line| line.forget(id)).collect();
                for thread in &mut self.threads {
                    thread.awaited_by.retain(|(_, waiter)| *waiter != id);
                }
                self.release(id);
                served.into_iter().for_each(|id| self.release(id));
            }
            None => {
                // The first thread waits for a thread that never starts, so nothing is left to
                // replay.
                self.threads[0].at = At::Ended;
            }
        }
    }

    // Steps.

    /// Advances a thread on a CPU through its steps until it needs the CPU or leaves it.
    fn go_on(&mut self, id: Id, cpu: u32) {
        match self.walk(id) {
            Comes::Work(work) => {
                self.threads[id as usize].at = At::Working;
                let may_leave = match self.step(id) {
                    Some(Step::Hold { lock, .. }) => self.policy(lock).holder_may_leave(),
                    _ => true,
                };
                let turn = self.cpus.begin(cpu, self.clocks.worked(), may_leave);
                self.clocks.work(cpu, turn, work);
                self.clocks.set_busy(self.cpus.working());
            }
            Comes::Spin => {
                self.threads[id as usize].at = At::Spinning;
                self.cpus.spin(cpu);
                self.clocks.set_busy(self.cpus.working());
            }
            Comes::Wait => self.leave(id, cpu, At::Waiting),
            Comes::End => {
                self.leave(id, cpu, At::Ended);
                for (_, waiter) in std::mem::take(&mut self.threads[id as usize].awaited_by) {
                    self.release(waiter);
                }
            }
        }
    }

    fn leave(&mut self, id: Id, cpu: u32, to: At) {
        self.threads[id as usize].at = to;
        self.cpus.vacate(cpu);
        self.clocks.set_busy(self.cpus.working());
        if let Some(next) = self.cpus.take_queued() {
            self.dispatch_or_queue(next);
        }
    }

    /// Current step of a thread, from its own script or from the piece that it took.
    fn step(&self, id: Id) -> Option<Step> {
        let thread = &self.threads[id as usize];
        let (script, step) = match thread.piece {
            Some((bag, piece, step)) => (&self.program.bags[bag as usize].pieces[piece], step),
            None => (&self.program.threads[id as usize], thread.step),
        };
        script.get(step).copied()
    }

    fn advance(&mut self, id: Id) {
        let thread = &mut self.threads[id as usize];
        match &mut thread.piece {
            Some((.., step)) => *step += 1,
            None => thread.step += 1,
        }
    }

    fn walk(&mut self, id: Id) -> Comes {
        loop {
            let now = self.step(id);
            let thread = &mut self.threads[id as usize];
            if let Some(left) = thread.left {
                return Comes::Work(left);
            }
            let Some(step) = now else {
                if thread.piece.take().is_some() {
                    continue;
                }
                return Comes::End;
            };
            match step {
                Step::Share(bag) => {
                    let next = &mut self.bags[bag as usize];
                    if *next < self.program.bags[bag as usize].pieces.len() {
                        thread.piece = Some((bag, *next, 0));
                        *next += 1;
                    } else {
                        thread.step += 1;
                    }
                    continue;
                }
                Step::Run(time) => {
                    thread.left = Some(self.machine.work(id, time));
                    continue;
                }
                Step::Hold { lock, time } => {
                    let spins = self.program.locks[lock as usize] == LockPolicy::Spin;
                    if self.locks[lock as usize].take(id) {
                        thread.left = Some(self.machine.hold(id, lock, time, self.cpus.busy()));
                        continue;
                    }
                    thread.waits_since.get_or_insert(self.clocks.now());
                    return if spins { Comes::Spin } else { Comes::Wait };
                }
                Step::Lock(lock) if !self.locks[lock as usize].take(id) => {
                    thread.waits_since.get_or_insert(self.clocks.now());
                    return Comes::Wait;
                }
                _ => {}
            }
            self.advance(id);
            match step {
                Step::Start(child) => self.make_ready(child),
                Step::Mark => self.mark(id),
                Step::Await { thread: of, marks } => {
                    let of = &mut self.threads[of as usize];
                    if of.at != At::Ended && of.marks < marks {
                        of.awaited_by.push((marks, id));
                        return Comes::Wait;
                    }
                }
                Step::Join(of) => {
                    let of = &mut self.threads[of as usize];
                    if of.at != At::Ended {
                        of.awaited_by.push((u32::MAX, id));
                        return Comes::Wait;
                    }
                }
                Step::Put { channel, tokens } => {
                    for waiter in self.channels[channel as usize].put(tokens) {
                        self.release(waiter);
                    }
                }
                Step::Take { channel, tokens } => {
                    if !self.channels[channel as usize].take(id, tokens) {
                        return Comes::Wait;
                    }
                }
                Step::Serve { device, time } => {
                    if self.devices[device as usize].ask(id, time.0) {
                        self.serve(device, id, time.0);
                    }
                    return Comes::Wait;
                }
                Step::Sleep(time) => {
                    self.clocks.at(time.0 as f64, Due::Slept(id));
                    return Comes::Wait;
                }
                Step::Watch => self.threads[id as usize].watches_since = self.clocks.now(),
                Step::Look(every) => {
                    let left = self.until_look(id, every);
                    if left > 0.0 {
                        self.clocks.at(left, Due::Slept(id));
                        return Comes::Wait;
                    }
                }
                Step::GiveBack(lock) => self.give_back(lock),
                Step::Run(_) | Step::Hold { .. } | Step::Lock(_) | Step::Share(_) => {}
            }
        }
    }

    /// Starts the service of a thread by a channel of a device.
    fn serve(&mut self, device: u32, id: Id, time: u64) {
        self.clocks.at(time as f64, Due::Served { device, id });
        self.result.device_busy[device as usize].0 += time;
    }

    fn until_look(&self, id: Id, every: Nanos) -> f64 {
        let passed = self.clocks.now() - self.threads[id as usize].watches_since;
        let every = (every.0 as f64).max(1.0);
        (passed / every).ceil() * every - passed
    }

    fn mark(&mut self, id: Id) {
        let thread = &mut self.threads[id as usize];
        thread.marks += 1;
        let marks = thread.marks;
        let mut released = Vec::new();
        thread.awaited_by.retain(|(wanted, waiter)| {
            let here = *wanted <= marks;
            if here {
                released.push(*waiter);
            }
            !here
        });
        for waiter in released {
            self.release(waiter);
        }
    }

    /// Completes the work of the thread's current step.
    fn finish_work(&mut self, id: Id) {
        self.threads[id as usize].left = None;
        if let Some(Step::Hold { lock, .. }) = self.step(id) {
            self.give_back(lock);
        }
        self.advance(id);
    }

    fn policy(&self, lock: u32) -> LockPolicy {
        self.program.locks[lock as usize]
    }

    fn give_back(&mut self, lock: u32) {
        let hand_over = self.policy(lock).hands_over();
        let Some(next) = self.locks[lock as usize].give_back(hand_over) else { return };
        if let Some(since) = self.threads[next as usize].waits_since.take() {
            self.result.lock_waits[lock as usize].0 += (self.clocks.now() - since).round() as u64;
        }
        if self.threads[next as usize].at == At::Spinning {
            self.placed.extend(self.cpus.of_thread(next).map(|cpu| (next, cpu)));
        } else {
            self.release(next);
        }
    }
}

#[cfg(test)]
mod tests;
