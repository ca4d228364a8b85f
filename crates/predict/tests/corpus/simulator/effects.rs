//! Effects of each step on its thread, on locks and the device, and on their waiters. The steps for
//! queues and teams are in `queues` and `teams`.
//!
//! Waits follow the C library and the kernel: a woken thread tries again and may find that another
//! thread was faster.

use std::collections::VecDeque;

use morecores_study::Nanos;
use morecores_study::trace::{Accounts, Interrupt, Object, PrevState, Tid, Waker};

use super::ops::{Op, ThreadRole, call};
use super::{Location, LockKind, Simulation, Timer};

/// Inode of the file that requests read.
pub(super) const FILE: u64 = 1_000_001;

/// Futex addresses in their process: of locks, and of a thread's end.
const LOCKS: u64 = 0x5555_0000_1000;
const ENDS: u64 = 0x7fff_f000_0990;

/// Current state of a lock.
#[derive(Default)]
pub(super) struct LockState {
    owner: Option<usize>,
    /// Whether the release of a futex must look for waiters.
    contended: bool,
    /// Waiters in the order of arrival, with their hold times.
    waiters: VecDeque<(usize, f64)>,
}

/// Wait: the reason for leaving the CPU, the system call, and the futex.
pub(super) type Wait = (PrevState, u16, Option<AwaitedFutex>);

/// Futex of a wait, and the value for which the thread waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct AwaitedFutex {
    pub(super) address: u64,
    pub(super) expected: u32,
}

/// Value of a lock with waiters in the C library.
const CONTENDED: u32 = 2;

pub(super) const fn futex(address: u64, expected: u32) -> Wait {
    (PrevState::Asleep, call::FUTEX, Some(AwaitedFutex { address, expected }))
}

pub(super) const fn futex_woken(address: u64) -> Op {
    futex_return(address, 0)
}

pub(super) const fn futex_return(address: u64, result: i64) -> Op {
    Op::Return { call: call::FUTEX, object: Object::Futex(address), result }
}

const fn lock_futex(lock: usize) -> u64 {
    LOCKS + 64 * lock as u64
}

impl Simulation<'_> {
    /// Advances the thread on a CPU after a completed step, until the next work or wait.
    pub(super) fn advance(&mut self, cpu: usize) {
        let thread = self.cpus[cpu].current.expect("somebody has done something");
        self.cpus[cpu].dirty = true;
        loop {
            let op = self.threads[thread].ops.pop_front().expect("the last step is an exit");
            if !self.execute(cpu, thread, op) {
                return;
            }
        }
    }

    /// Puts steps before the remaining steps.
    pub(super) fn push_front<const N: usize>(&mut self, thread: usize, ops: [Op; N]) {
        for op in ops.into_iter().rev() {
            self.threads[thread].ops.push_front(op);
        }
    }

    /// Puts a list of steps before the remaining steps.
    pub(super) fn push_all_front(&mut self, thread: usize, mut ops: VecDeque<Op>) {
        ops.append(&mut self.threads[thread].ops);
        self.threads[thread].ops = ops;
    }

    /// Executes a step. Returns whether the thread continues at once.
    fn execute(&mut self, cpu: usize, thread: usize, op: Op) -> bool {
        let costs = self.program.machine_costs;
        match op {
            Op::ProgramWork(ns) => {
                self.own += ns;
                let in_kernel = self.threads[thread].in_call;
                self.work(thread, ns, if in_kernel { 1.0 } else { self.program.system })
            }
            Op::KernelWork(ns) => self.work(thread, ns, 1.0),
            Op::Enter => {
                self.threads[thread].entered = Some(self.now);
                self.threads[thread].in_call = true;
                true
            }
            Op::Return { call, object, result } => {
                let state = &mut self.threads[thread];
                state.in_call = false;
                let took = state.entered.take().map_or(0, |entered| self.now - entered);
                self.tracer.system_call(self.now, cpu, state.tid, (call, object, result), Nanos(took));
                true
            }
            Op::Acquire { lock, held } => self.acquire(cpu, thread, lock, held),
            Op::Release { lock } => self.release(thread, lock),
            Op::WakeWaiter { lock } => {
                let waiter = self.locks[lock].waiters.pop_front();
                if let Some((waiter, _)) = waiter {
                    self.wake_by(thread, waiter, cpu);
                }
                if self.program.locks[lock].kind == LockKind::Futex {
                    self.push_front(thread, [futex_return(lock_futex(lock), i64::from(waiter.is_some()))]);
                }
                true
            }
            Op::Request(ns) => {
                if self.in_service < self.program.device.map_or(1, |device| device.channels) {
                    self.serve(thread, ns as u64);
                } else {
                    self.requests.push_back((thread, ns as u64));
                }
                self.wait(cpu, thread, (PrevState::Uninterruptible, call::PREAD64, None))
            }
            Op::Sleep(ns) => {
                self.set_timer(self.now + ns as u64, Timer::Awake(thread));
                self.wait(cpu, thread, (PrevState::Asleep, call::CLOCK_NANOSLEEP, None))
            }
            Op::Fork { role, thread: is_thread } => self.fork(cpu, thread, role, is_thread),
            Op::Exec(name) => {
                let accounts = self.accounts(thread);
                self.tracer.exec(self.now, cpu, self.threads[thread].tid, name, accounts);
                true
            }
            Op::RecordExit => {
                let accounts = self.accounts(thread);
                self.tracer.exit(self.now, cpu, self.threads[thread].tid, accounts);
                true
            }
            Op::Exit => self.exit(cpu, thread),
            Op::Reap => match self.threads[thread].zombies.pop_front() {
                Some(child) => {
                    self.threads[thread].unreaped -= 1;
                    let tid = self.threads[child].tid;
                    let (object, result) = (Object::Process(tid), i64::from(tid.0));
                    let wait4 = Op::Return { call: call::WAIT4, object, result };
                    self.push_front(thread, [Op::KernelWork(costs.call), wait4]);
                    true
                }
                None => {
                    self.push_front(thread, [Op::Reap]);
                    self.wait(cpu, thread, (PrevState::Asleep, call::WAIT4, None));
                    self.threads[thread].location = Location::Child;
                    false
                }
            },
            Op::ReapToLimit => {
                if self.threads[thread].unreaped >= self.size.n {
                    self.push_front(thread, [Op::Enter, Op::Reap, Op::ReapToLimit]);
                }
                true
            }
            Op::ReapAll => {
                if self.threads[thread].unreaped > 0 {
                    self.push_front(thread, [Op::Enter, Op::Reap, Op::ReapAll]);
                }
                true
            }
            Op::JoinAll => self.join_all(cpu, thread),
            Op::Send { .. }
            | Op::Close { .. }
            | Op::Receive { .. }
            | Op::ReadPipe { .. }
            | Op::EndChainJob { .. }
            | Op::WakeReceivers { .. } => self.execute_queue_op(cpu, thread, op),
            Op::Phase(phase) => {
                let ops = self.phase_ops(phase);
                self.push_all_front(thread, ops);
                true
            }
            Op::Open { .. }
            | Op::WakeTeam
            | Op::AtBarrier { .. }
            | Op::TeamJob { .. }
            | Op::MemberDone
            | Op::WakeMain
            | Op::AwaitTeam => self.execute_team_op(cpu, thread, op),
        }
    }

    /// Starts a piece of work.
    fn work(&mut self, thread: usize, ns: f64, system: f32) -> bool {
        if ns <= 0.0 {
            return true;
        }
        self.threads[thread].remaining += ns;
        self.threads[thread].system = system;
        self.demanded += ns;
        false
    }

    /// Takes the thread off its CPU to wait.
    pub(super) fn wait(&mut self, cpu: usize, thread: usize, (prev_state, call, awaits): Wait) -> bool {
        self.threads[thread].location = Location::Nothing;
        self.take_off_cpu(cpu, prev_state, Some(call), awaits);
        false
    }

    pub(super) fn wake_by(&mut self, waker: usize, thread: usize, cpu: usize) {
        let by = Waker::Thread(self.threads[waker].tid);
        self.wake(thread, by, cpu, false);
    }

    fn accounts(&self, thread: usize) -> Accounts {
        let state = &self.threads[thread];
        let (user, system) = state.ticks;
        Accounts {
            runtime: Nanos(state.runtime),
            user: Nanos(user),
            system: Nanos(system),
            ..Accounts::default()
        }
    }

    // Locks and the device.

    fn acquire(&mut self, cpu: usize, thread: usize, lock: usize, held: f64) -> bool {
        let kind = self.program.locks[lock].kind;
        let state = &mut self.locks[lock];
        if state.owner.is_none() {
            state.contended = std::mem::take(&mut self.threads[thread].waited);
            return self.hold(cpu, thread, lock, held);
        }
        state.contended = true;
        state.waiters.push_back((thread, held));
        self.threads[thread].waited = true;
        let again = Op::Acquire { lock, held };
        if kind == LockKind::Futex {
            self.push_front(thread, [futex_woken(lock_futex(lock)), again]);
            return self.wait(cpu, thread, futex(lock_futex(lock), CONTENDED));
        }
        self.threads[thread].lock_wait_start.get_or_insert(self.now);
        if kind == LockKind::Sleep {
            self.push_front(thread, [again]);
            return self.wait(cpu, thread, (PrevState::Uninterruptible, call::OPENAT, None));
        }
        self.threads[thread].not_preemptible = true;
        self.cpus[cpu].spinning = true;
        false
    }

    /// Gives the lock to the thread on this CPU and starts its work under the lock.
    fn hold(&mut self, cpu: usize, thread: usize, lock: usize, held: f64) -> bool {
        let program_lock = self.program.locks[lock];
        self.locks[lock].owner = Some(thread);
        self.threads[thread].not_preemptible = program_lock.kind == LockKind::Spin;
        if let Some(since) = self.threads[thread].lock_wait_start.take() {
            let waited = Nanos(self.now - since);
            self.tracer.contention(
                self.now,
                cpu,
                self.threads[thread].tid,
                (lock, program_lock.kind),
                waited,
            );
        }
        self.own += held;
        let others = f64::from(self.busy() - 1);
        let system = if program_lock.kind == LockKind::Futex { self.program.system } else { 1.0 };
        self.work(thread, held * (1.0 + program_lock.growth * others), system)
    }

    fn release(&mut self, thread: usize, lock: usize) -> bool {
        let call = self.program.machine_costs.call;
        self.locks[lock].owner = None;
        match self.program.locks[lock].kind {
            LockKind::Futex => {
                if std::mem::take(&mut self.locks[lock].contended) {
                    self.push_front(thread, [Op::Enter, Op::KernelWork(call), Op::WakeWaiter { lock }]);
                }
            }
            LockKind::Sleep => {
                if !self.locks[lock].waiters.is_empty() {
                    self.push_front(thread, [Op::KernelWork(call), Op::WakeWaiter { lock }]);
                }
            }
            LockKind::Spin => {
                self.threads[thread].not_preemptible = false;
                if let Some((next, held)) = self.locks[lock].waiters.pop_front() {
                    let cpu = self.threads[next].last_cpu;
                    self.progress(cpu);
                    self.cpus[cpu].spinning = false;
                    self.cpus[cpu].dirty = true;
                    self.threads[next].waited = false;
                    self.hold(cpu, next, lock, held);
                }
            }
        }
        true
    }

    /// Starts the service of a request.
    fn serve(&mut self, thread: usize, ns: u64) {
        self.in_service += 1;
        self.served += ns;
        self.set_timer(self.now + ns, Timer::Served(thread));
    }

    pub(super) fn end_request(&mut self, thread: usize) {
        self.in_service -= 1;
        let interrupt = self.program.device.map_or(0, |device| device.interrupt);
        // Vector 4 is the soft interrupt of block devices. The device interrupts the CPU that made
        // the request.
        let by = Waker::SoftIrqOfInterrupt { vector: 4, interrupt: Interrupt::Device(interrupt) };
        self.wake(thread, by, self.threads[thread].last_cpu, true);
        if let Some((next, ns)) = self.requests.pop_front() {
            self.serve(next, ns);
        }
    }

    pub(super) fn end_sleep(&mut self, thread: usize) {
        self.wake(thread, Waker::Interrupt(Interrupt::Timer), self.threads[thread].last_cpu, false);
    }

    // Creation and exit of threads.

    fn fork(&mut self, cpu: usize, parent: usize, role: ThreadRole, is_thread: bool) -> bool {
        let child = self.add_thread(role, parent, is_thread);
        // The child starts in the same system call.
        let child_return = Op::Return { call: call::CLONE, object: Object::None, result: 0 };
        self.push_front(child, [child_return]);
        let (parent_tid, tid) = (self.threads[parent].tid, self.threads[child].tid);
        self.tracer.fork(self.now, cpu, parent_tid, tid, self.threads[child].process);
        if matches!(role, ThreadRole::Member { .. }) {
            self.team.members += 1;
            self.team.threads.push(child);
        } else if is_thread {
            self.threads[parent].unjoined.push_back(child);
        } else {
            self.threads[parent].unreaped += 1;
        }
        self.tracer.waking(self.now, cpu, tid, Waker::Thread(parent_tid), false);
        self.place_new_thread(child, cpu);
        let result = i64::from(tid.0);
        self.push_front(parent, [Op::Return { call: call::CLONE, object: Object::None, result }]);
        true
    }

    fn exit(&mut self, cpu: usize, thread: usize) -> bool {
        let parent = self.threads[thread].parent;
        if parent == usize::MAX {
            self.ended = true;
        } else if self.threads[thread].is_thread {
            if let Some(joiner) = self.threads[thread].joined_by.take() {
                self.wake_by(thread, joiner, cpu);
            }
        } else {
            self.threads[parent].zombies.push_back(thread);
            if self.threads[parent].location == Location::Child {
                self.wake_by(thread, parent, cpu);
            }
        }
        self.threads[thread].location = Location::Dead;
        self.take_off_cpu(cpu, PrevState::Dead, None, None);
        false
    }

    fn join_all(&mut self, cpu: usize, thread: usize) -> bool {
        while let Some(&other) = self.threads[thread].unjoined.front() {
            if self.threads[other].location != Location::Dead {
                self.threads[other].joined_by = Some(thread);
                let Tid(tid) = self.threads[other].tid;
                let address = ENDS + 0x1000 * u64::from(tid);
                self.push_front(thread, [futex_woken(address), Op::JoinAll]);
                return self.wait(cpu, thread, futex(address, tid));
            }
            self.threads[thread].unjoined.pop_front();
        }
        true
    }
}
