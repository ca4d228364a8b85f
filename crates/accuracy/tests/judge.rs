//! The judge on a report in the format of `morecores trace --json`.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

use morecores_accuracy::case::{Body, Case, Settings, cases};
use morecores_accuracy::judge::{Judgement, judge};
use morecores_accuracy::python::PreparedPython;
use morecores_accuracy::table::{FailedCase, RunConditions, judgement_lines, markdown, totals_line};
use morecores_accuracy::{Part, Truth};
use morecores_report::component_name;
use morecores_view::code::{RuntimeLock, UserLockView};
use morecores_view::{Component, TraceView};

/// Report of a program with 30% of 6 s serial on two CPUs: 6 s of work and 1.8 s idle in 3.9 s.
fn view() -> TraceView {
    serde_json::from_str(include_str!("view.json")).unwrap()
}

fn case(name: &str) -> Case {
    let settings = Settings { seconds: 6.0, dir: "/var/tmp".into(), kernel_part: None };
    cases(2, &settings).into_iter().find(|case| case.name == name).unwrap()
}

fn judged(name: &str, view: &TraceView) -> Judgement {
    let case = case(name);
    let Body::Program(program) = &case.body else { panic!("{name}") };
    let truth = Truth { cpu_s: 6.0, ..Truth::default() };
    judge(&case, &program.as_known().expected(&truth, view.cpus, view.elapsed_s), view, 1)
}

fn missed(judgement: &Judgement) -> Vec<&str> {
    judgement.lines.iter().filter(|line| !line.is_within_limit).map(|line| line.what.as_str()).collect()
}

#[test]
fn a_true_report_passes() {
    let judgement = judged("serial 30%, fork", &view());
    assert!(judgement.passes(), "{judgement:?}");
    let idle = judgement.lines.iter().find(|line| line.what == "idle: too little parallel work").unwrap();
    assert!((idle.truth - 100.0 * 1.8 / 7.8).abs() < 1e-9, "{idle:?}");
    assert!((idle.difference - 100.0 * 0.02 / 7.8).abs() < 1e-9, "{idle:?}");
    assert!((judgement.unexplained - 100.0 * 0.007 / 3.9).abs() < 1e-9, "of the CPU with most of it");
}

#[test]
fn another_truth_is_missed() {
    let judgement = judged("serial 10%, fork", &view());
    assert_eq!(missed(&judgement), ["idle: too little parallel work"]);
    assert!(!judgement.passes());
}

#[test]
fn idle_time_under_another_name_is_missed_twice() {
    let mut view = view();
    view.components.idle_user_lock_s = Some(view.components.idle_too_little_work_s);
    view.components.idle_too_little_work_s = 0.0;
    assert_eq!(missed(&judged("serial 30%, fork", &view)), ["idle: too little parallel work", "idle, other"]);
}

#[test]
fn two_points_are_the_limit() {
    for (points, ok) in [(1.9, true), (-1.9, true), (2.1, false), (-2.1, false)] {
        let mut view = view();
        view.components.idle_too_little_work_s = 1.8 + points / 100.0 * 7.8;
        assert_eq!(judged("serial 30%, fork", &view).passes(), ok, "{points}");
    }
}

#[test]
fn unexplained_time_has_a_limit_of_either_sign() {
    for (percent, ok) in [(2.9, true), (-2.9, true), (3.1, false), (-3.1, false), (f64::NAN, false)] {
        let mut view = view();
        view.components.unexplained_s = percent / 100.0 * 7.8;
        assert_eq!(judged("serial 30%, fork", &view).passes(), ok, "{percent}");
    }
}

/// One CPU has 4% and the other -4%: the sum is zero, and each is too much.
#[test]
fn unexplained_time_is_judged_for_each_cpu() {
    let mut view = view();
    view.components.unexplained_s = 0.0;
    for (cpu, share) in view.unexplained_by_cpu.iter_mut().zip([0.04, -0.04]) {
        cpu.1 = share * 3.9;
    }
    let judgement = judged("serial 30%, fork", &view);
    assert!(!judgement.passes() && (judgement.unexplained.abs() - 4.0).abs() < 1e-9, "{judgement:?}");
}

#[test]
fn a_lossy_trace_is_never_right() {
    let view = TraceView { lost_events: 1, ..view() };
    let judgement = judged("serial 30%, fork", &view);
    assert!(!judgement.passes());
    assert!(judgement_lines(&judgement).contains("1 events LOST"));
}

#[test]
fn a_tracer_that_fails_now_and_then_is_never_right() {
    let failure = Some("`morecores` signal: 11".to_owned());
    let judgement = Judgement { failure, ..judged("serial 30%, fork", &view()) };
    assert!(!judgement.passes());
    assert!(judgement_lines(&judgement).contains("the run after these failed: `morecores` signal: 11"));
}

#[test]
fn calls_are_counted_by_name() {
    let mut view = view();
    view.components =
        morecores_view::Components { user_work_s: 6.0, idle_too_little_work_s: 1.8, ..view.components };
    assert_eq!(missed(&judged("short processes", &view)), ["calls of true"]);
    view.commands[1].calls = 6_000;
    assert_eq!(missed(&judged("short processes", &view)), [""; 0]);
    // A miss of 2% of 6000.
    view.commands[1].calls = 5_879;
    assert_eq!(missed(&judged("short processes", &view)), ["calls of true"]);
}

#[test]
fn a_runtime_lock_has_at_least_its_share_of_the_waits() {
    let lock = |runtime, wait_s| UserLockView {
        command: "python3".to_owned(),
        name: None,
        runtime,
        waits: 1,
        wait_s,
        max_wait_s: wait_s,
        held_s: 0.0,
        sites: Vec::new(),
        holders: Vec::new(),
        owners: Vec::new(),
    };
    let gil = |percent: f64| {
        let user_locks = vec![lock(Some(RuntimeLock::PythonGil), percent), lock(None, 100.0 - percent)];
        let view = TraceView { user_locks, ..view() };
        let truth = Truth { cpu_s: 6.0, waited_s: Some(1.8), ..Truth::default() };
        let case = case("GIL, Python");
        let Body::Python(program) = &case.body else { panic!("{case:?}") };
        let expected = program.expected(&PreparedPython::default(), &truth, 2);
        let lines = judge(&case, &expected, &view, 1).lines;
        // The lock of this view is held at no time.
        assert!(lines.iter().any(|line| line.what == "Python's GIL held" && !line.is_within_limit));
        lines.into_iter().find(|line| line.what.starts_with("at least")).unwrap()
    };
    for (percent, ok) in [(100.0, true), (95.0, true), (94.0, false), (0.0, false)] {
        assert_eq!(gil(percent).is_within_limit, ok, "{percent}");
    }
    assert_eq!((gil(94.0).truth, gil(94.0).reported), (95.0, 94.0));
}

/// A truth that the program did not measure is no truth of zero.
#[test]
fn an_absent_truth_is_missed() {
    let missed: Vec<String> =
        missed(&judged("two mutexes, Rust", &view())).into_iter().map(str::to_owned).collect();
    for part in ["waits in update_index", "held by rebuild_cache", "of waits: update_index"] {
        assert!(missed.iter().any(|missed| missed == part), "{part}: {missed:?}");
    }
}

#[test]
fn the_table_names_its_machine_and_the_misses() {
    let conditions = RunConditions {
        host: "2 CPUs".to_owned(),
        quiet: "quiet".to_owned(),
        command: "judge --cpus 2".to_owned(),
    };
    let judgements = [judged("serial 30%, fork", &view()), judged("serial 10%, fork", &view())];
    let failed_case = |case: &str, reason: &str, skipped| FailedCase {
        case: case.to_owned(),
        cpus: 2,
        reason: reason.to_owned(),
        skipped,
    };
    let failures = [
        failed_case("directory entries", "no bpftrace", true),
        failed_case("sleeper", "`morecores` signal: 11", false),
    ];
    let text = markdown(&conditions, &judgements, &failures);
    for part in [
        "2 CPUs; quiet\n",
        "    judge --cpus 2\n",
        "| serial 30%, fork | 2 | work | 76.92% | 76.92% | +0.00 | own clocks | +0.18% | 0.2% | ok |",
        "|  |  | idle: too little parallel work | 7.69% | 23.33% | +15.64 | construction |  |  | MISS |",
        "skipped: directory entries on 2 CPUs: no bpftrace",
        "MISS: sleeper on 2 CPUs: `morecores` signal: 11",
        "differences points of it, at most 2;",
        "1 runs ok, 2 missed, 1 skipped",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert_eq!(totals_line(&judgements, &[]), "1 runs ok, 1 missed");
}

/// The judge does not link the report; its names of the idle components are the report's all the
/// same.
#[test]
fn parts_have_the_names_of_the_components() {
    let names = Component::ALL.map(component_name);
    for part in [Part::Scheduling, Part::Pinned, Part::UserLock, Part::Disk, Part::Timer, Part::TooLittleWork]
    {
        assert!(names.contains(&part.to_string().as_str()), "{part}: {names:?}");
    }
}
