//! A trace follows the command's whole tree, reports every loss, and leaves nothing behind.

use std::collections::{HashMap, HashSet};
use std::process::Command;

use crate::support::{TracedRun, all_cpus, trace, trace_with};
use morecores_study::trace::{EventKind, Interrupt, Object, PrevState, Tid, Waker};
use morecores_study::{Bytes, CpuId, Nanos};
use morecores_testkit::report_skip;
use morecores_trace::Options;

/// Asserts that each thread of the tree was seen to end, and was on a CPU only between its birth
/// and its last switch.
fn assert_complete(traced: &TracedRun) {
    let tree: HashSet<Tid> = traced.tree().into_iter().collect();
    let ended: HashSet<Tid> = traced
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Exit(exit) => Some(exit.tid),
            _ => None,
        })
        .collect();
    let endless: Vec<_> = tree.difference(&ended).collect();
    assert!(endless.is_empty(), "not seen to end: {endless:?}");
}

/// Asserts that every switch of a CPU begins with the thread that the previous switch ended with.
/// Only switches of threads outside the tree may be missing: some kernels leave a thread without an
/// event, as `perf record -e sched:sched_switch` also shows. The frequency of such threads depends
/// on the machine.
fn assert_continuous(traced: &TracedRun) {
    let tree: HashSet<Tid> = traced.tree().into_iter().collect();
    let mut running: HashMap<CpuId, Tid> = HashMap::new();
    for event in &traced.events {
        if let EventKind::Switch(switch) = &event.kind {
            let before = running.insert(event.cpu, switch.next).unwrap_or(switch.prev);
            assert!(before == switch.prev || !tree.contains(&before), "{before:?} ran before {event:?}");
        }
    }
    assert!(!running.is_empty(), "no switch was seen");
}

#[test]
fn the_tree_is_followed_across_exec_setsid_threads_and_namespaces() {
    const NAME: &str = "the_tree_is_followed_across_exec_setsid_threads_and_namespaces";
    let script = "setsid sh -c 'exec sleep 0.02' & (sh -c 'sleep 0.01; true' &) ; \
                  unshare --pid --fork sh -c 'sleep 0.01; ls >/dev/null'; wait; sleep 0.05";
    let Some(traced) = trace(NAME, script) else { return };
    assert_complete(&traced);
    assert_continuous(&traced);
    assert!(traced.recorded.lost.is_empty() && traced.recorded.missed == 0);
    // In its own namespace, `ls` sees another number of itself than the test does.
    assert!(traced.tree().contains(&traced.program("ls")));
    assert!(traced.tree().len() >= 8, "{:?}", traced.tree());
}

#[test]
fn a_thread_has_its_accounts_when_it_ends() {
    const NAME: &str = "a_thread_has_its_accounts_when_it_ends";
    // The shell loops until it has used 5 hundredths of a second of CPU time by fields 14 and 15 of
    // proc_pid_stat(5).
    let burn = "while read -r l </proc/self/stat; set -- ${l##*) }; [ $((${12} + ${13})) -lt 5 ]; do \
                i=0; while [ $i -lt 9999 ]; do i=$((i+1)); done; done";
    let Some(traced) = trace(NAME, burn) else { return };
    let root = traced.recorded.root;
    let exit = traced.events.iter().find_map(|event| match &event.kind {
        EventKind::Exit(exit) if exit.tid == root => Some(exit.accounts),
        _ => None,
    });
    let accounts = exit.unwrap();
    // Time on a CPU according to the switches, which are the reference here.
    let (mut since, mut on_cpu) = (None, Nanos::ZERO);
    for event in &traced.events {
        if let EventKind::Switch(switch) = &event.kind {
            if switch.next == root {
                since = Some(event.at);
            } else if switch.prev == root {
                on_cpu += since.map_or(Nanos::ZERO, |since| event.at.since(since));
            }
        }
    }
    assert!(accounts.runtime >= Nanos::from_millis(50), "{accounts:?}");
    let ratio = accounts.runtime.as_secs_f64() / on_cpu.as_secs_f64();
    // The account is smaller if a hypervisor or interrupts took time; the last part of an exit is
    // not yet accounted.
    assert!(ratio < 1.02, "{accounts:?}, on a CPU for {on_cpu:?}");
    assert!(accounts.minor_faults > 10);
}

#[test]
fn many_short_processes_are_recorded_completely() {
    const NAME: &str = "many_short_processes_are_recorded_completely";
    let script = "i=0; while [ $i -lt 600 ]; do /bin/true & /bin/true; i=$((i+1)); done; wait";
    let Some(traced) = trace(NAME, script) else { return };
    assert_complete(&traced);
    assert_continuous(&traced);
    // Other processes may run this program at the same time.
    let tree: HashSet<Tid> = traced.tree().into_iter().collect();
    let programs = traced.events.iter().filter(|event| match &event.kind {
        EventKind::Exec(exec) => exec.name.to_string() == "true" && tree.contains(&exec.tid),
        _ => false,
    });
    assert_eq!(programs.count(), 1200);
}

#[test]
fn events_beyond_a_small_buffer_are_counted() {
    const NAME: &str = "events_beyond_a_small_buffer_are_counted";
    let cpus = all_cpus().len() as u64;
    let options =
        Options { buffers: Some(Bytes::from_kib(4 * cpus)), syscalls: true, ..Options::new(all_cpus()) };
    let script = "dd if=/dev/zero of=/dev/null bs=1 count=200000 2>/dev/null";
    let Some(traced) = trace_with(NAME, &options, Command::new("sh").args(["-c", script])) else { return };
    let lost: u64 = traced.recorded.lost.iter().map(|loss| loss.dropped).sum();
    let told: u64 = traced
        .events
        .iter()
        .map(|event| match event.kind {
            EventKind::Lost { events } => events,
            _ => 0,
        })
        .sum();
    assert!(lost > 0);
    assert_eq!(told, lost, "what the stream tells is what the header says");
    let calls =
        traced.events.iter().filter(|event| matches!(event.kind, EventKind::SystemCall(_))).count() as u64;
    // A read and a write for each byte. Missing calls are among the lost events, together with
    // other losses.
    assert!(calls + lost >= 400_000, "{calls} seen, {lost} lost");
}

#[test]
fn calls_have_their_objects_in_an_exact_trace() {
    const NAME: &str = "calls_have_their_objects_in_an_exact_trace";
    let options = Options { syscalls: true, ..Options::new(all_cpus()) };
    let script = "echo some | cat; exit 0";
    let Some(traced) = trace_with(NAME, &options, Command::new("sh").args(["-c", script])) else { return };
    let reader = traced.program("cat");
    let calls: Vec<_> = traced
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::SystemCall(call) => Some(call),
            _ => None,
        })
        .collect();
    // `read` is 0 and `write` 1 on x86-64. The pipe is the object from which one process read five
    // bytes and to which the other wrote them.
    let read = calls.iter().find(|call| call.tid == reader && call.number == 0 && call.result == 5).unwrap();
    let wrote = calls.iter().find(|call| call.tid != reader && call.number == 1 && call.result == 5).unwrap();
    assert!(matches!(read.object, Object::Inode(inode) if inode != 0));
    assert_eq!(read.object, wrote.object);
    // The object of wait4 is the child.
    let waited = calls.iter().filter(|call| call.number == 61 && call.result > 0);
    for call in waited {
        assert_eq!(call.object, Object::Process(Tid(call.result as u32)));
    }
}

#[test]
fn a_wait_for_a_futex_names_the_futex() {
    const NAME: &str = "a_wait_for_a_futex_names_the_futex";
    // The test binary itself, as a program whose two threads meet at a mutex.
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "tree::program_of_two_threads"]).env("MORECORES_TEST_PROGRAM", "1");
    let Some(traced) = trace_with(NAME, &Options::new(all_cpus()), &mut command) else { return };
    let tree = traced.tree();
    let mut awaited: HashMap<u64, u64> = HashMap::new();
    for (event, next) in traced.events.iter().zip(traced.events.iter().skip(1)) {
        if let EventKind::Awaits { tid, object: Object::Futex(address) } = event.kind
            && tree.contains(&tid)
        {
            *awaited.entry(address).or_default() += 1;
            if next.cpu == event.cpu {
                assert!(
                    matches!(&next.kind, EventKind::Switch(switch) if switch.prev == tid && switch.prev_state == PrevState::Asleep),
                    "{next:?}"
                );
            }
        }
    }
    // A thread that comes while the other holds the mutex for a millisecond waits. The word of a
    // mutex with waiters shows this, in Rust's standard library as in glibc.
    let (mut locks, mut all) = (0, 0);
    for event in &traced.events {
        if let EventKind::FutexWait { tid, wait } = event.kind
            && tree.contains(&tid)
        {
            all += 1;
            locks += u32::from(wait.expects_a_taken_lock());
        }
    }
    assert!(locks > 0 && all == awaited.values().sum::<u64>(), "{locks} of {all}");
}

/// Program of the test above; does nothing on its own.
#[test]
fn program_of_two_threads() {
    if std::env::var_os("MORECORES_TEST_PROGRAM").is_none() {
        return;
    }
    let mutex = std::sync::Mutex::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let mut held = mutex.lock().unwrap();
                    *held += 1;
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            });
        }
    });
}

#[test]
fn in_a_pid_namespace_the_tracer_knows_its_number_and_reports_its_limits() {
    const NAME: &str = "in_a_pid_namespace_the_tracer_knows_its_number_and_reports_its_limits";
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc"]).arg(std::env::current_exe().unwrap());
    command
        .args(["--exact", "tree::trace_in_a_namespace", "--nocapture"])
        .env("MORECORES_TEST_NAMESPACE", NAME);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    if text.contains("unshare failed") {
        return report_skip(NAME, text.trim());
    }
    assert!(output.status.success(), "{text}");
}

/// Part of the test above that runs in its own namespace; does nothing on its own.
#[test]
fn trace_in_a_namespace() {
    let Ok(name) = std::env::var("MORECORES_TEST_NAMESPACE") else { return };
    let Some(traced) = trace(&name, "sleep 1") else { return };
    assert_complete(&traced);
    assert_eq!(traced.recorded.known, []);
    assert!(traced.recorded.untraced.iter().any(|untraced| untraced.why.contains("pid namespace")));
    // A timer wakes the reader at least every tenth of a second.
    let [tracer] = traced.recorded.tracer[..] else { panic!("{:?}", traced.recorded.tracer) };
    assert!(traced.wakers(tracer).contains(&Waker::Interrupt(Interrupt::Timer)), "{tracer:?}");
}
