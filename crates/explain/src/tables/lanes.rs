//! A traced run over time: in which stretches threads of each command ran, and in which they were ready to.
//!
//! Starts and ends of all stretches apart, each in the order of time: how many overlap at an instant, and how many did in the
//! mean between two, follows from these alone, whichever stretch an end belongs to.

use morecores_study::Nanos;
use morecores_study::trace::{Decoded, TraceHeader};

use super::programs::Programs;
use crate::trace::{State, Timeline};

/// The most commands that are told apart; a choice: the colours of a picture that can be told apart are fewer.
const APART: usize = 12;

/// What the commands beyond those are called.
const OTHERS: &str = "other commands";

/// A traced run over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lanes {
    /// The commands, most CPU time first.
    pub commands: Vec<(String, Lane)>,
    /// Stretches in which a thread of the tree could have run and had no CPU.
    pub ready: Lane,
}

/// Stretches of time since the run began; they may overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// When each began, ascending.
    pub starts: Vec<Nanos>,
    /// When each ended, ascending.
    pub ends: Vec<Nanos>,
}

impl Lane {
    fn push(&mut self, from: Nanos, to: Nanos) {
        self.starts.push(from);
        self.ends.push(to);
    }

    fn append(&mut self, mut other: Self) {
        self.starts.append(&mut other.starts);
        self.ends.append(&mut other.ends);
    }

    fn sort(&mut self) {
        self.starts.sort_unstable();
        self.ends.sort_unstable();
    }

    /// Time in all stretches together, in nanoseconds.
    fn total(&self) -> u64 {
        let sum = |times: &[Nanos]| times.iter().map(|time| time.0).sum::<u64>();
        sum(&self.ends) - sum(&self.starts)
    }
}

/// The lanes of a traced run, from what its stream tells.
pub fn lanes(header: &TraceHeader, decoded: &Decoded) -> Lanes {
    let timeline = Timeline::new(header, &decoded.events);
    let programs = Programs::of(&timeline);
    let mut of_program = vec![Lane::default(); programs.len()];
    let mut ready = Lane::default();
    for (id, thread) in timeline.tree() {
        for segment in &thread.segments {
            let (mut from, to) = (segment.from.since(timeline.began), segment.to.since(timeline.began));
            match segment.state {
                State::Running { .. } => {
                    for (program, time) in programs.between(id, segment.from, segment.to) {
                        of_program[program.index()].push(from, from + time);
                        from += time;
                    }
                }
                State::Runnable | State::Held(_) => ready.push(from, to),
                State::Blocked(_) => {}
            }
        }
    }
    let named = programs.all().map(|program| programs.name(program)).zip(of_program);
    let mut commands: Vec<(String, Lane)> = named.filter(|(_, lane)| !lane.starts.is_empty()).collect();
    commands.sort_by(|a, b| b.1.total().cmp(&a.1.total()).then_with(|| a.0.cmp(&b.0)));
    if commands.len() > APART {
        let mut others = Lane::default();
        commands.drain(APART - 1..).for_each(|(_, lane)| others.append(lane));
        commands.push((OTHERS.to_owned(), others));
    }
    commands.iter_mut().for_each(|(_, lane)| lane.sort());
    ready.sort();
    Lanes { commands, ready }
}
