//! Which order statistics bound the median: the exact ranks, with and without a stopping rule.
//!
//! This is about counts of runs alone; no measured value enters here, so nothing here can depend on the shape
//! of the noise.
//!
//! For independent runs the number of values below the true median is the position of a fair coin-tossing walk
//! (ties only help). The interval between the `r`-th smallest and the `r`-th largest of `n` values misses the
//! median only where fewer than `r` tosses of `n` fell on one side. With a fixed `n` that is a binomial tail.
//! Under a stopping rule it is the chance that the walk is beyond a boundary at *any* of the looks, which a
//! recursion over the looks gives exactly (Armitage, McPherson & Rowe, JRSS A 132(2), 1969).

use statrs::distribution::{Binomial, Discrete, DiscreteCDF};

/// The fewest runs that bear a 95% interval of a median: all six on one side happens with 2/2^6 = 3.1%, all five
/// with 6.3%.
pub const MIN_RUNS: usize = 6;

/// The chance of a miss that an interval may have; 95% intervals throughout.
pub(crate) const ALPHA: f64 = 0.05;

/// The part of `ALPHA` that the look at six runs costs: 2/2^6. A quiet program may stop there.
const FIRST_SPEND: f64 = 0.031_25;

/// A chance of a miss below this is counted as none, to keep the recursion short; a study has far fewer than a
/// million looks and places.
const NEGLIGIBLE: f64 = 1e-18;

/// How it was decided how many runs there are. An interval must know: looking again and again until the
/// numbers please makes an ordinary 95% interval miss far more often than 5%.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// The number of runs did not depend on the times measured.
    Fixed,
    /// Runs went on until a [`StoppingRule`](crate::StoppingRule) was content, or until `max_runs`, or until
    /// time ran out.
    Sequential {
        /// The most runs per point that the rule allowed, whether or not they were all done.
        max_runs: usize,
    },
}

impl Design {
    /// The rank `r` for which the `r`-th smallest to the `r`-th largest of `runs` values is a 95% interval of
    /// the median, the narrowest one of that form; 1 is the whole range. None where there are too few runs.
    pub fn rank(self, runs: usize) -> Option<usize> {
        if runs < MIN_RUNS {
            return None;
        }
        let rank = match self {
            Self::Fixed => fixed_rank(runs),
            Self::Sequential { max_runs } => sequential_rank(runs, max_runs),
        };
        (rank > 0).then_some(rank)
    }

    /// The chance of a miss that a sample of `runs` allows a ratio of medians: the whole of it where the number of runs was fixed
    /// beforehand, else what the stopping rule leaves.
    pub fn ratio_alpha(self, runs: usize) -> Option<f64> {
        match self {
            Self::Fixed => Some(ALPHA),
            Self::Sequential { .. } => self.pointwise_alpha(runs),
        }
    }

    /// The chance, by binomial tail, that the interval of [`rank`](Self::rank) misses the median if `runs` had
    /// been fixed beforehand; at most 5%.
    pub(crate) fn pointwise_alpha(self, runs: usize) -> Option<f64> {
        let rank = self.rank(runs)? as u64;
        Some(2.0 * fair_coin(runs).cdf(rank - 1))
    }
}

/// The runs at which the stopping rule looks, endless: 6, then half as many again, rounded up. Few looks cost
/// little coverage, and a look comes at most 50% too late.
pub(crate) fn looks() -> impl Iterator<Item = usize> {
    std::iter::successors(Some(MIN_RUNS), |n| Some((3 * n).div_ceil(2)))
}

/// How much of `ALPHA` may be spent up to the look at `runs`: all at once for the first look, the rest with the
/// square root of the runs, never all. The exponent is chosen by simulation: a larger one serves quiet programs,
/// a smaller one noisy ones (docs/methods/measure.md, "Stopping rule").
fn spent_by(runs: usize) -> f64 {
    ALPHA - (ALPHA - FIRST_SPEND) * (MIN_RUNS as f64 / runs as f64).sqrt()
}

/// The number of tosses of `runs` fair coins on one side.
pub(crate) fn fair_coin(runs: usize) -> Binomial {
    Binomial::new(0.5, runs as u64).expect("1/2 is a probability")
}

/// The largest rank whose two binomial tails are at most `ALPHA`: David & Nagaraja, *Order Statistics*, 3rd
/// edition, section 7.1.
fn fixed_rank(runs: usize) -> usize {
    // The least r with P(B <= r) above ALPHA/2 is the largest with P(B <= r - 1) within it.
    fair_coin(runs).inverse_cdf(ALPHA / 2.0) as usize
}

/// The rank at `runs`, given all looks before it. At a look the schedule of spending binds; anywhere else the
/// runs ended for a reason other than their precision, and what is left of `ALPHA` is spent.
fn sequential_rank(runs: usize, max_runs: usize) -> usize {
    let mut walk = Walk::start();
    for look in looks().take_while(|&look| look < runs && look < max_runs) {
        walk.toss_until(look);
        let rank = walk.rank_within(spent_by(look));
        walk.absorb(rank);
    }
    walk.toss_until(runs);
    let stops_by_rule = runs < max_runs && looks().find(|&look| look >= runs) == Some(runs);
    walk.rank_within(if stops_by_rule { spent_by(runs) } else { ALPHA })
}

/// The fair walk: with which chance how many of the tosses so far fell on one side without the walk having
/// crossed a boundary, and the chance that it has.
struct Walk {
    tosses: usize,
    /// The count that `chances[0]` belongs to.
    first: usize,
    chances: Vec<f64>,
    crossed: f64,
}

impl Walk {
    fn start() -> Self {
        Self { tosses: 0, first: 0, chances: vec![1.0], crossed: 0.0 }
    }

    /// Tosses until there are `tosses` in all: the chances are convolved with those of the new tosses.
    fn toss_until(&mut self, tosses: usize) {
        let new = tosses - self.tosses;
        let coin = fair_coin(new);
        let steps: Vec<f64> = (0..=new as u64).map(|k| coin.pmf(k)).collect();
        // Both are hills, so what is negligible is at their ends.
        let low = steps.iter().take_while(|&&p| p < NEGLIGIBLE).count();
        let steps = &steps[low..steps.len() - low];
        let mut chances = vec![0.0; self.chances.len() + steps.len() - 1];
        for (i, p) in self.chances.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            for (sum, step) in chances[i..].iter_mut().zip(steps) {
                *sum += p * step;
            }
        }
        let ends = chances.iter().take_while(|&&p| p < NEGLIGIBLE).count();
        self.chances = chances[ends..chances.len() - ends].to_vec();
        self.first += low + ends;
        self.tosses = tosses;
    }

    /// The chance that exactly `count` tosses fell on the one side, or on the other, with no crossing before.
    fn on_either_side(&self, count: usize) -> f64 {
        let chance = count.checked_sub(self.first).and_then(|i| self.chances.get(i)).copied().unwrap_or(0.0);
        // The walk is symmetric throughout, being fair and its boundaries symmetric.
        if 2 * count == self.tosses { chance } else { 2.0 * chance }
    }

    /// The largest rank whose boundary keeps the chance of any crossing so far within `budget`.
    fn rank_within(&self, budget: f64) -> usize {
        // The first look spends its budget to the last bit, and sums round.
        let budget = budget + 1e-12;
        let mut crossed = self.crossed;
        (0..self.tosses.div_ceil(2))
            .take_while(|&count| {
                crossed += self.on_either_side(count);
                crossed <= budget
            })
            .count()
    }

    /// Counts as crossed whatever has fewer than `rank` on a side.
    fn absorb(&mut self, rank: usize) {
        self.crossed += (0..rank).map(|count| self.on_either_side(count)).sum::<f64>();
        let cut = rank.saturating_sub(self.first).min(self.chances.len() / 2);
        self.chances.truncate(self.chances.len() - cut);
        self.chances.drain(..cut);
        self.first += cut;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from the binomial tails: at 8 runs one value a side leaves 1/256 each, two would leave 9/256 = 3.5%; at
    /// 12 runs three leave 79/4096 = 1.9%, four 299/4096 = 7.3%. The larger ones are those in common tables.
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
    fn fewer_than_six_runs_bear_no_interval() {
        for runs in 0..6 {
            assert_eq!(Design::Fixed.rank(runs), None);
            assert_eq!(Design::Sequential { max_runs: 30 }.rank(runs), None);
        }
    }

    #[test]
    fn a_rule_that_may_not_go_on_is_a_fixed_design() {
        for runs in 6..10 {
            assert_eq!(Design::Sequential { max_runs: 6 }.rank(6), Design::Fixed.rank(6));
            assert!(Design::Sequential { max_runs: runs }.rank(runs).is_some());
        }
    }

    #[test]
    fn looks_are_few() {
        assert_eq!(looks().take(9).collect::<Vec<_>>(), [6, 9, 14, 21, 32, 48, 72, 108, 162]);
    }

    /// The recursion against every one of the 2^21 sequences of 21 tosses.
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
        // One rank more at the end would be too much: nothing is given away.
        let walk = {
            let mut walk = Walk::start();
            for &(n, rank) in &boundaries {
                walk.toss_until(n as usize);
                walk.absorb(rank as usize);
            }
            walk
        };
        assert!((walk.crossed - miss).abs() < 1e-12, "{} and {miss}", walk.crossed);
        assert!(walk.rank_within(ALPHA) <= boundaries[3].1 as usize);
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
