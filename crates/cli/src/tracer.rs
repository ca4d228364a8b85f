//! Interface of the tracer for the subcommands, and the tracer of this machine and build.
//!
//! The trait keeps the plumbing testable without privilege, and the command line buildable without
//! clang and libbpf (cargo feature `trace`).

use std::io;

use anyhow::Result;
#[cfg(feature = "trace")]
use morecores_machine::doctor;
use morecores_study::trace::{Event, TraceHeader};
use morecores_study::{CpuId, CpuSet, Nanos, Run};

/// Receiver of the events of one CPU, in their order, while the command runs. An error ends the
/// trace.
pub(crate) type Sink = Box<dyn FnMut(CpuId, &[Event]) -> io::Result<()> + Send>;

/// Tracer of one run at a time.
pub(crate) trait Tracer {
    /// Reason why the trace is incomplete, with the remedy; none for a full trace.
    fn shortfall(&self) -> Option<String>;

    /// Starts to watch the calling thread's next child and its descendants.
    fn begin(&mut self, sink: Sink) -> Result<()>;

    /// Stops the trace after the main process has ended, and drops the sink.
    fn end(&mut self) -> Result<()>;

    /// Header for the events of the last trace, completed with the facts that only the run knows.
    /// None without a trace.
    fn header(&mut self, run: Run, began: Nanos, ended: Nanos) -> Option<TraceHeader>;
}

/// Requirements of a traced run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceRequest {
    pub(crate) allotted: CpuSet,
    pub(crate) syscalls: bool,
}

/// Function that prepares a tracer.
pub(crate) type Open = dyn Fn(&TraceRequest) -> Result<Box<dyn Tracer>> + Send;

/// Remedy that enables full traces if the kernel refused them, as words after a colon.
#[cfg(feature = "trace")]
fn remedy() -> String {
    use morecores_machine::Remedy;
    match doctor::allow_tracing() {
        Remedy::Command { command, .. } => command,
        Remedy::Nothing { why } => why,
    }
}

#[cfg(feature = "trace")]
pub(crate) use with::{libbpf_version, open, open_in_full};
#[cfg(feature = "trace")]
mod with;

#[cfg(not(feature = "trace"))]
pub(crate) use without::{libbpf_version, open, open_in_full};

#[cfg(not(feature = "trace"))]
mod without {
    use anyhow::bail;

    use super::{Result, TraceRequest, Tracer};

    /// Version of libbpf; none without the tracer.
    pub(crate) fn libbpf_version() -> Option<String> {
        None
    }

    /// Best available tracer.
    pub(crate) fn open(_: &TraceRequest) -> Result<Box<dyn Tracer>> {
        bail!("this morecores was built without its tracer: build it with the cargo feature `trace`")
    }

    /// Tracer of full traces.
    pub(crate) fn open_in_full(wanted: &TraceRequest) -> Result<Box<dyn Tracer>> {
        open(wanted)
    }
}
