//! Options of `morecores compare`.

use std::path::PathBuf;

use clap::Args;

/// Compare two studies: what changed, what caused it, and whether a condition holds
///
/// The output gives, for each common CPU count, the ratio of the medians and the ratio of the
/// speedups, with intervals. It also gives the difference of the speedup stacks, which shows the
/// loss that grew. A change does not count as a difference if it is within the intervals or within
/// the noise of repeated measurements. The output says if the studies were made differently, for
/// example on another machine or with another command.
#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct CompareArgs {
    /// Reference study
    pub(crate) base: PathBuf,
    /// Study to compare with BASE
    pub(crate) new: PathBuf,
    /// Condition for exit status 3 (repeatable): a figure at a CPU count, then <, <=, > or >=, then
    /// a number or, with %, a share of BASE. Figures are the keys of `show --json` that have an
    /// interval: speedup@2, elapsed_s@2, user_s@2, minor_faults@2. The whole interval must fulfil
    /// the condition, so that chance alone fulfils it in at most 2.5% of comparisons
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,
    /// Exit with status 3 also if a condition is undecided: its interval lies on both sides of the
    /// limit, or there are too few runs
    #[arg(long, requires = "fail_if")]
    pub(crate) strict: bool,
    /// Minimum relative change that counts as a difference, in percent; it must also exceed the
    /// noise
    #[arg(long, value_name = "PERCENT")]
    pub(crate) at_least: Option<String>,
    #[command(flatten)]
    pub(crate) format: CompareFormatArgs,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct CompareFormatArgs {
    /// Print JSON; docs/format.md describes its keys
    #[arg(long)]
    pub(crate) json: bool,
    /// Print Markdown, for a comment on a pull request
    #[arg(long)]
    pub(crate) markdown: bool,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  morecores compare before.study after.study
  morecores compare main.study branch.study --fail-if 'speedup@2 < 95%' --markdown
  morecores compare main.study branch.study --fail-if 'elapsed_s@2 > 105%' --fail-if 'minor_faults@2 > 110%'

Exit status: 0 compared, and no condition holds; 2 bad input; 3 a condition holds. docs/ci.md has a complete workflow.";
