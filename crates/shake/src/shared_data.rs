//! Accesses to memory that several threads use, wherever it lies: breakpoints at the accesses of
//! the program show their addresses. It needs no other tool, and knows nothing of locks: for
//! programs that Helgrind cannot run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;
use std::time::Instant;

use morecores_findings::CodePlace;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

use crate::disassembly;
use crate::holds::HoldPlan;
use crate::program::Program;
use crate::tracer::Observation;

/// Most breakpoints of one run. A run begins with some milliseconds for a thousand of them.
const MOST_BREAKPOINTS: usize = 8_192;
/// Runs with breakpoints at the accesses that threads execute.
const RUNS: usize = 3;
/// Part of the time of the search that these runs get at most.
const TIME_SHARE: u32 = 8;
/// Size of the unit of memory that two accesses share, in bytes.
const UNIT: u64 = 8;

/// Access in the code of a file.
#[derive(Clone, Debug)]
struct Access {
    place: CodePlace,
    writes: bool,
}

/// Places of the accesses by registers to memory that several threads use, and one of them writes,
/// in the code of `modules`.
///
/// # Errors
/// The program cannot be started or traced.
pub(crate) fn find_shared_data(
    program: &Program<'_>,
    random: &mut impl Rng,
) -> io::Result<BTreeSet<CodePlace>> {
    let deadline = Instant::now() + program.options.time / TIME_SHARE;
    let mut accesses: Vec<Access> = program.modules().flat_map(|module| accesses(module)).collect();
    accesses.shuffle(random);
    let mut look = |accesses: &[Access], observation: Observation<'_>| {
        let places: Vec<CodePlace> = accesses.iter().map(|access| access.place.clone()).collect();
        let (numbers, seed): (Vec<usize>, u64) = ((0..places.len()).collect(), random.random());
        let plan = match observation {
            Observation::Sites => HoldPlan::recording_data(seed, &numbers, program.first.elapsed),
            _ => HoldPlan::without_holds(seed, &numbers, program.first.elapsed),
        };
        program.runner.observe(program.conditions(&places, plan), observation)
    };
    // First those that threads execute, which are few; then these together.
    let mut executed: Vec<Access> = Vec::new();
    for part in accesses.chunks(MOST_BREAKPOINTS) {
        if Instant::now() >= deadline {
            break;
        }
        let run = look(part, Observation::Nothing)?;
        executed.extend(run.hits_at.keys().map(|number| part[*number].clone()));
    }
    executed.truncate(MOST_BREAKPOINTS);
    let mut shared = BTreeSet::new();
    for _ in 0..RUNS {
        if Instant::now() >= deadline {
            break;
        }
        let run = look(&executed, Observation::Sites)?;
        let numbers = shared_accesses(&run.addresses, |number| executed[number].writes);
        shared.extend(numbers.into_iter().map(|number| executed[number].place.clone()));
    }
    Ok(shared)
}

/// Numbers of the accesses to memory that several threads use and one of them writes. `addresses`
/// has the threads and the addresses of each access.
fn shared_accesses(
    addresses: &BTreeMap<usize, BTreeSet<(i32, u64)>>,
    writes: impl Fn(usize) -> bool,
) -> BTreeSet<usize> {
    let mut units: BTreeMap<u64, (BTreeSet<i32>, BTreeSet<usize>)> = BTreeMap::new();
    for (number, uses) in addresses {
        for (thread, address) in uses {
            let (threads, numbers) = units.entry(address / UNIT).or_default();
            threads.insert(*thread);
            numbers.insert(*number);
        }
    }
    let is_shared = |(threads, numbers): &(BTreeSet<i32>, BTreeSet<usize>)| {
        threads.len() > 1 && numbers.iter().any(|number| writes(*number))
    };
    units.into_values().filter(is_shared).flat_map(|(_, numbers)| numbers).collect()
}

fn accesses(module: &Path) -> Vec<Access> {
    let Ok(content) = fs::read(module) else { return Vec::new() };
    let access = |(offset, writes)| Access { place: CodePlace { file: module.to_owned(), offset }, writes };
    disassembly::indirect_accesses(&content).into_iter().map(access).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_are_shared_if_two_threads_use_them_and_one_writes() {
        let uses = |list: &[(i32, u64)]| list.iter().copied().collect::<BTreeSet<_>>();
        let addresses = BTreeMap::from([
            // A load and a store of the same word by two threads, in different halves.
            (0, uses(&[(1, 64)])),
            (1, uses(&[(2, 68)])),
            // Read by both, and written by nobody.
            (2, uses(&[(1, 80), (2, 80)])),
            // Written by one thread alone.
            (3, uses(&[(1, 96), (1, 104)])),
        ]);
        assert_eq!(shared_accesses(&addresses, |number| number % 2 == 1), BTreeSet::from([0, 1]));
    }
}
