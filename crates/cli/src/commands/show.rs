//! `morecores show`, and a study of any subject as the commands show it: text, part of a page, line
//! of a list.
//!
//! Only this module tells the subjects apart. It measures nothing.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use morecores_catalogue::Benchmark;
use morecores_findings::is_search;
use morecores_lock_lab::locks_view;
use morecores_report::{self as report, Style};
use morecores_study::lock::LockStudy;
use morecores_study::{AnyStudy, Better, Phase, Run, Study, StudyError, StudyHeader, StudyState, Subject};
use morecores_view::Answer;
use morecores_view::page::{ListedState, ListedStudy, Page};

use super::loaded_study::{LoadedStudy, Purpose, study_name};
use super::page::{Depth, page_study};
use super::search::show_search;
use super::traced_run::{CUT_SHORT, has_cut_short_trace};
use crate::args::{Division, FormatArgs, ShowArgs};
use crate::options::{locks_command_line, worth};
use crate::{exit, terminal};

pub(crate) fn show(args: &ShowArgs) -> Result<u8> {
    if is_search(&args.study) {
        return show_search(args);
    }
    let style = Style { wide: args.wide, ..terminal::style() };
    let worth = worth(&args.answer.worth)?;
    ensure!(
        !(args.answer.exit_answer && args.format.hyperfine_json),
        "--hyperfine-json holds no answer for --exit-answer: choose another format"
    );
    if let Some(division) = args.by {
        return show_division(&args.study, division, &style);
    }
    let mut shown = ShownStudy::read(&args.study)?;
    shown.set_worth(worth)?;
    ensure!(!args.answer.exit_answer || shown.has_answer(), shown.no_answer("--exit-answer"));
    let answer = shown.print(&args.format, &style)?;
    Ok(answer.filter(|_| args.answer.exit_answer).map_or(exit::SUCCESS, exit::answer_status))
}

/// Prints one division of the traced runs of a study of a command.
fn show_division(path: &Path, by: Division, style: &Style) -> Result<u8> {
    let LoadedStudy { view, unread, .. } = LoadedStudy::read(path, Purpose::Figures)?;
    let (division, shown) = match by {
        Division::Function => (report::Division::Function, "functions"),
        Division::Path => (report::Division::Path, "which thread woke which"),
        Division::Thread => (report::Division::Thread, "threads"),
        Division::Efficiency => (report::Division::Efficiency, "the work of measured CPU counts"),
    };
    let Some(text) = report::division_report(&view, division, style) else {
        bail!(
            "{} has no trace that shows {shown}: `morecores run --trace on` makes one (as root, or with what \
             `morecores doctor` says)",
            path.display()
        );
    };
    terminal::print(&text)?;
    terminal::notes(&unread);
    Ok(exit::SUCCESS)
}

/// Study of any subject, and the path from which it was read.
pub(super) struct ShownStudy {
    study: AnyStudy,
    path: PathBuf,
}

/// Text of a study, with notes about it for the user.
struct StudyText {
    text: String,
    notes: Vec<String>,
    /// Answer of a study of a command, if the format holds one.
    answer: Option<Answer>,
}

impl ShownStudy {
    /// Reads the study at `path`.
    pub(super) fn read(path: &Path) -> Result<Self, StudyError> {
        Ok(Self { study: AnyStudy::read(path)?, path: path.to_owned() })
    }

    /// Replaces the share of a CPU that an added CPU must bring, if `worth` is given.
    pub(super) fn set_worth(&mut self, worth: Option<f64>) -> Result<()> {
        ensure!(worth.is_none() || self.has_answer(), self.no_answer("--worth"));
        if let AnyStudy::Command(study) = &mut self.study {
            study.header.plan.worth = worth.or(study.header.plan.worth);
        }
        Ok(())
    }

    /// Whether the study answers if more cores help.
    fn has_answer(&self) -> bool {
        matches!(self.study, AnyStudy::Command(_))
    }

    /// Refusal of an option of the answer for a study of locks.
    fn no_answer(&self, option: &str) -> String {
        format!(
            "{option} asks whether more cores help a command, but {} is a study of locks: leave it out",
            self.path.display()
        )
    }

    /// State of the study.
    pub(super) fn state(&self) -> StudyState {
        self.study.state(&self.path)
    }

    /// Prints the study in the requested format, and notes about its traces. Returns the answer of
    /// a study of a command.
    pub(super) fn print(self, format: &FormatArgs, style: &Style) -> Result<Option<Answer>> {
        let StudyText { text, notes, answer } = match self.study {
            AnyStudy::Command(study) => command_text(*study, &self.path, format, style)?,
            AnyStudy::Locks(study) => {
                let text = locks_text(&study, &self.path, format, style)?;
                StudyText { text, notes: Vec::new(), answer: None }
            }
        };
        terminal::print(&text)?;
        terminal::notes(&notes);
        Ok(answer)
    }

    /// Adds the study to a page, and returns one line for each trace that cannot be read. `depth`
    /// applies to a study of a command.
    pub(super) fn add_to_page(self, page: &mut Page, depth: Depth) -> Result<Vec<String>> {
        match self.study {
            AnyStudy::Command(study) => {
                let shown = page_study(*study, &self.path, depth)?;
                page.studies.push(shown.page);
                Ok(shown.unread)
            }
            AnyStudy::Locks(study) => {
                let (name, line) = (study_name(&self.path), locks_command_line(&study.header.plan));
                page.locks.push(report::page_locks(&name, &line, locks_view(&study)));
                Ok(Vec::new())
            }
        }
    }

    /// Entry of the study in a list. The command of a study of locks is the line that makes it.
    pub(super) fn list_entry(&self) -> ListedStudy {
        let state = listed_state(self.state());
        let name = study_name(&self.path);
        match &self.study {
            AnyStudy::Command(study) => {
                let (words, plan) = (study.header.subject.words(), &study.header.plan);
                let command = report::display_command_with_variables(&words, &plan.env);
                let cpus = plan.points.iter().map(|point| point.cpus).collect();
                let benchmark = Benchmark::find_by_command(&words).map(|found| found.name.to_owned());
                let comparable = true;
                ListedStudy { benchmark, comparable, ..list_entry(&study.header, name, state, command, cpus) }
            }
            AnyStudy::Locks(study) => {
                let plan = &study.header.plan;
                let cpus = u32::try_from(plan.cpus.len()).into_iter().collect();
                list_entry(&study.header, name, state, locks_command_line(plan), cpus)
            }
        }
    }
}

/// State as a list shows it.
pub(super) fn listed_state(state: StudyState) -> ListedState {
    match state {
        StudyState::Measuring => ListedState::Measuring,
        StudyState::Ended => ListedState::Ended,
        StudyState::Killed => ListedState::Killed,
    }
}

fn list_entry<S: Subject>(
    header: &StudyHeader<S>,
    name: String,
    state: ListedState,
    command: String,
    cpus: Vec<u32>,
) -> ListedStudy {
    ListedStudy {
        name,
        command,
        host: header.host.hostname.clone(),
        created_at_s: header.created_at_ns.as_secs_f64(),
        cpus,
        state,
        benchmark: None,
        comparable: false,
    }
}

fn command_text(study: Study, path: &Path, format: &FormatArgs, style: &Style) -> Result<StudyText> {
    if format.hyperfine_json {
        return Ok(StudyText { text: report::hyperfine_json(&study)?, notes: Vec::new(), answer: None });
    }
    let is_for_dashboards = format.bencher || format.github_benchmark || format.openmetrics;
    let has_figures = |run: &Run| run.phase == Phase::Timed && run.counts(&study.header.plan);
    ensure!(
        !is_for_dashboards || study.runs.iter().any(has_figures),
        "{} has no timed run that succeeded, which this format describes: `morecores run` makes some",
        path.display()
    );
    let mut loaded = LoadedStudy::new(study, path, Purpose::Figures);
    // JSON is for programs: it holds a prediction even if nobody asked for one.
    if format.json {
        loaded.predict();
    } else {
        loaded.predict_as_planned();
    }
    let LoadedStudy { study, view, unread: mut notes, .. } = loaded;
    let text = if format.json {
        report::view_json(&view)?
    } else if format.csv {
        text_from_bytes(|bytes| report::view_csv(&view, bytes))?
    } else if format.markdown {
        let mut text = String::new();
        report::view_markdown(&view, &mut text)?;
        text
    } else if format.bencher {
        report::bencher_json(&view)?
    } else if format.github_benchmark {
        if report::github_benchmark_direction(&view) == Better::Higher {
            notes.push(
                "the figures improve upwards: github-action-benchmark's tool is customBiggerIsBetter"
                    .to_owned(),
            );
        }
        report::github_benchmark_json(&view)?
    } else if format.openmetrics {
        report::openmetrics(&view)?
    } else if let ([], [trace]) = (view.points.as_slice(), view.traces.as_slice()) {
        // `morecores trace -o` made this study.
        report::trace_report(trace, Some(path), style)
    } else {
        report::run_report(&view, Some(path), style)
    };
    notes.extend(has_cut_short_trace(&study).then(|| CUT_SHORT.to_owned()));
    Ok(StudyText { text, notes, answer: Some(view.verdict.answer) })
}

/// Refusal of a format that describes runs of a command, for a study of locks.
pub(super) fn check_format_of_locks(format: &FormatArgs) -> Result<()> {
    match format.of_commands_only() {
        Some(option) => {
            bail!("{option} describes runs of a command, but a study of locks has none: use --json or --csv")
        }
        None => Ok(()),
    }
}

fn locks_text(study: &LockStudy, path: &Path, format: &FormatArgs, style: &Style) -> Result<String> {
    check_format_of_locks(format)?;
    let view = locks_view(study);
    Ok(if format.json {
        report::locks_json(&view)?
    } else if format.csv {
        text_from_bytes(|bytes| report::locks_csv(&view, bytes))?
    } else if format.markdown {
        let mut text = String::new();
        report::locks_markdown(&view, &mut text)?;
        text
    } else {
        report::locks_report(&view, Some(path), style)
    })
}

/// Text that `write` produces.
fn text_from_bytes<E>(write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<String>
where
    anyhow::Error: From<E>,
{
    let mut bytes = Vec::new();
    write(&mut bytes)?;
    Ok(String::from_utf8(bytes)?)
}
