//! The answer of a study: decided by the view, worded here.
//!
//! [`decide`] adds to the view's answer what the words need: the counts behind it, and remarks.
//! [`verdict_statement`] puts all of it into words. Neither estimates anything.

mod best_n;
mod decide;
mod lead;
mod quota;
mod remarks;
mod text;

use morecores_study::Limit;
use morecores_view::{Answer, Estimate, OutsideTime, OversubscribedBase, View};

use crate::{LossCause, NoCauseReason};

pub use best_n::BestN;
pub use decide::decide;
pub use quota::EnoughQuota;
pub use text::verdict_statement;
pub(crate) use text::{more_runs_advice, stricter_limit, thread_advice, unused_cpus_advice};

/// Answer to "will more cores help?", with remarks on the points.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedVerdict {
    /// Quantity that the speedup compares.
    pub compared: ComparedQuantity,
    /// Answer.
    pub answer: Answer,
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
    /// Number of rounds that would probably reach the requested precision, if it is not reached.
    pub rounds_until_precise: Option<u32>,
    /// Number of CPU counts.
    pub counts: usize,
    /// Whether the time limit ended the runs.
    pub out_of_time: bool,
    /// Mechanism that confined the command to its CPUs.
    pub limit: Limit,
}

impl ReportedVerdict {
    /// Whether the verdict answers a question that was asked. A traced run alone does not ask how
    /// the command scales.
    pub(crate) fn has_result(&self, view: &View) -> bool {
        !matches!(self.kind, VerdictKind::NothingMeasured) || view.traces.is_empty()
    }
}

/// Quantity that a speedup compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComparedQuantity {
    /// Elapsed time.
    Time,
    /// Work in the same time: the speedup is scaled by the growth of the work.
    Work,
    /// A rate that the command prints, with its unit.
    Rate(Option<String>),
    /// A cost that the command prints, with its unit.
    Cost(Option<String>),
}

/// One CPU count compared with the smallest one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredGain {
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
    /// Speedup from which the added CPUs are worth it.
    pub worth_from: f64,
}

/// Largest consumer of the CPU time that was not left to the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taker {
    /// Other programs on the machine.
    OtherPrograms,
    /// Hypervisor of the machine.
    Hypervisor,
    /// CPU quota.
    Quota,
}

/// Answer with the figures that its words need.
#[derive(Clone, Debug, PartialEq)]
pub enum VerdictKind {
    /// No run succeeded.
    NothingMeasured,
    /// The first run left the later runs almost nothing to do, so they do not show how the command
    /// scales.
    AlreadyDone,
    /// One CPU count, and several values of `{n}`.
    BestN(BestN),
    /// One CPU count, and several CPU quotas.
    EnoughQuota(EnoughQuota),
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
        gain: MeasuredGain,
    },
    /// Too few runs for an interval.
    TooFewRuns(MeasuredGain),
    /// Others took so much CPU time that the speedup may not be the command's own.
    CpusTaken {
        /// Gain as measured.
        gain: MeasuredGain,
        /// CPU count that lost most.
        cpus: u32,
        /// Share of the time of its CPUs that was taken.
        share: f64,
        /// Main consumer of this time.
        taker: Taker,
    },
    /// The interval contains the speedup from which the added CPUs are worth it.
    WideInterval {
        /// Gain nearest to being worth it.
        gain: MeasuredGain,
        /// Number of rounds that would decide; none if no number would.
        rounds: Option<u32>,
    },
    /// More CPUs are worth it.
    WorthIt {
        /// Gain at the smallest count that is enough, or at the fastest one.
        gain: MeasuredGain,
        /// Counts beyond that of the gain.
        beyond: Beyond,
    },
    /// More CPUs are not worth it.
    NotWorthIt(MeasuredGain),
    /// More CPUs make the command slower.
    Slower(MeasuredGain),
    /// The command used no more CPUs, however many it had.
    UnusedCpus {
        /// Gain at the largest count.
        gain: MeasuredGain,
        /// Average number of busy CPUs.
        used: f64,
        /// Whether the command was told how many CPUs it had.
        gets_count: bool,
    },
}

/// Measured counts beyond the one that a verdict names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Beyond {
    /// None: the largest count is needed.
    Nothing,
    /// Counts that add little to it.
    LittleMore {
        /// Largest CPU count.
        largest: u32,
        /// Largest share that they may add to the speedup.
        at_most: f64,
    },
    /// Counts of which the largest is slower.
    Slower {
        /// Largest CPU count and its speedup.
        largest: (u32, f64),
    },
    /// Counts that may add something or not.
    NotKnown,
}

/// Remark on the points, beyond the answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Remark {
    /// Rounds that others disturbed and the figures leave out.
    DisturbedRounds {
        /// Number of disturbed rounds.
        disturbed: u32,
        /// Number of all rounds.
        of: u32,
        /// Answer of all rounds, if it is another one.
        with_them: Option<Answer>,
    },
    /// Best value of `{n}` at one of several CPU counts.
    BestN(BestN),
    /// Speedup above the growth in CPUs.
    MoreThanIdeal {
        /// Smallest CPU count.
        base: u32,
        /// Whether a trace of the smallest count shows no more threads than CPUs there.
        without_oversubscription: bool,
    },
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
        causes: Vec<LossCause>,
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
