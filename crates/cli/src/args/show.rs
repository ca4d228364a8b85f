//! Options of `morecores show`, and the formats of a study, which other commands share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Show a study of a command or of locks, or a search of `shake`, as text or for programs
#[derive(Debug, Args)]
#[command(after_help = EXIT)]
pub(crate) struct ShowArgs {
    /// Directory of the study, or of the search
    pub(crate) study: PathBuf,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Show every column of the table, every warning and every note
    #[arg(long, short)]
    pub(crate) wide: bool,
    /// Show one division of the traced runs' time in place of the whole report
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["FormatArgs", "worth", "exit_answer"])]
    pub(crate) by: Option<Division>,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

impl ShowArgs {
    /// Option that a search has no figures for, if one was chosen.
    pub(crate) fn of_studies_only(&self) -> Option<&'static str> {
        let options = [
            (self.format.csv, "--csv"),
            (self.format.markdown, "--markdown"),
            (self.by.is_some(), "--by"),
            (self.answer.worth.worth.is_some(), "--worth"),
            (self.answer.exit_answer, "--exit-answer"),
        ];
        self.format.of_commands_only().or_else(|| chosen(options))
    }
}

/// Name of the first option that was chosen.
fn chosen<const COUNT: usize>(options: [(bool, &'static str); COUNT]) -> Option<&'static str> {
    options.into_iter().find(|(is_chosen, _)| *is_chosen).map(|(_, option)| option)
}

/// Division of the time of traced runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Division {
    /// Code that holds each loss: functions, and calls with all that they call
    Function,
    /// Critical path: the chain of activities that decided the elapsed time
    Path,
    /// Threads, by the time for which few others ran beside them
    Thread,
    /// Efficiencies: load balance, serialisation, transfer, computation scaling (POP)
    Efficiency,
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
    /// Print JSON for Bencher (bencher run --adapter json)
    #[arg(long)]
    pub(crate) bencher: bool,
    /// Print JSON for the GitHub action github-action-benchmark
    #[arg(long)]
    pub(crate) github_benchmark: bool,
    /// Print text in the format of OpenMetrics, for Prometheus
    #[arg(long)]
    pub(crate) openmetrics: bool,
}

impl FormatArgs {
    /// Option of a format that describes runs of a command alone, if one was chosen.
    pub(crate) fn of_commands_only(&self) -> Option<&'static str> {
        chosen([
            (self.hyperfine_json, "--hyperfine-json"),
            (self.bencher, "--bencher"),
            (self.github_benchmark, "--github-benchmark"),
            (self.openmetrics, "--openmetrics"),
        ])
    }
}

const EXIT: &str = "\
Exit status: 0 shown, or with --exit-answer the answer is yes; 2 bad input; 3 with --exit-answer: no; 4 with \
--exit-answer: it cannot be told yet.";
