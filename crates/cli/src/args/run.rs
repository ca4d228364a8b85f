//! Options of `morecores run`, in the groups of its help.

use std::ffi::OsString;
use std::path::PathBuf;

use super::AnswerArgs;
use clap::Args;
use morecores_study::{DecimalMark, Limit, LockHolds, Output, Placement, TraceMode};

/// Measure a command on 1, 2, … n CPUs
///
/// Each round measures every CPU count once, in a new random order, so that a drift of the machine
/// does not look like scaling. By default, rounds continue until the answer stands: no larger count
/// is worth its CPUs, or some count is and every speedup is known to a thirtieth of it (with one
/// CPU count: the median to 1%). There are at least 6 and at most 30 rounds; rounds that others
/// disturbed are repeated. No run begins if it is expected to end more than 5 minutes after the
/// start of the study; warm-up and traced runs count too. Options change these limits. `{n}` in any
/// argument becomes the CPU count.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    /// Command and its arguments; `{n}` becomes the CPU count, `{{n}}` is a literal `{n}`
    // `allow_hyphen_values` is not set: a misspelt option of morecores would become the command.
    // After its first word, every word belongs to the command in either case.
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,

    /// Pass the command's words to `/bin/sh -c` as one line
    #[arg(long, help_heading = COMMAND)]
    pub(crate) shell: bool,
    /// Also set OMP_NUM_THREADS, RAYON_NUM_THREADS, GOMAXPROCS and similar variables to the CPU
    /// count
    #[arg(long, help_heading = COMMAND)]
    pub(crate) thread_env: bool,
    /// Variable for the command, with `{n}` replaced in its value; NAME alone passes a variable on
    /// unchanged
    #[arg(long, value_name = "NAME=VALUE", help_heading = COMMAND, conflicts_with = "resume")]
    pub(crate) env: Vec<OsString>,
    /// Refuse to start if the command contains no `{n}`
    #[arg(long, help_heading = COMMAND)]
    pub(crate) expect_n: bool,
    /// File for the command's standard input; `-` is the input of morecores. A pipe is read once,
    /// and every run gets a copy
    #[arg(long, value_name = "FILE", help_heading = COMMAND)]
    pub(crate) input: Option<PathBuf>,
    /// Maximum size of input that can be read only once, for example 512M; larger input is refused
    /// [default: 1G]
    #[arg(long, value_name = "SIZE", help_heading = COMMAND)]
    pub(crate) input_limit: Option<String>,
    /// Destination of the command's output
    #[arg(long, value_enum, default_value_t = Output::Captured, help_heading = COMMAND)]
    pub(crate) output: Output,

    /// CPU counts: numbers, ranges and `all` [default: every count up to 6; powers of two beyond;
    /// with --n or --quota: all]
    #[arg(long, value_name = "LIST", help_heading = CPUS)]
    pub(crate) cpus: Option<String>,
    /// Values of `{n}`: numbers and ranges; each is measured on each of the --cpus, by default on
    /// all CPUs alone [default: the CPU count]
    #[arg(long, value_name = "LIST", conflicts_with_all = ["predict", "resume"], help_heading = CPUS)]
    pub(crate) n: Option<String>,
    /// Find the best of the values of --n with at most a quarter of the runs of all of them: each
    /// round leaves out values that are shown to be worse [default with it: --runs 12, --precision
    /// 2%]
    #[arg(long, value_enum, value_name = "AXIS", requires = "n", help_heading = CPUS)]
    pub(crate) tune: Option<TunedAxis>,
    /// Say that the work grows with `{n}`, as one input for each CPU: the answer is then about the
    /// work done in the same time (scaled speedup)
    #[arg(long, conflicts_with_all = ["n", "quota", "metric", "predict", "resume"], help_heading = CPUS)]
    pub(crate) weak: bool,
    /// Mechanism that holds runs to their CPUs
    #[arg(long, value_enum, default_value_t = Limit::Affinity, help_heading = CPUS)]
    pub(crate) limit: Limit,
    /// Limits of CPU time to measure, in CPUs as for containers (0.5,1,1.5,2) or in thousandths
    /// (500m,1000m); with --limit quota, by default on all CPUs alone
    #[arg(long, value_name = "LIST", conflicts_with_all = ["predict", "resume"], help_heading = CPUS)]
    pub(crate) quota: Option<String>,
    /// Order in which CPUs are added
    #[arg(long, value_enum, default_value_t = Placement::CoresFirst, help_heading = CPUS)]
    pub(crate) placement: Placement,
    /// CPUs to add, in this order
    #[arg(long, value_name = "LIST", conflicts_with = "placement", help_heading = CPUS)]
    pub(crate) cpu_list: Option<String>,

    /// Stop when the 95% interval of every speedup is within this percentage of the speedup (with
    /// one CPU count: of the median); 0 never stops early [default: stop when the answer stands,
    /// a yes with 3.3%; 1% with one CPU count]
    // `Option`, like `trace` below: when a study is resumed, the study's own value holds unless one
    // is given.
    #[arg(long, value_name = "PERCENT", help_heading = RUNS)]
    pub(crate) precision: Option<String>,
    /// Maximum runs of each CPU count; given alone, stop at the default precision whatever the
    /// answer [default: 30]
    #[arg(long, short, value_name = "N", help_heading = RUNS)]
    pub(crate) runs: Option<u32>,
    /// Count rounds that others disturbed, and do not repeat them. By default, a round is repeated
    /// if other programs or the hypervisor took more than a tenth of the CPUs' time, at most as
    /// often as the plan has rounds
    #[arg(long, help_heading = RUNS)]
    pub(crate) keep_disturbed: bool,
    /// Minimum runs of each CPU count; with fewer than 6 runs no confidence interval is shown
    #[arg(long, value_name = "N", help_heading = RUNS)]
    pub(crate) min_runs: Option<u32>,
    /// Maximum time of the study with warm-up and traced runs, for example 90s or 10m; 0 sets no
    /// limit [default: begin only runs that are expected to end within 5m]
    #[arg(long, value_name = "TIME", help_heading = RUNS)]
    pub(crate) max_time: Option<String>,
    /// Warm-up runs of each CPU count before the timed runs [default: 1, with --cold 0]
    #[arg(long, value_name = "N", help_heading = RUNS)]
    pub(crate) warmup: Option<u32>,
    /// Maximum time of a run; a run that exceeds it is ended and has failed
    #[arg(long, value_name = "TIME", help_heading = RUNS)]
    pub(crate) timeout: Option<String>,
    /// Exit statuses of successful runs, for example 0,1 for a linter; death by a signal is never a
    /// success [default: 0]
    #[arg(long, value_name = "LIST", help_heading = RUNS)]
    pub(crate) success: Option<String>,
    /// Continue after a failed run, leave it out of every figure, and report the number of failed
    /// runs
    #[arg(long, help_heading = RUNS)]
    pub(crate) ignore_failure: bool,
    /// Measure an incremental build: continue even if the first run leaves almost no work for the
    /// later runs
    #[arg(long, help_heading = RUNS)]
    pub(crate) incremental: bool,
    /// Do not end processes that outlive the command
    #[arg(long, help_heading = RUNS)]
    pub(crate) keep: bool,
    /// Seed of the shuffle and of all resampling [default: from the clock]
    #[arg(long, value_name = "NUMBER", help_heading = RUNS)]
    pub(crate) seed: Option<u64>,

    /// Shell line to run once, before the first run
    #[arg(long, value_name = "LINE", help_heading = AROUND)]
    pub(crate) setup: Option<OsString>,
    /// Shell line to run before every run, with `{n}` replaced
    #[arg(long, value_name = "LINE", help_heading = AROUND)]
    pub(crate) prepare: Option<OsString>,
    /// Shell line to run once, after the last run
    #[arg(long, value_name = "LINE", help_heading = AROUND)]
    pub(crate) cleanup: Option<OsString>,
    /// Write back and drop the page cache before each run (root)
    #[arg(long, help_heading = AROUND)]
    pub(crate) cold: bool,
    /// File system to unmount and mount before each run, with --cold
    #[arg(long, value_name = "PATH", requires = "cold", help_heading = AROUND)]
    pub(crate) remount: Vec<String>,

    /// Regular expression for a printed number, to measure instead of the time; its first group is
    /// the number. Several metrics need names: the first one decides, all are kept and shown
    #[arg(long, value_name = "[NAME=]REGEX", help_heading = METRIC, conflicts_with = "resume")]
    pub(crate) metric: Vec<String>,
    /// Unit of the number; NAME=TEXT is the unit of the metric with this name
    #[arg(long, value_name = "TEXT", requires = "metric", help_heading = METRIC)]
    pub(crate) unit: Vec<String>,
    /// Treat the number as a cost, not as a rate
    #[arg(long, requires = "metric", help_heading = METRIC)]
    pub(crate) lower_is_better: bool,
    /// Decimal mark of the command's numbers [default: determined from them; `1,234` alone is
    /// refused]
    #[arg(long, value_enum, value_name = "MARK", requires = "metric", help_heading = METRIC)]
    pub(crate) decimal_mark: Option<DecimalMark>,

    /// Trace further runs of each CPU count after the timed runs, to show where the CPUs went
    /// [default: auto]
    #[arg(long, value_enum, help_heading = TRACE)]
    pub(crate) trace: Option<TraceMode>,
    /// Traced runs of each CPU count, in shuffled rounds [default: 3; 1 if a run takes more than
    /// 20 s, if the time is too short, or if the traces are large]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = TRACE)]
    pub(crate) traced_runs: Option<u32>,
    /// Trace every system call with its file, pipe or process, not only the blocking calls
    #[arg(long, help_heading = TRACE)]
    pub(crate) syscalls: bool,
    /// Holds of the command's own locks to trace. `exact` counts each hold of a mutex or
    /// reader-writer lock of the C library, which makes each lock some microseconds slower, also
    /// for other programs that use the same library during the run
    #[arg(long, value_enum, value_name = "HOLDS", default_value_t, help_heading = TRACE)]
    pub(crate) locks: LockHolds,
    /// Fetch debug files of stripped programs and libraries from the servers in DEBUGINFOD_URLS, by
    /// `debuginfod-find` and after each traced run, for the names of their functions
    #[arg(long, help_heading = TRACE)]
    pub(crate) debuginfod: bool,

    /// Also trace runs that predict these CPU counts: `{n}` becomes each count, on the existing
    /// CPUs [default LIST: 2, 4 and 8 times the largest count]
    // The value is optional and needs `=`: the next word belongs to the command.
    #[arg(long, value_name = "LIST", num_args = 0..=1, require_equals = true, default_missing_value = "", help_heading = TRACE)]
    pub(crate) predict: Option<String>,

    #[command(flatten, next_help_heading = STUDY)]
    pub(crate) answer: AnswerArgs,

    /// Directory of the study [default: NAME-DATE-TIME.study in the current directory]
    #[arg(long, short, alias = "study", value_name = "PATH", help_heading = STUDY)]
    pub(crate) out: Option<PathBuf>,
    /// Continue the study at -o with its own command and plan. These options may differ: --runs,
    /// --precision, --keep-disturbed, --max-time, --trace, --traced-runs, --syscalls, --debuginfod,
    /// --predict, --success, --ignore-failure, --incremental and --worth. Missing traces are made
    #[arg(long, requires = "out", help_heading = STUDY)]
    pub(crate) resume: bool,
    /// Show every column of the table, every warning and every note
    #[arg(long, short, help_heading = STUDY)]
    pub(crate) wide: bool,
    /// Print only errors
    #[arg(long, short, help_heading = STUDY)]
    pub(crate) quiet: bool,
}

/// Axis whose best value is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TunedAxis {
    /// The values of `{n}`
    N,
}

const COMMAND: &str = "Command";
const CPUS: &str = "CPUs";
const RUNS: &str = "Runs";
const AROUND: &str = "Before and after the runs";
const METRIC: &str = "Printed figures";
const TRACE: &str = "Trace";
const STUDY: &str = "Study";

const EXAMPLES: &str = "\
Examples:
  morecores run -- sort --parallel={n} -o /dev/null big.txt
  morecores run --prepare 'make clean' -- make -j{n}
  morecores run --n 1-8 --prepare 'make clean' -- make -j{n}
  morecores run --n 1-32 --tune n -- xz -kc -T{n} big.tar
  morecores run --cpus 1,2,4-8,all --runs 10 -o zstd.study -- zstd -qf -T{n} big.tar
  xzcat big.txt.xz | morecores run --input - -- sort --parallel={n}
  morecores run --env OMP_NUM_THREADS={n} -- ./solver
  morecores run --thread-env -- python3 numpy-job.py
  morecores run --shell -- 'find . -name \"*.c\" | xargs -P{n} -n8 wc -c >/dev/null'
  morecores run --metric 'Requests/sec: +([0-9.]+)' --unit req/s -- wrk -t{n} -c64 -d5 http://127.0.0.1/
  morecores run --metric 'Requests/sec: +([0-9.]+)' --unit req/s -- sh bench.sh {n}
    One script holds server and load: bench.sh starts the server, waits for it, runs the load, stops the server.
  morecores run --metric 'rate=([0-9.]+) req/s' --metric 'p99=p99: ([0-9.]+)' --unit p99=ms -- ./load
  sudo morecores run --limit quota --quota 0.5,1,1.5,2 -- java -jar job.jar
  sudo morecores run --limit hotplug --cold -- make -j{n}
  morecores run --trace on --syscalls --runs 10 -- make -j{n}
  morecores run --weak -- ./solver --cells {n}000000 --threads {n}
  morecores run --predict=8,16 --prepare 'make clean' -- make -j{n}
  morecores run --resume -o zstd.study --runs 50

Exit status: 0 measured; 1 the command failed, had nothing left to do after its first run, or had too little time for a \
timed run; 2 bad input, nothing was run; 126 the command cannot be executed; 127 the command is not found; 129 ended by \
SIGHUP; 130 ended by Ctrl-C; 143 ended by SIGTERM. With --exit-answer, a measured study gives 0 for yes, 3 for no, 4 for \
\"it cannot be told yet\". Measurements made before a signal are kept.";
