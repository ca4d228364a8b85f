//! Tests of a whole study for disturbances: drift, a slow first round, many outliers.
//!
//! All CPU counts are tested together, so that a study with many counts raises no more false alarms
//! than a study with one. Of undisturbed studies, 1% at most raise any alarm; each of the three
//! tests has a third of this rate. `docs/methods/measure.md`, "Disturbances", has the methods, the
//! measured rates and the limits. This module only detects; the report words the warnings.

use morecores_study::RoundValue;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};

use crate::design::MIN_RUNS;
use crate::summary::{outliers, sorted};

/// Rate of false alarms of one test: a third of the family-wise rate of 1%.
const TEST_RATE: f64 = 0.01 / 3.0;

/// Number of permutations of the rounds. The smallest rate that they can show is 1/3000, a tenth of
/// `TEST_RATE`.
const PERMUTATIONS: usize = 2999;

/// Number of permutations as extreme as the study at which there is no alarm any more.
const MAX_EXTREME: usize = 10;

/// Dependence of a CPU count on the order of its rounds, in standard deviations of random orders,
/// from which the count itself is named: 5%, two-sided. It has no influence on the rate of alarms.
const OWN_DEPENDENCE: f64 = 1.96;

/// Degrees of freedom of the heaviest tails for which the test of the first round holds its rate.
const HEAVIEST_TAILS: f64 = 3.0;

/// Least spread of a count's logarithms. A smaller one is the resolution of a clock.
const LEAST_SPREAD: f64 = 0.001;

/// Result of the tests of one study. The numbers of CPU counts are places in the tested list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disturbances {
    /// CPU counts whose values rise or fall with the rounds.
    pub drifting: Vec<usize>,
    /// CPU counts whose neighbouring rounds resemble each other, each with the rank correlation of
    /// neighbours. Empty if the study drifts.
    pub dependent: Vec<(usize, f64)>,
    /// Whether the runs of the first round are slower than later runs by more than the noise.
    pub has_slow_first_round: bool,
    /// Whether more runs are [`outliers`] than in noise with heavy tails.
    pub has_many_outliers: bool,
}

impl Disturbances {
    /// Tests the runs of each CPU count, in any order. Counts with fewer than
    /// [`MIN_RUNS`](crate::MIN_RUNS) runs or with a value that is not positive are left out.
    pub fn find(counts: &[Vec<RoundValue>], seed: u64) -> Self {
        let is_tested =
            |runs: &[RoundValue]| runs.len() >= MIN_RUNS && runs.iter().all(|run| run.value > 0.0);
        let places: Vec<usize> = (0..counts.len()).filter(|&place| is_tested(&counts[place])).collect();
        let tested: Vec<&[RoundValue]> = places.iter().map(|&place| &counts[place][..]).collect();
        let mut rounds: Vec<u32> = tested.iter().flat_map(|runs| runs.iter().map(|run| run.round)).collect();
        rounds.sort_unstable();
        rounds.dedup();
        let mut found = Self {
            has_slow_first_round: has_slow_first_round(&tested, &rounds),
            has_many_outliers: has_many_outliers(&tested),
            ..Self::default()
        };
        let scores: Vec<Scores> = tested.iter().map(|runs| Scores::from_ranks(runs, &rounds)).collect();
        let order: Vec<usize> = (0..rounds.len()).collect();
        match find_dependence(&scores, seed) {
            Some(Dependence::Drift) => {
                let drifting = affected(&scores, |scores| scores.trend(&order).abs());
                found.drifting = drifting.into_iter().map(|place| places[place]).collect();
            }
            Some(Dependence::Neighbours) => {
                let dependent = affected(&scores, |scores| scores.neighbour_excess(&order));
                let correlation = |place: usize| scores[place].neighbour_correlation(&order);
                found.dependent =
                    dependent.into_iter().map(|place| (places[place], correlation(place))).collect();
            }
            None => (),
        }
        found
    }
}

/// Kind of dependence of values on the order of their rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dependence {
    Drift,
    Neighbours,
}

/// Score of each round, with a sum of zero.
#[derive(Clone, Debug)]
struct Scores {
    scores: Vec<f64>,
    squares: f64,
}

impl Scores {
    /// Ranks of the runs, less their mean. A round without a run has the mean.
    fn from_ranks(runs: &[RoundValue], rounds: &[u32]) -> Self {
        let values = sorted(&runs.iter().map(|run| run.value).collect::<Vec<_>>());
        let mut scores = vec![0.0; rounds.len()];
        for run in runs {
            let below = values.partition_point(|value| *value < run.value);
            let up_to = values.partition_point(|value| *value <= run.value);
            let rank = (below + up_to) as f64 / values.len() as f64 - 1.0;
            if let Ok(place) = rounds.binary_search(&run.round) {
                scores[place] += rank;
            }
        }
        Self::new(scores)
    }

    /// Sum of the standardised scores of all counts, which shows what the counts have in common.
    fn sum(counts: &[Self]) -> Self {
        let rounds = counts.first().map_or(0, |count| count.scores.len());
        let standardised = |count: &Self, round: usize| count.scores[round] / count.squares.sqrt();
        let sum = |round| counts.iter().filter(|c| c.squares > 0.0).map(|c| standardised(c, round)).sum();
        Self::new((0..rounds).map(sum).collect())
    }

    fn new(scores: Vec<f64>) -> Self {
        let squares = scores.iter().map(|score| score * score).sum();
        Self { scores, squares }
    }

    /// Correlation of the scores in this `order` with their places, in standard deviations of
    /// random orders.
    fn trend(&self, order: &[usize]) -> f64 {
        let rounds = order.len() as f64;
        let middle = (rounds - 1.0) / 2.0;
        let sum: f64 = order.iter().enumerate().map(|(at, &i)| (at as f64 - middle) * self.scores[i]).sum();
        let places = rounds * (rounds * rounds - 1.0) / 12.0;
        sum / (places * self.squares / (rounds - 1.0)).sqrt()
    }

    /// Correlation of neighbours in this `order`: Wald & Wolfowitz, *An Exact Test for Randomness*,
    /// Annals of Mathematical Statistics 14(4), 1943.
    fn neighbour_correlation(&self, order: &[usize]) -> f64 {
        order.windows(2).map(|pair| self.scores[pair[0]] * self.scores[pair[1]]).sum::<f64>() / self.squares
    }

    /// The same in approximate standard deviations of random orders, from its mean there.
    fn neighbour_excess(&self, order: &[usize]) -> f64 {
        let rounds = order.len() as f64;
        (self.neighbour_correlation(order) + 1.0 / rounds) * rounds.sqrt()
    }
}

/// Tests by random permutations of whole rounds, so that what the runs of one round have in common
/// stays together. The statistic is the most extreme of all counts and of their sum (Westfall &
/// Young, *Resampling-Based Multiple Testing*, 1993): the trend in either direction, and the
/// similarity of neighbours.
fn find_dependence(counts: &[Scores], seed: u64) -> Option<Dependence> {
    let mut tested: Vec<Scores> = counts.iter().filter(|count| count.squares > 0.0).cloned().collect();
    tested.extend(Some(Scores::sum(&tested)).filter(|sum| sum.squares > 0.0 && tested.len() > 1));
    let rounds = tested.first()?.scores.len();
    let mut order: Vec<usize> = (0..rounds).collect();
    let trend = |order: &[usize]| tested.iter().map(|scores| scores.trend(order).abs()).fold(0.0, f64::max);
    let excess =
        |order: &[usize]| tested.iter().map(|scores| scores.neighbour_excess(order)).fold(0.0, f64::max);
    let (own_trend, own_excess) = (trend(&order), excess(&order));
    let extreme = own_trend.max(own_excess);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut as_extreme = 0;
    for _ in 0..PERMUTATIONS {
        order.shuffle(&mut rng);
        // Rounding must not make an equal permutation less extreme.
        as_extreme += usize::from(trend(&order).max(excess(&order)) >= extreme * (1.0 - 1e-9));
        if as_extreme >= MAX_EXTREME {
            return None;
        }
    }
    let rate = (as_extreme + 1) as f64 / (PERMUTATIONS + 1) as f64;
    let kind = if own_trend >= own_excess { Dependence::Drift } else { Dependence::Neighbours };
    (rate <= TEST_RATE).then_some(kind)
}

/// Counts that show the dependence by themselves; all counts if it shows only in their sum.
fn affected(counts: &[Scores], own: impl Fn(&Scores) -> f64) -> Vec<usize> {
    let alone: Vec<usize> = (0..counts.len()).filter(|&place| own(&counts[place]) > OWN_DEPENDENCE).collect();
    if alone.is_empty() { (0..counts.len()).collect() } else { alone }
}

/// Tests whether the mean of the first round is beyond the means of the later rounds, by Student's
/// t for one new value. Each value is a logarithm, in spreads of the count's other values from
/// their mean.
///
/// Ranks cannot show this: if the runs of a round have a factor in common, the first of `n` rounds
/// is the slowest with probability `1/n`.
fn has_slow_first_round(counts: &[&[RoundValue]], rounds: &[u32]) -> bool {
    let mut sums = vec![(0.0, 0_u32); rounds.len()];
    for runs in counts {
        let logs: Vec<f64> = runs.iter().map(|run| run.value.ln()).collect();
        let (mean, deviation) = mean_and_deviation(&logs);
        let count = logs.len() as f64;
        let squares = deviation * deviation * (count - 1.0);
        for (run, log) in runs.iter().zip(logs) {
            // Mean and sum of squares of the other values follow from those of all.
            let excess = (log - mean) * count / (count - 1.0);
            let of_others = squares - excess * excess * (count - 1.0) / count;
            let spread = (of_others.max(0.0) / (count - 2.0)).sqrt();
            if let Ok(place) = rounds.binary_search(&run.round) {
                sums[place].0 += excess / spread.max(LEAST_SPREAD);
                sums[place].1 += 1;
            }
        }
    }
    let means: Vec<f64> = sums.into_iter().map(|(sum, count)| sum / f64::from(count.max(1))).collect();
    let Some((first, later)) = means.split_first() else { return false };
    let count = later.len() as f64;
    let (mean, deviation) = mean_and_deviation(later);
    let Ok(student) = StudentsT::new(0.0, 1.0, ((count - 1.0) / 2.0).clamp(1.0, HEAVIEST_TAILS)) else {
        return false;
    };
    let excess = (first - mean) / (deviation * (1.0 + 1.0 / count).sqrt());
    excess > 0.0 && student.sf(excess) <= TEST_RATE
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0)).sqrt())
}

/// Tests whether more runs are outliers than a binomial number with the share of noise with heavy
/// tails.
fn has_many_outliers(counts: &[&[RoundValue]]) -> bool {
    let (mut far, mut runs, mut expected) = (0, 0, 0.0);
    for count in counts {
        let values: Vec<f64> = count.iter().map(|run| run.value).collect();
        far += outliers(&values).len() as u64;
        runs += values.len() as u64;
        expected += clean_outlier_share(values.len()) * values.len() as f64;
    }
    let binomial = Binomial::new(expected / runs.max(1) as f64, runs);
    far > 0 && binomial.is_ok_and(|binomial| binomial.sf(far - 1) <= TEST_RATE)
}

/// Share of outliers among `runs` values of Student's t with three degrees of freedom, which has
/// heavier tails than the noise of undisturbed runs. By simulation, rounded up.
fn clean_outlier_share(runs: usize) -> f64 {
    0.035 + 0.25 / runs as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    /// Runs of the rounds 0, 1, 2, … in an order that must not matter.
    fn rounds(values: &[f64]) -> Vec<RoundValue> {
        let run = |(round, &value): (usize, &f64)| RoundValue { round: round as u32, value };
        values.iter().enumerate().rev().map(run).collect()
    }

    fn noise(rounds: usize, seed: u64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        (0..rounds).map(|_| 1.0 + 0.01 * rng.random::<f64>()).collect()
    }

    #[test]
    fn a_clean_study_and_an_empty_one_have_no_disturbance() {
        let clean: Vec<_> = (0..4).map(|seed| rounds(&noise(20, seed))).collect();
        let none = Disturbances::default();
        assert_eq!(Disturbances::find(&clean, 1), none);
        assert_eq!(Disturbances::find(&[], 1), none);
        assert_eq!(Disturbances::find(&[vec![], rounds(&[1.0; 5]), rounds(&[1.0; 20])], 1), none);
    }

    #[test]
    fn the_drifting_count_is_named() {
        let drift: Vec<f64> = noise(20, 1).iter().zip(0..).map(|(v, i)| v + 0.001 * f64::from(i)).collect();
        let few = rounds(&[1.0; 3]);
        let found = Disturbances::find(&[few, rounds(&noise(20, 2)), rounds(&drift)], 1);
        assert_eq!(found, Disturbances { drifting: vec![2], ..Disturbances::default() });
    }

    /// Each count alone shows too little. The counts fall by the same amount.
    #[test]
    fn a_common_drift_shows_in_the_sum() {
        let count = |seed| {
            let values = noise(20, seed);
            rounds(&values.iter().zip(0..).map(|(v, i)| v - 0.0003 * f64::from(i)).collect::<Vec<_>>())
        };
        let counts: Vec<_> = (10..18).map(count).collect();
        assert!(
            counts.iter().any(|alone| Disturbances::find(std::slice::from_ref(alone), 1).drifting.is_empty())
        );
        assert!(!Disturbances::find(&counts, 1).drifting.is_empty());
    }

    #[test]
    fn a_wave_is_a_resemblance_of_neighbours() {
        let wave = |i: f64| 1.0 + 0.01 * (i * std::f64::consts::TAU / 12.0).sin();
        let values: Vec<f64> = (0..24).map(|i| wave(f64::from(i))).collect();
        let found = Disturbances::find(&[rounds(&noise(24, 3)), rounds(&values)], 1);
        let [.., (1, correlation)] = found.dependent[..] else { panic!("{found:?}") };
        assert!(found.drifting.is_empty() && (0.7..1.0).contains(&correlation), "{found:?}");
    }

    #[test]
    fn a_slow_first_round_is_found_in_any_count() {
        let mut counts: Vec<_> = (0..3).map(|seed| rounds(&noise(10, seed))).collect();
        counts[1][9].value *= 1.5;
        let found = Disturbances::find(&counts, 1);
        assert_eq!(found, Disturbances { has_slow_first_round: true, ..Disturbances::default() });
        counts[1][9].value /= 1.5;
        counts[1][4].value *= 1.5;
        assert_eq!(Disturbances::find(&counts, 1), Disturbances::default(), "a later run");
    }

    #[test]
    fn outliers_are_many_if_all_counts_have_them() {
        let with_outliers = |seed| {
            let mut values = noise(20, seed);
            [3, 9, 14, 16].into_iter().for_each(|at| values[at] *= 1.2);
            rounds(&values)
        };
        let found = Disturbances::find(&[0, 1, 2].map(with_outliers), 1);
        assert_eq!(found, Disturbances { has_many_outliers: true, ..Disturbances::default() });
        let one = [with_outliers(0), rounds(&noise(20, 1)), rounds(&noise(20, 2))];
        assert!(!Disturbances::find(&one, 1).has_many_outliers);
    }
}
