//! Tests of the corpus's traces: they are consistent, they report the simulated times, and they
//! contain only the events that a tracer would record.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

mod corpus;

use std::collections::{HashMap, HashSet};

use corpus::{Phase, *};
use morecores_explain::trace::{Accounting, Timeline, account, apply_idle_rule, causes};
use morecores_study::trace::*;
use morecores_study::*;
use morecores_view::*;

const MS: f64 = 1e6;

fn sizes() -> [Size; 5] {
    [(1, 1), (2, 2), (4, 4), (2, 6), (16, 16)].map(|(cpus, n)| Size { cpus, n })
}

fn accounting(trace: &Trace) -> Accounting {
    let timeline = Timeline::new(&trace.header, &trace.events);
    let idle = apply_idle_rule(&timeline, &causes(&timeline));
    account(&trace.header, &timeline, idle)
}

#[test]
fn traces_are_consistent_and_show_the_simulated_times() {
    let varied = TUNING.step_by(7).map(generate_varied_program);
    for (program, mode) in corpus(TUNING)
        .step_by(7)
        .chain(varied)
        .zip([TraceDetail::Traced, TraceDetail::Exact].into_iter().cycle())
    {
        for size in sizes() {
            let run = simulate(&program, size, 11, mode);
            let trace = run.trace.expect("watched");
            assert_eq!(trace.header.run.elapsed_ns, run.elapsed);
            let timeline = Timeline::new(&trace.header, &trace.events);
            assert_eq!(
                (timeline.misfits, timeline.lost_events),
                (Inconsistencies::default(), 0),
                "{program} {size:?}"
            );
            assert_eq!(timeline.elapsed(), run.elapsed);
            let cpu_times: Vec<(Tid, Nanos)> =
                timeline.tree().map(|(_, thread)| (thread.tid, thread.on_cpu())).collect();
            assert_eq!(cpu_times, run.threads, "{program} {size:?}");
            let accounting = accounting(&trace);
            let all = run.elapsed.as_secs_f64() * f64::from(size.cpus);
            let components = &accounting.components;
            assert!(components.unexplained_s.abs() < 1e-6 * all, "{program} {size:?}: {components:?}");
            assert!(components.steal_s.unwrap().abs() < 1e-9, "{program} {size:?}: {components:?}");
            assert!(accounting.overaccounted_s.abs() < 1e-9, "{program} {size:?}: {components:?}");
            // A thread that slept for a lock returns to a CPU before it gets the lock. The switch
            // at that point is not spinning.
            let slept = |event: &&Event| matches!(&event.kind, EventKind::Switch(switch) if switch.prev_state == PrevState::Uninterruptible);
            let sleeps = trace.events.iter().filter(slept).count() as f64;
            let spun = components.kernel_lock_spin_s.unwrap() - run.spun.as_secs_f64();
            let most = sleeps * program.slowdown(16) * program.machine_costs.switch / 1e9;
            assert!((-1e-6..most + 1e-6).contains(&spun), "{program} {size:?}: {spun} of {most}");
        }
    }
}

#[test]
fn tracing_changes_nothing() {
    for program in corpus(TUNING).step_by(25) {
        for size in sizes() {
            let elapsed = simulate(&program, size, 5, TraceDetail::Untraced).elapsed;
            let plain = simulate(&program, size, 5, TraceDetail::Traced);
            let exact = simulate(&program, size, 5, TraceDetail::Exact);
            assert_eq!((plain.elapsed, exact.elapsed), (elapsed, elapsed));
            let (plain, exact) = (plain.trace.unwrap(), exact.trace.unwrap());
            assert_eq!(plain.header.facts.source, TraceSource::Bpf);
            assert_eq!(exact.header.facts.source, TraceSource::BpfWithSystemCalls);
            let is_call = |event: &Event| matches!(event.kind, EventKind::SystemCall(_));
            assert!(!plain.events.iter().any(is_call));
            let without: Vec<Event> = exact.events.iter().filter(|e| !is_call(e)).cloned().collect();
            assert!(
                without == plain.events && without.len() < exact.events.len() || program_is_quiet(&exact)
            );
        }
    }
}

/// Whether the trace has no system call for a good reason. On one CPU a team is the main thread
/// alone, which may need no system call.
fn program_is_quiet(trace: &Trace) -> bool {
    trace.header.run.n == 1
        && !trace.events.iter().any(|event| matches!(event.kind, EventKind::SystemCall(_)))
}

#[test]
fn stream_of_a_trace_decodes_to_its_events() {
    for program in corpus(TUNING).step_by(50) {
        let trace = trace(&program, Size { cpus: 4, n: 4 }, 0, TraceDetail::Exact);
        let mut writer = StreamWriter::new(Vec::new()).unwrap();
        for cpu in 0..4 {
            let of_cpu: Vec<Event> =
                trace.events.iter().filter(|event| event.cpu == CpuId(cpu)).cloned().collect();
            writer.frame(CpuId(cpu), &of_cpu).unwrap();
        }
        let stream = writer.finish().unwrap();
        assert!(read_events(stream.as_slice()).unwrap().events == trace.events, "{program}");
    }
}

#[test]
fn exact_traces_name_reaped_children_and_call_objects() {
    let mut waited_for = 0;
    for program in corpus(TUNING).step_by(9) {
        let trace = trace(&program, Size { cpus: 4, n: 4 }, 0, TraceDetail::Exact);
        let mut parents = HashMap::new();
        let mut ended = HashSet::new();
        let (mut created, mut started) = (HashSet::new(), HashSet::from([trace.header.facts.root]));
        for event in &trace.events {
            match &event.kind {
                EventKind::Fork(fork) => {
                    created.insert(fork.child);
                    if fork.process == fork.child {
                        parents.insert(fork.child, fork.parent);
                    }
                }
                // The call returns the child's number in the parent, and zero in the child.
                EventKind::SystemCall(call) if call.number == 56 => {
                    let child = if call.result == 0 { call.tid } else { Tid(call.result as u32) };
                    assert!(created.contains(&child), "{call:?}");
                    if call.result == 0 {
                        started.insert(child);
                    }
                }
                EventKind::Switch(switch) if switch.prev_state == PrevState::Dead => {
                    ended.insert(switch.prev);
                }
                EventKind::SystemCall(call) if call.number == 61 => {
                    let Object::Process(child) = call.object else { panic!("{call:?}") };
                    assert_eq!(call.result, i64::from(child.0));
                    assert_eq!(parents.remove(&child), Some(call.tid), "waited for once, by its parent");
                    assert!(ended.contains(&child), "{program}: {child:?} at {:?}", event.at);
                    waited_for += 1;
                }
                EventKind::SystemCall(call) => {
                    let fits = match call.number {
                        0 | 1 | 17 => matches!(call.object, Object::Inode(_)),
                        202 => matches!(call.object, Object::Futex(_)),
                        _ => call.object == Object::None,
                    };
                    assert!(fits, "{call:?}");
                }
                _ => {}
            }
        }
        assert_eq!(created, started, "{program}");
        // Nobody reaps the main process in these traces.
        assert_eq!(parents.into_keys().collect::<Vec<_>>(), [trace.header.facts.root]);
    }
    assert!(waited_for > 100);
}

/// The futex of a waiting thread is recorded right before its switch, and only there.
#[test]
fn each_futex_wait_has_an_event_before_its_switch() {
    let mut announced = 0;
    for program in corpus(TUNING).step_by(9) {
        let trace = trace(&program, Size { cpus: 4, n: 4 }, 0, TraceDetail::Traced);
        let mut awaits: HashMap<CpuId, (Nanos, Tid)> = HashMap::new();
        for event in &trace.events {
            match &event.kind {
                EventKind::Awaits { tid, object: Object::Futex(_) } => {
                    assert!(awaits.insert(event.cpu, (event.at, *tid)).is_none());
                    announced += 1;
                }
                EventKind::Switch(switch) => {
                    let announced_wait = awaits.remove(&event.cpu);
                    let futex = switch.call == Call::Number(202);
                    assert_eq!(announced_wait, futex.then_some((event.at, switch.prev)), "{program}");
                }
                _ => assert!(!awaits.contains_key(&event.cpu), "{program}: between the two"),
            }
        }
    }
    assert!(announced > 100);
}

#[test]
fn ticks_show_the_kernel_ratio() {
    let mut program = generate_program(0);
    program.machine_costs = MachineCosts::FREE;
    program.locks.clear();
    program.device = None;
    program.system = 0.3;
    let job: Job = vec![Step::Work(20.0 * MS); 20];
    program.phases = vec![Phase::Parallel { style: Style::Dealt, handout_cost: 0.0, jobs: vec![job; 8] }];
    let trace = trace(&program, Size { cpus: 2, n: 2 }, 0, TraceDetail::Traced);
    let ratio = accounting(&trace).kernel_ratio.unwrap();
    // With some 800 ticks, the bound is four standard errors.
    assert!((ratio - 0.3).abs() < 0.065, "{ratio}");
    let cpu = &trace.header.run.cpu;
    let exact = cpu.system_ns.as_secs_f64() / (cpu.user_ns.as_secs_f64() + cpu.system_ns.as_secs_f64());
    assert!((exact - 0.3).abs() < 1e-6, "{exact}");
}

/// Program of one parallel phase with the smallest possible other costs.
fn bare(style: Style, job: Job) -> Program {
    Program {
        seed: 1,
        phases: vec![Phase::Parallel { style, handout_cost: 0.0, jobs: vec![job; 16] }],
        locks: Vec::new(),
        device: None,
        memory: Memory::default(),
        capacity: Capacity::default(),
        noise: 0.01,
        system: 0.1,
        machine_costs: MachineCosts { wake_latency: 2_000, switch: 500.0, call: 500.0, ..MachineCosts::FREE },
    }
}

/// Share of one component in the idle time.
fn share(trace: &Trace, component: fn(&Components) -> Option<f64>) -> f64 {
    let accounting = accounting(trace);
    component(&accounting.components).unwrap() / accounting.idle.times.total()
}

#[test]
fn trace_shows_the_limit_of_the_program() {
    let size = Size { cpus: 8, n: 8 };
    let hold = |lock| [Step::Work(MS), Step::Hold { lock, before: 0.0, held: MS }].repeat(10);
    let with_lock =
        |kind| Program { locks: vec![Lock { kind, growth: 0.0 }], ..bare(Style::ThreadPool, hold(0)) };
    let traced = |program: &Program| trace(program, size, 0, TraceDetail::Traced);

    assert!(share(&traced(&with_lock(LockKind::Futex)), |c| c.idle_user_lock_s) > 0.9);
    assert!(share(&traced(&with_lock(LockKind::Sleep)), |c| c.idle_kernel_lock_s) > 0.9);
    let spins = accounting(&traced(&with_lock(LockKind::Spin))).components;
    assert!(spins.kernel_lock_spin_s.unwrap() > 0.6, "{spins:?}");

    let mut device = bare(Style::ProcessPool, [Step::Work(0.1 * MS), Step::Request(MS)].repeat(10));
    device.device = Some(Device { interrupt: 24, channels: 1 });
    assert!(share(&traced(&device), |c| c.idle_disk_s) > 0.9);

    let mut serial = bare(Style::Team { dynamic: true }, vec![Step::Work(MS)]);
    serial.phases.insert(0, Phase::Serial(vec![Step::Work(30.0 * MS)]));
    assert!(share(&traced(&serial), |c| Some(c.idle_too_little_work_s)) > 0.9);
}
