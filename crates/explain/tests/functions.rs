//! Functions of a traced run: the CPU time of each, and the idle time of other CPUs charged to it.

mod schedule_trace;

use morecores_explain::{DecodedTrace, trace_view};
use morecores_study::Nanos;
use morecores_study::trace::{
    Decoded, EventKind, Function, Mapping, Module, Sample, SampleMode, SourceLine, Tid,
};
use morecores_view::code::FunctionView;
use schedule_trace::*;

/// First address of the mapped file, and the offset of the mapping in it.
const START: u64 = 0x5500_0000_0000;
const OFFSET: u64 = 0x1000;

fn function(start: u64, end: u64, name: Option<&str>) -> Function {
    let source = name.map(|_| SourceLine { file: "/src/sum.c".to_owned(), line: 7 });
    Function { module: 0, start, end, name: name.map(str::to_owned), source }
}

/// A program that runs alone on 2 CPUs for 60 ms and together with a second thread for 40 ms, and a
/// sample of each running thread every 10 ms.
fn sampled_program() -> ScheduleTrace {
    let mut s = ScheduleTrace::new(2, 100.0);
    let module = |path: &str| Module { path: path.to_owned(), build_id: None };
    s.header.facts.sample_period_ns = Some(Nanos::from_millis(10));
    s.header.facts.modules = vec![module("/usr/bin/sum")];
    s.header.facts.functions = vec![
        function(0x1100, 0x1180, Some("parse")),
        function(0x1180, 0x1200, None),
        function(0x1300, 0x1400, Some("add_up")),
    ];
    let (process, length) = (Tid(ROOT), 0x1000);
    let mapping = Mapping { process, start: START, length, offset: OFFSET, module: 0 };
    s.event(0.5, 0, EventKind::Mapping(mapping));
    s.thread(60.0, ROOT, 101);
    s.run(0, ROOT, 0.0, 100.0).dies();
    s.run(1, 101, 60.0, 99.0).dies();
    s
}

fn sample(s: &mut ScheduleTrace, ms: f64, cpu: u32, tid: u32, mode: SampleMode, offset: u64) {
    let address = START + offset - OFFSET;
    s.event(ms, cpu, EventKind::Sample(Sample { tid: Tid(tid), mode, address, spins: false }));
}

/// Functions by name: CPU time and charged idle time in milliseconds.
fn times(s: &ScheduleTrace) -> Vec<(String, f64, f64)> {
    let rows = functions(s);
    let ms = |seconds: f64| (seconds * 1e3).round();
    rows.into_iter().map(|row| (row.function, ms(row.cpu_s), ms(row.idle_s))).collect()
}

fn functions(s: &ScheduleTrace) -> Vec<FunctionView> {
    let decoded =
        Decoded { events: s.events(), damaged_frames: 0, lost_events: 0, unknown_events: 0, cut_off: false };
    trace_view(&DecodedTrace::new(&s.header, decoded), "x86_64").functions
}

#[test]
fn samples_divide_cpu_time_and_idle_time_among_functions() {
    let mut s = sampled_program();
    let user = SampleMode::User;
    for ms in [5.0, 15.0, 25.0, 35.0] {
        sample(&mut s, ms, 0, ROOT, user, 0x1110);
    }
    sample(&mut s, 45.0, 0, ROOT, user, 0x11ff);
    sample(&mut s, 55.0, 0, ROOT, SampleMode::Kernel, 0);
    for ms in [65.0, 75.0, 85.0, 95.0] {
        sample(&mut s, ms, 0, ROOT, user, 0x1300);
        sample(&mut s, ms + 1.0, 1, 101, user, 0x1280);
    }
    // The second CPU is idle for 61 ms: six samples are from this time.
    let each = 61.0 / 6.0;
    let rounded = |samples: f64| (samples * each).round();
    let expected = [
        ("parse", 40.0, rounded(4.0)),
        ("[sum]", 40.0, 0.0),
        ("add_up", 40.0, 0.0),
        ("[kernel]", 10.0, rounded(1.0)),
        ("sum+0x1180", 10.0, rounded(1.0)),
    ];
    let mut found = times(&s);
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.2.total_cmp(&a.2)).then(a.0.cmp(&b.0)));
    let expected = expected.map(|(name, cpu, idle)| (name.to_owned(), cpu, idle));
    assert_eq!(found, expected);
    let rows = functions(&s);
    let parse = rows.iter().find(|row| row.function == "parse").expect("sampled");
    assert_eq!((parse.command.as_str(), parse.module.as_deref()), ("main", Some("/usr/bin/sum")));
    assert_eq!(parse.source.as_deref(), Some("sum.c:7"));
    // Four independent samples have a standard error of half their time.
    assert!((parse.cpu_error_s - 0.020).abs() < 1e-9, "{parse:?}");
    assert!((parse.idle_error_s / parse.idle_s - 0.5).abs() < 1e-9, "{parse:?}");
    // The functions together hold all idle time that the idle rule charges to the program.
    let charged: f64 = rows.iter().map(|row| row.idle_s).sum();
    assert!((charged - 0.061).abs() < 1e-9, "{charged}");
}

#[test]
fn rare_functions_and_traces_without_mappings_have_no_rows() {
    let mut s = sampled_program();
    for index in 0..2_000 {
        sample(&mut s, 1.0 + f64::from(index) * 0.045, 0, ROOT, SampleMode::User, 0x1110);
    }
    sample(&mut s, 99.0, 0, ROOT, SampleMode::User, 0x1300);
    assert_eq!(times(&s).len(), 1);
    s.header.facts.modules.clear();
    assert!(times(&s).is_empty());
}
