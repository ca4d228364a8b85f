//! Searches of public programs with a known fault: GoKer, the kernels of GoBench, and the C
//! programs of SCTBench ("concurrent-software-benchmarks").
//!
//! GOKER and SCTBENCH name checkouts of the two; none of their code is here. Each program is built
//! with usual options. For each one that does not always fail, the table has the failures of plain
//! runs and the run of the search's first failure. SEARCH is the time of each search in seconds,
//! PLAIN the number of plain runs, FROM the name of the first program.
#![allow(clippy::print_stdout, clippy::expect_used)]

mod support;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use support::{plain_failures, search};

/// Time limit of a plain run.
const PLAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// Plain runs after which a program with failures alone counts as one that always fails.
const FIRST_RUNS: u32 = 5;

/// Program with its command.
struct Program {
    name: String,
    command: Vec<OsString>,
}

fn main() {
    let number =
        |name: &str, default: u32| env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (seconds, plain) = (number("SEARCH", 15), number("PLAIN", 200));
    let from = env::var("FROM").unwrap_or_default();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let given = |name: &str| env::var_os(name).map(PathBuf::from);
    let mut sets: Vec<(&str, Vec<Program>)> = Vec::new();
    sets.extend(given("SCTBENCH").map(|path| ("SCTBench", sctbench(&path, directory.path()))));
    sets.extend(given("GOKER").map(|path| ("GoKer", goker(&path, directory.path()))));
    assert!(!sets.is_empty(), "GOKER and SCTBENCH name no checkout");
    for (set, programs) in sets {
        println!("{:<34}{:>14}  first failure", set, "plain runs");
        let (mut always, mut never, mut found) = (0, 0, 0);
        let start = programs.iter().position(|program| program.name == from).unwrap_or(0);
        for Program { name, command } in &programs[start..] {
            if plain_failures(command, FIRST_RUNS, PLAIN_TIMEOUT) == FIRST_RUNS {
                always += 1;
                continue;
            }
            let failed = plain_failures(command, plain, PLAIN_TIMEOUT);
            never += u32::from(failed == 0);
            let time = format!("{seconds}s");
            let limits = ["--any-output", "--timeout", "500ms", "--runs", "1000", "--time", &time];
            let findings = search(command, &limits, directory.path());
            let first = findings.as_ref().map(|findings| &findings["first_failure"]);
            let text =
                match first.and_then(|first| Some((first["run"].as_u64()?, first["seconds"].as_f64()?))) {
                    Some((run, seconds)) => {
                        found += 1;
                        let verdict = findings.as_ref().and_then(|f| f["verdict"].as_str()).unwrap_or("none");
                        format!("run {run}, {seconds:.1} s; {verdict}")
                    }
                    None => {
                        let runs = findings.as_ref().and_then(|findings| findings["runs"].as_u64());
                        runs.map_or("no search".to_owned(), |runs| format!("none in {runs} runs"))
                    }
                };
            println!("{name:<34}{:>14}  {text}", format!("{failed} of {plain}"));
        }
        let tried = programs.len() - start;
        let searched = tried - always;
        println!(
            "{set}: {tried} programs, {always} always fail; of the other {searched}, {never} never failed in {plain} plain \
             runs, and {found} failed in a search"
        );
    }
}

/// The programs of SCTBench that the compiler accepts.
fn sctbench(checkout: &Path, directory: &Path) -> Vec<Program> {
    let folder = checkout.join("benchmarks/concurrent-software-benchmarks");
    let mut sources: Vec<PathBuf> = entries(&folder);
    sources.retain(|path| path.to_string_lossy().ends_with("_bad.c"));
    let program = |source: PathBuf| {
        let name = source.file_stem()?.to_string_lossy().into_owned();
        let binary = directory.join(&name);
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-g", "-pthread", "-w", "-o"]).arg(&binary).arg(&source);
        let built = compiler.current_dir(&folder).stderr(Stdio::null()).status().expect("a compiler");
        built.success().then(|| Program { name, command: vec![binary.into()] })
    };
    sources.into_iter().filter_map(program).collect()
}

/// The kernels of GoKer that the Go toolchain accepts, each as a test program.
fn goker(checkout: &Path, directory: &Path) -> Vec<Program> {
    // The checkout has no module file, and gets none.
    let copy = directory.join("goker");
    let copied = Command::new("cp").arg("-r").arg(checkout.join("gobench/goker")).arg(&copy).status();
    assert!(copied.is_ok_and(|status| status.success()), "GoKer cannot be copied");
    fs::write(copy.join("go.mod"), "module goker\n\ngo 1.21\n").expect("a module file");
    let kinds = entries(&copy).into_iter().filter(|path| path.is_dir());
    let kernels = kinds.flat_map(|kind| entries(&kind)).flat_map(|project| entries(&project));
    let program = |kernel: PathBuf| {
        let parts: Vec<_> =
            kernel.strip_prefix(&copy).ok()?.iter().map(|part| part.to_string_lossy()).collect();
        let name = parts[1..].join("-");
        let binary = directory.join(&name);
        let mut go = Command::new("go");
        go.args(["test", "-c", "-o"]).arg(&binary).arg(format!("./{}", parts.join("/")));
        go.current_dir(&copy).env("GOFLAGS", "-mod=mod").env("GOPROXY", "off");
        let built = go.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("Go");
        // With a second thread, goroutines run in a hold on one CPU too.
        let words = ["env", "GOMAXPROCS=2"].map(OsString::from).into_iter();
        let command = words.chain([binary.clone().into(), "-test.timeout".into(), "3s".into()]).collect();
        (built.success() && binary.is_file()).then_some(Program { name, command })
    };
    kernels.filter_map(program).collect()
}

/// Entries of a folder by name.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut entries: Vec<PathBuf> = read.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries
}
