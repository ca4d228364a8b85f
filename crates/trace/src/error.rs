//! Reasons why a run cannot be traced.

use std::io;

use morecores_study::trace::LEAST_LINUX;

use crate::perf::PerfError;

/// Reason why a run cannot be traced, with its remedy.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The kernel does not describe its types.
    #[error(
        "this kernel does not describe its types (no /sys/kernel/btf/vmlinux): boot one built with CONFIG_DEBUG_INFO_BTF"
    )]
    NoBtf,
    /// This process may not load BPF programs.
    #[error(
        "tracing needs root, or CAP_BPF and CAP_PERFMON, which this process does not have: `morecores doctor` says \
         how to get them"
    )]
    Refused,
    /// A required tracepoint is missing.
    #[error("this kernel lacks the tracepoint {0}: boot one built with CONFIG_TRACEPOINTS")]
    NoTracepoint(&'static str),
    /// The kernel's tracepoints report too little.
    #[error(
        "this kernel is too old: its tracepoint sched_switch does not report why a thread left its CPU; \
         boot Linux {}.{} or newer", LEAST_LINUX.0, LEAST_LINUX.1
    )]
    TooOld,
    /// The machine has a CPU number beyond the programs' limit.
    #[error("this machine has CPU {0}, but a trace covers CPUs 0 to 1023 only: run with --trace off")]
    TooManyCpus(u32),
    /// The kernel rejected a program or a buffer.
    #[error(
        "the kernel refused the tracer's programs: {0}; please report it with the output of `morecores doctor`"
    )]
    Load(String),
    /// A program could not be attached.
    #[error("cannot attach to {tracepoint}: {reason}")]
    Attach {
        /// Name of the tracepoint.
        tracepoint: String,
        /// Reason of the failure.
        reason: String,
    },
    /// Perf events are not available.
    #[error(transparent)]
    Perf(#[from] PerfError),
    /// Neither source is available.
    #[error("{bpf}; and without that: {perf}")]
    NoSource {
        /// Reason why BPF programs are not available.
        bpf: Box<TraceError>,
        /// Reason why perf events are not available.
        perf: PerfError,
    },
    /// The calls of `begin` and `end` were out of order.
    #[error("the tracer is not running")]
    NotRunning,
    /// The trace does not show the start of the command.
    #[error("the trace does not hold the command's start: its first events were lost")]
    NoRoot,
    /// A system call failed.
    #[error("cannot {action}: {error}")]
    Io {
        /// Attempted action.
        action: &'static str,
        /// Reason of the failure.
        error: io::Error,
    },
}

impl TraceError {
    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { action, error }
    }
}
