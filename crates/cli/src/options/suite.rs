//! Turns the texts of `morecores suite` into a list of studies, and into the `morecores run` that
//! makes each.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, ensure};
use jiff::Zoned;
use morecores_catalogue::{Benchmark, BenchmarkPart, Measure, WORK};

use super::texts::worth;
use crate::args::SuiteArgs;

/// Arguments of `morecores run` for a quick study: the fewest runs that give an interval.
const QUICK: &str = "--runs 6 --precision 0 --max-time 0";
/// Arguments of `morecores run` for a full study.
const FULL: &str = "--precision 1% --max-time 2m";

/// Options of `morecores suite`.
#[derive(Debug)]
pub(crate) struct SuiteOptions {
    pub(crate) benchmarks: Vec<&'static Benchmark>,
    /// Directory of the studies, existing or new.
    pub(crate) directory: PathBuf,
    /// Whether to make studies.
    pub(crate) makes: bool,
    /// Share of a CPU that an added CPU must bring; none for that of each study.
    pub(crate) worth: Option<f64>,
    full: bool,
}

impl SuiteOptions {
    /// Reads the arguments.
    pub(crate) fn new(args: &SuiteArgs) -> Result<Self> {
        let benchmarks: Vec<&'static Benchmark> = if args.names.is_empty() {
            Benchmark::ALL.iter().collect()
        } else {
            args.names.iter().map(|name| find_benchmark(name)).collect::<Result<_>>()?
        };
        let worth = worth(&args.worth)?;
        if let Some(directory) = &args.show {
            ensure!(directory.is_dir(), "there is no directory {}", directory.display());
        }
        if let Some(directory) = &args.out {
            let exists = directory.exists();
            ensure!(
                exists || !args.resume,
                "there is no suite at {}: leave out --resume to make one",
                directory.display()
            );
            ensure!(
                !exists || args.resume,
                "{} exists: continue it with --resume, or name another directory",
                directory.display()
            );
        }
        if let Some(directory) = &args.show {
            let mut parts = benchmarks.iter().flat_map(|benchmark| benchmark.parts);
            ensure!(
                parts.any(|part| study_in(directory, part).exists()),
                "{} has no study of {}: `morecores suite -o DIRECTORY` makes one",
                directory.display(),
                if args.names.is_empty() { "any benchmark" } else { "these benchmarks" }
            );
        }
        let directory = args.show.clone().or_else(|| args.out.clone()).unwrap_or_else(directory_by_date);
        Ok(Self { benchmarks, directory, makes: args.show.is_none(), worth, full: args.full })
    }

    /// Path of the study of a part.
    pub(crate) fn study(&self, part: &BenchmarkPart) -> PathBuf {
        study_in(&self.directory, part)
    }

    /// Arguments of `morecores` that make the study of a part at `path`.
    pub(crate) fn run(&self, benchmark: &Benchmark, part: &BenchmarkPart, path: &Path) -> Vec<OsString> {
        let (extent, arguments) = if self.full { (FULL, part.full) } else { (QUICK, part.quick) };
        let words = |text: &'static str| text.split_whitespace().map(OsString::from);
        let mut line = vec![OsString::from("run")];
        line.extend(words(extent));
        let metric: &[&str] = match part.measure {
            Measure::Elapsed => &[],
            Measure::Figure(pattern, unit) => &["--metric", pattern, "--unit", unit],
            Measure::ParallelPart(pattern) => &["--metric", pattern, "--unit", "s", "--lower-is-better"],
        };
        line.extend(metric.iter().map(OsString::from));
        line.extend(self.worth.map(|share| format!("--worth={share}").into()));
        line.extend([OsStr::new("-o"), path.as_os_str(), OsStr::new("--")].map(OsStr::to_owned));
        line.extend([WORK, benchmark.name].map(OsString::from));
        line.extend(words(arguments));
        line
    }
}

/// Path of the study of a part in the directory of a suite.
pub(crate) fn study_in(directory: &Path, part: &BenchmarkPart) -> PathBuf {
    directory.join(format!("{}.study", part.study))
}

fn find_benchmark(name: &str) -> Result<&'static Benchmark> {
    Benchmark::named(name)
        .ok_or_else(|| anyhow!("there is no benchmark '{name}'; `morecores suite --list` lists all"))
}

fn directory_by_date() -> PathBuf {
    PathBuf::from(format!("suite-{}", Zoned::now().strftime("%Y%m%d-%H%M%S")))
}
