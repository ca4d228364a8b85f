//! Options of `morecores suite`.

use std::path::PathBuf;

use clap::Args;

/// Study the classic SMP benchmarks, and show each beside what was published of it
///
/// Each is a built-in program studied by `morecores run` like any other command; the lines that do it are shown, and the
/// studies are kept in one directory. Published are results of 1992 to 2001. At the end all of them stand in one
/// table and one picture.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SuiteArgs {
    /// Which benchmarks [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,

    /// Short runs, six of each CPU count: all benchmarks within 3 minutes on a quiet machine with 2 CPUs [the default]
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Runs of seconds, until each median is known to 1% or for a minute and a half: an hour on 2 CPUs at most
    #[arg(long)]
    pub(crate) full: bool,
    /// Where to keep the studies [default: suite-DATE-TIME here]
    #[arg(short = 'o', long = "directory", value_name = "PATH")]
    pub(crate) directory: Option<PathBuf>,
    /// Go on with the suite at -o: benchmarks that have a whole study there are not run again
    #[arg(long, requires = "directory")]
    pub(crate) resume: bool,
    /// Run nothing; show the studies that are kept there
    #[arg(long, value_name = "PATH", conflicts_with_all = ["directory", "quick", "full", "resume"])]
    pub(crate) show: Option<PathBuf>,

    /// Name the benchmarks and what each is, and end
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,
    /// The tables in Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Everything derived from the studies as JSON; its keys are described in docs/format.md
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  morecores suite --list                          which there are
  morecores suite                                 all of them, briefly
  morecores suite build pipe --full -o mine       two of them, thoroughly
  morecores suite --resume -o mine                after Ctrl-C
  morecores suite --show mine --markdown          their tables again

Exit status: 0 all were studied; 1 some could not be, which is said below their tables; 2 bad input; 130, 143 ended by \
Ctrl-C, by SIGTERM: what was measured is kept.";
