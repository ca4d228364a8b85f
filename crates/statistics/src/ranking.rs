//! Best of several samples, and those that may be best: subset selection by ratios within rounds.
//!
//! This module knows no axes. It compares samples of the same quantity.

use morecores_study::{Better, RoundValue};

use crate::design::Design;
use crate::rounds::values;
use crate::scaling::{ScalingRatio, joint_speedup};
use crate::summary::median;

/// Sample in a ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedSample {
    /// Speedup of the best sample over this one; exactly 1 for the best itself. Its interval has an
    /// error of at most 5%, and of less if there are more than three samples.
    pub lead: ScalingRatio,
    /// Whether no other sample is shown to be better than this one.
    pub may_be_best: bool,
}

/// Order of several samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// Position of the sample with the best median.
    pub best: usize,
    /// Samples in their order; `None` for a sample that cannot be compared with the best, as
    /// without a run.
    pub samples: Vec<Option<RankedSample>>,
}

/// Ranks samples. `None` if fewer than two have runs.
///
/// The sample that is truly best is among those that may be best with a probability of 95%: it is
/// left out only if one of the other `m - 1` is shown to be better, each at a one-sided level of
/// `5% / (m - 1)` (subset selection: S. S. Gupta, *On Some Multiple Decision (Selection and
/// Ranking) Rules*, Technometrics 7(2), 1965, with Bonferroni's inequality in place of a common
/// distribution). No such interval exceeds the usual two-sided level of 5%.
pub fn ranking(samples: &[Vec<RoundValue>], better: Better, design: Design) -> Option<Ranking> {
    let best = best_of(samples, better)?;
    let measured = || (0..samples.len()).filter(|at| !samples[*at].is_empty());
    if measured().count() < 2 {
        return None;
    }
    let share = share_of_rival(measured().count());
    let over = |at: usize, by: usize| joint_speedup(&samples[at], &samples[by], better, design, share);
    let is_beaten = |at: usize| {
        let mut rivals = measured().filter(|rival| *rival != at);
        rivals.any(|rival| over(at, rival).and_then(|over| over.interval).is_some_and(|i| i.lo > 1.0))
    };
    let ranked = |at: usize| {
        let lead = if at == best { ScalingRatio { value: 1.0, interval: None } } else { over(at, best)? };
        Some(RankedSample { lead, may_be_best: at == best || !is_beaten(at) })
    };
    Some(Ranking { best, samples: (0..samples.len()).map(ranked).collect() })
}

/// Speedup of one sample over each of the others, in their order, with joint intervals: at most 5%
/// of all studies have a wrong one on the side that a decision needs. Exactly 1 for the reference
/// itself; `None` for a sample that cannot be compared.
pub fn leads_over(
    samples: &[Vec<RoundValue>],
    reference: usize,
    better: Better,
    design: Design,
) -> Vec<Option<ScalingRatio>> {
    let share = share_of_rival(samples.len());
    let lead = |at: usize| match at == reference {
        true => Some(ScalingRatio { value: 1.0, interval: None }),
        false => joint_speedup(&samples[at], &samples[reference], better, design, share),
    };
    (0..samples.len()).map(lead).collect()
}

/// Position of the sample with the best median; the first of equal ones. `None` without runs.
pub fn best_of(samples: &[impl AsRef<[RoundValue]>], better: Better) -> Option<usize> {
    let medians = samples.iter().map(|runs| median(&values(runs.as_ref()))).enumerate();
    let measured = medians.filter_map(|(at, median)| Some((at, median.filter(|median| median.is_finite())?)));
    let is_better = |one: f64, other: f64| match better {
        Better::Lower => one < other,
        Better::Higher => one > other,
    };
    Some(measured.reduce(|best, other| if is_better(other.1, best.1) { other } else { best })?.0)
}

/// Share of the probability of error for the comparison of one sample with another of `samples`: at
/// most all of it, and in sum twice that, because only one side of each interval leaves a sample
/// out.
pub(crate) fn share_of_rival(samples: usize) -> f64 {
    (2.0 / samples.saturating_sub(1).max(1) as f64).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of the rounds 0, 1, 2, … around `middle`, of which each differs by a noise of its own.
    fn rounds(middle: f64, spread: f64, runs: u32, phase: u32) -> Vec<RoundValue> {
        let noise = |round: u32| f64::from((round * 7 + phase * 3) % 11) / 5.0 - 1.0;
        (0..runs).map(|round| RoundValue { round, value: middle * (1.0 + spread * noise(round)) }).collect()
    }

    #[test]
    fn values_that_noise_hides_may_all_be_best() {
        let samples = [rounds(2.0, 0.01, 12, 0), rounds(1.0, 0.01, 12, 1), rounds(1.002, 0.01, 12, 2)];
        let ranking = ranking(&samples, Better::Lower, Design::Fixed).unwrap();
        let best: Vec<bool> = ranking.samples.iter().map(|sample| sample.unwrap().may_be_best).collect();
        assert_eq!(best, [false, true, true]);
        let lead = ranking.samples[0].unwrap().lead;
        assert!((1.9..2.1).contains(&lead.value) && lead.interval.unwrap().lo > 1.9, "{lead:?}");
        assert_eq!(ranking.samples[ranking.best].unwrap().lead.value, 1.0);
        // As rates, the first is best.
        let rates = super::ranking(&samples, Better::Higher, Design::Fixed).unwrap();
        assert_eq!(rates.best, 0);
        assert!(rates.samples[1..].iter().all(|sample| !sample.unwrap().may_be_best));
    }

    #[test]
    fn few_runs_show_nothing_and_one_sample_has_no_rival() {
        let samples = [rounds(2.0, 0.0, 3, 0), rounds(1.0, 0.0, 3, 0), Vec::new()];
        let ranked = ranking(&samples, Better::Lower, Design::Fixed).unwrap();
        assert_eq!(ranked.best, 1);
        assert!(ranked.samples[0].unwrap().may_be_best && ranked.samples[2].is_none());
        assert_eq!(ranking(&samples[..1], Better::Lower, Design::Fixed), None);
    }

    /// Of eight equal values with normal noise, the first is left out in at most 5% of the studies:
    /// here it stands for the one that is truly best.
    #[test]
    fn the_best_is_seldom_left_out() {
        use rand::{RngExt, SeedableRng};
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(31);
        let mut study = || {
            // The sum of twelve uniform values is nearly normal.
            let mut noise = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
            let mut runs =
                || (0..12).map(|round| RoundValue { round, value: 1.0 + 0.02 * noise() }).collect();
            let samples: Vec<Vec<RoundValue>> = (0..8).map(|_| runs()).collect();
            !ranking(&samples, Better::Lower, Design::Fixed).unwrap().samples[0].unwrap().may_be_best
        };
        let left_out = (0..200).filter(|_| study()).count();
        assert!(left_out <= 20, "{left_out} of 200");
    }
}
