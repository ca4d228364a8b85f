//! Warnings of conditions that spoil, or may spoil, a study, each with its bound.
//!
//! This module decides on the warnings and their figures; the report writes the text.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::{FailureCount, OutsideEvidence, PointView, Warning};
use morecores_study::{
    Command, CpuEstimator, CpuKind, Failure, Goal, InCell, Limit, Plan, Run, StopReason, Study, Surroundings,
};

use super::warning_list::WarningList;
use crate::memory_kills::killed_for_memory;
use crate::others::OtherPrograms;
use crate::sample::Sample;
use crate::types::{find_base, find_in_cell};
use morecores_statistics::{Disturbances, MIN_RUNS, has_two_speeds, median, outliers, round_ratios};

/// Share of the CPUs' time that may be lost without a warning. A smaller share cannot move a
/// speedup by more than the default precision.
const NEGLIGIBLE_SHARE: f64 = 0.01;
/// Largest number of used CPUs that counts as running on one.
const MAX_CPUS_OF_ONE: f64 = 1.1;
/// Threshold of the ratio of the growth in used CPUs to the growth in given CPUs; less is no
/// growth.
const LEAST_GROWTH: f64 = 0.1;
/// Threshold of other programs' share of the added CPUs; more may explain why the command used no
/// more CPUs. The threshold is more than twice the growth that counts as none.
const TAKEN_SHARE: f64 = 0.25;

/// Excess of one run's CPU time over the time of its CPUs, in seconds, that proves nothing. It
/// covers the time of the process between fork and exec, and a tick of 10 ms (`CONFIG_HZ=100`), the
/// coarsest of the compared clocks.
const CLOCK_TOLERANCE_S: f64 = 0.01;

/// Programs that hand their work to a daemon, each with its daemon.
const DAEMON_CLIENTS: &[(&str, &str)] = &[
    ("docker", "the Docker engine"),
    ("podman", "conmon and the OCI runtime, in a cgroup of their own"),
    ("nerdctl", "containerd"),
    ("kubectl", "the cluster's nodes"),
    ("sccache", "the sccache server"),
    ("distcc", "distccd"),
    ("bazel", "the Bazel server"),
    ("bazelisk", "the Bazel server"),
    ("buck2", "the Buck daemon"),
    ("gradle", "the Gradle daemon"),
    ("gradlew", "the Gradle daemon"),
    ("mvnd", "the Maven daemon"),
    ("nix", "nix-daemon"),
    ("nix-build", "nix-daemon"),
    ("systemd-run", "a unit of systemd's"),
    ("ssh", "another machine"),
    ("srun", "slurmstepd"),
    ("sbatch", "slurmstepd"),
];

/// Returns all warnings of a study; `points` are the views of those `samples` that have runs.
pub(super) fn study_warnings(study: &Study, samples: &[Sample<'_>], points: &[PointView]) -> WarningList {
    let mut warnings = WarningList::default();
    warnings.extend(None, whole_study_warnings(study, points));
    for sample in samples {
        warnings.extend(Some(&sample.cell()), killed_for_memory(study, sample.point));
    }
    for sample in samples.iter().filter(|sample| !sample.failed.is_empty()) {
        warnings.extend(Some(&sample.cell()), [failed_runs(&study.header.plan, sample)]);
    }
    for (sample, disturbances) in samples.iter().zip(disturbance_warnings(study, samples)) {
        if let Some(point) = find_in_cell(points, &sample.cell()) {
            let mut own = Vec::new();
            let work = sample.cell().work_coordinates();
            let group = points.iter().filter(|point| point.cell().work_coordinates() == work);
            push_run_warnings(study, sample, point, group.count() == 1, disturbances, &mut own);
            push_machine_warnings(study, sample, point, &mut own);
            own.extend(
                find_base(samples.iter().filter(|s| !s.runs.is_empty()), &sample.cell())
                    .and_then(|base| round_warning(study, base, sample)),
            );
            warnings.extend(Some(&sample.cell()), own);
        }
    }
    push_thread_warnings(study, samples, points, &mut warnings);
    warnings
}

/// Returns the warning of the failed runs of one count, with the kinds of failure.
fn failed_runs(plan: &Plan, sample: &Sample<'_>) -> Warning {
    let mut ways: BTreeMap<Failure, u32> = BTreeMap::new();
    for failure in sample.failed.iter().filter_map(|run| run.failure(plan)) {
        *ways.entry(failure).or_default() += 1;
    }
    let mut failures: Vec<_> = ways.into_iter().map(|(how, count)| FailureCount { how, count }).collect();
    failures.sort_by_key(|failure| Reverse(failure.count));
    Warning::FailedRuns {
        cpus: sample.point.cpus,
        count: sample.failed.len() as u32,
        failures,
        success: plan.success.clone(),
    }
}

/// Returns the warning of the runs that the speedup of one count leaves out, or of medians in place
/// of the ratios within rounds.
fn round_warning(study: &Study, base: &Sample<'_>, sample: &Sample<'_>) -> Option<Warning> {
    if std::ptr::eq(base.point, sample.point) || study.header.plan.goal == Goal::Tune {
        return None;
    }
    let better = study.header.plan.better();
    let (cpus, base_cpus) = (sample.point.cpus, base.point.cpus);
    let Some(paired) = round_ratios(&base.round_values(), &sample.round_values(), better) else {
        // A figure of zero has no ratio in any round, and the verdict says so.
        let is_ratio = base.values().iter().chain(&sample.values()).all(|value| *value > 0.0);
        return is_ratio.then_some(Warning::NoCommonRounds { cpus, base_cpus });
    };
    let (count, base_count) = (paired.unpaired_runs as u32, paired.unpaired_base as u32);
    (count + base_count > 0).then_some(Warning::IncompleteRounds { cpus, count, base_cpus, base_count })
}

/// Returns the warnings of the study as a whole.
fn whole_study_warnings(study: &Study, points: &[PointView]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let header = &study.header;
    if study.damaged_lines > 0 {
        warnings.push(Warning::DamagedLines { count: study.damaged_lines });
    }
    let client = program_name(&header.subject);
    if let Some((program, daemon)) = DAEMON_CLIENTS.iter().find(|(name, _)| *name == client) {
        warnings.push(Warning::KnownClient { program: (*program).to_owned(), daemon: (*daemon).to_owned() });
    }
    if points.iter().any(|point| point.kernel_ratio_estimator == CpuEstimator::Getrusage) {
        warnings.push(Warning::OnlyGetrusage);
    }
    warnings.extend(other_programs(study).busy_machine());
    let frequency = &header.host.frequency;
    let steady = frequency.governor.as_deref().is_none_or(|governor| governor == "performance");
    if !steady || frequency.boost == Some(true) {
        warnings
            .push(Warning::FrequencyScaling { governor: frequency.governor.clone(), boost: frequency.boost });
    }
    let mut survivors: Vec<String> =
        study.runs.iter().flat_map(|run| run.survivors.iter().cloned()).collect();
    survivors.sort();
    survivors.dedup();
    if !survivors.is_empty() {
        warnings.push(Warning::Survivors { names: survivors, kept: header.plan.keep_survivors });
    }
    let fewer_than_online =
        points.first().is_some_and(|p| p.cpu_set.len() < header.host.topology.online.len());
    // Values of `{n}` on the same CPUs are all served alike.
    let has_own_counts = points.len() == 1 || points.windows(2).any(|pair| pair[0].cpus != pair[1].cpus);
    if header.plan.limit != Limit::Hotplug && fewer_than_online && has_own_counts {
        warnings.push(Warning::OtherCpusHelp);
    }
    warnings
}

/// Returns the warnings of disturbed runs for each sample. All samples are tested together, so that
/// many counts cause no more false alarms than one.
fn disturbance_warnings(study: &Study, samples: &[Sample<'_>]) -> Vec<Vec<Warning>> {
    let runs: Vec<_> = samples.iter().map(Sample::round_values).collect();
    let found = Disturbances::find(&runs, study.header.plan.seed);
    let is_time = study.header.plan.metric.is_none();
    let warnings = |(place, sample): (usize, &Sample<'_>)| {
        let (cpus, values) = (sample.point.cpus, sample.values());
        let mut warnings = Vec::new();
        let count = outliers(&values).len() as u32;
        if found.has_many_outliers && count > 0 {
            warnings.push(Warning::Outliers { cpus, count });
        }
        if let Some(ratio) = first_run_ratio(&values).filter(|_| found.has_slow_first_round && is_time) {
            warnings.push(Warning::FirstRunDiffers { cpus, ratio });
        }
        if let Some(ratio) = halves_ratio(&values).filter(|_| found.drifting.contains(&place)) {
            warnings.push(Warning::Drift { cpus, ratio });
        }
        if let Some((_, correlation)) = found.dependent.iter().find(|(dependent, _)| *dependent == place) {
            warnings.push(Warning::DependentRuns { cpus, correlation: *correlation });
        }
        warnings
    };
    samples.iter().enumerate().map(warnings).collect()
}

/// Returns the ratio of the first run to the median of the later ones, if it is slower than each of
/// them and by more than a negligible share.
fn first_run_ratio(values: &[f64]) -> Option<f64> {
    let (first, later) = values.split_first()?;
    let ratio = first / median(later)?;
    (ratio > 1.0 + NEGLIGIBLE_SHARE && later.iter().all(|value| value < first)).then_some(ratio)
}

/// Returns the ratio of the medians, second half of the runs to first half, if they differ by more
/// than a negligible share.
fn halves_ratio(values: &[f64]) -> Option<f64> {
    let (before, after) = values.split_at(values.len() / 2);
    let ratio = median(after)? / median(before)?;
    (ratio.ln().abs() > NEGLIGIBLE_SHARE.ln_1p()).then_some(ratio)
}

/// Adds the warnings that follow from the runs of one count. A point that `is_alone` has no speedup
/// over another count. `disturbances` are those of a test of all counts.
fn push_run_warnings(
    study: &Study,
    sample: &Sample<'_>,
    point: &PointView,
    is_alone: bool,
    disturbances: Vec<Warning>,
    warnings: &mut Vec<Warning>,
) {
    let (cpus, values) = (point.cpus, sample.values());
    // A search makes few runs of most values by design.
    if study.header.plan.goal == Goal::Tune {
        return;
    }
    if values.len() < MIN_RUNS {
        warnings.push(Warning::TooFewRuns { cpus, runs: point.runs });
        return;
    }
    let stop = &study.header.plan.stop;
    let ended = study.header.closing.as_ref().is_some_and(|closing| closing.reason != StopReason::Precise);
    let summary = point.metric.as_ref().map_or(point.elapsed_s, |metric| metric.summary);
    let (value, ci95) = match is_alone {
        true => (summary.median, summary.ci95),
        false => (point.speedup.value, point.speedup.ci95),
    };
    if let (Some(precision), Some([low, high]), true) = (stop.precision, ci95, ended) {
        let half_width = (high - low) / 2.0 / value;
        // A value of zero gives no share.
        if half_width > precision && half_width.is_finite() {
            warnings.push(Warning::Imprecise { cpus, half_width, precision });
        }
    }
    let has_drift = disturbances.iter().any(|warning| matches!(warning, Warning::Drift { .. }));
    warnings.extend(disturbances);
    let wide = summary.ci95.is_some_and(|[low, high]| high - low > NEGLIGIBLE_SHARE * summary.median);
    // A change of speed also gives two speeds, but the two do not alternate.
    if wide && !has_drift && has_two_speeds(&without_outliers(&values)) {
        warnings.push(Warning::TwoSpeeds { cpus });
    }
}

/// Returns the values without outliers. With fewer than nine runs the interval of a median is their
/// whole range. A single far value would make a gap in this range.
fn without_outliers(values: &[f64]) -> Vec<f64> {
    let far = outliers(values);
    values.iter().enumerate().filter(|(index, _)| !far.contains(index)).map(|(_, value)| *value).collect()
}

/// Adds the warnings of the machine's influence on one count.
fn push_machine_warnings(study: &Study, sample: &Sample<'_>, point: &PointView, warnings: &mut Vec<Warning>) {
    let cpus = point.cpus;
    let covered: f64 = sample.surroundings().map(covered_cpu_seconds(cpus)).sum();
    if let Some(steal) = point.steal_s.filter(|steal| covered > 0.0 && *steal / covered > NEGLIGIBLE_SHARE) {
        warnings.push(Warning::Steal { cpus, share: steal / covered });
    }
    let wall = covered / f64::from(cpus);
    if let Some(seconds) = point.throttled_s.filter(|t| *t > NEGLIGIBLE_SHARE * wall) {
        warnings.push(Warning::Throttled { cpus, seconds });
    }
    let usable = &study.header.host.topology.usable;
    let limit = study.header.plan.limit;
    let cpu_set = usable.not_balanced(limit).intersection(&point.cpu_set);
    if point.cpus > 1 && !cpu_set.is_empty() {
        let by_cpuset = cpu_set.intersection(&usable.not_balanced(Limit::Cpuset)).is_empty();
        warnings.push(Warning::NotBalanced { cpus, cpu_set, by_cpuset });
    }
    if let Some(share) = excess_cpu_share(study, sample).filter(|share| *share > NEGLIGIBLE_SHARE) {
        warnings.push(Warning::RanOutsideCpus { cpus, share, evidence: OutsideEvidence::CpuTime });
    }
    if let Some(quota) = study.header.host.topology.usable.quota_cpus.filter(|quota| *quota < f64::from(cpus))
    {
        warnings.push(Warning::QuotaBelowCpus { cpus, quota });
    }
    if point.adds.contains(&CpuKind::SmtSibling) {
        warnings.push(Warning::SmtSiblings { cpus });
    }
    if point.adds.contains(&CpuKind::OtherCoreType) {
        warnings.push(Warning::MixedCoreTypes { cpus });
    }
    warnings.extend(other_programs(study).work_outside_tree(cpus, sample.surroundings()));
}

fn other_programs(study: &Study) -> OtherPrograms<'_> {
    OtherPrograms::from_study(study, |run| run.surroundings.as_ref())
}

/// Returns the excess of the runs' CPU time over the time of their CPUs, divided by the latter. It
/// is a lower bound of their time on other CPUs. Returns none if the CPU time of each run may
/// include that of processes before it or beside it.
fn excess_cpu_share(study: &Study, sample: &Sample<'_>) -> Option<f64> {
    let plan = &study.header.plan;
    let is_own = |run: &&Run| {
        let hooks = plan.hooks.setup.is_some() || plan.hooks.prepare.is_some();
        // In version 1 the cgroup of the runs includes the processes that a hook leaves running.
        run.survivors.is_empty() && !(hooks && run.cpu.estimator == CpuEstimator::CgroupV1)
    };
    let left_running = plan.keep_survivors && study.runs.iter().any(|run| !run.survivors.is_empty());
    let (mut beyond, mut whole) = (0.0, 0.0);
    for run in sample.runs.iter().copied().filter(is_own).filter(|_| !left_running) {
        let available = f64::from(run.cpus) * run.elapsed_ns.as_secs_f64();
        let used = (run.cpu.user_ns + run.cpu.system_ns).as_secs_f64();
        whole += available;
        beyond += Some(used - available).filter(|excess| *excess > CLOCK_TOLERANCE_S).unwrap_or(0.0);
    }
    (whole > 0.0).then(|| beyond / whole)
}

fn covered_cpu_seconds(cpus: u32) -> impl Fn(&Surroundings) -> f64 {
    move |s| s.covers_ns.as_secs_f64() * f64::from(cpus)
}

/// Adds a warning for each count at which the command was given more CPUs and used no more. There
/// is no warning if other programs used these CPUs or did the command's work, or if the CPUs are
/// not load-balanced.
fn push_thread_warnings(
    study: &Study,
    samples: &[Sample<'_>],
    points: &[PointView],
    warnings: &mut WarningList,
) {
    let tells_n = study.header.plan.tells_n(&study.header.subject);
    let used = |point: &PointView| point.cpu_percent / 100.0;
    for point in points {
        let cell = point.cell();
        // Some points have the CPUs of their base, and differ from it in `n` alone.
        let Some(base) = find_base(points, &cell).filter(|base| point.cpus > base.cpus) else { continue };
        let given = f64::from(point.cpus - base.cpus);
        let followed = (used(point) - used(base)) / given;
        let is_not_balanced = |warning: &Warning| matches!(warning, Warning::NotBalanced { .. });
        let outside_tree = warnings.in_cell(&cell).find_map(busy_cpus_outside_tree).unwrap_or(0.0);
        let explained = cpus_taken(samples, point).max(outside_tree) >= TAKEN_SHARE * given
            || warnings.in_cell(&cell).any(is_not_balanced);
        if used(point) < MAX_CPUS_OF_ONE * f64::from(base.cpus) && followed < LEAST_GROWTH && !explained {
            let (cpus, used) = (point.cpus, used(point));
            warnings.extend(Some(&cell), [Warning::ThreadsDidNotFollow { cpus, used, gets_count: tells_n }]);
        }
    }
}

/// Returns the CPUs' worth of the allotted CPUs' time that other processes and the hypervisor took.
fn cpus_taken(samples: &[Sample<'_>], point: &PointView) -> f64 {
    let Some(sample) = find_in_cell(samples, &point.cell()) else { return 0.0 };
    let wall: f64 = sample.surroundings().map(|s| s.covers_ns.as_secs_f64()).sum();
    let seconds = point.others_allotted_s.unwrap_or(0.0) + point.steal_s.unwrap_or(0.0);
    if wall > 0.0 { seconds / wall } else { 0.0 }
}

/// Returns the CPUs that other programs kept busy during the command, if the warning is of that.
fn busy_cpus_outside_tree(warning: &Warning) -> Option<f64> {
    match warning {
        Warning::WorkOutsideTree { busy_cpus, .. } => Some(*busy_cpus),
        _ => None,
    }
}

/// Returns the program's name without its directory.
fn program_name(command: &Command) -> String {
    let words = command.words();
    let word = match command {
        Command::Program { .. } => words.first(),
        Command::Shell { .. } => words.last(),
    };
    let first = word.and_then(|word| word.split_whitespace().next()).unwrap_or_default();
    first.rsplit('/').next().unwrap_or_default().to_owned()
}
