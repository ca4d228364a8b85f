//! Findings of a search, as data: the JSON of `findings.json`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::place::{CodePlace, Description, StackDescription, WaitDescription};
use crate::schedule::{Schedule, Tally};
use crate::verdict::Verdict;

/// Part that Helgrind had in the choice of the sites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HelgrindUse {
    /// None: valgrind is not installed.
    #[default]
    Missing,
    /// It saw a whole run.
    Complete,
    /// Its run did not end in time, failed, or was ended by a signal: some programs crash in
    /// valgrind.
    CutShort,
    /// None: it does not know what orders the threads of a Go program.
    Unsuitable,
}

/// Observation that makes an instruction a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Helgrind reports it as a race, or watchpoints show that several threads use its variable.
    Race,
    /// It is the instruction after a race, or accesses memory near one.
    NearRace,
    /// It is a call that orders threads, or the instruction after it.
    ThreadCall,
    /// It is an atomic instruction, or the one after it.
    Atomic,
    /// Several threads access the same memory by it, or by it and others. One of them writes.
    SharedData,
    /// It accesses memory near such a call or instruction.
    NearAccess,
}

/// Number of sites at each step of the selection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteCounts {
    /// Instructions in the code that may matter.
    pub candidates: usize,
    /// Those that the program executes while it has several threads.
    pub executed: usize,
    /// Those of them that update memory without LOCK.
    pub updates: usize,
    /// Those at which a thread was held while another one ran.
    pub held: usize,
}

/// Site of the search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SiteRecord {
    /// Place in a file.
    pub place: CodePlace,
    /// The same, as people read it.
    pub description: Description,
    /// Observation that made it a site.
    pub evidence: Evidence,
    /// Holds at it during which another thread ran, of all runs.
    pub holds: u64,
    /// Runs with such a hold.
    pub runs: u64,
    /// Runs with such a hold that failed.
    pub failures: u64,
}

/// First failure of the search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FirstFailure {
    /// Kind of failure.
    pub failure: Failure,
    /// Number of the run, from 1, the first runs not counted.
    pub run: u64,
    /// Time since the beginning of the search, in seconds.
    pub seconds: f64,
    /// Place of the instruction at which a signal ended it.
    pub crash: Option<Description>,
    /// Waits of the threads, if it stood still.
    pub waits: Vec<WaitDescription>,
    /// Stacks of all threads, if it stood still or a signal ended it.
    pub stacks: Vec<StackDescription>,
    /// Core of the program, in the same cases.
    pub core: Option<CoreFile>,
}

/// Core of a program for a debugger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoreFile {
    /// It is in this file.
    Written(PathBuf),
    /// It could not be written, for this reason.
    Failed(String),
}

/// Effect of holds at one site or at several together, on several CPUs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SiteEffect {
    /// Schedule of the runs.
    pub schedule: Schedule,
    /// The sites.
    pub sites: Vec<Description>,
    /// Number of the hit at which each thread was held, as in
    /// [`RunLine::hit`](crate::RunLine::hit).
    #[serde(default)]
    pub hit: Option<u32>,
    /// Runs with holds at exactly these sites and hits.
    pub tally: Tally,
}

/// Result of a search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Findings {
    /// Conclusion.
    pub verdict: Verdict,
    /// Number of CPUs of the runs on several CPUs.
    pub cpus: usize,
    /// Seed of every choice.
    pub seed: u64,
    /// Elapsed time of a first run without holds, in seconds.
    pub elapsed_s: f64,
    /// Median elapsed time of the runs with holds, divided by the former.
    pub slowdown: Option<f64>,
    /// Runs of the whole search.
    pub runs: u64,
    /// Time of the whole search, in seconds.
    pub seconds: f64,
    /// Part that Helgrind had in the choice of the sites.
    pub helgrind: HelgrindUse,
    /// Sites.
    pub sites: SiteCounts,
    /// The sites that the program executes.
    pub site_list: Vec<SiteRecord>,
    /// First failure, if any.
    pub first_failure: Option<FirstFailure>,
    /// Runs and failures by schedule.
    pub tallies: BTreeMap<Schedule, Tally>,
    /// Effects of the sites of the first failure.
    pub effects: Vec<SiteEffect>,
}

/// Result of the repetitions of a run.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Number of the run in its search.
    pub run: u64,
    /// Its failure at that time.
    pub failure: Option<Failure>,
    /// Repetitions and their failures.
    pub tally: Tally,
}
