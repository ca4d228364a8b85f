//! Classic benchmarks on a page: the studies of them in a directory, beside the published results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use morecores_catalogue::{Benchmark, BenchmarkPart, PublishedFacts};
use morecores_report::{self as words, BenchmarkResult};
use morecores_study::Study;
use morecores_view::View;
use morecores_view::page::{BenchmarkText, SuiteText};

use super::loaded_study::{planned_view, study_name};
use crate::options::study_in;

/// Classic benchmarks of a directory, published and measured.
pub(super) struct PublishedComparison<T> {
    /// Tables of each benchmark that has a study: published results beside measured ones.
    pub(super) benchmarks: Vec<BenchmarkText>,
    /// Summary of all benchmarks, including those without a study in the directory.
    pub(super) suite: SuiteText,
    /// Every readable study, in the order of the benchmarks.
    pub(super) studies: Vec<T>,
}

/// Studies of classic benchmarks in a directory, each read once.
pub(super) struct SuiteStudies {
    directory: PathBuf,
    /// Study of each name, or the reason why there is none.
    studies: BTreeMap<&'static str, Result<Study, String>>,
}

impl SuiteStudies {
    /// Reads the studies of a directory with studies of classic benchmarks, as `morecores suite`
    /// makes them. `None` for another directory and for one that is itself a study.
    pub(super) fn in_directory(directory: &Path) -> Option<Self> {
        if directory.join("study.json").exists() {
            return None;
        }
        let suite = Self::read(directory, |path| Ok(Study::read(path)?));
        (!suite.benchmarks().is_empty()).then_some(suite)
    }

    /// Reads every study of a classic benchmark in `directory` by `read`.
    pub(super) fn read(directory: &Path, read: impl Fn(&Path) -> Result<Study>) -> Self {
        let mut studies = BTreeMap::new();
        for part in Benchmark::ALL.iter().flat_map(|benchmark| benchmark.parts) {
            studies
                .entry(part.study)
                .or_insert_with(|| read(&study_in(directory, part)).map_err(|error| format!("{error:#}")));
        }
        Self { directory: directory.to_owned(), studies }
    }

    /// Replaces the share of a CPU that an added CPU must bring, if `worth` is given.
    pub(super) fn with_worth(mut self, worth: Option<f64>) -> Self {
        for study in self.studies.values_mut().flatten() {
            study.header.plan.worth = worth.or(study.header.plan.worth);
        }
        self
    }

    /// Benchmarks that have a study in this directory.
    fn benchmarks(&self) -> Vec<&'static Benchmark> {
        let is_of = |benchmark: &Benchmark, study: &Study| {
            let own = Benchmark::find_by_command(&study.header.subject.words());
            own.is_some_and(|own| own.name == benchmark.name)
        };
        let has_study = |benchmark: &Benchmark| {
            let mut parts =
                benchmark.parts.iter().filter_map(|part| self.studies.get(part.study)?.as_ref().ok());
            parts.any(|study| is_of(benchmark, study))
        };
        Benchmark::ALL.iter().filter(|benchmark| has_study(benchmark)).collect()
    }

    /// Puts the published results beside the figures of the studies. No trace is replayed, unless a
    /// study was made for a prediction.
    pub(super) fn compare_figures_with_published(self) -> Result<PublishedComparison<View>> {
        self.compare_with_published(|study, path| Ok(planned_view(study, path)), |view| view)
    }

    /// Puts the published results beside the view of each study. `load` derives what the caller
    /// wants of a study.
    pub(super) fn compare_with_published<T>(
        self,
        load: impl Fn(Study, &Path) -> Result<T>,
        view: impl Fn(&T) -> &View,
    ) -> Result<PublishedComparison<T>> {
        let published = PublishedFacts::read()?;
        let benchmarks = self.benchmarks();
        let Self { directory, mut studies } = self;
        let mut order = Vec::new();
        let mut loaded = BTreeMap::new();
        for part in benchmarks.iter().flat_map(|benchmark| benchmark.parts) {
            let Some(study) = studies.remove(part.study) else { continue };
            let path = study_in(&directory, part);
            order.push(part.study);
            loaded.insert(
                part.study,
                study.and_then(|study| load(study, &path).map_err(|error| format!("{error:#}"))),
            );
        }
        let measured = |part: &BenchmarkPart| match loaded.get(part.study) {
            Some(read) => read.as_ref().map(&view).map_err(Clone::clone),
            None => Err("no study here".to_owned()),
        };
        let result = |benchmark: &'static Benchmark| BenchmarkResult {
            benchmark,
            studies: benchmark.parts.iter().map(measured).collect(),
        };
        let text = |&benchmark: &&'static Benchmark| {
            let mut present: Vec<_> = benchmark.parts.iter().filter(|part| measured(part).is_ok()).collect();
            present.dedup_by_key(|part| part.study);
            let names = present.iter().map(|part| study_name(&study_in(&directory, part))).collect();
            words::benchmark_text(&result(benchmark), &published, names)
        };
        let benchmarks = benchmarks.iter().map(text).collect();
        let all: Vec<_> = Benchmark::ALL.iter().map(result).collect();
        let suite = words::suite_text(words::suite_summary(&all, &published));
        drop(all);
        let studies = order.iter().filter_map(|study| loaded.remove(study)?.ok()).collect();
        Ok(PublishedComparison { benchmarks, suite, studies })
    }
}
