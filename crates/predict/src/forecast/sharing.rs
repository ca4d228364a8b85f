//! Sharing between the parts of a program that one CPU cannot show: how they disturb each other
//! begins with a second CPU. This module only recognises it; `band` decides the width.

use super::evidence::{Evidence, MeasuredPoint};

/// Resource that the parts of a program share while only one of them runs at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnseenSharing {
    /// Hardly anything: processes that compute and pipe, or a single thread.
    Nothing,
    /// Memory: its threads meet at futexes.
    Memory,
}

/// Sharing of a program of which `points` are measured; `None` if a larger count than 1 is among
/// them.
pub(super) fn unseen_sharing(evidence: &Evidence, points: &[MeasuredPoint]) -> Option<UnseenSharing> {
    let is_unseen = points.iter().all(|point| point.cpus == 1);
    is_unseen.then(|| sharing(evidence))
}

/// Sharing of the traced program.
pub(super) fn sharing(evidence: &Evidence) -> UnseenSharing {
    if evidence.programs.iter().any(|program| program.meetings_per_s > 0.0) {
        UnseenSharing::Memory
    } else {
        UnseenSharing::Nothing
    }
}
