//! Warnings in words: one sentence for the problem, then what to do about it.
//!
//! Warnings of one kind are merged over CPU counts and sorted by their effect on the verdict. The
//! analysis decides whether to warn; this module never does.

mod failures;
mod rank;

pub use failures::success_list;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use morecores_study::CpuSet;
use morecores_view::{OutsideEvidence, Warning};

use crate::format::{bytes, cpus, duration, join_with_and, percent, ratio};
use crate::verdict::{PlanSummary, Verdict, VerdictKind, stricter_limit, thread_advice};

use rank::{Rank, rank};

pub use morecores_view::page::Severity;

/// One warning in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Weight of the warning.
    pub severity: Severity,
    /// The problem and what to do about it, in whole sentences on one line.
    pub text: String,
}

/// Warnings in words. Similar warnings are merged; those with the largest effect on the verdict
/// come first. A warning that the verdict already states is left out.
pub fn notices(warnings: &[Warning], verdict: &Verdict) -> Vec<Notice> {
    let in_verdict = |warning: &Warning| match verdict.kind {
        VerdictKind::NoBaseline { .. } => matches!(warning, Warning::CrowdedBase { .. }),
        VerdictKind::RanOutsideCpus(_) => matches!(warning, Warning::RanOutsideCpus { .. }),
        VerdictKind::UnusedCpus { .. } => matches!(warning, Warning::ThreadsDidNotFollow { .. }),
        VerdictKind::TooFewRuns(_) | VerdictKind::Likely(_) | VerdictKind::AlreadyDone => {
            matches!(warning, Warning::TooFewRuns { .. })
        }
        _ => false,
    };
    merge_notices(warnings.iter().filter(|w| !in_verdict(w)), &verdict.plan)
}

fn merge_notices<'a>(warnings: impl Iterator<Item = &'a Warning>, plan: &PlanSummary) -> Vec<Notice> {
    let mut groups: BTreeMap<Rank, Vec<&Warning>> = BTreeMap::new();
    for warning in warnings {
        groups.entry(rank(warning)).or_default().push(warning);
    }
    groups
        .into_iter()
        .map(|(Reverse((effect, ..)), group)| Notice {
            severity: effect.severity(),
            text: group_text(&group, plan),
        })
        .collect()
}

/// Problems of timed figures, in words and without advice, for a reader who did not run the study.
/// Leaves out the warning about a command that got no thread count: a benchmark may be like that by
/// its nature.
pub(crate) fn spoiling_sentences(warnings: &[Warning]) -> Vec<String> {
    let is_spoiling = |warning: &&Warning| {
        matches!(
            warning,
            Warning::FailedRuns { .. }
                | Warning::WorkOutsideTree { .. }
                | Warning::QuotaBelowCpus { .. }
                | Warning::NotBalanced { .. }
                | Warning::Throttled { .. }
                | Warning::RanOutsideCpus { .. }
                | Warning::KilledForMemory { .. }
                | Warning::TooFewRuns { .. }
                | Warning::DamagedLines { .. }
                | Warning::Steal { .. }
                | Warning::Drift { .. }
                | Warning::DependentRuns { .. }
                | Warning::TwoSpeeds { .. }
                | Warning::NotQuiet { .. }
        )
    };
    // The advice is left out, so the plan does not matter.
    merge_notices(warnings.iter().filter(is_spoiling), &PlanSummary::default())
        .iter()
        .map(|notice| first_sentence(&notice.text))
        .collect()
}

/// Warnings of a study of locks in words: the problem, worded as for a study of a command. The
/// advice is shorter, because other programs' work is never part of the measurement there.
pub(crate) fn lock_notices(warnings: &[Warning]) -> Vec<Notice> {
    let notices = merge_notices(warnings.iter(), &PlanSummary::default()).into_iter();
    notices
        .map(|Notice { severity, text }| Notice {
            severity,
            text: format!("{} Stop them and repeat.", first_sentence(&text)),
        })
        .collect()
}

fn first_sentence(text: &str) -> String {
    text.split_once(". ").map_or_else(|| text.to_owned(), |(first, _)| format!("{first}."))
}

/// CPU count that a warning is about and the figure that belongs to it, if the warning has them.
fn cpus_and_figure(warning: &Warning) -> (Option<u32>, f64) {
    match *warning {
        Warning::TooFewRuns { cpus, runs } => (Some(cpus), f64::from(runs)),
        Warning::Outliers { cpus, count }
        | Warning::FailedRuns { cpus, count, .. }
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
        Warning::TraceOverhead { cpus, overhead } => (Some(cpus), overhead),
        Warning::Throttled { cpus, seconds } => (Some(cpus), seconds),
        Warning::QuotaBelowCpus { cpus, quota } => (Some(cpus), quota),
        Warning::ThreadsDidNotFollow { cpus, used, .. } => (Some(cpus), used),
        Warning::DependentRuns { cpus, correlation } => (Some(cpus), correlation),
        Warning::NotBalanced { cpus, .. } => (Some(cpus), f64::NAN),
        Warning::SmtSiblings { cpus } | Warning::MixedCoreTypes { cpus } | Warning::TwoSpeeds { cpus } => {
            (Some(cpus), f64::NAN)
        }
        Warning::CrowdedBase { cpus, ref workers, .. } => (Some(cpus), f64::from(workers.threads)),
        Warning::NotQuiet { busy_cpus, .. } => (None, busy_cpus),
        Warning::DamagedLines { count } => (None, count as f64),
        Warning::FrequencyScaling { .. }
        | Warning::KnownClient { .. }
        | Warning::OnlyGetrusage
        | Warning::Survivors { .. }
        | Warning::OtherCpusHelp => (None, f64::NAN),
    }
}

/// Words for warnings of one kind; `group` is not empty.
fn group_text(group: &[&Warning], plan: &PlanSummary) -> String {
    let Some(first) = group.first() else { return String::new() };
    let at = at_counts(group);
    match first {
        Warning::TooFewRuns { .. } => format!(
            "There is no 95% interval {at}: {} of the 6 runs that it takes. Use {}.",
            figure_range(group, whole),
            match (plan.out_of_time, plan.runs < 6) {
                (false, _) => "--runs 6 or more",
                (true, false) => "a longer --max-time: the time ran out before",
                (true, true) => "--runs 6 or more, and a longer --max-time",
            }
        ),
        Warning::Imprecise { precision, .. } => format!(
            "The median {at} is known to within {}, not to the {} asked for. Allow more runs \
             (--runs, --max-time), or make the machine quieter.",
            figure_range(group, percent),
            percent(*precision)
        ),
        Warning::Outliers { .. } => format!(
            "Runs far from the others: {}. They count in every figure. See what else ran at that \
             time; more runs outweigh them.",
            figures_by_count(group)
        ),
        Warning::FirstRunDiffers { .. } => format!(
            "The first run {at} took {} times as long as the later ones: a cold cache, or work that \
             is done only once. Use --warmup {} to leave it out, or --prepare or --cold to make every \
             run like it.",
            figure_range(group, ratio),
            plan.warmups.saturating_add(1)
        ),
        Warning::Drift { .. } => format!(
            "The machine's speed changed during the study: the later half of the runs {at} took {} \
             times as long as the earlier half. Look for heat, a changing clock rate or a neighbour, \
             and repeat.",
            figure_range(group, ratio)
        ),
        Warning::DependentRuns { .. } => format!(
            "Each run {at} resembles the one before it (correlation {}), so the intervals are too \
             narrow. Something changes slowly: heat, a clock rate, a neighbour. Repeat, or space the \
             runs with --prepare 'sleep 1'.",
            figure_range(group, two_places)
        ),
        Warning::TwoSpeeds { .. } => format!(
            "The runs {at} have two speeds, so the median may be either. Find what differs (memory \
             placement, huge pages, a neighbour); `morecores show --json` has the spread."
        ),
        Warning::Steal { .. } => format!(
            "The hypervisor took {} of the CPUs' time {at} (steal), so the speedup may be off. \
             Repeat at a quieter time, or on a machine with CPUs of its own.",
            figure_range(group, percent)
        ),
        Warning::Throttled { .. } => format!(
            "A CPU quota held the command back {at}, for {} over all its runs (each CPU held counts): the figures are of \
             the command under that quota. For those of the command alone raise it; `morecores topology` shows where it \
             is set.",
            figure_range(group, duration)
        ),
        Warning::NotBalanced { cpu_set, by_cpuset, .. } => format!(
            "The scheduler does not balance the load {at} ({}): threads stay on the CPU that they start on, while \
             others may be idle. {}Pin the threads, or choose other CPUs with --cpu-list; `morecores topology` shows \
             where it is set.",
            named_cpus(widest_set(group).unwrap_or(cpu_set)),
            if *by_cpuset { "Use --limit cpuset (as root), where it does. " } else { "" }
        ),
        Warning::QuotaBelowCpus { .. } => format!(
            "A CPU quota allows {} CPUs' worth of time, less than was allotted {at}: the figures there say what the \
             command gets out of the quota, not out of the CPUs. For the latter raise it, or measure fewer CPUs; \
             `morecores topology` shows where it is set.",
            figure_range(group, one_place)
        ),
        Warning::SmtSiblings { .. } => format!(
            "SMT siblings, second threads of cores already in use, take part {at} and give less than \
             whole cores: judge those counts apart."
        ),
        Warning::MixedCoreTypes { .. } => format!(
            "Cores of different types work together {at}, so efficiency and serial fraction do not \
             mean what they say. Choose CPUs of one type with --cpu-list."
        ),
        Warning::FrequencyScaling { governor, boost } => frequency_text(governor.as_deref(), *boost),
        Warning::ThreadsDidNotFollow { told, .. } => format!(
            "The command kept only {} CPUs busy {at}, {}",
            figure_range(group, one_place),
            if *told {
                "though it was told how many it had. It has too little parallel work, or takes its \
                 thread count from elsewhere: see its manual."
            } else {
                "and nothing told it how many it had. Put {n} where it takes a thread count, or use --thread-env."
            }
        ),
        Warning::WorkOutsideTree { of_cpus, .. } => format!(
            "Other programs kept {} of {} busy during the runs {at}{}. If they are not part of what you \
             measure, stop them and repeat; if they are, start them inside the command.",
            figure_range(group, two_places),
            cpus(*of_cpus),
            neighbour_names(group)
        ),
        Warning::KnownClient { program, daemon } => format!(
            "{program} hands its work to {daemon}, which runs outside the CPU limit and is counted \
             in no figure. Measure a command that does the work itself."
        ),
        Warning::NotQuiet { of_cpus, .. } => format!(
            "Other programs kept {} of {} busy while nothing was measured{}. Stop them and repeat.",
            figure_range(group, two_places),
            cpus(*of_cpus),
            neighbour_names(group)
        ),
        Warning::OnlyGetrusage => "User and system time come from getrusage alone, which counts much \
            of short processes' system time as user time and misses processes that nobody waited \
            for. `morecores doctor` says how to enable the cgroup's counters."
            .to_owned(),
        Warning::Survivors { kept, .. } => format!(
            "Processes outlived the command{}{}",
            survivor_names(group),
            if *kept {
                " and were left running, so later runs shared the CPUs with them."
            } else {
                " and were ended after each run. Wait for them in the command, or leave them with --keep."
            }
        ),
        Warning::FailedRuns { .. } => format!(
            "Failed runs, left out of every figure: {}{}. The runs that are left may be a biased \
             choice: find out why the others failed.{}",
            figures_by_count(group),
            failures::failure_list(group),
            failures::success_advice(group)
        ),
        Warning::KilledForMemory { .. } => killed_for_memory_text(group, &at),
        Warning::DamagedLines { .. } => format!(
            "Damaged lines of runs.jsonl, left out of every figure: {}. The runs that they held are \
             lost; the others are whole.",
            figure_range(group, whole)
        ),
        Warning::LossyTrace { .. } => format!(
            "The tracer lost {} of the events {at}, so every traced figure there is a guess. Repeat it; \
             without --syscalls there are fewer events.",
            figure_range(group, percent)
        ),
        Warning::RanOutsideCpus { .. } => format!(
            "The command ran on CPUs that it was not allotted, for {}{} of the allotted CPUs' time {at}, so those \
             points are not valid: it sets its own affinity.{}",
            if group.iter().all(|w| is_lower_bound(w)) { "at least " } else { "" },
            figure_range(group, percent),
            stricter_limit(plan.limit).map(|option| format!(" Use {option}.")).unwrap_or_default()
        ),
        Warning::TraceOverhead { .. } => format!(
            "The traced run {at} took {} longer than the untraced ones, so it may have waited for other things. \
             The speedup is not affected; read where the CPUs went with care.",
            figure_range(group, percent)
        ),
        Warning::UnexplainedTime { .. } => format!(
            "Of the CPUs' time {at}, {} does not add up in the trace: take no cause of that size at its word. \
             `morecores doctor` says what cannot be traced here.",
            figure_range(group, percent)
        ),
        Warning::UserSpinning { .. } => format!(
            "Threads spent {} of the CPUs' time {at} spinning in the program's own loops. It is counted as work \
             and is none: look for spin locks and busy waiting in user space.",
            figure_range(group, percent)
        ),
        Warning::CrowdedBase { workers, told, .. } => format!(
            "The command ran {} threads at once (`{}`) {at}, so that they took turns there: switching, and waiting for \
             each other in loops, slows that count and flatters the others. {}",
            workers.threads,
            workers.name,
            thread_advice(*told, plan.limit)
        ),
        Warning::OtherCpusHelp => "The other CPUs go on serving interrupts and kernel threads, which \
            flatters the smallest CPU count. Only --limit hotplug (as root) prevents that."
            .to_owned(),
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
fn frequency_text(governor: Option<&str>, boost: Option<bool>) -> String {
    let governor = governor.map(|g| format!("governor {g}"));
    let boost = boost.filter(|on| *on).map(|_| "boost on".to_owned());
    let what: Vec<String> = governor.into_iter().chain(boost).collect();
    let what = if what.is_empty() { String::new() } else { format!(" ({})", what.join(", ")) };
    format!(
        "The clock rate may have changed with the number of busy CPUs{what}, which makes few CPUs \
         look faster than many. `morecores doctor` says how to fix it while you measure."
    )
}

/// Names of the programs that disturbed the runs, each once, busiest first: ` (cc1plus, dockerd)`.
fn neighbour_names(group: &[&Warning]) -> String {
    const SHOWN: usize = 3;
    let mut names: Vec<&str> = Vec::new();
    for warning in group {
        if let Warning::WorkOutsideTree { neighbours, .. } | Warning::NotQuiet { neighbours, .. } = warning {
            for neighbour in neighbours {
                if names.len() < SHOWN && !names.contains(&neighbour.name.as_str()) {
                    names.push(&neighbour.name);
                }
            }
        }
    }
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}

/// Names of the processes killed for memory, the memory that a job needs, and the memory limit.
fn killed_for_memory_text(group: &[&Warning], at: &str) -> String {
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
    format!("The kernel killed {what} for memory {at}{why}. Give it more memory, or measure fewer CPUs.")
}

/// Words for one warning, without merging.
pub fn warning_sentence(warning: &Warning) -> String {
    group_text(&[warning], &PlanSummary::default())
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

/// Range of a group's figures, smallest to largest: `3.1%`, `1.2% to 3.1%`.
fn figure_range(group: &[&Warning], write: fn(f64) -> String) -> String {
    let figures = || group.iter().map(|w| cpus_and_figure(w).1);
    let low = write(figures().fold(f64::INFINITY, f64::min));
    let high = write(figures().fold(f64::NEG_INFINITY, f64::max));
    if low == high { low } else { format!("{low} to {high}") }
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
