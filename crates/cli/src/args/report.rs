//! Options of `morecores report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use morecores_view::page::Picture;

/// Write a report page: one file with every picture and table, to be opened in a browser without a network
///
/// The answer in words, the speedup curve with every run and the prediction, the speedup stack, the timeline of the traced runs, tables
/// of commands, locks and serial phases, and how all of it was measured. Several studies are shown one below the other, with their
/// speedups in one picture. With --plot, single pictures are drawn instead, in the same style and without a browser.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportArgs {
    /// The studies' directories; or one that `morecores suite` made, whose benchmarks are shown beside what was published
    #[arg(required = true)]
    pub(crate) studies: Vec<PathBuf>,
    /// Where to write the page; `-` for standard output [default: report.html; no page with --plot]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Draw the picture that FILE is called after, as SVG or PNG: `speedup.svg`, `make-stack.png`; may be given several times
    #[arg(long, value_name = "FILE", help_heading = "Single pictures")]
    pub(crate) plot: Vec<PathBuf>,
    /// Which picture --plot draws, whatever its file is called
    #[arg(long, requires = "plot", help_heading = "Single pictures")]
    pub(crate) picture: Option<Picture>,
    /// Width of a picture in pixels; a PNG has twice as many, for sharp screens
    #[arg(long, requires = "plot", default_value_t = 900, value_parser = clap::value_parser!(u32).range(320..=4000), help_heading = "Single pictures")]
    pub(crate) width: u32,
    /// Axes of a picture [default: logarithmic where the CPU counts reach to eight times the smallest]
    #[arg(long, requires = "plot", help_heading = "Single pictures")]
    pub(crate) axes: Option<AxesArg>,
    /// Draw on a dark ground
    #[arg(long, requires = "plot", help_heading = "Single pictures")]
    pub(crate) dark: bool,
}

/// Axes by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AxesArg {
    /// Equal steps
    Linear,
    /// Equal ratios
    Log,
}

const EXAMPLES: &str = "\
Examples:
  morecores report make.study                                    everything, in report.html
  morecores report gcc.study clang.study -o both.html            two studies side by side
  morecores report mine -o suite.html                            what `morecores suite -o mine` made, then and now
  morecores report make.study --plot speedup.svg                 one picture
  morecores report make.study --plot stack.png --plot timeline.png --dark
  morecores report mine --plot suite.svg                         the classic benchmarks, then and now";
