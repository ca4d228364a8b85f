//! The decision from a view, and its words.

mod support;

use insta::assert_snapshot;
use morecores_report::{Beyond, Remark, ReportedVerdict, Taker, VerdictKind, notices, verdict_statement};
use morecores_study::{Better, Limit, StopReason};
use morecores_view::{Answer, OutsideEvidence, OutsideTime, View, Warning, Workers};

/// Decides again, because the tests change finished views.
fn decide(view: &View) -> ReportedVerdict {
    morecores_report::decide(&support::decided(view.clone()))
}

fn text(view: &View) -> String {
    verdict_statement(&decide(view)).to_string()
}

#[test]
fn each_verdict_has_its_reason() {
    let kind = |view: View| decide(&view).kind;
    assert!(matches!(kind(support::view(&["x"]).build()), VerdictKind::NothingMeasured));
    assert!(matches!(kind(support::one_point()), VerdictKind::OneCount { cpus: 1, .. }));
    assert!(matches!(kind(support::two_points()), VerdictKind::WorthIt { beyond: Beyond::Nothing, .. }));
    assert!(matches!(kind(support::no_scaling()), VerdictKind::UnusedCpus { gets_count: false, .. }));
    assert!(matches!(kind(support::slower()), VerdictKind::Slower(_)));
    assert!(
        decide(&support::superlinear())
            .remarks
            .contains(&Remark::MoreThanIdeal { base: 1, without_oversubscription: false })
    );
    assert!(matches!(kind(support::too_few_runs()), VerdictKind::TooFewRuns(_)));
    let mut done_once = support::too_few_runs();
    done_once.closing.as_mut().expect("a closing").reason = StopReason::AlreadyDone;
    let words = text(&done_once);
    assert!(
        words.starts_with("It cannot be told yet: the first run left the later runs almost nothing"),
        "{words}"
    );
    assert_eq!(decide(&done_once).remarks, []);
    let VerdictKind::WorthIt { gain, beyond: Beyond::LittleMore { largest: 16, .. } } =
        kind(support::plateau())
    else {
        panic!("no plateau")
    };
    assert_eq!(gain.cpus, 8);
}

#[test]
fn a_command_outside_its_cpus_gets_no_answer() {
    let wide = |share, evidence, limit| {
        support::view(&["mpirun", "x"])
            .point(1, 10.0, 0.02, 1.98)
            .point(2, 10.0, 0.02, 1.98)
            .warn([Warning::RanOutsideCpus { cpus: 1, share, evidence }])
            .with(|v| v.plan.limit = limit)
            .build()
    };
    let proven = wide(0.98, OutsideEvidence::CpuTime, Limit::Affinity);
    let verdict = decide(&proven);
    assert!(matches!(verdict.kind, VerdictKind::RanOutsideCpus(OutsideTime { cpus: 1, at_least: true, .. })));
    assert_eq!(verdict.remarks, []);
    assert_eq!(notices(&proven.warnings, &verdict), [], "the verdict says it");
    let proven_text = text(&proven);
    assert!(
        proven_text.starts_with("It cannot be told yet: ") && proven_text.contains("at least 98%"),
        "{proven_text}"
    );
    assert!(proven_text.contains("--limit cpuset") && !proven_text.contains("times"), "{proven_text}");
    let traced_text = text(&wide(0.98, OutsideEvidence::Trace, Limit::Cpuset));
    assert!(traced_text.contains("--limit hotplug") && !traced_text.contains("at least"), "{traced_text}");
    // A small share of it leaves the answer doubtful.
    let little = wide(0.02, OutsideEvidence::CpuTime, Limit::Affinity);
    let verdict = decide(&little);
    assert!(
        matches!(verdict.kind, VerdictKind::NotWorthIt(_)) && verdict.remarks.contains(&Remark::Doubtful)
    );
    assert!(notices(&little.warnings, &verdict)[0].text.contains("--limit cpuset"));
}

#[test]
fn a_crowded_base_gives_no_gain() {
    let crowded = |threads, machine_sized, gets_count, fast: f64| {
        let workers = Workers { name: "spinbar".to_owned(), threads };
        support::view(&["spinbar"])
            .point(1, 10.0, 0.02, 1.0)
            .point(2, 10.0 / fast, 0.02 / fast, 2.0)
            .warn([Warning::OversubscribedBase { cpus: 1, workers, machine_sized, gets_count }])
            .build()
    };
    // As many threads as the machine has CPUs: in any case, one CPU alone would have run one.
    for fast in [0.9, 1.0, 1.9, 19.5] {
        let view = crowded(2, true, false, fast);
        let verdict = decide(&view);
        assert!(matches!(verdict.kind, VerdictKind::NoBaseline { .. }), "{verdict:?}");
        assert_eq!(
            (verdict.remarks.as_slice(), notices(&view.warnings, &verdict).as_slice()),
            (&[][..], &[][..])
        );
        let text = text(&view);
        assert!(text.starts_with("It cannot be told yet: 1 CPU is no baseline."), "{text}");
        assert!(text.contains("--limit hotplug") && text.contains("{n}"), "{text}");
        assert!(!text.contains("cache") && !text.contains("Yes"), "{text}");
    }
    assert!(!text(&crowded(2, true, true, 1.9)).contains("{n}"), "it was told");
    // A number of threads set by the command: the only explanation of a superlinear speedup,
    // otherwise part of the program.
    assert!(text(&crowded(7, false, false, 19.5)).contains("slowed each other down"));
    let server = crowded(7, false, false, 1.9);
    let verdict = decide(&server);
    assert!(matches!(verdict.kind, VerdictKind::WorthIt { .. }));
    assert!(notices(&server.warnings, &verdict)[0].text.contains("7 threads at once"));
    // Only a trace excludes that explanation.
    assert!(text(&support::superlinear()).contains("more threads than CPUs ran there (a trace would tell)"));
    let traced = support::view(&["x"]).point(1, 40.2, 0.1, 1.0).point(2, 17.9, 0.1, 2.0);
    let traced = traced.with(|v| v.traces = vec![support::trace(1, 41.0, |_| ())]).build();
    assert!(!text(&traced).contains("more threads"), "{}", text(&traced));
}

#[test]
fn an_interval_with_the_bound_inside_is_an_open_question() {
    // From a quarter of the gain that a second CPU can give, 1.25 times, it is worth it.
    let with_half_width =
        |half| support::view(&["x"]).point(1, 10.0, 0.02, 1.0).point(2, 10.0, half, 1.9).build();
    let narrow = text(&with_half_width(0.9));
    assert!(narrow.starts_with("No: 2 CPUs run it 1.0"), "{narrow}");
    let wide = text(&with_half_width(3.0));
    assert!(wide.starts_with("It cannot be told yet: 2 CPUs ran it between 0."), "{wide}");
    assert!(
        wide.contains("worth it from 1.25 times on. About 8 more runs of each count (--resume --runs 14"),
        "{wide}"
    );
    let on_the_bound = support::view(&["x"]).point(1, 10.0, 0.02, 1.0).point(2, 8.0, 0.5, 1.9).build();
    let words = text(&on_the_bound);
    assert!(words.contains("No number of runs would tell: the estimate, 1.2"), "{words}");
}

#[test]
fn a_precision_is_reported_only_where_nothing_else_asks_for_runs() {
    let noted = |view: View| {
        let mut view = view;
        view.rounds_until_precise = Some(48);
        view.warnings = vec![Warning::Imprecise { cpus: 2, half_width: 0.02, precision: 0.01 }];
        notices(&view.warnings, &decide(&view)).into_iter().map(|notice| notice.text).collect::<Vec<_>>()
    };
    assert_eq!(noted(support::two_points()), [] as [String; 0]);
    assert_eq!(noted(support::slower()), [] as [String; 0]);
    let open = support::view(&["x"]).point(1, 10.0, 0.02, 1.0).point(2, 10.0, 3.0, 1.9).build();
    assert_eq!(noted(open), [] as [String; 0], "the verdict names the runs that would tell");
    let text = "Precision at 2 CPUs: 2.0% (the goal was 1.0%). For more: --resume --runs 48.";
    assert_eq!(noted(support::one_point()), [text]);
}

#[test]
fn a_guess_needs_enough_points() {
    let guesses =
        |view: &View| decide(view).remarks.iter().any(|r| matches!(r, Remark::IfSerialFractionStays { .. }));
    assert!(guesses(&support::two_points()));
    // A serial fraction within its noise, SMT siblings, foreign work: no guess.
    assert!(!guesses(&support::view(&["x"]).point(1, 98.4, 0.8, 1.0).point(2, 49.4, 0.5, 1.9).build()));
    for warning in [Warning::SmtSiblings { cpus: 2 }, Warning::QuotaBelowCpus { cpus: 2, quota: 1.5 }] {
        let mut view = support::two_points();
        view.warnings.push(warning);
        assert!(!guesses(&view));
    }
    // A rising fraction explains why more CPUs help less; Amdahl's law would promise too much.
    assert!(!guesses(&support::nine_points()));
}

#[test]
fn cpu_time_taken_by_others_leaves_the_question_open() {
    let verdict = |others: f64, steal: f64, throttled: Option<f64>| {
        let view = support::view(&["x"]).point(1, 10.0, 0.02, 0.9).point(2, 9.9, 0.2, 0.6);
        let taken = view.with(|v| {
            let point = &mut v.points[1];
            (point.others_allotted_s, point.steal_s, point.throttled_s) =
                (Some(others), Some(steal), throttled);
        });
        decide(&taken.build())
    };
    let taker = |verdict: ReportedVerdict| match verdict.kind {
        VerdictKind::CpusTaken { cpus: 2, taker, .. } => Some(taker),
        _ => None,
    };
    // Six runs of 9.9 s on two CPUs: 119 s of CPU time.
    assert_eq!(taker(verdict(48.0, 0.0, None)), Some(Taker::OtherPrograms));
    assert_eq!(taker(verdict(1.0, 12.0, None)), Some(Taker::Hypervisor));
    assert_eq!(taker(verdict(1.0, 0.0, Some(12.0))), Some(Taker::Quota));
    assert_eq!(verdict(4.0, 6.0, None).answer, Answer::No, "8%");
    let words = verdict_statement(&verdict(48.0, 0.0, None)).to_string();
    assert!(
        words.starts_with("It cannot be told yet: other programs took 40% of the time of the CPUs"),
        "{words}"
    );
}

#[test]
fn rounds_that_are_left_out_are_named_with_the_answer_of_all() {
    let quiet = support::view(&["x"]).point(1, 8.0, 0.01, 0.99).point(2, 4.1, 0.01, 1.95).build();
    let words = |answer: Answer| {
        let mut view = quiet.clone();
        view.disturbed_rounds = vec![1, 4, 7];
        view.verdict_with_disturbed = Some(morecores_view::Verdict { answer, ..view.verdict });
        verdict_statement(&decide(&view)).to_string()
    };
    let unknown = words(Answer::Unknown);
    assert!(unknown.starts_with("Yes: 2 CPUs run it 1.951 times as fast as 1"), "{unknown}");
    let left_out =
        "disturbed 3 of 9 rounds. The figures leave these rounds out; with them, the answer would be";
    assert!(unknown.contains(&format!("{left_out} that it cannot be told yet.")), "{unknown}");
    assert!(words(Answer::Yes).contains(&format!("{left_out} the same.")), "{unknown}");
    assert!(!verdict_statement(&decide(&quiet)).to_string().contains("rounds"));
}

#[test]
fn advice_extends_the_plan() {
    let warnings =
        [Warning::FirstRunDiffers { cpus: 1, ratio: 6.1 }, Warning::TooFewRuns { cpus: 1, runs: 5 }];
    let advice = |runs: u32, reason: StopReason| {
        let view =
            support::view(&["x"]).point_with_runs(1, 80.0, 0.3, 1.0, 5).point_with_runs(2, 44.0, 0.3, 1.9, 5);
        let mut view = view.warn(warnings.clone()).build();
        (view.plan.warmup, view.plan.stop.max_runs) = (1, runs);
        view.closing.as_mut().expect("a closing").reason = reason;
        let verdict = decide(&view);
        let mut all_notices = notices(&view.warnings, &verdict);
        view.points.truncate(1);
        all_notices.extend(notices(&view.warnings[1..], &decide(&view)));
        let notice_texts: Vec<String> = all_notices.into_iter().map(|notice| notice.text).collect();
        verdict_statement(&verdict).to_string() + " " + &notice_texts.join(" ")
    };
    let text = advice(5, StopReason::RunsExhausted);
    assert_eq!(
        text.matches("A 95% interval needs 6 runs of each count: use --runs 6 or more.").count(),
        2,
        "{text}"
    );
    assert!(text.contains("Use --warmup 2 to leave it out"), "{text}");
    let text = advice(8, StopReason::TimeExhausted);
    assert_eq!(text.matches("so use a longer --max-time.").count(), 2, "{text}");
    assert!(!text.contains("--runs"), "{text}");
    let text = advice(5, StopReason::TimeExhausted);
    assert_eq!(text.matches("use --runs 6 or more and a longer --max-time.").count(), 2, "{text}");
}

#[test]
fn after_the_time_limit_the_command_is_not_blamed() {
    let timed_out_text = |mut view: View| {
        view.closing.as_mut().expect("a closing").reason = StopReason::TimeExhausted;
        text(&view)
    };
    assert!(
        timed_out_text(support::view(&["x"]).build())
            .starts_with("It cannot be told yet: the time limit ended")
    );
    let mut one = support::one_point();
    assert!(timed_out_text(one.clone()).contains("two counts or more"));
    one.plan.points = [1, 2].map(morecores_testkit::point).into();
    assert!(
        timed_out_text(one)
            .starts_with("It cannot be told yet: the time limit ended the study after the runs on 1 CPU")
    );
}

#[test]
fn a_serial_fraction_rises_only_beyond_the_intervals() {
    let rises = |view: &View| {
        decide(view).remarks.iter().find_map(|r| match r {
            Remark::SerialFractionRises { from, to } => Some((from.0, to.0)),
            _ => None,
        })
    };
    assert_eq!(rises(&support::nine_points()), Some((4, 256)), "at 2 CPUs it cannot be told from none");
    assert_eq!(rises(&support::rates()), Some((2, 4)));
    assert_eq!(rises(&support::five_points()), None);
    // The cost of SMT siblings is not the command's serial part.
    let mut view = support::rates();
    view.warnings.push(Warning::SmtSiblings { cpus: 4 });
    assert_eq!(rises(&view), None);
}

#[test]
fn amdahl_is_computed_from_the_smallest_count() {
    // Base 2: at 4 CPUs n = 2, S = 1.6, f = (1/1.6 - 1/2)/(1 - 1/2) = 0.25; at 16, n = 8: 1/(0.25 +
    // 0.75/8).
    let view = support::view(&["x"]).point(2, 16.0, 0.02, 1.9).point(4, 10.0, 0.02, 2.5).build();
    let verdict = decide(&view);
    let Some(Remark::IfSerialFractionStays { cpus, speedup, limit, .. }) = verdict.remarks.last() else {
        panic!("{verdict:?}")
    };
    assert_eq!(*cpus, 16);
    assert!((speedup - 1.0 / (0.25 + 0.75 / 8.0)).abs() < 1e-9 && (limit - 4.0).abs() < 1e-9);
}

#[test]
fn verdicts_read_well() {
    let smt = support::view(&["x"])
        .point(1, 80.0, 0.3, 1.0)
        .point(2, 40.9, 0.2, 2.0)
        .point(4, 34.0, 0.2, 3.9)
        .warn([Warning::SmtSiblings { cpus: 4 }])
        .build();
    let told = support::view(&["x", "{n}"])
        .point(1, 80.0, 0.3, 1.0)
        .point(2, 80.1, 0.2, 1.0)
        .warn([Warning::ThreadsDidNotFollow { cpus: 2, used: 1.0, gets_count: true }])
        .build();
    let no = support::view(&["x"]).point(1, 80.0, 0.8, 1.0).point(2, 79.6, 0.9, 1.9).build();
    let a_little = support::view(&["x"]).point(1, 80.0, 0.3, 1.0).point(2, 66.0, 0.3, 1.3).build();
    let falls = support::view(&["x"])
        .point(1, 80.0, 0.3, 1.0)
        .point(2, 44.0, 0.3, 1.9)
        .point(4, 52.0, 0.3, 3.7)
        .build();
    let cost = support::view(&["x"])
        .point(1, 10.0, 0.01, 1.0)
        .point(2, 10.0, 0.01, 1.9)
        .rate("ns/op", Better::Lower, &[31.0, 17.5])
        .build();
    let one_run = support::view(&["x"])
        .point_with_runs(1, 80.0, 0.3, 1.0, 1)
        .point_with_runs(2, 44.0, 0.3, 1.9, 1)
        .build();
    let quota = support::view(&["x"])
        .point(1, 80.0, 0.3, 1.0)
        .point(2, 54.0, 0.3, 1.5)
        .warn([Warning::QuotaBelowCpus { cpus: 2, quota: 1.5 }])
        .build();
    let all = [
        support::two_points(),
        support::five_points(),
        support::nine_points(),
        support::plateau(),
        falls,
        a_little,
        no,
        support::slower(),
        support::no_scaling(),
        told,
        support::superlinear(),
        smt,
        support::rates(),
        cost,
        support::too_few_runs(),
        one_run,
        support::one_point(),
        quota,
    ];
    assert_snapshot!(all.iter().map(text).collect::<Vec<_>>().join("\n\n"));
}
