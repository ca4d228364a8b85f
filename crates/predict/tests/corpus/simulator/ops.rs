//! What a thread does, step by step: programs of the simulated machine, made from phases and jobs.

use std::collections::VecDeque;

use morecores_study::trace::Object;

use super::{LockKind, Phase, Sim, Step};
use crate::corpus::program::Style;

/// Numbers of system calls on x86-64: only told apart, save `futex` and `wait4`.
pub(super) mod call {
    pub(crate) const READ: u16 = 0;
    pub(crate) const WRITE: u16 = 1;
    pub(crate) const CLOSE: u16 = 3;
    pub(crate) const PREAD64: u16 = 17;
    pub(crate) const CLONE: u16 = 56;
    pub(crate) const EXECVE: u16 = 59;
    pub(crate) const WAIT4: u16 = 61;
    pub(crate) const FUTEX: u16 = 202;
    pub(crate) const OPENAT: u16 = 257;
}

/// One step of a thread.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// Work, in user mode or in the kernel as the program's share has it, or all in the kernel.
    Own(f64),
    /// Work that the machine adds, in the kernel.
    Kernel(f64),
    /// A system call begins; returns.
    Enter,
    Return {
        call: u16,
        object: Object,
        result: i64,
    },
    /// Takes a lock, with a hold of this length right behind it.
    Acquire {
        lock: usize,
        held: f64,
    },
    Release {
        lock: usize,
    },
    /// Wakes one who waits for it.
    WakeWaiter {
        lock: usize,
    },
    /// Asks the device for this much.
    Request(f64),
    Fork {
        start: Start,
        thread: bool,
    },
    Exec(&'static str),
    /// Ends: is told, and after the clearing up is gone.
    Exiting,
    Exit,
    /// Takes an ended child, once there is one.
    Reap,
    /// Waits until fewer than `{n}` children are left; until none is.
    Limit,
    Drain,
    /// Joins all threads that it made, the last one first.
    JoinAll,
    /// Hands a job to the workers of a phase; tells them that there are no more; takes one.
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
    /// Wakes those who wait at a queue: the first, or all.
    WakeReceivers {
        phase: usize,
        all: bool,
    },
    /// The main thread's next phase.
    Phase(usize),
    /// Opens the team's barrier for a phase, or for good; wakes one after the other who waits at it.
    Open {
        phase: Option<usize>,
    },
    WakeTeam,
    /// A member waits for the barrier to open for the so-manieth time.
    AtBarrier {
        opened: u32,
        member: u32,
    },
    /// Takes its next job of the team's phase.
    TeamJob {
        phase: usize,
        member: u32,
        next: u32,
    },
    /// A member is done; the main thread waits for all.
    MemberDone,
    WakeMain,
    Gather,
}

/// What a new thread is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Start {
    Root,
    /// A process for one job, or the shell that starts it.
    Job {
        phase: usize,
        job: usize,
    },
    Shell {
        phase: usize,
        job: usize,
    },
    /// Takes jobs from a queue.
    Worker {
        phase: usize,
    },
    /// Does the jobs that were dealt to it.
    Dealt {
        phase: usize,
        part: u32,
    },
    Member {
        member: u32,
    },
}

impl Sim<'_> {
    pub(super) fn ops_of(&self, start: Start, is_thread: bool) -> VecDeque<Op> {
        let gear = &self.program.gear;
        let mut ops = VecDeque::new();
        match start {
            Start::Root => {
                ops.push_back(Op::Phase(0));
                return ops;
            }
            Start::Job { phase, job } => {
                exec(&mut ops, "job", gear.exec);
                self.push_job(&mut ops, phase, job);
            }
            Start::Shell { phase, job } => {
                exec(&mut ops, "sh", gear.exec);
                self.push_fork(&mut ops, Start::Job { phase, job }, false);
                ops.push_back(Op::Drain);
            }
            Start::Worker { phase } => {
                if !is_thread {
                    exec(&mut ops, "worker", gear.exec);
                }
                ops.push_back(Op::Receive { phase });
                // The exit follows when the queue is closed.
                return ops;
            }
            Start::Dealt { phase, part } => {
                for job in (part as usize..self.jobs[phase].len()).step_by(self.size.n as usize) {
                    self.push_job(&mut ops, phase, job);
                }
            }
            Start::Member { member } => {
                ops.push_back(Op::AtBarrier { opened: 1, member });
                return ops;
            }
        }
        self.push_exit(&mut ops, is_thread);
        ops
    }

    pub(super) fn push_exit(&self, ops: &mut VecDeque<Op>, is_thread: bool) {
        let gear = &self.program.gear;
        let cost = if is_thread { gear.thread_exit } else { gear.exit };
        ops.extend([Op::Exiting, Op::Kernel(cost), Op::Exit]);
    }

    fn push_fork(&self, ops: &mut VecDeque<Op>, start: Start, thread: bool) {
        let gear = &self.program.gear;
        let cost = if thread { gear.clone } else { gear.fork };
        // What the call returns is known when the child is.
        ops.extend([Op::Enter, Op::Kernel(cost), Op::Fork { start, thread }]);
    }

    pub(super) fn push_job(&self, ops: &mut VecDeque<Op>, phase: usize, job: usize) {
        let call = self.program.gear.call;
        for step in &self.jobs[phase][job] {
            match *step {
                Step::Work(ns) => ops.push_back(Op::Own(ns)),
                Step::Hold { lock, before, held } => {
                    let by_kernel = self.program.locks[lock].kind != LockKind::Futex;
                    if by_kernel {
                        ops.extend([Op::Enter, Op::Own(before)]);
                    }
                    ops.extend([Op::Acquire { lock, held }, Op::Release { lock }]);
                    if by_kernel {
                        ops.push_back(Op::Return { call: call::OPENAT, object: Object::None, result: 3 });
                    }
                }
                Step::Request(ns) => {
                    ops.extend([Op::Enter, Op::Kernel(3.0 * call), Op::Request(ns)]);
                    ops.push_back(Op::Return {
                        call: call::PREAD64,
                        object: Object::Inode(super::acts::FILE),
                        result: 4096,
                    });
                }
            }
        }
    }

    /// What the main thread does for a phase, or after the last one.
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
        let handing = || self.handing[phase].iter().enumerate();
        match style {
            Style::Processes { shell } => {
                for (job, &cost) in handing() {
                    ops.extend([Op::Limit, Op::Own(cost)]);
                    let start = if shell { Start::Shell { phase, job } } else { Start::Job { phase, job } };
                    self.push_fork(&mut ops, start, false);
                }
                ops.push_back(Op::Drain);
            }
            Style::ProcessPool | Style::ThreadPool => {
                let thread = style == Style::ThreadPool;
                for _ in 0..n {
                    self.push_fork(&mut ops, Start::Worker { phase }, thread);
                }
                for (job, &cost) in handing() {
                    ops.extend([Op::Own(cost), Op::Send { phase, job }]);
                }
                ops.push_back(Op::Close { phase });
                ops.push_back(if thread { Op::JoinAll } else { Op::Drain });
            }
            Style::Dealt => {
                for part in 0..n {
                    self.push_fork(&mut ops, Start::Dealt { phase, part }, true);
                }
                ops.push_back(Op::JoinAll);
            }
            Style::Team { .. } => {
                if self.team.members == 0 {
                    for member in 1..n {
                        self.push_fork(&mut ops, Start::Member { member }, true);
                    }
                }
                ops.push_back(Op::Open { phase: Some(phase) });
                ops.push_back(Op::TeamJob { phase, member: 0, next: 0 });
                ops.push_back(Op::Gather);
            }
        }
        ops.push_back(Op::Phase(phase + 1));
        ops
    }
}

fn exec(ops: &mut VecDeque<Op>, name: &'static str, cost: f64) {
    ops.extend([Op::Enter, Op::Kernel(cost), Op::Exec(name)]);
    ops.push_back(Op::Return { call: call::EXECVE, object: Object::None, result: 0 });
}
