//! Classic benchmarks on a page: the studies of them in a directory, beside the published results.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use morecores_catalogue::{Benchmark, BenchmarkPart, Published};
use morecores_report::{self as words, BenchmarkResult};
use morecores_study::Study;
use morecores_view::View;
use morecores_view::page::{BenchmarkText, SuiteText};

use super::derive::study_name;
use crate::options::study_in;

/// Whether a directory holds studies of classic benchmarks, as `morecores suite` makes them, and is
/// not a study itself.
pub(super) fn is_suite(directory: &Path) -> bool {
    !directory.join("study.json").exists() && !benchmarks_in(directory).is_empty()
}

/// Benchmarks that have a study in this directory.
fn benchmarks_in(directory: &Path) -> Vec<&'static Benchmark> {
    let is_of = |benchmark: &Benchmark, path: &Path| {
        Study::read(path).is_ok_and(|study| {
            Benchmark::of_command(&study.header.subject.words()).is_some_and(|of| of.name == benchmark.name)
        })
    };
    let has_study = |benchmark: &Benchmark| {
        benchmark.parts.iter().any(|part| is_of(benchmark, &study_in(directory, part)))
    };
    Benchmark::ALL.iter().filter(|benchmark| has_study(benchmark)).collect()
}

/// Classic benchmarks of a directory, published and measured.
pub(super) struct ThenAndNow<T> {
    /// Tables of each benchmark that has a study: published results beside measured ones.
    pub(super) benchmarks: Vec<BenchmarkText>,
    /// Summary of all benchmarks, including those without a study in the directory.
    pub(super) suite: SuiteText,
    /// Every readable study, in the order of the benchmarks.
    pub(super) studies: Vec<T>,
}

/// Reads the studies of the benchmarks in `directory` and puts the published results beside the
/// view of each.
pub(super) fn then_and_now<T>(
    directory: &Path,
    read: impl Fn(&Path) -> Result<T>,
    view: impl Fn(&T) -> &View,
) -> Result<ThenAndNow<T>> {
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
    let of = |part: &BenchmarkPart| match studies.get(part.study) {
        Some(read) => read.as_ref().map(&view).map_err(Clone::clone),
        None => Err("no study here".to_owned()),
    };
    let result = |benchmark: &'static Benchmark| BenchmarkResult {
        benchmark,
        studies: benchmark.parts.iter().map(of).collect(),
    };
    let said = benchmarks.iter().map(|&benchmark| {
        let mut there: Vec<_> = benchmark.parts.iter().filter(|part| studies[part.study].is_ok()).collect();
        there.dedup_by_key(|part| part.study);
        let names = there.iter().map(|part| study_name(&study_in(directory, part))).collect();
        words::benchmark_text(&result(benchmark), &published, names)
    });
    let said = said.collect();
    let all: Vec<_> = Benchmark::ALL.iter().map(result).collect();
    let suite = words::suite_text(words::suite_summary(&all, &published));
    drop(all);
    let studies = order.iter().filter_map(|study| studies.remove(study)?.ok()).collect();
    Ok(ThenAndNow { benchmarks: said, suite, studies })
}
