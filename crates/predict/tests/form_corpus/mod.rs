//! Programs and machines whose elapsed time on any number of CPUs is known from a simulation of
//! tasks, locks and shared bandwidth. Predictions from times alone are tuned and scored on them.
//!
//! No closed form is behind a time: tasks have random lengths and dependencies, threads take a lock
//! in order of arrival and hold it for a random time, and the machine has a limited bandwidth or
//! CPUs of several kinds. The corpus uses nothing of the predictor.
//!
//! A test that uses this module also includes the module `ratio_score`.
#![allow(dead_code, reason = "a part is used by each")]

mod simulator;

use std::ops::Range;

use morecores_predict::forecast::{Evidence, MeasuredPoint, forecast};
use morecores_statistics::{Design, median, median_interval, speedup};
use morecores_study::{Better, CpuKind, RoundValue};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::ratio_score::{RATIOS, RatioOutcome};
use simulator::{Case, generate_case};

/// Seeds of the cases for tuning, and of those for scoring.
pub(crate) const TUNING: Range<u64> = 0..300;
pub(crate) const SCORING: Range<u64> = 1000..1300;

/// Predicts every case of these seeds.
pub(crate) fn predict_cases(seeds: Range<u64>) -> Vec<RatioOutcome> {
    let found: Vec<Vec<RatioOutcome>> = seeds.into_par_iter().map(predict_case).collect();
    found.into_iter().flatten().collect()
}

fn predict_case(seed: u64) -> Vec<RatioOutcome> {
    let case = generate_case(seed);
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x5eed);
    let counts: &[u32] = [&[1, 2][..], &[1, 2, 4], &[1, 2, 4, 8]][rng.random_range(0..3)];
    let noise = [0.005, 0.02, 0.05][rng.random_range(0..3)];
    let evidence = measure(&case, counts, noise, rng.random_range(6..=12), &mut rng);
    let largest = counts[counts.len() - 1];
    let targets = RATIOS.map(|ratio| ratio * largest);
    let Some(found) = forecast(&evidence, &targets) else { return Vec::new() };
    let outcome = |point| RatioOutcome::from_point(point, largest, case.elapsed(point.cpus));
    found.points.iter().map(outcome).collect()
}

/// Evidence of `runs` runs on each count, with the noise of each run.
fn measure(case: &Case, counts: &[u32], noise: f64, runs: usize, rng: &mut ChaCha8Rng) -> Evidence {
    let sample = |cpus: &u32, rng: &mut ChaCha8Rng| noisy_times(case.elapsed(*cpus), noise, runs, rng);
    let samples: Vec<Vec<f64>> = counts.iter().map(|cpus| sample(cpus, rng)).collect();
    Evidence { cpu_kinds: case.cpu_kinds(), ..evidence_from_samples(counts, &samples) }
}

/// Times of runs around `truth`: the noise of a run has a long tail towards more time.
pub(crate) fn noisy_times(truth: f64, noise: f64, runs: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    // The sum of two exponential deviates has a standard deviation of √2 and this median.
    const MEDIAN: f64 = 1.678_347;
    let deviate = |rng: &mut ChaCha8Rng| -> f64 {
        (0..2).map(|_| -(1.0 - rng.random::<f64>()).ln()).sum::<f64>() - MEDIAN
    };
    (0..runs).map(|_| truth * (1.0 + noise * deviate(rng) / 2_f64.sqrt())).collect()
}

/// Evidence of these times, by the statistics that a study's view has.
pub(crate) fn evidence_from_samples(counts: &[u32], samples: &[Vec<f64>]) -> Evidence {
    const Z95: f64 = 1.96;
    let point = |(cpus, times): (&u32, &Vec<f64>)| {
        let elapsed = median(times).expect("runs");
        let [lo, hi] = median_interval(times, Design::Fixed).expect("six runs").ends();
        let error = (hi - lo) / 2.0 / Z95 / elapsed;
        let ratio = speedup(&rounds(&samples[0]), &rounds(times), Better::Lower, Design::Fixed)
            .and_then(|found| found.interval);
        let [lo, hi] = ratio.expect("six runs").ends();
        let speedup_error = if *cpus == counts[0] { 0.0 } else { (hi / lo).ln() / 2.0 / Z95 };
        MeasuredPoint {
            cpus: *cpus,
            elapsed,
            error,
            speedup_error,
            deviation: error,
            work: None,
            kernel: None,
        }
    };
    let points = counts.iter().zip(samples).map(point).collect();
    Evidence { points, is_time: true, ..Evidence::default() }
}

/// Runs of the rounds 0, 1, 2, …
fn rounds(times: &[f64]) -> Vec<RoundValue> {
    times.iter().zip(0..).map(|(&value, round)| RoundValue { round, value }).collect()
}

impl Case {
    /// Kinds of the CPUs of a machine with siblings; empty for a machine with CPUs of one kind.
    fn cpu_kinds(&self) -> Vec<CpuKind> {
        let Some(cores) = self.machine.cores else { return Vec::new() };
        let kind = |cpu: u32| if cpu < cores { CpuKind::Core } else { CpuKind::SmtSibling };
        (0..2 * cores).map(kind).collect()
    }
}
