//! Sites: the instructions at which threads are held. They are collected from Helgrind and from the
//! code of the program, and runs with breakpoints keep those that are executed beside other
//! threads.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use iced_x86::Instruction;
use morecores_findings::{CodePlace, Evidence, HelgrindUse, Priorities, Schedule};
use rand::{Rng, RngExt};

use crate::disassembly::{self, Scope};
use crate::go_program::is_go_program;
use crate::helgrind;
use crate::holds::HoldPlan;
use crate::instruction::{LONGEST, decode, is_plain_store, is_unlocked_update};
use crate::program::{Program, is_common};
use crate::runner::Conditions;
use crate::shared_data::find_shared_data;
use crate::variables::find_shared_accesses;

/// Part of the time of the search that Helgrind gets at most. It slows a program by a factor of up
/// to 100 (its manual); a report that is cut short has the races found so far.
const HELGRIND_SHARE: u32 = 4;
/// Runs that find the sites which the program executes.
const COVERAGE_RUNS: usize = 3;
/// Parts of the candidates in each of these runs, after a failure of one.
const PARTS: usize = 4;
/// Factor of the weight of a site that several threads execute.
const SHARED_FACTOR: f64 = 2.0;

/// Weight of a site in the choice of the sites of a run. A race is the strongest evidence, and
/// there are few.
fn weight(evidence: Evidence) -> f64 {
    match evidence {
        Evidence::Race => 8.0,
        Evidence::NearRace | Evidence::SharedData => 4.0,
        Evidence::ThreadCall => 2.0,
        Evidence::Atomic | Evidence::NearAccess => 1.0,
    }
}

impl From<disassembly::Reason> for Evidence {
    fn from(reason: disassembly::Reason) -> Self {
        match reason {
            disassembly::Reason::Race => Self::Race,
            disassembly::Reason::NearRace => Self::NearRace,
            disassembly::Reason::ThreadCall => Self::ThreadCall,
            disassembly::Reason::Atomic => Self::Atomic,
            disassembly::Reason::NearAccess => Self::NearAccess,
        }
    }
}

/// Sites of a program, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct SiteTable {
    pub(crate) places: Vec<CodePlace>,
    pub(crate) evidence: Vec<Evidence>,
    /// Numbers with the weights of their choice.
    pub(crate) weights: Vec<(usize, f64)>,
    /// Those of them that update memory without LOCK.
    pub(crate) updates: Vec<(usize, f64)>,
    /// Those that write memory without waiting for other CPUs.
    pub(crate) stores: BTreeSet<usize>,
    /// Number of candidates.
    pub(crate) candidates: usize,
    pub(crate) helgrind: HelgrindUse,
    /// Whether threads with real-time priorities reached a site.
    pub(crate) priorities: Option<Priorities>,
}

impl SiteTable {
    /// Finds the sites of a program.
    ///
    /// # Errors
    /// The program cannot be started or traced.
    pub(crate) fn find(program: &Program<'_>, random: &mut impl Rng) -> io::Result<Self> {
        let (by_helgrind, helgrind) = find_races(program)?;
        let mut races = find_shared_accesses(program, random)?;
        races.extend(by_helgrind);
        let shared = match helgrind {
            HelgrindUse::Complete => BTreeSet::new(),
            HelgrindUse::Missing | HelgrindUse::CutShort | HelgrindUse::Unsuitable => {
                find_shared_data(program, random)?
            }
        };
        let candidates: Vec<(CodePlace, Evidence)> =
            candidates(&races, &shared, &program.first.modules).into_iter().collect();
        let places: Vec<CodePlace> = candidates.iter().map(|(place, _)| place.clone()).collect();
        let coverage = Coverage::measure(program, &places, random)?;
        let mut table = Self {
            candidates: candidates.len(),
            helgrind,
            priorities: coverage.has_real_time.then_some(Priorities::RealTime),
            ..Self::default()
        };
        for (number, (site, threads)) in coverage.threads.into_iter().enumerate() {
            let (place, evidence) = &candidates[site];
            let weight = weight(*evidence) * if threads > 1 { SHARED_FACTOR } else { 1.0 };
            table.weights.push((number, weight));
            let instruction = instruction_at(place);
            if instruction.as_ref().is_some_and(is_unlocked_update) {
                table.updates.push((number, weight));
            }
            if instruction.as_ref().is_some_and(is_plain_store) {
                table.stores.insert(number);
            }
            table.places.push(place.clone());
            table.evidence.push(*evidence);
        }
        Ok(table)
    }
}

/// Races by Helgrind; none without valgrind, and for Go programs.
fn find_races(program: &Program<'_>) -> io::Result<(BTreeSet<CodePlace>, HelgrindUse)> {
    if program.modules().any(|module| fs::read(module).is_ok_and(|content| is_go_program(&content))) {
        return Ok((BTreeSet::new(), HelgrindUse::Unsuitable));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    if !env::split_paths(&path).any(|folder| folder.join("valgrind").is_file()) {
        return Ok((BTreeSet::new(), HelgrindUse::Missing));
    }
    let Program { runner, options, .. } = program;
    let timeout = options.time / HELGRIND_SHARE;
    let output = runner.output_files()?;
    let cpus = options.cpus(Schedule::Cpus);
    helgrind::find_races(&options.command, cpus, runner.directory(), timeout, output)
}

/// Candidates that the program executes while it has several threads.
#[derive(Debug, Default)]
struct Coverage {
    /// Most threads that reached each candidate in one run.
    threads: BTreeMap<usize, usize>,
    has_real_time: bool,
}

impl Coverage {
    fn measure(program: &Program<'_>, sites: &[CodePlace], random: &mut impl Rng) -> io::Result<Self> {
        let mut coverage = Self::default();
        // Data between instructions may look like some, and a breakpoint in data may spoil the run.
        // Further runs with parts of the candidates then find those that threads do execute.
        let mut parts = 1;
        for attempt in 0..COVERAGE_RUNS * PARTS {
            let part: Vec<usize> = (0..sites.len()).filter(|_| random.random_ratio(1, parts)).collect();
            let plan = HoldPlan::without_holds(random.random(), &part, program.first.elapsed);
            let run = program.runner.run(Conditions {
                priorities: if coverage.has_real_time { Priorities::RealTime } else { Priorities::Ordinary },
                ..program.conditions(sites, plan)
            })?;
            coverage.has_real_time |= run.record.has_real_time;
            for (site, threads) in &run.record.hits_at {
                let most = coverage.threads.entry(*site).or_default();
                *most = threads.len().max(*most);
            }
            if run.failure.is_some() {
                parts = PARTS as u32;
            } else if parts == 1 && attempt + 1 == COVERAGE_RUNS {
                break;
            }
        }
        Ok(coverage)
    }
}

/// Candidates with their strongest evidence: `races` with the accesses near them, `shared`
/// accesses, and those in the code of `modules` but the common libraries.
fn candidates(
    races: &BTreeSet<CodePlace>,
    shared: &BTreeSet<CodePlace>,
    modules: &BTreeSet<PathBuf>,
) -> BTreeMap<CodePlace, Evidence> {
    let mut found: BTreeMap<CodePlace, Evidence> = BTreeMap::new();
    for module in modules {
        let in_module = races.iter().filter(|place| place.file == *module).map(|place| place.offset);
        let racing: BTreeSet<u64> = in_module.collect();
        let scope = if is_common(module) { Scope::Races } else { Scope::All };
        if scope == Scope::Races && racing.is_empty() {
            continue;
        }
        let Ok(content) = fs::read(module) else { continue };
        for (offset, reason) in disassembly::candidates(&content, &racing, scope) {
            found.insert(CodePlace { file: module.clone(), offset }, reason.into());
        }
    }
    for place in shared {
        found.entry(place.clone()).or_insert(Evidence::SharedData);
    }
    found
}

/// Instruction at a place. Its address is its offset in the file.
fn instruction_at(place: &CodePlace) -> Option<Instruction> {
    let mut bytes = [0; LONGEST];
    let read = File::open(&place.file).ok()?.read_at(&mut bytes, place.offset).ok()?;
    decode(&bytes[..read], place.offset)
}
