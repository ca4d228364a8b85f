//! Options of `morecores generate`, which the help does not list.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Write the man pages, the reference or the completions, from the definitions of this help
#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    #[command(subcommand)]
    pub(crate) what: Generate,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Generate {
    /// Write one man page for morecores and one for each subcommand
    Man {
        /// Directory of the man pages
        directory: PathBuf,
    },
    /// Write the reference in Markdown
    Markdown {
        /// Directory of the reference
        directory: PathBuf,
    },
    /// Write the completions for every shell
    Completions {
        /// Directory of the completions
        directory: PathBuf,
    },
}
