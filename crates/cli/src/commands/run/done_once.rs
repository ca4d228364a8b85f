//! Notes on a command that does its work only once.

use std::ffi::OsString;
use std::path::Path;

use morecores_measure::done_once::FirstRoundRuns;
use morecores_report::duration;
use morecores_study::{Command, Phase, Study, Variable};

use super::super::resume::resume_line;
use super::from_scratch::{CommandLine, UNKNOWN, undo_line, unused_path};
use crate::args::RunArgs;

/// Notes for the user: the observation, the line that measures the whole work in each run, and the
/// line that measures the remaining work. `words` are the command line after `morecores run`.
pub(super) fn notes(study: &Study, path: &Path, args: &RunArgs, words: &[OsString]) -> Vec<String> {
    let from_start = match &study.header.plan.hooks.prepare {
        Some(line) => format!(
            "--prepare '{}' does not undo the first run: make it remove every result of the command, also what a \
             compiler's cache keeps",
            line.display()
        ),
        None => from_scratch(study, path, args, words),
    };
    let remaining = format!("to measure the remaining work: {}", resume_line("run", path, "--incremental "));
    vec![observation(study, path), from_start, remaining]
}

/// Warning that a build tool may do its work only once, for a study whose time ended before any
/// timed run. A timed run would have answered the question.
pub(super) fn warning(study: &Study, path: &Path, args: &RunArgs, words: &[OsString]) -> Option<String> {
    let plan = &study.header.plan;
    let is_timed = study.runs.iter().any(|run| run.phase == Phase::Timed);
    let is_known = undo_line(&study.header.subject).is_some();
    (is_known && !is_timed && plan.hooks.prepare.is_none() && !plan.incremental)
        .then(|| format!("a build is done only once; {}", from_scratch(study, path, args, words)))
}

fn observation(study: &Study, path: &Path) -> String {
    let took = FirstRoundRuns::select(&study.header.plan, &study.runs).done_once().map(|done| {
        let times = if done.runs == 1 { "the next".to_owned() } else { format!("the next {}", done.runs) };
        let [first, later] = [done.first, done.later].map(|time| duration(time.as_secs_f64()));
        let at_most = if done.runs == 1 { "" } else { "at most " };
        format!(": its first run took {first}, {times} {at_most}{later}")
    });
    format!(
        "the first run left the second almost nothing to do{}. Stopped; the runs are kept in {}",
        took.unwrap_or_default(),
        path.display()
    )
}

fn from_scratch(study: &Study, path: &Path, args: &RunArgs, words: &[OsString]) -> String {
    let header = &study.header;
    let undo = undo_line(&header.subject);
    let (shell, command): (&[&str], _) = match &header.subject {
        Command::Program { argv } => (&["--"], argv.clone()),
        Command::Shell { line } => (&["--shell", "--"], vec![line.clone()]),
    };
    let of_header: Vec<OsString> = shell.iter().map(OsString::from).chain(command).collect();
    let env: Vec<Variable> = header.plan.env.iter().filter(|own| !is_given(own, args)).cloned().collect();
    let typed = if args.resume {
        // The options of the study's first command line are not known in their typed form.
        CommandLine { words: &of_header, command: of_header.len() - shell.len(), study: None, env: &env }
    } else {
        CommandLine { words, command: args.command.len(), study: args.out.as_deref(), env: &env }
    };
    let line = typed.with_prepare(undo.as_deref().unwrap_or(UNKNOWN), &unused_path(path, Path::exists));
    let named = if undo.is_some() { "" } else { ", with the results of the command for OUTPUT" };
    format!("to measure all its work in each run{named}: {line}")
}

/// Whether `--env` set the variable, rather than the environment.
fn is_given(variable: &Variable, args: &RunArgs) -> bool {
    let name = variable.name.as_encoded_bytes();
    args.env.iter().any(|text| {
        let rest = text.as_encoded_bytes().strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"="))
    })
}
