//! Discrete-event simulation of threads on CPUs.
//!
//! The engine has two clocks. Work advances on a virtual clock, which slows down with the number of
//! busy CPUs: shared memory and caches span all work in progress alike. Devices, sleeps and
//! wake-ups follow the real clock.

mod clock;
mod cpus;
mod schedule;
mod thread;

use morecores_study::Nanos;
use rayon::prelude::*;

use super::ThreadNumber;
use super::machine::Machine;
use super::program::{LockPolicy, Program, Step};
use super::waiting::{Channel, Device, Lock};
use clock::{Clocks, Event};
use cpus::Cpus;
use thread::{Thread, ThreadState};

/// Result of a replay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayResult {
    /// Time until the end of the first thread.
    pub elapsed: Nanos,
    /// CPU time of all threads, including slowdown and spinning.
    pub busy: Nanos,
    /// Time during which one thread is on a CPU and no other thread is ready.
    pub serial: Nanos,
    /// Wait time for each lock, without the wait for a CPU that follows.
    pub lock_waits: Vec<Nanos>,
    /// Service time of each device, summed over its channels.
    pub device_busy: Vec<Nanos>,
    /// Number of waits that no step of the program would have ended, and that the engine cut short.
    /// Such a wait depends on an order that the trace does not show.
    pub forced_waits: u32,
}

/// Runs `program` on `machine`.
pub fn replay(program: &Program, machine: &Machine) -> ReplayResult {
    Engine::new(program, machine).run()
}

/// Runs `program` on each of the machines, in parallel. Equal machines have one replay: many draws
/// of an ensemble differ only in quantities that need more CPUs.
pub fn replay_on_each(program: &Program, machines: &[Machine]) -> Vec<ReplayResult> {
    let mut distinct: Vec<&Machine> = Vec::new();
    let mut place_of = |machine| {
        distinct.iter().position(|other| *other == machine).unwrap_or_else(|| {
            distinct.push(machine);
            distinct.len() - 1
        })
    };
    let places: Vec<usize> = machines.iter().map(&mut place_of).collect();
    let results: Vec<ReplayResult> =
        distinct.into_par_iter().map(|machine| replay(program, machine)).collect();
    places.into_iter().map(|place| results[place].clone()).collect()
}

struct Engine<'p> {
    program: &'p Program,
    machine: &'p Machine,
    clocks: Clocks,
    cpus: Cpus,
    threads: Vec<Thread>,
    channels: Vec<Channel>,
    locks: Vec<Lock>,
    devices: Vec<Device>,
    /// Next piece of each list of shared work.
    next_pieces: Vec<usize>,
    /// Threads that received a CPU and have not yet continued there.
    assigned: Vec<(ThreadNumber, u32)>,
    /// Whether a tick is scheduled that preempts threads with too much CPU time.
    ticking: bool,
    busy: f64,
    serial: f64,
    result: ReplayResult,
}

/// Outcome of a thread's steps on its CPU: the reason for which they stop.
enum StepOutcome {
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
            state: ThreadState::NotStarted,
            step: 0,
            piece: None,
            remaining: None,
            cpu_time: 0.0,
            marks: 0,
            waiters: Vec::new(),
            lock_wait_start: None,
            polling_start: 0.0,
        };
        Self {
            program,
            machine,
            clocks: Clocks::new(&machine.slowdown),
            cpus: Cpus::new(machine.cpus.max(1)),
            threads: program.threads.iter().map(|_| thread()).collect(),
            channels: program.channels.iter().map(|tokens| Channel::new(*tokens)).collect(),
            locks: program.locks.iter().map(|_| Lock::default()).collect(),
            devices: program.devices.iter().map(|channels| Device::new(*channels)).collect(),
            next_pieces: vec![0; program.shared_work.len()],
            assigned: Vec::new(),
            ticking: false,
            busy: 0.0,
            serial: 0.0,
            result: ReplayResult {
                lock_waits: vec![Nanos::ZERO; program.locks.len()],
                device_busy: vec![Nanos::ZERO; program.devices.len()],
                ..ReplayResult::default()
            },
        }
    }

    fn run(mut self) -> ReplayResult {
        if self.threads.is_empty() {
            return self.result;
        }
        self.make_ready(0);
        loop {
            while let Some((id, cpu)) = self.assigned.pop() {
                self.resume(id, cpu);
            }
            if self.threads[0].state == ThreadState::Ended {
                break;
            }
            match self.clocks.next() {
                Some((event, passed)) => {
                    self.account(passed);
                    self.handle_event(event);
                }
                None => self.break_deadlock(),
            }
        }
        let nanos = |time: f64| Nanos(time.round() as u64);
        ReplayResult {
            elapsed: nanos(self.clocks.now()),
            busy: nanos(self.busy),
            serial: nanos(self.serial),
            ..self.result
        }
    }

    /// Adds the passed real time to the totals.
    fn account(&mut self, passed: f64) {
        let busy = self.cpus.busy();
        self.busy += passed * f64::from(busy);
        if busy == 1 && self.cpus.queue_is_empty() {
            self.serial += passed;
        }
    }

    fn handle_event(&mut self, event: Event) {
        match event {
            Event::WorkDone { cpu, turn } => {
                if let Some(id) = self.cpus.thread_at_turn(cpu, turn) {
                    self.account_work(id, cpu);
                    self.finish_work(id);
                    self.assigned.push((id, cpu));
                }
            }
            Event::Arrival(id) => self.dispatch_or_queue(id),
            Event::SleepEnd(id) => self.wake(id),
            Event::ServiceEnd { device, id } => {
                if let Some((next, time)) = self.devices[device as usize].finish_service() {
                    self.start_service(device, next, time);
                }
                self.wake(id);
            }
            Event::Tick => self.tick(),
        }
    }

    /// Ends a wait when no event is left and the program has not ended.
    fn break_deadlock(&mut self) {
        self.result.forced_waits += 1;
        // The search starts at the last thread, because the first thread most often waits for all
        // others.
        let waiting = |thread: &Thread| thread.state == ThreadState::Waiting;
        let Some(last) = self.threads.iter().rposition(waiting) else {
            // The first thread waits for a thread that never starts, so nothing is left to replay.
            self.threads[0].state = ThreadState::Ended;
            return;
        };
        // A thread in line for a lock would only join the line again. Its holder is stuck, too.
        let mut id = last as ThreadNumber;
        for _ in 0..self.threads.len() {
            let Some(lock) = self.awaited_lock(id) else { return self.force(id) };
            match self.locks[lock as usize].holder() {
                Some(holder) if waiting(&self.threads[holder as usize]) => id = holder,
                _ => break,
            }
        }
        if let Some(lock) = self.awaited_lock(id) {
            self.unlock(lock);
        }
    }

    /// Lock for which a waiting thread is in line.
    fn awaited_lock(&self, id: ThreadNumber) -> Option<u32> {
        self.threads[id as usize].lock_wait_start?;
        match self.current_step(id) {
            Some(Step::Lock(lock) | Step::Hold { lock, .. }) => Some(lock),
            _ => None,
        }
    }

    /// Ends the wait of a thread that is in line for no lock.
    fn force(&mut self, id: ThreadNumber) {
        let served: Vec<ThreadNumber> =
            self.channels.iter_mut().flat_map(|channel| channel.remove_waiter(id)).collect();
        for thread in &mut self.threads {
            thread.waiters.retain(|(_, waiter)| *waiter != id);
        }
        self.wake(id);
        served.into_iter().for_each(|id| self.wake(id));
    }

    // Steps.

    /// Advances a thread on a CPU through its steps until it needs the CPU or leaves it.
    fn resume(&mut self, id: ThreadNumber, cpu: u32) {
        match self.run_steps(id) {
            StepOutcome::Work(work) => {
                self.threads[id as usize].state = ThreadState::Working;
                let preemptible = match self.current_step(id) {
                    Some(Step::Hold { lock, .. }) => self.policy(lock).holder_is_preemptible(),
                    _ => true,
                };
                let turn = self.cpus.start_work(cpu, self.clocks.work_done(), preemptible);
                self.clocks.schedule_work(cpu, turn, work);
                self.clocks.set_busy(self.cpus.working());
            }
            StepOutcome::Spin => {
                self.threads[id as usize].state = ThreadState::Spinning;
                self.cpus.mark_spinning(cpu);
                self.clocks.set_busy(self.cpus.working());
            }
            StepOutcome::Wait => self.leave_cpu(id, cpu, ThreadState::Waiting),
            StepOutcome::End => {
                self.leave_cpu(id, cpu, ThreadState::Ended);
                for (_, waiter) in std::mem::take(&mut self.threads[id as usize].waiters) {
                    self.wake(waiter);
                }
            }
        }
    }

    fn leave_cpu(&mut self, id: ThreadNumber, cpu: u32, state: ThreadState) {
        self.threads[id as usize].state = state;
        self.cpus.vacate(cpu);
        self.clocks.set_busy(self.cpus.working());
        if let Some(next) = self.cpus.take_queued() {
            self.dispatch_or_queue(next);
        }
    }

    /// Current step of a thread, from its own script or from the piece that it took.
    fn current_step(&self, id: ThreadNumber) -> Option<Step> {
        let thread = &self.threads[id as usize];
        let (script, step) = match thread.piece {
            Some((work, piece, step)) => (&self.program.shared_work[work as usize].pieces[piece], step),
            None => (&self.program.threads[id as usize], thread.step),
        };
        script.get(step).copied()
    }

    fn next_step(&mut self, id: ThreadNumber) {
        let thread = &mut self.threads[id as usize];
        match &mut thread.piece {
            Some((.., step)) => *step += 1,
            None => thread.step += 1,
        }
    }

    fn run_steps(&mut self, id: ThreadNumber) -> StepOutcome {
        loop {
            let current = self.current_step(id);
            let thread = &mut self.threads[id as usize];
            if let Some(remaining) = thread.remaining {
                return StepOutcome::Work(remaining);
            }
            let Some(step) = current else {
                if thread.piece.take().is_some() {
                    continue;
                }
                return StepOutcome::End;
            };
            match step {
                Step::ShareWork(work) => {
                    let next = &mut self.next_pieces[work as usize];
                    if *next < self.program.shared_work[work as usize].pieces.len() {
                        thread.piece = Some((work, *next, 0));
                        *next += 1;
                    } else {
                        thread.step += 1;
                    }
                    continue;
                }
                Step::Run(time) => {
                    thread.remaining = Some(time.0 as f64);
                    continue;
                }
                Step::Hold { lock, time } => {
                    let spins = self.program.locks[lock as usize] == LockPolicy::Spin;
                    if self.locks[lock as usize].acquire(id) {
                        thread.remaining = Some(self.machine.hold_time(lock, time, self.cpus.busy()));
                        continue;
                    }
                    thread.lock_wait_start.get_or_insert(self.clocks.now());
                    return if spins { StepOutcome::Spin } else { StepOutcome::Wait };
                }
                Step::Lock(lock) if !self.locks[lock as usize].acquire(id) => {
                    thread.lock_wait_start.get_or_insert(self.clocks.now());
                    return StepOutcome::Wait;
                }
                _ => {}
            }
            self.next_step(id);
            match step {
                Step::Start(child) => self.make_ready(child),
                Step::Mark => self.pass_mark(id),
                Step::Await { thread: other, marks } => {
                    let other = &mut self.threads[other as usize];
                    if other.state != ThreadState::Ended && other.marks < marks {
                        other.waiters.push((marks, id));
                        return StepOutcome::Wait;
                    }
                }
                Step::Join(other) => {
                    let other = &mut self.threads[other as usize];
                    if other.state != ThreadState::Ended {
                        other.waiters.push((u32::MAX, id));
                        return StepOutcome::Wait;
                    }
                }
                Step::Put { channel, tokens } => {
                    for waiter in self.channels[channel as usize].put(tokens) {
                        self.wake(waiter);
                    }
                }
                Step::Take { channel, tokens } => {
                    if !self.channels[channel as usize].take(id, tokens) {
                        return StepOutcome::Wait;
                    }
                }
                Step::UseDevice { device, time } => {
                    if self.devices[device as usize].request(id, time.0) {
                        self.start_service(device, id, time.0);
                    }
                    return StepOutcome::Wait;
                }
                Step::Sleep(time) => {
                    self.clocks.schedule(time.0 as f64, Event::SleepEnd(id));
                    return StepOutcome::Wait;
                }
                Step::StartPolling => self.threads[id as usize].polling_start = self.clocks.now(),
                Step::NextPoll(interval) => {
                    let wait = self.until_poll(id, interval);
                    if wait > 0.0 {
                        self.clocks.schedule(wait, Event::SleepEnd(id));
                        return StepOutcome::Wait;
                    }
                }
                Step::Unlock(lock) => self.unlock(lock),
                Step::Run(_) | Step::Hold { .. } | Step::Lock(_) | Step::ShareWork(_) => {}
            }
        }
    }

    /// Starts the service of a thread by a channel of a device.
    fn start_service(&mut self, device: u32, id: ThreadNumber, time: u64) {
        self.clocks.schedule(time as f64, Event::ServiceEnd { device, id });
        self.result.device_busy[device as usize].0 += time;
    }

    fn until_poll(&self, id: ThreadNumber, interval: Nanos) -> f64 {
        let passed = self.clocks.now() - self.threads[id as usize].polling_start;
        let interval = (interval.0 as f64).max(1.0);
        (passed / interval).ceil() * interval - passed
    }

    fn pass_mark(&mut self, id: ThreadNumber) {
        let thread = &mut self.threads[id as usize];
        thread.marks += 1;
        let marks = thread.marks;
        let mut released = Vec::new();
        thread.waiters.retain(|(wanted, waiter)| {
            let reached = *wanted <= marks;
            if reached {
                released.push(*waiter);
            }
            !reached
        });
        for waiter in released {
            self.wake(waiter);
        }
    }

    /// Completes the work of the thread's current step.
    fn finish_work(&mut self, id: ThreadNumber) {
        self.threads[id as usize].remaining = None;
        if let Some(Step::Hold { lock, .. }) = self.current_step(id) {
            self.unlock(lock);
        }
        self.next_step(id);
    }

    fn policy(&self, lock: u32) -> LockPolicy {
        self.program.locks[lock as usize]
    }

    fn unlock(&mut self, lock: u32) {
        let handoff = self.policy(lock).is_handed_off();
        let Some(next) = self.locks[lock as usize].release(handoff) else { return };
        if let Some(since) = self.threads[next as usize].lock_wait_start.take() {
            self.result.lock_waits[lock as usize].0 += (self.clocks.now() - since).round() as u64;
        }
        if self.threads[next as usize].state == ThreadState::Spinning {
            self.assigned.extend(self.cpus.cpu_of_thread(next).map(|cpu| (next, cpu)));
        } else {
            self.wake(next);
        }
    }
}

#[cfg(test)]
mod tests;
