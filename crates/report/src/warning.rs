//! Warnings in words: one sentence for the problem, then what to do about it.
//!
//! Warnings of one kind are merged over CPU counts and sorted by their effect on the verdict. The
//! analysis decides whether to warn; this module never does.

mod failures;
mod rank;
mod words;

pub use failures::success_list;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use morecores_view::Warning;

use crate::verdict::{PlanSummary, ReportedVerdict, VerdictKind};

use rank::{Rank, rank};
use words::{Words, group_words};

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
/// come first. Left out are a warning that the verdict already states and a precision that does not
/// change the answer.
pub fn notices(warnings: &[Warning], verdict: &ReportedVerdict) -> Vec<Notice> {
    let in_verdict = |warning: &Warning| match verdict.kind {
        // An answer needs no more precision, and an open one says how many runs it needs.
        VerdictKind::OneCount { .. } => false,
        _ if matches!(warning, Warning::Imprecise { .. }) => true,
        VerdictKind::NoBaseline { .. } => matches!(warning, Warning::OversubscribedBase { .. }),
        VerdictKind::RanOutsideCpus(_) => matches!(warning, Warning::RanOutsideCpus { .. }),
        VerdictKind::UnusedCpus { .. } => matches!(warning, Warning::ThreadsDidNotFollow { .. }),
        VerdictKind::TooFewRuns(_) | VerdictKind::AlreadyDone => {
            matches!(warning, Warning::TooFewRuns { .. })
        }
        _ => false,
    };
    let shown = warnings.iter().filter(|warning| !in_verdict(warning));
    merge_warnings(shown, &verdict.plan)
        .into_iter()
        .map(|(severity, words)| Notice { severity, text: words.text() })
        .collect()
}

/// Merges similar warnings into one problem with its advice, the largest effect first.
fn merge_warnings<'a>(
    warnings: impl Iterator<Item = &'a Warning>,
    plan: &PlanSummary,
) -> Vec<(Severity, Words)> {
    let mut groups: BTreeMap<Rank, Vec<&Warning>> = BTreeMap::new();
    for warning in warnings {
        groups.entry(rank(warning)).or_default().push(warning);
    }
    groups
        .into_iter()
        .map(|(Reverse((effect, ..)), group)| (effect.severity(), group_words(&group, plan)))
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
    merge_warnings(warnings.iter().filter(is_spoiling), &PlanSummary::default())
        .into_iter()
        .map(|(_, words)| words.problem)
        .collect()
}

/// Warnings of a study of locks in words: the problem, worded as for a study of a command. The
/// advice is shorter, because other programs' work is never part of the measurement there.
pub(crate) fn lock_notices(warnings: &[Warning]) -> Vec<Notice> {
    merge_warnings(warnings.iter(), &PlanSummary::default())
        .into_iter()
        .map(|(severity, words)| Notice {
            severity,
            text: format!("{} Stop them and repeat.", words.problem),
        })
        .collect()
}

/// Words for one warning, without merging.
pub fn warning_sentence(warning: &Warning) -> String {
    group_words(&[warning], &PlanSummary::default()).text()
}
