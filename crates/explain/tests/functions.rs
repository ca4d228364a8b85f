//! Functions of a traced run: the CPU time of each, and the idle time of other CPUs charged to it.

mod schedule_trace;

use morecores_explain::{DecodedTrace, trace_view};
use morecores_study::Nanos;
use morecores_study::trace::{
    CodeAddress, Decoded, EventKind, Function, GeneratedFunction, InlinedFunction, Interrupt, Mapping,
    Module, PrevState, Sample, SampleMode, SourceLine, SourceMap, SourcePlace, StackEnd, StackFrame,
    StackMoment, Tid, TraceSource, UserStack, Waker, Waking,
};
use morecores_view::Component;
use morecores_view::code::{CallNode, CodeTimes, FunctionView};
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
    let mut s = sampled_program_facts();
    s.thread(60.0, ROOT, 101);
    s.run(0, ROOT, 0.0, 100.0).dies();
    s.run(1, 101, 60.0, 99.0).dies();
    s
}

/// The functions of the program, on 2 CPUs for 100 ms.
fn sampled_program_facts() -> ScheduleTrace {
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
    rows.into_iter().map(|row| (row.function, ms(row.times.cpu().0), ms(row.times.others_idle().0))).collect()
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
    let (_, cpu_error_s) = parse.times.cpu();
    assert!((cpu_error_s - 0.020).abs() < 1e-9, "{parse:?}");
    let (idle_s, idle_error_s) = parse.times.others_idle();
    assert!((idle_error_s / idle_s - 0.5).abs() < 1e-9, "{parse:?}");
    // The functions together hold all idle time that the idle rule charges to the program.
    let charged: f64 = rows.iter().map(|row| row.times.others_idle().0).sum();
    assert!((charged - 0.061).abs() < 1e-9, "{charged}");
}

/// Samples in user mode alone hold only the idle time of that mode, and say nothing of the kernel.
#[test]
fn samples_of_perf_events_do_not_stand_for_work_in_the_kernel() {
    let mut s = sampled_program();
    s.header.facts.source = TraceSource::Perf;
    // In user mode for 30 ms of the 60 ms alone.
    for ms in [5.0, 15.0, 25.0] {
        sample(&mut s, ms, 0, ROOT, SampleMode::User, 0x1110);
    }
    let found = times(&s);
    assert_eq!(found, [("parse".to_owned(), 30.0, 30.0)]);
    let decoded =
        Decoded { events: s.events(), damaged_frames: 0, lost_events: 0, unknown_events: 0, cut_off: false };
    let view = trace_view(&DecodedTrace::new(&s.header, decoded), "x86_64");
    // The ratio would be zero by these samples; the run's own account gives it, or nothing does.
    assert_ne!(view.kernel_ratio, Some(0.0));
    assert_eq!(view.user_spin_s, None);
    // Samples that would stand for more than the idle time share what there is.
    for ms in [35.0, 45.0, 52.0, 55.0, 57.0, 58.0] {
        sample(&mut s, ms, 0, ROOT, SampleMode::User, 0x1110);
    }
    assert_eq!(times(&s), [("parse".to_owned(), 90.0, 61.0)]);
}

/// A trace that names the kernel's functions divides the samples in the kernel among them.
#[test]
fn samples_in_the_kernel_have_functions() {
    let mut s = sampled_program();
    s.header.facts.modules.push(Module::kernel());
    let name = Some("clear_page".to_owned());
    let (start, end) = (0xffff_ffff_8100_0000, 0xffff_ffff_8100_0040);
    s.header.facts.functions.push(Function { module: 1, start, end, name, source: None });
    let mut sample_at = |ms, address| {
        let sample = Sample { tid: Tid(ROOT), mode: SampleMode::Kernel, address, spins: false };
        s.event(ms, 0, EventKind::Sample(sample));
    };
    sample_at(5.0, start);
    sample_at(15.0, end - 1);
    sample_at(25.0, end);
    let rows: Vec<_> =
        functions(&s).into_iter().map(|row| (row.function, row.module, row.times.cpu().0)).collect();
    let kernel = Some("[kernel]".to_owned());
    let expected = [("clear_page".to_owned(), kernel.clone(), 0.02), ("[kernel]".to_owned(), kernel, 0.01)];
    assert_eq!(rows, expected);
}

/// Each process has its own functions in anonymous memory. Those of one name have one row.
#[test]
fn generated_code_has_the_functions_of_its_process() {
    let mut s = sampled_program();
    s.run(1, 201, 0.0, 50.0).dies();
    s.fork(-0.5, ROOT, 201);
    let anonymous = |path: &str| Module { path: path.to_owned(), build_id: None };
    s.header.facts.modules.extend(["//anon", "[heap]"].map(anonymous));
    let generated = |process, start, end, name: &str| {
        let (process, name) = (Tid(process), name.to_owned());
        GeneratedFunction { process, module: 1, start, end, name }
    };
    s.header.facts.generated = vec![
        generated(ROOT, 0x7000, 0x7010, "sum"),
        generated(ROOT, 0x7020, 0x7030, "sum"),
        generated(201, 0x7000, 0x7010, "parse"),
    ];
    for process in [ROOT, 201] {
        for (module, start) in [(1, 0x7000), (2, 0x9000)] {
            let mapping = Mapping { process: Tid(process), start, length: 0x1000, offset: start, module };
            s.event(0.6, 0, EventKind::Mapping(mapping));
        }
    }
    let places = [
        (ROOT, 0x7000),
        (ROOT, 0x702f),
        (201, 0x700f),
        (201, 0x7010),
        (ROOT, 0x7010),
        (201, 0x7020),
        (ROOT, 0x9000),
    ];
    for (index, (tid, address)) in places.into_iter().enumerate() {
        let sample = Sample { tid: Tid(tid), mode: SampleMode::User, address, spins: false };
        s.event(5.0 + index as f64, 0, EventKind::Sample(sample));
    }
    let mut rows: Vec<_> = functions(&s)
        .into_iter()
        .map(|row| (row.function, row.module.unwrap_or_default(), (row.times.cpu().0 * 1e3).round()))
        .collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0).then(a.2.total_cmp(&b.2)));
    let row = |name: &str, module: &str, ms| (name.to_owned(), module.to_owned(), ms);
    let expected = [
        row("[anon]", "//anon", 30.0),
        row("[heap]", "[heap]", 10.0),
        row("parse", "//anon", 10.0),
        row("sum", "//anon", 20.0),
    ];
    assert_eq!(rows, expected);
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

/// Adds a sample whose complete stack has these places of functions, the innermost first.
fn stack_sample(s: &mut ScheduleTrace, ms: f64, cpu: u32, tid: u32, first: u32, places: &[u64]) {
    ended_stack_sample(s, ms, cpu, tid, first, places, StackEnd::Outermost);
}

fn ended_stack_sample(
    s: &mut ScheduleTrace,
    ms: f64,
    cpu: u32,
    tid: u32,
    first: u32,
    places: &[u64],
    end: StackEnd,
) {
    let mut caller = None;
    for (number, offset) in (first..).zip(places.iter().rev()) {
        let code = CodeAddress { module: 0, offset: *offset };
        s.event(ms, cpu, EventKind::Frame(StackFrame { number, caller, code }));
        caller = Some(number);
    }
    let moment = StackMoment::Sample;
    let stack = UserStack { tid: Tid(tid), moment, frame: caller, end, weight_log2: 0 };
    s.event(ms, cpu, EventKind::UserStack(stack));
    sample(s, ms, cpu, tid, SampleMode::User, places[0]);
}

#[test]
fn calls_have_the_time_of_all_that_they_call() {
    let mut s = sampled_program();
    let (parse, unnamed, add_up) = (0x1110, 0x1190, 0x1310);
    for (index, ms) in [5.0, 15.0, 25.0, 35.0, 45.0, 55.0].into_iter().enumerate() {
        stack_sample(&mut s, ms, 0, ROOT, index as u32 * 3, &[parse, unnamed, unnamed + 8]);
    }
    for (index, ms) in [65.0, 75.0, 85.0, 95.0].into_iter().enumerate() {
        stack_sample(&mut s, ms, 0, ROOT, 100 + index as u32 * 2, &[add_up, unnamed]);
        stack_sample(&mut s, ms + 1.0, 1, 101, 200 + index as u32, &[add_up + 4]);
    }
    let decoded =
        Decoded { events: s.events(), damaged_frames: 0, lost_events: 0, unknown_events: 0, cut_off: false };
    let view = trace_view(&DecodedTrace::new(&s.header, decoded), "x86_64");
    let rows: Vec<(&str, Option<u32>, f64, f64)> = view
        .call_tree
        .iter()
        .map(|node| (node.function.as_str(), node.caller, (node.times.cpu().0 * 1e3).round(), node.running))
        .collect();
    // The second function calls itself, and has one node.
    let expected = [
        ("main", None, 140.0, (6.0 + 8.0 * 2.0) / 14.0),
        ("sum+0x1180", Some(0), 100.0, (6.0 + 4.0 * 2.0) / 10.0),
        ("parse", Some(1), 60.0, 1.0),
        ("add_up", Some(1), 40.0, 2.0),
        ("add_up", Some(0), 40.0, 2.0),
    ];
    assert_eq!(rows, expected);
    // The second CPU is idle for 61 ms, all of it beside `parse`.
    let idle: Vec<f64> =
        view.call_tree.iter().map(|node| (node.times.others_idle().0 * 1e3).round()).collect();
    assert_eq!(idle, [61.0, 61.0, 61.0, 0.0, 0.0]);
    let coverage = view.stack_coverage.expect("stacks");
    assert_eq!((coverage.samples, coverage.sample_stacks, coverage.complete), (14, 14, 14));
}

/// Functions inlined into another one have calls and rows of their own, except those of a standard
/// library, which are part of their caller in the table. Each row has its longest line.
#[test]
fn inlined_functions_and_lines_are_found() {
    let mut s = sampled_program();
    let line = |line: u32| SourceLine { file: "/src/sum.c".to_owned(), line };
    let inlined =
        |name: &str, number: u32| InlinedFunction { name: name.to_owned(), line: Some(line(number)) };
    let place = |start: u64, number: u32, inlined: Vec<InlinedFunction>| SourcePlace {
        module: 0,
        start,
        end: start + 0x10,
        line: line(number),
        inlined,
    };
    s.header.facts.source_map = SourceMap::from_places([
        place(0x1110, 8, vec![]),
        place(0x1120, 9, vec![inlined("digit", 3), inlined("std::min(int, int)", 200)]),
        place(0x1190, 21, vec![]),
        // A function that has code of its own elsewhere.
        place(0x1310, 31, vec![inlined("parse", 12)]),
    ]);
    for (index, (ms, offset)) in (0..).zip([(5.0, 0x1111), (15.0, 0x1121), (25.0, 0x112f), (35.0, 0x1311)]) {
        stack_sample(&mut s, ms, 0, ROOT, index * 2, &[offset, 0x1191]);
    }
    // Between the ranges no line is known.
    stack_sample(&mut s, 45.0, 0, ROOT, 20, &[0x1130, 0x11a1]);
    let decoded =
        Decoded { events: s.events(), damaged_frames: 0, lost_events: 0, unknown_events: 0, cut_off: false };
    let view = trace_view(&DecodedTrace::new(&s.header, decoded), "x86_64");
    let ms = |times: &CodeTimes| (times.cpu().0 * 1e3).round();
    let mut rows: Vec<_> = view
        .functions
        .iter()
        .map(|row| (row.function.as_str(), row.source.as_deref().unwrap_or(""), ms(&row.times)))
        .collect();
    rows.sort_by(|one, other| one.0.cmp(other.0));
    // `parse` has one sample at line 8, one at 12, and one without a line.
    assert_eq!(rows, [("digit", "sum.c:3", 20.0), ("parse", rows[1].1, 30.0)]);
    assert!(["sum.c:8", "sum.c:12"].contains(&rows[1].1), "{rows:?}");
    let mut calls: Vec<_> = view
        .call_tree
        .iter()
        .map(|node| {
            let caller = node.caller.map_or("", |caller| &view.call_tree[caller as usize].function);
            (caller, node.function.as_str(), node.source.as_deref().unwrap_or(""), ms(&node.times))
        })
        .collect();
    calls.sort_by(|one, other| one.partial_cmp(other).expect("no NaN"));
    let expected = [
        ("", "main", "", 50.0),
        ("add_up", "parse", "sum.c:12", 10.0),
        ("digit", "std::min(int, int)", "sum.c:200", 20.0),
        ("main", "sum+0x1180", "sum.c:21", 50.0),
        ("parse", "digit", "sum.c:3", 20.0),
        ("sum+0x1180", "add_up", "sum.c:31", 10.0),
        ("sum+0x1180", "parse", "sum.c:9", 40.0),
    ];
    assert_eq!(calls, expected);
}

/// Calls of an incomplete stack, and a sample without a stack, are not below the command's first
/// function: a comparison would count them as its loss.
#[test]
fn incomplete_stacks_are_below_unknown_callers() {
    let mut s = sampled_program();
    let (parse, unnamed) = (0x1110, 0x1190);
    stack_sample(&mut s, 5.0, 0, ROOT, 0, &[parse, unnamed]);
    ended_stack_sample(&mut s, 15.0, 0, ROOT, 10, &[parse], StackEnd::MissingMemory);
    sample(&mut s, 25.0, 0, ROOT, SampleMode::User, parse);
    let decoded =
        Decoded { events: s.events(), damaged_frames: 0, lost_events: 0, unknown_events: 0, cut_off: false };
    let view = trace_view(&DecodedTrace::new(&s.header, decoded), "x86_64");
    let row = |node: &CallNode| (node.function.clone(), node.caller, (node.times.cpu().0 * 1e3).round());
    let rows: Vec<_> = view.call_tree.iter().map(row).collect();
    let expected = [
        ("main", None, 30.0),
        ("[unknown callers]", Some(0), 20.0),
        ("parse", Some(1), 20.0),
        ("sum+0x1180", Some(0), 10.0),
        ("parse", Some(3), 10.0),
    ];
    assert_eq!(rows, expected.map(|(name, caller, ms)| (name.to_owned(), caller, ms)));
}

/// Adds the stack of a wait that began at this time.
fn wait_stack(s: &mut ScheduleTrace, ms: f64, tid: u32, first: u32, places: &[u64], weight_log2: u8) {
    let mut caller = None;
    for (number, offset) in (first..).zip(places.iter().rev()) {
        let code = CodeAddress { module: 0, offset: *offset };
        s.event(ms, 0, EventKind::Frame(StackFrame { number, caller, code }));
        caller = Some(number);
    }
    let (moment, end) = (StackMoment::Wait, StackEnd::Outermost);
    s.event(
        ms,
        0,
        EventKind::UserStack(UserStack { tid: Tid(tid), moment, frame: caller, end, weight_log2 }),
    );
}

/// A program that runs for 10 ms and waits for a disk for 20 ms, three times.
fn program_with_disk_waits() -> ScheduleTrace {
    let mut s = sampled_program_facts();
    for from in [0.0, 30.0, 60.0] {
        s.run(0, ROOT, from, from + 10.0).leaves(PrevState::Uninterruptible);
        let by = Waker::Interrupt(Interrupt::Device(24));
        s.event(from + 30.0, 0, EventKind::Waking(Waking { tid: Tid(ROOT), by, io_wait: true }));
    }
    s.run(0, ROOT, 90.0, 100.0).dies();
    sample(&mut s, 5.0, 0, ROOT, SampleMode::User, 0x1110);
    s
}

/// Function with the time that was lost to a disk and its standard error, in milliseconds.
type FunctionTime = (String, f64, f64);

/// Functions and calls with time that was lost to a disk.
fn disk_times(s: &ScheduleTrace) -> (Vec<FunctionTime>, Vec<(String, f64)>) {
    let decoded =
        Decoded { events: s.events(), damaged_frames: 0, lost_events: 0, unknown_events: 0, cut_off: false };
    let view = trace_view(&DecodedTrace::new(&s.header, decoded), "x86_64");
    let ms = |seconds: f64| (seconds * 1e3).round();
    let of_disk =
        |times: &CodeTimes| times.0.iter().copied().find(|time| time.component == Component::IdleDisk);
    let functions = view.functions.iter().filter_map(|row| Some((row, of_disk(&row.times)?)));
    let calls = view.call_tree.iter().filter_map(|node| Some((node, of_disk(&node.times)?)));
    let whole = view.components.idle_disk_s.expect("known");
    assert_eq!(ms(whole), 120.0, "two CPUs were idle for 60 ms");
    (
        functions.map(|(row, time)| (row.function.clone(), ms(time.seconds), ms(time.error_s))).collect(),
        calls.map(|(node, time)| (node.function.clone(), ms(time.seconds))).collect(),
    )
}

/// Idle time lost to a disk is at the functions that waited.
#[test]
fn waits_have_the_idle_time_that_was_lost_to_them() {
    let (parse, unnamed, add_up) = (0x1110, 0x1190, 0x1310);
    let mut s = program_with_disk_waits();
    stack_sample(&mut s, 4.0, 0, ROOT, 50, &[parse]);
    for (index, place) in [parse, add_up, add_up].into_iter().enumerate() {
        wait_stack(&mut s, 9.999 + 30.0 * index as f64, ROOT, 10 * index as u32, &[place, unnamed], 0);
    }
    let (functions, calls) = disk_times(&s);
    let row = |name: &str, ms, error| (name.to_owned(), ms, error);
    // `parse` also ran alone, which is not lost to the disk.
    assert_eq!(functions, [row("parse", 40.0, 0.0), row("add_up", 80.0, 0.0)]);
    let node = |name: &str, ms| (name.to_owned(), ms);
    let expected =
        [node("main", 120.0), node("sum+0x1180", 120.0), node("add_up", 80.0), node("parse", 40.0)];
    assert_eq!(calls, expected);
}

/// A part of the waits has a stack, with a probability: these stand for all, with an error. A
/// program without any stack keeps its idle time, without a function.
#[test]
fn waits_without_a_stack_count_with_those_that_have_one() {
    let (parse, unnamed) = (0x1110, 0x1190);
    let mut s = program_with_disk_waits();
    stack_sample(&mut s, 4.0, 0, ROOT, 50, &[parse]);
    let (functions, calls) = disk_times(&s);
    assert_eq!((functions, calls), (Vec::new(), vec![("main".to_owned(), 120.0)]));
    wait_stack(&mut s, 39.999, ROOT, 0, &[parse, unnamed], 1);
    let (functions, calls) = disk_times(&s);
    // One wait of 40 ms stands for all three: its variance is 3·2 times its square.
    assert_eq!(functions, [("parse".to_owned(), 120.0, (6_f64.sqrt() * 40.0).round())]);
    assert_eq!(calls.len(), 3);
}
