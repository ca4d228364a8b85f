//! Command line as clap parses it: texts and flags, one struct for each subcommand.
//!
//! This module holds only shapes and help. `options` interprets the texts and checks whether they
//! fit together.

mod advise;
mod compare;
mod doctor;
mod events;
mod export;
mod generate;
mod launch;
mod literal_n;
mod locks;
mod mark;
mod predict;
mod report;
mod run;
mod serve;
mod show;
mod slips;
mod suite;
mod topology;
mod trace;

use std::env;
use std::ffi::OsString;
use std::iter;

use crate::log::Retention;
use crate::terminal::{self, Stream};
use crate::{exit, programs};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

pub(crate) use advise::AdviseArgs;
pub(crate) use compare::CompareArgs;
pub(crate) use doctor::DoctorArgs;
pub(crate) use events::{EventTable, EventsArgs};
pub(crate) use export::{ExportArgs, ExportFormat};
pub(crate) use generate::{Generate, GenerateArgs};
pub(crate) use launch::LaunchArgs;
pub(crate) use locks::{LocksArgs, TuneSpinArgs};
pub(crate) use mark::MarkArgs;
pub(crate) use predict::{PredictArgs, WhatIfArgs};
pub(crate) use report::ReportArgs;
pub(crate) use run::RunArgs;
pub(crate) use serve::ServeArgs;
pub(crate) use show::{AnswerArgs, Division, FormatArgs, ShowArgs, WorthArgs};
pub(crate) use suite::SuiteArgs;
pub(crate) use topology::TopologyArgs;
pub(crate) use trace::TraceArgs;

/// Will more cores help this program, and if not, what stops it?
///
/// morecores measures any unmodified command on 1, 2, … n CPUs. It reports how much faster the
/// command gets, and how certain this figure is. A study keeps all measurements; it can be shown
/// again and continued.
#[derive(Debug, Parser)]
#[command(name = "morecores", version, max_term_width = HELP_WIDTH, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Verbosity {
    /// Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes
    /// to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// Width of help on a wide terminal, in columns.
const HELP_WIDTH: usize = 100;

/// Commands in the definition that are programs of their own, with the same front end.
const PROGRAMS: [&str; 2] = ["locks", "tune-spin"];

/// Parses the arguments of the program of the command `name`. Help and errors are those of
/// `morecores NAME`; they end the process with clap's exit status.
pub(crate) fn read_program<T: Args>(name: &'static str) -> (T, Verbosity) {
    let words: Vec<OsString> = iter::once(name.into()).chain(env::args_os().skip(1)).collect();
    let definition =
        clap::Command::new(name).bin_name(format!("morecores {name}")).max_term_width(HELP_WIDTH);
    let definition = literal_n::protect(Verbosity::augment_args(T::augment_args(definition)));
    let parsed = definition
        .try_get_matches_from(&words)
        .and_then(|matches| Ok((T::from_arg_matches(&matches)?, Verbosity::from_arg_matches(&matches)?)));
    parsed.unwrap_or_else(|error| end(&slips::explain(error, &words)))
}

impl Cli {
    /// Command-line definition for man pages, completions and the reference. Help needs
    /// `literal_n` too.
    pub(crate) fn definition() -> clap::Command {
        Self::command()
    }

    /// Returns whether a word is a command of the definition.
    fn has_command(name: &str) -> bool {
        name == "help" || Self::command().find_subcommand(name).is_some()
    }

    /// Returns whether this program runs the command of this name.
    pub(crate) fn runs(name: &str) -> bool {
        Self::has_command(name) && !Self::is_program(name)
    }

    /// Returns whether a command is a program of its own with this front end.
    pub(crate) fn is_program(name: &str) -> bool {
        PROGRAMS.contains(&name)
    }

    /// Parses this process's arguments. Help, the version and errors end the process with clap's
    /// exit status. The help lists the programs that extend morecores here.
    pub(crate) fn read() -> Self {
        let words: Vec<OsString> = env::args_os().collect();
        let slip = |error| end(&slips::explain(error, words.get(1..).unwrap_or_default()));
        // The directories of PATH are read only for the help.
        let programs = if words.len() <= 2 { Self::list_of_programs() } else { String::new() };
        let definition = Self::command().after_help(format!("{programs}{EXAMPLES}"));
        let definition = literal_n::protect(definition);
        let matches = definition.try_get_matches_from(&words).unwrap_or_else(slip);
        Self::from_arg_matches(&matches).unwrap_or_else(|error| end(&error))
    }
}

/// Prints help, the version or an error of the command line, and ends the process.
fn end(error: &clap::Error) -> ! {
    let render = |coloured: bool| {
        let text = error.render();
        literal_n::restore(&if coloured { text.ansi().to_string() } else { text.to_string() })
    };
    terminal::print_to(if error.use_stderr() { Stream::Error } else { Stream::Output }, render);
    exit::now(u8::try_from(error.exit_code()).unwrap_or(exit::BAD_INPUT))
}

impl Cli {
    fn list_of_programs() -> String {
        let names: Vec<String> =
            programs::names().into_iter().filter(|name| !Self::has_command(name)).collect();
        if names.is_empty() {
            return String::new();
        }
        format!(
            "Programs that extend morecores (morecores NAME runs morecores-NAME): {}\n\n",
            names.join(", ")
        )
    }
}

const EXAMPLES: &str = "\
Examples:
  morecores run -- xz -kf -T{n} big.tar               scaling of xz on this machine
  morecores run --prepare 'make clean' -- make -j{n}  a build, from scratch in each run
  morecores trace -- make -j{n}                       one run, and where its CPUs went
  morecores show xz-20261121-093000.study --json      all derived figures of a study
  morecores predict make.study --cpus 8,16,64         the build on larger machines
  morecores what-if make.study                        changes that would pay off
  morecores advise make.study                         steps to a command that uses more CPUs
  morecores events make.study waits                   a trace as a table, for pandas and DuckDB
  morecores export make.study --to chrome-trace       a trace for ui.perfetto.dev
  morecores compare before.study after.study          what changed between them, and why
  morecores report make.study -o make.html            a page with every picture
  morecores serve                                     all studies of a directory, in a browser
  morecores suite                                     the classic SMP benchmarks, then and now
  morecores locks --quick                             cost of each lock here, and advice
  morecores mark --cpus 1 ./old-server                a program that works on one CPU only
  morecores topology                                  CPUs of this machine, and which are usable
  morecores doctor                                    what this machine can measure, and how well";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Box<RunArgs>),
    Trace(Box<TraceArgs>),
    Show(ShowArgs),
    Predict(PredictArgs),
    WhatIf(WhatIfArgs),
    Advise(AdviseArgs),
    Events(EventsArgs),
    Export(ExportArgs),
    Compare(CompareArgs),
    Report(ReportArgs),
    Serve(ServeArgs),
    Topology(TopologyArgs),
    Doctor(DoctorArgs),
    Suite(SuiteArgs),
    Locks(LocksArgs),
    TuneSpin(TuneSpinArgs),
    Mark(MarkArgs),
    Launch(LaunchArgs),
    #[command(hide = true)]
    Generate(GenerateArgs),
}

impl Command {
    /// Whether the state that an earlier morecores left on the machine matters to the subcommand.
    pub(crate) fn looks_at_the_machine(&self) -> bool {
        matches!(self, Self::Run(_) | Self::Trace(_) | Self::Topology(_) | Self::Doctor(_))
    }

    /// Whether the subcommand keeps a last log. `suite` does not: each of its runs does.
    pub(crate) fn retention(&self) -> Retention {
        match self {
            Self::Run(_) | Self::Trace(_) => Retention::LastLog,
            _ => Retention::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Collects every help text of a command and its subcommands, each with the command's name for
    /// messages.
    fn texts(command: &clap::Command, all: &mut Vec<(String, String)>) {
        let of_command = [
            command.get_about(),
            command.get_long_about(),
            command.get_before_help(),
            command.get_before_long_help(),
            command.get_after_help(),
            command.get_after_long_help(),
        ];
        let of_arguments = command.get_arguments().flat_map(|arg| [arg.get_help(), arg.get_long_help()]);
        let of_both = of_command.into_iter().chain(of_arguments).flatten();
        all.extend(of_both.map(|text| (command.get_name().to_owned(), text.to_string())));
        command.get_subcommands().for_each(|subcommand| texts(subcommand, all));
    }

    /// First line that is broken inside a sentence. A line break is allowed after a sentence,
    /// before an empty line, or next to an indented line: clap wraps everything else.
    fn break_inside_a_sentence(text: &str) -> Option<&str> {
        let lines: Vec<&str> = text.lines().collect();
        let is_prose = |line: &str| !line.trim().is_empty() && !line.starts_with(' ');
        let is_end = |line: &str| line.trim_end().ends_with(['.', ':', '?', '!']);
        lines
            .windows(2)
            .find_map(|pair| (is_prose(pair[0]) && is_prose(pair[1]) && !is_end(pair[0])).then_some(pair[0]))
    }

    #[test]
    fn no_help_text_is_broken_inside_a_sentence() {
        let mut all = Vec::new();
        texts(&Cli::definition(), &mut all);
        assert!(all.len() > 150, "{}", all.len());
        for (command, text) in &all {
            assert_eq!(break_inside_a_sentence(text), None, "{command}: {text}");
        }
        assert_eq!(break_inside_a_sentence("Ended by\nCtrl-C.\n"), Some("Ended by"));
    }

    #[test]
    fn every_command_accepts_out_and_its_earlier_names() {
        for (line, earlier) in [
            ("run", "--study"),
            ("trace", "--study"),
            ("locks", "--study"),
            ("report a.study", "--output"),
            ("suite", "--directory"),
        ] {
            for option in ["-o", "--out", earlier] {
                let words = ["morecores"].into_iter().chain(line.split(' ')).chain([option, "place"]);
                let out = match Cli::try_parse_from(words).map(|cli| cli.command) {
                    Ok(Command::Run(args)) => args.out,
                    Ok(Command::Trace(args)) => args.out,
                    Ok(Command::Locks(args)) => args.out,
                    Ok(Command::Report(args)) => args.out,
                    Ok(Command::Suite(args)) => args.out,
                    other => panic!("{line} {option}: {other:?}"),
                };
                assert_eq!(out, Some("place".into()), "{line} {option}");
            }
        }
    }

    #[test]
    fn help_fills_the_width_of_any_terminal() {
        let prose = "129 ended by SIGHUP; 130 ended by Ctrl-C; 143 ended by SIGTERM.";
        for width in [60, 80, 100] {
            let mut definition = literal_n::protect(Cli::definition()).term_width(width);
            definition.build();
            for command in definition.get_subcommands_mut() {
                let help = command.render_long_help().to_string();
                let lines: Vec<&str> = help.lines().collect();
                let Some(start) = lines.iter().position(|line| line.starts_with("Exit status:")) else {
                    continue;
                };
                let paragraph: Vec<&str> =
                    lines[start..].iter().copied().take_while(|line| !line.is_empty()).collect();
                for pair in paragraph.windows(2) {
                    let word = pair[1].split(' ').next().unwrap_or_default();
                    let name = command.get_name();
                    assert!(pair[0].len() + 1 + word.len() > width, "{name} at {width}: {paragraph:#?}");
                }
            }
        }
        let mut run = literal_n::protect(Cli::definition());
        let run = run.find_subcommand_mut("run").map(|run| run.render_long_help().to_string());
        assert!(run.is_some_and(|help| help.replace('\n', " ").contains(prose)));
    }

    #[test]
    fn no_help_width_breaks_the_n() {
        let helps = |width: usize| -> Vec<String> {
            let mut definition = literal_n::protect(Cli::definition()).term_width(width);
            definition.build();
            let subcommands: Vec<String> = definition
                .get_subcommands_mut()
                .map(|command| command.render_long_help().to_string())
                .collect();
            let all = std::iter::once(definition.render_long_help().to_string()).chain(subcommands);
            all.map(|help| literal_n::restore(&help)).collect()
        };
        let count = |helps: &[String]| helps.iter().map(|help| help.matches("{n}").count()).sum::<usize>();
        let all = count(&helps(100));
        assert!(all > 20, "{all}");
        for width in 40..=61 {
            assert_eq!(count(&helps(width)), all, "at {width} columns");
        }
    }
}
