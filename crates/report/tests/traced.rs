//! Traced runs and speedup stacks on the terminal: their appearance, and the invariants of every
//! layout.

mod support;

use std::path::Path;

use insta::assert_snapshot;
use morecores_report::{Division, Style, division_report, run_report, trace_report, view_markdown};
use morecores_study::trace::*;
use morecores_view::code::{CallLoss, CodeLoss, LockHoldsView};
use morecores_view::*;
use proptest::prelude::*;
use support::{PLAIN, assert_fits_style, strip};

fn report(view: &View, style: Style) -> String {
    run_report(view, Some(Path::new("make.study")), &style)
}

fn traced(view: &TraceView, style: Style) -> String {
    trace_report(view, Some(Path::new("make.trace")), &style)
}

#[test]
fn a_build_on_two_cpus() {
    assert_snapshot!(report(&support::build(), PLAIN));
}

#[test]
fn a_build_narrow() {
    assert_snapshot!(report(&support::build(), Style { width: 40, ..PLAIN }));
}

#[test]
fn a_build_wide() {
    assert_snapshot!(report(&support::build(), Style { width: 120, wide: true, ..PLAIN }));
}

#[test]
fn four_counts_in_ascii() {
    assert_snapshot!(report(&support::contended(), Style { width: 120, unicode: false, ..PLAIN }));
}

#[test]
fn up_to_64_cpus() {
    assert_snapshot!(report(&support::many(), PLAIN));
}

#[test]
fn up_to_64_cpus_narrow() {
    assert_snapshot!(report(&support::many(), Style { width: 40, ..PLAIN }));
}

#[test]
fn cpus_gained_are_drawn_below_zero() {
    assert_snapshot!(report(&support::gaining(), PLAIN));
}

#[test]
fn one_count_has_components_and_no_stack() {
    let text = report(&support::alone(), PLAIN);
    let traced = text.find("traced run").map(|at| &text[at..]);
    assert!(traced.is_some_and(|traced| !traced.contains("speedup")), "{text}");
    assert_snapshot!(text);
}

#[test]
fn a_traced_run_alone() {
    assert_snapshot!(traced(&support::build_trace(), PLAIN));
}

#[test]
fn a_traced_run_narrow_in_ascii() {
    assert_snapshot!(traced(&support::build_trace(), Style { width: 40, unicode: false, ..PLAIN }));
}

#[test]
fn spinning_in_user_mode_is_reported() {
    let mut trace = support::build_trace();
    trace.user_spin_s = Some(15.0);
    let text = traced(&trace, PLAIN);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains(
            "the command spun in its own loops for 15.0 s of CPU time: 12% of the CPUs' time and 15% of its work"
        ),
        "{text}"
    );
    assert!(
        !traced(&support::build_trace(), PLAIN).contains("in its own loops"),
        "0.2 s of 125 is not worth it"
    );
}

#[test]
fn time_outside_the_allotted_cpus_is_reported_without_a_verdict() {
    let mut trace = support::build_trace();
    (trace.outside_cpu_s, trace.outside_tree_s) = (4.0, 3.0);
    let text = traced(&trace, PLAIN);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("Another 4.00 s of CPU time was used for the command on other CPUs, 3.00 s of it by its own threads."), "{text}");
    assert!(!text.contains("warning"), "whether that is too much is the analysis's to say: {text}");
}

#[test]
fn a_lossy_trace_is_marked_everywhere() {
    let view = support::lossy();
    let mark = "lossy: the trace on 2 CPUs lost 12.3 k events, so its figures are guesses";
    let study = report(&view, PLAIN);
    assert!(study.contains(mark) && study.contains("The trace lost events, so this"), "{study}");
    assert!(!study.contains("none lost"), "{study}");
    assert!(report(&view, Style { wide: true, ..PLAIN }).contains(mark));
    assert!(traced(&view.traces[1], PLAIN).contains(mark));
    assert!(!report(&support::build(), PLAIN).contains("lossy"));
    let mut one = view.traces[1].clone();
    one.lost_events = 1;
    assert!(traced(&one, PLAIN).contains("lossy: the trace on 2 CPUs lost 1 event,"));
}

#[test]
fn empty_tables_are_shown_only_on_request() {
    let mut view = support::contended();
    assert!(!report(&view, PLAIN).contains("commands on"), "one command is the whole run");
    assert!(report(&view, PLAIN).contains("kernel locks on 8 CPUs"));
    for trace in &mut view.traces {
        trace.locks.iter_mut().for_each(|l| l.wait_s /= 1e4);
    }
    assert!(!report(&view, PLAIN).contains("kernel locks on"));
    let wide = report(&view, Style { wide: true, ..PLAIN });
    for section in
        ["commands on 8 CPUs", "kernel locks on 8 CPUs", "commands on 2 CPUs", "how many threads ran"]
    {
        assert!(wide.contains(section), "{section}: {wide}");
    }
}

#[test]
fn untraced_parts_are_named() {
    let view = support::build();
    assert!(report(&view, PLAIN).contains("Not traced: kernel spinlocks. `morecores doctor` says why."));
    let why = "without kernel spinlocks: this hypervisor waits for them itself";
    assert!(report(&view, Style { wide: true, ..PLAIN }).contains(why));
    assert!(traced(&view.traces[1], PLAIN).contains(why));
}

#[test]
fn each_source_of_the_traces_is_named() {
    let mut view = support::build();
    view.traces[0].source = TraceSource::Perf;
    let text = report(&view, Style { width: 100, ..PLAIN }).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("by perf events and eBPF, at most"), "{text}");
    // One sentence instead of the long list of what perf events do not show.
    assert!(text.contains("The traces without BPF show when threads ran, not why they waited"), "{text}");
    view.traces[0].untraced = vec![UntracedFact { what: "wake-ups".to_owned(), why: "no BPF".to_owned() }];
    assert!(!report(&view, PLAIN).contains("Not traced: wake-ups"));
    let alone = traced(&view.traces[0], PLAIN);
    assert!(alone.contains("without wake-ups: no BPF"), "{alone}");
}

#[test]
fn a_trace_without_timed_runs_gets_no_verdict() {
    let mut view = support::build();
    (view.points, view.stack) = (Vec::new(), Vec::new());
    assert!(!run_report(&view, None, &PLAIN).contains("no run succeeded"));
    view.traces.clear();
    assert!(run_report(&view, None, &PLAIN).contains("no run succeeded"));
}

#[test]
fn the_idle_share_of_the_baseline_is_reported() {
    let mut view = support::build();
    view.traces[0].components.user_work_s -= 20.0;
    view.traces[0].components.idle_disk_s = Some(view.traces[0].components.idle_disk_s.unwrap_or(0.0) + 20.0);
    let text = report(&view, PLAIN);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("24% of the CPU time on 1 CPU was idle already, mostly \"idle: disk\""), "{text}");
}

#[test]
fn colour_marks_and_adds_nothing() {
    for view in [support::build(), support::many(), support::gaining(), support::lossy()] {
        let coloured = report(&view, Style { colour: true, ..PLAIN });
        assert_eq!(strip(&coloured), report(&view, PLAIN));
        assert!(coloured.contains("\u{1b}[32m██"), "the speedup is green");
    }
}

/// Number of cells of the bars in a report, for each line with a zero mark: to its left and to its
/// right.
fn bars(text: &str) -> Vec<(usize, usize)> {
    let lines = text.lines().skip_while(|line| !line.starts_with("where the CPUs went"));
    let lines = lines.skip(1).take_while(|line| line.contains('|'));
    let cells = |part: &str| part.chars().filter(|c| !c.is_whitespace() && !c.is_ascii_digit()).count();
    lines.filter_map(|line| line.split_once('|')).map(|(left, right)| (cells(left), cells(right))).collect()
}

#[test]
fn every_bar_adds_up_to_its_cpus() {
    // In ASCII no sign of a component equals the zero mark.
    let style = Style { unicode: false, width: 100, ..PLAIN };
    let four = bars(&report(&support::contended(), style));
    let per_cpu = 97.0 / 8.0;
    for ((left, right), cpus) in four.iter().zip([2.0, 4.0, 8.0]) {
        assert_eq!(*left, 0);
        assert!((*right as f64 - cpus * per_cpu).abs() <= 1.0, "{right} cells for {cpus} CPUs");
    }
    assert_eq!(four.len(), 3);
    for (left, right) in bars(&report(&support::gaining(), style)) {
        // The cells to the right less those to the left stand for 2 CPUs; 2.36 CPUs to the right
        // take the whole room.
        let cells = right as f64 - left as f64;
        assert!((cells * 2.36 / right as f64 - 2.0).abs() < 0.05, "{left} and {right}");
    }
}

/// Traced views of every shape: any losses and names, some with lost events, some with runs of no
/// information.
fn views() -> impl Strategy<Value = View> {
    let loss = || prop_oneof![Just(0.0), -0.4..0.4f64, Just(f64::NAN), -1e-9..1e-9f64];
    let losses = proptest::collection::vec(loss(), 16);
    let counts = proptest::collection::btree_set(1u32..300, 1..6);
    let name = || "(\\PC{0,30}|\u{1b}\\[31m[a-z|`]{0,9}\n|多核{1,20})";
    (counts, losses, name(), name(), 0.0..1e4f64, any::<u32>()).prop_map(
        |(counts, shares, name, symbol, seconds, lost_events)| {
            let mut view = support::view(&["x"]);
            for cpus in &counts {
                view = view.point(*cpus, 10.0 / f64::from(*cpus).sqrt(), 0.01, 1.0);
            }
            let mut view = support::stacked(view.build(), |cpus| {
                let mut losses = Losses::default();
                let n = f64::from(cpus);
                (losses.user_work, losses.kernel_work, losses.interrupt) =
                    (shares[0] * n, Some(shares[1] * n), Some(shares[2] * n));
                (losses.kernel_lock_spin, losses.other_processes) = (Some(shares[3] * n), shares[4] * n);
                (losses.idle_kernel_lock, losses.idle_pinned, losses.unexplained) =
                    (Some(shares[5] * n), Some(shares[6] * n), shares[7] * n / 10.0);
                losses
            });
            for stack in &mut view.stack {
                stack.culprits = vec![support::culprit(&name, 0.1, Some(&symbol))];
                stack.serial_speedup = Some(seconds);
            }
            view.traces = counts
                .iter()
                .map(|cpus| {
                    let mut trace = support::trace(*cpus, seconds, |t| t.components.unexplained_s = -seconds);
                    trace.components.steal_s = Some(shares[8] * seconds);
                    trace.lost_events = u64::from(lost_events % 3);
                    trace.commands = vec![support::command(&name, 3, 0.7, Some((0.1, 0.2))); 13];
                    trace.locks =
                        vec![support::lock("mutex", &symbol, Some(&name), 9, seconds, seconds / 3.0); 12];
                    trace.others = vec![(symbol.clone(), seconds); 9];
                    trace.parallelism.running = vec![1.0 / f64::from(cpus + 1); *cpus as usize + 1];
                    let phase =
                        SerialPhase { start_s: 0.1, duration_s: seconds, culprit: name.clone(), cause: None };
                    trace.serial_phases = vec![phase; 7];
                    trace.parts = SerialAndParallel { serial_s: seconds, parallel_s: 0.0 };
                    trace.untraced = vec![UntracedFact { what: name.clone(), why: symbol.clone() }];
                    trace
                })
                .collect();
            view
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_line_is_too_wide_and_only_requested_parts_are_shown(
        view in views(), width in 0usize..200, colour: bool, unicode: bool, wide: bool,
    ) {
        let style = Style { width, colour, unicode, wide };
        let mut texts = vec![run_report(&view, None, &style)];
        texts.extend(view.traces.iter().map(|t| trace_report(t, None, &style)));
        texts.iter().for_each(|text| assert_fits_style(style, text));
    }
}

#[test]
fn counted_holds_have_a_table_and_their_precision() {
    let hold = |name: Option<&str>, mode, held_s| LockHoldsView {
        command: "cc1".to_owned(),
        name: name.map(str::to_owned),
        mode,
        holds: 1000,
        held_s,
        max_hold_s: 0.5,
        probes_s: 0.002,
        sites: Vec::new(),
    };
    let mut trace = support::build_trace();
    assert!(!traced(&trace, PLAIN).contains("all holds"), "they were not counted");
    trace.lock_holds = Some(vec![
        hold(Some("table_lock"), LockMode::Mutex, 0.5 * trace.elapsed_s),
        hold(None, LockMode::Read, 0.1 * trace.elapsed_s),
    ]);
    let text = traced(&trace, Style { wide: true, width: 140, ..PLAIN });
    let table: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("all holds")).take(6).collect();
    assert_snapshot!(table.join("\n"));
    trace.lock_holds = Some(Vec::new());
    assert!(traced(&trace, PLAIN).contains("No call of the C library's functions took a lock."));
    let unknown = LockHoldsView { probes_s: 0.0, ..hold(None, LockMode::Write, 1.0) };
    trace.lock_holds = Some(vec![unknown]);
    assert!(traced(&trace, PLAIN).contains("which could not be measured"));
}

#[test]
fn contradictions_of_a_trace_are_reported() {
    let mut view = support::build();
    let trace = &mut view.traces[1];
    let style = Style { width: 100, colour: false, unicode: false, wide: false };
    assert!(!trace_report(trace, None, &style).contains("fit together"));
    trace.misfits = Inconsistencies { misplaced: 3, unborn: 0, unwoken: 1, early: 9 };
    let text = trace_report(trace, None, &style);
    let caveat = "inconsistent events: 3 switches that contradict an earlier event, 1 wait without a waker";
    assert!(text.contains(caveat), "{text}");
    // Perf events begin with a thread made by a process outside the trace.
    trace.misfits = Inconsistencies { unborn: 1, ..Inconsistencies::default() };
    let is_reported =
        |trace: &TraceView| trace_report(trace, None, &style).contains("1 thread without a creator");
    assert!(is_reported(trace));
    trace.source = TraceSource::Perf;
    assert!(!is_reported(trace));
}

#[test]
fn idle_time_that_may_be_other_programs_is_labelled() {
    let mut trace = support::trace(2, 10.0, |t| t.components.idle_scheduling_s = 9.7);
    let style = Style { width: 100, ..PLAIN };
    assert!(traced(&trace, style).contains("idle: scheduling"));
    trace.untold_others_s = Some(9.5);
    let text = traced(&trace, style);
    assert!(text.contains("idle or other processes") && !text.contains("idle: scheduling"), "{text}");
    assert!(
        text.contains("Other processes used 9.50 s of these CPUs' time. This trace does not show"),
        "{text}"
    );
    trace.untold_others_s = Some(0.1);
    assert!(traced(&trace, style).contains("idle: scheduling"), "too little to be it");
}

#[test]
fn early_accounting_is_reported() {
    let mut trace = support::trace(2, 10.0, |t| t.overaccounted_s = 0.9);
    let caveat = "The kernel accounted 900 ms more to threads than they ran on these CPUs (4.5% of the";
    let style = Style { width: 100, ..PLAIN };
    assert!(traced(&trace, style).contains(caveat), "{}", traced(&trace, style));
    trace.overaccounted_s = 0.19;
    assert!(!traced(&trace, style).contains("The kernel accounted"), "below 1%");
}

#[test]
fn an_unknown_loss_is_a_dash() {
    let mut view = support::contended();
    view.stack[1].losses.kernel_lock_spin = None;
    let mut text = String::new();
    view_markdown(&view, &mut text).unwrap();
    let row = text.lines().find(|line| line.contains("spinning for kernel locks |")).unwrap();
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    assert!(cells.contains(&"-"), "{row}");
}

#[test]
fn each_component_has_its_own_field() {
    // The components have 1, 2, 3, … CPU-seconds in the order of the record: all differ, and none
    // is left out.
    let words = serde_json::to_value(Components::default()).unwrap();
    let numbered = |suffix: &str| {
        let fields =
            words.as_object().unwrap().keys().map(|key| key.trim_end_matches("_s").to_owned() + suffix);
        fields.zip(1..).map(|(key, i)| (key, f64::from(i).into())).collect::<serde_json::Map<_, _>>()
    };
    let components: Components = serde_json::from_value(numbered("_s").into()).unwrap();
    let losses: Losses = serde_json::from_value(numbered("").into()).unwrap();
    for component in Component::ALL {
        assert_eq!(component.seconds(&components), component.loss(&losses), "{component:?}");
    }
    let sum: f64 = Component::ALL.iter().filter_map(|c| c.loss(&losses)).sum();
    let parts = Component::ALL.len() as f64;
    assert_eq!(sum, parts * (parts + 1.0) / 2.0);
}

/// Call with its part of the loss to a disk, in a report of the calls that hold the losses.
fn call_loss(caller: Option<u32>, function: &str, lost_cpus: f64, ci95: [f64; 2]) -> CallLoss {
    let parts = vec![CodeLoss { loss: Component::IdleDisk, lost_cpus, ci95 }];
    CallLoss { caller, function: function.to_owned(), module: None, source: None, running: 1.0, parts }
}

/// A call that only passes on has no row, nor has one whose part may be noise.
#[test]
fn calls_that_hold_a_loss_have_rows() {
    let view = support::view(&["x"]).point(1, 10.0, 0.01, 1.0).point(2, 7.0, 0.01, 1.5).build();
    let mut view = support::stacked(view, |_| Losses { idle_disk: Some(0.4), ..Losses::default() });
    assert_eq!(division_report(&view, Division::Function, &PLAIN), None, "no trace has functions");
    let sure = |cpus: f64| [cpus - 0.05, cpus + 0.05];
    view.stack[0].calls = vec![
        call_loss(None, "db", 0.4, sure(0.4)),
        call_loss(Some(0), "main", 0.4, sure(0.4)),
        call_loss(Some(1), "store", 0.4, sure(0.4)),
        call_loss(Some(2), "sync", 0.3, sure(0.3)),
        call_loss(Some(2), "append", 0.1, sure(0.1)),
        call_loss(Some(4), "noise", 0.02, sure(0.02)),
    ];
    let text = division_report(&view, Division::Function, &PLAIN).expect("calls");
    let table = text.split("calls that hold the losses on 2 CPUs").nth(1).expect("a table");
    let rows: Vec<&str> = table.lines().skip(3).take_while(|line| !line.is_empty()).collect();
    let names: Vec<&str> =
        rows.iter().map(|row| row.split("  –").next().expect("a name").trim_end()).collect();
    assert_eq!(names, ["db", "  store", "    sync", "    append"], "{text}");
    assert!(rows[2].contains("0.30 [0.25, 0.35]"), "{text}");
    // Work that moved from one caller to another is no loss of the command.
    view.stack[0].calls[0].parts.clear();
    assert_eq!(division_report(&view, Division::Function, &PLAIN), None);
}
