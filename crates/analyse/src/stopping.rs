//! When there are runs enough: the sequential stopping rule.
//!
//! It only says; starting runs and keeping time is the experiment's. The intervals of what it stopped are those of
//! [`Design::Sequential`], which knows how often it looked.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::design::{Design, MIN_RUNS, looks};
use crate::interval::interval_of_sorted;
use crate::summary::{median_of_sorted, sorted};

/// Rounds of runs, one at every point a round, go on until the 95% interval of every point's median is within
/// `precision` of it, or `max_runs` are done. It looks at 6, 9, 14, 21, 32, … rounds, never between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoppingRule {
    /// The half-width to reach, as a share of the median: 0.01 is 1%.
    pub precision: f64,
    /// The fewest rounds, even if the first look would be content. Fewer than six changes nothing.
    pub min_runs: usize,
    /// The most rounds.
    pub max_runs: usize,
}

/// What the rule says after a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Another round.
    Continue,
    /// Stop: every interval is narrow enough.
    Precise,
    /// Stop: there are `max_runs` rounds, and some interval is still too wide.
    RunsExhausted,
}

impl StoppingRule {
    /// The design to give to the intervals of a study that this rule has stopped, or would have.
    pub fn design(&self) -> Design {
        Design::Sequential { max_runs: self.max_runs }
    }

    /// The least number of rounds after `rounds` at which the rule looks at the values; until then it says
    /// [`Decision::Continue`] whatever they are.
    pub fn next_look(&self, rounds: usize) -> usize {
        let least = (rounds + 1).max(self.min_runs);
        looks().find(|&look| look >= least).unwrap_or(self.max_runs).min(self.max_runs)
    }

    /// What to do after a round. `samples` holds the values of each point, in the order in which they were
    /// measured; no points are precise.
    ///
    /// Points may have different numbers of runs where some failed. Then the longest counts as the rounds done,
    /// and each is judged by its first runs, as many as the shortest has: those are what a look is allowed at.
    pub fn decide(&self, samples: &[&[f64]]) -> Decision {
        let rounds = samples.iter().map(|s| s.len()).max().unwrap_or(0);
        let common = samples.iter().map(|s| s.len()).min().unwrap_or(0);
        let exhausted = rounds >= self.max_runs && !samples.is_empty();
        if !exhausted && !samples.is_empty() && !self.is_look(common) {
            return Decision::Continue;
        }
        let judged = |sample: &&[f64]| self.is_precise(if exhausted { sample } else { &sample[..common] });
        match samples.iter().all(judged) {
            true => Decision::Precise,
            false if exhausted => Decision::RunsExhausted,
            false => Decision::Continue,
        }
    }

    /// About how many rounds the rule will take in all, for a progress display: the first look at which the noise
    /// seen so far would be precise enough, at most `max_runs`. Before six rounds it knows nothing and says the
    /// first look. Rough: after six rounds the width of an interval is known to about a third, so the rounds to
    /// about a factor of two. It sorts all values: ask after a look, not after every round.
    pub fn runs_needed(&self, samples: &[&[f64]]) -> usize {
        let rounds = samples.iter().map(|s| s.len()).max().unwrap_or(0);
        samples
            .iter()
            .filter_map(|sample| self.noise(&sorted(sample)))
            .map(|noise| self.runs_for(noise, rounds))
            .max()
            .unwrap_or_else(|| self.next_look(rounds))
            .min(self.max_runs)
    }

    /// Whether the rule looks at the values after `rounds` rounds.
    pub fn is_look(&self, rounds: usize) -> bool {
        rounds > 0 && self.next_look(rounds - 1) == rounds
    }

    fn is_precise(&self, sample: &[f64]) -> bool {
        let values = sorted(sample);
        let interval = interval_of_sorted(&values, self.design());
        let within = |(interval, median): (crate::Interval, f64)| {
            interval.half_width() <= self.precision * median.abs()
        };
        interval.zip(median_of_sorted(&values)).is_some_and(within)
    }

    /// The standard error of the relative median if there were one run, judged by the ordinary interval.
    fn noise(&self, sorted: &[f64]) -> Option<f64> {
        let interval = interval_of_sorted(sorted, Design::Fixed)?;
        let relative = interval.half_width() / median_of_sorted(sorted)?.abs();
        Some(relative * (sorted.len() as f64).sqrt() / deviations(Design::Fixed, sorted.len())?)
    }

    /// The first look, from `rounds` on, that `noise` would pass.
    fn runs_for(&self, noise: f64, rounds: usize) -> usize {
        let wide = |look: &usize| {
            let deviations = deviations(self.design(), *look).unwrap_or(f64::INFINITY);
            deviations * noise / (*look as f64).sqrt() > self.precision
        };
        let mut look = self.next_look(rounds.saturating_sub(1));
        while look < self.max_runs && wide(&look) {
            look = self.next_look(look);
        }
        look
    }
}

/// How many standard errors the interval of `design` reaches out at `runs`.
fn deviations(design: Design, runs: usize) -> Option<f64> {
    Some(Normal::standard().inverse_cdf(1.0 - design.pointwise_alpha(runs.max(MIN_RUNS))? / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: StoppingRule = StoppingRule { precision: 0.01, min_runs: 6, max_runs: 30 };

    /// `runs` values around 1, the widest `spread` away on either side.
    fn noisy(runs: usize, spread: f64) -> Vec<f64> {
        (0..runs).map(|i| 1.0 + spread * (2.0 * (i * 7 % runs) as f64 / (runs - 1) as f64 - 1.0)).collect()
    }

    #[test]
    fn a_quiet_program_stops_at_six() {
        let quiet = noisy(6, 0.009);
        assert_eq!(RULE.decide(&[&quiet[..5]]), Decision::Continue);
        assert_eq!(RULE.decide(&[&quiet, &quiet]), Decision::Precise);
        assert_eq!(RULE.runs_needed(&[&quiet]), 6);
    }

    #[test]
    fn every_point_must_be_precise() {
        assert_eq!(RULE.decide(&[&noisy(6, 0.009), &noisy(6, 0.02)]), Decision::Continue);
    }

    #[test]
    fn between_looks_it_does_not_look() {
        for runs in 1..30 {
            let expected =
                if [6, 9, 14, 21].contains(&runs) { Decision::Precise } else { Decision::Continue };
            assert_eq!(RULE.decide(&[&vec![1.0; runs]]), expected, "{runs} runs");
        }
        assert_eq!((0..8).map(|n| RULE.next_look(n)).collect::<Vec<_>>(), [6, 6, 6, 6, 6, 6, 9, 9]);
        assert_eq!(RULE.next_look(21), 30);
    }

    #[test]
    fn the_last_round_ends_it() {
        assert_eq!(RULE.decide(&[&noisy(30, 0.5)]), Decision::RunsExhausted);
        assert_eq!(RULE.decide(&[&noisy(30, 0.009)]), Decision::Precise);
        let few = StoppingRule { max_runs: 4, ..RULE };
        assert_eq!(few.decide(&[&[1.0; 4]]), Decision::RunsExhausted);
    }

    #[test]
    fn failed_runs_neither_hide_a_point_nor_keep_the_rule_from_ending() {
        assert_eq!(RULE.decide(&[&[1.0; 9], &[1.0; 7]]), Decision::Continue);
        assert_eq!(RULE.decide(&[&[1.0; 11], &[1.0; 9]]), Decision::Precise);
        assert_eq!(RULE.decide(&[&[1.0; 30], &[]]), Decision::RunsExhausted);
    }

    #[test]
    fn nothing_to_measure_is_precise() {
        assert_eq!(RULE.decide(&[]), Decision::Precise);
    }

    #[test]
    fn more_runs_can_be_asked_for() {
        let rule = StoppingRule { min_runs: 10, ..RULE };
        assert_eq!(rule.decide(&[&[1.0; 9]]), Decision::Continue);
        assert_eq!(rule.decide(&[&[1.0; 14]]), Decision::Precise);
    }

    #[test]
    fn the_forecast_grows_with_the_noise_up_to_the_maximum() {
        let rule = StoppingRule { max_runs: 1000, ..RULE };
        let forecast = [0.005, 0.01, 0.02, 0.04, 0.08].map(|spread| rule.runs_needed(&[&noisy(21, spread)]));
        assert!(forecast.is_sorted() && forecast[0] == 21 && forecast[4] > 100, "{forecast:?}");
        assert_eq!(RULE.runs_needed(&[&noisy(21, 0.5)]), 30);
        assert_eq!(RULE.runs_needed(&[&[1.0; 3]]), 6);
    }
}
