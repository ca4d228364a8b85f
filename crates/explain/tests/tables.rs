//! The table of commands, and other results of a traced run, on traces whose truth is set event by
//! event.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

mod event_trace;
#[path = "../../view/tests/studies/mod.rs"]
mod studies;

use event_trace::{EventTrace, PEER, ROOT, S, accounts, assert_near, command, two_command_trace};
use morecores_explain::{DecodedTrace, trace_view};
use morecores_study::trace::*;
use morecores_study::*;
use morecores_view::*;
use proptest::prelude::*;

#[test]
fn commands_have_exact_cpu_time_and_calls() {
    let view = two_command_trace().view();
    let rows: Vec<(&str, u64)> = view.commands.iter().map(|c| (&*c.name, c.calls)).collect();
    assert_eq!(rows, [("main", 1), ("cc1", 1)]);
    assert_near(command(&view, "main").cpu_s, 8.0);
    assert_near(command(&view, "cc1").cpu_s, 5.0);
    assert_near(command(&view, "cc1").cpu_ratio, 5.0 / 13.0);
    assert_near(command(&view, "main").kernel_ratio.unwrap(), 0.25);
    assert_near(command(&view, "cc1").kernel_ratio.unwrap(), 0.2);
    assert_eq!(command(&view, "cc1").waiting_ratio, Some(0.0));
}

/// The error is the binomial one for many ticks, and not zero if all of a few agree.
#[test]
fn the_kernel_ratios_error_is_that_of_its_ticks() {
    let error = |user, system| {
        let mut t = EventTrace::new(1, S);
        t.exit(S, 0, ROOT, accounts(user, system));
        t.die(S, 0, 0);
        let view = t.view();
        let main = &view.commands[0];
        main.kernel_ratio.zip(main.kernel_ratio_error)
    };
    // 10,000 ticks of 4 ms.
    let (ratio, many) = error(30 * S, 10 * S).unwrap();
    assert_near(ratio, 0.25);
    assert!((many - (0.25 * 0.75 / 1e4_f64).sqrt()).abs() < 1e-6, "{many}");
    let (ratio, one) = error(0, 4_000).unwrap();
    assert_near(ratio, 1.0);
    assert_near(one, 0.25);
    assert_eq!(error(0, 0), None);
}

/// A shell forks twice; one child becomes `cc1`, and then `as`, the other stays a shell. A thread
/// is no call.
#[test]
fn processes_are_calls_of_their_program() {
    let mut t = EventTrace::new(2, 10 * S);
    t.fork(S, 0, ROOT, 101);
    t.wake(S, 0, 101, ROOT);
    t.sleep(S, 1, 101);
    t.exec(2 * S, 1, 101, "cc1", accounts(S, 0));
    t.thread(2 * S, 1, 101, 102, 101);
    t.exec(5 * S, 1, 101, "as", accounts(2 * S, 2 * S));
    t.exit(6 * S, 1, 101, accounts(2 * S, 3 * S));
    t.die(6 * S, 1, 0);
    t.fork(6 * S, 0, ROOT, 103);
    t.wake(6 * S, 0, 103, ROOT);
    t.sleep(6 * S, 1, 103);
    let view = t.view();
    let rows: Vec<(&str, u64, f64)> =
        view.commands.iter().map(|c| (&*c.name, c.calls, (c.cpu_s * 1e6).round() / 1e6)).collect();
    // The shell: ten seconds itself, one before the first child's exec, four of the second child.
    assert_eq!(rows, [("main", 2, 15.0), ("cc1", 1, 3.0), ("as", 1, 1.0)]);
    // Between the two execs: one second of user ticks and two seconds of system ticks.
    assert_near(command(&view, "cc1").kernel_ratio.unwrap(), 2.0 / 3.0);
    assert_near(command(&view, "as").kernel_ratio.unwrap(), 1.0);
    // Only the child's first second is recorded for the shell: the shell outlives the trace.
    assert_near(command(&view, "main").kernel_ratio.unwrap(), 0.0);
}

/// The second thread of a process execs and takes the number of the first: one process with one
/// more call.
#[test]
fn exec_by_a_second_thread_is_one_call() {
    let mut t = EventTrace::new(2, 10 * S);
    t.thread(2 * S, 0, ROOT, 101, ROOT);
    t.wake(2 * S, 0, 101, ROOT);
    t.sleep(2 * S, 1, 101);
    t.die(4 * S, 0, 0);
    let name = Comm::new("java");
    let exec = Exec { tid: Tid(ROOT), was: Tid(101), name, accounts: Accounts::default() };
    t.events.push(Event {
        at: t.header.began_ns + Nanos(4_000_000_000),
        cpu: CpuId(1),
        kind: EventKind::Exec(exec),
    });
    let view = t.view();
    let rows: Vec<(&str, u64)> = view.commands.iter().map(|c| (&*c.name, c.calls)).collect();
    assert_eq!(rows, [("java", 1), ("main", 1)]);
    assert_near(command(&view, "java").cpu_s, 6.0);
    assert_near(command(&view, "main").cpu_s, 6.0);
}

/// A thread's own name makes no row: its time belongs to its program.
#[test]
fn threads_run_their_processes_program() {
    let mut t = EventTrace::new(2, 4 * S);
    t.thread(S, 0, ROOT, 101, ROOT);
    t.events.push(Event {
        at: t.events.last().unwrap().at,
        cpu: CpuId(0),
        kind: EventKind::Rename { tid: Tid(101), name: Comm::new("worker-1") },
    });
    t.wake(S, 0, 101, ROOT);
    t.sleep(S, 1, 101);
    let view = t.view();
    let rows: Vec<(&str, u64)> = view.commands.iter().map(|c| (&*c.name, c.calls)).collect();
    assert_eq!(rows, [("main", 1)]);
    assert_near(view.commands[0].cpu_s, 7.0);
}

/// Steal and interrupts are no CPU time of the command.
#[test]
fn unaccounted_time_is_not_counted() {
    let mut t = EventTrace::new(1, 4 * S);
    t.sleep(2 * S, 0, 0);
    let EventKind::Switch(switch) = &mut t.events.last_mut().unwrap().kind else { panic!() };
    switch.prev_runtime = Nanos(1_500_000_000);
    switch.interrupts = Nanos(250_000_000);
    let unaccounted = t.events.clone();
    assert_near(t.view().commands[0].cpu_s, 1.25);
    // A kernel that subtracts interrupts itself.
    let mut t = EventTrace::new(1, 4 * S);
    t.events = unaccounted;
    t.header.facts.interrupts_accounted = true;
    assert_near(t.view().commands[0].cpu_s, 1.5);
}

/// The idle rule's result by command: while `cc1` waited for no thread, `main` had a CPU beside an
/// idle one.
#[test]
fn culprits_are_commands_and_add_up_to_the_component() {
    let view = two_command_trace().view();
    // `main` alone for four seconds and for one at the end, `cc1` for two while `main` waited for
    // it.
    let found: Vec<(&str, f64)> = view.culprits.iter().map(|c| (&*c.name, c.lost_cpus)).collect();
    assert_eq!(found.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["main", "cc1"]);
    assert_near(found[0].1, 5.0);
    assert_near(found[1].1, 2.0);
    assert_near(view.components.idle_too_little_work_s, 7.0);
    assert_eq!(view.culprits[1].waiting_in.as_deref(), Some("wait4"));
    assert_near(view.components.unexplained_s, 0.0);
}

/// Processes have their program's name, kernel threads their own name; thread 77 is unknown.
#[test]
fn others_have_names_and_times() {
    let mut t = EventTrace::new(1, 8 * S);
    let known = |tid, process, name: &str, kernel| KnownThread {
        tid: Tid(tid),
        process: Tid(process),
        name: name.into(),
        kernel,
    };
    t.header.facts.known.extend([known(51, PEER, "worker", false), known(9, 9, "kworker/0:1", true)]);
    t.leave(S, 0, PrevState::Preempted, PEER);
    t.sleep(2 * S, 0, 51);
    t.sleep(4 * S, 0, 9);
    t.sleep(4 * S + S / 2, 0, 77);
    t.sleep(5 * S, 0, ROOT);
    let view = t.view();
    let others: Vec<(&str, f64)> = view.others.iter().map(|(name, s)| (&**name, *s)).collect();
    assert_eq!(others, [("daemon", 3.0), ("kworker/0:1", 0.5), ("unknown", 0.5)]);
    assert_near(view.components.other_processes_s, 4.0);
}

/// Five samples of a thread that ran for a whole second: three in user mode, two of them in a tight
/// loop, and two in the kernel, one of them in `sched_yield`.
#[test]
fn spinning_is_a_share_of_the_work_in_each_mode() {
    let mut t = EventTrace::new(1, S);
    t.sample(5_000, 0, ROOT, SampleMode::User, true);
    t.sample(10_000, 0, ROOT, SampleMode::User, true);
    t.sample(15_000, 0, ROOT, SampleMode::User, false);
    t.sample(20_000, 0, ROOT, SampleMode::Kernel, true);
    t.sample(22_000, 0, ROOT, SampleMode::Kernel, false);
    t.sample(25_000, 0, PEER, SampleMode::User, true);
    let view = t.view();
    assert_near(view.components.user_work_s, 0.6);
    assert_near(view.user_spin_s.unwrap(), 0.6 * 2.0 / 3.0 + 0.4 / 2.0);
    assert_eq!(two_command_trace().view().user_spin_s, None);
}

/// Four samples of a program of Open MPI 4.1.4: in its own code, in the loop that looks for
/// messages, in a component that the loop calls, and in a component outside the loop.
#[test]
fn the_loop_of_mpi_that_looks_for_messages_spins() {
    let mut t = EventTrace::new(1, S);
    let module = |path: &str| Module { path: path.to_owned(), build_id: None };
    t.header.facts.modules =
        ["/bin/main", "/lib/libopen-pal.so.40.30.2", "/lib/mca_btl_vader.so"].map(module).to_vec();
    let function = |module: u32, name: &str| Function {
        module,
        start: 0x1000,
        end: 0x1100,
        name: Some(name.to_owned()),
        source: None,
    };
    t.header.facts.functions = vec![function(0, "main"), function(1, "opal_progress")];
    let mut frames = 0;
    for (index, modules) in [[0].as_slice(), &[0, 1], &[0, 1, 2], &[0, 2]].into_iter().enumerate() {
        let us = 5_000 * (index as u64 + 1);
        let mut caller = None;
        for module in modules {
            let code = CodeAddress { module: *module, offset: 0x1010 };
            t.push(us, 0, EventKind::Frame(StackFrame { number: frames, caller, code }));
            caller = Some(frames);
            frames += 1;
        }
        let (moment, end) = (StackMoment::Sample, StackEnd::Outermost);
        let stack = UserStack { tid: Tid(ROOT), moment, frame: caller, end, weight_log2: 0 };
        t.push(us, 0, EventKind::UserStack(stack));
        t.sample(us, 0, ROOT, SampleMode::User, false);
    }
    assert_near(t.view().user_spin_s.unwrap(), 2.0 / 4.0);
}

/// The run has no source for the kernel ratio: no tick, no sample, and no account of the run.
#[test]
fn undivided_work_is_user_work() {
    let mut t = EventTrace::new(1, S);
    (t.header.run.cpu.user_ns, t.header.run.cpu.system_ns) = (Nanos::ZERO, Nanos::ZERO);
    let view = t.view();
    assert_eq!((view.kernel_ratio, view.components.kernel_work_s), (None, None));
    assert_near(view.components.user_work_s, 1.0);
}

#[test]
fn switches_alone_show_no_causes() {
    let mut t = two_command_trace();
    t.header.facts.source = TraceSource::Perf;
    t.header.facts.stack_share = None;
    let c = t.view().components;
    let untold = [c.interrupt_s, c.steal_s, c.kernel_lock_spin_s, c.idle_pinned_s, c.idle_kernel_lock_s];
    assert_eq!(untold, [None; 5]);
    assert_eq!([c.idle_user_lock_s, c.idle_disk_s, c.idle_peer_s, c.idle_timer_s], [None; 4]);
}

/// A thread without a creation, one without an arrival, and a wait without an end.
#[test]
fn contradictions_are_counted() {
    assert_eq!(two_command_trace().view().misfits, Inconsistencies::default());
    let mut t = EventTrace::new(1, 4 * S);
    t.sleep(S, 0, 0);
    t.sleep(2 * S, 0, ROOT);
    t.wake(3 * S, 0, 77, ROOT);
    assert_eq!(t.view().misfits, Inconsistencies { unborn: 1, unwoken: 1, ..Inconsistencies::default() });
}

/// A thread is accounted more than the elapsed time, on a CPU that was idle before. The surplus is
/// reported, and no component includes it.
#[test]
fn surplus_accounting_is_reported_apart() {
    let mut t = EventTrace::new(2, 4 * S);
    t.sleep(2 * S, 0, 0);
    let EventKind::Switch(switch) = &mut t.events.last_mut().unwrap().kind else { panic!() };
    switch.prev_runtime = Nanos(2_100_000_000);
    let view = t.view();
    assert_near(view.overaccounted_s, 0.1);
    assert_near(view.components.user_work_s + view.components.kernel_work_s.unwrap(), 2.0);
    assert_near(view.components.unexplained_s, 0.0);
    assert_eq!(view.unexplained_by_cpu, [(CpuId(0), 0.0), (CpuId(1), 0.0)]);
    assert_near(two_command_trace().view().overaccounted_s, 0.0);
}

/// Perf events cover the command alone: the time of other programs is known from the CPUs'
/// counters, and only as a sum.
#[test]
fn counters_show_untraced_programs() {
    let untold = |source: TraceSource, watched: bool| {
        let mut t = EventTrace::new(2, 4 * S);
        t.header.facts.source = source;
        let around = t.header.run.surroundings.as_mut().unwrap();
        around.own_ns = Nanos(100_000_000);
        around.busy_allotted_ns = around.tree_ns + Nanos(1_100_000_000);
        t.header.run.surroundings = t.header.run.surroundings.filter(|_| watched);
        t.view().untold_others_s
    };
    assert_eq!(untold(TraceSource::Bpf, true), None, "they are in the trace");
    assert_near(untold(TraceSource::Perf, true).unwrap(), 1.0);
    assert_eq!(untold(TraceSource::Perf, false), None);
}

/// The table and the components share one definition: time accounted to the wrong thread is
/// returned within a busy period.
#[test]
fn commands_and_others_agree_with_the_components() {
    let mut t = EventTrace::new(1, 6 * S);
    t.leave(2 * S, 0, PrevState::Preempted, PEER);
    let EventKind::Switch(switch) = &mut t.events.last_mut().unwrap().kind else { panic!() };
    switch.prev_runtime = Nanos(2_300_000_000);
    t.sleep(5 * S, 0, 0);
    let view = t.view();
    let work = view.components.user_work_s + view.components.kernel_work_s.unwrap();
    assert_near(command(&view, "main").cpu_s, work);
    assert_near(view.others.iter().map(|(_, seconds)| seconds).sum(), view.components.other_processes_s);
}

#[test]
fn losses_are_those_of_the_buffers_or_those_in_the_stream() {
    let mut t = two_command_trace();
    t.header.facts.lost = vec![CpuLoss { cpu: CpuId(0), dropped: 5 }, CpuLoss { cpu: CpuId(1), dropped: 1 }];
    t.header.facts.missed = 2;
    assert_eq!(t.view().lost_events, 8);
    let mut t = two_command_trace();
    t.events.insert(4, Event { kind: EventKind::Lost { events: 9 }, ..t.events[3].clone() });
    assert_eq!(t.view().lost_events, 9);
}

/// The stream is cut off, also before the first event: the header holds the number of events.
#[test]
fn missing_events_are_lost() {
    let mut t = two_command_trace();
    t.header.facts.events = t.events.len() as u64;
    for left in [0, 1, t.events.len()] {
        assert_eq!(t.view_first(left).lost_events, (t.events.len() - left) as u64);
    }
    let nothing = read_events(std::io::empty()).unwrap();
    let view = trace_view(&DecodedTrace::new(&t.header, nothing), "any");
    assert_eq!(view.lost_events, t.header.facts.events);
    // Events of a kind that only a later version knows are not lost.
    t.header.facts.events += 3;
    let decoded = Decoded { events: t.events.clone(), unknown_events: 3, ..Decoded::default() };
    assert_eq!(trace_view(&DecodedTrace::new(&t.header, decoded), "any").lost_events, 0);
}

/// Any event, in any order: the possible content of a lossy trace or of a faulty tracer's trace.
fn any_event() -> impl Strategy<Value = (u64, u32, u8, u32, u32, u64)> {
    (0..S, 0..3_u32, 0..10_u8, 0..6_u32, 0..6_u32, 0..S)
}

proptest! {
    /// For any events, nothing panics, shares add up, and the division loses and invents no wait.
    #[test]
    fn sums_hold_for_any_events(events in prop::collection::vec(any_event(), 0..120)) {
        let mut t = EventTrace::new(2, S);
        t.stack(1, &["_raw_spin_lock", "alpha"]);
        t.stack(2, &["_raw_spin_lock", "beta"]);
        // The idle loop, the daemon, the main process and its children.
        let tid = |index: u32| [0, PEER, ROOT, 101, 102, 103][index as usize];
        let mut events = events;
        events.sort();
        for (us, cpu, kind, one, two, long) in events {
            let (one, two) = (tid(one), tid(two));
            match kind {
                0 | 1 => t.sleep(us, cpu, one),
                2 => t.leave(us, cpu, PrevState::Preempted, one),
                3 => t.die(us, cpu, one),
                4 | 5 => t.wake(us, cpu, one.max(1), two.max(1)),
                6 => t.fork(us, cpu, one.max(1), two.max(101)),
                7 => t.exec(us, cpu, one.max(1), ["cc1", "as"][cpu as usize % 2], accounts(long, us)),
                8 => t.exit(us, cpu, one.max(1), accounts(us, long)),
                _ => t.contended(us, cpu, one.max(1), long % 3, long).stack = [None, Some(1), Some(2)][cpu as usize],
            }
        }
        let (header, events) = (t.header.clone(), t.events.clone());
        let view = t.view();
        let timeline = morecores_explain::trace::Timeline::new(&header, &events);
        for shares in [&view.parallelism.running, &view.parallelism.runnable] {
            prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
        }
        prop_assert!((view.parts.serial_s + view.parts.parallel_s - 1.0).abs() < 1e-9);
        let phases = view.serial_phases.windows(2);
        phases.for_each(|two| assert!(two[0].start_s + two[0].duration_s <= two[1].start_s + 1e-9));
        let parts = serde_json::to_value(view.components).unwrap();
        let components: f64 = parts.as_object().unwrap().values().filter_map(serde_json::Value::as_f64).sum();
        prop_assert!((components - 2.0).abs() < 1e-9, "{parts}");
        let lost: f64 = view.culprits.iter().map(|culprit| culprit.lost_cpus).sum();
        prop_assert!((lost - view.components.idle_too_little_work_s).abs() < 1e-9, "{lost} {parts}");
        let waits = timeline.contentions.iter().filter(|w| timeline.thread(w.thread).in_tree).count() as u64;
        prop_assert_eq!(view.locks.iter().map(|lock| lock.count).sum::<u64>(), waits);
        let ratios: f64 = view.commands.iter().map(|command| command.cpu_ratio).sum();
        prop_assert!(view.commands.iter().all(|command| command.cpu_s == 0.0) || (ratios - 1.0).abs() < 1e-9);
        prop_assert!(view.waiting_ratio.is_none_or(|ratio| (0.0..=1.0).contains(&ratio)));
    }
}
