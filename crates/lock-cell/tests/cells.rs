//! `morecores-lock-cell`: every cell of the laboratory gives a plausible result.

use std::sync::{Mutex, PoisonError};

use assert_cmd::Command;
use morecores_study::lock::{ContentionSample, LockCell, LockName, LockSample};
use morecores_study::{CpuSet, Nanos};
use morecores_testkit::report_skip;

fn lock_cell() -> Command {
    Command::new(env!("CARGO_BIN_EXE_morecores-lock-cell"))
}

/// Up to two usable CPUs.
fn two_cpus() -> CpuSet {
    let cpus = morecores_machine::process::affinity(0).expect("our CPUs");
    cpus.iter().take(2).collect()
}

/// Whether there are two CPUs; reports it if there are not.
fn has_two_cpus(name: &str) -> bool {
    if two_cpus().len() < 2 {
        report_skip(name, "there is one CPU");
    }
    two_cpus().len() >= 2
}

/// Lock for one measurement at a time: concurrent measurements would take each other's CPUs.
static ALONE: Mutex<()> = Mutex::new(());

/// Measures a cell for `ms` milliseconds.
fn measure(cell: LockCell, ms: u64) -> LockSample {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let cell = serde_json::to_string(&cell).expect("a cell");
    let assert = lock_cell()
        .args([&cell, "--cpus", &two_cpus().to_string(), "--window-ns", &(ms * 1_000_000).to_string()])
        .assert();
    let assert = assert.success().stderr("");
    let line = String::from_utf8_lossy(&assert.get_output().stdout);
    assert!(line.ends_with('\n') && line.lines().count() == 1, "{line}");
    serde_json::from_str(&line).expect("a sample")
}

/// A time in nanoseconds; `make accuracy` checks its value on this machine.
#[track_caller]
fn time(cell: LockCell) -> f64 {
    match measure(cell, 5) {
        LockSample::Time { ns } => {
            assert!(ns.is_finite() && ns >= 0.0, "{ns}");
            ns
        }
        other => panic!("no time: {other:?}"),
    }
}

fn measure_contention(lock: LockName, threads: u32, hold: u64, watched: bool, ms: u64) -> ContentionSample {
    let [hold_ns, think_ns] = [Nanos(hold); 2];
    match measure(LockCell::Contention { lock, threads, hold_ns, think_ns, watched }, ms) {
        LockSample::Contention(sample) => sample,
        other => panic!("another sample: {other:?}"),
    }
}

#[test]
fn every_lock_is_measured_free_and_handed_over() {
    const NAME: &str = "every_lock_is_measured_free_and_handed_over";
    let two = has_two_cpus(NAME);
    for lock in LockName::ALL {
        time(LockCell::Free { lock });
        if two {
            time(LockCell::Handoff { lock });
        }
    }
}

#[test]
fn threads_take_turns_and_their_waits_are_reported_where_possible() {
    for lock in LockName::ALL {
        for (threads, hold, watched) in [(1, 10_000, false), (4, 0, false), (4, 0, true)] {
            // A turn without a trace under the lock is a wrong result, and the cell fails.
            let sample = measure_contention(lock, threads, hold, watched, 5);
            assert_eq!(sample.turns.len(), threads as usize, "{lock}");
            assert!(sample.user_ns + sample.system_ns > Nanos::ZERO, "{lock} {sample:?}");
            match &sample.longest_waits_ns {
                Some(waits) => {
                    assert!(watched && lock != LockName::Kernel && waits.len() == 4, "{lock} {sample:?}");
                    assert!(waits.iter().all(|wait| *wait <= sample.window_ns), "{lock} {sample:?}");
                }
                None => assert!(!watched || lock == LockName::Kernel, "{lock} {sample:?}"),
            }
        }
    }
}

#[test]
fn a_waiter_for_a_preempted_owner_burns_no_more_than_its_wait() {
    if !has_two_cpus("a_waiter_for_a_preempted_owner_burns_no_more_than_its_wait") {
        return;
    }
    for lock in [LockName::Spin, LockName::Block, LockName::Kernel] {
        match measure(LockCell::Preempted { lock }, 1) {
            // Only waits of at least 1 ms count. The two clocks differ by the correction of the
            // time, 500 in a million.
            LockSample::Preempted { waited_ns, burned_ns, waits } => {
                assert!(waited_ns.0 >= waits * 1_000_000, "{lock}: {waits} in {waited_ns:?}");
                assert!(
                    burned_ns.0 <= waited_ns.0 + waited_ns.0 / 1_000,
                    "{lock}: {burned_ns:?} {waited_ns:?}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_switch_and_a_line_are_measured() {
    time(LockCell::Switch);
    if has_two_cpus("a_switch_and_a_line_are_measured") {
        let [from, to] =
            [two_cpus().iter().next(), two_cpus().iter().nth(1)].map(|cpu| cpu.expect("two CPUs"));
        time(LockCell::Line { from, to });
    }
}

#[test]
fn an_impossible_measurement_is_one_clear_line() {
    let first = two_cpus().first().expect("a CPU");
    let contention = |threads| {
        format!(
            r#"{{"what":"contest","lock":"spin","threads":{threads},"hold_ns":0,"think_ns":0,"watched":false}}"#
        )
    };
    let free = r#"{"what":"free","lock":"spin"}"#.to_owned();
    for (cell, cpu_list, window, reason) in [
        ("nothing", "0", "1000", "`nothing` is no cell of the laboratory"),
        (r#"{"what":"free","lock":"spine"}"#, "0", "1000", "unknown variant `spine`"),
        (&free, "8191", "1000", "CPU 8191 may not be used here: take some of "),
        (&free, "", "1000", "this takes 1 CPU and --cpus has 0: name more"),
        (r#"{"what":"hand_over","lock":"spin"}"#, &first.to_string(), "1000", "this takes 2 CPUs"),
        (r#"{"what":"preempted","lock":"spin"}"#, &first.to_string(), "1000", "this takes 2 CPUs"),
        (
            &format!(r#"{{"what":"line","from":{first},"to":{first}}}"#),
            &first.to_string(),
            "1000",
            "does not travel from CPU",
        ),
        (&free, &first.to_string(), "0", "--window-ns 0 leaves no time"),
        (&contention(0), &first.to_string(), "1000", "0 threads cannot contend: 1 to 8192 can"),
        (&contention(10_000), &first.to_string(), "1000", "10000 threads cannot contend"),
    ] {
        let assert = lock_cell().args([cell, "--cpus", cpu_list, "--window-ns", window]).assert();
        let assert = assert.code(2).stdout("");
        let error = String::from_utf8_lossy(&assert.get_output().stderr);
        assert!(error.contains(reason) && error.lines().count() == 1, "{cell}: {error}");
    }
}
