//! What a study answers: decided as data first, worded second.
//!
//! [`decide`] looks at the view and says what is to be said; [`word`] says it. Neither estimates anything:
//! the intervals and the noise floor are the view's, and no difference inside them is called a difference.

mod decide;
mod sound;
mod words;

use morecores_study::Limit;
use morecores_view::{Estimate, View, Workers};

use crate::{Cause, Withheld};

pub use decide::decide;
pub(crate) use sound::{crowd, no_baseline, outside};
pub use words::word;
pub(crate) use words::{firmer_limit, thread_advice};

/// The answer to "will more cores help?", and what else the points tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What the speedup is a speedup of.
    pub subject: Subject,
    /// The answer.
    pub answer: Answer,
    /// What goes with it, in the order in which it is said.
    pub remarks: Vec<Remark>,
    /// What advice has to go on from.
    pub planned: Planned,
}

/// What was planned and how it ended, as far as advice to do more starts from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Planned {
    /// Runs of each count before the timed ones.
    pub warmups: u32,
    /// The most timed runs of each count.
    pub runs: u32,
    /// CPU counts.
    pub counts: usize,
    /// Whether the time limit ended them.
    pub out_of_time: bool,
    /// What held the command to its CPUs.
    pub limit: Limit,
}

impl Verdict {
    /// Whether it answers what was asked: of a traced run alone it was not asked how it scales.
    pub(crate) fn is_worth_saying(&self, view: &View) -> bool {
        !matches!(self.answer, Answer::NothingMeasured) || view.traces.is_empty()
    }
}

/// What the speedup is a speedup of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Elapsed time.
    Time,
    /// A rate that the command prints, with its unit.
    Rate(Option<String>),
    /// A cost that the command prints, with its unit.
    Cost(Option<String>),
}

/// One CPU count against the smallest one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// The smallest CPU count.
    pub base: u32,
    /// The other one.
    pub cpus: u32,
    /// How many times as fast.
    pub speedup: Estimate,
    /// Speedup over `cpus / base`.
    pub efficiency: f64,
    /// The fewer runs of the two.
    pub runs: u32,
}

/// What a command did on CPUs that it was not allotted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outside {
    /// At this CPU count.
    pub cpus: u32,
    /// Its CPU time there over that of the allotted CPUs.
    pub share: f64,
    /// Whether the share may be larger.
    pub at_least: bool,
}

/// The threads of a smallest count that ran more of them than it had CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// The count.
    pub cpus: u32,
    /// Number of threads of one name.
    pub workers: Workers,
    /// Whether they are as many as the machine has CPUs.
    pub machine_sized: bool,
    /// Whether the command was told how many to use.
    pub told: bool,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// No run succeeded.
    NothingMeasured,
    /// The first run left the later ones next to nothing to do, so they do not tell how it scales.
    DoneOnce,
    /// One CPU count only, so there is nothing to compare.
    OneCount {
        /// The count.
        cpus: u32,
        /// How many of them were busy on average.
        used: f64,
    },
    /// The command ran on more CPUs than it was allotted, so that no count means what it says.
    NotHeld(Outside),
    /// Zeros among the figures, of which there is no ratio.
    Zeros {
        /// The smallest CPU count, and the median there.
        base: (u32, f64),
        /// The largest one, and the median there.
        largest: (u32, f64),
    },
    /// The smallest count ran more threads than it had CPUs, so that it says nothing of what a CPU adds.
    NoBaseline {
        /// What ran there.
        crowd: Crowd,
        /// The largest count over it, for what it is worth.
        gain: Gain,
    },
    /// Too few runs for an interval, and the runs of the two counts overlap or are fewer than three.
    TooFewRuns(Gain),
    /// Too few runs for an interval, but every run with more CPUs was faster, or every one slower.
    Seems(Gain),
    /// More CPUs help, also the last ones added.
    Yes(Gain),
    /// More CPUs help, but the last ones gave less than half of what they could.
    LessAndLess(Gain),
    /// Two CPU counts only, and the CPUs added gave less than a quarter of what they could.
    ALittle(Gain),
    /// More CPUs help more than they should.
    MoreThanIdeal {
        /// At the largest count.
        gain: Gain,
        /// Whether a trace of the smallest count shows that it ran no more threads than it had CPUs.
        uncrowded: bool,
    },
    /// CPUs help up to a count; those beyond it give no difference.
    UpTo {
        /// At the last count that helped.
        enough: Gain,
        /// At the largest count.
        largest: Gain,
        /// Whether the largest count is slower than the one that was enough.
        slower: bool,
    },
    /// No difference beyond the noise.
    No {
        /// At the largest count.
        gain: Gain,
        /// The relative difference that chance alone gives.
        noise: Option<f64>,
    },
    /// More CPUs make it slower.
    Worse(Gain),
    /// The command used no more CPUs, however many it had.
    DoesNotUse {
        /// At the largest count.
        gain: Gain,
        /// How many were busy on average.
        used: f64,
        /// Whether it was told how many it had.
        told: bool,
    },
}

/// What else the points tell.
#[derive(Clone, Debug, PartialEq)]
pub enum Remark {
    /// What the last step gave.
    LastStep {
        /// The count before the last.
        from: u32,
        /// The largest count.
        to: u32,
        /// The speedup of one over the other.
        factor: f64,
        /// Whether it is a step to or among counts with SMT siblings.
        smt: bool,
    },
    /// How many CPUs were busy, and how much CPU time the work took compared with the smallest count.
    Busy {
        /// The count.
        cpus: u32,
        /// How many were busy on average.
        used: f64,
        /// CPU time over that at the smallest count; none where the work is not the same.
        cpu_time_growth: Option<f64>,
        /// The smallest count.
        base: u32,
    },
    /// The serial fraction rises with the CPUs, beyond its intervals: overhead, not a serial part, limits it
    /// (Karp & Flatt 1990).
    SerialFractionRises {
        /// The first count with a fraction.
        from: (u32, Estimate),
        /// The last one.
        to: (u32, Estimate),
    },
    /// What stops it most, by the speedup stack of the largest count.
    MainCause {
        /// The cause.
        cause: Cause,
        /// Whether the trace that tells it lost events.
        lossy: bool,
    },
    /// Why it is not said what stops it, though it was traced.
    CausesWithheld(Withheld),
    /// A warning says that the figures may not mean what they seem to.
    Doubtful,
    /// Amdahl's law with the serial fraction of the largest count: a guess.
    IfSerialFractionStays {
        /// The fraction.
        serial_fraction: Estimate,
        /// A larger count.
        cpus: u32,
        /// The speedup there.
        speedup: f64,
        /// The speedup that no count would exceed.
        limit: f64,
        /// From how many points.
        points: usize,
    },
}
