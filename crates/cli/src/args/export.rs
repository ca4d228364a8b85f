//! Arguments of `morecores export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Write a traced run for a viewer of traces, a flame graph or pprof
///
/// The formats of traces show each thread's states and wake-ups, with the critical path, the serial
/// phases, the CPUs by component and the waits for locks on tracks of their own. The formats of
/// profiles have the call stacks with the time that each stands for.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExportArgs {
    /// Directory of a study with a trace
    pub(crate) study: PathBuf,
    /// Format of the file
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: ExportFormat,
    /// Name of the trace: that of its file in STUDY/traces, without the ending [default: the shown
    /// one on the most CPUs]
    #[arg(long, value_name = "NAME")]
    pub(crate) trace: Option<String>,
    /// File to write; `-` is standard output [default: the name of the study and of the trace, in
    /// the current directory]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
}

/// Format of an exported run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Trace Event Format: ui.perfetto.dev, chrome://tracing, speedscope
    ChromeTrace,
    /// Trace of Perfetto: ui.perfetto.dev, for long runs
    Perfetto,
    /// Profile of Firefox: profiler.firefox.com, with the samples of each thread over time
    Firefox,
    /// CPU time by call stack, one line each: flamegraph.pl, inferno, speedscope
    Folded,
    /// Profile of pprof, with CPU time and idle time by call stack: `go tool pprof`
    Pprof,
    /// Efficiencies of POP in the JSON of TALP (DLB), also for programs of gcc's OpenMP
    Talp,
}

const EXAMPLES: &str = "\
Examples:
  morecores export make.study --to chrome-trace        open make-2.trace.json in chrome://tracing
  morecores export make.study --to perfetto --trace 1  open make-1.perfetto-trace in ui.perfetto.dev
  morecores export make.study --to folded -o - | inferno-flamegraph > make.svg
  morecores export make.study --to pprof && go tool pprof -top make-2.pb.gz

Exit status: 0 written; 2 bad input.";
