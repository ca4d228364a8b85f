//! The options of `morecores report`.

use std::path::PathBuf;

use clap::Args;

/// Write a report page: one file with every picture and table, to be opened in a browser without a network
///
/// The answer in words, the speedup curve with every run and the prediction, the speedup stack, the timeline of the traced runs, tables
/// of commands, locks and serial phases, and how all of it was measured. Several studies are shown one below the other, with their
/// speedups in one picture.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The studies' directories
    #[arg(required = true)]
    pub(crate) studies: Vec<PathBuf>,
    /// Where to write the page; `-` for standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,
}
