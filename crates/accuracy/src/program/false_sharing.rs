//! Two threads that each count in a counter of its own: in `count_side_by_side` the two counters
//! are in one cache line, in `count_apart` they are not. Both functions do equal work, so the first
//! one takes longer if the threads run at once.

use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;

use clap::Args;
use morecores_study::Nanos;

use super::KnownProgram;
use crate::clock::{monotonic, thread_cpu, tree_cpu};
use crate::{AccuracyError, ExpectedReport, FunctionName, FunctionTruth, Part, Share, Truth};

/// Functions that count.
pub(crate) const FUNCTIONS: [&str; 2] = ["count_side_by_side", "count_apart"];

/// Number of threads.
const THREADS: u32 = 2;

/// Counts between two reads of the clock, some 0.1 ms without false sharing.
const COUNTS: u32 = 20_000;

/// Reads of the clock in a turn: 20 ms and more, several periods of the samples.
const READS: u32 = 200;

/// See the module.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct FalseSharing {
    /// Elapsed time, in seconds
    #[arg(long)]
    pub elapsed_s: f64,
}

/// Counter with 256 bytes of its own, which no cache line exceeds on common processors.
#[repr(align(256))]
struct Apart(AtomicI64);

/// Two counters in one cache line.
#[repr(align(256))]
struct SideBySide([AtomicI64; THREADS as usize]);

static SIDE_BY_SIDE: SideBySide = SideBySide([const { AtomicI64::new(0) }; THREADS as usize]);
static APART: [Apart; THREADS as usize] = [const { Apart(AtomicI64::new(0)) }; THREADS as usize];

#[inline(never)]
fn count_side_by_side(counter: &AtomicI64) {
    for _ in 0..COUNTS {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts down: a linker may fold equal functions into one.
#[inline(never)]
fn count_apart(counter: &AtomicI64) {
    for _ in 0..COUNTS {
        counter.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Calls `count` for one turn, at most until `end`. Returns the CPU time that it took.
fn repeat(count: fn(&AtomicI64), counter: &AtomicI64, end: Nanos) -> Nanos {
    let begun = thread_cpu();
    for _ in 0..READS {
        if monotonic() >= end {
            break;
        }
        count(counter);
    }
    thread_cpu().since(begun)
}

/// Runs one thread; returns its CPU time in each of [`FUNCTIONS`].
fn work(thread: usize, end: Nanos) -> [Nanos; 2] {
    let mut times = [Nanos::ZERO; 2];
    while monotonic() < end {
        times[0] += repeat(count_side_by_side, &SIDE_BY_SIDE.0[thread], end);
        times[1] += repeat(count_apart, &APART[thread].0, end);
    }
    times
}

impl KnownProgram for FalseSharing {
    fn run(&self) -> Result<Truth, AccuracyError> {
        let end = monotonic() + Nanos::from_secs_f64(self.elapsed_s);
        let times = thread::scope(|scope| {
            let other = scope.spawn(|| work(1, end));
            let own = work(0, end);
            // A panic in that thread continues in this one.
            let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            [own[0] + other[0], own[1] + other[1]]
        });
        let functions = FUNCTIONS.into_iter().zip(times).map(|(name, time)| {
            let cpu_s = Some(time.as_secs_f64());
            (name.to_owned(), FunctionTruth { cpu_s, ..FunctionTruth::default() })
        });
        Ok(Truth { cpu_s: tree_cpu().as_secs_f64(), functions: functions.collect(), ..Truth::default() })
    }

    fn expected(&self, truth: &Truth, cpus: u32, elapsed_s: f64) -> ExpectedReport {
        expected_false_sharing(truth, &FunctionName::Symbol, cpus, elapsed_s)
    }

    fn arguments(&self) -> Vec<String> {
        ["false-sharing", "--elapsed-s", &self.elapsed_s.to_string()].map(String::from).to_vec()
    }

    fn functions(&self) -> &'static [&'static str] {
        &FUNCTIONS
    }
}

/// Truth of false sharing: the CPU time of each function. CPUs beyond the number of threads have no
/// work.
pub(crate) fn expected_false_sharing(
    truth: &Truth,
    name: &dyn Fn(&'static str) -> FunctionName,
    cpus: u32,
    elapsed_s: f64,
) -> ExpectedReport {
    let work = Share::from_own_clocks(Part::Work, truth.cpu_s);
    let functions = FUNCTIONS.into_iter().map(|function| {
        let cpu_s = truth.in_function(function, |own| own.cpu_s);
        Share::from_own_clocks(Part::Function(name(function)), cpu_s)
    });
    let without_thread = f64::from(cpus.saturating_sub(THREADS)) * elapsed_s;
    let idle = Share::from_construction(Part::TooLittleWork, without_thread);
    ExpectedReport::from_shares([work, idle].into_iter().chain(functions).collect::<Vec<Share>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_counters_of_one_function_share_a_cache_line() {
        let address = |counter: &AtomicI64| std::ptr::from_ref(counter).addr();
        let distance = |one: &AtomicI64, two: &AtomicI64| address(one).abs_diff(address(two));
        assert_eq!(address(&SIDE_BY_SIDE.0[0]) % 64, 0);
        assert!(distance(&SIDE_BY_SIDE.0[0], &SIDE_BY_SIDE.0[1]) < 64);
        assert!(distance(&APART[0].0, &APART[1].0) >= 256);
    }
}
