//! Compares a trace's report with the truth. Pure.

use morecores_view::TraceView;

use crate::case::{Case, LIMIT_POINTS};
use crate::disturbance::disturbance_percent;
use crate::expected::{Count, ExpectedReport, Part, Proportion, ShareBound};

/// Difference of counts that is always accepted. It covers threads that begin or end while the
/// other counter is set up. It also covers waits in interrupts, which bpftrace counts for the
/// interrupted thread and a trace does not.
const COUNT_SLACK: u64 = 25;

/// One comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Name of the compared quantity.
    pub what: String,
    /// Truth: percent of `cpus · elapsed`, percent of the time at locks, or a count.
    pub truth: f64,
    /// Value in the trace's report, in the unit of the truth.
    pub reported: f64,
    /// Whether the values are counts.
    pub is_count: bool,
    /// Report minus truth, in points of the percentage, or in percent of the count.
    pub difference: f64,
    /// Source of the truth.
    pub source: String,
    /// Whether the difference is within the limit.
    pub is_within_limit: bool,
}

/// One traced run, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Name of the case.
    pub case: String,
    /// Number of CPUs allotted to the case.
    pub cpus: u32,
    /// Elapsed time, in seconds.
    pub elapsed_s: f64,
    /// Comparisons.
    pub lines: Vec<Comparison>,
    /// Unexplained part of the CPU with the largest one in absolute value, in percent of the
    /// elapsed time.
    pub unexplained: f64,
    /// Limit of the unexplained part.
    pub limit_unexplained: f64,
    /// Share of the hypervisor and of processes that the case does not make, in percent of `cpus ·
    /// elapsed`. It is not judged, but is the first thing to examine if a line misses its limit.
    pub disturbance: f64,
    /// Number of runs; this run is the least disturbed of them.
    pub runs: u32,
    /// Share of the tracer, in percent of `cpus · elapsed`.
    pub tracer: f64,
    /// Remark on the truth.
    pub note: Option<&'static str>,
    /// Number of lost events.
    pub lost: u64,
    /// Error of a repetition: a tracer that works only sometimes does not work.
    pub failure: Option<String>,
}

impl Judgement {
    /// Whether everything is within its limit.
    pub fn passes(&self) -> bool {
        self.lines.iter().all(|line| line.is_within_limit) && self.is_valid()
    }

    /// Whether the run as a whole is valid: explained, without lost events, and without a failed
    /// repetition.
    pub fn is_valid(&self) -> bool {
        self.is_explained() && self.lost == 0 && self.failure.is_none()
    }

    /// Whether the unexplained part is within its limit.
    pub fn is_explained(&self) -> bool {
        // This comparison is false for NaN.
        self.unexplained.abs() <= self.limit_unexplained
    }
}

/// Compares the kept run of `runs` runs. The sum of the idle components that `expected` does not
/// name is compared with zero.
pub fn judge(case: &Case, expected: &ExpectedReport, view: &TraceView, runs: u32) -> Judgement {
    let c = &view.components;
    let whole = f64::from(view.cpus) * view.elapsed_s;
    let percent = |seconds: f64| 100.0 * seconds / whole;
    let line = |what: String, truth: f64, reported: f64, source: String| {
        let (truth, reported) = (percent(truth), percent(reported));
        let difference = reported - truth;
        let is_within_limit = difference.abs() <= LIMIT_POINTS;
        Comparison { what, truth, reported, is_count: false, difference, source, is_within_limit }
    };
    let mut lines: Vec<Comparison> = expected
        .shares
        .iter()
        .map(|share| {
            let reported = share.part.reported_seconds(view);
            line(share.part.to_string(), share.seconds, reported, share.source.to_string())
        })
        .collect();
    let named: Vec<Part> = expected.shares.iter().map(|share| share.part).collect();
    if !named.is_empty() && !named.contains(&Part::Idle) {
        let other = Part::other_idle(&named, c);
        lines.push(line("idle, other".to_owned(), 0.0, other, "construction".to_owned()));
    }
    lines.extend(expected.proportions.iter().map(|share| compare_proportion(share, view)));
    lines.extend(expected.counts.iter().map(|count| compare_count(count, view)));
    Judgement {
        case: case.name.clone(),
        cpus: view.cpus,
        elapsed_s: view.elapsed_s,
        lines,
        unexplained: largest_unexplained(view),
        limit_unexplained: case.limit_unexplained,
        disturbance: disturbance_percent(expected, view),
        runs,
        tracer: percent(c.tracer_s),
        note: expected.note,
        lost: view.lost_events,
        failure: None,
    }
}

/// Unexplained part of the CPU with the largest one; the mean of all CPUs if the trace does not
/// separate them.
fn largest_unexplained(view: &TraceView) -> f64 {
    let mean = view.components.unexplained_s / f64::from(view.cpus);
    let cpus = view.unexplained_by_cpu.iter().map(|(_, seconds)| *seconds);
    // NaN sorts above any number in this order, so it counts as a miss.
    let most = cpus.chain([mean]).max_by(|a, b| a.abs().total_cmp(&b.abs()));
    100.0 * most.unwrap_or(mean) / view.elapsed_s
}

fn compare_proportion(share: &Proportion, view: &TraceView) -> Comparison {
    let (truth, reported) = (share.percent, share.reported_percent(view));
    let difference = reported - truth;
    // Both comparisons are false for NaN.
    let is_within_limit = match share.bound {
        ShareBound::Equal => difference.abs() <= LIMIT_POINTS,
        ShareBound::AtLeast => difference >= 0.0,
    };
    let (what, source) = (share.to_string(), share.source.to_string());
    Comparison { what, truth, reported, is_count: false, difference, source, is_within_limit }
}

fn compare_count(count: &Count, view: &TraceView) -> Comparison {
    let reported = count.event.reported_count(view);
    let apart = reported.abs_diff(count.number);
    let (truth, reported) = (count.number as f64, reported as f64);
    let difference = 100.0 * (reported - truth) / truth.max(1.0);
    let is_within_limit = apart <= COUNT_SLACK || difference.abs() <= LIMIT_POINTS;
    let (what, source) = (count.event.to_string(), count.source.to_owned());
    Comparison { what, truth, reported, is_count: true, difference, source, is_within_limit }
}
