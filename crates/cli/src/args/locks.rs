//! Options of `morecores locks` and `morecores tune-spin`.

use std::path::PathBuf;

use clap::Args;

use super::FormatArgs;

/// Measure locks: what each costs, and which to take when
///
/// Our own, the standard library's, parking_lot's, the C library's and the kernel's, side by side: what a lock costs that nobody
/// else wants, how long it takes to hand it over, how it does with ever more threads, how fair it is, what waiting burns, and
/// what happens when its owner is taken off its CPU. Each cell is measured once a round by a process of its own, in an order
/// shuffled anew every round. What is measured is kept in a study, which show, report and serve take.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LocksArgs {
    /// Which locks, by name [default: all]
    #[arg(long, value_name = "NAMES", conflicts_with = "resume", help_heading = WHAT)]
    pub(crate) lock: Option<String>,
    /// Numbers of threads at the lock [default: powers of two up to twice the usable CPUs]
    #[arg(long, value_name = "LIST", conflicts_with = "resume", help_heading = WHAT)]
    pub(crate) threads: Option<String>,
    /// For how long the lock is held, with units [default: 0,100ns,1us,10us,100us; with --quick 0,1us,100us]
    #[arg(long, value_name = "TIMES", conflicts_with = "resume", help_heading = WHAT)]
    pub(crate) hold: Option<String>,
    /// How long a thread stays away from the lock: times with units, or `hold`, as long as it held it [default: 0,hold]
    #[arg(long, value_name = "TIMES", conflicts_with = "resume", help_heading = WHAT)]
    pub(crate) think: Option<String>,

    /// How often each cell is measured; fewer than 6 bear no interval [default: 7; with --quick 6]
    #[arg(long, value_name = "N", help_heading = RUNS)]
    pub(crate) rounds: Option<u32>,
    /// Shorter contests, fewer of them: about a minute on 2 CPUs
    #[arg(long, conflicts_with = "resume", help_heading = RUNS)]
    pub(crate) quick: bool,
    /// Seed of the shuffle [default: from the clock]
    #[arg(long, value_name = "NUMBER", conflicts_with = "resume", help_heading = RUNS)]
    pub(crate) seed: Option<u64>,

    /// Where to keep the study [default: locks-DATE-TIME.study here]
    #[arg(short = 'o', long = "study", value_name = "PATH", conflicts_with = "resume", help_heading = STUDY)]
    pub(crate) study: Option<PathBuf>,
    /// Go on with this study; its plan holds, but --rounds may differ
    #[arg(long, value_name = "PATH", help_heading = STUDY)]
    pub(crate) resume: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Every figure with its interval, every warning and every note
    #[arg(long, short, help_heading = STUDY)]
    pub(crate) wide: bool,
    /// Print nothing but errors
    #[arg(long, short, help_heading = STUDY)]
    pub(crate) quiet: bool,
}

const WHAT: &str = "What is measured";
const RUNS: &str = "How often and how long";
const STUDY: &str = "The study";

const EXAMPLES: &str = "\
Examples:
  morecores locks --quick                                       every lock, in about a minute
  morecores locks -o locks.study                                the same thoroughly, in some minutes
  morecores locks --lock adaptive,std,pthread-adaptive --hold 500ns --threads 2,8
  morecores locks --lock spin,block --hold 1us,1ms --think 10us
  morecores locks --resume locks.study --rounds 20              after Ctrl-C, or for narrower intervals
  morecores report locks.study                                  with a picture of each contest

Exit status: 0 measured; 1 some cells could not be, which is said; 2 bad input, nothing was measured; 130, 143 ended by \
Ctrl-C, by SIGTERM: what was measured is kept.";

/// Say how long a lock should spin on this machine before it sleeps, and how that was found
///
/// Measures what a sleep and a wake-up cost and what a turn of the spinning loop takes. As many turns as cost one sleep are what
/// the lock `adaptive` spins for in a program that calls `prepare`: so a wait never costs more than twice what the better of the
/// two would have cost. Without that call it assumes 14 µs for a sleep and a wake-up.
#[derive(Debug, Args)]
pub(crate) struct TuneSpinArgs {
    /// As JSON, with every measurement
    #[arg(long)]
    pub(crate) json: bool,
}
