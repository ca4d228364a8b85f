//! The tracer as the subcommands see it, and the one that this machine and this build have.
//!
//! The trait keeps the plumbing testable without privilege, and the command line buildable without clang and libbpf
//! (cargo feature `trace`).

use std::io;

use anyhow::Result;
#[cfg(feature = "trace")]
use morecores_machine::doctor;
use morecores_study::trace::{Event, TraceHeader};
use morecores_study::{CpuId, CpuSet, Nanos, Run};

/// Takes the events of one CPU, in their order, while the command runs; an error ends the trace.
pub(crate) type Sink = Box<dyn FnMut(CpuId, &[Event]) -> io::Result<()> + Send>;

/// Traces one run at a time.
pub(crate) trait Tracer {
    /// Why what it tells is less than everything, and what would change it; none where it is everything.
    fn shortfall(&self) -> Option<String>;

    /// Begins to watch the calling thread's next child and what descends from it.
    fn begin(&mut self, sink: Sink) -> Result<()>;

    /// The main process has ended. The sink is let go of.
    fn end(&mut self) -> Result<()>;

    /// What stands beside the events of the trace that ended last, with what only the run tells; none where there is
    /// no such trace.
    fn header(&mut self, run: Run, began: Nanos, ended: Nanos) -> Option<TraceHeader>;
}

/// What a run is traced on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) allotted: CpuSet,
    pub(crate) syscalls: bool,
}

/// Gets a tracer ready.
pub(crate) type Open = dyn Fn(&Wanted) -> Result<Box<dyn Tracer>> + Send;

/// What enables full traces where the kernel refused them, as words to put behind a colon.
#[cfg(feature = "trace")]
fn remedy() -> String {
    use morecores_machine::Remedy;
    match doctor::allow_tracing() {
        Remedy::Command { command, .. } => command,
        Remedy::Nothing { why } => why,
    }
}

#[cfg(feature = "trace")]
pub(crate) use with::{open, open_in_full};
#[cfg(feature = "trace")]
mod with;

#[cfg(not(feature = "trace"))]
pub(crate) use without::{open, open_in_full};

#[cfg(not(feature = "trace"))]
mod without {
    use anyhow::bail;

    use super::{Result, Tracer, Wanted};

    /// The best tracer there is.
    pub(crate) fn open(_: &Wanted) -> Result<Box<dyn Tracer>> {
        bail!("this morecores was built without its tracer: build it with the cargo feature `trace`")
    }

    /// The tracer that tells everything.
    pub(crate) fn open_in_full(wanted: &Wanted) -> Result<Box<dyn Tracer>> {
        open(wanted)
    }
}
