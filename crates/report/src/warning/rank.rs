//! What each kind of warning may change in the verdict: the order in which warnings are said, and how loudly.
//!
//! Only the order; whether to warn is decided in the analysis, and the words are chosen beside this.

use std::cmp::Reverse;

use morecores_view::Warning;

use super::Severity;

/// What a warning may change in the verdict: the more, the earlier it is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effect {
    /// Nothing: it is background to the figures.
    Background,
    /// Precision of the speedup.
    Precision,
    /// The causes that are named, and not the speedup.
    Causes,
    /// The size of the speedup, or of its interval.
    Size,
    /// The answer: the figures may not be of what was asked.
    Answer,
}

impl Effect {
    /// Severity of a warning of this effect.
    pub(super) fn severity(self) -> Severity {
        match self {
            Self::Background | Self::Precision => Severity::Note,
            Self::Causes | Self::Size => Severity::Caution,
            Self::Answer => Severity::Serious,
        }
    }
}

/// The effect of a kind of warning, and its place among those of the same effect: the higher, the earlier.
///
/// No arm stands for several kinds, so that a new kind does not compile before its effect is stated.
pub(super) fn effect(warning: &Warning) -> (Effect, u8) {
    use Effect::{Answer, Background, Causes, Precision, Size};
    match warning {
        Warning::RanOutsideCpus { .. } => (Answer, 90),
        Warning::KilledForMemory { .. } => (Answer, 85),
        Warning::FailedRuns { .. } => (Answer, 80),
        Warning::KnownClient { .. } => (Answer, 70),
        Warning::WorkOutsideTree { .. } => (Answer, 60),
        Warning::NotBalanced { .. } => (Answer, 55),
        Warning::QuotaBelowCpus { .. } => (Answer, 50),
        Warning::Throttled { .. } => (Answer, 40),
        Warning::ThreadsDidNotFollow { .. } => (Answer, 30),
        Warning::TooFewRuns { .. } => (Answer, 20),
        Warning::DamagedLines { .. } => (Answer, 10),
        Warning::Steal { .. } => (Size, 90),
        Warning::Drift { .. } => (Size, 80),
        Warning::CrowdedBase { .. } => (Size, 75),
        Warning::NotQuiet { .. } => (Size, 70),
        Warning::TwoSpeeds { .. } => (Size, 60),
        Warning::DependentRuns { .. } => (Size, 50),
        Warning::FirstRunDiffers { .. } => (Size, 40),
        Warning::MixedCoreTypes { .. } => (Size, 30),
        Warning::Survivors { .. } => (Size, 20),
        Warning::FrequencyScaling { .. } => (Size, 10),
        Warning::LossyTrace { .. } => (Causes, 40),
        Warning::UserSpinning { .. } => (Causes, 30),
        Warning::UnexplainedTime { .. } => (Causes, 20),
        Warning::TraceOverhead { .. } => (Causes, 10),
        Warning::Imprecise { .. } => (Precision, 20),
        Warning::Outliers { .. } => (Precision, 10),
        Warning::SmtSiblings { .. } => (Background, 30),
        Warning::OnlyGetrusage => (Background, 20),
        Warning::OtherCpusHelp => (Background, 10),
    }
}

/// Order of the groups of warnings that are merged, the largest effect first: the effect, the place within it, and what
/// else keeps warnings of one kind apart.
pub(super) type Rank = Reverse<(Effect, u8, Reverse<String>)>;

/// The group of a warning.
pub(super) fn rank(warning: &Warning) -> Rank {
    let (effect, place) = effect(warning);
    let apart = match warning {
        Warning::KnownClient { program, daemon } => format!("{program} {daemon}"),
        Warning::ThreadsDidNotFollow { told, .. } => told.to_string(),
        Warning::Survivors { kept, .. } => kept.to_string(),
        _ => String::new(),
    };
    Reverse((effect, place, Reverse(apart)))
}
