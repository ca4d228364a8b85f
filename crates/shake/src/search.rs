//! The search: first runs, sites, shuffled rounds under every schedule until a failure, and then
//! rounds at the sites of that failure, which tell its rates.
//!
//! The rates come from the rounds after the first failure alone, because the runs before it ended
//! with a failure by choice. The intervals hold whenever the rounds stop.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use morecores_findings::{
    CORE, CoreFile, DirectoryWriter, Failure, Findings, FirstFailure, Header, HelgrindUse, Observations,
    Priorities, RunLine, Schedule, SiteCounts, SiteEffect, SiteRecord, Tally, Verdict, verdict,
};
use rand::RngExt;

use crate::ShakeError;
use crate::chooser::{Chooser, Hit};
use crate::description::Describer;
use crate::first_runs::{FIRST_RUNS, FirstRuns};
use crate::holds::{Choice, HoldPlan};
use crate::program::Program;
use crate::runner::{Conditions, JudgedRun, Runner};
use crate::sites::SiteTable;
use crate::tracer::RunRecord;

/// Runs without a failure after which a search ends by default.
const RUNS: u64 = 1_000;
/// Failures after which the rates are known well enough, and the least number of rounds for them.
const ENOUGH_FAILURES: u64 = 20;
const ENOUGH_ROUNDS: u64 = 60;
/// Least number of rounds without a failure on one CPU. Half of them hold threads at any site: a
/// fault that one in ten of these shows would be missed with a probability of 0.04%.
const ENOUGH_ROUNDS_ON_ONE_CPU: u64 = 150;
/// Runs after which other sites are tried if holds at those so far have no effect.
const OUT_OF_FOCUS: u64 = 10;

/// Program, limits and rules of a search.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program with its arguments.
    pub command: Vec<OsString>,
    /// CPUs of the runs on several CPUs. The runs on one CPU have the last.
    pub cpus: Vec<usize>,
    /// Most runs; by default 1,000 until a first failure, and then no limit but `time`.
    pub runs: Option<u64>,
    /// Most time.
    pub time: Duration,
    /// Time limit of one run; by default a multiple of the first runs.
    pub timeout: Option<Duration>,
    /// Command that ends with success if the result of a run is right.
    pub check: Option<String>,
    /// Whether another output than on one CPU is a failure.
    pub output: OutputRule,
    /// Seed of every choice.
    pub seed: u64,
    /// New directory for the runs and the findings.
    pub directory: PathBuf,
    /// Becomes true when the search must end. It ends after the run in progress.
    pub stop: Arc<AtomicBool>,
}

impl Options {
    pub(crate) fn cpus(&self, schedule: Schedule) -> &[usize] {
        schedule.cpus(&self.cpus)
    }

    /// Fails if the search must end.
    pub(crate) fn check_stop(&self) -> Result<(), ShakeError> {
        if self.stop.load(Ordering::Relaxed) { Err(ShakeError::Stopped) } else { Ok(()) }
    }
}

/// Whether a run fails by its standard output alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputRule {
    /// It fails if its output differs from that of all runs on one CPU.
    AsOnOneCpu,
    /// Any output is right.
    Any,
}

/// Searches for failures. `report` gets a line on each step.
///
/// # Errors
/// [`ShakeError`].
pub fn search(options: &Options, report: &mut dyn FnMut(&str)) -> Result<Findings, ShakeError> {
    let began = Instant::now();
    let mut study = DirectoryWriter::create(&options.directory)?;
    let mut runner = Runner::new(&options.command, options.check.as_deref())?;
    let first = FirstRuns::make(&runner, options)?;
    let (cpus, elapsed_ms) = (options.cpus.len(), first.elapsed.as_millis());
    report(&format!("first runs: {FIRST_RUNS} on 1 CPU and on {cpus}, {elapsed_ms} ms each"));
    if let Some(stdout) = &first.expected_stdout {
        runner.expect_stdout(stdout.clone());
    }
    let mut chooser = Chooser::new(options.seed);
    let program = Program { runner: &runner, options, first: &first };
    let sites = SiteTable::find(&program, &mut chooser.random)?;
    options.check_stop()?;
    let without = match sites.helgrind {
        HelgrindUse::Missing => " (install valgrind for more)",
        HelgrindUse::CutShort => " (its run in Helgrind was cut short)",
        HelgrindUse::Unsuitable => " (Helgrind does not know goroutines)",
        HelgrindUse::Complete => "",
    };
    let (candidates, executed) = (sites.candidates, sites.places.len());
    report(&format!("sites: {candidates} candidates{without}, {executed} executed beside other threads"));
    study.begin(&header(options, &first, &sites), first.expected_stdout.as_deref())?;
    let mut search = Search {
        options,
        runner,
        site_counts: vec![SiteCount::default(); sites.places.len()],
        priorities: sites.priorities.unwrap_or(Priorities::Ordinary),
        tallies: first.tallies.clone(),
        sites,
        first,
        study,
        chooser,
        began,
        runs: 0,
        held_elapsed: Vec::new(),
        focused: BTreeMap::new(),
        failure: None,
        effects: BTreeMap::new(),
    };
    search.explore()?;
    if let Some((first, _)) = &search.failure {
        report(&format!("run {}: {}; now its rates", first.run, first.failure));
        search.confirm()?;
    }
    search.into_findings()
}

/// Sites at which threads were held while others ran; all sites with holds if there are none.
fn held_sites(record: &RunRecord) -> Vec<usize> {
    let sites = |only_effective: bool| -> BTreeSet<usize> {
        let holds = record.holds.iter().filter(|hold| hold.is_effective || !only_effective);
        holds.filter_map(|hold| hold.site).collect()
    };
    let effective = sites(true);
    let sites = if effective.is_empty() { sites(false) } else { effective };
    sites.into_iter().collect()
}

fn header(options: &Options, first: &FirstRuns, sites: &SiteTable) -> Header {
    Header {
        schema: Header::schema(),
        command: options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        created_at_s: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64(),
        cpus: options.cpus.clone(),
        check: options.check.clone(),
        seed: options.seed,
        elapsed_s: first.elapsed.as_secs_f64(),
        timeout_s: first.timeout.as_secs_f64(),
        real_time: sites.priorities == Some(Priorities::RealTime),
    }
}

/// Holds at a site, and the runs with such a hold.
#[derive(Clone, Copy, Debug, Default)]
struct SiteCount {
    holds: u64,
    runs: u64,
    failures: u64,
}

/// Sites and hit of the first failure, at which further runs hold threads.
#[derive(Clone, Debug, Default)]
struct Focus {
    sites: Vec<usize>,
    /// Hit of each thread, if a hold there alone made a run fail.
    hit: Option<Hit>,
}

struct Search<'a> {
    options: &'a Options,
    runner: Runner<'a>,
    first: FirstRuns,
    sites: SiteTable,
    study: DirectoryWriter,
    chooser: Chooser,
    began: Instant,
    runs: u64,
    site_counts: Vec<SiteCount>,
    held_elapsed: Vec<f64>,
    priorities: Priorities,
    tallies: BTreeMap<Schedule, Tally>,
    /// Runs with holds at the sites of the first failure.
    focused: BTreeMap<Schedule, Tally>,
    /// First failure, and its holds.
    failure: Option<(FirstFailure, Focus)>,
    /// Runs with holds at these sites, at this hit of each thread if there is one.
    effects: BTreeMap<(Schedule, Vec<usize>, Option<u32>), Tally>,
}

impl Search<'_> {
    /// Makes rounds under all schedules until the first failure.
    fn explore(&mut self) -> io::Result<()> {
        while !self.is_over() {
            for schedule in self.chooser.schedules(&self.sites) {
                let choice = self.chooser.choose_freely(schedule, &self.sites);
                let (run, is_shown) = self.run(&choice)?;
                if let Some(failure) = run.failure {
                    self.keep_first(failure, &run.record, &choice);
                    return Ok(());
                }
                if is_shown {
                    self.tallies.entry(schedule).or_default().add(None);
                }
            }
        }
        Ok(())
    }

    fn keep_first(&mut self, failure: Failure, record: &RunRecord, choice: &Choice) {
        let mut describer = Describer::default();
        let crash = record.crash.as_ref().map(|place| describer.describe(place));
        let waits = record.waits.iter().map(|wait| describer.describe_wait(wait)).collect();
        let stacks = record.stacks.iter().map(|stack| describer.describe_stack(stack)).collect();
        let seconds = self.began.elapsed().as_secs_f64();
        let core = record.core.as_ref().map(|written| match written {
            Ok(()) => CoreFile::Written(self.core_path()),
            Err(reason) => CoreFile::Failed(reason.clone()),
        });
        let first = FirstFailure { failure, run: self.runs, seconds, crash, waits, stacks, core };
        let focus = Focus { sites: held_sites(record), hit: Hit::chosen(choice) };
        self.failure = Some((first, focus));
    }

    /// Makes rounds that tell the rates: at the sites of the first failure, and half of those with
    /// holds at other ones.
    fn confirm(&mut self) -> io::Result<()> {
        let Some((_, mut focus)) = self.failure.clone() else { return Ok(()) };
        // The runs before ended with a failure by choice.
        self.tallies.clear();
        let mut rounds = 0;
        while !(self.is_over() || self.is_known(rounds)) {
            rounds += 1;
            let is_update = |site: &usize| self.sites.updates.iter().any(|(update, _)| update == site);
            let updates: Vec<usize> = focus.sites.iter().copied().filter(is_update).collect();
            let (mut better, mut more) = (None, Vec::new());
            for schedule in self.chooser.schedules(&self.sites) {
                let among = match schedule {
                    Schedule::OneCpu | Schedule::Cpus => &[][..],
                    Schedule::CpusSplits => &updates,
                    // Sites of a rendezvous may matter only by their time. Other holds tell.
                    Schedule::OneCpuHolds | Schedule::CpusHolds if self.chooser.random.random_bool(0.5) => {
                        &[]
                    }
                    Schedule::OneCpuHolds | Schedule::CpusHolds | Schedule::CpusTogether => &focus.sites,
                };
                let choice = if among.is_empty() {
                    self.chooser.choose_freely(schedule, &self.sites)
                } else {
                    self.chooser.choose_among(schedule, among, focus.hit)
                };
                let (run, is_shown) = self.run(&choice)?;
                if !is_shown {
                    continue;
                }
                self.tallies.entry(schedule).or_default().add(run.failure.as_ref());
                if among.is_empty() {
                    match schedule {
                        _ if run.failure.is_none() => {}
                        Schedule::CpusHolds => {
                            let sites = held_sites(&run.record);
                            better = Some(Focus { sites, hit: Hit::chosen(&choice) });
                        }
                        Schedule::CpusSplits => more = held_sites(&run.record),
                        _ => {}
                    }
                    continue;
                }
                self.focused.entry(schedule).or_default().add(run.failure.as_ref());
                if run.failure.is_some() {
                    focus.hit = focus.hit.or(Hit::chosen(&choice));
                }
                if !schedule.is_on_one_cpu() {
                    let holds = (schedule, choice.sites, choice.hit);
                    self.effects.entry(holds).or_default().add(run.failure.as_ref());
                }
            }
            // Holds at the sites so far had no part in the failure, and these may have. Sites at
            // which splits make the program fail explain it without holds.
            let needs_others = focus.sites.is_empty()
                || self.has_no_effect(Schedule::CpusHolds) && !self.has_effect(Schedule::CpusSplits);
            if let Some(better) = better.filter(|better| needs_others && !better.sites.is_empty()) {
                focus = better;
                self.focused.clear();
                self.effects.clear();
            }
            // The same for updates. A program that often fails by itself fails by chance, too.
            if self.has_no_effect(Schedule::CpusSplits) {
                focus.sites.retain(|site| !updates.contains(site));
                self.focused.remove(&Schedule::CpusSplits);
                self.effects.retain(|(schedule, ..), _| *schedule != Schedule::CpusSplits);
            }
            focus.sites.extend(more);
        }
        Ok(())
    }

    /// Whether enough runs under a schedule, with holds at the sites of the first failure, have not
    /// failed more often than the program alone.
    fn has_no_effect(&self, schedule: Schedule) -> bool {
        let share = |tally: &Tally| tally.failed() as f64 / tally.runs as f64;
        let alone = self.tallies.get(&Schedule::Cpus).filter(|tally| tally.runs > 0).map_or(0.0, share);
        let tally = self.focused.get(&schedule).filter(|tally| tally.runs >= OUT_OF_FOCUS);
        tally.is_some_and(|tally| share(tally) <= alone)
    }

    /// Whether a schedule, with holds at the sites of the first failure, makes the program fail
    /// more often than it does alone.
    fn has_effect(&self, schedule: Schedule) -> bool {
        let (alone, focused) = (self.tallies.get(&Schedule::Cpus), self.focused.get(&schedule));
        alone.zip(focused).is_some_and(|(alone, focused)| alone.rate().hi < focused.rate().lo)
    }

    /// Whether the reason of the failure follows from enough runs. That it never fails on one CPU
    /// needs more of them, and an unknown reason is looked for until the limits.
    fn is_known(&self, rounds: u64) -> bool {
        let failures: u64 = self.tallies.values().map(Tally::failed).sum();
        let needed = match self.verdict() {
            Verdict::NotThreadSafe => ENOUGH_ROUNDS,
            Verdict::Unknown | Verdict::OnlyOnSeveralCpus => return false,
            Verdict::NoFailure | Verdict::NotRepeated => return false,
            _ => ENOUGH_ROUNDS_ON_ONE_CPU,
        };
        failures >= ENOUGH_FAILURES && rounds >= needed
    }

    fn verdict(&self) -> Verdict {
        let (all, focused, priorities) = (&self.tallies, &self.focused, self.priorities);
        let has_store = |sites: &[usize]| sites.iter().any(|site| self.sites.stores.contains(site));
        let fails_at_store = self.effects.iter().any(|((schedule, sites, _), tally)| {
            *schedule == Schedule::CpusTogether && tally.failed() > 0 && has_store(sites)
        });
        match verdict(&Observations { all, focused, priorities, fails_at_store }) {
            Verdict::NoFailure if self.failure.is_some() => Verdict::NotRepeated,
            verdict => verdict,
        }
    }

    /// Makes a run. The second result tells whether it shows its schedule: one with holds does not
    /// if none of them could change the order of threads.
    fn run(&mut self, choice: &Choice) -> io::Result<(JudgedRun, bool)> {
        let core = self.core_path();
        let run = self.runner.run(Conditions {
            cpus: self.options.cpus(choice.schedule),
            sites: &self.sites.places,
            plan: HoldPlan::for_run(choice, self.first.elapsed),
            timeout: self.first.timeout,
            priorities: self.priorities,
            core: self.failure.is_none().then_some(&core),
        })?;
        // A process of a successful run may have crashed.
        if run.failure.is_none() && run.record.core == Some(Ok(())) {
            fs::remove_file(core)?;
        }
        self.runs += 1;
        if run.record.has_real_time {
            self.priorities = Priorities::RealTime;
        }
        let effective: Vec<_> = run.record.holds.iter().filter(|hold| hold.is_effective).collect();
        let mut holds: BTreeMap<usize, u64> = BTreeMap::new();
        for site in effective.iter().filter_map(|hold| hold.site) {
            *holds.entry(site).or_default() += 1;
        }
        for (site, holds) in &holds {
            let count = &mut self.site_counts[*site];
            count.holds += holds;
            count.runs += 1;
            count.failures += u64::from(run.failure.is_some());
        }
        self.chooser.learn(choice, &run.record.hits_at);
        let elapsed_s = run.record.elapsed.as_secs_f64();
        if choice.schedule == Schedule::CpusHolds && !effective.is_empty() && run.failure.is_none() {
            self.held_elapsed.push(elapsed_s);
        }
        self.study.append(&RunLine {
            run: self.runs,
            schedule: choice.schedule,
            seed: choice.seed,
            sites: choice.sites.iter().map(|site| self.sites.places[*site].clone()).collect(),
            hit: choice.hit,
            elapsed_s,
            holds: effective.len() as u64,
            failure: run.failure.clone(),
        })?;
        let is_shown = !choice.schedule.has_holds() || !effective.is_empty();
        Ok((run, is_shown))
    }

    /// File for the core of the first failure.
    fn core_path(&self) -> PathBuf {
        self.options.directory.join(CORE)
    }

    fn is_over(&self) -> bool {
        let is_stopped = self.options.check_stop().is_err();
        // The reason of a failure is worth as many runs as there is time for.
        let default_runs = if self.failure.is_some() { u64::MAX } else { RUNS };
        let is_enough = self.runs >= self.options.runs.unwrap_or(default_runs);
        is_stopped || is_enough || self.began.elapsed() >= self.options.time
    }

    fn into_findings(self) -> Result<Findings, ShakeError> {
        let mut describer = Describer::default();
        let places = &self.sites.places;
        let records = self.site_counts.iter().enumerate().map(|(site, count)| SiteRecord {
            place: places[site].clone(),
            description: describer.describe(&places[site]),
            evidence: self.sites.evidence[site],
            holds: count.holds,
            runs: count.runs,
            failures: count.failures,
        });
        let site_list: Vec<SiteRecord> = records.collect();
        let mut effects: Vec<SiteEffect> = Vec::new();
        for ((schedule, sites, hit), tally) in &self.effects {
            let sites = sites.iter().map(|site| site_list[*site].description.clone()).collect();
            effects.push(SiteEffect { schedule: *schedule, sites, hit: *hit, tally: tally.clone() });
        }
        effects.sort_by(|a, b| b.tally.rate().lo.total_cmp(&a.tally.rate().lo));
        let elapsed_s = self.first.elapsed.as_secs_f64();
        let findings = Findings {
            verdict: self.verdict(),
            cpus: self.options.cpus.len(),
            seed: self.options.seed,
            elapsed_s,
            slowdown: morecores_statistics::median(&self.held_elapsed).map(|held| held / elapsed_s),
            runs: self.runs,
            seconds: self.began.elapsed().as_secs_f64(),
            helgrind: self.sites.helgrind,
            sites: SiteCounts {
                candidates: self.sites.candidates,
                executed: places.len(),
                updates: self.sites.updates.len(),
                held: site_list.iter().filter(|site| site.holds > 0).count(),
            },
            site_list,
            first_failure: self.failure.map(|(first, _)| first),
            tallies: self.tallies,
            effects,
        };
        self.study.finish(&findings)?;
        Ok(findings)
    }
}
