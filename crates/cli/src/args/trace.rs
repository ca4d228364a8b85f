//! Options of `morecores trace`, in the groups of its help.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use morecores_study::{Limit, LockHolds, Output};

/// Trace one run of a command and show where its CPUs went
///
/// The command runs once, and only -o keeps a study. The report shows what the CPUs did at each
/// instant and why they were idle. It also shows the commands and kernel locks that took the time,
/// the number of threads that ran at once, and the threads that ran alone. A traced run is slower
/// by about one percent. Only `morecores run` measures how much faster the command gets with more
/// CPUs.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TraceArgs {
    /// Command and its arguments; `{n}` becomes the CPU count, `{{n}}` is a literal `{n}`
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,

    /// Pass the command's words to `/bin/sh -c` as one line
    #[arg(long, help_heading = COMMAND)]
    pub(crate) shell: bool,
    /// Value of `{n}` [default: the CPU count]
    #[arg(short, value_name = "N", help_heading = COMMAND)]
    pub(crate) n: Option<u32>,
    /// Also set OMP_NUM_THREADS, RAYON_NUM_THREADS, GOMAXPROCS and similar variables to the value
    /// of `{n}`
    #[arg(long, help_heading = COMMAND)]
    pub(crate) thread_env: bool,
    /// Variable for the command, with `{n}` replaced in its value; NAME alone passes a variable on
    /// unchanged
    #[arg(long, value_name = "NAME=VALUE", help_heading = COMMAND)]
    pub(crate) env: Vec<OsString>,
    /// File for the command's standard input; `-` is the input of morecores
    #[arg(long, value_name = "FILE", help_heading = COMMAND)]
    pub(crate) input: Option<PathBuf>,
    /// Destination of the command's output
    #[arg(long, value_enum, default_value_t = Output::Captured, help_heading = COMMAND)]
    pub(crate) output: Output,
    /// Shell line to run before the run, untraced, with `{n}` replaced
    #[arg(long, value_name = "LINE", help_heading = COMMAND)]
    pub(crate) prepare: Option<OsString>,
    /// Maximum time of the run; a run that exceeds it is ended, and its trace so far is shown
    #[arg(long, value_name = "TIME", help_heading = COMMAND)]
    pub(crate) timeout: Option<String>,
    /// Exit statuses of a successful run [default: 0]
    #[arg(long, value_name = "LIST", help_heading = COMMAND)]
    pub(crate) success: Option<String>,
    /// Do not end processes that outlive the command
    #[arg(long, help_heading = COMMAND)]
    pub(crate) keep: bool,

    /// Number of CPUs for the run, or `all` [default: all usable]
    #[arg(long, value_name = "N", help_heading = CPUS)]
    pub(crate) cpus: Option<String>,
    /// Mechanism that holds the run to its CPUs
    #[arg(long, value_enum, default_value_t = Limit::Affinity, help_heading = CPUS)]
    pub(crate) limit: Limit,
    /// Limit of CPU time, in CPUs as for containers (1.5) or in thousandths (1500m); with --limit
    /// quota
    #[arg(long, value_name = "CPUS", help_heading = CPUS)]
    pub(crate) quota: Option<String>,
    /// CPUs for the run; it gets the first ones of this list
    #[arg(long, value_name = "LIST", help_heading = CPUS)]
    pub(crate) cpu_list: Option<String>,

    /// Trace every system call with its file, pipe or process, not only the blocking calls
    #[arg(long, help_heading = TRACE)]
    pub(crate) syscalls: bool,
    /// Holds of the command's own locks to trace. `exact` counts each hold of a mutex or
    /// reader-writer lock of the C library, which makes each lock some microseconds slower, also
    /// for other programs that use the same library during the run
    #[arg(long, value_enum, value_name = "HOLDS", default_value_t, help_heading = TRACE)]
    pub(crate) locks: LockHolds,
    /// Fetch debug files of stripped programs and libraries from the servers in DEBUGINFOD_URLS, by
    /// `debuginfod-find` and after the run, for the names of their functions
    #[arg(long, help_heading = TRACE)]
    pub(crate) debuginfod: bool,
    /// Directory of a study that keeps the trace; `morecores show` shows it again
    #[arg(long, short, alias = "study", value_name = "PATH", help_heading = TRACE)]
    pub(crate) out: Option<PathBuf>,
    /// Print the figures as JSON; docs/format.md describes their keys
    #[arg(long, help_heading = TRACE)]
    pub(crate) json: bool,
}

const COMMAND: &str = "Command";
const CPUS: &str = "CPUs";
const TRACE: &str = "Trace";

const EXAMPLES: &str = "\
Examples:
  morecores trace --prepare 'make clean' -- make -j{n}
  morecores trace --cpus 1 -- perf bench sched pipe    why one CPU is faster than two
  morecores trace --cpus 2 -n 8 -- make -j{n}          eight jobs on two CPUs
  morecores trace --syscalls -o build.study -- make -j{n}
  morecores trace --locks exact -- ./server            how long each lock was held
  morecores trace --output inherit -- ./server         Ctrl-C ends the server and shows the trace
  morecores trace --json -- ./job | jq .components

Tracing needs CAP_BPF and CAP_PERFMON; `morecores doctor` reports what is missing, and how to get it. A trace without \
them contains context switches, and samples in user mode: it shows parallelism, serial phases and functions, but no \
causes of waiting.

Exit status: 0 traced; 1 the command failed, its trace is shown; 2 bad input, or tracing is not permitted here; 126 the \
command cannot be executed; 127 the command is not found; 129 ended by SIGHUP; 130 ended by Ctrl-C; 143 ended by SIGTERM. \
The trace up to the signal is shown.";
