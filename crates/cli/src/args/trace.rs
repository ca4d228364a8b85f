//! Options of `morecores trace`, in the groups of its help.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use morecores_study::{Limit, Output};

/// Trace one run of a command, and say where its CPUs went
///
/// One run, without a study: what the CPUs did at each instant, why they were idle, which commands and kernel locks took
/// the time, how many threads ran at once and what ran while only one did. It is slower than an untraced one by a
/// percent or so; how much faster the command gets with more CPUs, only `morecores run` says.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TraceArgs {
    /// The command and its arguments; `{n}` becomes the CPU count, `{{n}}` is a literal `{n}`
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,

    /// Give the command's words to `/bin/sh -c` as one line
    #[arg(long, help_heading = COMMAND)]
    pub(crate) shell: bool,
    /// What `{n}` becomes [default: the CPU count]
    #[arg(short, value_name = "N", help_heading = COMMAND)]
    pub(crate) n: Option<u32>,
    /// Also set OMP_NUM_THREADS, RAYON_NUM_THREADS, GOMAXPROCS and their like to what `{n}` becomes
    #[arg(long, help_heading = COMMAND)]
    pub(crate) thread_env: bool,
    /// Set a variable for the command, `{n}` replaced in its value; NAME alone passes one on as it is
    #[arg(long, value_name = "NAME=VALUE", help_heading = COMMAND)]
    pub(crate) env: Vec<OsString>,
    /// Standard input of the command; `-` is that of morecores
    #[arg(long, value_name = "FILE", help_heading = COMMAND)]
    pub(crate) input: Option<PathBuf>,
    /// Where the command's output goes
    #[arg(long, value_enum, default_value_t = Output::Captured, help_heading = COMMAND)]
    pub(crate) output: Output,
    /// Run this shell line before the run, untraced; `{n}` is replaced in it
    #[arg(long, value_name = "LINE", help_heading = COMMAND)]
    pub(crate) prepare: Option<OsString>,
    /// End the run after this long; what it did until then is shown
    #[arg(long, value_name = "TIME", help_heading = COMMAND)]
    pub(crate) timeout: Option<String>,
    /// Exit statuses with which the command has not failed [default: 0]
    #[arg(long, value_name = "LIST", help_heading = COMMAND)]
    pub(crate) success: Option<String>,
    /// Leave processes alone that outlive the command
    #[arg(long, help_heading = COMMAND)]
    pub(crate) keep: bool,

    /// How many CPUs the run is allotted: a number or `all` [default: all usable]
    #[arg(long, value_name = "N", help_heading = CPUS)]
    pub(crate) cpus: Option<String>,
    /// How it is held to them
    #[arg(long, value_enum, default_value_t = Limit::Affinity, help_heading = CPUS)]
    pub(crate) limit: Limit,
    /// Which CPUs: the first ones of this list
    #[arg(long, value_name = "LIST", help_heading = CPUS)]
    pub(crate) cpu_list: Option<String>,

    /// Trace every system call with the file, pipe or process that it is about, not only those that block
    #[arg(long, help_heading = TRACE)]
    pub(crate) syscalls: bool,
    /// Keep the trace as a study there; `morecores show` shows it again
    #[arg(short = 'o', long = "study", value_name = "PATH", help_heading = TRACE)]
    pub(crate) study: Option<PathBuf>,
    /// The figures as JSON; their keys are described in docs/format.md
    #[arg(long, help_heading = TRACE)]
    pub(crate) json: bool,
}

const COMMAND: &str = "The command";
const CPUS: &str = "CPUs";
const TRACE: &str = "The trace";

const EXAMPLES: &str = "\
Examples:
  morecores trace --prepare 'make clean' -- make -j{n}
  morecores trace --cpus 1 -- perf bench sched pipe    why is it faster on one CPU than on two?
  morecores trace --cpus 2 -n 8 -- make -j{n}          eight jobs on two CPUs
  morecores trace --syscalls -o build.study -- make -j{n}
  morecores trace --output inherit -- ./server         Ctrl-C ends it and shows the trace
  morecores trace --json -- ./job | jq .components

Tracing wants CAP_BPF and CAP_PERFMON; `morecores doctor` says what is missing, and how to get it. Without them, context \
switches alone are recorded: parallelism and serial phases, but no causes.

Exit status: 0 traced; 1 the command failed, its trace is shown; 2 bad input or nothing may be traced here; 126, 127 \
the command cannot be executed, is not found; 130, 143 ended by Ctrl-C, by SIGTERM: the trace up to there is shown.";
