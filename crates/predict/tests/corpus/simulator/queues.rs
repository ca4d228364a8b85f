//! Jobs that wait for a worker: in a queue with a condition variable, or in a pipe.

use std::collections::VecDeque;

use morecores_study::trace::{Object, PrevState};

use super::effects::{futex, futex_return, futex_woken};
use super::ops::{Op, call};
use super::{Phase, Simulation};
use crate::corpus::program::{Style, Wakes};

/// Inode of the first phase's pipe, and futex address of the first phase's queue.
const PIPES: u64 = 50_000;
const QUEUES: u64 = 0x5555_0000_2000;

/// Queue of jobs.
#[derive(Default)]
pub(super) struct Queue {
    jobs: VecDeque<usize>,
    closed: bool,
    /// Number of jobs queued and, for chains, done.
    sent: u32,
    done: usize,
    waiters: VecDeque<usize>,
}

const fn queue_futex(phase: usize) -> u64 {
    QUEUES + 64 * phase as u64
}

const fn pipe(phase: usize) -> u64 {
    PIPES + phase as u64
}

impl Simulation<'_> {
    pub(super) fn execute_queue_op(&mut self, cpu: usize, thread: usize, op: Op) -> bool {
        let call = self.program.machine_costs.call;
        match op {
            Op::Send { phase, job } => {
                self.queues[phase].jobs.push_back(job);
                self.queues[phase].sent += 1;
                if self.is_pipe(phase) || !self.queues[phase].waiters.is_empty() {
                    let wake = Op::WakeReceivers { phase, all: self.broadcasts(phase) };
                    self.push_front(thread, [Op::Enter, Op::KernelWork(call), wake]);
                }
                true
            }
            Op::Close { phase } => {
                self.queues[phase].closed = true;
                if self.is_pipe(phase) || !self.queues[phase].waiters.is_empty() {
                    let wake = Op::WakeReceivers { phase, all: true };
                    self.push_front(thread, [Op::Enter, Op::KernelWork(call), wake]);
                }
                true
            }
            Op::WakeReceivers { phase, all } => {
                let mut woken = 0;
                while let Some(waiter) = self.queues[phase].waiters.pop_front() {
                    self.wake_by(thread, waiter, cpu);
                    woken += 1;
                    if !all {
                        break;
                    }
                }
                let returns = match (self.is_pipe(phase), all) {
                    (false, _) => futex_return(queue_futex(phase), woken),
                    (true, false) => {
                        Op::Return { call: call::WRITE, object: Object::Inode(pipe(phase)), result: 1 }
                    }
                    (true, true) => Op::Return { call: call::CLOSE, object: Object::None, result: 0 },
                };
                self.push_front(thread, [returns]);
                true
            }
            Op::Receive { phase } if self.is_pipe(phase) => {
                self.push_front(thread, [Op::Enter, Op::ReadPipe { phase }]);
                true
            }
            Op::Receive { phase } => {
                if self.take_job(thread, phase, [], []) {
                    return true;
                }
                let address = queue_futex(phase);
                self.queues[phase].waiters.push_back(thread);
                self.push_front(thread, [futex_woken(address), Op::Receive { phase }]);
                let sent = self.queues[phase].sent;
                self.wait(cpu, thread, futex(address, sent))
            }
            Op::EndChainJob { phase, job } => {
                let jobs = self.jobs[phase].len();
                self.queues[phase].done += 1;
                let next = job + self.chains(phase).unwrap_or(jobs);
                if next < jobs {
                    let own = Op::ProgramWork(self.handout_cost[phase][next]);
                    self.push_front(thread, [Op::Send { phase, job: next }, own]);
                } else if self.queues[phase].done == jobs {
                    self.push_front(thread, [Op::Close { phase }]);
                }
                true
            }
            Op::ReadPipe { phase } => {
                let read =
                    |result| Op::Return { call: call::READ, object: Object::Inode(pipe(phase)), result };
                if self.take_job(thread, phase, [Op::KernelWork(call), read(1)], [read(0)]) {
                    return true;
                }
                self.queues[phase].waiters.push_back(thread);
                self.push_front(thread, [Op::ReadPipe { phase }]);
                self.wait(cpu, thread, (PrevState::Asleep, call::READ, None))
            }
            _ => unreachable!("no step on a queue"),
        }
    }

    /// Takes a job, or the end of the queue. Returns `false` if there is neither. The job's steps
    /// follow `with_one`, and the exit follows `without`.
    fn take_job<const N: usize, const M: usize>(
        &mut self,
        thread: usize,
        phase: usize,
        with_one: [Op; N],
        without: [Op; M],
    ) -> bool {
        let mut ops = VecDeque::new();
        if let Some(job) = self.queues[phase].jobs.pop_front() {
            ops.extend(with_one);
            self.push_job(&mut ops, phase, job);
            if self.chains(phase).is_some() {
                ops.push_back(Op::EndChainJob { phase, job });
            }
            ops.push_back(Op::Receive { phase });
        } else if self.queues[phase].closed {
            ops.extend(without);
            self.push_exit(&mut ops, self.threads[thread].is_thread);
        } else {
            return false;
        }
        self.push_all_front(thread, ops);
        true
    }

    fn is_pipe(&self, phase: usize) -> bool {
        matches!(self.program.phases[phase], Phase::Parallel { style: Style::ProcessPool, .. })
    }

    /// Number of chains of a fork-join pool's jobs; `None` for other phases.
    pub(super) fn chains(&self, phase: usize) -> Option<usize> {
        match self.program.phases[phase] {
            Phase::Parallel { style: Style::Chains { chains, .. }, .. } => Some(chains),
            _ => None,
        }
    }

    fn broadcasts(&self, phase: usize) -> bool {
        let style = Style::Chains { chains: self.chains(phase).unwrap_or(0), wakes: Wakes::All };
        matches!(self.program.phases[phase], Phase::Parallel { style: of, .. } if of == style)
    }
}
