//! A study in the format of `hyperfine --export-json`, for scripts that read that format.
//!
//! One result for each CPU count, like one step of a hyperfine parameter scan named `cpus`. The
//! fields, their meanings and the statistics are those of hyperfine's `BenchmarkResult`. The
//! statistics are arithmetic that the format requires; the estimates of morecores are in `--json`.

use std::collections::BTreeMap;

use morecores_statistics::median;
use morecores_study::{Exit, Phase, Run, Study};
use serde::Serialize;

use crate::command;

/// The whole export.
#[derive(Serialize)]
struct Export {
    results: Vec<BenchmarkResult>,
}

/// One benchmark, after hyperfine's own definition (`src/benchmark/benchmark_result.rs`, version
/// 1.19); times in seconds. `memory_usage_byte` exists since version 1.18; older readers ignore it.
#[derive(Serialize)]
struct BenchmarkResult {
    command: String,
    mean: f64,
    /// Null for a single run.
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    times: Vec<f64>,
    memory_usage_byte: Vec<u64>,
    /// Null if a signal ended the run.
    exit_codes: Vec<Option<i32>>,
    parameters: BTreeMap<&'static str, String>,
}

/// Writes the study in hyperfine's format: timed runs that succeeded, in the order of execution, by
/// ascending CPU count. The runs of rounds that others disturbed are among them, since the format
/// cannot mark them. `user` and `system` are means, like hyperfine's, by the study's own estimator.
/// A CPU count without a successful run is left out.
///
/// # Errors
///
/// Fails only if a figure cannot be written as JSON, which does not happen for a study read from a
/// directory.
pub fn hyperfine_json(study: &Study) -> Result<String, serde_json::Error> {
    let mut by_count: BTreeMap<u32, Vec<&Run>> = BTreeMap::new();
    for run in study.runs.iter().filter(|r| r.phase == Phase::Timed && r.counts(&study.header.plan)) {
        by_count.entry(run.cpus).or_default().push(run);
    }
    let results = by_count.iter().map(|(&cpus, runs)| benchmark_result(study, cpus, runs)).collect();
    let mut text = serde_json::to_string_pretty(&Export { results })?;
    text.push('\n');
    Ok(text)
}

/// Result of one CPU count; `runs` is not empty.
fn benchmark_result(study: &Study, cpus: u32, runs: &[&Run]) -> BenchmarkResult {
    let times: Vec<f64> = runs.iter().map(|r| r.elapsed_ns.as_secs_f64()).collect();
    let mean = |value: fn(&Run) -> f64| runs.iter().map(|r| value(r)).sum::<f64>() / runs.len() as f64;
    let n = runs.first().map_or(cpus, |run| run.n);
    let mut sorted = times.clone();
    sorted.sort_by(f64::total_cmp);
    BenchmarkResult {
        command: command::shell_command(&study.header.subject, &study.header.plan.env, n),
        mean: mean(|r| r.elapsed_ns.as_secs_f64()),
        stddev: standard_deviation(&times),
        median: median(&times).unwrap_or(f64::NAN),
        user: mean(|r| r.cpu.user_ns.as_secs_f64()),
        system: mean(|r| r.cpu.system_ns.as_secs_f64()),
        min: sorted[0],
        max: sorted[sorted.len() - 1],
        memory_usage_byte: runs.iter().map(|r| r.rusage.max_rss_bytes.0).collect(),
        exit_codes: runs.iter().map(|r| exit_code(r.exit)).collect(),
        parameters: BTreeMap::from([("cpus", cpus.to_string())]),
        times,
    }
}

/// Exit status, if the run has one.
fn exit_code(exit: Exit) -> Option<i32> {
    match exit {
        Exit::Code(code) => Some(code),
        Exit::Signal(_) | Exit::Stopped(_) | Exit::TimedOut => None,
    }
}

/// Sample standard deviation with the divisor n - 1, like hyperfine's; none for a single value.
fn standard_deviation(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt())
}
