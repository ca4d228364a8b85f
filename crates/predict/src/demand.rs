//! Conversion of a traced run into a replayable program. It removes the waits, and keeps the
//! demands of each thread and the events that must precede each step.
//!
//! A wait for a CPU or a lock comes from the machine and is not part of the program. A wait for
//! another thread's action stays as a dependency on that thread. Some waits depend on a count and
//! not on a thread: bytes in a pipe, ended children, slots in a pool. They become tokens that any
//! thread may put and take. This module predicts no times.

mod crews;
mod device;
mod joins;
mod locks;
mod polls;
mod random;
mod scheduler;
mod script;
mod sections;
mod tokens;
mod waits;

use std::collections::HashMap;

use morecores_study::Nanos;

use crate::replay::{LockPolicy, Machine, Program, replay};
use morecores_explain::trace::{ThreadId, Timeline};

use script::Sheets;

pub use locks::{LockName, LockUse, calibrated, lock_uses, with_locks};
pub use sections::SectionLock;

/// Demands of a traced run.
#[derive(Clone, Debug, PartialEq)]
pub struct Demands {
    /// Replayable program.
    pub program: Program,
    /// Thread of the timeline for each thread of the program.
    pub threads: Vec<ThreadId>,
    /// Locks that the program's steps name: the locks held across waits. [`with_locks`] adds all
    /// others.
    pub locks: Vec<SectionLock>,
    /// Time from a wake-up until a thread runs on an idle CPU; absent when too few events show it.
    pub wake_latency: Option<Nanos>,
    /// Time that a thread kept its CPU while others waited for one; absent when too few events show
    /// it.
    pub slice: Option<Nanos>,
}

/// Part of the traced order that counts as accidental.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Order of arrival at a shared queue, and the assignment of jobs within a crew.
    Free,
    /// Assignment of jobs within a crew.
    Crews,
    /// No part.
    AsTraced,
}

/// Demands of the process tree's threads between the exec and the end of the main process. `None`
/// if the trace does not contain the main process.
///
/// No event shows that an order was accidental. If the replay then deadlocks, the order was not
/// accidental. In the traced order threads cannot deadlock, except at pipes, because each awaited
/// event came before its wait ended.
pub fn demands(timeline: &Timeline) -> Option<Demands> {
    let mut best: Option<(u32, Demands)> = None;
    for order in [Order::Free, Order::Crews, Order::AsTraced] {
        let demands = in_order(timeline, order)?;
        let forced = forced(timeline, &demands.program);
        if forced == 0 {
            return Some(demands);
        }
        if best.as_ref().is_none_or(|(least, _)| forced < *least) {
            best = Some((forced, demands));
        }
    }
    best.map(|(_, demands)| demands)
}

/// Number of deadlocks in a replay on the traced number of CPUs and on one CPU per thread.
fn forced(timeline: &Timeline, program: &Program) -> u32 {
    let counts = [timeline.cpus.len(), program.threads.len()];
    counts.map(|cpus| replay(program, &Machine::new(cpus.max(1) as u32)).forced).into_iter().sum()
}

fn in_order(timeline: &Timeline, order: Order) -> Option<Demands> {
    let root = timeline.root?;
    let mut threads = vec![root];
    threads.extend(timeline.tree().map(|(id, _)| id).filter(|id| *id != root));
    let place: HashMap<ThreadId, u32> = threads.iter().copied().zip(0..).collect();
    let mut sheets = Sheets::new(timeline, &threads);
    births(timeline, &place, &mut sheets);
    let mut tokens = tokens::tokens(timeline, &place, &mut sheets);
    let locks = waits::waits(timeline, &place, order == Order::Free, &mut tokens, &mut sheets);
    joins::joins(timeline, &place, &mut sheets);
    crews::jobs(timeline, &tokens, &mut sheets);
    if order != Order::AsTraced {
        crews::crews(timeline, &place, &mut sheets);
    }
    let mut program = sheets.program(&mut tokens);
    program.channels = tokens.channels();
    program.locks = vec![LockPolicy::Barging; locks.len()];
    Some(Demands {
        program,
        threads,
        locks,
        wake_latency: scheduler::wake_latency(timeline),
        slice: scheduler::slice(timeline),
    })
}

/// Starts each thread where its parent created it. A thread with an unknown parent, or one that
/// existed before the trace, starts with the first thread.
fn births(timeline: &Timeline, place: &HashMap<ThreadId, u32>, sheets: &mut Sheets) {
    for (id, thread) in timeline.tree() {
        let child = place[&id];
        if child == 0 {
            continue;
        }
        let parent = thread.parent.and_then(|parent| place.get(&parent)).copied().unwrap_or(0);
        let born = thread.born.unwrap_or(timeline.began).max(timeline.began);
        sheets.start(parent, born, child);
    }
}
