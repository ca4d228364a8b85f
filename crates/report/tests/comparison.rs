//! Two studies beside each other, on the terminal and for a pull request: their appearance, and the
//! invariants of every layout.

mod support;

use insta::assert_snapshot;
use morecores_report::{Style, comparison_markdown, comparison_report};
use morecores_view::*;
use support::{PLAIN, assert_fits_style};

fn side(study: &str) -> ComparedStudy {
    let command = ["make", "-j{n}"].map(str::to_owned).to_vec();
    ComparedStudy { study: study.to_owned(), command, created_at_s: 1.8e9, warnings: Vec::new() }
}

fn summary(median: f64) -> Summary {
    let [lo, hi] = [median * 0.99, median * 1.01];
    Summary { median, mean: median, min: lo, max: hi, ci95: Some([lo, hi]) }
}

fn estimate_around(value: f64) -> Estimate {
    Estimate { value, ci95: Some([value * 0.98, value * 1.02]) }
}

/// Comparison with equal speed on 1 CPU and a slower NEW on 2, where less ran in parallel; on
/// another machine, with three conditions.
fn slower_build() -> Comparison {
    let point = |cpus, base, new, difference, speedup| ComparedPoint {
        cpus,
        axes: Default::default(),
        base: summary(base),
        new: summary(new),
        base_runs: 10,
        new_runs: 10,
        ratio: estimate_around(new / base),
        noise_floor: Some(0.012),
        difference,
        speedup,
    };
    let speedup = ComparedSpeedup {
        base: 1.9,
        new: 1.75,
        ratio: estimate_around(1.75 / 1.9),
        difference: Difference::Worse,
    };
    let condition = |condition: &str, new, value, limit, of_base: bool, holds| ConditionResult {
        condition: condition.to_owned(),
        base: of_base.then(|| estimate_around(1.9)),
        new,
        compared: value,
        limit,
        of_base,
        holds,
    };
    Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        base: side("main.study"),
        new: ComparedStudy {
            warnings: vec![Warning::Steal { cpus: 2, share: 0.03 }],
            ..side("branch.study")
        },
        metric: None,
        unlike: vec![Mismatch {
            aspect: Aspect::Machine,
            base: "runner1 (EPYC, 2 usable CPUs)".to_owned(),
            new: "runner2 (Xeon, 2 usable CPUs)".to_owned(),
        }],
        points: vec![
            point(1, 98.4, 98.9, Difference::None, None),
            point(2, 51.8, 56.5, Difference::Worse, Some(speedup)),
        ],
        only_base: vec![4],
        only_new: Vec::new(),
        stack: vec![ComparedStack {
            cpus: 2,
            axes: Default::default(),
            base_speedup: 1.9,
            new_speedup: 1.75,
            grown: Losses {
                idle_too_little_work: 0.13,
                user_work: 0.04,
                idle_disk: Some(-0.03),
                other_processes: 0.002,
                ..Losses::default()
            },
            grown_ci95: Some(ComponentIntervals {
                idle_too_little_work: Some([0.1, 0.16]),
                user_work: Some([-0.01, 0.09]),
                idle_disk: Some([-0.05, -0.01]),
                other_processes: Some([0.001, 0.003]),
                ..ComponentIntervals::default()
            }),
            culprits: vec![Culprit { name: "ld".to_owned(), lost_cpus: 0.11, waiting_in: None }],
        }],
        sufficient_runs: 8,
        ratios: 3,
        at_least: 0.0,
        conditions: vec![
            condition(
                "speedup@2 < 95%",
                estimate_around(1.75),
                estimate_around(0.921),
                0.95,
                true,
                Some(true),
            ),
            condition(
                "elapsed_s@1 > 120",
                estimate_around(98.9),
                estimate_around(98.9),
                120.0,
                false,
                Some(false),
            ),
            condition("speedup@2 < 92%", estimate_around(1.75), estimate_around(0.921), 0.92, true, None),
        ],
    }
}

#[test]
fn a_slower_build() {
    let text = comparison_report(&slower_build(), &PLAIN);
    assert_fits_style(PLAIN, &text);
    assert_snapshot!(text);
}

#[test]
fn a_slower_build_for_a_pull_request() {
    let mut text = String::new();
    comparison_markdown(&slower_build(), &mut text).unwrap();
    assert_snapshot!(text);
}

/// The growth of components is marked as a guess if a trace lost events, and only then.
#[test]
fn a_lossy_trace_is_marked() {
    let mut lossy = slower_build();
    assert!(!comparison_report(&lossy, &PLAIN).contains("lost events"));
    lossy.new.warnings.push(Warning::LossyTrace { cpus: 2, lost_events: 5, share: 0.01 });
    let flat = comparison_report(&lossy, &PLAIN).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("ran +0.11) and \"idle: disk\" by -0.03 (-0.05 to -0.01). A trace lost events, so these are guesses."), "{flat}");
}

/// Without intervals no loss is said to have changed, and a change within its interval has no
/// figure.
#[test]
fn only_known_changes_of_losses_are_shown() {
    let text = |change: fn(&mut ComparedStack)| {
        let mut made = slower_build();
        change(&mut made.stack[0]);
        let report = comparison_report(&made, &PLAIN);
        report.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let unknown = text(|stack| stack.grown_ci95 = None);
    assert!(unknown.contains("Changes of the losses on 2 CPUs: not known."), "{unknown}");
    assert!(!unknown.contains("NEW less BASE"), "{unknown}");
    let noise = text(|stack| {
        stack.grown_ci95 = Some(ComponentIntervals {
            idle_too_little_work: Some([-0.1, 0.3]),
            ..ComponentIntervals::default()
        });
    });
    assert!(noise.contains("On 2 CPUs, no change of a loss is known"), "{noise}");
    let two_counts = {
        let mut made = slower_build();
        let mut wider = made.stack[0].clone();
        wider.cpus = 4;
        wider.grown_ci95 =
            Some(ComponentIntervals { user_work: Some([0.01, 0.2]), ..ComponentIntervals::default() });
        wider.grown.user_work = 0.1;
        made.stack.push(wider);
        comparison_report(&made, &PLAIN)
    };
    let cells = |name: &str| {
        let line = two_counts.lines().find(|line| line.starts_with(name)).expect("a row");
        line[name.len()..].split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>()
    };
    assert_eq!(cells("extra time in user mode"), ["not known", "+0.10"]);
    assert_eq!(cells("idle: disk"), ["-0.03", "not known"]);
}

/// Cells of one CPU count are told apart by their other values.
#[test]
fn cells_are_named_by_all_their_axes() {
    let mut comparison = slower_build();
    for (n, point) in (2..).zip(&mut comparison.points) {
        point.cpus = 1;
        point.axes = [("n".to_owned(), morecores_study::AxisValue::Number(n))].into();
    }
    let report = comparison_report(&comparison, &PLAIN);
    let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(report.contains("on 1 CPU with n = 3 NEW takes"), "{report}");
    assert!(report.contains("on 1 CPU with n = 2 any difference is within the noise"), "{report}");
    assert!(report.contains("its speedup on 1 CPU with n = 3 is"), "{report}");
}

#[test]
fn too_few_runs() {
    let mut few = slower_build();
    few.stack.clear();
    few.conditions.clear();
    few.unlike.clear();
    few.only_base.clear();
    few.new.warnings.clear();
    for point in &mut few.points {
        point.ratio.ci95 = None;
        point.difference = Difference::Unknown;
        if let Some(speedup) = &mut point.speedup {
            speedup.ratio.ci95 = None;
            speedup.difference = Difference::Unknown;
        }
    }
    assert_snapshot!(comparison_report(&few, &PLAIN));
}

/// No width, no name and no escape sequence in a name breaks the layout.
#[test]
fn it_fits_every_terminal() {
    let mut odd = slower_build();
    odd.new.command = vec!["\u{1b}[31mred\u{7}".to_owned(), "x".repeat(200)];
    odd.unlike[0].new = "\u{1b}]0;title\u{7}".to_owned();
    for width in [20, 40, 60, 80, 200] {
        for unicode in [true, false] {
            let style = Style { width, unicode, ..PLAIN };
            assert_fits_style(style, &comparison_report(&odd, &style));
        }
    }
    let mut text = String::new();
    odd.new.command = vec!["`|<script>".to_owned()];
    odd.unlike[0].new = "a | b <img src=x>".to_owned();
    comparison_markdown(&odd, &mut text).unwrap();
    assert!(text.contains("a \\| b \\<img src=x\\>"), "{text}");
}
