//! `morecores generate`: man pages and completions, from the definitions that the help comes from.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use clap::ValueEnum;
use clap_complete::Shell;

use crate::args::{Cli, Generate, GenerateArgs};
use crate::exit;

pub(crate) fn generate(args: &GenerateArgs) -> Result<u8> {
    match &args.what {
        Generate::Man { directory } => {
            make(directory)?;
            clap_mangen::generate_to(Cli::definition(), directory)
                .with_context(|| format!("cannot write to {}", directory.display()))?;
        }
        Generate::Completions { directory } => {
            make(directory)?;
            for shell in Shell::value_variants() {
                clap_complete::generate_to(*shell, &mut Cli::definition(), "morecores", directory)
                    .with_context(|| format!("cannot write to {}", directory.display()))?;
            }
        }
    }
    Ok(exit::SUCCESS)
}

fn make(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))
}
