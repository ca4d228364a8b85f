//! Conversion of a traced run into a replayable program. It removes the waits, and keeps the
//! demands of each thread and the events that must precede each step.
//!
//! A wait for a CPU or a lock comes from the machine and is not part of the program. A wait for
//! another thread's action stays as a dependency on that thread. Some waits depend on a count and
//! not on a thread: bytes in a pipe, ended children, slots in a pool. They become tokens that any
//! thread may put and take. This module predicts no times.

mod device;
mod joins;
mod locks;
mod polls;
mod program_builder;
mod scheduler;
mod sections;
mod shared_work;
mod tokens;
mod waits;

use std::collections::HashMap;

use morecores_study::Nanos;
use rand::{Rng, RngExt};

use crate::replay::{LockPolicy, Machine, Program, replay};
use morecores_explain::trace::{ThreadId, Timeline};

use program_builder::ProgramBuilder;

pub use locks::{LockId, LockUse, add_locks, calibrate_locks, lock_uses};
pub use sections::SectionLock;

/// Demands of a traced run.
#[derive(Clone, Debug, PartialEq)]
pub struct Demands {
    /// Replayable program.
    pub program: Program,
    /// Thread of the timeline for each thread of the program.
    pub threads: Vec<ThreadId>,
    /// Locks that the program's steps name: the locks held across waits. [`add_locks`] adds all
    /// others.
    pub locks: Vec<SectionLock>,
    /// Time from a wake-up until a thread runs on an idle CPU; absent when too few events show it.
    pub wake_latency: Option<Nanos>,
    /// Time that a thread kept its CPU while others waited for one; absent when too few events show
    /// it.
    pub slice: Option<Nanos>,
}

/// Part of the traced order that a replay may change, because it counts as accidental.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reordering {
    /// Order of arrival at a shared queue, and the assignment of jobs among threads that share
    /// work.
    QueuesAndJobs,
    /// Assignment of jobs among threads that share work.
    JobModel,
    /// No part.
    Nothing,
}

impl Demands {
    /// Demands of the process tree's threads between the exec and the end of the main process.
    /// `None` if the trace does not contain the main process.
    ///
    /// No event shows that an order was accidental. If the replay then deadlocks, the order was not
    /// accidental. In the traced order threads cannot deadlock, except at pipes, because each
    /// awaited event came before its wait ended.
    pub fn from_timeline(timeline: &Timeline) -> Option<Self> {
        let mut best: Option<(u32, Self)> = None;
        for reordering in [Reordering::QueuesAndJobs, Reordering::JobModel, Reordering::Nothing] {
            let demands = reordered_demands(timeline, reordering)?;
            let deadlocks = count_deadlocks(timeline, &demands.program);
            if deadlocks == 0 {
                return Some(demands);
            }
            if best.as_ref().is_none_or(|(least, _)| deadlocks < *least) {
                best = Some((deadlocks, demands));
            }
        }
        best.map(|(_, demands)| demands)
    }
}

/// Number of deadlocks in a replay on the traced number of CPUs and on one CPU per thread.
fn count_deadlocks(timeline: &Timeline, program: &Program) -> u32 {
    let counts = [timeline.cpus.len(), program.threads.len()];
    counts.map(|cpus| replay(program, &Machine::new(cpus.max(1) as u32)).forced_waits).into_iter().sum()
}

fn reordered_demands(timeline: &Timeline, reordering: Reordering) -> Option<Demands> {
    let root = timeline.root?;
    let mut threads = vec![root];
    threads.extend(timeline.tree().map(|(id, _)| id).filter(|id| *id != root));
    let thread_numbers: HashMap<ThreadId, u32> = threads.iter().copied().zip(0..).collect();
    let mut builder = ProgramBuilder::new(timeline, &threads);
    add_thread_starts(timeline, &thread_numbers, &mut builder);
    let mut tokens = tokens::find_tokens(timeline, &thread_numbers, &mut builder);
    let locks = waits::convert_waits(
        timeline,
        &thread_numbers,
        reordering == Reordering::QueuesAndJobs,
        &mut tokens,
        &mut builder,
    );
    joins::add_joins(timeline, &thread_numbers, &mut builder);
    shared_work::share_pipe_jobs(timeline, &tokens, &mut builder);
    if reordering != Reordering::Nothing {
        shared_work::share_sibling_work(timeline, &thread_numbers, &mut builder);
    }
    let mut program = builder.build(&mut tokens);
    program.channels = tokens.initial_tokens();
    program.locks = vec![LockPolicy::Barging; locks.len()];
    Some(Demands {
        program,
        threads,
        locks,
        wake_latency: scheduler::wake_latency(timeline),
        slice: scheduler::time_slice(timeline),
    })
}

/// Starts each thread where its parent created it. A thread with an unknown parent, or one that
/// existed before the trace, starts with the first thread.
fn add_thread_starts(
    timeline: &Timeline,
    thread_numbers: &HashMap<ThreadId, u32>,
    builder: &mut ProgramBuilder,
) {
    for (id, thread) in timeline.tree() {
        let child = thread_numbers[&id];
        if child == 0 {
            continue;
        }
        let parent = thread.parent.and_then(|parent| thread_numbers.get(&parent)).copied().unwrap_or(0);
        let created = thread.created.unwrap_or(timeline.began).max(timeline.began);
        builder.add_start(parent, created, child);
    }
}

/// Exponentially distributed time with this mean in seconds, as for events without memory. Never
/// zero. A replay needs such times where the trace shows only their mean.
fn exponential_time(random: &mut impl Rng, mean: f64) -> Nanos {
    let drawn: f64 = random.random();
    Nanos::from_secs_f64(-mean * (1.0 - drawn).ln()).max(Nanos(1))
}
