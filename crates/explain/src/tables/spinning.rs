//! CPU time in user mode for which threads spin: in loops with a PAUSE, and in MPI's loop that
//! looks for messages, which has none.

use morecores_study::trace::SampleMode;
use morecores_view::code::WaitKind;

use super::code::CodeMap;
use super::runtimes::{MPI_PROGRESS, kind_by_called_file};
use crate::trace::{Accounting, CpuSample, Timeline};

/// Work that only waits, in seconds, as in [`Accounting::user_spin_s`] and with MPI's loop.
pub(super) fn user_spin_s(map: &CodeMap<'_>, timeline: &Timeline, accounting: &Accounting) -> Option<f64> {
    let in_tree = |sample: &&CpuSample| sample.thread.is_some_and(|id| timeline.thread(id).in_tree);
    let in_user = timeline.samples.iter().filter(|sample| sample.mode == SampleMode::User).filter(in_tree);
    let in_mpi = in_user.clone().filter(|sample| !sample.spins && looks_for_messages(map, timeline, sample));
    match in_mpi.count() {
        0 => accounting.user_spin_s,
        spins => {
            let share = spins as f64 / in_user.count() as f64;
            Some(accounting.user_spin_s.unwrap_or(0.0) + share * accounting.components.user_work_s)
        }
    }
}

/// Whether a sample is in MPI's loop, or in a function of MPI that the loop called.
fn looks_for_messages(map: &CodeMap<'_>, timeline: &Timeline, sample: &CpuSample) -> bool {
    let frames = sample.stack.iter().flat_map(|stack| timeline.user_stacks.code(stack));
    let mut in_mpi =
        frames.take_while(|code| kind_by_called_file(map.file(code.module)) == Some(WaitKind::Mpi));
    in_mpi.any(|code| map.symbol(map.code_at(code)) == Some(MPI_PROGRESS))
}
