//! Options of `morecores show`, and the formats of a study, which other commands share.

use std::path::PathBuf;

use clap::Args;

/// Show a study of a command or of locks, as text or in a format for programs
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Directory of the study
    pub(crate) study: PathBuf,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Show every column of the table, every warning and every note
    #[arg(long, short)]
    pub(crate) wide: bool,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct FormatArgs {
    /// Print the derived view as JSON; docs/format.md describes its keys
    #[arg(long)]
    pub(crate) json: bool,
    /// Print CSV: one row for each CPU count, or for each lock at each point of contention
    #[arg(long)]
    pub(crate) csv: bool,
    /// Print a table and the verdict in Markdown, for a pull request or an issue
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Print JSON in the format of hyperfine --export-json, for scripts that read this format
    #[arg(long)]
    pub(crate) hyperfine_json: bool,
}
