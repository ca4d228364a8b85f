//! The answer of a study: decided as data first, worded second.
//!
//! [`decide`] derives the answer from the view; [`verdict_statement`] puts the answer into words.
//! Neither estimates anything. The intervals and the noise floor come from the view, and no
//! difference inside them is called a difference.

mod decide;
mod text;
mod validity;

use morecores_study::Limit;
use morecores_view::{Estimate, View, Workers};

use crate::{Cause, NoCauseReason};

pub use decide::decide;
pub(crate) use decide::leaves_worthwhile_gain;
pub use text::verdict_statement;
pub(crate) use text::{more_runs_advice, stricter_limit, thread_advice, unused_cpus_advice};
pub(crate) use validity::{invalid_baseline, oversubscribed_base, time_outside_cpus};

/// Answer to "will more cores help?", with remarks on the points.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Quantity that the speedup compares.
    pub subject: Subject,
    /// Kind of the verdict, with its figures.
    pub kind: VerdictKind,
    /// Remarks on the verdict, in the order of the text.
    pub remarks: Vec<Remark>,
    /// Plan of the study, from which advice starts.
    pub plan: PlanSummary,
}

/// Plan of the study and how it ended, as far as advice to do more depends on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanSummary {
    /// Warm-up runs of each count, before the timed runs.
    pub warmups: u32,
    /// Largest number of timed runs of each count.
    pub runs: u32,
    /// Number of CPU counts.
    pub counts: usize,
    /// Whether the time limit ended the runs.
    pub out_of_time: bool,
    /// Mechanism that confined the command to its CPUs.
    pub limit: Limit,
}

impl Verdict {
    /// Whether the verdict answers a question that was asked. A traced run alone does not ask how
    /// the command scales.
    pub(crate) fn has_result(&self, view: &View) -> bool {
        !matches!(self.kind, VerdictKind::NothingMeasured) || view.traces.is_empty()
    }
}

/// Quantity that a speedup compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Elapsed time.
    Time,
    /// A rate that the command prints, with its unit.
    Rate(Option<String>),
    /// A cost that the command prints, with its unit.
    Cost(Option<String>),
}

/// One CPU count compared with the smallest one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Smallest CPU count.
    pub base: u32,
    /// CPU count compared with the smallest one.
    pub cpus: u32,
    /// Speedup over the smallest count.
    pub speedup: Estimate,
    /// Efficiency: speedup over `cpus / base`.
    pub efficiency: f64,
    /// Number of runs at the count with fewer runs.
    pub runs: u32,
}

/// Use of CPUs that the command was not allotted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutsideTime {
    /// CPU count of the runs.
    pub cpus: u32,
    /// CPU time on other CPUs over the time of the allotted CPUs.
    pub share: f64,
    /// Whether the share may be larger.
    pub at_least: bool,
}

/// Threads at the smallest count, where the command ran more threads than it had CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OversubscribedBase {
    /// Smallest CPU count.
    pub cpus: u32,
    /// Name and number of the threads.
    pub workers: Workers,
    /// Whether there are as many threads as the machine has CPUs.
    pub machine_sized: bool,
    /// Whether the command was told how many threads to use.
    pub gets_count: bool,
}

/// Answer to "will more cores help?".
#[derive(Clone, Debug, PartialEq)]
pub enum VerdictKind {
    /// No run succeeded.
    NothingMeasured,
    /// The first run left the later runs almost nothing to do, so they do not show how the command
    /// scales.
    AlreadyDone,
    /// One CPU count only, so there is nothing to compare.
    OneCount {
        /// The CPU count.
        cpus: u32,
        /// Average number of busy CPUs.
        used: f64,
    },
    /// The command ran on more CPUs than it was allotted, so the CPU counts are not the real ones.
    RanOutsideCpus(OutsideTime),
    /// Zeros among the figures, so there is no ratio.
    ZeroFigures {
        /// Smallest CPU count and the median there.
        base: (u32, f64),
        /// Largest CPU count and the median there.
        largest: (u32, f64),
    },
    /// The smallest count ran more threads than it had CPUs, so it does not show what a CPU adds.
    NoBaseline {
        /// Threads at the smallest count.
        crowd: OversubscribedBase,
        /// Largest count over the smallest, of limited value.
        gain: Gain,
    },
    /// Too few runs for an interval; the runs of the two counts overlap or are fewer than three.
    TooFewRuns(Gain),
    /// Too few runs for an interval, but every run with more CPUs was faster, or every one was
    /// slower.
    Likely(Gain),
    /// More CPUs help, including the last ones added.
    Scales(Gain),
    /// More CPUs help, but the last ones gave less than half of their possible gain.
    DiminishingGain(Gain),
    /// Two CPU counts only; the added CPUs gave less than a quarter of their possible gain.
    SmallGain(Gain),
    /// More CPUs help more than the ideal.
    Superlinear {
        /// Gain at the largest count.
        gain: Gain,
        /// Whether a trace of the smallest count shows no more threads than CPUs there.
        without_oversubscription: bool,
    },
    /// CPUs help up to a count; CPUs beyond it make no difference.
    Saturates {
        /// Gain at the last count that helped.
        enough: Gain,
        /// Gain at the largest count.
        largest: Gain,
        /// Whether the largest count is slower than the last count that helped.
        slower: bool,
    },
    /// No difference beyond the noise.
    NoDifference {
        /// Gain at the largest count.
        gain: Gain,
        /// Relative difference that chance alone gives.
        noise: Option<f64>,
    },
    /// More CPUs make the command slower.
    Slower(Gain),
    /// The command used no more CPUs, however many it had.
    UnusedCpus {
        /// Gain at the largest count.
        gain: Gain,
        /// Average number of busy CPUs.
        used: f64,
        /// Whether the command was told how many CPUs it had.
        gets_count: bool,
    },
}

/// Remark on the points, beyond the answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Remark {
    /// Gain of the last step.
    LastStep {
        /// Count before the last.
        from: u32,
        /// Largest count.
        to: u32,
        /// Speedup of the largest count over the count before it.
        factor: f64,
        /// Whether the step leads to SMT siblings or lies among counts with SMT siblings.
        smt: bool,
    },
    /// Average number of busy CPUs, and the growth of CPU time over the smallest count.
    Busy {
        /// The CPU count.
        cpus: u32,
        /// Average number of busy CPUs.
        used: f64,
        /// CPU time over CPU time at the smallest count; none if the work is not the same.
        cpu_time_growth: Option<f64>,
        /// Smallest count.
        base: u32,
    },
    /// The serial fraction rises with the CPUs, beyond its intervals: overhead, not a serial part,
    /// limits the command (Karp & Flatt 1990).
    SerialFractionRises {
        /// First count with a serial fraction.
        from: (u32, Estimate),
        /// Last count with a serial fraction.
        to: (u32, Estimate),
    },
    /// Main causes that limit the command, by the speedup stack of the largest count.
    MainCauses {
        /// The largest loss, and the losses that may be as large.
        causes: Vec<Cause>,
        /// Whether the trace behind the causes lost events.
        lossy: bool,
    },
    /// Reason why no cause is named although the study has traces.
    NoCause(NoCauseReason),
    /// A warning says that the figures may be misleading.
    Doubtful,
    /// Amdahl's law with the serial fraction of the largest count: a guess.
    IfSerialFractionStays {
        /// Serial fraction at the largest measured count.
        serial_fraction: Estimate,
        /// A larger CPU count.
        cpus: u32,
        /// Speedup at that count.
        speedup: f64,
        /// Speedup that no count would exceed.
        limit: f64,
        /// Number of points behind the guess.
        points: usize,
    },
}
