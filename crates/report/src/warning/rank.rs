//! Effect of each kind of warning on the verdict, which gives the order of the warnings and their
//! severity.
//!
//! This module decides only the order. The analysis decides whether to warn; the parent module
//! chooses the words.

use std::cmp::Reverse;

use super::words::law_name;
use morecores_view::Warning;

use super::Severity;

/// Possible effect of a warning on the verdict; warnings with a larger effect come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effect {
    /// No effect: background to the figures.
    Background,
    /// Effect on the precision of the speedup.
    Precision,
    /// Effect on the named causes, not on the speedup.
    Causes,
    /// Effect on the size of the speedup or of its interval.
    Size,
    /// Effect on the verdict: the figures may describe something other than the question.
    Verdict,
}

impl Effect {
    /// Severity of a warning with this effect.
    pub(super) fn severity(self) -> Severity {
        match self {
            Self::Background | Self::Precision => Severity::Note,
            Self::Causes | Self::Size => Severity::Caution,
            Self::Verdict => Severity::Serious,
        }
    }
}

/// Effect of a kind of warning, and its place among warnings with the same effect: the higher, the
/// earlier.
///
/// No arm covers several kinds, so a new kind does not compile before its effect is stated.
pub(super) fn effect(warning: &Warning) -> (Effect, u8) {
    use Effect::{Background, Causes, Precision, Size, Verdict};
    match warning {
        Warning::RanOutsideCpus { .. } => (Verdict, 90),
        Warning::KilledForMemory { .. } => (Verdict, 85),
        Warning::FailedRuns { .. } => (Verdict, 80),
        Warning::KnownClient { .. } => (Verdict, 70),
        Warning::WorkOutsideTree { .. } => (Verdict, 60),
        Warning::NotBalanced { .. } => (Verdict, 55),
        Warning::QuotaBelowCpus { .. } => (Verdict, 50),
        Warning::Throttled { .. } => (Verdict, 40),
        Warning::ThreadsDidNotFollow { .. } => (Verdict, 30),
        Warning::TooFewRuns { .. } => (Verdict, 20),
        Warning::DamagedLines { .. } => (Verdict, 10),
        Warning::Steal { .. } => (Size, 90),
        Warning::Drift { .. } => (Size, 80),
        Warning::OversubscribedBase { .. } => (Size, 75),
        Warning::NotQuiet { .. } => (Size, 70),
        Warning::TwoSpeeds { .. } => (Size, 60),
        Warning::DependentRuns { .. } => (Size, 50),
        Warning::FirstRunDiffers { .. } => (Size, 40),
        Warning::MixedCoreTypes { .. } => (Size, 30),
        Warning::NoCommonRounds { .. } => (Size, 25),
        Warning::Survivors { .. } => (Size, 20),
        Warning::FrequencyScaling { .. } => (Size, 10),
        Warning::LossyTrace { .. } => (Causes, 40),
        Warning::UserSpinning { .. } => (Causes, 30),
        Warning::LawViolated { .. } => (Causes, 25),
        Warning::UnexplainedTime { .. } => (Causes, 20),
        Warning::TraceOverhead { .. } => (Causes, 10),
        Warning::IncompleteRounds { .. } => (Precision, 30),
        Warning::Imprecise { .. } => (Precision, 20),
        Warning::Outliers { .. } => (Precision, 10),
        Warning::SmtSiblings { .. } => (Background, 30),
        Warning::OnlyGetrusage => (Background, 20),
        Warning::OtherCpusHelp => (Background, 10),
    }
}

/// Order of the groups of merged warnings, the largest effect first: the effect, the place within
/// it, and a text that keeps other warnings of one kind apart.
pub(super) type Rank = Reverse<(Effect, u8, Reverse<String>)>;

/// Group of a warning.
pub(super) fn rank(warning: &Warning) -> Rank {
    let (effect, place) = effect(warning);
    let apart = match warning {
        Warning::KnownClient { program, daemon } => format!("{program} {daemon}"),
        Warning::ThreadsDidNotFollow { gets_count, .. } => gets_count.to_string(),
        Warning::Survivors { kept, .. } => kept.to_string(),
        Warning::LawViolated { law, .. } => law_name(*law).to_owned(),
        _ => String::new(),
    };
    Reverse((effect, place, Reverse(apart)))
}
