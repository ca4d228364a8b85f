//! Options of `morecores predict` and `morecores what-if`.

use std::path::PathBuf;

use clap::Args;

/// Predict a command on more CPUs than were measured, or than there are
///
/// Replays the traced runs of a study on virtual CPUs and fits the closed forms of the field to its points; each has the say
/// that it earned by predicting the largest measured count from the smaller ones. Every figure has a band that holds it with
/// 90% probability; where the data cannot bear a figure, the band stands alone, with the reason. Studies made by
/// `morecores run --predict` have the traces that this wants.
#[derive(Debug, Args)]
#[command(after_help = PREDICT_EXAMPLES)]
pub(crate) struct PredictArgs {
    /// The study's directory
    pub(crate) study: PathBuf,
    /// CPU counts to predict: numbers and ranges [default: those of `run --predict`, or 2, 4 and 8 times the largest measured]
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,
    /// Measured counts that it may rest on [default: all]
    #[arg(long, value_name = "LIST")]
    pub(crate) from: Option<String>,
    /// Prices of machines by their CPUs, an hour: 2=0.10,16=0.80; adds what a run costs on each
    #[arg(long, value_name = "LIST")]
    pub(crate) price: Option<String>,
    /// Memory of the machines predicted: 64G [default: what the command had where it was measured]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Also every model, and how far each was off when it was tested
    #[arg(long)]
    pub(crate) explain: bool,
    /// As JSON; its keys are described in docs/format.md
    #[arg(long, conflicts_with = "explain")]
    pub(crate) json: bool,
}

const PREDICT_EXAMPLES: &str = "\
Examples:
  morecores run --predict=8,16,64 -o make.study --prepare 'make clean' -- make -j{n}
  morecores predict make.study                          8, 16 and 64 CPUs
  morecores predict make.study --price 2=0.10,16=0.80   and which of these machines is the cheapest
  morecores predict make.study --from 1 --cpus 2        would it have been right?

Exit status: 0 predicted, also where no more than bands can be given; 2 bad input.";

/// Say what would be gained if a lock, a command or a disk were not in the way
///
/// Replays a traced run with that lock free, that command taking no time, the disk infinitely fast, the serial work shared out;
/// or with a command faster. Without options every one of them is tried, and the list says what is worth mending: seconds
/// and CPUs gained, on the measured CPUs and on more.
#[derive(Debug, Args)]
#[command(after_help = WHAT_IF_EXAMPLES)]
pub(crate) struct WhatIfArgs {
    /// The study's directory; it needs a trace
    pub(crate) study: PathBuf,
    /// Without this: a lock by a part of its name, a command by its name, `disk`, `serial`
    #[arg(long, value_name = "WHAT")]
    pub(crate) without: Vec<String>,
    /// With this command so much faster: `ld=2x`
    #[arg(long, value_name = "COMMAND=FACTOR")]
    pub(crate) faster: Vec<String>,
    /// On how many CPUs: numbers and ranges [default: the largest measured count and what the traces bear]
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,
    /// As JSON; its keys are described in docs/format.md
    #[arg(long)]
    pub(crate) json: bool,
}

const WHAT_IF_EXAMPLES: &str = "\
Examples:
  morecores what-if make.study
  morecores what-if make.study --without disk
  morecores what-if make.study --faster ld=2x --cpus 2,16";
