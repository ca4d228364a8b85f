//! A study of locks in every format for people and programs: its appearance, and the words for its
//! results.

mod support;

use insta::assert_snapshot;
use morecores_report::{Severity, Style, locks_csv, locks_json, locks_markdown, locks_report, page_locks};
use morecores_study::lock::*;
use morecores_study::*;
use morecores_view::locks::*;
use morecores_view::*;
use support::{PLAIN, assert_fits_style};

use LockName::{Adaptive, Block, Spin, Std};
use Severity::{Caution, Note, Serious};

fn estimate_around(value: f64) -> Estimate {
    Estimate { value, ci95: Some([value * 0.97, value * 1.02]) }
}

/// Rate of each lock at a point. The locks are alike on one thread; spinning is ahead of blocking
/// while there are CPUs, and far behind with more threads than CPUs.
fn rates(threads: u32, hold_ns: u64) -> [(LockName, f64); 4] {
    let most = 1e9 / (hold_ns as f64 + 20.0);
    let shares = match threads {
        1 => [0.97, 1.0, 0.99, 0.98],
        2 => [0.9, 0.93, 0.5, 0.85],
        3 => [0.4, 0.9, 0.7, 0.8],
        _ => [0.03, 0.85, 0.84, 0.6],
    };
    [(Spin, shares[0]), (Adaptive, shares[1]), (Block, shares[2]), (Std, shares[3])]
        .map(|(lock, share)| (lock, share * most))
}

fn point(threads: u32, hold_ns: u64, think_ns: u64) -> LockPoint {
    let rates = rates(threads, hold_ns);
    let fastest = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let result = |(lock, rate): (LockName, f64)| {
        let cpus = if lock == Spin { f64::from(threads.min(2)) } else { 1.0 };
        LockResult {
            lock,
            per_s: estimate_around(rate),
            of_fastest: if rate == fastest {
                Estimate { value: 1.0, ci95: Some([1.0, 1.0]) }
            } else {
                estimate_around(rate / fastest)
            },
            cpus: estimate_around(cpus),
            burned_cpus: estimate_around(cpus - 0.9),
            luckiest: 1.25,
            unluckiest: 0.5,
            longest_wait_ns: Some(if lock == Spin { 250_000_000 } else { 3_200_000 }),
        }
    };
    LockPoint { threads, hold_ns, think_ns, results: rates.map(result).to_vec() }
}

fn server() -> LocksView {
    let plan = LockPlan {
        locks: vec![Spin, Adaptive, Block, Std],
        cpus: "0-1".parse().expect("CPUs"),
        threads: vec![1, 2, 3, 4],
        holds: vec![Nanos(100), Nanos(20_000)],
        thinks: vec![Think::Fixed(Nanos(0))],
        rounds: 7,
        window_ns: Nanos::from_millis(20),
        watched_ns: Nanos::from_millis(300),
        watched_rounds: 2,
        seed: 1,
    };
    let costs = |lock: LockName, free: f64, handoff: f64, burned: f64| LockCosts {
        lock,
        free_ns: Some(estimate_around(free)),
        handoff_ns: Some(estimate_around(handoff)),
        preempted_burned: Some(estimate_around(burned)),
        preempted_wait_ns: Some(estimate_around(3.1e6)),
        longest_wait_ns: Some(if lock == Spin { 250_000_000 } else { 3_200_000 }),
    };
    let advice = |situation, take: &[LockName], never: &[LockName], worst| LockAdvice {
        situation,
        take: take.to_vec(),
        never: never.to_vec(),
        worst,
    };
    let points = [1, 2, 3, 4].into_iter().flat_map(|n| [100, 20_000].map(|hold| point(n, hold, 0)));
    LocksView {
        schema: LOCKS_VIEW_SCHEMA.to_owned(),
        plan,
        host: Host { cpu_model: "AMD EPYC 7763".to_owned(), ..Host::default() },
        rounds: 7,
        whole: true,
        damaged_lines: 0,
        steal: Some(0.001),
        prices: Prices {
            switch_ns: Some(estimate_around(1_520.0)),
            wake_ns: Some(estimate_around(15_300.0)),
            lines: vec![LinePrice { from: CpuId(0), to: CpuId(1), ns: estimate_around(52.0) }],
        },
        locks: vec![
            costs(Spin, 9.8, 61.0, 1.0),
            costs(Adaptive, 10.1, 70.0, 0.004),
            costs(Block, 11.0, 15_300.0, 0.001),
            costs(Std, 10.0, 74.0, 0.002),
        ],
        points: points.collect(),
        cells: Vec::new(),
        cost_model: Some(CostModel {
            bound_ns: 15_300.0,
            spinning: Spin,
            blocking: Block,
            told_apart: 6,
            right: 5,
            points: Vec::new(),
        }),
        advice: vec![
            advice(LockSituation::Free, &[Spin, Std, Adaptive], &[], None),
            advice(LockSituation::ShortHolds, &[Adaptive, Spin], &[], None),
            advice(LockSituation::LongHolds, &[Adaptive], &[], None),
            advice(LockSituation::MoreThreadsThanCpus, &[Adaptive, Block], &[Spin], Some(0.031)),
        ],
        warnings: Vec::new(),
    }
}

fn markdown(view: &LocksView) -> String {
    let mut out = String::new();
    locks_markdown(view, &mut out).expect("a string takes everything");
    out
}

fn csv(view: &LocksView) -> String {
    let mut out = Vec::new();
    locks_csv(view, &mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("text")
}

#[test]
fn a_small_server() {
    let path = std::path::Path::new("locks.study");
    assert_snapshot!(locks_report(&server(), Some(path), &PLAIN));
}

#[test]
fn every_figure() {
    assert_snapshot!(locks_report(&server(), None, &Style { wide: true, width: 100, ..PLAIN }));
}

#[test]
fn for_a_pull_request() {
    assert_snapshot!(markdown(&server()));
}

/// The advice states the decision, each sentence with its situation first.
#[test]
fn advice_in_words() {
    let page = page_locks("locks", "morecores locks", server());
    let sentences: Vec<String> = page.advice.iter().map(|a| format!("{}: {}", a.lead, a.rest)).collect();
    assert_eq!(
        sentences,
        [
            "No other thread wants it: spin, std or adaptive, 9.80 ns.",
            "Hold under 15 µs and a CPU for each thread: spin-then-block (adaptive) or spin (spin).",
            "Hold from 15 µs on and a CPU for each thread: spin-then-block (adaptive).",
            "More threads than CPUs: spin-then-block (adaptive) or block (block); never spin (spin), down to 3.1% of the best \
             one's rate.",
        ]
    );
}

#[test]
fn prices_in_words() {
    let page = page_locks("locks", "morecores locks", server());
    assert_eq!(
        page.prices,
        [
            "A switch: 1.52 µs [1.47, 1.55] from one thread to another on the same CPU.",
            "A wake-up: 15.3 µs [14.8, 15.6] from an unlock until a sleeping thread on another CPU has the lock. For longer \
             waits, sleeping is cheaper than spinning.",
            "A cache line transfer: 52 ns [50, 53] between CPUs 0 and 1.",
            "The cost model: these prices alone predict the better of spin and block at 5 of the 6 points where \
             the two differ by more than noise.",
        ]
    );
    let mut view = server();
    view.prices.lines.push(LinePrice { from: CpuId(0), to: CpuId(8), ns: estimate_around(130.0) });
    let page = page_locks("locks", "morecores locks", view);
    assert_eq!(
        page.prices[2],
        "A cache line transfer: 52 ns [50, 53] between CPUs 0 and 1, up to 130 ns [126, 133] between CPUs 0 and 8."
    );
}

/// A quiet, complete study of bare CPUs needs no notice; each fault of another study has its own
/// notice, the most serious first.
#[test]
fn conditions_that_spoil_a_study_are_reported() {
    let notices = |view: LocksView| page_locks("locks", "morecores locks", view).notices;
    assert_eq!(notices(server()), []);
    let mut view = server();
    view.whole = false;
    view.damaged_lines = 1;
    view.steal = Some(0.043);
    let other_programs = vec![OtherProgram { name: "rustc".to_owned(), cpu_ns: Nanos::from_millis(900) }];
    view.warnings = vec![
        Warning::NotQuiet { busy_cpus: 0.5, of_cpus: 2, other_programs: Vec::new() },
        Warning::WorkOutsideTree { cpus: 2, busy_cpus: 0.95, of_cpus: 2, other_programs },
    ];
    view.rounds = 1;
    view.host.hypervisor = Some("KVM".to_owned());
    view.locks[1].longest_wait_ns = None;
    let notices = notices(view);
    let severities: Vec<Severity> = notices.iter().map(|n| n.severity).collect();
    assert_eq!(severities, [Serious, Serious, Serious, Caution, Caution, Caution, Note, Note]);
    let begins = [
        "The study is not finished",
        "1 damaged line is in no figure",
        "Other programs kept 0.95 of 2 CPUs busy during the runs at 2 CPUs (rustc). Stop them and repeat.",
        "Other programs kept 0.50 of 2 CPUs busy while nothing was measured. Stop them and repeat.",
        "The hypervisor took 4.3% of the CPUs' time",
        "There are no intervals: 1 round of the 6 that they need.",
        "These CPUs are virtual (KVM)",
        "The longest waits of adaptive",
    ];
    for (notice, begin) in notices.iter().zip(begins) {
        assert!(notice.text.starts_with(begin), "{}", notice.text);
    }
}

#[test]
fn an_empty_study_says_so() {
    let mut view = server();
    view.locks.iter_mut().for_each(|lock| {
        *lock = LockCosts { lock: lock.lock, ..no_costs() };
    });
    view.points.clear();
    view.advice.clear();
    view.prices = Prices { switch_ns: None, wake_ns: None, lines: Vec::new() };
    view.cost_model = None;
    let text = locks_report(&view, None, &PLAIN);
    assert_eq!(text, "4 locks on CPUs 0-1, 7 rounds (AMD EPYC 7763)\n\nwarning: Nothing measured yet.\n");
}

fn no_costs() -> LockCosts {
    LockCosts {
        lock: Spin,
        free_ns: None,
        handoff_ns: None,
        preempted_burned: None,
        preempted_wait_ns: None,
        longest_wait_ns: None,
    }
}

/// In every style, no line is wider than the terminal and every character is showable; the advice
/// comes first.
#[test]
fn every_style_is_followed() {
    let mut view = server();
    view.host.cpu_model = "an evil\u{1b}[31m name µ".to_owned();
    for width in [0, 40, 60, 80, 100, 200] {
        for (colour, unicode, wide) in
            [(false, false, false), (true, true, false), (false, true, true), (true, false, true)]
        {
            let style = Style { width, colour, unicode, wide };
            let text = locks_report(&view, None, &style);
            assert_fits_style(style, &text);
            let plain = support::strip(&text);
            assert!(
                plain.find("More threads than CPUs").expect("advice")
                    < plain.find("hand-over").expect("a table")
            );
        }
    }
}

/// There is a row for each lock of each point, with as many fields as there are names; an absent
/// figure is an empty field.
#[test]
fn csv_has_a_row_a_lock_and_point() {
    let mut view = server();
    view.points[0].results[0].longest_wait_ns = None;
    view.points[0].results[0].per_s.ci95 = None;
    let text = csv(&view);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 1 + 8 * 4);
    assert!(lines.iter().all(|fields| fields.len() == lines[0].len()));
    let cell = |row: usize, name: &str| {
        lines[row][lines[0].iter().position(|header| *header == name).expect("a column")]
    };
    assert_eq!(
        (cell(1, "lock"), cell(1, "threads"), cell(1, "hold_ns"), cell(1, "think_ns")),
        ("spin", "1", "100", "0")
    );
    assert_eq!((cell(1, "longest_wait_ns"), cell(1, "holds_low_per_s")), ("", ""));
    assert_eq!(cell(2, "longest_wait_ns"), "3200000");
    assert_eq!(
        cell(2, "holds_per_s").parse::<f64>().expect("a number"),
        view.points[0].results[1].per_s.value
    );
}

#[test]
fn json_is_the_view() {
    let text = locks_json(&server()).expect("a view");
    assert!(text.ends_with("}\n"));
    assert_eq!(serde_json::from_str::<LocksView>(&text).expect("a view"), server());
}

/// A page's tables have every lock at every number of threads, in columns of equal length whose
/// figures carry their unit.
#[test]
fn a_page_has_every_figure() {
    let page = page_locks("locks", "morecores locks", server());
    let titles: Vec<&str> = page.tables.iter().map(|table| table.title.as_str()).collect();
    assert_eq!(titles, ["Each lock by itself", "Held for 100 ns, away for 0", "Held for 20 µs, away for 0"]);
    for table in &page.tables {
        assert!(table.columns.iter().all(|column| column.cells.len() == table.now.len()), "{}", table.title);
        assert!(!table.columns[0].figures && table.columns[1].figures);
    }
    assert_eq!(page.tables[1].now.len(), 4 * 4);
    let free = &page.tables[0].columns[1].cells[0];
    assert_eq!((free.unit, free.text.as_str()), (Some(Quantity::Time), "9.8 ns [9.5, 10.0]"));
    assert!(free.value.is_some_and(|seconds| (seconds - 9.8e-9).abs() < 1e-12));
}
