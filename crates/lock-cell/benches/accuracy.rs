//! Check of the laboratory's accuracy on this machine: holds last as long as requested, and
//! operations of higher cost take longer. Each line is one figure with its bounds on a quiet
//! machine. The exit status is 1 if a figure is out of bounds. Part of `make accuracy`; the tests
//! check properties that hold on any machine.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and fails by panic")]

use std::ops::Range;
use std::process::{Command, ExitCode};

use morecores_study::lock::{LockCell, LockName, LockSample};
use morecores_study::{CpuSet, Nanos};

/// Attempts for each figure: a short disturbance may spoil one measurement, but not many.
const MAX_ATTEMPTS: u32 = 8;

fn main() -> ExitCode {
    let cpus: CpuSet = morecores_machine::topology::read().usable.cpus.iter().take(2).collect();
    let mut verdicts = Vec::new();
    for lock in LockName::ALL {
        // No atomic instruction takes less, and no system call takes more.
        verdicts.push(judge(&format!("{lock}: ns free"), 0.5..2_000.0, || {
            measure_time(&cpus, LockCell::Free { lock })
        }));
        // The bounds apply to its CPU time: another program may use the CPU in between.
        verdicts.push(judge(&format!("{lock}: 10 us held and 10 us apart, of CPU time"), 0.8..1.2, || {
            let sample = measure_contention(&cpus, lock, 1, 10_000);
            sample.0 as f64 * 20_000.0 / sample.1 as f64
        }));
    }
    for lock in [LockName::Std, LockName::Kernel] {
        verdicts.push(judge(&format!("{lock}: turns of 5 us for one of 50 us"), 5.0..20.0, || {
            let [short, long] = [5_000, 50_000].map(|hold| measure_contention(&cpus, lock, 2, hold).0);
            short as f64 / long.max(1) as f64
        }));
    }
    verdicts.push(judge("a free lock of std's for one of the kernel's", 0.0..1.0, || {
        let [std, kernel] =
            [LockName::Std, LockName::Kernel].map(|lock| measure_time(&cpus, LockCell::Free { lock }));
        std / kernel
    }));
    verdicts
        .push(judge("a pause in ns", 0.5..200.0, || morecores_locks::cost::measure().look_ps as f64 / 1e3));
    verdicts.push(judge("a switch in ns", 100.0..200_000.0, || measure_time(&cpus, LockCell::Switch)));
    if let (Some(from), Some(to)) = (cpus.iter().next(), cpus.iter().nth(1)) {
        verdicts
            .push(judge("a line in ns", 3.0..2_000.0, || measure_time(&cpus, LockCell::Line { from, to })));
        verdicts.push(judge(
            "a handoff to a spinning waiter over one to a sleeping waiter",
            0.0..1.0,
            || {
                let [spin, block] = [LockName::Spin, LockName::Block]
                    .map(|lock| measure_time(&cpus, LockCell::Handoff { lock }));
                spin / block
            },
        ));
        verdicts.push(judge(
            "CPU time of a spinning wait for a preempted owner, over its length",
            0.5..1.01,
            || burned_share(&cpus, LockName::Spin),
        ));
        verdicts.push(judge("the same, blocking", 0.0..0.2, || burned_share(&cpus, LockName::Block)));
    } else {
        println!("skipped: handoffs, which need two CPUs");
    }
    if verdicts.iter().all(|is_within| *is_within) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints a figure and whether it is within its bounds in one of the attempts.
fn judge(what: &str, bounds: Range<f64>, figure: impl Fn() -> f64) -> bool {
    let mut last = f64::NAN;
    let is_within = (0..MAX_ATTEMPTS).any(|_| {
        last = figure();
        bounds.contains(&last)
    });
    println!(
        "{} {what}: {last:.3}, to be {} to {}",
        if is_within { "ok  " } else { "MISS" },
        bounds.start,
        bounds.end
    );
    is_within
}

fn measure(cpus: &CpuSet, cell: &LockCell, ms: u64) -> LockSample {
    let cell = serde_json::to_string(cell).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_morecores-lock-cell"));
    command.args([&cell, "--cpus", &cpus.to_string(), "--window-ns", &(ms * 1_000_000).to_string()]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn measure_time(cpus: &CpuSet, cell: LockCell) -> f64 {
    let LockSample::Time { ns } = measure(cpus, &cell, 5) else { panic!("no time") };
    ns
}

/// Turns of all threads, and their CPU time in nanoseconds.
fn measure_contention(cpus: &CpuSet, lock: LockName, threads: u32, hold: u64) -> (u64, u64) {
    let [hold_ns, think_ns] = [Nanos(hold); 2];
    let cell = LockCell::Contention { lock, threads, hold_ns, think_ns, watched: false };
    let LockSample::Contention(sample) = measure(cpus, &cell, 20) else { panic!("another sample") };
    (sample.turns.iter().sum(), (sample.user_ns + sample.system_ns).0)
}

/// Share of its wait for which a waiter uses the CPU.
fn burned_share(cpus: &CpuSet, lock: LockName) -> f64 {
    let LockSample::Preempted { waited_ns, burned_ns, .. } = measure(cpus, &LockCell::Preempted { lock }, 1)
    else {
        panic!("no waits")
    };
    burned_ns.0 as f64 / waited_ns.0 as f64
}
