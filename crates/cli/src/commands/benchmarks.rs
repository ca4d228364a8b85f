//! The classic benchmarks on a page: which studies of a directory are of them, and what they show beside what was published.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use morecores_record::{Benchmark, Published, SaidBenchmark, Study, View};
use morecores_report::{self as words, BenchmarkResult};

use super::derive::study_name;
use crate::options::study_in;

/// Whether a directory that is no study itself holds one of a classic benchmark, as `morecores suite` makes them.
pub(super) fn is_suite(directory: &Path) -> bool {
    !directory.join("study.json").exists() && !benchmarks_in(directory).is_empty()
}

/// The benchmarks that have a study in this directory.
fn benchmarks_in(directory: &Path) -> Vec<&'static Benchmark> {
    let is_of = |benchmark: &Benchmark, path: &Path| {
        Study::read(path).is_ok_and(|study| {
            Benchmark::of_command(&study.header.command.words()).is_some_and(|of| of.name == benchmark.name)
        })
    };
    let has_study = |benchmark: &Benchmark| {
        benchmark.parts.iter().any(|part| is_of(benchmark, &study_in(directory, part)))
    };
    Benchmark::ALL.iter().filter(|benchmark| has_study(benchmark)).collect()
}

/// What `read` makes of each study of the benchmarks in `directory`, in the order of these, and the tables of what was published
/// beside the view of each.
pub(super) fn then_and_now<T>(
    directory: &Path,
    read: impl Fn(&Path) -> Result<T>,
    view: impl Fn(&T) -> &View,
) -> Result<(Vec<SaidBenchmark>, Vec<T>)> {
    let published = Published::read()?;
    let benchmarks = benchmarks_in(directory);
    let mut order = Vec::new();
    let mut studies = BTreeMap::new();
    for part in benchmarks.iter().flat_map(|benchmark| benchmark.parts) {
        if !studies.contains_key(part.study) {
            order.push(part.study);
            studies
                .insert(part.study, read(&study_in(directory, part)).map_err(|error| format!("{error:#}")));
        }
    }
    let said = benchmarks.iter().map(|&benchmark| {
        let of = |study: &str| studies[study].as_ref().map(&view).map_err(Clone::clone);
        let result = BenchmarkResult {
            benchmark,
            studies: benchmark.parts.iter().map(|part| of(part.study)).collect(),
        };
        let mut there: Vec<_> = benchmark.parts.iter().filter(|part| studies[part.study].is_ok()).collect();
        there.dedup_by_key(|part| part.study);
        let names = there.iter().map(|part| study_name(&study_in(directory, part))).collect();
        words::said_benchmark(&result, &published, names)
    });
    let said = said.collect();
    let read = order.iter().filter_map(|study| studies.remove(study)?.ok()).collect();
    Ok((said, read))
}
