//! Words on what a trace lacks, for the facts of the trace. This module finds nothing out.

use morecores_study::CpuId;
use morecores_study::trace::UntracedFact;

use super::reader::StackSummary;
use crate::TraceError;

/// Note on a CPU that was taken offline: the thread that took it offline seems to run there until
/// the CPU is back.
pub(super) fn offline_note(cpu: CpuId) -> UntracedFact {
    UntracedFact {
        what: format!("CPU {cpu} for a part of the run"),
        why: "it was offline for a while, and this time counts as other processes".to_owned(),
    }
}

/// Note on the queued work items whose originator could not be stored.
pub(super) fn lost_work_note(pieces: u64) -> Option<UntracedFact> {
    (pieces > 0).then(|| UntracedFact {
        what: format!("the origin of {pieces} pieces of the kernel's queued work"),
        why: "the table of queued work was full; waits for them count as waits for a device, or for nothing"
            .to_owned(),
    })
}

/// Note on the mappings of code for which the buffers had no room.
pub(super) fn lost_mappings_note(lost: u64) -> Option<UntracedFact> {
    (lost > 0).then(|| UntracedFact {
        what: format!("{lost} mappings of code, and so the names of some functions"),
        why: "processes started faster than the tracer could read".to_owned(),
    })
}

/// Note on the user stacks for which the buffers had no room.
pub(super) fn lost_stacks_note(stacks: StackSummary) -> Option<UntracedFact> {
    (stacks.dropped > 0).then(|| UntracedFact {
        what: format!("{} of {} user stacks", stacks.dropped, stacks.dropped + stacks.copied),
        why: "threads waited faster than the tracer could read their stacks".to_owned(),
    })
}

/// Note on the holds of locks for which the tables had no room.
pub(super) fn lost_holds_note(lost: u64) -> Option<UntracedFact> {
    (lost > 0).then(|| UntracedFact {
        what: format!("{lost} holds of the command's locks"),
        why: "the command has more locks than the tracer's tables have room for".to_owned(),
    })
}

/// Note on the reason why a trace has no user stacks.
pub(super) fn without_stacks_note(why: &TraceError) -> UntracedFact {
    UntracedFact { what: "user stacks".to_owned(), why: why.to_string() }
}
