//! Words for each kind of warning: the problem, and the advice.
//!
//! This module chooses no warning and no order; the parent module does.

use std::collections::BTreeMap;

use morecores_study::CpuSet;
use morecores_view::{OperationalLaw, OutsideEvidence, Warning};

use super::failures;
use crate::format::{bytes, cpus, duration, join_with_and, percent, ratio};
use crate::verdict::{PlanSummary, more_runs_advice, stricter_limit, thread_advice, unused_cpus_advice};

/// CPU count that a warning is about and the figure that belongs to it, if the warning has them.
fn cpus_and_figure(warning: &Warning) -> (Option<u32>, f64) {
    match *warning {
        Warning::TooFewRuns { cpus, runs } => (Some(cpus), f64::from(runs)),
        Warning::Outliers { cpus, count }
        | Warning::FailedRuns { cpus, count, .. }
        | Warning::IncompleteRounds { cpus, count, .. }
        | Warning::KilledForMemory { cpus, count, .. } => (Some(cpus), f64::from(count)),
        Warning::Imprecise { cpus, half_width, .. } => (Some(cpus), half_width),
        Warning::FirstRunDiffers { cpus, ratio } | Warning::Drift { cpus, ratio } => (Some(cpus), ratio),
        Warning::Steal { cpus, share } => (Some(cpus), share),
        Warning::WorkOutsideTree { cpus, busy_cpus, .. } => (Some(cpus), busy_cpus),
        Warning::LossyTrace { cpus, share, .. }
        | Warning::RanOutsideCpus { cpus, share, .. }
        | Warning::UserSpinning { cpus, share } => (Some(cpus), share),
        // The sign is dropped: too much explained time is as wrong as too little.
        Warning::UnexplainedTime { cpus, share } => (Some(cpus), share.abs()),
        Warning::LawViolated { cpus, counted_s, integrated_s, .. } => (Some(cpus), counted_s / integrated_s),
        Warning::TraceOverhead { cpus, overhead } => (Some(cpus), overhead),
        Warning::Throttled { cpus, seconds } => (Some(cpus), seconds),
        Warning::QuotaBelowCpus { cpus, quota } => (Some(cpus), quota),
        Warning::ThreadsDidNotFollow { cpus, used, .. } => (Some(cpus), used),
        Warning::DependentRuns { cpus, correlation } => (Some(cpus), correlation),
        Warning::NotBalanced { cpus, .. } | Warning::NoCommonRounds { cpus, .. } => (Some(cpus), f64::NAN),
        Warning::SmtSiblings { cpus } | Warning::MixedCoreTypes { cpus } | Warning::TwoSpeeds { cpus } => {
            (Some(cpus), f64::NAN)
        }
        Warning::OversubscribedBase { cpus, ref workers, .. } => (Some(cpus), f64::from(workers.threads)),
        Warning::NotQuiet { busy_cpus, .. } => (None, busy_cpus),
        Warning::DamagedLines { count } => (None, count as f64),
        Warning::FrequencyScaling { .. }
        | Warning::KnownClient { .. }
        | Warning::OnlyGetrusage
        | Warning::Survivors { .. }
        | Warning::OtherCpusHelp => (None, f64::NAN),
    }
}

/// Words for warnings of one kind.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// The problem, in whole sentences.
    pub(super) problem: String,
    /// Advice, in whole sentences; empty if there is nothing to do.
    advice: String,
}

impl Words {
    fn new(problem: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { problem: problem.into(), advice: advice.into() }
    }

    /// Problem and advice as one text.
    pub(super) fn text(&self) -> String {
        if self.advice.is_empty() {
            self.problem.clone()
        } else {
            format!("{} {}", self.problem, self.advice)
        }
    }
}

/// Words for warnings of one kind; `group` is not empty.
pub(super) fn group_words(group: &[&Warning], plan: &PlanSummary) -> Words {
    let Some(first) = group.first() else { return Words::default() };
    let at = at_counts(group);
    match first {
        Warning::TooFewRuns { .. } => Words::new(
            format!("There is no 95% interval {at}: too few runs ({}).", figure_range(group, whole)),
            more_runs_advice(plan),
        ),
        Warning::Imprecise { precision, .. } => Words::new(
            format!(
                "Precision {at}: {} (the goal was {}).",
                figure_range(group, percent),
                percent(*precision)
            ),
            precision_advice(plan),
        ),
        Warning::Outliers { .. } => Words::new(
            format!(
                "Some runs are far from the others: {}. Every figure includes them.",
                figures_by_count(group)
            ),
            "Find out what else ran at that time, or make more runs.",
        ),
        Warning::FirstRunDiffers { .. } => Words::new(
            format!(
                "The first run {at} took {} times as long as the later ones: its cache was cold, or it did work that \
                 is done only once.",
                figure_range(group, ratio)
            ),
            format!(
                "Use --warmup {} to leave it out, or --prepare or --cold to make every run like it.",
                plan.warmups.saturating_add(1)
            ),
        ),
        Warning::Drift { .. } => Words::new(
            format!(
                "The machine's speed changed during the study: the later half of the runs {at} took {} times as long \
                 as the earlier half.",
                figure_range(group, ratio)
            ),
            "Look for heat, a changing clock rate or another busy program, and repeat.",
        ),
        Warning::DependentRuns { .. } => Words::new(
            format!(
                "Each run {at} resembles the one before it (correlation {}), so the intervals are too narrow.",
                figure_range(group, two_places)
            ),
            "Look for something that changes slowly: heat, a clock rate, another program. Repeat, or space the runs \
             with --prepare 'sleep 1'.",
        ),
        Warning::TwoSpeeds { .. } => Words::new(
            format!("The runs {at} have two speeds, so the median may be either."),
            "Find the difference between them (memory placement, huge pages, another program); `morecores show \
             --json` has the spread.",
        ),
        Warning::Steal { .. } => Words::new(
            format!(
                "The hypervisor took {} of the CPUs' time {at} (steal), so the speedup may be wrong.",
                figure_range(group, percent)
            ),
            "Repeat at a quieter time, or on a machine with CPUs of its own.",
        ),
        Warning::Throttled { .. } => Words::new(
            format!(
                "A CPU quota held the command back {at} for {}, summed over its runs and CPUs, so the figures describe \
                 the quota.",
                figure_range(group, duration)
            ),
            "Raise the quota to measure the command alone; `morecores topology` shows where it is set.",
        ),
        Warning::NotBalanced { cpu_set, by_cpuset, .. } => Words::new(
            format!(
                "The scheduler does not balance the load {at} ({}): each thread stays on its first CPU, while other \
                 CPUs may be idle.",
                named_cpus(widest_set(group).unwrap_or(cpu_set))
            ),
            if *by_cpuset {
                "Use --limit cpuset (as root), which balances it; or pin the threads, or choose other CPUs with \
                 --cpu-list. `morecores topology` shows where balancing is off."
            } else {
                "Pin the threads, or choose other CPUs with --cpu-list. `morecores topology` shows where balancing is \
                 off."
            },
        ),
        Warning::QuotaBelowCpus { .. } => Words::new(
            format!(
                "A CPU quota allows the time of {} CPUs, fewer than allotted {at}, so the figures there describe the \
                 quota.",
                figure_range(group, one_place)
            ),
            "Raise the quota or measure fewer CPUs; `morecores topology` shows where it is set.",
        ),
        Warning::SmtSiblings { .. } => Words::new(
            format!("The counts {at} include SMT siblings of busy cores, which give less than whole cores."),
            "Judge these counts apart.",
        ),
        Warning::MixedCoreTypes { .. } => Words::new(
            format!(
                "The counts {at} mix cores of different types, so their efficiency and serial fraction are not valid."
            ),
            "Choose CPUs of one type with --cpu-list.",
        ),
        Warning::FrequencyScaling { governor, boost } => frequency_words(governor.as_deref(), *boost),
        Warning::ThreadsDidNotFollow { gets_count, .. } => Words::new(
            format!("The command kept only {} CPUs busy {at}.", figure_range(group, one_place)),
            unused_cpus_advice(*gets_count),
        ),
        Warning::WorkOutsideTree { of_cpus, .. } => Words::new(
            format!(
                "Other programs kept {} of {} busy during the runs {at}{}.",
                figure_range(group, two_places),
                cpus(*of_cpus),
                other_program_names(group)
            ),
            "If they are not part of what you measure, stop them and repeat; if they are, start them inside the \
             command.",
        ),
        Warning::KnownClient { program, daemon } => Words::new(
            format!(
                "{program} passes its work to {daemon}, which runs outside the CPU limit and is in no figure."
            ),
            "Measure a command that does the work itself.",
        ),
        Warning::NotQuiet { of_cpus, .. } => Words::new(
            format!(
                "Other programs kept {} of {} busy while nothing was measured{}.",
                figure_range(group, two_places),
                cpus(*of_cpus),
                other_program_names(group)
            ),
            "Stop them and repeat.",
        ),
        Warning::OnlyGetrusage => Words::new(
            "User and system time come from getrusage alone. It counts much system time of short processes as user \
             time, and misses processes without a waiting parent.",
            "`morecores doctor` says how to enable the cgroup's counters.",
        ),
        Warning::Survivors { kept: true, .. } => Words::new(
            format!(
                "Processes outlived the command{} and were left running, so later runs shared the CPUs with them.",
                survivor_names(group)
            ),
            "",
        ),
        Warning::Survivors { kept: false, .. } => Words::new(
            format!("Processes outlived the command{} and were ended after each run.", survivor_names(group)),
            "Make the command wait for them, or let them run with --keep.",
        ),
        Warning::FailedRuns { .. } => Words::new(
            format!(
                "Some runs failed and are in no figure: {}{}. The other runs may be a biased choice.",
                figures_by_count(group),
                failures::failure_list(group)
            ),
            format!("Find out why they failed.{}", failures::success_advice(group)),
        ),
        Warning::IncompleteRounds { .. } => Words::new(
            format!(
                "The speedup leaves out runs whose round has no successful run of the other CPU count: {}.",
                unpaired_runs(group)
            ),
            "",
        ),
        Warning::NoCommonRounds { base_cpus, .. } => Words::new(
            format!(
                "The speedup {at} compares two medians, because no round has exactly one run of this count and one \
                 at {}. Its interval includes what all runs of a round have in common.",
                cpus(*base_cpus)
            ),
            "",
        ),
        Warning::KilledForMemory { .. } => killed_for_memory_words(group, &at),
        Warning::DamagedLines { .. } => {
            let lines = match group.iter().map(|w| cpus_and_figure(w).1).sum::<f64>() {
                1.0 => "1 damaged line of runs.jsonl is".to_owned(),
                count => format!("{} damaged lines of runs.jsonl are", whole(count)),
            };
            Words::new(format!("{lines} in no figure. The runs on them are lost; the others are whole."), "")
        }
        Warning::LossyTrace { .. } => Words::new(
            format!(
                "The tracer lost {} of the events {at}, so every traced figure there is a guess.",
                figure_range(group, percent)
            ),
            "Repeat the trace; without --syscalls it has fewer events.",
        ),
        Warning::RanOutsideCpus { .. } => Words::new(
            format!(
                "The command set its own affinity and ran on CPUs that it was not allotted, for {}{} of the allotted \
                 CPUs' time {at}, so those points are not valid.",
                if group.iter().all(|w| is_lower_bound(w)) { "at least " } else { "" },
                figure_range(group, percent)
            ),
            stricter_limit(plan.limit).map(|option| format!("Use {option}.")).unwrap_or_default(),
        ),
        Warning::TraceOverhead { .. } => Words::new(
            format!(
                "The traced run {at} took {} longer than the timed runs, so its losses may differ from theirs. The \
                 speedup comes from the timed runs alone.",
                figure_range(group, percent)
            ),
            "",
        ),
        Warning::UnexplainedTime { .. } => Words::new(
            format!(
                "The trace does not explain {} of the CPUs' time {at}, so smaller causes are not certain.",
                figure_range(group, percent)
            ),
            "`morecores doctor` says what cannot be traced here.",
        ),
        Warning::LawViolated { law, .. } => Words::new(
            format!(
                "The trace contradicts itself {at}: counted by its events, {} is {} times as long as by its \
                 timeline. Events are missing or assigned wrongly, so the causes are not certain.",
                law_name(*law),
                figure_range(group, ratio)
            ),
            "Trace again; if it repeats, report it with the study.",
        ),
        Warning::UserSpinning { .. } => Words::new(
            format!(
                "Threads spent {} of the CPUs' time {at} spinning in the program's own loops. The figures count this \
                 as work.",
                figure_range(group, percent)
            ),
            "Look for spin locks and busy waiting in the program.",
        ),
        Warning::OversubscribedBase { workers, gets_count, .. } => Words::new(
            format!(
                "The command ran {} threads at once (`{}`) {at}. They took turns, which slows that count down and \
                 makes the speedup of the others look larger.",
                workers.threads, workers.name
            ),
            thread_advice(*gets_count, plan.limit),
        ),
        Warning::OtherCpusHelp => Words::new(
            "The other CPUs serve interrupts and kernel threads during the runs, so the smallest CPU count looks \
             faster than on a smaller machine.",
            "Only --limit hotplug (as root) prevents this.",
        ),
    }
}

/// Number of runs, or the time, that would reach the precision.
fn precision_advice(plan: &PlanSummary) -> String {
    match plan.rounds_until_precise.filter(|_| !plan.out_of_time) {
        Some(rounds) => format!("For more: --resume --runs {rounds}."),
        None => "For more: --resume with a longer --max-time.".to_owned(),
    }
}

/// Largest set of CPUs among the warnings of a group.
fn widest_set<'a>(group: &[&'a Warning]) -> Option<&'a CpuSet> {
    let sets = group.iter().filter_map(|warning| match warning {
        Warning::NotBalanced { cpu_set, .. } => Some(cpu_set),
        _ => None,
    });
    sets.max_by_key(|cpus| cpus.len())
}

/// Names a set of CPUs: `CPU 3`, `CPUs 0-3`.
fn named_cpus(cpus: &CpuSet) -> String {
    if cpus.len() == 1 { format!("CPU {cpus}") } else { format!("CPUs {cpus}") }
}

/// Whether the share of time on other CPUs is known from CPU time alone, and so is a lower bound.
fn is_lower_bound(warning: &Warning) -> bool {
    matches!(warning, Warning::RanOutsideCpus { evidence: OutsideEvidence::CpuTime, .. })
}

/// Warning about settings that may change the clock rate, as far as they are known.
fn frequency_words(governor: Option<&str>, boost: Option<bool>) -> Words {
    let governor = governor.map(|g| format!("governor {g}"));
    let boost = boost.filter(|on| *on).map(|_| "boost on".to_owned());
    let what: Vec<String> = governor.into_iter().chain(boost).collect();
    let what = if what.is_empty() { String::new() } else { format!(" ({})", what.join(", ")) };
    Words::new(
        format!(
            "The clock rate may have fallen with the number of busy CPUs{what}, so few CPUs look faster than many."
        ),
        "`morecores doctor` says how to fix the rate during a measurement.",
    )
}

/// Names of the programs that disturbed the runs, each once, busiest first: ` (cc1plus, dockerd)`.
fn other_program_names(group: &[&Warning]) -> String {
    const SHOWN: usize = 3;
    let mut names: Vec<&str> = Vec::new();
    for warning in group {
        if let Warning::WorkOutsideTree { other_programs, .. } | Warning::NotQuiet { other_programs, .. } =
            warning
        {
            for program in other_programs {
                if names.len() < SHOWN && !names.contains(&program.name.as_str()) {
                    names.push(&program.name);
                }
            }
        }
    }
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}

/// Names of the processes killed for memory, the memory that a job needs, and the memory limit.
fn killed_for_memory_words(group: &[&Warning], at: &str) -> Words {
    let (mut killed, mut job, mut limit) = (Vec::new(), None, None);
    for warning in group {
        if let Warning::KilledForMemory { names, job_bytes, limit_bytes, .. } = warning {
            killed.extend(names.iter().map(String::as_str));
            job = job.max(*job_bytes);
            limit = [limit, *limit_bytes].into_iter().flatten().min();
        }
    }
    killed.sort_unstable();
    killed.dedup();
    let what = if killed.is_empty() { "processes of the command".to_owned() } else { join_with_and(killed) };
    let size = |size: u64| bytes(size as f64);
    let need = job.map(|job| format!("each job needs about {}", size(job)));
    let limit = limit.map(|limit| format!("the limit is {}", size(limit)));
    let why: Vec<String> = need.into_iter().chain(limit).collect();
    let why = if why.is_empty() { String::new() } else { format!(": {}", why.join(", ")) };
    Words::new(
        format!("The kernel killed {what} for lack of memory {at}{why}."),
        "Give the command more memory, or measure fewer CPUs.",
    )
}

/// Names of surviving processes, each once: ` (gopls)`.
fn survivor_names(group: &[&Warning]) -> String {
    let mut all: Vec<&str> = Vec::new();
    for warning in group {
        if let Warning::Survivors { names, .. } = warning {
            all.extend(names.iter().map(String::as_str));
        }
    }
    all.sort_unstable();
    all.dedup();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join(", ")) }
}

/// CPU counts of a group: `at 2 and 4 CPUs`.
fn at_counts(group: &[&Warning]) -> String {
    let mut counts: Vec<u32> = group.iter().filter_map(|w| cpus_and_figure(w).0).collect();
    counts.sort_unstable();
    counts.dedup();
    match counts.as_slice() {
        [] => String::new(),
        [only] => format!("at {}", cpus(*only)),
        _ => format!("at {} CPUs", join_with_and(&counts)),
    }
}

/// Figures of a group with their CPU counts: `1 at 1 CPU, 2 at 4 CPUs`.
fn figures_by_count(group: &[&Warning]) -> String {
    let mut by_count: Vec<(u32, f64)> =
        group.iter().filter_map(|w| cpus_and_figure(w).0.map(|cpus| (cpus, cpus_and_figure(w).1))).collect();
    by_count.sort_by_key(|(cpus, _)| *cpus);
    let words = by_count.iter().map(|(n, count)| format!("{count:.0} at {}", cpus(*n)));
    words.collect::<Vec<_>>().join(", ")
}

/// Runs that the speedups leave out, by CPU count: `1 at 1 CPU, 2 at 4 CPUs`. For the base, this is
/// the largest number of all speedups.
fn unpaired_runs(group: &[&Warning]) -> String {
    let mut by_count: BTreeMap<u32, u32> = BTreeMap::new();
    for warning in group {
        if let Warning::IncompleteRounds { cpus, count, base_cpus, base_count } = **warning {
            for (cpus, count) in [(cpus, count), (base_cpus, base_count)] {
                let most = by_count.entry(cpus).or_default();
                *most = count.max(*most);
            }
        }
    }
    let words = by_count.iter().filter(|(_, runs)| **runs > 0);
    words.map(|(n, runs)| format!("{runs} at {}", cpus(*n))).collect::<Vec<_>>().join(", ")
}

/// Range of a group's figures, smallest to largest: `3.1%`, `1.2% to 3.1%`.
fn figure_range(group: &[&Warning], write: fn(f64) -> String) -> String {
    let figures = || group.iter().map(|w| cpus_and_figure(w).1);
    let low = write(figures().fold(f64::INFINITY, f64::min));
    let high = write(figures().fold(f64::NEG_INFINITY, f64::max));
    if low == high { low } else { format!("{low} to {high}") }
}

/// Time that an operational law is about.
pub(super) const fn law_name(law: OperationalLaw) -> &'static str {
    match law {
        OperationalLaw::RunQueue => "the waiting for a CPU",
        OperationalLaw::FutexWaits => "the waiting for futexes",
        OperationalLaw::OtherWaits => "the waiting for everything but futexes and CPUs",
        OperationalLaw::CpuTime => "the command's CPU time",
    }
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

fn one_place(value: f64) -> String {
    format!("{value:.1}")
}

fn two_places(value: f64) -> String {
    format!("{value:.2}")
}
