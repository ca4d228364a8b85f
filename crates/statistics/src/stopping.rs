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
use crate::interval::{Interval, interval_of_sorted};
use crate::question::QuestionSample;
use crate::ratio::paired_ratio_interval_with_alpha;
use crate::separation::{rounds_until_apart, rounds_until_width};
use crate::summary::{median_of_sorted, sorted};

/// Part of `ALPHA` that the look at six runs spends: 2/2^6. A quiet program can stop at that look.
const FIRST_LOOK_ALPHA: f64 = 0.031_25;

/// Probability that the number of rounds lies in the displayed range, if the noise is the only
/// unknown. A range with a higher probability would be too wide to inform a waiting person.
const RANGE_PROBABILITY: f64 = 0.5;

/// Stopping rule for rounds of runs, with one run at every point per round. It looks after 6, 9,
/// 14, 21, 32, … rounds, never in between, and at the latest after `max_runs` rounds.
///
/// The samples are those of a [`Question`](crate::Question). If they have no bounds, the rounds end
/// when the 95% interval of the median of every sample is within `precision` of the median. If the
/// speedups have bounds, the rounds end when the answer stands:
///
/// - no: the whole interval of every speedup is below its bound. The size of the speedups does not
///   matter;
/// - yes: the whole interval of some speedup is at or above its bound, and every interval is within
///   `precision`.
///
/// If the best of several cells is asked for, the rounds end when each other cell is shown to be
/// worse than the best so far, or to be as good within `precision`.
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
    /// Stop: the question is answered.
    Answered,
    /// Stop: there are `max_runs` rounds, and the question is still open.
    RunsExhausted,
}

/// Position of an interval relative to the bound of its sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Below,
    AtOrAbove,
    Unknown,
}

impl Side {
    fn new(interval: Interval, bound: f64) -> Self {
        match interval {
            Interval { hi, .. } if hi < bound => Self::Below,
            Interval { lo, .. } if lo >= bound => Self::AtOrAbove,
            _ => Self::Unknown,
        }
    }
}

/// Part of a sample in the answer that the medians so far suggest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Goal {
    /// Whether the interval must be within the precision.
    is_precise: bool,
    /// Whether the interval must not contain the bound.
    is_apart: bool,
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
    /// rounds; without samples there is no question, and it is answered.
    ///
    /// Failed runs can leave the samples with different numbers of values. The number of rounds is
    /// then that of the longest sample. Each sample is judged by its first values, as many as the
    /// shortest sample has, because a look is valid only at that number.
    pub fn decide(&self, samples: &[QuestionSample]) -> Decision {
        let rounds = samples.iter().map(|sample| sample.values.len()).max().unwrap_or(0);
        let common = samples.iter().map(|sample| sample.values.len()).min().unwrap_or(0);
        let exhausted = rounds >= self.max_runs && !samples.is_empty();
        if !exhausted && !samples.is_empty() && !self.is_look(common) {
            return Decision::Continue;
        }
        match self.is_answered(samples, if exhausted { rounds } else { common }) {
            true => Decision::Answered,
            false if exhausted => Decision::RunsExhausted,
            false => Decision::Continue,
        }
    }

    /// Likely range of the total number of rounds, for a progress display; it holds with a
    /// probability of one half. The ends are the first looks that would answer with the lowest and
    /// the highest plausible noise, given the values so far. Both ends are at most `max_runs`.
    /// Before the second round, the range is from the next look to `max_runs`. From the sixth round
    /// on, each point is judged by its own noise; before that, by the noise of all points together.
    pub fn expected_rounds(&self, samples: &[QuestionSample]) -> RangeInclusive<usize> {
        let rounds = samples.iter().map(|sample| sample.values.len()).min().unwrap_or(0);
        let tolerances: Vec<f64> =
            samples.iter().zip(goals(samples)).map(|(sample, goal)| self.tolerance(sample, goal)).collect();
        let own = samples.iter().zip(&tolerances).filter_map(|(sample, tolerance)| {
            Some((self.noise(&sorted(&sample.values))? / tolerance, sample.values.len() - 1))
        });
        let pooled = || {
            let (noise, degrees_of_freedom) = pooled_noise(samples)?;
            Some((noise / tolerances.iter().copied().reduce(f64::min)?, degrees_of_freedom))
        };
        let noisiest = own.max_by(|a, b| a.0.total_cmp(&b.0)).or_else(pooled);
        let Some((noise, degrees_of_freedom)) = noisiest else {
            return self.next_look(rounds)..=self.max_runs;
        };
        let [least, most] = deviation_factors(degrees_of_freedom)
            .map(|factor| self.rounds_until_narrow(factor * noise, rounds));
        least..=most
    }

    /// Number of rounds at which the question would probably be answered, given the spread so far,
    /// whatever `max_runs`. `None` if it is answered, if a sample has too few values for a spread,
    /// or if more than a thousand rounds are needed.
    pub fn rounds_needed(&self, samples: &[QuestionSample]) -> Option<usize> {
        let all = samples.iter().map(|sample| sample.values.len()).max()?;
        if self.precision <= 0.0 || self.is_answered(samples, all) {
            return None;
        }
        let needed = |(sample, goal): (&QuestionSample, Goal)| {
            let (values, runs) = (sorted(&sample.values), sample.values.len());
            let (median, interval) =
                (median_of_sorted(&values)?, interval_of_sorted(&values, self.design())?);
            let precise = match self.relative_half_width(&values)? {
                width if goal.is_precise && width > self.tolerance(sample, goal) => {
                    rounds_until_width(self.design(), runs, self.tolerance(sample, goal) / width)?
                }
                _ => runs,
            };
            let apart = match sample.bound.filter(|_| goal.is_apart) {
                Some(bound) if Side::new(interval, bound) == Side::Unknown => {
                    rounds_until_apart(self.design(), runs, median, interval, bound)?
                }
                _ => runs,
            };
            Some(precise.max(apart))
        };
        let needed: Option<Vec<usize>> = samples.iter().zip(goals(samples)).map(needed).collect();
        needed?.into_iter().max().filter(|rounds| *rounds > all)
    }

    /// Half-width of the widest interval of a sample, as a share of its median. `None` if a sample
    /// has too few values.
    pub fn widest(&self, samples: &[QuestionSample]) -> Option<f64> {
        let widths: Option<Vec<f64>> =
            samples.iter().map(|sample| self.relative_half_width(&sorted(&sample.values))).collect();
        widths?.into_iter().reduce(f64::max)
    }

    /// Returns whether the rule looks at the values after `rounds` rounds.
    fn is_look(&self, rounds: usize) -> bool {
        rounds > 0 && self.next_look(rounds - 1) == rounds
    }

    /// Returns whether the first `rounds` values of the samples answer the question.
    fn is_answered(&self, samples: &[QuestionSample], rounds: usize) -> bool {
        let judged: Vec<Vec<f64>> =
            samples.iter().map(|s| sorted(&s.values[..rounds.min(s.values.len())])).collect();
        let side = |(sample, values): (&QuestionSample, &Vec<f64>)| {
            let bound = sample.bound?;
            Some(interval_of_sorted(values, self.design()).map_or(Side::Unknown, |i| Side::new(i, bound)))
        };
        let sides: Vec<Option<Side>> = samples.iter().zip(&judged).map(side).collect();
        if !sides.is_empty() && sides.iter().all(|side| *side == Some(Side::Below)) {
            return true;
        }
        let is_yes = sides.contains(&Some(Side::AtOrAbove)) || sides.iter().all(Option::is_none);
        let is_known = |(sample, values): (&QuestionSample, &Vec<f64>)| match sample.rival_share {
            None => self.relative_half_width(values).is_some_and(|w| w <= self.precision),
            Some(share) => self
                .rival_interval(values, share)
                .is_some_and(|interval| !interval.contains(1.0) || interval.half_width() <= self.precision),
        };
        is_yes && samples.iter().zip(&judged).all(is_known)
    }

    /// Interval of the speedup of the best over a rival, as [`ranking`](crate::ranking()) has it.
    fn rival_interval(&self, values: &[f64], share: f64) -> Option<Interval> {
        paired_ratio_interval_with_alpha(values, self.design().joint_ratio_alpha(values.len(), share)?)
    }

    /// Half-width of a sample's interval, as a share of its median, that reaches the goal if the
    /// median stays.
    fn tolerance(&self, sample: &QuestionSample, goal: Goal) -> f64 {
        if sample.rival_share.is_some() {
            let lead = median_of_sorted(&sorted(&sample.values)).unwrap_or(1.0);
            return self.precision.max((1.0 - 1.0 / lead).abs());
        }
        let precise = if goal.is_precise { self.precision } else { f64::INFINITY };
        let over_bound = over_bound(sample).filter(|_| goal.is_apart);
        precise.min(over_bound.map_or(f64::INFINITY, |own| (1.0 - 1.0 / own).abs()))
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

    /// First look after `rounds` at which an interval is narrow enough. `noise` is the standard
    /// error of a single run, in units of the tolerated half-width.
    fn rounds_until_narrow(&self, noise: f64, rounds: usize) -> usize {
        let wide = |look: &usize| {
            let errors = standard_errors(self.design(), *look).unwrap_or(f64::INFINITY);
            errors * noise / (*look as f64).sqrt() > 1.0
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

/// Median of a sample over its bound.
fn over_bound(sample: &QuestionSample) -> Option<f64> {
    Some(median_of_sorted(&sorted(&sample.values))? / sample.bound?)
}

/// Parts of the samples in the answer that their medians suggest. For a no, every interval must end
/// below its bound. For a yes, the speedup that exceeds its bound most must show this, and every
/// interval must be precise.
fn goals(samples: &[QuestionSample]) -> Vec<Goal> {
    let best = samples.iter().filter_map(over_bound).reduce(f64::max);
    let is_no = best.is_some_and(|best| best < 1.0);
    let goal = |sample| Goal { is_precise: !is_no, is_apart: is_no || over_bound(sample) == best };
    samples.iter().map(goal).collect()
}

/// Noise of all points together, as in [`StoppingRule::noise`], and its degrees of freedom. It
/// serves while no point has enough runs for an interval; `None` before the second round. For the
/// median of normal values, the noise is sqrt(pi/2) standard deviations.
fn pooled_noise(samples: &[QuestionSample]) -> Option<(f64, usize)> {
    let (mut squares, mut degrees_of_freedom) = (0.0, 0);
    for sample in samples.iter().map(|sample| &sample.values).filter(|values| values.len() > 1) {
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

    /// Samples whose medians alone are asked for.
    fn medians<S: AsRef<[f64]>>(samples: &[S]) -> Vec<QuestionSample> {
        samples.iter().map(|values| QuestionSample::without_bound(values.as_ref())).collect()
    }

    /// Speedups around `middle`, as in [`spread_values`], that must reach 1.25.
    fn speedups(runs: usize, middle: f64, spread: f64) -> QuestionSample {
        let values: Vec<f64> = spread_values(runs, spread).into_iter().map(|value| middle * value).collect();
        QuestionSample { bound: Some(1.25), ..QuestionSample::without_bound(values) }
    }

    #[test]
    fn looks_are_few() {
        assert_eq!(looks().take(9).collect::<Vec<_>>(), [6, 9, 14, 21, 32, 48, 72, 108, 162]);
    }

    #[test]
    fn the_best_is_known_if_each_rival_is_worse_or_as_good() {
        let rival = |runs, lead: f64, spread| {
            let values: Vec<f64> =
                spread_values(runs, spread).into_iter().map(|value| lead * value).collect();
            QuestionSample { rival_share: Some(0.5), ..QuestionSample::without_bound(values) }
        };
        let rule = StoppingRule { precision: 0.03, ..RULE };
        let answered = |samples: &[QuestionSample]| rule.decide(samples) == Decision::Answered;
        assert!(!answered(&[rival(6, 1.5, 0.0)]), "six runs are too few for half of the error");
        assert!(answered(&[rival(14, 1.5, 0.2), rival(14, 1.0, 0.005)]));
        assert!(!answered(&[rival(14, 1.5, 0.2), rival(14, 1.02, 0.1)]));
        assert!(rule.rounds_needed(&[rival(14, 1.02, 0.1)]).unwrap() > 14);
        assert_eq!(rule.rounds_needed(&[rival(14, 1.5, 0.2)]), None);
    }

    #[test]
    fn a_quiet_program_stops_at_six() {
        let quiet = spread_values(6, 0.009);
        assert_eq!(RULE.decide(&medians(&[&quiet[..5]])), Decision::Continue);
        assert_eq!(RULE.decide(&medians(&[&quiet, &quiet])), Decision::Answered);
        assert_eq!(
            RULE.expected_rounds(&medians(&[&quiet[..5], &[1.0; 6][..]])),
            6..=6,
            "a look that is still to come"
        );
    }

    #[test]
    fn every_point_must_be_precise() {
        assert_eq!(
            RULE.decide(&medians(&[&spread_values(6, 0.009), &spread_values(6, 0.02)])),
            Decision::Continue
        );
    }

    #[test]
    fn the_rule_decides_only_at_its_looks() {
        for runs in 1..30 {
            let expected =
                if [6, 9, 14, 21].contains(&runs) { Decision::Answered } else { Decision::Continue };
            assert_eq!(RULE.decide(&medians(&[&vec![1.0; runs]])), expected, "{runs} runs");
        }
        assert_eq!((0..8).map(|n| RULE.next_look(n)).collect::<Vec<_>>(), [6, 6, 6, 6, 6, 6, 9, 9]);
        assert_eq!(RULE.next_look(21), 30);
    }

    #[test]
    fn the_last_round_ends_the_sweep() {
        assert_eq!(RULE.decide(&medians(&[&spread_values(30, 0.5)])), Decision::RunsExhausted);
        assert_eq!(RULE.decide(&medians(&[&spread_values(30, 0.009)])), Decision::Answered);
        let few = StoppingRule { max_runs: 4, ..RULE };
        assert_eq!(few.decide(&medians(&[&[1.0; 4]])), Decision::RunsExhausted);
    }

    #[test]
    fn failed_runs_do_not_hide_a_point_or_delay_the_end() {
        assert_eq!(RULE.decide(&medians(&[vec![1.0; 9], vec![1.0; 7]])), Decision::Continue);
        assert_eq!(RULE.decide(&medians(&[vec![1.0; 11], vec![1.0; 9]])), Decision::Answered);
        assert_eq!(RULE.decide(&medians(&[vec![1.0; 30], vec![]])), Decision::RunsExhausted);
    }

    #[test]
    fn nothing_to_measure_is_precise() {
        assert_eq!(RULE.decide(&[]), Decision::Answered);
    }

    #[test]
    fn minimum_of_runs_is_respected() {
        let rule = StoppingRule { min_runs: 10, ..RULE };
        assert_eq!(rule.decide(&medians(&[&[1.0; 9]])), Decision::Continue);
        assert_eq!(rule.decide(&medians(&[&[1.0; 14]])), Decision::Answered);
    }

    #[test]
    fn more_noise_needs_more_rounds_up_to_the_maximum() {
        let rule = StoppingRule { max_runs: 1000, ..RULE };
        let expected = [0.005, 0.01, 0.02, 0.04, 0.08]
            .map(|spread| rule.expected_rounds(&medians(&[&spread_values(21, spread)])));
        let [least, most] = [&expected.clone().map(|e| *e.start()), &expected.clone().map(|e| *e.end())];
        assert!(least.is_sorted() && most.is_sorted(), "{expected:?}");
        assert!(expected[0] == (32..=32) && *expected[4].start() > 100, "{expected:?}");
        assert_eq!(RULE.expected_rounds(&medians(&[&spread_values(21, 0.5)])), 30..=30);
    }

    #[test]
    fn the_rounds_needed_grow_with_the_square_of_the_noise() {
        let needed = |spread| RULE.rounds_needed(&medians(&[&spread_values(30, spread), &[1.0; 30][..]]));
        assert_eq!(needed(0.009), None, "precise enough");
        let [some, more] = [0.03, 0.06].map(|spread| needed(spread).expect("imprecise"));
        assert!(some > 30 && 2 * more > 5 * some && more < 6 * some, "{some} and {more}");
        assert_eq!(needed(2.4), None, "more than a thousand");
        assert_eq!(RULE.rounds_needed(&medians(&[&[1.0, 2.0]])), None, "two rounds");
        assert_eq!(RULE.rounds_needed(&medians(&[&spread_values(30, 0.03), &[1.0][..]])), None, "one value");
    }

    #[test]
    fn two_rounds_distinguish_quiet_and_noisy_programs() {
        assert_eq!(RULE.expected_rounds(&medians(&[&[1.0], &[0.5]])), 6..=30, "one run each tells nothing");
        assert_eq!(RULE.expected_rounds(&medians(&[&[1.0, 1.0005], &[0.5, 0.5002]])), 6..=6);
        assert_eq!(RULE.expected_rounds(&medians(&[&[1.0, 1.3], &[0.5, 0.6]])), 30..=30);
        let between = RULE.expected_rounds(&medians(&[&[1.0, 1.02], &[0.5, 0.5]]));
        assert!(*between.start() < *between.end(), "{between:?}");
        // A metric of zero has no relative noise.
        assert_eq!(RULE.expected_rounds(&medians(&[&[0.0, 0.0]])), 6..=30);
    }
    #[test]
    fn a_clear_no_needs_no_precision() {
        let wide = speedups(6, 1.0, 0.2);
        assert_eq!(RULE.decide(std::slice::from_ref(&wide)), Decision::Answered);
        assert_eq!(RULE.decide(&[wide.clone(), speedups(6, 1.0, 0.24)]), Decision::Answered);
        // One speedup that may reach its bound, or one without a bound, keeps the question open.
        assert_eq!(RULE.decide(&[wide.clone(), speedups(6, 1.0, 0.26)]), Decision::Continue);
        assert_eq!(RULE.decide(&[wide, QuestionSample::without_bound([1.0; 6])]), Decision::Continue);
        assert_eq!(RULE.decide(&[speedups(5, 1.0, 0.0)]), Decision::Continue, "no look");
    }

    #[test]
    fn a_yes_needs_its_size() {
        assert_eq!(RULE.decide(&[speedups(6, 2.0, 0.2)]), Decision::Continue, "yes, but how much?");
        assert_eq!(RULE.decide(&[speedups(6, 2.0, 0.009)]), Decision::Answered);
        assert_eq!(RULE.decide(&[speedups(6, 2.0, 0.009), speedups(6, 1.0, 0.009)]), Decision::Answered);
        assert_eq!(RULE.decide(&[speedups(6, 2.0, 0.009), speedups(6, 1.0, 0.2)]), Decision::Continue);
        // A precise interval that contains the bound answers nothing.
        assert_eq!(RULE.decide(&[speedups(6, 1.25, 0.009)]), Decision::Continue);
        assert_eq!(RULE.decide(&[speedups(30, 1.25, 0.009)]), Decision::RunsExhausted);
    }

    #[test]
    fn the_forecast_is_that_of_the_likely_answer() {
        let [near, far] = [1.2, 0.9].map(|middle| speedups(9, middle, 0.1));
        let needed = |samples: &[QuestionSample]| RULE.rounds_needed(samples);
        assert_eq!(needed(std::slice::from_ref(&far)), None, "answered");
        let no = needed(std::slice::from_ref(&near)).expect("open");
        assert!(needed(&[near.clone(), far.clone()]) == Some(no) && no > 9, "{no}");
        let yes = needed(&[speedups(9, 2.0, 0.05)]).expect("imprecise");
        assert!(yes > no, "the size needs more rounds than {no}: {yes}");
        assert_eq!(needed(&[speedups(9, 1.25, 0.01)]), None, "on the bound");
        assert_eq!(*RULE.expected_rounds(&[speedups(6, 0.9, 0.2)]).end(), 9, "{near:?}");
        assert_eq!(RULE.expected_rounds(&[speedups(9, 1.25, 0.1)]), 30..=30);
    }
}
