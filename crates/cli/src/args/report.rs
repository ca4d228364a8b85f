//! Options of `morecores report`.

use std::path::PathBuf;

use clap::Args;
use morecores_view::page::{Axes, Picture};

use super::WorthArgs;

/// Write a report page: one file with every picture and table, for a browser without a network
///
/// The page contains the answer in words, the speedup curve with every run and the prediction, the
/// speedup stack, and the timeline of the traced runs. It also contains tables of commands, locks
/// and serial phases, and the method of measurement. It shows several studies one below the
/// other, with their speedups in one picture. The option --plot draws single pictures instead, in
/// the same style and without a browser.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportArgs {
    /// Directories of the studies, and of the searches of `morecores shake`; or one directory of
    /// `morecores suite`, to show its benchmarks beside the published results
    #[arg(required = true)]
    pub(crate) studies: Vec<PathBuf>,
    /// File of the page; `-` is standard output [default: report.html; no page with --plot]
    #[arg(long, short, alias = "output", value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) worth: WorthArgs,

    /// Picture to draw as SVG or PNG (repeatable); the name of FILE selects it: `speedup.svg`,
    /// `make-stack.png`
    #[arg(long, value_name = "FILE", help_heading = "Single pictures")]
    pub(crate) plot: Vec<PathBuf>,
    /// Picture that --plot draws, whatever the name of its FILE
    #[arg(long, requires = "plot", help_heading = "Single pictures")]
    pub(crate) picture: Option<Picture>,
    /// Width of a picture in pixels; a PNG has twice as many pixels, for sharp screens
    #[arg(long, requires = "plot", default_value_t = 900, value_parser = clap::value_parser!(u32).range(320..=4000), help_heading = "Single pictures")]
    pub(crate) width: u32,
    /// Axes of a picture [default: logarithmic if the largest CPU count is at least eight times the
    /// smallest]
    #[arg(long, requires = "plot", help_heading = "Single pictures")]
    pub(crate) axes: Option<Axes>,
    /// Draw on a dark background
    #[arg(long, requires = "plot", help_heading = "Single pictures")]
    pub(crate) dark: bool,
}

const EXAMPLES: &str = "\
Examples:
  morecores report make.study                                    everything, in report.html
  morecores report gcc.study clang.study -o both.html            two studies on one page
  morecores report mine -o suite.html                            a suite made by `suite -o mine`
  morecores report make.study --plot speedup.svg                 one picture
  morecores report make.study --plot stack.png --plot timeline.png --dark
  morecores report mine --plot suite.svg                         the classic benchmarks, then and now";
