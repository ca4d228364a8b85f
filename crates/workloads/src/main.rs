//! `morecores-work`: one run of one workload, one line of result.
//!
//! Only this file of the crate prints and exits. The exit status is 0 with a checked result, 1 with
//! a wrong result, and 2 if the run could not be made.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use morecores_workloads::Workload;

/// Run a built-in workload once, check its result and print it in one line
#[derive(Parser)]
#[command(version, disable_help_subcommand = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  morecores-work list
  morecores-work soften --threads 2
  morecores-work soften --help";

#[derive(Subcommand)]
enum Command {
    /// List the workloads
    List,
    #[command(flatten)]
    Workload(Workload),
}

/// Parses the command line. Points to the list of workloads if the workload's name is missing or
/// unknown.
fn parse_arguments() -> Result<Cli, ExitCode> {
    Cli::try_parse().map_err(|error| {
        use clap::error::ErrorKind;
        let _ = error.print();
        let lacks_workload = matches!(
            error.kind(),
            ErrorKind::InvalidSubcommand
                | ErrorKind::MissingSubcommand
                | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        );
        if lacks_workload {
            eprintln!("\nThe workloads are listed by `morecores work list`, or `morecores-work list`.");
        }
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
    })
}

fn main() -> ExitCode {
    let command = match parse_arguments() {
        Ok(cli) => cli.command,
        Err(status) => return status,
    };
    let text = match command {
        Command::List => {
            let list = Workload::list();
            let width = list.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
            list.iter().map(|(name, about)| format!("{name:width$}  {about}\n")).collect()
        }
        Command::Workload(workload) => match workload.run() {
            Ok(outcome) => format!("{outcome}\n"),
            Err(error) => {
                eprintln!("morecores-work: {error}");
                return ExitCode::from(error.exit_status());
            }
        },
    };
    match io::stdout().write_all(text.as_bytes()) {
        // A reader that has gone (`| head`) wants no more output.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("morecores-work: the result could not be written: {error}");
            ExitCode::from(2)
        }
        _ => ExitCode::SUCCESS,
    }
}
