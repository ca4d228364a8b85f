//! `morecores suite`: makes a study of each classic benchmark, and shows the studies beside the
//! published results.
//!
//! The suite only runs `morecores run` lines that any user could type, and shows each line before
//! it starts. It measures nothing itself.

mod child;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use morecores_catalogue::{Benchmark, BenchmarkPart, PublishedFacts};
use morecores_report::{self as report, BenchmarkResult};
use morecores_study::{StopReason, Study};
use morecores_view::View;

use super::loaded_study::planned_view;
use super::signals::EndAfterMeasuring;
use crate::args::SuiteArgs;
use crate::options::SuiteOptions;
use crate::{exit, terminal};
use child::{ChildEnd, Runner};

pub(crate) fn suite(args: &SuiteArgs) -> Result<u8> {
    if args.list {
        let width = Benchmark::ALL.iter().map(|benchmark| benchmark.name.len()).max().unwrap_or(0);
        let line = |b: &Benchmark| format!("{:width$}  {}\n", b.name, b.title);
        terminal::print(&Benchmark::ALL.iter().map(line).collect::<String>())?;
        return Ok(exit::SUCCESS);
    }
    let options = SuiteOptions::new(args)?;
    if options.makes {
        fs::create_dir_all(&options.directory)
            .with_context(|| format!("cannot make the directory {}", options.directory.display()))?;
    }
    let published = PublishedFacts::read()?;
    let resume = format!("morecores suite --resume -o {}", options.directory.display());
    // Showing a suite changes nothing, so a signal has its default effect.
    let runner =
        options.makes.then(|| Runner::start(EndAfterMeasuring::with_resume_line(&resume))).transpose()?;
    let mut studies = Studies::default();
    let mut signal = None;
    for benchmark in &options.benchmarks {
        for part in benchmark.parts {
            if let Some(runner) = runner.as_ref().filter(|_| signal.is_none()) {
                signal = studies.make(&options, benchmark, part, runner)?;
            }
            studies.read(&options, part);
        }
        if !args.json {
            terminal::print(&tables(&studies.result(benchmark), &published, args.markdown)?)?;
        }
        if signal.is_some() {
            break;
        }
    }
    // Benchmarks that were not begun also have rows.
    let results: Vec<_> = options.benchmarks.iter().map(|benchmark| studies.result(benchmark)).collect();
    if args.json {
        terminal::print(&report::suite_json(&results, &published)?)?;
    } else {
        terminal::print(&summary(&results, &published, args.markdown)?)?;
    }
    if let Some(signal) = signal {
        terminal::note(&format!("stopped; continue with: {resume}"));
        return Ok(exit::signal_status(signal));
    }
    if !args.json && !args.markdown {
        terminal::print(&studies.locations(&options))?;
    }
    Ok(if studies.are_complete() { exit::SUCCESS } else { exit::COMMAND_FAILED })
}

fn tables(result: &BenchmarkResult<'_>, published: &PublishedFacts, markdown: bool) -> Result<String> {
    let mut text = String::new();
    if markdown {
        report::suite_markdown(result, published, &mut text)?;
    } else {
        text = report::suite_report(result, published, &terminal::style());
    }
    Ok(text)
}

fn summary(results: &[BenchmarkResult<'_>], published: &PublishedFacts, markdown: bool) -> Result<String> {
    let summary = report::suite_summary(results, published);
    let mut text = String::new();
    if markdown {
        report::suite_summary_markdown(&summary, &mut text)?;
    } else {
        text = report::suite_summary_report(&summary, &terminal::style());
    }
    Ok(text)
}

/// Studies of the suite by name: the view of each, or the reason why there is none.
#[derive(Default)]
struct Studies {
    read: BTreeMap<&'static str, Result<View, String>>,
    /// Reasons of failed studies. A part of a failed study may exist.
    failures: BTreeMap<&'static str, String>,
}

impl Studies {
    /// Makes a study if it is missing or incomplete. Returns the signal that ended it, if any.
    fn make(
        &mut self,
        options: &SuiteOptions,
        benchmark: &Benchmark,
        part: &BenchmarkPart,
        runner: &Runner,
    ) -> Result<Option<i32>> {
        // Several parts may use one study.
        if self.read.contains_key(part.study) {
            return Ok(None);
        }
        let path = options.study(part);
        let line = match state(&path) {
            State::Complete(study) => {
                self.read.insert(part.study, Ok(study_view(*study, &path, options)));
                return Ok(None);
            }
            State::Incomplete => {
                let path = path.as_os_str();
                ["run", "--resume", "-o"]
                    .map(OsStr::new)
                    .into_iter()
                    .chain([path])
                    .map(OsStr::to_owned)
                    .collect()
            }
            State::Absent => options.run(benchmark, part, &path),
        };
        terminal::note(&format!("morecores {}", shell_line(&line)));
        match runner.run(&line)? {
            ChildEnd::Success => Ok(None),
            ChildEnd::Failed(status) => {
                let why = format!("`morecores run` ended with exit status {status}");
                self.failures.insert(part.study, why);
                Ok(None)
            }
            ChildEnd::BySignal(signal) => Ok(Some(signal)),
        }
    }

    fn read(&mut self, options: &SuiteOptions, part: &BenchmarkPart) {
        let Self { read, failures } = self;
        read.entry(part.study).or_insert_with(|| {
            let path = options.study(part);
            let study = Study::read(&path).map_err(|error| match failures.get(part.study) {
                Some(failure) => failure.clone(),
                None => error.to_string(),
            })?;
            Ok(study_view(study, &path, options))
        });
    }

    fn result(&self, benchmark: &'static Benchmark) -> BenchmarkResult<'_> {
        let study = |part: &BenchmarkPart| match self.read.get(part.study) {
            Some(read) => read.as_ref().map_err(Clone::clone),
            None => Err("not begun".to_owned()),
        };
        BenchmarkResult { benchmark, studies: benchmark.parts.iter().map(study).collect() }
    }

    /// Location of the studies, and the command that shows one of them.
    fn locations(&self, options: &SuiteOptions) -> String {
        let parts = options.benchmarks.iter().flat_map(|benchmark| benchmark.parts);
        let mut readable = parts.filter(|part| self.read.get(part.study).is_some_and(Result::is_ok));
        let Some(part) = readable.next() else { return String::new() };
        let line = ["show".into(), options.study(part).into_os_string()];
        format!("studies: {}\nTo show one: morecores {}\n", options.directory.display(), shell_line(&line))
    }

    fn are_complete(&self) -> bool {
        self.failures.is_empty() && self.read.values().all(Result::is_ok)
    }
}

/// View of a study with the bound of the options.
fn study_view(mut study: Study, path: &Path, options: &SuiteOptions) -> View {
    study.header.plan.worth = options.worth.or(study.header.plan.worth);
    planned_view(study, path)
}

/// Command line as a user types it.
fn shell_line(line: &[OsString]) -> String {
    let words: Vec<String> = line.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    report::display_command(&words)
}

/// Completeness of a study.
enum State {
    Absent,
    Incomplete,
    /// The study, so that it is not read again.
    Complete(Box<Study>),
}

fn state(path: &Path) -> State {
    match Study::read(path) {
        Ok(study) => match study.header.closing.as_ref().map(|closing| closing.reason) {
            Some(StopReason::Precise | StopReason::RunsExhausted | StopReason::TimeExhausted) => {
                State::Complete(Box::new(study))
            }
            _ => State::Incomplete,
        },
        Err(_) if path.exists() => State::Incomplete,
        Err(_) => State::Absent,
    }
}
