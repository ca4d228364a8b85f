//! Judge of the searches: programs whose fault is known, and their correct twins.
//!
//! For each case it prints how often the reason was right, unknown and wrong, the runs to the
//! first failure, and the failures of plain runs with the runs to the first of them: alone, and
//! beside `stress-ng --cpu 2` where it is installed. JUDGEMENTS is the number of searches of
//! each case, PLAIN that of its plain runs, TWIN that of the runs of its twin, ONLY a part of
//! the case's name. The exit status is 1 if a twin failed.
#![allow(clippy::print_stdout, clippy::expect_used)]

mod support;

use std::env;
use std::f64::consts::LN_2;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use morecores_statistics::proportion_interval;
use support::{end, plain_failures, search};

/// Cases with the right verdict of each.
const CASES: [(&str, &str); 11] = [
    ("increment-1", "unlocked-update"),
    ("increment-3", "not-thread-safe"),
    ("priority", "priority"),
    ("lost-wake-up", "not-thread-safe"),
    ("use-after-free", "not-thread-safe"),
    ("two-locks", "not-thread-safe"),
    ("double-checked", "not-thread-safe"),
    ("aba", "not-thread-safe"),
    ("dekker", "memory-order"),
    // The compiler makes one instruction of the load, the addition and the store.
    ("load-and-store.rs", "unlocked-update"),
    ("check-then-act.rs", "not-thread-safe"),
];
/// Verdicts that admit ignorance.
const UNKNOWN: [&str; 4] = ["unknown", "no-failure", "not-repeated", "only-on-several-cpus"];
/// Time limit of a plain run. All take a few milliseconds.
const PLAIN_TIMEOUT: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let number =
        |name: &str, default| env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (judgements, plain, twin) =
        (number("JUDGEMENTS", 30_u32), number("PLAIN", 3_000), number("TWIN", 2_000));
    let only = env::var("ONLY").unwrap_or_default();
    let directory = tempfile::tempdir().expect("a temporary directory");
    println!(
        "{:<20}{:>7}{:>9}{:>7}  {:<24}{:<32}{:<32}twin",
        "case", "right", "unknown", "wrong", "first failure (median)", "plain runs", "beside stress-ng"
    );
    let mut twins_failed = false;
    for (name, right) in CASES.into_iter().filter(|(name, _)| name.contains(&only)) {
        let program = [compile(name, directory.path(), Form::Faulty).into_os_string()];
        let mut verdicts: Vec<String> = Vec::new();
        let mut firsts: Vec<(u64, f64)> = Vec::new();
        for seed in 1..=judgements {
            let findings =
                search(&program, &["--time", "40s", "--seed", &seed.to_string()], directory.path())
                    .expect("a search");
            verdicts.push(findings["verdict"].as_str().unwrap_or("none").to_owned());
            let first = &findings["first_failure"];
            firsts.extend(first["run"].as_u64().zip(first["seconds"].as_f64()));
        }
        let count = |accept: &dyn Fn(&str) -> bool| verdicts.iter().filter(|verdict| accept(verdict)).count();
        let (good, unknown) =
            (count(&|verdict| verdict == right), count(&|verdict| UNKNOWN.contains(&verdict)));
        firsts.sort_by_key(|(run, _)| *run);
        let median = firsts.get(judgements as usize / 2);
        let first = match median {
            Some((run, seconds)) => format!("run {run}, {seconds:.1} s"),
            None => format!("none in {} of {judgements}", judgements as usize - firsts.len()),
        };
        let compare = |failed| plain_text(failed, plain, median.map(|(run, _)| *run));
        let alone = compare(plain_failures(&program, plain, PLAIN_TIMEOUT));
        let beside = beside_stress(|| plain_failures(&program, plain, PLAIN_TIMEOUT))
            .map_or("not installed".to_owned(), compare);
        let correct = [compile(name, directory.path(), Form::Twin).into_os_string()];
        let limits = ["--runs", &twin.to_string(), "--time", "10m"];
        let findings = search(&correct, &limits, directory.path()).expect("a search");
        let (runs, verdict) = (&findings["runs"], findings["verdict"].as_str().unwrap_or("none"));
        twins_failed |= verdict != "no-failure";
        println!(
            "{name:<20}{good:>7}{unknown:>9}{:>7}  {first:<24}{alone:<32}{beside:<32}{verdict} in {runs} runs",
            verdicts.len() - good - unknown,
        );
    }
    if twins_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Failures of plain runs, and how many times as many runs they need as searches whose first
/// failure is in run `search` in half of the cases. It is at least this factor (95%), because
/// the rate of the plain runs is taken from the upper end of its interval: half of the series
/// of runs with a failure rate p have one within ln 2 / p runs.
fn plain_text(failed: u32, runs: u32, search: Option<u64>) -> String {
    let rate = proportion_interval(failed.into(), runs.into());
    let factor = search.map(|search| LN_2 / rate.hi / search as f64);
    let factor = factor.map(|factor| format!(", {factor:.0} times the runs")).unwrap_or_default();
    format!("{failed} of {runs}{factor}")
}

/// Form of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Faulty,
    Twin,
}

/// Compiles a case, with the options that programs usually have.
fn compile(name: &str, directory: &Path, form: Form) -> PathBuf {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let binary = directory.join(format!("{name}-{form:?}"));
    let mut compiler;
    if name.ends_with(".rs") {
        compiler = Command::new("rustc");
        compiler.args(["-O", "-g", "--edition=2024", "--check-cfg=cfg(twin)"]).arg(cases.join(name));
        compiler.args(if form == Form::Twin { &["--cfg", "twin"][..] } else { &[] });
    } else {
        compiler = Command::new("cc");
        compiler.args(["-O1", "-g", "-pthread", "-Wall", "-Werror"]).arg(cases.join(format!("{name}.c")));
        compiler.args((form == Form::Twin).then_some("-DTWIN"));
    }
    let status = compiler.arg("-o").arg(&binary).status();
    assert!(status.is_ok_and(|status| status.success()), "{name} does not compile");
    binary
}

/// Runs `measure` beside two busy processes. `None` where stress-ng is not installed.
fn beside_stress(measure: impl FnOnce() -> u32) -> Option<u32> {
    let load =
        Command::new("stress-ng").args(["--cpu", "2", "--quiet"]).stdout(Stdio::null()).spawn().ok()?;
    let result = measure();
    // Its workers end with SIGTERM alone.
    let _ = Command::new("kill").arg(load.id().to_string()).status();
    end(load);
    Some(result)
}
