//! Exam of the predictions: real commands, of which nothing was tuned on the scoring half.
//!
//! Each command of `crates/predict/exam/programs.toml` is measured and traced on small CPU counts
//! (`FROM`), predicted for a large one (`TO`), and measured there. The bench prints error, band and
//! coverage of each command, a table by class and half, and the factors that calibrate the width of
//! the bands. It asserts nothing.
//!
//! `ONLY` selects commands by a part of their names. `STUDIES` is the folder of the studies.
//! Existing studies are evaluated without measuring again, so that a changed prediction is examined
//! in seconds.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and fails by panic")]

mod common;
#[path = "exam/registry.rs"]
mod registry;
#[path = "exam/result.rs"]
mod result;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use morecores_study::Study;
use morecores_view::{PointView, Prediction};

use common::quiet;
use registry::{Program, exam_folder, read_registry};
use result::{Examined, print_calibration, print_table};

/// Rounds of the study that is predicted from: the fewest with a 95% interval.
const RUNS: &str = "6";

/// Longest time of each of a command's two studies. The study with the truth ends earlier if its
/// speedup is precise, by the default rule of `run`.
const MAX_TIME: &str = "40s";

/// Ratio of the ends of a true speedup's interval above which it examines no prediction. This ratio
/// is a choice.
const MAX_UNKNOWN: f64 = 1.2;

fn main() {
    let from = counts("FROM", "1");
    let [.., largest] = from[..] else { panic!("FROM holds CPU counts, for example FROM=1,2") };
    let to = counts("TO", "2")[0];
    let only = env::var("ONLY").unwrap_or_default();
    let step = format!("{}-to-{to}", joined(&from, "-"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = env::var_os("STUDIES").map_or_else(|| root.join(".bench/exam"), PathBuf::from).join(&step);
    std::fs::create_dir_all(&folder).unwrap();
    let folder = folder.canonicalize().unwrap();
    let inputs = env::temp_dir().join("morecores-exam");
    quiet();
    let programs = read_registry();
    println!(
        "{} commands, from {} to {to} CPUs; studies in {}",
        programs.len(),
        joined(&from, ", "),
        folder.display()
    );
    let mut results = Vec::new();
    for program in programs.iter().filter(|program| program.name.contains(&only)) {
        let studies = Studies::of_program(program, &folder);
        if let Err(reason) = studies.measure(program, &inputs, &from, to) {
            println!("  {}: skipped: {reason}", program.name);
            continue;
        }
        match studies.examine(program, &from, largest, to) {
            Ok(examined) => {
                println!("  {}", examined.render_line());
                results.push(examined);
            }
            Err(reason) => println!("  {}: no result: {reason}", program.name),
        }
    }
    print_table(&results);
    print_calibration(&results);
    let _ = std::fs::remove_dir_all(&inputs);
}

/// CPU counts in an environment variable, separated by commas.
fn counts(variable: &str, default: &str) -> Vec<u32> {
    let text = env::var(variable).ok().filter(|text| !text.is_empty()).unwrap_or_else(|| default.to_owned());
    let parse =
        |count: &str| count.trim().parse().unwrap_or_else(|_| panic!("{variable}: {count} is no CPU count"));
    text.split(',').map(parse).collect()
}

fn joined(counts: &[u32], separator: &str) -> String {
    counts.iter().map(u32::to_string).collect::<Vec<_>>().join(separator)
}

/// The two studies of a command: the one to predict from, and the one with the truth.
struct Studies {
    small: PathBuf,
    large: PathBuf,
}

impl Studies {
    fn of_program(program: &Program, folder: &Path) -> Self {
        let name = program.name.replace(' ', "-");
        Self {
            small: folder.join(format!("{name}.from.study")),
            large: folder.join(format!("{name}.to.study")),
        }
    }

    /// Measures the studies that are missing.
    fn measure(&self, program: &Program, inputs: &Path, from: &[u32], to: u32) -> Result<(), String> {
        if self.small.exists() && self.large.exists() {
            return Ok(());
        }
        if let Some(package) = program.missing_package() {
            return Err(format!("package {package} is missing: tools/install-deps.sh exam installs it"));
        }
        make_inputs(inputs)?;
        let predict = format!("--predict={to}");
        let largest = from[from.len() - 1];
        for (study, cpus, trace) in [
            (&self.small, joined(from, ","), vec![predict.as_str(), "--runs", RUNS, "--trace", "on"]),
            (&self.large, format!("{largest},{to}"), vec!["--trace", "off"]),
        ] {
            if study.exists() {
                continue;
            }
            let mut run = Command::new(env!("CARGO_BIN_EXE_morecores"));
            run.current_dir(inputs).args(["run", "-q", "--cpus", &cpus, "--max-time", MAX_TIME]);
            run.args(["--output", "null"]).args(trace);
            if let Some(prepare) = &program.prepare {
                run.args(["--prepare", &program.resolve(prepare)]);
            }
            run.arg("-o").arg(study).args(["--shell", "--", &program.resolve(&program.command)]);
            let output = run.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
            if !output.status.success() {
                let _ = std::fs::remove_dir_all(study);
                let text = String::from_utf8_lossy(&output.stderr);
                return Err(text.lines().rfind(|line| !line.is_empty()).unwrap_or("no message").to_owned());
            }
        }
        Ok(())
    }

    /// Predicts from the first study and compares with the second.
    ///
    /// Both studies hold the largest count of `FROM`. The truth is the speedup of `TO` over it
    /// within the rounds of the second study: a drift between the studies, or within the second,
    /// does not count as an error.
    fn examine(&self, program: &Program, from: &[u32], largest: u32, to: u32) -> Result<Examined, String> {
        let mut predict = Command::new(env!("CARGO_BIN_EXE_morecores"));
        predict.args(["predict", "--from", &joined(from, ","), "--cpus", &to.to_string(), "--json"]);
        let output = predict.arg(&self.small).output().map_err(|error| error.to_string())?;
        let prediction: Prediction = serde_json::from_slice(&output.stdout).map_err(|_| {
            String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or("no message").to_owned()
        })?;
        let small = points(&self.small)?;
        let large = points(&self.large)?;
        let find = |points: &[PointView], cpus: u32| {
            let point = points.iter().find(|point| point.cpus == cpus).cloned();
            point.ok_or_else(|| format!("no runs on {cpus} CPUs"))
        };
        let base = find(&small, largest)?.elapsed_s.median;
        let speedup = find(&large, to)?.speedup;
        if let Some([least, most]) = speedup.ci95.filter(|[least, most]| most / least > MAX_UNKNOWN) {
            return Err(format!("the true speedup is known only to {least:.2} to {most:.2}"));
        }
        Examined::from_prediction(program, &prediction, base, base / speedup.value)
            .ok_or_else(|| "no point predicted".to_owned())
    }
}

fn points(study: &Path) -> Result<Vec<PointView>, String> {
    let study = Study::read(study).map_err(|error| error.to_string())?;
    Ok(morecores_view::view(&study, &[]).points)
}

/// Makes the inputs, once for all commands.
fn make_inputs(inputs: &Path) -> Result<(), String> {
    if inputs.join("complete").exists() {
        return Ok(());
    }
    let _ = std::fs::remove_dir_all(inputs);
    std::fs::create_dir_all(inputs).map_err(|error| error.to_string())?;
    let made = Command::new(exam_folder().join("inputs.sh")).current_dir(inputs).status();
    match made {
        Ok(status) if status.success() => {
            std::fs::write(inputs.join("complete"), "").map_err(|error| error.to_string())
        }
        Ok(status) => Err(format!("inputs.sh: {status}")),
        Err(error) => Err(format!("inputs.sh: {error}")),
    }
}
