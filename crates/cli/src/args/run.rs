//! Options of `morecores run`, in the groups of its help.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use morecores_study::{DecimalMark, Limit, Output, Placement, TraceMode};

/// Measure a command on 1, 2, … n CPUs
///
/// Each CPU count is measured once a round, in an order shuffled anew every round, so that a drift of the machine
/// does not look like scaling. Rounds go on until every median is known to 1%, or as the options say: at least 6 rounds
/// and at most 30, for 5 minutes at most with the warm-up and the traced runs. `{n}` in any argument becomes the CPU count.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    /// The command and its arguments; `{n}` becomes the CPU count, `{{n}}` is a literal `{n}`
    // `allow_hyphen_values` is not set: a misspelt option of morecores would become the command.
    // After its first word, every word belongs to the command in either case.
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,

    /// Give the command's words to `/bin/sh -c` as one line
    #[arg(long, help_heading = COMMAND)]
    pub(crate) shell: bool,
    /// Also set OMP_NUM_THREADS, RAYON_NUM_THREADS, GOMAXPROCS and their like to the CPU count
    #[arg(long, help_heading = COMMAND)]
    pub(crate) thread_env: bool,
    /// Set a variable for the command, `{n}` replaced in its value; NAME alone passes one on as it is
    #[arg(long, value_name = "NAME=VALUE", help_heading = COMMAND, conflicts_with = "resume")]
    pub(crate) env: Vec<OsString>,
    /// Refuse to start where `{n}` is nowhere in the command
    #[arg(long, help_heading = COMMAND)]
    pub(crate) expect_n: bool,
    /// Standard input of the command; `-` is that of morecores. A pipe is read once, and every run gets a copy
    #[arg(long, value_name = "FILE", help_heading = COMMAND)]
    pub(crate) input: Option<PathBuf>,
    /// Refuse input that can be read only once and holds more than this, for example 512M [default: 1G]
    #[arg(long, value_name = "SIZE", help_heading = COMMAND)]
    pub(crate) input_limit: Option<String>,
    /// Where the command's output goes
    #[arg(long, value_enum, default_value_t = Output::Captured, help_heading = COMMAND)]
    pub(crate) output: Output,

    /// CPU counts: numbers, ranges and `all` [default: every count up to 6; powers of two beyond]
    #[arg(long, value_name = "LIST", help_heading = CPUS)]
    pub(crate) cpus: Option<String>,
    /// How runs are held to their CPUs
    #[arg(long, value_enum, default_value_t = Limit::Affinity, help_heading = CPUS)]
    pub(crate) limit: Limit,
    /// In which order CPUs are added
    #[arg(long, value_enum, default_value_t = Placement::CoresFirst, help_heading = CPUS)]
    pub(crate) placement: Placement,
    /// Add the CPUs of this list, in this order
    #[arg(long, value_name = "LIST", conflicts_with = "placement", help_heading = CPUS)]
    pub(crate) cpu_list: Option<String>,

    /// Stop when the 95% interval of every median is within this share of it; 0 never stops early [default: 1%]
    // `Option`, like `trace` below: when a study is resumed, the study's own value holds unless one
    // is given.
    #[arg(long, value_name = "PERCENT", help_heading = RUNS)]
    pub(crate) precision: Option<String>,
    /// At most this many runs of each CPU count [default: 30]
    #[arg(long, short, value_name = "N", help_heading = RUNS)]
    pub(crate) runs: Option<u32>,
    /// At least this many runs of each CPU count; fewer than 6 bear no interval
    #[arg(long, value_name = "N", help_heading = RUNS)]
    pub(crate) min_runs: Option<u32>,
    /// End the study after this long, for example 90s or 10m, warm-up and traced runs included; 0: no limit [default: begin
    /// no run that is not expected to end within 5m]
    #[arg(long, value_name = "TIME", help_heading = RUNS)]
    pub(crate) max_time: Option<String>,
    /// Runs of each CPU count before those that count [default: 1, with --cold 0]
    #[arg(long, value_name = "N", help_heading = RUNS)]
    pub(crate) warmup: Option<u32>,
    /// End a run after this long; it has then failed
    #[arg(long, value_name = "TIME", help_heading = RUNS)]
    pub(crate) timeout: Option<String>,
    /// Exit statuses of runs that count, for example 0,1 for a linter; death by a signal never does [default: 0]
    #[arg(long, value_name = "LIST", help_heading = RUNS)]
    pub(crate) success: Option<String>,
    /// Go on after a run that fails, leave it out of every figure, and say how many there were
    #[arg(long, help_heading = RUNS)]
    pub(crate) ignore_failure: bool,
    /// Go on where the first run leaves the later ones next to nothing to do, as a build does; without --prepare, what
    /// is measured then is an incremental build
    #[arg(long, help_heading = RUNS)]
    pub(crate) incremental: bool,
    /// Leave processes alone that outlive the command
    #[arg(long, help_heading = RUNS)]
    pub(crate) keep: bool,
    /// Seed of the shuffle and of all resampling [default: from the clock]
    #[arg(long, value_name = "NUMBER", help_heading = RUNS)]
    pub(crate) seed: Option<u64>,

    /// Run this shell line once, before the first run
    #[arg(long, value_name = "LINE", help_heading = AROUND)]
    pub(crate) setup: Option<OsString>,
    /// Run this shell line before every run; `{n}` is replaced in it
    #[arg(long, value_name = "LINE", help_heading = AROUND)]
    pub(crate) prepare: Option<OsString>,
    /// Run this shell line once, after the last run
    #[arg(long, value_name = "LINE", help_heading = AROUND)]
    pub(crate) cleanup: Option<OsString>,
    /// Write back and drop the page cache before each run (root)
    #[arg(long, help_heading = AROUND)]
    pub(crate) cold: bool,
    /// With --cold: also unmount and mount this file system before each run
    #[arg(long, value_name = "PATH", requires = "cold", help_heading = AROUND)]
    pub(crate) remount: Vec<String>,

    /// Measure the number that the command prints instead of its time: a regular expression, its first group. Several, each
    /// with a name: the first decides, all are kept and shown
    #[arg(long, value_name = "[NAME=]REGEX", help_heading = METRIC, conflicts_with = "resume")]
    pub(crate) metric: Vec<String>,
    /// The number's unit; NAME=TEXT is that of the metric of this name
    #[arg(long, value_name = "TEXT", requires = "metric", help_heading = METRIC)]
    pub(crate) unit: Vec<String>,
    /// The number is a cost, not a rate
    #[arg(long, requires = "metric", help_heading = METRIC)]
    pub(crate) lower_is_better: bool,
    /// What stands before the fraction of the command's numbers [default: told from them; `1,234` alone is refused]
    #[arg(long, value_enum, value_name = "MARK", requires = "metric", help_heading = METRIC)]
    pub(crate) decimal_mark: Option<DecimalMark>,

    /// After the timed runs, trace one more of each CPU count, to say where the CPUs went [default: auto]
    #[arg(long, value_enum, help_heading = TRACE)]
    pub(crate) trace: Option<TraceMode>,
    /// Trace every system call with the file, pipe or process that it is about, not only those that block
    #[arg(long, help_heading = TRACE)]
    pub(crate) syscalls: bool,

    /// Also trace what predicts these CPU counts: the command told each of them, on the CPUs there are [default LIST: 2, 4
    /// and 8 times the largest count]
    // The value is optional and needs `=`: the next word belongs to the command.
    #[arg(long, value_name = "LIST", num_args = 0..=1, require_equals = true, default_missing_value = "", help_heading = TRACE)]
    pub(crate) predict: Option<String>,

    /// Where to keep the study [default: NAME-DATE-TIME.study here]
    #[arg(short = 'o', long = "study", value_name = "PATH", help_heading = STUDY)]
    pub(crate) study: Option<PathBuf>,
    /// Go on with the study at -o; its command and plan hold, --runs, --precision, --max-time, --trace, --syscalls,
    /// --predict, --success, --ignore-failure and --incremental may differ; traces that are missing are made
    #[arg(long, requires = "study", help_heading = STUDY)]
    pub(crate) resume: bool,
    /// Every column of the table, every warning and every note
    #[arg(long, short, help_heading = STUDY)]
    pub(crate) wide: bool,
    /// Print nothing but errors
    #[arg(long, short, help_heading = STUDY)]
    pub(crate) quiet: bool,
}

const COMMAND: &str = "The command";
const CPUS: &str = "CPUs";
const RUNS: &str = "How many runs";
const AROUND: &str = "Around the runs";
const METRIC: &str = "A figure of the command's own";
const TRACE: &str = "The trace";
const STUDY: &str = "The study";

const EXAMPLES: &str = "\
Examples:
  morecores run -- sort --parallel={n} -o /dev/null big.txt
  morecores run --prepare 'make clean' -- make -j{n}
  morecores run --cpus 1,2,4-8,all --runs 10 -o zstd.study -- zstd -qf -T{n} big.tar
  xzcat big.txt.xz | morecores run --input - -- sort --parallel={n}
  morecores run --env OMP_NUM_THREADS={n} -- ./solver
  morecores run --thread-env -- python3 numpy-job.py
  morecores run --shell -- 'find . -name \"*.c\" | xargs -P{n} -n8 wc -c >/dev/null'
  morecores run --metric 'Requests/sec: +([0-9.]+)' --unit req/s -- wrk -t{n} -c64 -d5 http://127.0.0.1/
  morecores run --metric 'Requests/sec: +([0-9.]+)' --unit req/s -- sh bench.sh {n}
    A server and its load in one script: bench.sh starts the server, waits for it, runs the load, stops the server.
  morecores run --metric 'rate=([0-9.]+) req/s' --metric 'p99=p99: ([0-9.]+)' --unit p99=ms -- ./load
  sudo morecores run --limit hotplug --cold -- make -j{n}
  morecores run --trace on --syscalls --runs 10 -- make -j{n}
  morecores run --predict=8,16 --prepare 'make clean' -- make -j{n}
  morecores run --resume -o zstd.study --runs 50

Exit status: 0 measured; 1 the command failed, had nothing left to do after its first run, or its time was too short for a \
run that counts; 2 bad input, nothing was run; 126, 127 the command cannot be executed, is not found; 130, 143 ended by \
Ctrl-C, by SIGTERM: what was measured is kept.";
