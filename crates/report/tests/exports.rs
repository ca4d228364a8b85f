//! The formats for programs: JSON, CSV, hyperfine's JSON, and Markdown.

mod support;

use std::collections::BTreeMap;

use insta::assert_snapshot;
use morecores_report::{hyperfine_json, view_csv, view_json, view_markdown};
use morecores_study::*;
use morecores_testkit::point;
use morecores_view::*;
use serde::Deserialize;

fn csv(view: &View) -> String {
    let mut out = Vec::new();
    view_csv(view, &mut out).expect("memory takes everything");
    String::from_utf8(out).expect("CSV of text is text")
}

fn markdown(view: &View) -> String {
    let mut out = String::new();
    view_markdown(view, &mut out).expect("memory takes everything");
    out
}

#[test]
fn json_reads_back_as_the_view() {
    for view in [support::two_points(), support::rates(), support::everything_warned()] {
        assert_eq!(serde_json::from_str::<View>(&view_json(&view).unwrap()).unwrap(), view);
    }
}

#[test]
fn csv_keeps_its_columns() {
    // Names and their order are a public contract: a change here is a change for every reader.
    assert_snapshot!(csv(&support::rates()));
}

#[test]
fn csv_rows_are_as_wide_as_the_header_and_exact() {
    let view = support::everything_warned();
    let text = csv(&view);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<BTreeMap<String, String>> = reader.deserialize().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1]["speedup"].parse::<f64>().unwrap(), view.points[1].speedup.value);
    assert_eq!(rows[1]["speedup_low"], "", "no interval, no figure");
    assert_eq!(rows[1]["cpu_set"], "0-1");
}

#[test]
fn markdown_of_one_traced_count() {
    assert_snapshot!(markdown(&support::alone()));
}

#[test]
fn markdown_of_a_trace_alone() {
    // The kept result of `morecores trace -o`: nothing was timed, and there is nothing to judge.
    let mut view = support::build();
    (view.points, view.stack) = (Vec::new(), Vec::new());
    view.traces = vec![support::build_trace()];
    view.traces[0].overhead = None;
    assert_snapshot!(markdown(&view));
}

#[test]
fn markdown_of_a_stack() {
    assert_snapshot!(markdown(&support::contended()));
}

#[test]
fn names_of_commands_and_locks_do_not_break_markdown() {
    let mut view = support::lossy();
    view.stack[0].culprits[0].name = "a|b\n`<c>\u{1b}[31m".to_owned();
    let text = markdown(&view);
    assert!(text.contains(r"only \`a\|b\n\`\<c\>\u{1b}\[31m\` ran"), "{text}");
    assert!(
        text.contains("**lossy: the trace on 2 CPUs lost 12.3 k events, so its figures are guesses**"),
        "{text}"
    );
}

#[test]
fn markdown_of_two_points() {
    assert_snapshot!(markdown(&support::two_points()));
}

#[test]
fn markdown_of_a_rate() {
    assert_snapshot!(markdown(&support::rates()));
}

#[test]
fn markdown_is_not_broken_by_what_it_shows() {
    let view = support::view(&["sh", "-c", "a | b `c` <d>"])
        .point(1, 1.0, 0.1, 1.0)
        .rate("a|b", Better::Higher, &[1.0])
        .build();
    let text = markdown(&view);
    assert!(text.starts_with("`` sh -c 'a | b `c` <d>' ``\n"), "{text}");
    let table: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(table.len(), 3);
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    assert!(table.iter().all(|line| cells(line) == cells(table[0])), "{text}");
}

/// Hyperfine's own `BenchmarkResult` from the view of a reader; every field is required, including
/// the optional ones.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BenchmarkResult {
    command: String,
    mean: f64,
    #[serde(deserialize_with = "Option::deserialize")]
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    times: Vec<f64>,
    memory_usage_byte: Vec<u64>,
    exit_codes: Vec<Option<i32>>,
    parameters: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Export {
    results: Vec<BenchmarkResult>,
}

fn run(cpus: u32, phase: Phase, millis: u64, exit: Exit) -> Run {
    Run {
        phase,
        exit,
        cpu: CpuTime {
            user_ns: Nanos::from_millis(millis / 2),
            system_ns: Nanos::from_millis(millis / 4),
            estimator: CpuEstimator::Cgroup,
        },
        rusage: Rusage { max_rss_bytes: Bytes(1 << 20), ..Rusage::default() },
        ..morecores_testkit::run(&point(cpus), Nanos::from_millis(millis))
    }
}

fn study(runs: Vec<Run>) -> Study {
    let view = support::two_points();
    let argv = ["make", "-j{n}", "a b"].map(Into::into).to_vec();
    let header = Header {
        schema: STUDY_SCHEMA.to_owned(),
        tool: "0.1.0".to_owned(),
        created_at_ns: Nanos(0),
        subject: Command::Program { argv },
        plan: view.plan,
        host: view.host,
        closing: None,
        unknown: serde_json::Map::new(),
    };
    Study { runs, ..Study::new(header) }
}

#[test]
fn scripts_for_hyperfine_read_a_study() {
    let ok = Exit::Code(0);
    let study = study(vec![
        run(2, Phase::Warmup, 9_000, ok),
        run(2, Phase::Timed, 100, ok),
        run(1, Phase::Timed, 400, ok),
        run(2, Phase::Timed, 140, ok),
        run(2, Phase::Timed, 60, ok),
        run(2, Phase::Timed, 5_000, Exit::Code(1)),
        run(4, Phase::Timed, 5_000, Exit::Signal(9)),
    ]);
    let export: Export = serde_json::from_str(&hyperfine_json(&study).unwrap()).unwrap();
    let [one, two] = export.results.as_slice() else { panic!("one result a CPU count that succeeded") };
    assert_eq!((one.command.as_str(), one.stddev, one.median), ("make -j1 'a b'", None, 0.4));
    assert_eq!(two.command, "make -j2 'a b'");
    assert_eq!(two.times, [0.1, 0.14, 0.06], "in the order they were made");
    assert_eq!((two.median, two.min, two.max), (0.1, 0.06, 0.14));
    assert!(
        (two.mean - 0.1).abs() < 1e-12
            && (two.user - 0.05).abs() < 1e-12
            && (two.system - 0.025).abs() < 1e-12
    );
    assert!((two.stddev.unwrap() - 0.04).abs() < 1e-12);
    assert_eq!(two.memory_usage_byte, [1 << 20; 3]);
    assert_eq!(two.exit_codes, [Some(0); 3]);
    assert_eq!(two.parameters, BTreeMap::from([("cpus".to_owned(), "2".to_owned())]));
}
