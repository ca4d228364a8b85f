//! `lock-cell`: every cell of the laboratory gives what can be true.

use std::sync::{Mutex, PoisonError};

use morecores_record::{ContestSample, CpuSet, LockCell, LockName, LockSample, Nanos, SpinTuning};
use morecores_testkit::skipped;

use crate::work;

/// Some CPUs that may be used: two where there are two.
fn cpus() -> CpuSet {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc/self/status");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("CPUs");
    list.parse::<CpuSet>().expect("a list of CPUs").iter().take(2).collect()
}

/// Whether there are two CPUs; noted where not.
fn two(name: &str) -> bool {
    if cpus().len() < 2 {
        skipped(name, "there is one CPU");
    }
    cpus().len() >= 2
}

/// One measurement at a time: they would have each other's CPUs.
static ALONE: Mutex<()> = Mutex::new(());

/// Measures a cell for so many milliseconds.
fn measured(cell: LockCell, ms: u64) -> LockSample {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let cell = serde_json::to_string(&cell).expect("a cell");
    let assert = work("lock-cell")
        .args([&cell, "--cpus", &cpus().to_string(), "--window-ns", &(ms * 1_000_000).to_string()])
        .assert();
    let assert = assert.success().stderr("");
    let line = String::from_utf8_lossy(&assert.get_output().stdout);
    assert!(line.ends_with('\n') && line.lines().count() == 1, "{line}");
    serde_json::from_str(&line).expect("a sample")
}

fn time(cell: LockCell) -> f64 {
    match measured(cell, 5) {
        LockSample::Time { ns } => ns,
        other => panic!("no time: {other:?}"),
    }
}

fn contest(lock: LockName, threads: u32, hold: u64, watched: bool, ms: u64) -> ContestSample {
    let [hold_ns, think_ns] = [Nanos(hold); 2];
    match measured(LockCell::Contest { lock, threads, hold_ns, think_ns, watched }, ms) {
        LockSample::Contest(sample) => sample,
        other => panic!("no contest: {other:?}"),
    }
}

/// A busy machine may spoil a measurement, and does not spoil many.
fn soon(what: &str, mut right: impl FnMut() -> Result<(), String>) {
    let mut last = Ok(());
    for _ in 0..8 {
        last = right();
        if last.is_ok() {
            return;
        }
    }
    panic!("{what}: {last:?}");
}

fn held(right: bool, what: impl std::fmt::Debug) -> Result<(), String> {
    if right { Ok(()) } else { Err(format!("{what:?}")) }
}

#[test]
fn a_free_lock_costs_nanoseconds() {
    for lock in LockName::ALL {
        soon(lock.name(), || {
            let ns = time(LockCell::Free { lock });
            // No atomic instruction takes less, and no system call more.
            held(ns > 0.5 && ns < 2_000.0, ns)
        });
    }
    let [std, kernel] = [LockName::Std, LockName::Kernel].map(|lock| time(LockCell::Free { lock }));
    assert!(std < kernel, "a system call cannot be cheaper than none: {std} {kernel}");
}

#[test]
fn a_lock_goes_from_one_cpu_to_another() {
    if !two("a_lock_goes_from_one_cpu_to_another") {
        return;
    }
    for lock in LockName::ALL {
        soon(lock.name(), || {
            let ns = time(LockCell::HandOver { lock });
            // A line's way between two caches is 10 ns at least, and a thread that sleeps is woken within milliseconds.
            // The kernel's is from return to return, whichever way the returns differ.
            held((ns > 5.0 || lock == LockName::Kernel) && ns < 20e6, ns)
        });
    }
    let hand_over = |lock| time(LockCell::HandOver { lock });
    soon("who spins has it sooner than who sleeps", || {
        let both = [LockName::Spin, LockName::Block].map(hand_over);
        held(both[0] < both[1], both)
    });
}

#[test]
fn one_thread_alone_holds_the_lock_and_thinks_for_as_long_as_was_asked_for() {
    for lock in LockName::ALL {
        soon(lock.name(), || {
            let sample = contest(lock, 1, 10_000, false, 20);
            // Of its CPU time: somebody else may have the CPU meanwhile.
            let used = sample.user_ns + sample.system_ns;
            let right = (0.8..1.2).contains(&(sample.turns[0] as f64 * 20_000.0 / used.0 as f64));
            // The clocks of CPU time and of the window are read one after the other.
            held(right && used.0 as f64 <= sample.window_ns.0 as f64 * 1.01, sample)
        });
    }
}

#[test]
fn threads_take_turns_and_their_waits_are_told_where_they_can_be() {
    for lock in LockName::ALL {
        for watched in [false, true] {
            let sample = contest(lock, 4, 0, watched, 5);
            assert_eq!(sample.turns.len(), 4, "{lock}");
            assert!(sample.turns.iter().sum::<u64>() > 4, "{lock} {sample:?}");
            assert!(sample.window_ns >= Nanos::from_millis(5), "{lock} {sample:?}");
            assert!(sample.user_ns + sample.system_ns > Nanos::ZERO, "{lock} {sample:?}");
            match &sample.longest_waits_ns {
                Some(waits) => {
                    assert!(watched && lock != LockName::Kernel && waits.len() == 4, "{lock} {sample:?}");
                    let longest = waits.iter().max().expect("four");
                    assert!(*longest > Nanos::ZERO && *longest <= sample.window_ns, "{lock} {sample:?}");
                }
                None => assert!(!watched || lock == LockName::Kernel, "{lock} {sample:?}"),
            }
        }
    }
}

#[test]
fn a_longer_hold_makes_fewer_turns() {
    for lock in [LockName::Std, LockName::Kernel] {
        soon(lock.name(), || {
            let turns =
                [5_000, 50_000].map(|hold| contest(lock, 2, hold, false, 20).turns.iter().sum::<u64>());
            held((5..20).contains(&(turns[0] / turns[1].max(1))), turns)
        });
    }
}

#[test]
fn who_waits_for_an_owner_off_its_cpu_burns_its_own_or_sleeps() {
    if !two("who_waits_for_an_owner_off_its_cpu_burns_its_own_or_sleeps") {
        return;
    }
    let share = |lock| match measured(LockCell::Preempted { lock }, 1) {
        LockSample::Preempted { waited_ns, burned_ns, waits } if waits > 0 => {
            assert!(waited_ns.0 / waits >= 1_000_000, "{lock}: waits of 1 ms alone count");
            burned_ns.0 as f64 / waited_ns.0 as f64
        }
        other => {
            assert_eq!(
                other,
                LockSample::Preempted { waited_ns: Nanos(0), burned_ns: Nanos(0), waits: 0 },
                "{lock}"
            );
            f64::NAN
        }
    };
    // Tests that run beside have a part of the waiter's CPU, so that even a spinner does not burn all of its wait.
    soon("spin and block", || {
        let [spin, block] = [LockName::Spin, LockName::Block].map(share);
        held((0.2..1.01).contains(&spin) && block < 0.2 && spin > 2.0 * block, [spin, block])
    });
    // Whether the kernel takes a thread off its CPU in the midst of a call depends on its build.
    let _ = share(LockName::Kernel);
}

#[test]
fn a_switch_takes_microseconds_and_a_line_less() {
    let switch = time(LockCell::Switch);
    // Two system calls at least; a slow machine in a virtual one.
    assert!((100.0..200_000.0).contains(&switch), "{switch}");
    if !two("a_switch_takes_microseconds_and_a_line_less") {
        return;
    }
    let [from, to] = [cpus().iter().next(), cpus().iter().nth(1)].map(|cpu| cpu.expect("two CPUs"));
    soon("line", || {
        let line = time(LockCell::Line { from, to });
        held((3.0..2_000.0).contains(&line) && line < switch, line)
    });
}

#[test]
fn the_bound_of_a_spin_comes_from_what_was_timed() {
    let line = {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        crate::output("tune-spin")
    };
    let tuning: SpinTuning = serde_json::from_str(&line).expect("a tuning");
    assert!(line.ends_with('\n') && line.lines().count() == 1, "{line}");
    assert_eq!(tuning.cpus > 1, cpus().len() > 1, "{line}");
    assert_eq!(tuning.spins > 0, tuning.cpus > 1, "{line}");
    let mut sleeps = tuning.sleeps.clone();
    sleeps.sort_by(f64::total_cmp);
    // Within the bounds that the lock sets to what it believes.
    let median = sleeps[sleeps.len() / 2].clamp(1_000.0, 50_000.0);
    assert_eq!(tuning.sleep_ns, median, "{line}");
    // A pause is 4 to some hundred cycles.
    assert!((0.5..200.0).contains(&tuning.spin_ns), "{line}");
    if tuning.cpus > 1 {
        // Some sleeps' worth, and no more than 16 bits hold.
        let worth = f64::from(tuning.spins) * tuning.spin_ns / tuning.sleep_ns;
        assert!((0.9..4.1).contains(&worth) || tuning.spins == 65_535, "{line}");
    }
}

#[test]
fn what_cannot_be_measured_is_one_clear_line() {
    let first = cpus().first().expect("a CPU");
    let contest = |threads| {
        format!(
            r#"{{"what":"contest","lock":"spin","threads":{threads},"hold_ns":0,"think_ns":0,"watched":false}}"#
        )
    };
    let free = r#"{"what":"free","lock":"spin"}"#.to_owned();
    for (cell, cpus, window, reason) in [
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
        (&contest(0), &first.to_string(), "1000", "0 threads cannot contend: 1 to 8192 can"),
        (&contest(10_000), &first.to_string(), "1000", "10000 threads cannot contend"),
    ] {
        let assert = work("lock-cell").args([cell, "--cpus", cpus, "--window-ns", window]).assert();
        let assert = assert.code(2).stdout("");
        let error = String::from_utf8_lossy(&assert.get_output().stderr);
        assert!(error.contains(reason) && error.lines().count() == 1, "{cell}: {error}");
    }
}

#[test]
fn the_laboratory_is_no_workload() {
    let list = crate::output("list");
    assert!(!list.contains("lock-cell") && !list.contains("tune-spin"), "{list}");
    let help = crate::output("--help");
    assert!(!help.contains("lock-cell") && !help.contains("tune-spin"), "{help}");
}
