//! Arguments of `morecores advise`.

use std::path::PathBuf;

use clap::Args;

/// Say what would make a command faster on more CPUs, by its study
///
/// The advice has four parts: whether the work is in several threads at all; what stands in the
/// way, by CPUs lost; what each change would save, by replay of the traces; and which calls one
/// thread executed alone, with the time that their division would save. Each figure comes from the
/// study's runs and traces.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AdviseArgs {
    /// Directory of a study with a trace on two or more CPUs
    pub(crate) study: PathBuf,
    /// Print JSON; docs/format.md describes its keys
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  morecores advise make.study
  morecores advise make.study --json";
