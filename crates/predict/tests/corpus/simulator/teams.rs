//! Threads that persist from one parallel phase to the next: a barrier that the main thread opens,
//! and the count of unfinished members.

use std::collections::VecDeque;

use super::acts::{futex, futex_return, woken_from};
use super::ops::Op;
use super::{Phase, Sim};
use crate::corpus::program::Style;

/// Futex addresses: of the barrier, and of the main thread's wait for all members.
const BARRIER: u64 = 0x5555_0000_3000;
const GATHERING: u64 = 0x5555_0000_3040;

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
    parked: VecDeque<usize>,
    /// Members still to be woken, and the number of members already woken.
    waking: VecDeque<usize>,
    woken: i64,
    unfinished: u32,
    gathering: Option<usize>,
}

impl Sim<'_> {
    pub(super) fn act_in_team(&mut self, cpu: usize, thread: usize, op: Op) -> bool {
        let call = self.program.gear.call;
        match op {
            Op::Open { phase } => {
                let team = &mut self.team;
                team.opened += 1;
                team.phase = phase;
                team.next_job = 0;
                team.unfinished = team.members;
                team.waking = std::mem::take(&mut team.parked);
                team.woken = 0;
                if phase.is_none() {
                    self.threads[thread].made.extend(team.threads.drain(..));
                }
                if !team.waking.is_empty() {
                    self.first(thread, [Op::Enter, Op::Kernel(call), Op::WakeTeam]);
                }
                true
            }
            Op::WakeTeam => {
                if let Some(member) = self.team.waking.pop_front() {
                    self.wake_by(thread, member, cpu);
                    self.team.woken += 1;
                }
                if self.team.waking.is_empty() {
                    self.first(thread, [futex_return(BARRIER, self.team.woken)]);
                } else {
                    self.first(thread, [Op::Kernel(call / 2.0), Op::WakeTeam]);
                }
                true
            }
            Op::AtBarrier { opened, member } => {
                if self.team.opened < opened {
                    self.team.parked.push_back(thread);
                    self.first(thread, [woken_from(BARRIER), op]);
                    return self.wait(cpu, thread, futex(BARRIER));
                }
                match self.team.phase {
                    None => {
                        let mut ops = VecDeque::new();
                        self.push_exit(&mut ops, true);
                        self.first_all(thread, ops);
                    }
                    Some(phase) => {
                        let job = Op::TeamJob { phase, member, next: member };
                        let again = Op::AtBarrier { opened: opened + 1, member };
                        self.first(thread, [job, Op::MemberDone, again]);
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
                    self.first_all(thread, ops);
                }
                true
            }
            Op::MemberDone => {
                self.team.unfinished -= 1;
                if self.team.unfinished == 0 && self.team.gathering.is_some() {
                    self.first(thread, [Op::Enter, Op::Kernel(call), Op::WakeMain]);
                }
                true
            }
            Op::WakeMain => {
                if let Some(main) = self.team.gathering.take() {
                    self.wake_by(thread, main, cpu);
                }
                self.first(thread, [futex_return(GATHERING, 1)]);
                true
            }
            Op::Gather => {
                if self.team.unfinished == 0 {
                    return true;
                }
                self.team.gathering = Some(thread);
                self.first(thread, [woken_from(GATHERING), Op::Gather]);
                self.wait(cpu, thread, futex(GATHERING))
            }
            _ => unreachable!("no step of a team"),
        }
    }
}
