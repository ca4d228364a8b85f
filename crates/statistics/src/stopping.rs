//! Sequential stopping rule: the decision that there are enough runs.
//!
//! The whole rule is here: its defaults, its looks, the probability of a miss that each look may
//! spend, and the decision. [`Design::Sequential`] derives the ranks of the intervals from it. The
//! rule only decides; the sweep asks after each round, starts runs and keeps time.

use std::f64::consts::PI;
use std::ops::RangeInclusive;

use morecores_study::Stop;
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

use crate::design::{ALPHA, Design, MIN_RUNS};
use crate::interval::interval_of_sorted;
use crate::summary::{median_of_sorted, sorted};

/// Part of `ALPHA` that the look at six runs spends: 2/2^6. A quiet program can stop at that look.
const FIRST_LOOK_ALPHA: f64 = 0.031_25;

/// Probability that the number of rounds lies in the displayed range, if the noise is the only
/// unknown. A range with a higher probability would be too wide to inform a waiting person.
const RANGE_PROBABILITY: f64 = 0.5;

/// Largest number of rounds for which the looks are computed one by one. Beyond it, the number of
/// rounds is extrapolated.
const FARTHEST_LOOK: usize = 1000;

/// Stopping rule for rounds of runs, with one run at every point per round. The rounds end when the
/// 95% interval of the median of every sample is within `precision` of the median, or after
/// `max_runs` rounds. The samples are those of the question, from
/// [`question_samples`](crate::question_samples): the speedups of the rounds, or the runs of the
/// only point. The rule looks after 6, 9, 14, 21, 32, … rounds, never in between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoppingRule {
    /// Target half-width, as a share of the median: 0.01 is 1%.
    pub precision: f64,
    /// Minimum number of rounds, even if the first look would be precise enough. Values below six
    /// have no effect.
    pub min_runs: usize,
    /// Maximum number of rounds.
    pub max_runs: usize,
}

/// Decision of the rule after a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Continue with another round.
    Continue,
    /// Stop: every interval is narrow enough.
    Precise,
    /// Stop: there are `max_runs` rounds, and at least one interval is still too wide.
    RunsExhausted,
}

impl StoppingRule {
    /// Rule of a study of one CPU count unless the user says otherwise: docs/methods/measure.md,
    /// "Stopping rule". A command whose median is not known to 1% after 30 runs needs a quieter
    /// machine, not more runs.
    pub const DEFAULT: Self = Self { precision: 0.01, min_runs: MIN_RUNS, max_runs: 30 };

    /// Rule of a study of several CPU counts unless the user says otherwise. A thirtieth of the
    /// speedup answers whether more CPUs help, and by how much.
    pub const DEFAULT_OF_SPEEDUPS: Self = Self { precision: 1.0 / 30.0, ..Self::DEFAULT };

    /// Rule of a plan; `None` if the plan has only a number of runs.
    pub fn from_stop(stop: &Stop) -> Option<Self> {
        let (min_runs, max_runs) = (stop.min_runs as usize, stop.max_runs as usize);
        stop.precision.map(|precision| Self { precision, min_runs, max_runs })
    }

    /// Design for the intervals of a study that this rule has stopped, or would have stopped.
    pub fn design(&self) -> Design {
        Design::Sequential { max_runs: self.max_runs }
    }

    /// Number of rounds at the next look after `rounds`. Until then, the decision is
    /// [`Decision::Continue`] for any values.
    pub fn next_look(&self, rounds: usize) -> usize {
        let least = (rounds + 1).max(self.min_runs);
        looks().find(|&look| look >= least).unwrap_or(self.max_runs).min(self.max_runs)
    }

    /// Decision after a round. `samples` holds the values of each sample, in the order of the
    /// rounds; an empty list of samples is precise.
    ///
    /// Failed runs can leave the samples with different numbers of values. The number of rounds is
    /// then that of the longest sample. Each sample is judged by its first values, as many as the
    /// shortest sample has, because a look is valid only at that number.
    pub fn decide<S: AsRef<[f64]>>(&self, samples: &[S]) -> Decision {
        let samples: Vec<&[f64]> = samples.iter().map(AsRef::as_ref).collect();
        let rounds = samples.iter().map(|s| s.len()).max().unwrap_or(0);
        let common = samples.iter().map(|s| s.len()).min().unwrap_or(0);
        let exhausted = rounds >= self.max_runs && !samples.is_empty();
        if !exhausted && !samples.is_empty() && !self.is_look(common) {
            return Decision::Continue;
        }
        let is_precise_enough =
            |sample: &&[f64]| self.is_precise(if exhausted { sample } else { &sample[..common] });
        match samples.iter().all(is_precise_enough) {
            true => Decision::Precise,
            false if exhausted => Decision::RunsExhausted,
            false => Decision::Continue,
        }
    }

    /// Likely range of the total number of rounds, for a progress display; it holds with a
    /// probability of one half. The ends are the first looks that would be precise enough with the
    /// lowest and the highest plausible noise, given the values so far. Both ends are at most
    /// `max_runs`. Before the second round, the range is from the next look to `max_runs`. From the
    /// sixth round on, each point is judged by its own noise; before that, by the noise of all
    /// points together.
    pub fn expected_rounds(&self, samples: &[impl AsRef<[f64]>]) -> RangeInclusive<usize> {
        let samples: Vec<&[f64]> = samples.iter().map(AsRef::as_ref).collect();
        let rounds = samples.iter().map(|s| s.len()).min().unwrap_or(0);
        let own = samples.iter().filter_map(|sample| Some((self.noise(&sorted(sample))?, sample.len() - 1)));
        let noisiest = own.max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((noise, degrees_of_freedom)) = noisiest.or_else(|| pooled_noise(&samples)) else {
            return self.next_look(rounds)..=self.max_runs;
        };
        let [least, most] = deviation_factors(degrees_of_freedom)
            .map(|factor| self.rounds_until_precise(factor * noise, rounds));
        least..=most
    }

    /// Number of rounds at which every sample would probably be precise enough, given its spread so
    /// far, whatever `max_runs`. `None` if all samples are precise enough, or if one has too few
    /// values for a spread.
    pub fn rounds_needed(&self, samples: &[impl AsRef<[f64]>]) -> Option<usize> {
        let samples: Vec<&[f64]> = samples.iter().map(AsRef::as_ref).collect();
        if self.precision <= 0.0 || samples.iter().all(|sample| self.is_precise(sample)) {
            return None;
        }
        let rounds = samples.iter().map(|sample| sample.len()).max()?;
        let noises: Option<Vec<f64>> = samples.iter().map(|sample| self.noise(&sorted(sample))).collect();
        let noise = noises?.into_iter().reduce(f64::max).filter(|noise| noise.is_finite())?;
        let patient = Self { max_runs: FARTHEST_LOOK.max(rounds + 1), ..*self };
        let look = patient.rounds_until_precise(noise, rounds);
        let errors = standard_errors(patient.design(), look)?;
        // The half-width falls with the square root of the rounds.
        Some(look.max((errors * noise / self.precision).powi(2).ceil() as usize))
    }

    /// Half-width of the widest interval of a sample, as a share of its median. `None` if a sample
    /// has too few values.
    pub fn widest(&self, samples: &[impl AsRef<[f64]>]) -> Option<f64> {
        let widths: Option<Vec<f64>> =
            samples.iter().map(|sample| self.relative_half_width(&sorted(sample.as_ref()))).collect();
        widths?.into_iter().reduce(f64::max)
    }

    /// Returns whether the rule looks at the values after `rounds` rounds.
    fn is_look(&self, rounds: usize) -> bool {
        rounds > 0 && self.next_look(rounds - 1) == rounds
    }

    fn is_precise(&self, sample: &[f64]) -> bool {
        self.relative_half_width(&sorted(sample)).is_some_and(|width| width <= self.precision)
    }

    /// Half-width of a sample's interval as a share of its median; zero for equal values.
    fn relative_half_width(&self, sorted: &[f64]) -> Option<f64> {
        let half_width = interval_of_sorted(sorted, self.design())?.half_width();
        let median = median_of_sorted(sorted)?.abs();
        Some(if half_width == 0.0 { 0.0 } else { half_width / median })
    }

    /// Standard error of the relative median for a single run, estimated from the ordinary
    /// interval.
    fn noise(&self, sorted: &[f64]) -> Option<f64> {
        let interval = interval_of_sorted(sorted, Design::Fixed)?;
        let relative = interval.half_width() / median_of_sorted(sorted)?.abs();
        Some(relative * (sorted.len() as f64).sqrt() / standard_errors(Design::Fixed, sorted.len())?)
    }

    /// First look after `rounds` that is precise enough with this `noise`.
    fn rounds_until_precise(&self, noise: f64, rounds: usize) -> usize {
        let wide = |look: &usize| {
            let errors = standard_errors(self.design(), *look).unwrap_or(f64::INFINITY);
            errors * noise / (*look as f64).sqrt() > self.precision
        };
        let mut look = self.next_look(rounds);
        while look < self.max_runs && wide(&look) {
            look = self.next_look(look);
        }
        look
    }
}

/// Numbers of runs at which the stopping rule looks, an endless sequence: 6, then half as many
/// again, rounded up. Few looks cost little coverage, and a look comes at most 50% too late.
pub(crate) fn looks() -> impl Iterator<Item = usize> {
    std::iter::successors(Some(MIN_RUNS), |n| Some((3 * n).div_ceil(2)))
}

/// Part of `ALPHA` that may be spent up to the look at `runs`. The first look spends its whole part
/// at once. The rest follows the square root of the number of runs, and is never spent completely.
/// The exponent was chosen by simulation: a larger exponent serves quiet programs, a smaller one
/// noisy programs (docs/methods/measure.md, "Stopping rule").
pub(crate) fn alpha_spent_by(runs: usize) -> f64 {
    ALPHA - (ALPHA - FIRST_LOOK_ALPHA) * (MIN_RUNS as f64 / runs as f64).sqrt()
}

/// Noise of all points together, as in [`StoppingRule::noise`], and its degrees of freedom. It
/// serves while no point has enough runs for an interval; `None` before the second round. For the
/// median of normal values, the noise is sqrt(pi/2) standard deviations.
fn pooled_noise(samples: &[&[f64]]) -> Option<(f64, usize)> {
    let (mut squares, mut degrees_of_freedom) = (0.0, 0);
    for sample in samples.iter().filter(|sample| sample.len() > 1) {
        let mean = sample.iter().sum::<f64>() / sample.len() as f64;
        squares += sample.iter().map(|value| (value / mean - 1.0).powi(2)).sum::<f64>();
        degrees_of_freedom += sample.len() - 1;
    }
    let noise = (PI / 2.0 * squares / degrees_of_freedom as f64).sqrt();
    noise.is_finite().then_some((noise, degrees_of_freedom))
}

/// Range of factors by which a standard deviation with `degrees_of_freedom` degrees of freedom may
/// be off, with a probability of 0.5.
fn deviation_factors(degrees_of_freedom: usize) -> [f64; 2] {
    let degrees_of_freedom = degrees_of_freedom.max(1) as f64;
    let tail = (1.0 - RANGE_PROBABILITY) / 2.0;
    let factor = |share| {
        ChiSquared::new(degrees_of_freedom)
            .map_or(1.0, |chi| (degrees_of_freedom / chi.inverse_cdf(share)).sqrt())
    };
    [factor(1.0 - tail), factor(tail)]
}

/// Half-width of the interval of `design` at `runs`, in standard errors.
fn standard_errors(design: Design, runs: usize) -> Option<f64> {
    Some(Normal::standard().inverse_cdf(1.0 - design.pointwise_alpha(runs.max(MIN_RUNS))? / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: StoppingRule = StoppingRule::DEFAULT;

    /// Creates `runs` values around 1; the extreme values are `spread` away on either side.
    fn spread_values(runs: usize, spread: f64) -> Vec<f64> {
        (0..runs).map(|i| 1.0 + spread * (2.0 * (i * 7 % runs) as f64 / (runs - 1) as f64 - 1.0)).collect()
    }

    #[test]
    fn looks_are_few() {
        assert_eq!(looks().take(9).collect::<Vec<_>>(), [6, 9, 14, 21, 32, 48, 72, 108, 162]);
    }

    #[test]
    fn a_quiet_program_stops_at_six() {
        let quiet = spread_values(6, 0.009);
        assert_eq!(RULE.decide(&[&quiet[..5]]), Decision::Continue);
        assert_eq!(RULE.decide(&[&quiet, &quiet]), Decision::Precise);
        assert_eq!(
            RULE.expected_rounds(&[&quiet[..5], &[1.0; 6][..]]),
            6..=6,
            "a look that is still to come"
        );
    }

    #[test]
    fn every_point_must_be_precise() {
        assert_eq!(RULE.decide(&[&spread_values(6, 0.009), &spread_values(6, 0.02)]), Decision::Continue);
    }

    #[test]
    fn the_rule_decides_only_at_its_looks() {
        for runs in 1..30 {
            let expected =
                if [6, 9, 14, 21].contains(&runs) { Decision::Precise } else { Decision::Continue };
            assert_eq!(RULE.decide(&[&vec![1.0; runs]]), expected, "{runs} runs");
        }
        assert_eq!((0..8).map(|n| RULE.next_look(n)).collect::<Vec<_>>(), [6, 6, 6, 6, 6, 6, 9, 9]);
        assert_eq!(RULE.next_look(21), 30);
    }

    #[test]
    fn the_last_round_ends_the_sweep() {
        assert_eq!(RULE.decide(&[&spread_values(30, 0.5)]), Decision::RunsExhausted);
        assert_eq!(RULE.decide(&[&spread_values(30, 0.009)]), Decision::Precise);
        let few = StoppingRule { max_runs: 4, ..RULE };
        assert_eq!(few.decide(&[&[1.0; 4]]), Decision::RunsExhausted);
    }

    #[test]
    fn failed_runs_do_not_hide_a_point_or_delay_the_end() {
        assert_eq!(RULE.decide(&[vec![1.0; 9], vec![1.0; 7]]), Decision::Continue);
        assert_eq!(RULE.decide(&[vec![1.0; 11], vec![1.0; 9]]), Decision::Precise);
        assert_eq!(RULE.decide(&[vec![1.0; 30], vec![]]), Decision::RunsExhausted);
    }

    #[test]
    fn nothing_to_measure_is_precise() {
        assert_eq!(RULE.decide::<Vec<f64>>(&[]), Decision::Precise);
    }

    #[test]
    fn minimum_of_runs_is_respected() {
        let rule = StoppingRule { min_runs: 10, ..RULE };
        assert_eq!(rule.decide(&[&[1.0; 9]]), Decision::Continue);
        assert_eq!(rule.decide(&[&[1.0; 14]]), Decision::Precise);
    }

    #[test]
    fn more_noise_needs_more_rounds_up_to_the_maximum() {
        let rule = StoppingRule { max_runs: 1000, ..RULE };
        let expected =
            [0.005, 0.01, 0.02, 0.04, 0.08].map(|spread| rule.expected_rounds(&[&spread_values(21, spread)]));
        let [least, most] = [&expected.clone().map(|e| *e.start()), &expected.clone().map(|e| *e.end())];
        assert!(least.is_sorted() && most.is_sorted(), "{expected:?}");
        assert!(expected[0] == (32..=32) && *expected[4].start() > 100, "{expected:?}");
        assert_eq!(RULE.expected_rounds(&[&spread_values(21, 0.5)]), 30..=30);
    }

    #[test]
    fn the_rounds_needed_grow_with_the_square_of_the_noise() {
        let needed = |spread| RULE.rounds_needed(&[&spread_values(30, spread), &[1.0; 30][..]]);
        assert_eq!(needed(0.009), None, "precise enough");
        let [some, more, most] = [0.03, 0.12, 2.4].map(|spread| needed(spread).expect("imprecise"));
        assert!(some > 30 && more > 8 * some && more < 24 * some, "{some} and {more}");
        assert!((most as f64 / more as f64 / 400.0 - 1.0).abs() < 0.3, "{more} and {most}");
        assert_eq!(RULE.rounds_needed(&[&[1.0, 2.0]]), None, "two rounds");
        assert_eq!(RULE.rounds_needed(&[&spread_values(30, 0.03), &[1.0][..]]), None, "one value");
    }

    #[test]
    fn two_rounds_distinguish_quiet_and_noisy_programs() {
        assert_eq!(RULE.expected_rounds(&[&[1.0], &[0.5]]), 6..=30, "one run each tells nothing");
        assert_eq!(RULE.expected_rounds(&[&[1.0, 1.0005], &[0.5, 0.5002]]), 6..=6);
        assert_eq!(RULE.expected_rounds(&[&[1.0, 1.3], &[0.5, 0.6]]), 30..=30);
        let between = RULE.expected_rounds(&[&[1.0, 1.02], &[0.5, 0.5]]);
        assert!(*between.start() < *between.end(), "{between:?}");
        // A metric of zero has no relative noise.
        assert_eq!(RULE.expected_rounds(&[&[0.0, 0.0]]), 6..=30);
    }
}
