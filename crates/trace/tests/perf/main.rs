//! Real programs under perf events, first as the user who runs the tests and then as an ordinary
//! user. The tests compare the records with the kernel's accounts of the threads.

#![allow(clippy::print_stdout)] // Measured figures, for `--nocapture`.

mod stacks;
mod support;

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::sync::mpsc;

use morecores_study::CpuSet;
use morecores_study::trace::{Event, EventKind, PrevState, Tid};
use morecores_testkit::{CProgram, report_skip};
use morecores_trace::perf::{PerfError, PerfTracer};
use support::{Account, TracedRun, program, trace, trace_then};

/// The tracer; none if it cannot be opened, with a note of the reason.
fn tracer(name: &str) -> Option<PerfTracer> {
    support::tracer().map_err(|reason| report_skip(name, &reason)).ok()
}

fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", line]).env("PROGRAM", program());
    command
}

#[test]
fn a_shell_with_a_spinner_and_a_sleeper() {
    let Some(mut tracer) = tracer("a_shell_with_a_spinner_and_a_sleeper") else { return };
    let traced = trace(&mut tracer, &mut shell("$PROGRAM spin 400 & sleep 0.2 & wait"));
    assert_accounts(&traced);
    let forks = traced.forks();
    assert_eq!(forks.len(), 3, "{forks:?}");
    assert!(forks[1..].iter().all(|fork| fork.parent == traced.pid && fork.process == fork.child));
    let mut programs: Vec<String> = traced.programs().into_iter().map(|(_, name)| name).collect();
    programs.sort();
    assert_eq!(programs, ["program", "sh", "sleep"]);
    assert!(traced.departures(traced.pid) > 0, "the shell waits");
}

#[test]
fn threads_that_share_cpus_are_preempted() {
    let Some(mut tracer) = tracer("threads_that_share_cpus_are_preempted") else { return };
    let traced = trace(&mut tracer, Command::new(program()).args(["spin-in-threads", "200"]));
    assert_accounts(&traced);
    let forks = traced.forks();
    assert_eq!(forks.len(), 5, "{forks:?}");
    assert!(forks.iter().all(|fork| fork.process == traced.pid));
    // Four threads that each want a CPU for 200 ms at the same time: on one CPU none has it for so
    // long without a break.
    let preempted =
        |event: &&Event| matches!(event.kind, EventKind::Switch(s) if s.prev_state == PrevState::Preempted);
    let cpus = std::thread::available_parallelism().unwrap().get();
    assert!(cpus > 1 || traced.events.iter().filter(preempted).count() > 0);
}

#[test]
fn workers_of_io_uring_are_threads_of_their_process() {
    const NAME: &str = "workers_of_io_uring_are_threads_of_their_process";
    let Some(mut tracer) = tracer(NAME) else { return };
    let program = CProgram::compile("uring", include_str!("../uring.c"));
    let allowed = Command::new(program.path()).arg("1").stdout(Stdio::null()).status().unwrap();
    if allowed.code() == Some(77) {
        return report_skip(NAME, "io_uring is switched off or not there");
    }
    let traced = trace(&mut tracer, Command::new(program.path()).arg("20"));
    traced.assert_complete();
    let workers: Vec<_> = traced.forks().into_iter().filter(|fork| fork.child != fork.process).collect();
    assert!(!workers.is_empty() && workers.iter().all(|fork| fork.process == traced.pid), "{workers:?}");
}

/// Asserts that each thread with an account ran for about the accounted time or longer by its
/// trace, and left its CPU as often or a few times more. The trace includes the time of a
/// hypervisor and of interrupts, and the thread's end. The excess depends on the machine. At a
/// switch, the kernel reads the clock for the account and for the trace one after the other. An
/// emulated CPU can stop between them, which took 5% of a thread's time. `TracedRun::whole` checks
/// that no CPU had two threads at once.
fn assert_accounts(traced: &TracedRun) {
    let accounts = traced.assert_complete().accounts();
    assert!(!accounts.is_empty(), "{}", traced.stdout);
    for (tid, account) in accounts {
        assert_departures(traced, tid, &account);
        let (traced, own) = (traced.runtime(tid).as_secs_f64(), account.runtime.as_secs_f64());
        println!("{tid:?} ran for {traced} s by its trace, {own} s by getrusage");
        assert!(traced > 0.9 * own, "{tid:?}: {traced} of {own} s");
    }
}

/// Asserts that the thread left its CPU as often as its account says. Between its account and its
/// end it may be preempted or wait for a lock, more often on a busier machine.
fn assert_departures(traced: &TracedRun, tid: Tid, account: &Account) {
    let more = traced.departures(tid).checked_sub(account.switches);
    assert!(
        more.is_some_and(|more| more <= 20 + account.switches / 10),
        "{tid:?}: {more:?} more than {account:?}"
    );
}

#[test]
fn a_child_stays_traced_through_renames_sessions_and_execs() {
    let Some(mut tracer) = tracer("a_child_stays_traced_through_renames_sessions_and_execs") else { return };
    let line = "printf renamed >/proc/$$/comm; (setsid sh -c 'sleep 0.01; exec sleep 0.01') & wait; sleep 0.1; \
                exec $PROGRAM exec-in-thread 0";
    let traced = trace(&mut tracer, &mut shell(line));
    traced.assert_complete();
    let named = |event: &&Event| matches!(event.kind, EventKind::Rename { tid, name } if tid == traced.pid && name.to_string() == "renamed");
    assert_eq!(traced.events.iter().filter(named).count(), 1);
    let programs: Vec<String> = traced.programs().into_iter().map(|(_, name)| name).collect();
    assert_eq!(programs.iter().filter(|name| *name == "sleep").count(), 3, "{programs:?}");
    assert!(programs.iter().any(|name| name == "setsid"), "{programs:?}");
    // The process's second thread took over the number of the first.
    let last = traced.events.iter().rev().find_map(|event| match event.kind {
        EventKind::Exec(exec) => Some(exec),
        _ => None,
    });
    let last = last.unwrap();
    assert_eq!((last.tid, last.name.to_string().as_str()), (traced.pid, "true"));
    assert!(last.was != last.tid && traced.forks().iter().any(|fork| fork.child == last.was));
}

#[test]
fn many_short_processes_are_recorded_without_loss() {
    let Some(mut tracer) = tracer("many_short_processes_are_recorded_without_loss") else { return };
    let traced = trace(&mut tracer, &mut shell("i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i+1)); done"));
    traced.assert_complete();
    let exits = traced.events.iter().filter(|event| matches!(event.kind, EventKind::Exit(_))).count();
    assert_eq!((traced.forks().len(), traced.programs().len(), exits), (501, 501, 501));
}

#[test]
fn many_switches_are_recorded_without_loss() {
    let Some(mut tracer) = tracer("many_switches_are_recorded_without_loss") else { return };
    // Many times the capacity of the buffers. A busy machine may keep the reader off its CPUs for
    // too long.
    let traces = (0..3).map(|_| trace(&mut tracer, Command::new(program()).args(["pipe", "200000"])));
    let Some(traced) = traces.into_iter().find(|traced| traced.recorded.lost.is_empty()) else {
        return report_skip(
            "many_switches_are_recorded_without_loss",
            "the reader had no CPU for too long, three times",
        );
    };
    // A trace includes no part of a switch, so run times are not compared if the threads do little
    // besides switching.
    for (tid, account) in traced.assert_complete().accounts() {
        assert_departures(&traced, tid, &account);
    }
    let (events, runtime) = (traced.recorded.events, traced.recorded.tracer_runtime);
    println!("{events} events, {} ns of the reader's time each", runtime.0 / events);
}

#[test]
fn lost_events_are_counted() {
    let Some(mut tracer) = tracer("lost_events_are_counted") else { return };
    let (release, released) = mpsc::channel::<()>();
    // The first batch comes when an eighth of a buffer is full. Its sink lets the buffer fill and
    // overflow until the program has ended.
    let command = &mut Command::new(program());
    let look = move |_: &[Event]| {
        let _ = released.recv();
    };
    let traced = trace_then(&mut tracer, command.args(["pipe", "200000"]), look, move || drop(release));
    let dropped: u64 = traced.recorded.lost.iter().map(|loss| loss.dropped).sum();
    assert!(dropped > 0);
    let told = traced.events.iter().filter_map(|event| match event.kind {
        EventKind::Lost { events } => Some(events),
        _ => None,
    });
    assert_eq!(told.sum::<u64>(), dropped);
    // Each departure of a thread is recorded or lost, and so is an equal number of arrivals.
    let (seen, truth) = traced.accounts().into_iter().fold((0, 0), |(seen, truth), (tid, account)| {
        let one = |event: &&Event| {
            matches!(event.kind, EventKind::Switch(s) if (s.prev == tid || s.next == tid) && s.prev_state != PrevState::Dead)
        };
        (seen + traced.events.iter().filter(one).count() as u64, truth + 2 * account.switches)
    });
    let error = (seen + dropped).abs_diff(truth);
    println!("{seen} seen and {dropped} lost of {truth}");
    // The count also includes losses of the first thread and of both ends of the others.
    assert!(error < 100, "{seen} seen and {dropped} lost, but there were {truth}");
}

#[test]
fn survivors_keep_running_and_stay_out_of_the_next_trace() {
    let Some(mut tracer) = tracer("survivors_keep_running_and_stay_out_of_the_next_trace") else { return };
    let survivor =
        trace(&mut tracer, &mut shell("setsid sh -c 'while :; do sleep 0.01; done' >&2 & echo $!"));
    assert_eq!(survivor.recorded.lost, []);
    let next = trace(&mut tracer, &mut Command::new("true"));
    let survives = survivor.stdout.trim().parse().unwrap();
    // SAFETY: a signal to a process that this test has started.
    #[allow(unsafe_code)]
    let killed = unsafe { libc::kill(survives, libc::SIGKILL) };
    assert_eq!(killed, 0, "it went on");
    assert_eq!(next.assert_complete().forks().len(), 1, "{:?}", next.forks());
}

#[test]
fn a_sink_that_fails_ends_the_recording() {
    let Some(mut tracer) = tracer("a_sink_that_fails_ends_the_recording") else { return };
    tracer.begin(|_, _| Err(io::Error::from(io::ErrorKind::StorageFull))).unwrap();
    assert!(Command::new("true").status().unwrap().success());
    let error = tracer.end().unwrap_err();
    assert!(matches!(error, PerfError::Sink { .. }), "{error}");
    trace(&mut tracer, &mut Command::new("true")).assert_complete();
}

#[test]
fn recording_begins_and_ends_once() {
    let Some(mut tracer) = tracer("recording_begins_and_ends_once") else { return };
    assert!(matches!(tracer.end(), Err(PerfError::NotRunning)));
    tracer.begin(|_, _| Ok(())).unwrap();
    assert!(matches!(tracer.begin(|_, _| Ok(())), Err(PerfError::AlreadyRunning)));
    let recorded = tracer.end().unwrap();
    assert_eq!((recorded.root, recorded.events), (None, 0), "no command was started");
    assert!(recorded.untraced.iter().any(|missing| missing.what.contains("wake-ups")));
    assert!(recorded.tracer.iter().all(|&tid| tid != Tid::UNSEEN && tid != Tid::IDLE));
    tracer.begin(|_, _| Ok(())).unwrap();
    drop(tracer);
}

#[test]
fn memory_for_buffers_runs_out_with_a_clear_message() {
    const NAME: &str = "memory_for_buffers_runs_out_with_a_clear_message";
    // Root has no limit on locked memory. The test below runs this one as an ordinary user, and
    // reports if it cannot.
    if rustix::process::geteuid().is_root() {
        return;
    }
    let Some(first) = tracer(NAME) else { return };
    let mut tracers = vec![first];
    let refused = loop {
        let last = tracers.last_mut().expect("one");
        let begun = last.begin(|_, _| Ok(()));
        let opened = begun.and_then(|()| PerfTracer::open(&CpuSet::new()));
        match opened {
            Ok(next) if tracers.len() < 500 => tracers.push(next),
            Ok(_) => return report_skip(NAME, "this user may lock memory for 500 tracers"),
            Err(refused) => break refused.to_string(),
        }
    };
    assert!(refused.contains("64 KiB for each of") && refused.contains("ulimit -l"), "{refused}");
    // With smaller buffers than requested, and beside other tracers, a tracer still works.
    let last = &mut tracers.into_iter().next_back().expect("one");
    if last.end().is_ok() {
        trace(last, &mut Command::new("true")).assert_complete();
    }
}

#[test]
fn an_ordinary_user_gets_the_same_message() {
    const NAME: &str = "an_ordinary_user_gets_the_same_message";
    // The copy is in a directory that every user can reach.
    let home = tempfile::tempdir().unwrap();
    std::fs::set_permissions(home.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let tests = home.path().join("tests");
    std::fs::copy(std::env::current_exe().unwrap(), &tests).unwrap();
    std::fs::set_permissions(&tests, PermissionsExt::from_mode(0o755)).unwrap();
    // The tests run one after another: the memory limit for buffers belongs to the user, not to the
    // process.
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&tests)
        .args(["--skip", NAME, "--test-threads", "1", "--nocapture"])
        .env_remove("MORECORES_SKIPPED")
        .env("TMPDIR", "/tmp")
        .current_dir("/")
        .stdin(Stdio::null())
        .output();
    let output = match output {
        Ok(output) if output.stderr.starts_with(b"setpriv:") => {
            return report_skip(NAME, "becoming `nobody` needs root");
        }
        Ok(output) => output,
        Err(_) => return report_skip(NAME, "there is no setpriv (Debian package util-linux)"),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    if let Some(reason) = said.lines().find_map(|line| line.strip_prefix("skipped: ")) {
        report_skip(NAME, reason);
    }
}
