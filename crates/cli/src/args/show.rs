//! Options of `morecores show`, and the formats of a study, which other commands share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Show a study of a command or of locks, as text or in a format for programs
#[derive(Debug, Args)]
#[command(after_help = EXIT)]
pub(crate) struct ShowArgs {
    /// Directory of the study
    pub(crate) study: PathBuf,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Show every column of the table, every warning and every note
    #[arg(long, short)]
    pub(crate) wide: bool,
    /// Show the code that holds each loss, with its callers, in place of the whole report
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["json", "csv", "markdown", "hyperfine_json", "worth", "exit_answer"])]
    pub(crate) by: Option<Division>,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// Division of the losses in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Division {
    /// Functions, and calls with all that they call
    Function,
}

/// Options of the answer to "will more cores help?".
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    #[command(flatten)]
    pub(crate) worth: WorthArgs,
    /// Exit with the answer as status: 0 yes, 3 no, 4 it cannot be told yet
    #[arg(long)]
    pub(crate) exit_answer: bool,
}

/// Bound of the answer to "will more cores help?".
#[derive(Debug, Default, Args)]
pub(crate) struct WorthArgs {
    /// Smallest share of a CPU that an added CPU must bring to be worth it, above 0 and up to 1
    /// [default: that of the study, or 0.25]
    #[arg(long, value_name = "FRACTION")]
    pub(crate) worth: Option<String>,
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

const EXIT: &str = "\
Exit status: 0 shown, or with --exit-answer the answer is yes; 2 bad input; 3 with --exit-answer: no; 4 with \
--exit-answer: it cannot be told yet.";
