//! Options of `morecores locks` and `morecores tune-spin`.

use std::path::PathBuf;

use clap::Args;

use super::FormatArgs;

/// Measure the cost of locks, and advise which to use when
///
/// The locks are those of morecores, the standard library, parking_lot, the C library and the
/// kernel. The figures are: cost without contention, time of a handoff, rate with more and more
/// threads, fairness, CPU time used by waiting, and effect of a preempted owner. Each round
/// measures every cell (one property of one lock) once, in a separate process and in a new random
/// order. A study keeps the measurements; `show`, `report` and `serve` read it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LocksArgs {
    /// Names of the locks [default: all]
    #[arg(long, value_name = "NAMES", conflicts_with = "resume", help_heading = WHAT)]
    pub(crate) lock: Option<String>,
    /// Numbers of threads that use the lock [default: powers of two up to twice the usable CPUs]
    #[arg(long, value_name = "LIST", conflicts_with = "resume", help_heading = WHAT)]
    pub(crate) threads: Option<String>,
    /// Hold times of the lock, with units [default: 0,100ns,1us,10us,100us; with --quick
    /// 0,1us,100us]
    #[arg(long, value_name = "TIMES", conflicts_with = "resume", help_heading = WHAT)]
    pub(crate) hold: Option<String>,
    /// Times that a thread spends away from the lock, with units; `hold` equals the hold time
    /// [default: 0,hold]
    #[arg(long, value_name = "TIMES", conflicts_with = "resume", help_heading = WHAT)]
    pub(crate) think: Option<String>,

    /// Number of rounds; with fewer than 6 rounds no confidence interval is shown [default: 7; with
    /// --quick 6]
    #[arg(long, short, alias = "rounds", value_name = "N", help_heading = RUNS)]
    pub(crate) runs: Option<u32>,
    /// Measure fewer cells for a shorter time: about a minute on 2 CPUs
    #[arg(long, conflicts_with = "resume", help_heading = RUNS)]
    pub(crate) quick: bool,
    /// Seed of the shuffle [default: from the clock]
    #[arg(long, value_name = "NUMBER", conflicts_with = "resume", help_heading = RUNS)]
    pub(crate) seed: Option<u64>,

    /// Directory of the study [default: locks-DATE-TIME.study in the current directory]
    #[arg(long, short, alias = "study", value_name = "PATH", help_heading = STUDY)]
    pub(crate) out: Option<PathBuf>,
    /// Continue the study at -o with its own plan; only --runs may differ
    #[arg(long, requires = "out", help_heading = STUDY)]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Show every figure with its interval, every warning and every note
    #[arg(long, short, help_heading = STUDY)]
    pub(crate) wide: bool,
    /// Print only errors
    #[arg(long, short, help_heading = STUDY)]
    pub(crate) quiet: bool,
}

const WHAT: &str = "Locks and contention";
const RUNS: &str = "Rounds";
const STUDY: &str = "Study";

const EXAMPLES: &str = "\
Examples:
  morecores locks --quick                                       all locks, in about a minute
  morecores locks -o locks.study                                all locks, in several minutes
  morecores locks --lock adaptive,std,pthread-adaptive --hold 500ns --threads 2,8
  morecores locks --lock spin,block --hold 1us,1ms --think 10us
  morecores locks --resume -o locks.study --runs 20             after Ctrl-C, or for more precision
  morecores report locks.study                                  pictures of the contention

Exit status: 0 measured; 1 some cells could not be measured, with a message; 2 bad input, nothing was measured; 129 ended by \
SIGHUP; 130 ended by Ctrl-C; 143 ended by SIGTERM. Measurements made before a signal are kept.";

/// Show how long a lock should spin on this machine before it sleeps, with the measurements
///
/// Two times are measured: a sleep with its wake-up, and one turn of the spinning loop. The spin
/// bound is the number of turns that take as long as one sleep. The lock `adaptive` spins up to
/// this bound in a program that calls `prepare`. A wait then never costs more than twice as much as
/// the better choice, to spin or to sleep. Without that call the lock assumes 14 µs for a sleep and
/// a wake-up.
#[derive(Debug, Args)]
pub(crate) struct TuneSpinArgs {
    /// Print JSON with every measurement
    #[arg(long)]
    pub(crate) json: bool,
}
