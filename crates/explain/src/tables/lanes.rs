//! A traced run over time: the spans in which threads of each command ran, also on the critical
//! path alone, and those in which threads were ready.
//!
//! Starts and ends of all spans are kept separately, each in the order of time. The number of
//! overlapping spans at an instant, and its mean between two instants, follow from the starts
//! and ends alone. The pairing of starts and ends does not matter.

use morecores_study::Nanos;
use morecores_study::trace::TraceSource;

use super::programs::{ProgramId, Programs};
use crate::DecodedTrace;
use crate::trace::{Activity, ActivityKind, State, ThreadId, Timeline, critical_path, idle_causes};

/// Largest number of commands with lanes of their own. It is a choice: a picture has fewer
/// distinguishable colours.
const MAX_LANES: usize = 12;

/// Name of the lane for all remaining commands.
const OTHER_COMMANDS: &str = "other commands";

/// A traced run over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lanes {
    /// Commands, most CPU time first.
    pub commands: Vec<CommandLanes>,
    /// Spans in which a thread of the tree was ready and had no CPU.
    pub ready: Lane,
}

/// Spans of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLanes {
    /// Name of the command.
    pub name: String,
    /// Spans in which a thread of the command ran.
    pub running: Lane,
    /// Spans in which it ran on the critical path; they do not overlap. Empty for a trace without
    /// wake-ups.
    pub path: Lane,
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
pub fn lanes(trace: &DecodedTrace<'_>) -> Lanes {
    let timeline = &trace.timeline;
    let programs = Programs::from_timeline(timeline);
    let empty = |program| CommandLanes { name: programs.name(program), ..CommandLanes::default() };
    let mut commands: Vec<CommandLanes> = programs.iter().map(empty).collect();
    let mut ready = Lane::default();
    for (id, thread) in timeline.tree() {
        for segment in &thread.segments {
            match segment.state {
                State::Running { .. } => {
                    for (program, from, to) in
                        parts_by_program(timeline, &programs, id, segment.from, segment.to)
                    {
                        commands[program.index()].running.push(from, to);
                    }
                }
                State::Runnable | State::Held(_) => {
                    ready.push(segment.from.since(timeline.began), segment.to.since(timeline.began));
                }
                State::Blocked(_) => {}
            }
        }
    }
    for activity in path_activities(trace).iter().filter(|one| one.kind == ActivityKind::Running) {
        let Some(id) = activity.thread else { continue };
        for (program, from, to) in parts_by_program(timeline, &programs, id, activity.from, activity.to) {
            commands[program.index()].path.push(from, to);
        }
    }
    commands.retain(|command| !command.running.starts.is_empty());
    let total = |command: &CommandLanes| command.running.total();
    commands.sort_by(|a, b| total(b).cmp(&total(a)).then_with(|| a.name.cmp(&b.name)));
    if commands.len() > MAX_LANES {
        let mut others = CommandLanes { name: OTHER_COMMANDS.to_owned(), ..CommandLanes::default() };
        for command in commands.drain(MAX_LANES - 1..) {
            others.running.append(command.running);
            others.path.append(command.path);
        }
        commands.push(others);
    }
    for command in &mut commands {
        command.running.sort();
        command.path.sort();
    }
    ready.sort();
    Lanes { commands, ready }
}

/// Activities of the critical path; none for a trace without wake-ups.
fn path_activities(trace: &DecodedTrace<'_>) -> Vec<Activity> {
    if trace.header.facts.source == TraceSource::Perf {
        return Vec::new();
    }
    critical_path(&trace.timeline, &idle_causes(&trace.timeline))
}

/// Parts of a thread's time between two instants by the program that it ran, since the beginning of
/// the run.
fn parts_by_program(
    timeline: &Timeline,
    programs: &Programs,
    id: ThreadId,
    from: Nanos,
    to: Nanos,
) -> impl Iterator<Item = (ProgramId, Nanos, Nanos)> {
    let mut at = from.since(timeline.began);
    programs.programs_between(id, from, to).map(move |(program, time)| {
        let begin = at;
        at += time;
        (program, begin, at)
    })
}
