//! Steps of the simulated threads, built from phases and jobs.

use std::collections::VecDeque;

use morecores_study::trace::Object;

use super::{HeldWait, LockKind, Phase, Simulation, Step};
use crate::corpus::program::Style;

/// System call numbers of x86-64. Only `futex` and `wait4` have a meaning; the others only need to
/// differ.
pub(super) mod call {
    pub(crate) const READ: u16 = 0;
    pub(crate) const WRITE: u16 = 1;
    pub(crate) const CLOSE: u16 = 3;
    pub(crate) const PREAD64: u16 = 17;
    pub(crate) const CLONE: u16 = 56;
    pub(crate) const EXECVE: u16 = 59;
    pub(crate) const WAIT4: u16 = 61;
    pub(crate) const FUTEX: u16 = 202;
    pub(crate) const CLOCK_NANOSLEEP: u16 = 230;
    pub(crate) const OPENAT: u16 = 257;
}

/// Step of a thread.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// Work of the program: in user mode or in the kernel by the program's share, or all in the
    /// kernel inside a system call.
    ProgramWork(f64),
    /// Work that the machine adds, in the kernel.
    KernelWork(f64),
    /// Entry of a system call, and its return.
    Enter,
    Return {
        call: u16,
        object: Object,
        result: i64,
    },
    /// Takes a lock and holds it for this time.
    Acquire {
        lock: usize,
        held: f64,
    },
    Release {
        lock: usize,
    },
    /// Wakes one waiter of the lock.
    WakeWaiter {
        lock: usize,
    },
    /// Requests this much service from the device.
    Request(f64),
    /// Waits for a timer.
    Sleep(f64),
    Fork {
        role: ThreadRole,
        thread: bool,
    },
    Exec(&'static str),
    /// Exit of a thread: the event for the tracer, and the end after the clean-up.
    RecordExit,
    Exit,
    /// Reaps an ended child, after a wait if there is none.
    Reap,
    /// Waits until fewer than `{n}` children are left, or until none is left.
    ReapToLimit,
    ReapAll,
    /// Joins all threads that this thread created, in the order of their creation.
    JoinAll,
    /// Operations on the queue of a phase: hand out a job, close the queue, take a job.
    Send {
        phase: usize,
        job: usize,
    },
    Close {
        phase: usize,
    },
    Receive {
        phase: usize,
    },
    ReadPipe {
        phase: usize,
    },
    /// Queues the next job of a chain, or ends the phase.
    EndChainJob {
        phase: usize,
        job: usize,
    },
    /// Wakes the first waiter at a queue, or all waiters.
    WakeReceivers {
        phase: usize,
        all: bool,
    },
    /// Starts the next phase of the main thread.
    Phase(usize),
    /// Opens the team's barrier for a phase, or for the end of the program, and wakes its waiters
    /// one by one.
    Open {
        phase: Option<usize>,
    },
    WakeTeam,
    /// Waits until the barrier has opened `opened` times.
    AtBarrier {
        opened: u32,
        member: u32,
    },
    /// Takes the member's next job of the team's phase.
    TeamJob {
        phase: usize,
        member: u32,
        next: u32,
    },
    /// End of a member's work in a phase, and the main thread's wait for all members.
    MemberDone,
    WakeMain,
    AwaitTeam,
}

/// Role of a new thread.
#[derive(Clone, Copy, Debug)]
pub(super) enum ThreadRole {
    Root,
    /// Process for one job, and the shell that starts it.
    Job {
        phase: usize,
        job: usize,
    },
    Shell {
        phase: usize,
        job: usize,
    },
    /// Worker that takes jobs from a queue.
    Worker {
        phase: usize,
    },
    /// Thread that does its preassigned jobs.
    Dealt {
        phase: usize,
        part: u32,
    },
    Member {
        member: u32,
    },
}

impl Simulation<'_> {
    pub(super) fn initial_ops(&self, role: ThreadRole, is_thread: bool) -> VecDeque<Op> {
        let costs = &self.program.machine_costs;
        let mut ops = VecDeque::new();
        match role {
            ThreadRole::Root => {
                ops.push_back(Op::Phase(0));
                return ops;
            }
            ThreadRole::Job { phase, job } => {
                exec(&mut ops, "job", costs.exec);
                self.push_job(&mut ops, phase, job);
            }
            ThreadRole::Shell { phase, job } => {
                exec(&mut ops, "sh", costs.exec);
                self.push_fork(&mut ops, ThreadRole::Job { phase, job }, false);
                ops.push_back(Op::ReapAll);
            }
            ThreadRole::Worker { phase } => {
                if !is_thread {
                    exec(&mut ops, "worker", costs.exec);
                }
                ops.push_back(Op::Receive { phase });
                // The exit follows when the queue is closed.
                return ops;
            }
            ThreadRole::Dealt { phase, part } => {
                for job in (part as usize..self.jobs[phase].len()).step_by(self.size.n as usize) {
                    self.push_job(&mut ops, phase, job);
                }
            }
            ThreadRole::Member { member } => {
                ops.push_back(Op::AtBarrier { opened: 1, member });
                return ops;
            }
        }
        self.push_exit(&mut ops, is_thread);
        ops
    }

    pub(super) fn push_exit(&self, ops: &mut VecDeque<Op>, is_thread: bool) {
        let costs = &self.program.machine_costs;
        let cost = if is_thread { costs.thread_exit } else { costs.exit };
        ops.extend([Op::RecordExit, Op::KernelWork(cost), Op::Exit]);
    }

    fn push_fork(&self, ops: &mut VecDeque<Op>, role: ThreadRole, thread: bool) {
        let costs = &self.program.machine_costs;
        let cost = if thread { costs.clone } else { costs.fork };
        // The result of the call is known once the child exists.
        ops.extend([Op::Enter, Op::KernelWork(cost), Op::Fork { role, thread }]);
    }

    pub(super) fn push_job(&self, ops: &mut VecDeque<Op>, phase: usize, job: usize) {
        let call = self.program.machine_costs.call;
        for step in &self.jobs[phase][job] {
            match *step {
                Step::Work(ns) => ops.push_back(Op::ProgramWork(ns)),
                Step::Hold { lock, before, held } => {
                    let by_kernel = self.program.locks[lock].kind != LockKind::Futex;
                    if by_kernel {
                        ops.extend([Op::Enter, Op::ProgramWork(before)]);
                    }
                    ops.extend([Op::Acquire { lock, held }, Op::Release { lock }]);
                    if by_kernel {
                        ops.push_back(Op::Return { call: call::OPENAT, object: Object::None, result: 3 });
                    }
                }
                Step::Request(ns) => push_request(ops, ns, call),
                Step::HoldAcross { lock, wait } => {
                    ops.push_back(Op::Acquire { lock, held: 0.0 });
                    match wait {
                        HeldWait::Device(ns) => push_request(ops, ns, call),
                        HeldWait::Timer(ns) => {
                            ops.extend([Op::Enter, Op::KernelWork(call), Op::Sleep(ns)]);
                            let (call, object) = (call::CLOCK_NANOSLEEP, Object::None);
                            ops.push_back(Op::Return { call, object, result: 0 });
                        }
                    }
                    ops.push_back(Op::Release { lock });
                }
            }
        }
    }

    /// Steps of the main thread for a phase, or after the last phase.
    pub(super) fn phase_ops(&self, phase: usize) -> VecDeque<Op> {
        let mut ops = VecDeque::new();
        let n = self.size.n;
        let style = match self.program.phases.get(phase) {
            None => {
                if self.team.members > 0 {
                    ops.extend([Op::Open { phase: None }, Op::JoinAll]);
                }
                self.push_exit(&mut ops, false);
                return ops;
            }
            Some(Phase::Serial(_)) => {
                self.push_job(&mut ops, phase, 0);
                ops.push_back(Op::Phase(phase + 1));
                return ops;
            }
            Some(Phase::Parallel { style, .. }) => *style,
        };
        let handout_cost = || self.handout_cost[phase].iter().enumerate();
        match style {
            Style::Processes { shell } => {
                for (job, &cost) in handout_cost() {
                    ops.extend([Op::ReapToLimit, Op::ProgramWork(cost)]);
                    let role =
                        if shell { ThreadRole::Shell { phase, job } } else { ThreadRole::Job { phase, job } };
                    self.push_fork(&mut ops, role, false);
                }
                ops.push_back(Op::ReapAll);
            }
            Style::ProcessPool | Style::ThreadPool => {
                let thread = style == Style::ThreadPool;
                for _ in 0..n {
                    self.push_fork(&mut ops, ThreadRole::Worker { phase }, thread);
                }
                for (job, &cost) in handout_cost() {
                    ops.extend([Op::ProgramWork(cost), Op::Send { phase, job }]);
                }
                ops.push_back(Op::Close { phase });
                ops.push_back(if thread { Op::JoinAll } else { Op::ReapAll });
            }
            Style::Chains { chains, .. } => {
                for _ in 0..n {
                    self.push_fork(&mut ops, ThreadRole::Worker { phase }, true);
                }
                for (job, &cost) in handout_cost().take(chains) {
                    ops.extend([Op::Send { phase, job }, Op::ProgramWork(cost)]);
                }
                ops.push_back(Op::JoinAll);
            }
            Style::Dealt => {
                for part in 0..n {
                    self.push_fork(&mut ops, ThreadRole::Dealt { phase, part }, true);
                }
                ops.push_back(Op::JoinAll);
            }
            Style::Team { .. } => {
                if self.team.members == 0 {
                    for member in 1..n {
                        self.push_fork(&mut ops, ThreadRole::Member { member }, true);
                    }
                }
                ops.push_back(Op::Open { phase: Some(phase) });
                ops.push_back(Op::TeamJob { phase, member: 0, next: 0 });
                ops.push_back(Op::AwaitTeam);
            }
        }
        ops.push_back(Op::Phase(phase + 1));
        ops
    }
}

fn push_request(ops: &mut VecDeque<Op>, ns: f64, cost: f64) {
    ops.extend([Op::Enter, Op::KernelWork(3.0 * cost), Op::Request(ns)]);
    let object = Object::Inode(super::effects::FILE);
    ops.push_back(Op::Return { call: call::PREAD64, object, result: 4096 });
}

fn exec(ops: &mut VecDeque<Op>, name: &'static str, cost: f64) {
    ops.extend([Op::Enter, Op::KernelWork(cost), Op::Exec(name)]);
    ops.push_back(Op::Return { call: call::EXECVE, object: Object::None, result: 0 });
}
