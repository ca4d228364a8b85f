//! Futexes: which of them are locks, and the time behind these locks.

use morecores_explain::trace::idle_causes;
use morecores_explain::{DecodedTrace, trace_view, user_lock_names};
use morecores_study::Nanos;
use morecores_study::trace::{
    CodeAddress, Decoded, EventKind, Function, Interrupt, LockMode, LockUse, LockUses, Module, Object,
    PrevState, StackEnd, StackFrame, StackMoment, Tid, UserStack, Variable, Waker,
};
use morecores_view::TraceView;
use morecores_view::code::{CodeSite, LockHoldsView, RuntimeLock, UserLockView, WaitKind};

use super::schedule_trace::*;

/// Threads take turns with one futex; with `broadcast`, one of them wakes both others at once.
fn futex_turns(broadcast: bool) -> ScheduleTrace {
    let mut s = ScheduleTrace::new(3, 12.0);
    let lock = Object::Futex(0x1000);
    s.thread(0.0, ROOT, 101);
    s.thread(0.0, ROOT, 102);
    s.run(1, 101, 0.0, 1.0).sleeps(FUTEX).awaits(lock);
    s.run(2, 102, 0.0, 1.0).sleeps(FUTEX).awaits(lock);
    s.run(0, ROOT, 0.0, 4.0).sleeps(FUTEX).awaits(lock);
    s.wake_by_thread(4.0, ROOT, 101);
    if broadcast {
        s.wake_by_thread(4.0, ROOT, 102);
        s.run(1, 101, 4.0, 8.0).dies();
        s.run(2, 102, 4.0, 8.0).dies();
        s.wake_by_thread(8.0, 101, ROOT);
    } else {
        s.run(1, 101, 4.0, 8.0).sleeps(FUTEX).awaits(lock);
        s.wake_by_thread(8.0, 101, 102);
        s.run(2, 102, 8.0, 10.0).dies();
        s.wake_by_thread(10.0, 102, ROOT);
    }
    s.run(0, ROOT, if broadcast { 8.0 } else { 10.0 }, 12.0).dies();
    s
}

#[test]
fn futex_passed_between_threads_is_a_lock() {
    let s = futex_turns(false);
    let a = s.account();
    // From 1 to 10, two threads wait for the lock; 101's last wait never ends, and absorbs nothing.
    let lock = 3.0 * 2.0 + 4.0 * 2.0 + 2.0 * 1.0;
    let too_little = 2.0 * 1.0 + 2.0 * 2.0;
    let work = 1.0 + 1.0 + 4.0 + 4.0 + 2.0 + 2.0;
    assert_components(
        &a,
        &[("user_work", work), ("idle_user_lock", lock), ("idle_too_little_work", too_little)],
    );
}

/// The waiter of a lock is woken at 4 ms, and its idle CPU takes 1 ms to run it.
#[test]
fn waking_the_waiter_of_a_lock_belongs_to_the_lock() {
    let account_of = |asks: (u32, u32)| {
        let mut s = ScheduleTrace::new(2, 8.0);
        s.thread(0.0, ROOT, 101);
        s.run(0, ROOT, 0.0, 8.0).dies();
        s.run(1, 101, 0.0, 1.0).sleeps(FUTEX).awaits(Object::Futex(0x1000)).futex_args(asks.0, asks.1);
        s.wake_by_thread(4.0, ROOT, 101);
        s.run(1, 101, 5.0, 8.0).dies();
        s.account()
    };
    assert_components(&account_of((134, 0)), &[("user_work", 12.0), ("idle_user_lock", 3.0 + 1.0)]);
    // The words of glibc's mutex and of a robust one: thread 100 holds the lock.
    for asks in [(128, 2), (128, 0x8000_0064), (128, 0xc000_0064)] {
        let expected = [("user_work", 12.0), ("idle_user_lock", 3.0 + 1.0)];
        assert_components(&account_of(asks), &expected);
    }
    // A signal is no lock: the waiter waits for the main process, and then for its CPU. All ones
    // are a parked thread of Rust's standard library, and the sign alone a semaphore of musl.
    for asks in [(128, 7), (128, u32::MAX), (128, 0x8000_0000)] {
        let expected = [("user_work", 12.0), ("idle_too_little_work", 3.0), ("idle_scheduling", 1.0)];
        assert_components(&account_of(asks), &expected);
    }
}

/// Two threads take turns of 5 ms with a condition variable of two words. If `patience` is given,
/// the waiter looks again after this time, as at the interpreter lock of CPython.
fn turns_at_a_condition_variable(patience: Option<f64>) -> ScheduleTrace {
    turns_with_looks(patience, 0.5)
}

/// The same; a look takes `look` milliseconds.
fn turns_with_looks(patience: Option<f64>, look: f64) -> ScheduleTrace {
    let mut s = ScheduleTrace::new(2, 21.0);
    let cpu = |thread: u32| u32::from(thread != ROOT);
    let run = |s: &mut ScheduleTrace, thread: u32, from: f64, to: f64| {
        let word = Object::Futex(if thread == ROOT { 0x1008 } else { 0x100c });
        s.run(cpu(thread), thread, from, to).sleeps(FUTEX).awaits(word).futex_args(137, 0);
    };
    s.thread(0.0, ROOT, 101);
    run(&mut s, 101, 0.0, 0.5);
    let (mut holder, mut waiter) = (ROOT, 101);
    for turn in 0..4 {
        let begin = 5.0 * f64::from(turn);
        if let Some(patience) = patience {
            s.wake(begin + patience, Waker::Interrupt(Interrupt::Timer), waiter);
            run(&mut s, waiter, begin + patience, begin + patience + look);
        }
        if turn < 3 {
            run(&mut s, holder, begin, begin + 5.0);
        } else {
            s.run(cpu(holder), holder, begin, begin + 5.0).dies();
        }
        s.wake_by_thread(begin + 5.0, holder, waiter);
        (holder, waiter) = (waiter, holder);
    }
    s.run(cpu(holder), holder, 20.0, 21.0).dies();
    s
}

#[test]
fn a_condition_variable_with_timed_waits_is_a_lock() {
    let lock = turns_at_a_condition_variable(Some(4.0)).account();
    let work = 0.5 + 4.0 * (5.0 + 0.5) + 1.0;
    let waiting = 4.0 + 3.0 * 4.5;
    assert_components(
        &lock,
        &[("user_work", work), ("idle_user_lock", waiting), ("idle_too_little_work", 1.0)],
    );
    // Without time-outs the threads may hand work to each other.
    let ping_pong = turns_at_a_condition_variable(None).account();
    assert_components(&ping_pong, &[("user_work", 21.5), ("idle_too_little_work", 20.5)]);
}

/// A thread holds a mutex for 4 of each 5 ms and takes it again before the woken waiter runs. The
/// waiter finds it taken and waits again, until the holder has done all its work.
#[test]
fn a_starving_waiter_waits_for_the_lock() {
    let mut s = ScheduleTrace::new(2, 20.0);
    let lock = Object::Futex(0x1000);
    s.thread(0.0, ROOT, 101);
    s.run(0, ROOT, 0.0, 15.0).dies();
    s.run(1, 101, 0.0, 0.5).sleeps(FUTEX).awaits(lock).futex_args(128, 2);
    for release in [4.0, 9.0] {
        s.wake_by_thread(release, ROOT, 101);
        s.run(1, 101, release + 1.5, release + 2.0).sleeps(FUTEX).awaits(lock).futex_args(128, 2);
    }
    s.wake_by_thread(14.0, ROOT, 101);
    s.run(1, 101, 14.5, 20.0).dies();
    let (waiting, waking) = (3.5 + 3.0 + 3.0, 1.5 + 1.5 + 0.5);
    assert_components(
        &s.account(),
        &[
            ("user_work", 15.0 + 1.5 + 5.5),
            ("idle_user_lock", waiting + waking),
            ("idle_too_little_work", 5.0),
        ],
    );
}

#[test]
fn blocked_period_with_lock_waiters_is_charged_to_the_lock() {
    let lock = Object::Futex(0x1000);
    for (by, prev_state, cause_index) in [
        (Waker::Interrupt(Interrupt::Timer), PrevState::Asleep, 0),
        (Waker::Interrupt(Interrupt::Device(24)), PrevState::Uninterruptible, 1),
        (Waker::Thread(Tid(STRANGER)), PrevState::Asleep, 2),
    ] {
        let mut s = ScheduleTrace::new(2, 8.0);
        s.thread(0.0, ROOT, 101);
        s.thread(0.0, ROOT, 102);
        // The main process has the lock and waits; both others wait for the lock.
        s.run(0, ROOT, 0.0, 1.0).leaves(prev_state);
        s.run(1, 101, 0.0, 0.5).sleeps(FUTEX).awaits(lock).futex_args(128, 2);
        s.run(1, 102, 0.5, 1.0).sleeps(FUTEX).awaits(lock).futex_args(128, 2);
        s.wake(4.0, by, ROOT);
        s.run(0, ROOT, 4.0, 8.0).dies();
        s.wake_by_thread(5.0, ROOT, 101);
        s.run(1, 101, 5.0, 6.0).dies();
        s.wake_by_thread(6.0, 101, 102);
        s.run(1, 102, 6.0, 8.0).dies();
        let a = s.account();
        assert_components(&a, &[("user_work", 1.0 + 1.0 + 4.0 + 3.0), ("idle_user_lock", 2.0 * 3.0 + 1.0)]);
        let behind = a.idle.times.behind_user_lock;
        let milliseconds =
            [behind.timer_s, behind.disk_s, behind.peer_s].map(|seconds| (seconds * 1e3).round());
        let mut expected = [0.0; 3];
        expected[cause_index] = 6.0;
        assert_eq!(milliseconds, expected);
    }
}

/// Two jobs at a time on four CPUs: four workers of a pool do them in turns, and a worker that has
/// done one wakes another worker for the next. `asks` are the arguments of their futex calls.
fn worker_pool(asks: Option<(u32, u32)>) -> ScheduleTrace {
    const WORKERS: [u32; 4] = [101, 102, 103, 104];
    let mut s = ScheduleTrace::new(4, 14.0);
    let free = Object::Futex(0x2000);
    let wait = |run: &mut CpuRun| {
        run.sleeps(FUTEX).awaits(free);
        if let Some((operation, expected)) = asks {
            run.futex_args(operation, expected);
        }
    };
    s.run(0, ROOT, 0.0, 2.0).sleeps(WAIT4);
    for (worker, cpu) in WORKERS.into_iter().zip(0..) {
        s.thread(0.0, ROOT, worker);
        let from = if cpu == 0 { 2.0 } else { 0.0 };
        wait(s.run(cpu, worker, from, from + 0.5));
    }
    s.wake_by_thread(3.0, ROOT, 101);
    s.wake_by_thread(3.5, ROOT, 102);
    // One job after the other in each of two rows, half a millisecond apart.
    for job in 0..8 {
        let (from, row) = (3.0 + f64::from(job), job as usize % 2);
        for (begin, worker) in [(from, row * 2), (from + 0.5, row * 2 + 1)] {
            wait(s.run(worker as u32, WORKERS[worker], begin, begin + 1.0));
            if job < 7 {
                s.wake_by_thread(begin + 1.0, WORKERS[worker], WORKERS[(worker + 2) % 4]);
            }
        }
    }
    s.wake_by_thread(12.0, 104, ROOT);
    s.run(0, ROOT, 12.0, 14.0).dies();
    s
}

#[test]
fn a_pool_with_one_condition_variable_is_not_a_lock() {
    let a = worker_pool(None).account();
    let parts = nonzero_components(&a.components);
    assert_eq!(parts.get("idle_user_lock"), None, "{parts:?}");
    assert!(parts["idle_too_little_work"] > 20.0, "{parts:?}");
}

#[test]
fn futex_call_arguments_identify_a_lock() {
    // FUTEX_WAIT_PRIVATE with a word that means "taken and waited for", with or without a thread's
    // number, and FUTEX_LOCK_PI_PRIVATE.
    for asks in [(128, 2), (128, 0x8000_0065), (134, 0)] {
        let a = worker_pool(Some(asks)).account();
        assert!(nonzero_components(&a.components)["idle_user_lock"] > 10.0, "{asks:?}: {a:?}");
    }
    // For a counter, and for the zero of a semaphore or of a condition variable, the order of the
    // wake-ups decides.
    for asks in [(128, 7), (137, 0)] {
        let a = worker_pool(Some(asks)).account();
        assert_eq!(a.components.idle_user_lock_s, Some(0.0), "{asks:?}");
    }
}

#[test]
fn producer_does_not_make_a_queue_a_lock() {
    let mut s = ScheduleTrace::new(4, 9.0);
    let queue = Object::Futex(0x3000);
    for (tid, cpu) in [(101, 1), (102, 2), (103, 3)] {
        s.thread(0.0, ROOT, tid);
        if tid != 103 {
            s.run(cpu, tid, 0.0, 0.5).sleeps(FUTEX).awaits(queue);
        }
    }
    s.run(3, 103, 0.0, 9.0);
    s.run(0, ROOT, 0.0, 9.0).dies();
    for (at, by, worker, cpu) in
        [(1.0, ROOT, 101, 1), (2.0, 103, 102, 2), (4.0, 103, 101, 1), (6.0, ROOT, 102, 2)]
    {
        s.wake_by_thread(at, by, worker);
        s.run(cpu, worker, at, at + 1.0).sleeps(FUTEX).awaits(queue);
    }
    assert_components(&s.account(), &[("user_work", 9.0 + 9.0 + 5.0), ("idle_too_little_work", 13.0)]);
}

#[test]
fn a_futex_broadcast_is_not_a_lock() {
    let a = futex_turns(true).account();
    assert_components(
        &a,
        &[("user_work", 1.0 + 1.0 + 4.0 + 4.0 + 4.0 + 4.0), ("idle_too_little_work", 18.0)],
    );
}

/// Rows of the command's locks, with names for these addresses: a variable, and an offset in it.
fn named_locks(s: ScheduleTrace, names: &[(u64, &str, u64)]) -> Vec<UserLockView> {
    view_with_variables(s, names).user_locks
}

fn view_with_variables(mut s: ScheduleTrace, names: &[(u64, &str, u64)]) -> TraceView {
    let variable = |&(address, name, offset): &(u64, &str, u64)| Variable {
        process: Tid(ROOT),
        address,
        module: 0,
        name: name.to_owned(),
        offset,
    };
    s.header.facts.variables = names.iter().map(variable).collect();
    let decoded =
        Decoded { events: s.events(), damaged_frames: 0, lost_events: 0, unknown_events: 0, cut_off: false };
    trace_view(&DecodedTrace::new(&s.header, decoded), "x86_64")
}

#[test]
fn locks_have_waits_and_the_names_of_their_variables() {
    let lock = |names: &[(u64, &str, u64)]| {
        let mut rows = named_locks(futex_turns(false), names);
        assert_eq!(rows.len(), 1, "{rows:#?}");
        rows.remove(0)
    };
    // Thread 101 waits from 1 to 4, 102 from 1 to 8 and the main process from 4 to 10. The lock is
    // held all the time from 1 to 10.
    let row = lock(&[(0x1000, "table_lock", 0)]);
    let ms = [row.wait_s, row.max_wait_s, row.held_s].map(|seconds| (seconds * 1e3).round());
    assert_eq!((row.name.as_deref(), row.waits, ms), (Some("table_lock"), 3, [16.0, 7.0, 9.0]));
    assert_eq!(row.command, "main");
    assert_eq!(lock(&[(0x1000, "tables", 40)]).name.as_deref(), Some("tables+0x28"));
    assert_eq!(lock(&[(0x1008, "other", 0)]).name, None);
    // A variable of the same name without time-outs is no interpreter lock.
    let runtime = lock(&[(0x1000, "_PyRuntime", 8)]);
    assert_eq!((runtime.name.as_deref(), runtime.runtime), (Some("_PyRuntime+0x8"), None));
}

#[test]
fn the_interpreter_lock_of_cpython_has_its_name() {
    let names = [(0x1008, "_PyRuntime", 360), (0x100c, "_PyRuntime", 364)];
    let rows = named_locks(turns_at_a_condition_variable(Some(4.0)), &names);
    let runtimes: Vec<_> = rows.iter().map(|row| row.runtime).collect();
    assert_eq!(runtimes, [Some(RuntimeLock::PythonGil)]);
}

/// A lock below `malloc` is that of an arena, also one in a variable. Its place is the caller.
/// Below another function of the library it is a lock of the program.
#[test]
fn a_lock_of_the_allocator_is_known_by_its_callers() {
    let lock = |library_function: &str| {
        let mut s = futex_turns(false);
        let module = |path: &str| Module { path: path.to_owned(), build_id: None };
        s.header.facts.modules = vec![module("/usr/bin/main"), module("/usr/lib/libc.so.6")];
        let function = |module: u32, index: u64, name: &str| Function {
            module,
            start: 0x1000 + 0x100 * index,
            end: 0x1100 + 0x100 * index,
            name: Some(name.to_owned()),
            source: None,
        };
        s.header.facts.functions = vec![
            function(0, 0, "main"),
            function(0, 1, "update"),
            function(0, 2, "make_node"),
            function(1, 0, library_function),
        ];
        add_stack(&mut s, 0.999, 102, StackMoment::Wait, 0, [2, 1]);
        let mut rows = named_locks(s, &[(0x1000, "main_arena", 0)]);
        assert_eq!(rows.len(), 1, "{rows:#?}");
        rows.remove(0)
    };
    let row = lock("malloc");
    assert_eq!((row.runtime, row.name), (Some(RuntimeLock::MallocArena), None));
    let site = (row.sites[0].function.as_str(), row.sites[0].kind);
    assert_eq!(site, ("make_node", Some(WaitKind::Allocator)));
    let row = lock("pthread_mutex_lock");
    assert_eq!((row.runtime, row.name.as_deref()), (None, Some("main_arena")));
    assert_eq!(row.sites[0].kind, Some(WaitKind::Mutex));
}

/// One thread always waits from 0.5 ms on, until the other wakes it at the end of its turn.
#[test]
fn a_lock_with_timeouts_is_held_while_its_waiters_look_at_it() {
    let held_ms = |look| {
        let rows = named_locks(turns_with_looks(Some(4.0), look), &[(0x1008, "_PyRuntime", 360)]);
        assert_eq!(rows.len(), 1, "{rows:#?}");
        (rows[0].held_s * 1e3 * 100.0).round() / 100.0
    };
    assert_eq!(held_ms(0.05), 4.5 + 3.0 * 5.0);
    // A longer run after a time-out may be a turn. Nobody waits for the lock meanwhile.
    assert_eq!(held_ms(0.5), 4.5 - 0.5 + 3.0 * (5.0 - 0.5));
}

/// Turns of 5 ms. At the end of some, the waiter takes the lock after a time-out, and no thread
/// wakes it.
#[test]
fn a_waiter_that_takes_the_lock_after_a_timeout_ends_the_hold_of_the_other_thread() {
    let mut s = ScheduleTrace::new(2, 41.0);
    let cpu = |thread: u32| u32::from(thread != ROOT);
    let waits = |run: &mut CpuRun| {
        run.sleeps(FUTEX).awaits(Object::Futex(0x1008)).futex_args(137, 0);
    };
    s.thread(0.0, ROOT, 101);
    waits(s.run(1, 101, 0.0, 0.5));
    let (mut holder, mut waiter) = (ROOT, 101);
    for turn in 0..8 {
        let end = 5.0 * f64::from(turn) + 5.0;
        if turn == 2 || turn == 5 || turn == 6 {
            s.wake(end, Waker::Interrupt(Interrupt::Timer), waiter);
        } else {
            s.wake_by_thread(end, holder, waiter);
        }
        // The next waiter begins to wait shortly after the other thread has taken the lock.
        let late = if turn < 7 { 0.1 } else { 0.0 };
        let begin = if turn == 0 { 0.0 } else { end - 5.0 };
        waits(s.run(cpu(holder), holder, begin, end + late));
        (holder, waiter) = (waiter, holder);
    }
    s.run(cpu(holder), holder, 40.0, 41.0).dies();
    let rows = named_locks(s, &[(0x1008, "_PyRuntime", 360)]);
    assert!((rows[0].held_s * 1e3 - (4.5 + 7.0 * 4.9)).abs() < 1e-6, "{rows:#?}");
}

/// The mutex and the second condition variable behind the first are parts of the interpreter lock,
/// and a mutex far behind is none.
#[test]
fn all_words_of_the_interpreter_lock_are_one_row() {
    let with_mutex = |address: u64| {
        let mut s = turns_with_looks(Some(4.0), 0.05);
        s.thread(0.0, ROOT, 102);
        s.run(1, 102, 6.0, 7.0).sleeps(FUTEX).awaits(Object::Futex(address)).futex_args(128, 2);
        s.wake_by_thread(8.0, 101, 102);
        s.run(1, 102, 11.0, 12.0).dies();
        named_locks(s, &[(0x1008, "_PyRuntime", 360), (address, "_PyRuntime", address - 0x1008 + 360)])
    };
    let rows = with_mutex(0x1068);
    assert_eq!(rows.len(), 1, "{rows:#?}");
    assert_eq!(
        (rows[0].runtime, rows[0].name.as_deref()),
        (Some(RuntimeLock::PythonGil), Some("_PyRuntime+0x168"))
    );
    let rows = with_mutex(0x1098);
    let runtimes: Vec<_> = rows.iter().map(|row| row.runtime).collect();
    assert_eq!(runtimes, [Some(RuntimeLock::PythonGil), None], "{rows:#?}");
}

/// Without a variable, the functions that wait tell the interpreter lock.
#[test]
fn the_interpreter_lock_of_a_stripped_python_is_known_by_its_callers() {
    let runtime = |caller: &str| {
        let mut s = turns_at_a_condition_variable(Some(4.0));
        let module = |path: &str| Module { path: path.to_owned(), build_id: None };
        s.header.facts.modules = vec![module("/usr/bin/python3.11"), module("/usr/lib/libc.so.6")];
        let function = |(index, name): (usize, Option<&str>)| Function {
            module: 0,
            start: 0x1000 + 0x100 * index as u64,
            end: 0x1100 + 0x100 * index as u64,
            name: name.map(str::to_owned),
            source: None,
        };
        s.header.facts.functions =
            [Some("main"), Some(caller), None].into_iter().enumerate().map(function).collect();
        add_stack(&mut s, 0.499, 101, StackMoment::Wait, 0, [2, 1]);
        let rows = named_locks(s, &[]);
        assert_eq!(rows.len(), 1, "{rows:#?}");
        rows[0].runtime
    };
    assert_eq!(runtime("_PyEval_EvalFrameDefault"), Some(RuntimeLock::PythonGil));
    assert_eq!(runtime("wait_for_work"), None);
}

/// Adds a stack to a moment of a thread, with frames from the number `first` on: `inner` called
/// from `caller` called from `main`, each at the place of this number, and a function of the C
/// library inside.
fn add_stack(s: &mut ScheduleTrace, ms: f64, tid: u32, moment: StackMoment, first: u32, calls: [u32; 2]) {
    let [inner, caller] = calls;
    let places = [(0, 0), (0, caller), (0, inner), (1, 0)];
    for (number, (module, place)) in (first..).zip(places) {
        let code = CodeAddress { module, offset: 0x1000 + u64::from(place) * 0x100 };
        let caller = number.checked_sub(1).filter(|caller| *caller >= first);
        s.event(ms, 0, EventKind::Frame(StackFrame { number, caller, code }));
    }
    let (frame, end) = (Some(first + 3), StackEnd::Outermost);
    let stack = UserStack { tid: Tid(tid), moment, frame, end, weight_log2: 0 };
    s.event(ms, 0, EventKind::UserStack(stack));
}

#[test]
fn locks_have_the_places_of_their_waits_and_holds() {
    let mut s = futex_turns(false);
    let module = |path: &str| Module { path: path.to_owned(), build_id: None };
    s.header.facts.modules = vec![module("/usr/bin/main"), module("/usr/lib/libc.so.6")];
    let names = ["main", "update", "lookup", "take", "give"];
    let function = |(index, name): (usize, &&str)| Function {
        module: 0,
        start: 0x1000 + 0x100 * index as u64,
        end: 0x1100 + 0x100 * index as u64,
        name: Some((*name).to_owned()),
        source: None,
    };
    s.header.facts.functions = names.iter().enumerate().map(function).collect();
    let (update, lookup, take, give) = (1, 2, 3, 4);
    add_stack(&mut s, 0.999, 101, StackMoment::Wait, 0, [take, update]);
    add_stack(&mut s, 0.999, 102, StackMoment::Wait, 4, [take, lookup]);
    add_stack(&mut s, 3.999, ROOT, StackMoment::Waking, 8, [give, update]);
    let decoded =
        Decoded { events: s.events(), damaged_frames: 0, lost_events: 0, unknown_events: 0, cut_off: false };
    let trace = DecodedTrace::new(&s.header, decoded);
    let names = user_lock_names(&trace, &idle_causes(&trace.timeline));
    assert_eq!(names.into_values().collect::<Vec<_>>(), ["a lock in take (update)"]);
    let rows = named_locks(s, &[(0x1000, "table_lock", 0)]);
    let places = |sites: &[CodeSite]| -> Vec<(String, Option<String>, f64)> {
        let place =
            |site: &CodeSite| (site.function.clone(), site.caller.clone(), (site.seconds * 1e3).round());
        sites.iter().map(place).collect()
    };
    let place = |function: &str, caller: &str, ms: f64| (function.to_owned(), Some(caller.to_owned()), ms);
    // Two of three waits have a stack: 3 ms in `update`, and 7 ms in `lookup`. They stand for all
    // 16 ms.
    assert_eq!(places(&rows[0].sites), [place("take", "lookup", 11.0), place("take", "update", 5.0)]);
    assert_eq!(places(&rows[0].holders), [place("give", "update", 9.0)]);
}

/// A process takes one variable from two places, and two locks without a name from one place. The
/// probes take 1 ms of each hold.
#[test]
fn counted_holds_are_summed_by_lock_without_the_time_of_the_probes() {
    let mut s = futex_turns(false);
    s.header.facts.modules = vec![Module { path: "/usr/bin/main".to_owned(), build_id: None }];
    let function = |(index, name): (usize, &&str)| Function {
        module: 0,
        start: 0x100 * index as u64,
        end: 0x100 * (index as u64 + 1),
        name: Some((*name).to_owned()),
        source: None,
    };
    s.header.facts.functions = ["update", "look_up"].iter().enumerate().map(function).collect();
    let held = |address, offset, mode, [count, held_ms, longest_ms]: [u64; 3]| LockUse {
        process: Tid(ROOT),
        address,
        mode,
        caller: offset + 1,
        code: Some(CodeAddress { module: 0, offset }),
        count,
        held_ns: Nanos(held_ms * 1_000_000),
        longest_ns: Nanos(longest_ms * 1_000_000),
        last_ns: Nanos(s.header.began_ns.0 + 1),
    };
    let uses = vec![
        held(0x1000, 0x010, LockMode::Mutex, [2, 10, 7]),
        held(0x1000, 0x110, LockMode::Mutex, [3, 20, 9]),
        held(0x9000, 0x110, LockMode::Read, [4, 6, 2]),
        held(0x9100, 0x120, LockMode::Read, [1, 2, 2]),
        // The probes took longer than on average before the run.
        held(0x9000, 0x010, LockMode::Write, [5, 4, 1]),
    ];
    let probes_ns = Some(Nanos(1_000_000));
    s.header.facts.lock_uses = Some(LockUses { files: Vec::new(), uses, probes_ns, lost: 0 });
    let view = view_with_variables(s, &[(0x1000, "table", 0)]);
    let rows = view.lock_holds.expect("counted holds");
    let ms = |seconds: f64| (seconds * 1e3).round();
    let figures: Vec<_> = rows
        .iter()
        .map(|row| (row.name.as_deref(), row.mode, row.holds, ms(row.held_s), ms(row.max_hold_s)))
        .collect();
    assert_eq!(
        figures,
        [
            (Some("table"), LockMode::Mutex, 5, 25.0, 8.0),
            (None, LockMode::Read, 5, 3.0, 1.0),
            (None, LockMode::Write, 5, 0.0, 0.0),
        ]
    );
    assert_eq!(rows.iter().map(|row| ms(row.probes_s)).collect::<Vec<_>>(), [5.0, 5.0, 4.0]);
    let sites = |row: &LockHoldsView| -> Vec<(String, f64, f64)> {
        row.sites.iter().map(|site| (site.function.clone(), site.count, ms(site.seconds))).collect()
    };
    let site = |function: &str, count, ms| (function.to_owned(), count, ms);
    assert_eq!(sites(&rows[0]), [site("look_up", 3.0, 17.0), site("update", 2.0, 8.0)]);
    assert_eq!(sites(&rows[1]), [site("look_up", 5.0, 3.0)]);
    assert!(rows.iter().all(|row| row.command == "main"), "{rows:?}");
}

/// A damaged trace may have any address.
#[test]
fn locks_at_the_last_addresses_have_rows() {
    let mut s = turns_at_a_condition_variable(Some(4.0));
    let last = |address: u64| u64::MAX - 0xf + (address & 0xf);
    let variable = |address| Variable {
        process: Tid(ROOT),
        address: last(address),
        module: 0,
        name: "_PyRuntime".to_owned(),
        offset: address,
    };
    s.header.facts.variables = [0x1008, 0x100c].map(variable).to_vec();
    let mut events = s.events();
    for event in &mut events {
        if let EventKind::Awaits { object: Object::Futex(address), .. } = &mut event.kind {
            *address = last(*address);
        }
    }
    let decoded = Decoded { events, damaged_frames: 0, lost_events: 0, unknown_events: 0, cut_off: false };
    let rows = trace_view(&DecodedTrace::new(&s.header, decoded), "x86_64").user_locks;
    let runtimes: Vec<_> = rows.iter().map(|row| row.runtime).collect();
    assert_eq!(runtimes, [Some(RuntimeLock::PythonGil)]);
}
