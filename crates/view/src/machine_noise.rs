//! Noise of a machine, from the repetitions of a fixed loop: the smallest visible difference, and
//! the disturbance of the CPUs by each other.
//!
//! No figure here is an estimate of a program's time; a program adds noise of its own.

use std::collections::{BTreeMap, BTreeSet};

use crate::{CpuNoise, Disturbance, MachineNoise, median_estimate};
use morecores_study::noise::{CpuRelation, LoopRun, Noise};
use morecores_study::{CpuId, CpuSet};

use morecores_statistics::{Design, median, quantile};

/// Number of values in each arm of a comparison. It models a study of ten runs of each of two
/// commands, the number that hyperfine makes by default.
const ARM_SIZE: usize = 10;

/// Share of comparisons that stay within the floor.
const QUANTILE: f64 = 0.95;

/// Smallest number of comparisons for which the 95% quantile is not simply the largest value.
const FEWEST_COMPARISONS: usize = 20;

/// Factor from the median absolute deviation to the standard deviation of a normal distribution,
/// 1/Φ⁻¹(3/4).
const MAD_TO_SIGMA: f64 = 1.4826;

/// Derives the noise of a machine; returns none if nothing was measured alone.
pub fn machine_noise(noise: &Noise) -> Option<MachineNoise> {
    let alone: BTreeMap<CpuId, Vec<&LoopRun>> = solo_runs(noise);
    let cpus: Vec<CpuNoise> = alone.iter().filter_map(|(cpu, own)| cpu_noise(noise, *cpu, own)).collect();
    let medians: Vec<f64> = cpus.iter().map(|cpu| cpu.median_s).collect();
    let fastest = medians.iter().copied().reduce(f64::min)?;
    let slowest = medians.iter().copied().reduce(f64::max)?;
    let differences: Vec<f64> =
        alone.iter().flat_map(|(cpu, own)| aa_differences(&times(own, *cpu))).collect();
    Some(MachineNoise {
        loop_s: median(&medians)?,
        arm: u32::try_from(ARM_SIZE).unwrap_or(u32::MAX),
        comparisons: u32::try_from(differences.len()).unwrap_or(u32::MAX),
        floor: floor_quantile(differences),
        between_cpus: slowest / fastest - 1.0,
        cpus,
        disturbances: disturbances(noise),
    })
}

/// Returns the runs that each CPU ran alone.
fn solo_runs(noise: &Noise) -> BTreeMap<CpuId, Vec<&LoopRun>> {
    let mut found: BTreeMap<CpuId, Vec<&LoopRun>> = BTreeMap::new();
    for run in noise.runs.iter().filter(|run| run.relation == CpuRelation::Alone) {
        for thread in &run.threads {
            found.entry(thread.cpu).or_default().push(run);
        }
    }
    found
}

/// Returns the seconds of every repetition on `cpu`, in order.
fn times(runs: &[&LoopRun], cpu: CpuId) -> Vec<f64> {
    let threads = runs.iter().flat_map(|run| &run.threads).filter(|thread| thread.cpu == cpu);
    threads.flat_map(|thread| &thread.times_ns).map(|time| time.as_secs_f64()).collect()
}

/// Computes the noise of one CPU; `own` are the runs that it ran alone.
fn cpu_noise(noise: &Noise, cpu: CpuId, own: &[&LoopRun]) -> Option<CpuNoise> {
    let times = times(own, cpu);
    let centre = median(&times).filter(|centre| *centre > 0.0)?;
    let deviations: Vec<f64> = times.iter().map(|time| (time - centre).abs()).collect();
    let rounds: Vec<f64> = own.iter().filter_map(|run| round_median(run, cpu)).collect();
    let (fast, slow) = (rounds.iter().copied().reduce(f64::min)?, rounds.iter().copied().reduce(f64::max)?);

    let lasted: f64 = own.iter().map(|run| run.lasted_ns.as_secs_f64()).sum();
    let threads: Vec<_> = own.iter().flat_map(|s| &s.threads).filter(|thread| thread.cpu == cpu).collect();
    let waited: Option<f64> =
        threads.iter().map(|thread| thread.waited_ns.map(|time| time.as_secs_f64())).sum();
    let switches: Option<u64> = threads.iter().map(|thread| thread.involuntary_switches).sum();
    let runs_with_cpu = || noise.runs.iter().filter(|run| run.cpus().contains(cpu));
    let stolen: f64 = runs_with_cpu()
        .flat_map(|run| &run.threads)
        .filter(|thread| thread.cpu == cpu)
        .map(|thread| thread.steal_ns.as_secs_f64())
        .sum();
    let watched: f64 = runs_with_cpu().map(|run| run.lasted_ns.as_secs_f64()).sum();
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    Some(CpuNoise {
        cpu,
        repetitions: u32::try_from(times.len()).unwrap_or(u32::MAX),
        median_s: centre,
        spread: MAD_TO_SIGMA * median(&deviations)? / centre,
        drift: slow / fast - 1.0,
        waited: waited.map(|waited| share(waited, lasted)),
        switches_per_s: switches.map(|switches| share(switches as f64, lasted)),
        steal: share(stolen, watched),
        slowdown: median(&slowdowns(noise, cpu, |run| run.relation == CpuRelation::All)),
    })
}

/// Returns the differences of the medians of two interleaved arms of [`ARM_SIZE`] values of the
/// same work. Each window of twice as many consecutive values gives one difference; its values go
/// to the two arms in turn. Windows overlap, which makes the differences dependent but each of them
/// as likely.
fn aa_differences(times: &[f64]) -> Vec<f64> {
    let arm =
        |window: &[f64], first| median(&window.iter().skip(first).step_by(2).copied().collect::<Vec<_>>());
    let differences = times.windows(2 * ARM_SIZE).filter_map(|window| {
        let (a, b) = (arm(window, 0)?, arm(window, 1)?);
        (a.min(b) > 0.0).then(|| a.max(b) / a.min(b) - 1.0)
    });
    differences.collect()
}

fn floor_quantile(differences: Vec<f64>) -> Option<f64> {
    if differences.len() < FEWEST_COMPARISONS { None } else { quantile(differences, QUANTILE) }
}

/// Returns the median of a CPU's repetitions in one run.
fn round_median(run: &LoopRun, cpu: CpuId) -> Option<f64> {
    median(&times(&[run], cpu)).filter(|time| *time > 0.0)
}

/// Returns the slowdown of the CPU in each round: its time with these CPUs divided by its time
/// alone. Both times are from the same round, so a slow drift of the machine cancels out.
fn slowdowns(noise: &Noise, cpu: CpuId, relation: impl Fn(&LoopRun) -> bool) -> Vec<f64> {
    let rounds: BTreeSet<u32> = noise.runs.iter().map(|run| run.round).collect();
    let median_in_round = |round: u32, wanted: &dyn Fn(&LoopRun) -> bool| {
        let mut all = noise.runs.iter().filter(|run| run.round == round && wanted(run));
        all.find_map(|run| round_median(run, cpu))
    };
    let alone = |run: &LoopRun| run.relation == CpuRelation::Alone;
    rounds
        .into_iter()
        .filter_map(|round| Some(median_in_round(round, &relation)? / median_in_round(round, &alone)?))
        .collect()
}

fn disturbances(noise: &Noise) -> Vec<Disturbance> {
    let combinations: BTreeSet<(CpuRelation, CpuSet)> =
        noise.runs.iter().map(|run| (run.relation, run.cpus())).collect();
    combinations
        .into_iter()
        .filter(|(relation, _)| *relation != CpuRelation::Alone)
        .filter_map(|combination| disturbance(noise, combination))
        .collect()
}

/// Computes the slowdown of one combination of CPUs. The slowdown of a round is the mean over the
/// CPUs, the factor by which the machine as a whole falls behind.
fn disturbance(noise: &Noise, (relation, cpus): (CpuRelation, CpuSet)) -> Option<Disturbance> {
    let within = |run: &LoopRun| run.relation == relation && run.cpus() == cpus;
    let by_cpu: Vec<(CpuId, Vec<f64>)> =
        cpus.iter().map(|cpu| (cpu, slowdowns(noise, cpu, within))).filter(|(_, s)| !s.is_empty()).collect();
    let rounds = by_cpu.iter().map(|(_, slowdowns)| slowdowns.len()).min()?;
    let means: Vec<f64> = (0..rounds)
        .map(|round| by_cpu.iter().map(|(_, slowdowns)| slowdowns[round]).sum::<f64>() / by_cpu.len() as f64)
        .collect();
    let worst = by_cpu.iter().filter_map(|(cpu, slowdowns)| Some((*cpu, median(slowdowns)?)));
    let (worst_cpu, worst) = worst.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let slowdown = median_estimate(&means, Design::Fixed)?;
    Some(Disturbance { relation, cpus, slowdown, worst_cpu, worst })
}
