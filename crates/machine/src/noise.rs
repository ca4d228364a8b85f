//! Measurement of how steady this machine is: repetitions of one piece of arithmetic, on each CPU
//! alone and on several CPUs at once.
//!
//! The loop touches no memory and makes no system call. Only the machine can make a repetition
//! longer: by other work, a hypervisor, a changing clock rate, or a second thread on the same core.
//! This module computes nothing from the times.

mod combinations;
mod work;

use std::time::Duration;

use morecores_study::noise::{CpuRelation, LoopRun, LoopThread, Noise};
use morecores_study::{CpuId, CpuSet, Nanos};
use procfs::FromRead as _;
use procfs::process::{Schedstat, Status};

use crate::activity::CpuClocks;
use crate::clock::monotonic;
use crate::pinned_threads::{PinnedThreadError, run_together};
use crate::topology;

/// Length of one repetition. It is far above the cost of reading the clock. It is also above a
/// scheduler's tick (at most 10 ms), so every repetition includes the effects of a tick.
const REPETITION: Duration = Duration::from_millis(12);

/// Largest number of CPUs that are measured alone. On a larger machine, the CPUs are evenly spread
/// over it.
const MAX_SOLO_CPUS: usize = 16;

/// Number of rounds: six values are the fewest that give a median a 95% interval.
const ROUNDS: u32 = 6;

/// Shortest run: ten repetitions, so that its median is meaningful.
const LEAST_RUN: Duration = Duration::from_millis(120);

/// Measures for about `budget`, at least one round of runs of 120 ms.
///
/// Every round measures each CPU alone (at most 16 of them), one pair of each kind, and all of
/// `cpus` at once. The order rotates from round to round, so that a drift does not look like a
/// disturbance. Under a CPU quota, `cpus` must not exceed the quota, because the measurement would
/// otherwise show the quota.
///
/// # Errors
/// A CPU cannot be used, or a thread cannot be started.
pub fn measure(cpus: &CpuSet, budget: Duration) -> Result<Noise, PinnedThreadError> {
    let alone = combinations::sample_evenly(cpus, MAX_SOLO_CPUS);
    let mut cpu_sets: Vec<(CpuRelation, CpuSet)> =
        alone.iter().map(|cpu| (CpuRelation::Alone, CpuSet::from_iter([cpu]))).collect();
    if cpus.len() > 2 {
        cpu_sets.extend(combinations::related_pairs(&topology::read(), &alone, cpus));
    }
    if cpus.len() > 1 {
        cpu_sets.push((CpuRelation::All, cpus.clone()));
    }
    let first: CpuSet = cpus.first().into_iter().collect();
    let calibrated =
        run_together(&first, || (), |_, ()| steps_per_repetition(|steps| work::time_repetition(steps).0))?;
    let Some(&steps) = calibrated.first() else { return Ok(Noise::default()) };

    let runs = u32::try_from(cpu_sets.len()).unwrap_or(u32::MAX);
    let warm_ups = REPETITION * runs;
    let affordable = budget.as_nanos() / (LEAST_RUN * runs + warm_ups).as_nanos();
    let rounds = u32::try_from(affordable).unwrap_or(ROUNDS).clamp(1, ROUNDS);
    let length = (budget / (rounds * runs)).saturating_sub(REPETITION).max(LEAST_RUN);
    let mut noise = Noise { steps, runs: Vec::new() };
    for round in 0..rounds {
        for (relation, cpus) in &cpu_sets {
            noise.runs.push(run_loop(round, *relation, cpus, steps, length)?);
        }
        cpu_sets.rotate_left(1);
    }
    Ok(noise)
}

/// Number of steps that make a repetition, by the fastest of several tries. `takes` makes the given
/// number of steps and returns the nanoseconds.
fn steps_per_repetition(time_of: impl Fn(u64) -> u64) -> u64 {
    /// Tries at each size; the fastest is the least disturbed one.
    const TRIES: u32 = 3;
    let mut steps = 1 << 12;
    loop {
        let fastest = (0..TRIES).map(|_| time_of(steps)).min().unwrap_or(1).max(1);
        // A tenth of the length is enough for scaling, and there the clock's cost is negligible.
        if u128::from(fastest) * 10 >= REPETITION.as_nanos() {
            let scaled = u128::from(steps) * REPETITION.as_nanos() / u128::from(fastest);
            return u64::try_from(scaled).unwrap_or(u64::MAX);
        }
        steps *= 2;
    }
}

/// Runs the loop on all of `cpus` at once for `length`.
fn run_loop(
    round: u32,
    relation: CpuRelation,
    cpus: &CpuSet,
    steps: u64,
    length: Duration,
) -> Result<LoopRun, PinnedThreadError> {
    let before = CpuClocks::read();
    let begin = monotonic();
    // The first repetition wakes each CPU from its deepest sleep.
    let warm_up = || work::time_repetition(steps);
    let threads = run_together(cpus, warm_up, |cpu, _| repeat(cpu, steps, length))?;
    let lasted_ns = monotonic().since(begin);
    let after = CpuClocks::read();
    let with_steal = |thread: LoopThread| LoopThread {
        steal_ns: after.since(&before, |cpu| cpu == thread.cpu).steal,
        ..thread
    };
    Ok(LoopRun { round, relation, lasted_ns, threads: threads.into_iter().map(with_steal).collect() })
}

/// Repeats the loop for `length`. A repetition that ends later does not count, because the other
/// threads may have ended before it.
fn repeat(cpu: CpuId, steps: u64, length: Duration) -> LoopThread {
    let before = Interruptions::read();
    let mut times_ns =
        Vec::with_capacity(usize::try_from(length.as_nanos() / REPETITION.as_nanos()).unwrap_or(0) + 8);
    let end = monotonic() + Nanos::from(length);
    loop {
        let (time, ended) = work::time_repetition(steps);
        if ended > end {
            break;
        }
        times_ns.push(Nanos(time));
    }
    let after = Interruptions::read();
    let since = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
    LoopThread {
        cpu,
        times_ns,
        involuntary_switches: since(after.switches, before.switches),
        waited_ns: since(after.waited_ns, before.waited_ns).map(Nanos),
        steal_ns: Nanos::ZERO,
    }
}

/// Kernel counters of the calling thread's interruptions.
struct Interruptions {
    switches: Option<u64>,
    waited_ns: Option<u64>,
}

impl Interruptions {
    /// Reads proc_pid_status(5), and the second number of
    /// `Documentation/scheduler/sched-stats.rst`, which is the time spent waiting for a CPU.
    fn read() -> Self {
        let (status, times) = (
            Status::from_file("/proc/thread-self/status"),
            Schedstat::from_file("/proc/thread-self/schedstat"),
        );
        Self {
            switches: status.ok().and_then(|status| status.nonvoluntary_ctxt_switches),
            waited_ns: times.ok().map(|times| times.run_delay),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_repetition_lasts_twelve_milliseconds_of_the_fastest_try() {
        // A step takes 3 ns; only every third try is undisturbed.
        let tries = Cell::new(0_u64);
        let takes = |steps: u64| {
            tries.set(tries.get() + 1);
            3 * steps + if tries.get().is_multiple_of(3) { 0 } else { 40_000_000 }
        };
        assert_eq!(steps_per_repetition(takes), 4_000_000);
        // On a very slow machine the first size is already too long, and is scaled down.
        assert_eq!(steps_per_repetition(|steps| 6_000 * steps), 2_000);
    }
}
