//! Options of `morecores suite`.

use std::path::PathBuf;

use clap::Args;

use super::WorthArgs;

/// Study the classic SMP benchmarks and show each beside its published results
///
/// Each benchmark is a built-in program. `morecores run` studies it like any other command. The
/// output shows these command lines, and one directory keeps the studies. The published results are
/// from 1992 to 2001. A last table and a picture show all benchmarks.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SuiteArgs {
    /// Names of the benchmarks [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,

    /// Make six short runs of each CPU count: all benchmarks within 3 minutes on a quiet machine
    /// with 2 CPUs [the default]
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Make runs of several seconds, until each speedup is known to 1% or for a minute and a half:
    /// at most an hour on 2 CPUs
    #[arg(long)]
    pub(crate) full: bool,
    /// Directory of the studies [default: suite-DATE-TIME in the current directory]
    #[arg(long, short, alias = "directory", value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Continue the suite at -o; benchmarks with a complete study are not run again
    #[arg(long, requires = "out")]
    pub(crate) resume: bool,
    /// Directory of a suite to show; nothing is run
    #[arg(long, value_name = "PATH", conflicts_with_all = ["out", "quick", "full", "resume"])]
    pub(crate) show: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) worth: WorthArgs,

    /// List the benchmarks with their descriptions, and exit
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,
    /// Print the tables in Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Print all derived figures as JSON; docs/format.md describes their keys
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  morecores suite --list                          names and descriptions
  morecores suite                                 all benchmarks, short runs
  morecores suite build pipe --full -o mine       two benchmarks, long runs
  morecores suite --resume -o mine                continue after Ctrl-C
  morecores suite --show mine --markdown          the tables of a finished suite

Exit status: 0 all benchmarks were studied; 1 some could not be studied, with the reason below their tables; 2 bad input; \
129 ended by SIGHUP; 130 ended by Ctrl-C; 143 ended by SIGTERM. Measurements made before a signal are kept.";
