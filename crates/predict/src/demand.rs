//! From a traced run to a program that can be replayed: the waits are taken out, and what is left is what each thread demands
//! and what has to have happened before it goes on.
//!
//! A wait that the machine added, for a CPU or a lock, is nowhere in the program. A wait for something that somebody did
//! stays as that dependency, and where it is the thing that counts and not who did it (a byte in a pipe, a child that has ended,
//! a place in a pool) as a token that anybody may put and take. Says nothing of how long it will take.

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

/// What a traced run demands.
#[derive(Clone, Debug, PartialEq)]
pub struct Demands {
    /// What can be replayed.
    pub program: Program,
    /// Which thread of the timeline each of its threads is.
    pub threads: Vec<ThreadId>,
    /// The locks that the program's steps name: those that are held across waits. All others are added by [`with_locks`].
    pub locks: Vec<SectionLock>,
    /// From a wake-up until a thread runs on a CPU that was idle; absent where the events show too few.
    pub wake_latency: Option<Nanos>,
    /// How long a thread kept its CPU while others waited for one; absent likewise.
    pub slice: Option<Nanos>,
}

/// What of the traced order is taken for an accident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Who came first to a queue that several wait at, and who of a crew did which job.
    Free,
    /// Who of a crew did which job.
    Crews,
    /// Neither.
    AsTraced,
}

/// Of the tree's threads between the main process's exec and its end. `None` where the main process was not seen.
///
/// That an order was an accident is seen of nothing; where threads then wait for each other without end, it was none. As traced they
/// cannot, save at pipes: whatever was waited for came before.
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

/// How often threads wait for each other without end, on as many CPUs as there were and on one for each thread.
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

/// Each thread begins where its parent made it; one whose maker is not known, or who was there before, with the first.
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
