//! Why a run cannot be traced.

use std::io;

use morecores_study::trace::LEAST_LINUX;

use crate::perf::PerfError;

/// Why a run cannot be traced, and what would change that.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The kernel does not describe its types.
    #[error(
        "this kernel does not describe its types (no /sys/kernel/btf/vmlinux): boot one built with CONFIG_DEBUG_INFO_BTF"
    )]
    NoBtf,
    /// BPF programs may not be loaded.
    #[error(
        "tracing needs root, or CAP_BPF and CAP_PERFMON, which this process has not: `morecores doctor` says \
         what gives them"
    )]
    Refused,
    /// A tracepoint that no trace can do without is not there.
    #[error("this kernel lacks the tracepoint {0}: boot one built with CONFIG_TRACEPOINTS")]
    NoTracepoint(&'static str),
    /// Its tracepoints tell too little.
    #[error(
        "this kernel is too old: its tracepoint sched_switch does not tell why a thread left its CPU; \
         boot Linux {}.{} or newer", LEAST_LINUX.0, LEAST_LINUX.1
    )]
    TooOld,
    /// More CPUs than the programs have room for.
    #[error("this machine has CPU {0}, and a trace covers CPUs 0 to 1023 only: run with --trace off")]
    TooManyCpus(u32),
    /// The kernel rejected a program or a buffer.
    #[error(
        "the kernel did not take the tracer's programs: {0}; please report it with the output of `morecores doctor`"
    )]
    Load(String),
    /// A program could not be attached.
    #[error("cannot attach to {tracepoint}: {reason}")]
    Attach {
        /// Where.
        tracepoint: String,
        /// Why not.
        reason: String,
    },
    /// Perf events could not do it.
    #[error(transparent)]
    Perf(#[from] PerfError),
    /// Neither source can be had.
    #[error("{bpf}; and without that: {perf}")]
    Neither {
        /// Why not BPF programs.
        bpf: Box<TraceError>,
        /// Why not perf events.
        perf: PerfError,
    },
    /// `begin` and `end` out of order.
    #[error("the tracer is not at work")]
    Idle,
    /// The command was never seen to start.
    #[error("the trace does not hold the command's start: its first events were lost")]
    NoRoot,
    /// A system call failed.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

impl TraceError {
    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }
}
