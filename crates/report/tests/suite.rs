//! The tables of the classic benchmarks: published results beside measured ones.

#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

mod support;

use insta::assert_snapshot;
use morecores_catalogue::{Benchmark, BenchmarkPart, Measure, PublishedFacts};
use morecores_report::{
    BenchmarkResult, Style, suite_json, suite_markdown, suite_report, suite_summary, suite_summary_markdown,
    suite_summary_report,
};
use morecores_study::Better;
use morecores_view::suite::PublishedSpeedup;
use morecores_view::suite::{SuiteRow, SuiteSummary, SuiteVerdict};
use morecores_view::{MetricView, Summary, View, Warning};

/// Copy of the suite's benchmark, fixed here so that a change of the suite does not change these
/// tables.
static BUILD: Benchmark = Benchmark {
    name: "build",
    title: "a parallel build",
    parts: &[
        BenchmarkPart {
            study: "build",
            what: "a kernel",
            published: &["003.T3.", "003.T5."],
            quick: "--threads {n}",
            full: "--threads {n}",
            measure: Measure::Elapsed,
        },
        BenchmarkPart {
            study: "build-parallel",
            what: "its parallel part",
            published: &["004.T3."],
            quick: "--threads {n}",
            full: "--threads {n}",
            measure: Measure::ParallelPart("parallel ([0-9.]+) s"),
        },
    ],
};

static PIPE: Benchmark = Benchmark {
    name: "pipe",
    title: "pairs of processes",
    parts: &[BenchmarkPart {
        study: "pipe-2",
        what: "2 pairs",
        published: &["004.T2.2copy"],
        quick: "--threads 2",
        full: "--threads 2",
        measure: Measure::Figure("([0-9.]+) op/s", "op/s"),
    }],
};

fn terminal(benchmark: &'static Benchmark, studies: Vec<Result<&View, String>>) -> String {
    let style = Style { width: 100, colour: false, unicode: true, wide: false };
    let text =
        suite_report(&BenchmarkResult { benchmark, studies }, &PublishedFacts::read().unwrap(), &style);
    support::assert_fits_style(style, &text);
    text
}

fn markdown(benchmark: &'static Benchmark, studies: Vec<Result<&View, String>>) -> String {
    let mut text = String::new();
    let result = BenchmarkResult { benchmark, studies };
    suite_markdown(&result, &PublishedFacts::read().unwrap(), &mut text).unwrap();
    text
}

/// View of a build that prints the time of its parallel part: nine tenths of the whole.
fn parallel_part() -> View {
    let mut view = support::build();
    for point in &mut view.points {
        let Summary { median, ci95, .. } = point.elapsed_s;
        let nine_tenths = |seconds: f64| 0.9 * seconds;
        let summary = Summary {
            median: nine_tenths(median),
            ci95: ci95.map(|ends| ends.map(nine_tenths)),
            ..point.elapsed_s
        };
        point.metric =
            Some(MetricView { name: None, summary, unit: Some("s".to_owned()), better: Better::Lower });
    }
    view
}

#[test]
fn published_and_measured_rows_share_columns() {
    let parallel = parallel_part();
    assert_snapshot!(terminal(&BUILD, vec![Ok(&support::build()), Ok(&parallel)]));
}

#[test]
fn a_rate_is_compared_by_its_figure() {
    assert_snapshot!(terminal(&PIPE, vec![Ok(&support::rates())]));
}

#[test]
fn missing_results_are_listed_below_the_published_ones() {
    let text = terminal(&PIPE, vec![Err("no pipe here".to_owned())]);
    assert!(
        text.contains("op/s") && text.contains("5214") && text.contains("pipe-2: not measured: no pipe here"),
        "{text}"
    );
    assert!(!text.contains("now") && !text.contains('±'), "{text}");
}

#[test]
fn problems_of_the_figures_are_summarised_below_the_tables() {
    let mut view = support::rates();
    view.warnings = vec![
        Warning::NotQuiet { busy_cpus: 1.2, of_cpus: 2, other_programs: vec![] },
        Warning::OtherCpusHelp,
    ];
    let warning = "warning: Other programs kept 1.20 of 2 CPUs busy while nothing was measured.";
    let text = terminal(&PIPE, vec![Ok(&view)]);
    assert!(text.lines().any(|line| line == warning), "{text}");
    assert!(markdown(&PIPE, vec![Ok(&view)]).contains(&format!("- {warning}\n")));
    let text = terminal(&BUILD, vec![Ok(&support::build()), Ok(&view)]);
    assert!(text.contains("warning (its parallel part): Other programs"), "{text}");
    assert!(!terminal(&PIPE, vec![Ok(&support::rates())]).contains("warning:"));
}

#[test]
fn ratios_machines_and_a_figure_fit_80_columns() {
    let style = Style { width: 80, colour: false, unicode: true, wide: false };
    let view = support::rates();
    let benchmark = Benchmark::named("web").unwrap();
    let result = BenchmarkResult { benchmark, studies: vec![Ok(&view), Ok(&view)] };
    let text = suite_report(&result, &PublishedFacts::read().unwrap(), &style);
    assert!(text.contains("PentiumPro 180") && text.contains("PIII Xeon 500"), "{text}");
    assert!(
        !text.contains("Too narrow for \"kernel") && !text.contains("Too narrow for \"waiting"),
        "{text}"
    );
    assert!(text.contains("24.3%") && text.contains("  49%") && !text.contains('…'), "{text}");
}

#[test]
fn differing_rows_name_the_difference() {
    let benchmark = Benchmark::named("multiuser").unwrap();
    let text = terminal(benchmark, vec![Err("gone".to_owned())]);
    assert!(text.contains("2, average") && text.contains("8, maximum"), "{text}");
    let text = terminal(Benchmark::named("build").unwrap(), vec![Err("gone".to_owned()); 3]);
    assert!(text.contains("2, SMP-aware") && text.contains("2, make -j1") && !text.contains('–'), "{text}");
}

#[test]
fn markdown_has_the_rows_of_the_terminal() {
    let text = markdown(&BUILD, vec![Ok(&support::build()), Ok(&parallel_part())]);
    assert!(text.starts_with("## build: a parallel build\n"), "{text}");
    assert!(text.contains("| PentiumPro 180 | 1 CPU | 600 | 1.00 |"), "{text}");
    assert!(text.contains("| cc1 | PentiumPro 180 | 289 | 74.8% | 1.97% | 1% |"), "{text}");
    let width = |line: &str| line.matches('|').count();
    let blocks: Vec<Vec<usize>> = text
        .split("\n\n")
        .filter(|block| block.starts_with('|'))
        .map(|block| block.lines().map(width).collect())
        .collect();
    assert_eq!(blocks.len(), 3, "{text}");
    assert!(blocks.iter().all(|rows| rows.iter().all(|row| *row == rows[0])), "{text}");
}

#[test]
fn json_has_the_view_or_the_reason_for_none() {
    let view = support::two_points();
    let results = [
        BenchmarkResult { benchmark: &PIPE, studies: vec![Ok(&view)] },
        BenchmarkResult { benchmark: &BUILD, studies: vec![Err("gone".to_owned()), Err("gone".to_owned())] },
    ];
    let json: serde_json::Value =
        serde_json::from_str(&suite_json(&results, &PublishedFacts::read().unwrap()).unwrap()).unwrap();
    assert_eq!(json["schema"], "morecores.suite/1");
    let part = &json["benchmarks"][0]["parts"][0];
    assert_eq!(serde_json::from_value::<View>(part["view"].clone()).unwrap(), view);
    assert_eq!((part["published"][0].as_str(), part["missing"].is_null()), (Some("004.T2.2copy"), true));
    assert_eq!(json["benchmarks"][1]["parts"][1]["missing"], "gone");
    let rows = json["summary"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    assert_eq!(
        (rows[0]["then"]["speedup"].as_f64(), rows[2]["verdict"].as_str()),
        (Some(0.7196), Some("not-measured"))
    );
}

/// Summary of a suite with each kind of row: compared on the common count, compared on different
/// counts, unpublished, a share, and missing.
fn summary() -> SuiteSummary {
    let (build, rates, mut one) = (support::build(), support::rates(), support::build());
    one.points.truncate(1);
    let benchmark_result =
        |name: &str, studies| BenchmarkResult { benchmark: Benchmark::named(name).unwrap(), studies };
    let gone = || Err("`morecores run` ended with exit status 1".to_owned());
    let results = [
        benchmark_result("build", vec![Ok(&build), Ok(&build), Ok(&build)]),
        benchmark_result("counter", vec![Ok(&rates), Ok(&rates), Err("not begun".to_owned())]),
        benchmark_result("keysearch", vec![Ok(&build)]),
        benchmark_result("matmul", vec![Ok(&one), gone()]),
        benchmark_result("pipe", vec![gone(), Ok(&rates), Ok(&build)]),
        benchmark_result("soften", vec![Ok(&build)]),
        benchmark_result("web", vec![Ok(&rates), gone()]),
    ];
    suite_summary(&results, &PublishedFacts::read().unwrap())
}

#[test]
fn a_summary_has_a_row_for_each_part_with_speedup_or_reason() {
    let summary = summary();
    let verdicts: Vec<(&str, SuiteVerdict, Option<&str>)> =
        summary.rows.iter().map(|row| (row.study.as_str(), row.verdict, row.missing.as_deref())).collect();
    let failed = Some("`morecores run` ended with exit status 1");
    let share = Some("it prints a share in percent, so its ratio is no speedup");
    assert_eq!(
        verdicts,
        [
            ("build", SuiteVerdict::Lower, None),
            ("build-parallel", SuiteVerdict::Lower, None),
            ("build-serial", SuiteVerdict::Higher, None),
            ("counter-plain", SuiteVerdict::NotASpeed, share),
            ("counter-locked", SuiteVerdict::NotPublished, None),
            ("counter-atomic", SuiteVerdict::NotMeasured, Some("not begun")),
            ("keysearch", SuiteVerdict::NotPublished, None),
            ("matmul", SuiteVerdict::NotMeasured, Some("measured on 1 CPU only")),
            ("matmul-tuned", SuiteVerdict::NotMeasured, failed),
            ("pipe-1", SuiteVerdict::NotMeasured, failed),
            ("pipe-2", SuiteVerdict::Higher, None),
            ("pipe-4", SuiteVerdict::OtherCounts, None),
            ("soften", SuiteVerdict::Lower, None),
            ("web-15k", SuiteVerdict::Higher, None),
            ("web-150k", SuiteVerdict::NotMeasured, failed),
        ]
    );
}

#[test]
fn a_summary_compares_on_the_largest_common_count() {
    let published = PublishedFacts::read().unwrap();
    let view = support::nine_points();
    let result = BenchmarkResult {
        benchmark: Benchmark::named("build").unwrap(),
        studies: vec![Ok(&view), Ok(&view), Ok(&view)],
    };
    let summary = suite_summary(&[result], &published);
    let [all, parallel, _serial] = summary.rows.as_slice() else { panic!("{summary:?}") };
    let pair = |row: &SuiteRow| (row.then.clone().unwrap(), row.now.unwrap().cpus);
    let xeon =
        PublishedSpeedup { machine: "PIII Xeon 500".to_owned(), year: Some(2001), cpus: 4, speedup: 3.48 };
    assert_eq!(pair(all), (xeon, 4));
    assert_eq!((pair(parallel).0.cpus, pair(parallel).0.year, pair(parallel).1), (8, Some(1992), 8));
    assert_eq!(all.measured.len() + 1, view.points.len());
    assert_eq!(all.published.len(), 6, "{:?}", all.published);
}

#[test]
fn a_summary_on_a_terminal() {
    let style = Style { width: 100, colour: false, unicode: true, wide: false };
    let text = suite_summary_report(&summary(), &style);
    support::assert_fits_style(style, &text);
    assert_snapshot!(text);
}

#[test]
fn a_summary_on_a_narrow_terminal_in_ascii() {
    let style = Style { width: 60, colour: false, unicode: false, wide: false };
    let text = suite_summary_report(&summary(), &style);
    support::assert_fits_style(style, &text);
    assert_snapshot!(text);
    for width in [40, 80, 200] {
        let style = Style { width, ..style };
        support::assert_fits_style(style, &suite_summary_report(&summary(), &style));
    }
}

#[test]
fn a_summary_in_markdown() {
    let mut text = String::new();
    suite_summary_markdown(&summary(), &mut text).unwrap();
    assert_snapshot!(text);
}

#[test]
fn a_summary_without_any_study_has_the_published_speedups() {
    let benchmark = Benchmark::named("raytrace").unwrap();
    let result = BenchmarkResult { benchmark, studies: vec![Err("no POV-Ray here".to_owned())] };
    let text =
        suite_summary_report(&suite_summary(&[result], &PublishedFacts::read().unwrap()), &support::PLAIN);
    assert!(text.contains("1.39 on 2") && text.contains("raytrace: no speedup: no POV-Ray here."), "{text}");
    let benchmark = Benchmark::named("keysearch").unwrap();
    let result = BenchmarkResult { benchmark, studies: vec![Err("not begun".to_owned())] };
    let text =
        suite_summary_report(&suite_summary(&[result], &PublishedFacts::read().unwrap()), &support::PLAIN);
    assert!(text.contains("not measured") && !text.contains("over 1 CPU") && !text.contains('○'), "{text}");
}
