//! Ranks of the order statistics that bound the median: exact, with and without a stopping rule.
//!
//! The ranks depend on numbers of runs only. No measured value enters, so that no rank can depend
//! on the shape of the noise.
//!
//! For independent runs, the number of values below the true median is the position of a random
//! walk of fair coin tosses (ties only help). The interval from the `r`-th smallest to the `r`-th
//! largest of `n` values misses the median only if fewer than `r` of `n` tosses fell on one side.
//! With a fixed `n`, the probability of a miss is a binomial tail. Under a stopping rule, it is the
//! probability that the walk is beyond a boundary at *any* of the looks. A recursion over the looks
//! gives it exactly (Armitage, McPherson & Rowe, JRSS A 132(2), 1969).

use morecores_study::Stop;
use statrs::distribution::{Binomial, Discrete, DiscreteCDF};

use crate::ratio::smallest_ratio_alpha;
use crate::stopping::{StoppingRule, alpha_spent_by, looks};

/// Minimum number of runs for a 95% interval of a median. All six runs are on one side with
/// probability 2/2^6 = 3.1%; all five runs with 6.3%.
pub const MIN_RUNS: usize = 6;

/// Allowed probability of a miss of an interval; all intervals are 95% intervals.
pub(crate) const ALPHA: f64 = 0.05;

/// Probability below which a miss counts as impossible, to keep the recursion short. A study has
/// far fewer than a million looks and positions.
const NEGLIGIBLE_PROBABILITY: f64 = 1e-18;

/// Way in which the number of runs was decided. Every interval needs it: with repeated looks until
/// the numbers are acceptable, an ordinary 95% interval misses far more often than 5%.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// The number of runs did not depend on the measured times.
    Fixed,
    /// The runs continued until a [`StoppingRule`](crate::StoppingRule) stopped them, until
    /// `max_runs`, or until the time limit.
    Sequential {
        /// Maximum number of runs per point that the rule allowed, whether or not all of them were
        /// done.
        max_runs: usize,
    },
}

impl Design {
    /// Design of a study with these rules for the end of the sweep.
    pub fn from_stop(stop: &Stop) -> Self {
        StoppingRule::from_stop(stop).map_or(Self::Fixed, |rule| rule.design())
    }

    /// Rank `r` for which the `r`-th smallest to the `r`-th largest of `runs` values is a 95%
    /// interval of the median. It is the narrowest interval of that form; rank 1 is the whole
    /// range. `None` if there are too few runs.
    pub fn rank(self, runs: usize) -> Option<usize> {
        if runs < MIN_RUNS {
            return None;
        }
        let rank = match self {
            Self::Fixed => fixed_rank(runs),
            Self::Sequential { max_runs } => sequential_rank(runs, max_runs, 1.0),
        };
        (rank > 0).then_some(rank)
    }

    /// Probability of a miss that a sample of `runs` allows a ratio of medians. It is all of
    /// `ALPHA` if the number of runs was fixed beforehand, otherwise the part that the stopping
    /// rule leaves.
    pub fn ratio_alpha(self, runs: usize) -> Option<f64> {
        self.joint_ratio_alpha(runs, 1.0)
    }

    /// Probability as in [`ratio_alpha`](Self::ratio_alpha), for a ratio that has only a `share` of
    /// `ALPHA`. `None` if `runs` cannot have so small a probability under a stopping rule.
    pub fn joint_ratio_alpha(self, runs: usize, share: f64) -> Option<f64> {
        match self {
            Self::Fixed => Some(share * ALPHA),
            Self::Sequential { max_runs } => {
                // A small share spends nothing at the first looks, and may have more left at a
                // later look than the whole.
                let rank = sequential_rank(runs, max_runs, share).min(self.rank(runs)?);
                (rank > 0).then(|| 2.0 * fair_coin(runs).cdf(rank as u64 - 1))
            }
        }
    }

    /// Probability, by the binomial tail, that the interval of [`rank`](Self::rank) misses the
    /// median if `runs` had been fixed beforehand; at most 5%.
    pub(crate) fn pointwise_alpha(self, runs: usize) -> Option<f64> {
        let rank = self.rank(runs)? as u64;
        Some(2.0 * fair_coin(runs).cdf(rank - 1))
    }
}

/// Distribution of the number of tosses on one side, for `runs` fair coins.
pub(crate) fn fair_coin(runs: usize) -> Binomial {
    Binomial::new(0.5, runs as u64).expect("1/2 is a probability")
}

/// Largest rank whose two binomial tails are at most `ALPHA`: David & Nagaraja, *Order Statistics*,
/// 3rd edition, section 7.1.
fn fixed_rank(runs: usize) -> usize {
    // The smallest r with P(B <= r) above ALPHA/2 is the largest r with P(B <= r - 1) within
    // ALPHA/2.
    fair_coin(runs).inverse_cdf(ALPHA / 2.0) as usize
}

/// Smallest number of runs of each sample that suffices to test the ratio of two medians with a
/// `share` of `ALPHA`, under any design.
pub fn runs_for_joint_ratio(share: f64) -> usize {
    let suffices = |runs: &usize| share * alpha_spent_by(*runs) >= smallest_ratio_alpha(*runs) * (1.0 - 1e-9);
    // At 64 runs the probability is below any share that a floating-point number can hold apart.
    (MIN_RUNS..64).find(suffices).unwrap_or(64)
}

/// Rank at `runs` for a `share` of `ALPHA`, given all previous looks. At a look, the spending
/// schedule applies. At any other number, the runs ended for a reason other than their precision,
/// and the rest of the share is spent.
fn sequential_rank(runs: usize, max_runs: usize, share: f64) -> usize {
    let mut walk = RandomWalk::new();
    for look in looks().take_while(|&look| look < runs && look < max_runs) {
        walk.toss_until(look);
        let rank = walk.largest_rank(share * alpha_spent_by(look));
        walk.absorb(rank);
    }
    walk.toss_until(runs);
    let stops_by_rule = runs < max_runs && looks().find(|&look| look >= runs) == Some(runs);
    walk.largest_rank(share * if stops_by_rule { alpha_spent_by(runs) } else { ALPHA })
}

/// Fair random walk. It holds the probability of each number of tosses on one side without a
/// crossed boundary, and the probability that a boundary was crossed.
struct RandomWalk {
    tosses: usize,
    /// Number of tosses to which `probabilities[0]` belongs.
    offset: usize,
    probabilities: Vec<f64>,
    crossing_probability: f64,
}

impl RandomWalk {
    fn new() -> Self {
        Self { tosses: 0, offset: 0, probabilities: vec![1.0], crossing_probability: 0.0 }
    }

    /// Tosses until there are `tosses` in all: the probabilities are convolved with those of the
    /// new tosses.
    fn toss_until(&mut self, tosses: usize) {
        let new = tosses - self.tosses;
        let coin = fair_coin(new);
        let steps: Vec<f64> = (0..=new as u64).map(|k| coin.pmf(k)).collect();
        // Both distributions have a single peak, so that the negligible probabilities are at the
        // ends.
        let low = steps.iter().take_while(|&&p| p < NEGLIGIBLE_PROBABILITY).count();
        let steps = &steps[low..steps.len() - low];
        let mut probabilities = vec![0.0; self.probabilities.len() + steps.len() - 1];
        for (i, p) in self.probabilities.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            for (sum, step) in probabilities[i..].iter_mut().zip(steps) {
                *sum += p * step;
            }
        }
        let ends = probabilities.iter().take_while(|&&p| p < NEGLIGIBLE_PROBABILITY).count();
        self.probabilities = probabilities[ends..probabilities.len() - ends].to_vec();
        self.offset += low + ends;
        self.tosses = tosses;
    }

    /// Probability that exactly `count` tosses fell on one side or on the other, without a previous
    /// crossing.
    fn two_sided_probability(&self, count: usize) -> f64 {
        let probability =
            count.checked_sub(self.offset).and_then(|i| self.probabilities.get(i)).copied().unwrap_or(0.0);
        // The walk is always symmetric, because the coin is fair and the boundaries are symmetric.
        if 2 * count == self.tosses { probability } else { 2.0 * probability }
    }

    /// Largest rank whose boundary keeps the probability of any crossing so far within `budget`.
    fn largest_rank(&self, budget: f64) -> usize {
        // The first look spends its budget completely, and sums have rounding errors.
        let budget = budget + 1e-12;
        let mut crossed = self.crossing_probability;
        (0..self.tosses.div_ceil(2))
            .take_while(|&count| {
                crossed += self.two_sided_probability(count);
                crossed <= budget
            })
            .count()
    }

    /// Counts each outcome with fewer than `rank` tosses on a side as crossed.
    fn absorb(&mut self, rank: usize) {
        self.crossing_probability += (0..rank).map(|count| self.two_sided_probability(count)).sum::<f64>();
        let cut = rank.saturating_sub(self.offset).min(self.probabilities.len() / 2);
        self.probabilities.truncate(self.probabilities.len() - cut);
        self.probabilities.drain(..cut);
        self.offset += cut;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks ranks computed by hand from the binomial tails. At 8 runs, one value a side leaves
    /// 1/256 each, and two would leave 9/256 = 3.5%. At 12 runs, three leave 79/4096 = 1.9%, and
    /// four 299/4096 = 7.3%. The larger ranks are those of common tables.
    #[test]
    fn fixed_ranks_are_those_of_the_binomial() {
        let ranks = [
            (6, 1),
            (7, 1),
            (8, 1),
            (9, 2),
            (10, 2),
            (11, 2),
            (12, 3),
            (20, 6),
            (30, 10),
            (50, 18),
            (70, 27),
        ];
        for (runs, rank) in ranks {
            assert_eq!(Design::Fixed.rank(runs), Some(rank), "{runs} runs");
        }
    }

    #[test]
    fn fewer_than_six_runs_have_no_interval() {
        for runs in 0..6 {
            assert_eq!(Design::Fixed.rank(runs), None);
            assert_eq!(Design::Sequential { max_runs: 30 }.rank(runs), None);
        }
    }

    /// Checks that seven ratios need nine runs, and that six runs are enough for one: 2/2^9 = 0.39%
    /// is below 5%/7, and 2/2^8 = 0.78% is above.
    #[test]
    fn many_ratios_need_more_runs() {
        assert_eq!([1.0, 1.0 / 3.0, 1.0 / 7.0].map(runs_for_joint_ratio), [6, 8, 9]);
        let rule = Design::Sequential { max_runs: 30 };
        for (runs, share, expected) in
            [(6, 1.0, Some(2.0 / 64.0)), (6, 0.9, None), (9, 1.0 / 7.0, Some(2.0 / 512.0)), (5, 1.0, None)]
        {
            let alpha = rule.joint_ratio_alpha(runs, share);
            let close = alpha.unwrap_or(0.0) - expected.unwrap_or(0.0) < 1e-12;
            assert!(close && alpha.is_some() == expected.is_some(), "{runs} runs, share {share}: {alpha:?}");
        }
        for runs in 6..40 {
            let [whole, half, tenth] = [1.0, 0.5, 0.1].map(|share| rule.joint_ratio_alpha(runs, share));
            assert!(half <= whole && tenth <= whole, "{runs} runs: {whole:?}, {half:?}, {tenth:?}");
        }
        assert_eq!(Design::Fixed.joint_ratio_alpha(10, 0.1), Some(0.1 * ALPHA));
    }

    #[test]
    fn rule_with_one_look_is_a_fixed_design() {
        for runs in 6..10 {
            assert_eq!(Design::Sequential { max_runs: 6 }.rank(6), Design::Fixed.rank(6));
            assert!(Design::Sequential { max_runs: runs }.rank(runs).is_some());
        }
    }

    /// Checks the recursion against all 2^21 sequences of 21 tosses.
    #[test]
    fn the_recursion_counts_every_sequence() {
        let design = Design::Sequential { max_runs: 21 };
        let boundaries: Vec<(u32, u32)> =
            [6, 9, 14, 21].map(|n| (n, design.rank(n as usize).unwrap() as u32)).to_vec();
        let crosses = |tosses: u32| {
            boundaries.iter().any(|&(n, rank)| {
                let heads = (tosses & ((1 << n) - 1)).count_ones();
                heads.min(n - heads) < rank
            })
        };
        let miss = (0..1u32 << 21).filter(|&t| crosses(t)).count() as f64 / f64::from(1 << 21);
        assert!(miss <= ALPHA, "{miss}");
        // A rank higher by one at the end would be too large: no part of `ALPHA` is wasted.
        let walk = {
            let mut walk = RandomWalk::new();
            for &(n, rank) in &boundaries {
                walk.toss_until(n as usize);
                walk.absorb(rank as usize);
            }
            walk
        };
        assert!((walk.crossing_probability - miss).abs() < 1e-12, "{} and {miss}", walk.crossing_probability);
        assert!(walk.largest_rank(ALPHA) <= boundaries[3].1 as usize);
    }

    #[test]
    fn ranks_fit_their_runs_and_a_rule_never_narrows_an_interval() {
        for max_runs in [6, 7, 30, 100, 1000] {
            for runs in (6..=max_runs).step_by(1 + max_runs / 60) {
                let rank = Design::Sequential { max_runs }.rank(runs).unwrap();
                assert!(
                    rank <= Design::Fixed.rank(runs).unwrap() && 2 * rank <= runs + 1,
                    "{runs} of {max_runs}"
                );
            }
        }
    }
}
