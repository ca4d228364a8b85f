//! Options of `morecores predict` and `morecores what-if`.

use std::path::PathBuf;

use clap::Args;

/// Predict a command on more CPUs than were measured, or than exist here
///
/// The prediction replays the traced runs of a study on virtual CPUs. It also fits the closed-form
/// models of the field to the measured points. The weight of each method depends on its prediction
/// of the largest measured count from the smaller ones. Every figure has a band that contains the
/// true value with 90% probability. The output shows only the band, with the reason, if the data do
/// not support a figure. `morecores run --predict` makes studies with the necessary traces.
#[derive(Debug, Args)]
#[command(after_help = PREDICT_EXAMPLES)]
pub(crate) struct PredictArgs {
    /// Directory of the study
    pub(crate) study: PathBuf,
    /// CPU counts to predict: numbers and ranges [default: those of `run --predict`, or 2, 4 and 8
    /// times the largest measured count]
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,
    /// Measured CPU counts to predict from [default: all]
    #[arg(long, value_name = "LIST")]
    pub(crate) from: Option<String>,
    /// Hourly prices of machines by CPU count: 2=0.10,16=0.80; the output then contains the cost of
    /// a run on each
    #[arg(long, value_name = "LIST")]
    pub(crate) price: Option<String>,
    /// Memory of the predicted machines, for example 64G [default: the memory that the measured
    /// command had]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Also show every model and its error in the test
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print JSON; docs/format.md describes its keys
    #[arg(long, conflicts_with = "explain")]
    pub(crate) json: bool,
}

const PREDICT_EXAMPLES: &str = "\
Examples:
  morecores run --predict=8,16,64 -o make.study --prepare 'make clean' -- make -j{n}
  morecores predict make.study                          8, 16 and 64 CPUs
  morecores predict make.study --price 2=0.10,16=0.80   the cheapest of these machines
  morecores predict make.study --from 1 --cpus 2        a test: the prediction of a measured count

Exit status: 0 predicted, even if only bands are known; 2 bad input.";

/// Estimate the speedup from removing a lock or a disk wait, or from making a command faster
///
/// Each estimate replays a traced run with one change: a free lock, a command that takes no time,
/// an infinitely fast disk, serial work divided among the CPUs, or a faster command. By default all
/// changes are tried, and a list shows those that pay off. It gives the gain in seconds and in
/// CPUs, on the measured CPUs and on more.
#[derive(Debug, Args)]
#[command(after_help = WHAT_IF_EXAMPLES)]
pub(crate) struct WhatIfArgs {
    /// Directory of a study with a trace
    pub(crate) study: PathBuf,
    /// Obstacle to remove: a lock by a part of its name, a command by its name, `disk` or `serial`
    #[arg(long, value_name = "WHAT")]
    pub(crate) without: Vec<String>,
    /// Command to make faster, and the factor: `ld=2x`
    #[arg(long, value_name = "COMMAND=FACTOR")]
    pub(crate) faster: Vec<String>,
    /// CPU counts: numbers and ranges [default: the largest measured count, and those that the
    /// traces support]
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,
    /// Print JSON; docs/format.md describes its keys
    #[arg(long)]
    pub(crate) json: bool,
}

const WHAT_IF_EXAMPLES: &str = "\
Examples:
  morecores what-if make.study
  morecores what-if make.study --without disk
  morecores what-if make.study --faster ld=2x --cpus 2,16";
