//! Holds what a trace reports against what is true. Pure.

use morecores_view::TraceView;

use crate::case::{Case, LIMIT_POINTS};
use crate::disturbance::disturbed;
use crate::expected::{Count, Expected, Part};

/// Counts that differ by so many agree whatever they are: threads that begin or end while the other counter is set up, and
/// waits in interrupts, which bpftrace counts for the thread that they hit and a trace does not.
const COUNT_SLACK: u64 = 25;

/// One thing that was compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What.
    pub what: String,
    /// What is true: percent of `cpus · elapsed`, or a count.
    pub truth: f64,
    /// What the trace reports, likewise.
    pub reported: f64,
    /// Whether these are counts.
    pub counts: bool,
    /// Points of `cpus · elapsed`, or percent of the count: reported less truth.
    pub difference: f64,
    /// Where the truth comes from.
    pub source: String,
    /// Whether the difference is within the limit.
    pub ok: bool,
}

/// One traced run, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The case's name.
    pub case: String,
    /// CPUs that it was allotted.
    pub cpus: u32,
    /// Elapsed time, in seconds.
    pub elapsed_s: f64,
    /// What was compared.
    pub lines: Vec<Line>,
    /// Unexplained part of the CPU that has most of it, either way, in percent of the elapsed time.
    pub unexplained: f64,
    /// Its limit.
    pub limit_unexplained: f64,
    /// What processes that the case does not make and the hypervisor took, in percent of `cpus · elapsed`: not judged,
    /// but what to look at where a line is missed.
    pub disturbed: f64,
    /// Runs of which this is the least disturbed.
    pub runs: u32,
    /// What the tracer took, likewise.
    pub tracer: f64,
    /// What to know about the truth.
    pub note: Option<&'static str>,
    /// Events that were lost.
    pub lost: u64,
    /// What a repetition failed with: a tracer that works now and then does not work.
    pub failed: Option<String>,
}

impl Judgement {
    /// Whether everything is within its limit.
    pub fn ok(&self) -> bool {
        self.lines.iter().all(|line| line.ok) && self.sound()
    }

    /// Whether the run as a whole is: explained, nothing lost, and none that failed beside it.
    pub fn sound(&self) -> bool {
        self.explained() && self.lost == 0 && self.failed.is_none()
    }

    /// Whether the unexplained part is.
    pub fn explained(&self) -> bool {
        // A comparison that is false for NaN.
        self.unexplained.abs() <= self.limit_unexplained
    }
}

/// Compares the run of `runs` that was kept. Idle components that `expected` does not name are compared with zero, all together.
pub fn judge(case: &Case, expected: &Expected, view: &TraceView, runs: u32) -> Judgement {
    let c = &view.components;
    let whole = f64::from(view.cpus) * view.elapsed_s;
    let percent = |seconds: f64| 100.0 * seconds / whole;
    let line = |what: String, truth: f64, reported: f64, source: String| {
        let (truth, reported) = (percent(truth), percent(reported));
        let difference = reported - truth;
        let ok = difference.abs() <= LIMIT_POINTS;
        Line { what, truth, reported, counts: false, difference, source, ok }
    };
    let mut lines: Vec<Line> = expected
        .shares
        .iter()
        .map(|share| {
            let reported = share.part.reported(view);
            line(share.part.to_string(), share.seconds, reported, share.source.to_string())
        })
        .collect();
    let named: Vec<Part> = expected.shares.iter().map(|share| share.part).collect();
    if !named.is_empty() && !named.contains(&Part::Idle) {
        let other = Part::other_idle(&named, c);
        lines.push(line("idle, other".to_owned(), 0.0, other, "construction".to_owned()));
    }
    lines.extend(expected.counts.iter().map(|count| counted(count, view)));
    Judgement {
        case: case.name.clone(),
        cpus: view.cpus,
        elapsed_s: view.elapsed_s,
        lines,
        unexplained: most_unexplained(view),
        limit_unexplained: case.limit_unexplained,
        disturbed: disturbed(expected, view),
        runs,
        tracer: percent(c.tracer_s),
        note: expected.note,
        lost: view.lost_events,
        failed: None,
    }
}

/// Of the CPUs the one with the most, and of a trace that does not tell them apart the mean of all.
fn most_unexplained(view: &TraceView) -> f64 {
    let mean = view.components.unexplained_s / f64::from(view.cpus);
    let cpus = view.unexplained_by_cpu.iter().map(|(_, seconds)| *seconds);
    // NaN is more than any number in this order, and so is missed.
    let most = cpus.chain([mean]).max_by(|a, b| a.abs().total_cmp(&b.abs()));
    100.0 * most.unwrap_or(mean) / view.elapsed_s
}

fn counted(count: &Count, view: &TraceView) -> Line {
    let reported = count.of.reported(view);
    let apart = reported.abs_diff(count.number);
    let (truth, reported) = (count.number as f64, reported as f64);
    let difference = 100.0 * (reported - truth) / truth.max(1.0);
    let ok = apart <= COUNT_SLACK || difference.abs() <= LIMIT_POINTS;
    let (what, source) = (count.of.to_string(), count.by.to_owned());
    Line { what, truth, reported, counts: true, difference, source, ok }
}
