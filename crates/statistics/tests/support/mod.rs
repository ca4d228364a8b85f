//! Noise with a known true median, for the coverage of intervals.
//!
//! The tests share this module with the example that prints the tables of
//! `docs/methods/measure.md`.
// The tests and the example each use only a part of this module.
#![allow(dead_code)]

use morecores_statistics::{Decision, Interval, QuestionSample, StoppingRule};
use morecores_study::RoundValue;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, Normal};

/// Shape of noise around 1, so that a spread of 0.01 is 1%.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Noise {
    /// Symmetric noise with light tails.
    Normal { sd: f64 },
    /// Noise skewed to the slow side, like that of times.
    Lognormal { sigma: f64 },
    /// Two speeds, as from page placement or a boost clock: a share `slow` of the runs takes `gap`
    /// longer.
    Bimodal { slow: f64, gap: f64, sd: f64 },
    /// Symmetric noise with heavy tails: Student's t with three degrees of freedom.
    StudentT3 { scale: f64 },
    /// Noise with a hard minimum and a long tail.
    Exponential { mean: f64 },
    /// No noise.
    None,
}

impl Noise {
    /// Normal, lognormal and bimodal noise, each of about this spread.
    pub(crate) fn normal_lognormal_bimodal(spread: f64) -> [(&'static str, Self); 3] {
        [
            ("normal", Self::Normal { sd: spread }),
            ("lognormal", Self::Lognormal { sigma: spread }),
            ("bimodal", Self::Bimodal { slow: 0.3, gap: 2.0 * spread, sd: spread / 4.0 }),
        ]
    }

    /// Draws one run.
    pub(crate) fn draw(self, rng: &mut ChaCha8Rng) -> f64 {
        match self {
            Self::Normal { sd } => 1.0 + sd * draw_normal(rng),
            Self::Lognormal { sigma } => (sigma * draw_normal(rng)).exp(),
            Self::Bimodal { slow, gap, sd } => {
                let mode = if rng.random::<f64>() < slow { 1.0 + gap } else { 1.0 };
                mode + sd * draw_normal(rng)
            }
            Self::StudentT3 { scale } => {
                let squares: f64 = (0..3).map(|_| draw_normal(rng).powi(2)).sum();
                1.0 + scale * draw_normal(rng) / (squares / 3.0).sqrt()
            }
            Self::Exponential { mean } => 1.0 - mean * (1.0 - rng.random::<f64>()).ln(),
            Self::None => 1.0,
        }
    }

    /// Draws several runs.
    pub(crate) fn draw_runs(self, runs: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
        (0..runs).map(|_| self.draw(rng)).collect()
    }

    /// True median.
    pub(crate) fn median(self) -> f64 {
        match self {
            Self::Normal { .. } | Self::Lognormal { .. } | Self::StudentT3 { .. } | Self::None => 1.0,
            Self::Exponential { mean } => 1.0 + mean * std::f64::consts::LN_2,
            Self::Bimodal { slow, gap, sd } => {
                let below = |x: f64| {
                    let at = |mode: f64| Normal::standard().cdf((x - mode) / sd);
                    (1.0 - slow) * at(1.0) + slow * at(1.0 + gap)
                };
                let (mut lo, mut hi) = (1.0 - 9.0 * sd, 1.0 + gap + 9.0 * sd);
                for _ in 0..100 {
                    let middle = (lo + hi) / 2.0;
                    if below(middle) < 0.5 { lo = middle } else { hi = middle }
                }
                (lo + hi) / 2.0
            }
        }
    }
}

/// Draws a standard normal number.
pub(crate) fn draw_normal(rng: &mut ChaCha8Rng) -> f64 {
    // Box & Muller 1958; one minus a number below one is never zero.
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}

/// Generator of a trial. Trials differ by their number alone, so that a table row can be repeated
/// by itself.
pub(crate) fn trial_generator(seed: u64, trial: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(trial as u64);
    rng
}

/// Results of some trials of an interval.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TrialResults {
    /// Number of trials.
    pub(crate) trials: usize,
    /// Number of trials whose interval held the true value.
    pub(crate) covering: usize,
    /// Sum of the widths.
    pub(crate) width: f64,
    /// Sum of the runs of one point.
    pub(crate) runs: usize,
}

impl TrialResults {
    /// Counts the interval of one trial.
    pub(crate) fn add(&mut self, interval: Interval, truth: f64, runs: usize) {
        // The ends of a ratio are found to 1e-10.
        let slack = 1e-9 * truth;
        self.trials += 1;
        self.covering += usize::from(interval.lo - slack <= truth && truth <= interval.hi + slack);
        self.width += interval.hi - interval.lo;
        self.runs += runs;
    }

    /// Share of trials whose interval held the true value.
    pub(crate) fn coverage(&self) -> f64 {
        self.covering as f64 / self.trials as f64
    }

    /// Mean width, in the unit of the interval.
    pub(crate) fn mean_width(&self) -> f64 {
        self.width / self.trials as f64
    }

    /// Mean number of runs of a point.
    pub(crate) fn mean_runs(&self) -> f64 {
        self.runs as f64 / self.trials as f64
    }
}

/// Runs `trials` trials of `trial`, each with its own generator.
pub(crate) fn run_trials(
    trials: usize,
    seed: u64,
    mut trial: impl FnMut(&mut ChaCha8Rng, &mut TrialResults),
) -> TrialResults {
    let mut results = TrialResults::default();
    for number in 0..trials {
        trial(&mut trial_generator(seed, number), &mut results);
    }
    results
}

/// Measures points with these noises, round by round, until `rule` stops.
pub(crate) fn measure_until_stopped(
    rule: &StoppingRule,
    noises: &[Noise],
    rng: &mut ChaCha8Rng,
) -> Vec<Vec<f64>> {
    let mut points = vec![Vec::new(); noises.len()];
    let mut rounds = 0;
    loop {
        // Between looks, the rule continues for any values; a test of the rule shows this.
        let next = rule.next_look(rounds);
        for (point, noise) in points.iter_mut().zip(noises) {
            point.extend(noise.draw_runs(next - rounds, rng));
        }
        rounds = next;
        if rule.decide(&medians(&points)) != Decision::Continue {
            return points;
        }
    }
}

/// Noise of the two runs of each round, around equal medians.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RoundNoise {
    /// Runs of their own noise of 2%.
    Independent,
    /// The same, on a machine that gets slower by this share over 30 rounds.
    Drift(f64),
    /// A machine whose speed, with a noise of 2%, has this correlation from run to run.
    Correlated(f64),
    /// A speed of each round with a noise of 5%, and runs of their own noise of 0.5%.
    CommonFactor,
}

impl RoundNoise {
    /// Every kind, with its name.
    pub(crate) const ALL: [(&'static str, Self); 5] = [
        ("independent, 2%", Self::Independent),
        ("drift of 4% over 30 rounds", Self::Drift(0.04)),
        ("correlation 0.4 with the run before", Self::Correlated(0.4)),
        ("correlation 0.8", Self::Correlated(0.8)),
        ("common factor of 5%, own noise of 0.5%", Self::CommonFactor),
    ];

    /// Draws the runs of both samples, in the order of the rounds. The order within a round is
    /// random, as in a study.
    pub(crate) fn draw_rounds(self, rounds: usize, rng: &mut ChaCha8Rng) -> [Vec<f64>; 2] {
        let mut samples = [Vec::new(), Vec::new()];
        let mut speed = draw_normal(rng);
        for round in 0..rounds {
            let first = rng.random_range(0..2);
            let common = draw_normal(rng);
            for sample in [first, 1 - first] {
                let own = draw_normal(rng);
                samples[sample].push(match self {
                    Self::Independent => (0.02 * own).exp(),
                    Self::Drift(drift) => (0.02 * own + drift / 30.0 * round as f64).exp(),
                    Self::Correlated(memory) => {
                        speed = memory * speed + (1.0 - memory * memory).sqrt() * own;
                        (0.02 * speed).exp()
                    }
                    Self::CommonFactor => (0.05 * common + 0.005 * own).exp(),
                });
            }
        }
        samples
    }
}

/// Ratios of the two samples within the rounds.
pub(crate) fn ratios([base, here]: &[Vec<f64>; 2]) -> Vec<f64> {
    base.iter().zip(here).map(|(base, here)| base / here).collect()
}

/// Rounds at which `rule` stops for the ratios of `samples`, which hold all rounds of the rule.
pub(crate) fn rounds_until_stopped(rule: &StoppingRule, samples: &[Vec<f64>; 2]) -> usize {
    rounds_until_answered(rule, &ratios(samples), None)
}

/// Rounds at which `rule` stops for speedups, which hold all rounds of the rule, with this bound.
pub(crate) fn rounds_until_answered(rule: &StoppingRule, speedups: &[f64], bound: Option<f64>) -> usize {
    let sample =
        |rounds: usize| QuestionSample { bound, ..QuestionSample::without_bound(&speedups[..rounds]) };
    let mut rounds = rule.next_look(0);
    while rule.decide(&[sample(rounds)]) == Decision::Continue {
        rounds = rule.next_look(rounds);
    }
    rounds
}

/// Speedups of rounds around `speedup`, of runs whose times have a lognormal `noise` each.
pub(crate) fn draw_speedups(speedup: f64, noise: f64, rounds: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    (0..rounds).map(|_| speedup * (noise * (draw_normal(rng) - draw_normal(rng))).exp()).collect()
}

/// Samples of which only the median is asked for.
pub(crate) fn medians<S: AsRef<[f64]>>(samples: &[S]) -> Vec<QuestionSample> {
    samples.iter().map(|values| QuestionSample::without_bound(values.as_ref())).collect()
}

/// Shapes of the noise of undisturbed runs, with a standard deviation of about `spread`.
pub(crate) fn clean_noises(spread: f64) -> [(&'static str, Noise); 3] {
    [
        ("normal", Noise::Normal { sd: spread }),
        ("lognormal", Noise::Lognormal { sigma: spread }),
        ("t with 3 degrees of freedom", Noise::StudentT3 { scale: spread / 3.0_f64.sqrt() }),
    ]
}

/// Runs of several CPU counts round by round, with a standard deviation of 1% and a factor that the
/// runs of a round have in common.
pub(crate) fn draw_rounds(
    noise: Noise,
    common: f64,
    counts: usize,
    rounds: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<Vec<RoundValue>> {
    let mut runs = vec![Vec::new(); counts];
    for round in 0..rounds as u32 {
        let factor = (common * draw_normal(rng)).exp();
        runs.iter_mut().for_each(|runs| runs.push(RoundValue { round, value: factor * noise.draw(rng) }));
    }
    runs
}
