//! Variables at fixed places in files, and the accesses to them that several threads make, which
//! watchpoints find. Helgrind sees more variables, and it misses some accesses to these.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use morecores_findings::CodePlace;
use rand::Rng;
use rand::seq::SliceRandom;

use crate::code::CodeMap;
use crate::disassembly;
use crate::holds::HoldPlan;
use crate::program::Program;
use crate::tracer::{MOST_WATCHPOINTS, Observation};

/// Most runs with watchpoints. Each watches four variables.
const MOST_RUNS: usize = 32;
/// Part of the time of the search that these runs get at most.
const TIME_SHARE: u32 = 8;

/// Variable in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DataPlace {
    /// Instruction of the file that uses it, and its address in the file's own address space.
    pub(crate) user: CodePlace,
    pub(crate) user_address: u64,
    /// Address in the file's own address space.
    pub(crate) address: u64,
    /// Size in bytes.
    pub(crate) size: u64,
}

impl DataPlace {
    /// Address in an address space.
    pub(crate) fn address_in(&self, map: &CodeMap) -> Option<u64> {
        let (user, _) = map.address(&self.user)?;
        Some(user.wrapping_sub(self.user_address).wrapping_add(self.address))
    }
}

/// Places of the accesses to variables that several threads use, in runs that watch the variables
/// which the code of the program and its libraries writes.
///
/// # Errors
/// The program cannot be started or traced.
pub(crate) fn find_shared_accesses(
    program: &Program<'_>,
    random: &mut impl Rng,
) -> io::Result<BTreeSet<CodePlace>> {
    let mut variables: Vec<DataPlace> =
        program.modules().flat_map(|module| written_variables(module)).collect();
    variables.shuffle(random);
    // Places after the accesses.
    let mut ends: BTreeMap<PathBuf, BTreeSet<u64>> = BTreeMap::new();
    let began = Instant::now();
    for watched in variables.chunks(MOST_WATCHPOINTS).take(MOST_RUNS) {
        if began.elapsed() > program.options.time / TIME_SHARE {
            break;
        }
        let plan = HoldPlan::without_holds(0, &[], program.first.elapsed);
        let run = program.runner.observe(program.conditions(&[], plan), Observation::Variables(watched))?;
        for accesses in run.accesses.values() {
            let threads: BTreeSet<i32> = accesses.values().flatten().copied().collect();
            if threads.len() > 1 {
                for place in accesses.keys() {
                    ends.entry(place.file.clone()).or_default().insert(place.offset);
                }
            }
        }
    }
    let mut places = BTreeSet::new();
    for (file, ends) in ends {
        let Ok(content) = fs::read(&file) else { continue };
        for offset in disassembly::instructions_before(&content, &ends) {
            places.insert(CodePlace { file: file.clone(), offset });
        }
    }
    Ok(places)
}

fn written_variables(module: &Path) -> Vec<DataPlace> {
    let Ok(content) = fs::read(module) else { return Vec::new() };
    let place = |(address, variable): (u64, disassembly::WrittenVariable)| DataPlace {
        user: CodePlace { file: module.to_owned(), offset: variable.user_offset },
        user_address: variable.user_address,
        address,
        size: variable.size,
    };
    disassembly::written_variables(&content).into_iter().map(place).collect()
}
