//! Threads that persist from one parallel phase to the next: a barrier that the main thread opens,
//! and the count of unfinished members.

use std::collections::VecDeque;

use super::effects::{futex, futex_return, futex_woken};
use super::ops::Op;
use super::{Phase, Simulation};
use crate::corpus::program::Style;

/// Futex addresses: of the barrier, and of the main thread's wait for all members.
const BARRIER: u64 = 0x5555_0000_3000;
const TEAM_DONE: u64 = 0x5555_0000_3040;

/// Barrier of a team, and the state of its current phase.
#[derive(Default)]
pub(super) struct Team {
    /// Number of members without the main thread.
    pub(super) members: u32,
    pub(super) threads: Vec<usize>,
    /// Number of openings of the barrier, and the phase of the last one.
    opened: u32,
    phase: Option<usize>,
    next_job: usize,
    waiting: VecDeque<usize>,
    /// Members still to be woken, and the number of members already woken.
    waking: VecDeque<usize>,
    woken: i64,
    unfinished: u32,
    waiting_main: Option<usize>,
}

impl Simulation<'_> {
    pub(super) fn execute_team_op(&mut self, cpu: usize, thread: usize, op: Op) -> bool {
        let call = self.program.machine_costs.call;
        match op {
            Op::Open { phase } => {
                let team = &mut self.team;
                team.opened += 1;
                team.phase = phase;
                team.next_job = 0;
                team.unfinished = team.members;
                team.waking = std::mem::take(&mut team.waiting);
                team.woken = 0;
                if phase.is_none() {
                    self.threads[thread].unjoined.extend(team.threads.drain(..));
                }
                if !team.waking.is_empty() {
                    self.push_front(thread, [Op::Enter, Op::KernelWork(call), Op::WakeTeam]);
                }
                true
            }
            Op::WakeTeam => {
                if let Some(member) = self.team.waking.pop_front() {
                    self.wake_by(thread, member, cpu);
                    self.team.woken += 1;
                }
                if self.team.waking.is_empty() {
                    self.push_front(thread, [futex_return(BARRIER, self.team.woken)]);
                } else {
                    self.push_front(thread, [Op::KernelWork(call / 2.0), Op::WakeTeam]);
                }
                true
            }
            Op::AtBarrier { opened, member } => {
                if self.team.opened < opened {
                    self.team.waiting.push_back(thread);
                    self.push_front(thread, [futex_woken(BARRIER), op]);
                    let opened = self.team.opened;
                    return self.wait(cpu, thread, futex(BARRIER, opened));
                }
                match self.team.phase {
                    None => {
                        let mut ops = VecDeque::new();
                        self.push_exit(&mut ops, true);
                        self.push_all_front(thread, ops);
                    }
                    Some(phase) => {
                        let job = Op::TeamJob { phase, member, next: member };
                        let again = Op::AtBarrier { opened: opened + 1, member };
                        self.push_front(thread, [job, Op::MemberDone, again]);
                    }
                }
                true
            }
            Op::TeamJob { phase, member, next } => {
                let style = Style::Team { dynamic: true };
                let dynamic =
                    matches!(self.program.phases[phase], Phase::Parallel { style: of, .. } if of == style);
                let job = if dynamic { self.team.next_job } else { next as usize };
                if job < self.jobs[phase].len() {
                    self.team.next_job += 1;
                    let mut ops = VecDeque::new();
                    self.push_job(&mut ops, phase, job);
                    ops.push_back(Op::TeamJob { phase, member, next: next + self.size.n });
                    self.push_all_front(thread, ops);
                }
                true
            }
            Op::MemberDone => {
                self.team.unfinished -= 1;
                if self.team.unfinished == 0 && self.team.waiting_main.is_some() {
                    self.push_front(thread, [Op::Enter, Op::KernelWork(call), Op::WakeMain]);
                }
                true
            }
            Op::WakeMain => {
                if let Some(main) = self.team.waiting_main.take() {
                    self.wake_by(thread, main, cpu);
                }
                self.push_front(thread, [futex_return(TEAM_DONE, 1)]);
                true
            }
            Op::AwaitTeam => {
                if self.team.unfinished == 0 {
                    return true;
                }
                self.team.waiting_main = Some(thread);
                self.push_front(thread, [futex_woken(TEAM_DONE), Op::AwaitTeam]);
                let unfinished = self.team.unfinished;
                self.wait(cpu, thread, futex(TEAM_DONE, unfinished))
            }
            _ => unreachable!("no step of a team"),
        }
    }
}
