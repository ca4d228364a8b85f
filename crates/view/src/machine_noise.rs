//! Noise of a machine, from the repetitions of a fixed loop: the smallest visible difference, and
//! the disturbance of the CPUs by each other.
//!
//! No figure here is an estimate of a program's time; a program adds noise of its own.

use std::collections::{BTreeMap, BTreeSet};

use morecores_statistics::{Design, median, quantile};
use morecores_study::noise::{CpuRelation, LoopRun, Noise};
use morecores_study::{CpuId, CpuSet};
use serde::{Deserialize, Serialize};

use crate::{Estimate, median_estimate};

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

/// Noise of one CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuNoise {
    /// CPU.
    pub cpu: CpuId,
    /// Number of repetitions that the CPU ran alone.
    pub repetitions: u32,
    /// Median time of these repetitions.
    pub median_s: f64,
    /// 1.4826 times the median absolute deviation, divided by the median. For normal noise this
    /// equals the standard deviation.
    pub spread: f64,
    /// Ratio of the median of its slowest round to that of its fastest, minus one: the drift of its
    /// speed over seconds.
    pub drift: f64,
    /// Share of its time alone in which something else ran in place of the loop; null if the kernel
    /// does not report it.
    pub waited: Option<f64>,
    /// Number of times per second that the kernel took the loop off the CPU.
    pub switches_per_s: Option<f64>,
    /// Share of its time, alone or with other CPUs, that a hypervisor took.
    pub steal: f64,
    /// Ratio of the time of a repetition with all usable CPUs busy to its time alone; null with
    /// only one CPU.
    pub slowdown: Option<f64>,
}

/// Disturbance of some CPUs by each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disturbance {
    /// Relation between the CPUs.
    #[serde(rename = "company")]
    pub relation: CpuRelation,
    /// CPUs that ran together.
    pub cpus: CpuSet,
    /// Ratio of the time of a repetition with these CPUs to its time alone, over the CPUs that were
    /// measured alone.
    pub slowdown: Estimate,
    /// CPU with the largest slowdown.
    pub worst_cpu: CpuId,
    /// Slowdown of that CPU.
    pub worst: f64,
}

/// Figures derived from a [`Noise`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineNoise {
    /// Median time of a repetition alone, over the CPUs.
    pub loop_s: f64,
    /// Number of values in each of the two compared arms.
    pub arm: u32,
    /// Number of comparisons behind the floor.
    pub comparisons: u32,
    /// Relative difference (larger over smaller, minus one) between the medians of two arms of the
    /// *same* work on the same CPU. 95% of the comparisons stay within the floor. Null with too few
    /// repetitions.
    pub floor: Option<f64>,
    /// Ratio of the slowest CPU's median to the fastest CPU's, minus one, each alone.
    pub between_cpus: f64,
    /// CPUs that were measured alone.
    pub cpus: Vec<CpuNoise>,
    /// Disturbances by relation of the CPUs; all CPUs together comes last.
    pub disturbances: Vec<Disturbance>,
}

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
