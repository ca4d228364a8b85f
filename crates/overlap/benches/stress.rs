//! Result of `morecores-overlap`, compared with the serial result many times.
//!
//! Each build runs `RUNS` times under overlap, with 2 and 3 jobs in turn. A run is equal if it has
//! the status, the text, the files, the modes and the order of times of a serial run. The order of
//! two files that a serial build writes in one moment varies, so a run may equal any serial run of
//! its build. Makefiles also run under `make -j2`, of which only status and files are compared.
//!
//! `ONLY` selects rows by a part of their titles. Runs that differ are described below the row, and
//! in full in a folder for temporary files. The program then ends with status 1.
#![allow(clippy::print_stdout, reason = "a bench prints")]

#[path = "stress/builds.rs"]
mod builds;
#[path = "../tests/comparison/mod.rs"]
mod comparison;
#[path = "stress/random.rs"]
mod random;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use builds::{Row, rows};
use comparison::{Build, BuildResult};

/// Runs under overlap for each further serial run of a build and each run under `make -j2`.
const RUNS_PER_SERIAL: usize = 5;

/// Serial runs that a different run is compared with before it counts as different.
const MAX_FURTHER: usize = 3;

/// Most differences of a run that are printed.
const MAX_PRINTED: usize = 5;

fn main() -> ExitCode {
    let runs = env::var("RUNS").map_or(100, |runs| runs.parse().expect("RUNS is a number"));
    let only = env::var("ONLY").unwrap_or_default();
    let folder = env::temp_dir().join(format!("morecores-stress-overlap-{}", std::process::id()));
    println!("{:40} {:>5} {:>6} {:>9}   make -j2: failed or differed", "build", "runs", "equal", "deferred");
    let results: Vec<bool> = rows()
        .iter()
        .filter(|row| row.title.contains(&only))
        .map(|row| examine(row, runs, &folder))
        .collect();
    if results.iter().all(|is_equal| *is_equal) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Counts of a row's runs under `make -j2`.
#[derive(Default)]
struct ParallelRuns {
    runs: usize,
    different: usize,
}

/// Runs the builds of a row, prints its line, and tells whether every run was equal.
fn examine(row: &Row, runs: usize, folder: &Path) -> bool {
    let mut serial: Vec<Vec<BuildResult>> = row.builds.iter().map(|_| Vec::new()).collect();
    let mut parallel = ParallelRuns::default();
    let (mut deferred, mut differences) = (Vec::new(), Vec::new());
    for run in 0..runs {
        let (round, variant) = (run / row.builds.len(), run % row.builds.len());
        let (build, serial) = (&row.builds[variant], &mut serial[variant]);
        if round.is_multiple_of(RUNS_PER_SERIAL) {
            serial.push(build.run_without_overlap());
            if let Some(result) = run_in_parallel(build) {
                parallel.runs += 1;
                parallel.different += usize::from(!result.file_differences(&serial[0]).is_empty());
            }
        }
        let result = build.run_with_overlap(2 + round % 2);
        let count = result.deferred().unwrap_or_else(|| panic!("{}: no summary\n{result}", row.title));
        deferred.push(count);
        let mut different = differences_from_all(build, serial, &result);
        if count < build.deferred {
            different.push(format!("only {count} commands deferred"));
        }
        if !different.is_empty() {
            let path = write_evidence(folder, build, run, &different, &result, &serial[0]);
            let printed = different.iter().take(MAX_PRINTED).cloned().collect::<Vec<_>>().join("; ");
            differences.push(format!("run {run}: {printed}; all of it in {}", path.display()));
        }
    }
    deferred.sort_unstable();
    println!(
        "{:40} {runs:5} {:6} {:9}   {}",
        row.title,
        runs - differences.len(),
        deferred.get(deferred.len() / 2).copied().unwrap_or(0),
        if parallel.runs == 0 {
            "no makefile".to_owned()
        } else {
            format!("{} of {}", parallel.different, parallel.runs)
        }
    );
    for difference in &differences {
        println!("    {difference}");
    }
    differences.is_empty()
}

/// Result of a makefile under `make -j2`.
fn run_in_parallel(build: &Build) -> Option<BuildResult> {
    if build.command[0] != "make" {
        return None;
    }
    let mut command = build.command.clone();
    command.push("-j2".to_owned());
    let parallel = Build { command, files: build.files.clone(), ..*build };
    Some(parallel.run_without_overlap())
}

/// Differences from the first serial run, and none if the result equals any serial run.
fn differences_from_all(build: &Build, serial: &mut Vec<BuildResult>, result: &BuildResult) -> Vec<String> {
    let is_equal = |serial: &BuildResult| result.differences(serial).is_empty();
    if serial.iter().rev().any(is_equal) {
        return Vec::new();
    }
    for _ in 0..MAX_FURTHER {
        serial.push(build.run_without_overlap());
        if serial.last().is_some_and(is_equal) {
            return Vec::new();
        }
    }
    result.differences(&serial[0])
}

/// Writes a run that differs beside a serial run to a file.
fn write_evidence(
    folder: &Path,
    build: &Build,
    run: usize,
    differences: &[String],
    result: &BuildResult,
    serial: &BuildResult,
) -> PathBuf {
    fs::create_dir_all(folder).expect("a folder");
    let path = folder.join(format!("{}-{run}.txt", build.name));
    let text = format!("{}\n\nunder overlap:\n{result}\nin series:\n{serial}", differences.join("\n"));
    fs::write(&path, text).expect("a file");
    path
}
