//! Options of `morecores compare`.

use std::path::PathBuf;

use clap::Args;

/// Compare two studies: what changed, what caused it, and whether a condition holds
///
/// At each CPU count that both have: the ratio of their medians with its interval, and that of their speedups; the difference of
/// their speedup stacks, so which loss grew. A difference inside the intervals, or inside what two measurements of the same
/// thing differ by, is not called one. Where the two were not made alike (another machine, another command), that is said.
#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct CompareArgs {
    /// The study to compare with
    pub(crate) base: PathBuf,
    /// The study that is compared
    pub(crate) new: PathBuf,
    /// Exit with status 3 if this holds: a figure at a CPU count, <, <=, > or >=, and a number, or a share of BASE with %; may be
    /// given more than once. Figures are the keys of `show --json`: speedup@2, elapsed_s@2, idle_disk@2, traces.waiting_ratio@2
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,
    /// Exit with status 3 also where a condition cannot be told: its interval lies on both sides, or there are too few runs
    #[arg(long, requires = "fail_if")]
    pub(crate) strict: bool,
    /// The smallest relative difference that is called one, in percent, besides noise
    #[arg(long, value_name = "PERCENT")]
    pub(crate) at_least: Option<String>,
    #[command(flatten)]
    pub(crate) format: CompareFormatArgs,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct CompareFormatArgs {
    /// As JSON; its keys are described in docs/format.md
    #[arg(long)]
    pub(crate) json: bool,
    /// For a comment on a pull request
    #[arg(long)]
    pub(crate) markdown: bool,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  morecores compare before.study after.study
  morecores compare main.study branch.study --fail-if 'speedup@2 < 95%' --markdown
  morecores compare main.study branch.study --fail-if 'elapsed_s@2 > 105%' --fail-if 'idle_disk@2 > 0.2'

Exit status: 0 compared, and no condition holds; 2 bad input; 3 a condition holds. docs/ci.md has a complete workflow.";
