//! A traced run over time: the spans in which threads of each command ran, and those in which
//! threads were ready.
//!
//! Starts and ends of all spans are kept separately, each in the order of time. The number of
//! overlapping spans at an instant, and its mean between two instants, follow from the starts
//! and ends alone. The pairing of starts and ends does not matter.

use morecores_study::Nanos;

use super::programs::Programs;
use crate::trace::{State, Timeline};

/// Largest number of commands with lanes of their own. It is a choice: a picture has fewer
/// distinguishable colours.
const MAX_LANES: usize = 12;

/// Name of the lane for all remaining commands.
const OTHER_COMMANDS: &str = "other commands";

/// A traced run over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lanes {
    /// Commands, most CPU time first.
    pub commands: Vec<(String, Lane)>,
    /// Spans in which a thread of the tree was ready and had no CPU.
    pub ready: Lane,
}

/// Spans of time since the beginning of the run; they may overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// Beginnings of the spans, ascending.
    pub starts: Vec<Nanos>,
    /// Ends of the spans, ascending.
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

    /// Sum of the lengths of all spans, in nanoseconds.
    fn total(&self) -> u64 {
        let sum = |times: &[Nanos]| times.iter().map(|time| time.0).sum::<u64>();
        sum(&self.ends) - sum(&self.starts)
    }
}

/// Lanes of a traced run.
pub fn lanes(timeline: &Timeline) -> Lanes {
    let programs = Programs::from_timeline(timeline);
    let mut by_program = vec![Lane::default(); programs.len()];
    let mut ready = Lane::default();
    for (id, thread) in timeline.tree() {
        for segment in &thread.segments {
            let (mut from, to) = (segment.from.since(timeline.began), segment.to.since(timeline.began));
            match segment.state {
                State::Running { .. } => {
                    for (program, time) in programs.programs_between(id, segment.from, segment.to) {
                        by_program[program.index()].push(from, from + time);
                        from += time;
                    }
                }
                State::Runnable | State::Held(_) => ready.push(from, to),
                State::Blocked(_) => {}
            }
        }
    }
    let by_name = programs.iter().map(|program| programs.name(program)).zip(by_program);
    let mut commands: Vec<(String, Lane)> = by_name.filter(|(_, lane)| !lane.starts.is_empty()).collect();
    commands.sort_by(|a, b| b.1.total().cmp(&a.1.total()).then_with(|| a.0.cmp(&b.0)));
    if commands.len() > MAX_LANES {
        let mut others = Lane::default();
        commands.drain(MAX_LANES - 1..).for_each(|(_, lane)| others.append(lane));
        commands.push((OTHER_COMMANDS.to_owned(), others));
    }
    commands.iter_mut().for_each(|(_, lane)| lane.sort());
    ready.sort();
    Lanes { commands, ready }
}
