//! The terminal report: its appearance, and the invariants of every layout.

mod support;

use std::path::Path;

use insta::assert_snapshot;
use morecores_report::{Style, run_report};
use morecores_study::Better;
use morecores_view::{View, Warning};
use proptest::prelude::*;
use support::{PLAIN, assert_fits_style, strip};

fn report(view: &View, style: Style) -> String {
    run_report(view, Some(Path::new("make.study")), &style)
}

#[test]
fn two_points() {
    assert_snapshot!(report(&support::two_points(), PLAIN));
}

#[test]
fn five_points_with_intervals() {
    assert_snapshot!(report(&support::five_points(), PLAIN));
}

#[test]
fn nine_points_to_256() {
    assert_snapshot!(report(&support::nine_points(), PLAIN));
}

#[test]
fn nine_points_wide() {
    assert_snapshot!(report(&support::nine_points(), Style { width: 120, wide: true, ..PLAIN }));
}

#[test]
fn a_rate() {
    assert_snapshot!(report(&support::rates(), PLAIN));
}

#[test]
fn one_point() {
    assert_snapshot!(report(&support::one_point(), PLAIN));
}

#[test]
fn too_few_runs() {
    assert_snapshot!(report(&support::too_few_runs(), PLAIN));
}

#[test]
fn no_scaling() {
    assert_snapshot!(report(&support::no_scaling(), PLAIN));
}

#[test]
fn slower() {
    assert_snapshot!(report(&support::slower(), PLAIN));
}

#[test]
fn wide_intervals_have_whiskers() {
    let view =
        support::view(&["./noisy"]).point(1, 10.0, 0.6, 1.0).point(2, 6.0, 0.8, 1.7).point(4, 3.6, 0.5, 3.1);
    let report = report(&view.build(), PLAIN);
    assert!(report.contains("│ 95% interval"));
    assert_snapshot!(report);
}

#[test]
fn superlinear() {
    assert_snapshot!(report(&support::superlinear(), PLAIN));
}

#[test]
fn plateau_at_60_columns() {
    assert_snapshot!(report(&support::plateau(), Style { width: 60, ..PLAIN }));
}

#[test]
fn everything_warned() {
    let view = support::everything_warned();
    assert_snapshot!(report(&view, Style { wide: true, ..PLAIN }));
    let text = report(&view, PLAIN);
    let is_said = |line: &&str| line.starts_with("warning: ") || line.starts_with("note: ");
    assert_eq!(text.lines().filter(is_said).count(), 2, "{text}");
    assert!(text.contains("\n22 more warnings and 5 more notes: --wide\n"), "{text}");
}

#[test]
fn the_answer_comes_first_and_two_counts_have_no_curve() {
    let places = |view: &View| {
        let text = report(view, PLAIN);
        let parts = ["Yes: ", "effi-", "where the CPUs went", "● measured", "warning: ", "study: "];
        parts.map(|part| text.find(part))
    };
    let mut traced = support::build();
    traced.warnings = vec![Warning::NotQuiet { busy_cpus: 1.2, of_cpus: 2, other_programs: vec![] }];
    let [verdict, table, stack, curve, warning, study] = places(&traced);
    assert!(verdict.is_some() && verdict < table && table < stack && stack < warning && warning < study);
    assert_eq!(curve, None);
    let [verdict, table, _, curve, _, study] = places(&support::five_points());
    assert!(verdict.is_some() && verdict < table && table < curve && curve < study);
}

#[test]
fn narrow() {
    assert_snapshot!(report(&support::five_points(), Style { width: 40, ..PLAIN }));
}

#[test]
fn ascii() {
    assert_snapshot!(report(&support::five_points(), Style { unicode: false, ..PLAIN }));
}

#[test]
fn nothing_measured() {
    assert_snapshot!(report(&support::view(&["false"]).build(), PLAIN));
}

#[test]
fn colour_marks_and_adds_nothing() {
    let view = support::everything_warned();
    let coloured = report(&view, Style { colour: true, ..PLAIN });
    assert_eq!(strip(&coloured), report(&view, PLAIN));
    let efficiency =
        coloured.lines().find(|line| line.contains("82%")).expect("the efficiency of the second point");
    assert!(efficiency.contains("\u{1b}[32m"), "green from 80%: {efficiency:?}");
}

#[test]
fn a_command_cannot_control_the_terminal() {
    let view = support::view(&["printf", "\u{1b}]0;owned\u{7}\n"]).point(1, 1.0, 0.1, 1.0).build();
    let text = report(&view, PLAIN);
    assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text}");
}

/// Views of every shape: any CPU counts, times from nanoseconds to hours, any runs, warnings and
/// words.
fn views() -> impl Strategy<Value = View> {
    let point = (1e-9..1e5f64, 0.0..0.3f64, 0.01..300.0f64, 1u32..12);
    let points = proptest::collection::btree_map(1u32..2049, point, 0..11);
    let words = proptest::collection::vec("(\\PC{0,30}|[a-z/{}]{0,60}|\u{1b}\\[31m|多核{1,20})", 1..6);
    let warnings = proptest::sample::subsequence(support::all_warnings(), 0..=10);
    (points, words, warnings, any::<bool>()).prop_map(|(points, words, warnings, rate)| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let rates: Vec<f64> = points.values().map(|(elapsed, ..)| 1e4 / elapsed).collect();
        let mut view = support::view(&words).warn(warnings);
        for (cpus, (elapsed, half, used, runs)) in points {
            view = view.point_with_runs(cpus, elapsed, elapsed * half, used, runs);
        }
        if rate { view.rate("多 op/s", Better::Higher, &rates).build() } else { view.build() }
    })
}

proptest! {
    #[test]
    fn no_line_is_too_wide_and_only_requested_parts_are_shown(
        view in views(), width in 1usize..200, colour: bool, unicode: bool, wide: bool,
    ) {
        let style = Style { width, colour, unicode, wide };
        assert_fits_style(style, &run_report(&view, None, &style));
    }
}
