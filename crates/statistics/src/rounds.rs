//! Ratios of two samples within the rounds of a study.
//!
//! A round makes one run of each CPU count in a short time. What all runs of a round share (a busy
//! neighbour, a slow clock, a drift of the machine) cancels in the ratio of two of them. This
//! module decides on no interval.

use std::collections::BTreeMap;

use morecores_study::{Better, RoundValue};

/// Ratios of two samples within the rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundRatios {
    /// One ratio for each round that has a run of both samples, in the order of the rounds. All
    /// ratios are positive and finite.
    pub ratios: Vec<f64>,
    /// Number of runs of the base in rounds without a run of the other sample.
    pub unpaired_base: usize,
    /// Number of runs of the other sample in rounds without a run of the base.
    pub unpaired_runs: usize,
}

/// Values without their rounds, in the same order.
pub fn values(runs: &[RoundValue]) -> Vec<f64> {
    runs.iter().map(|run| run.value).collect()
}

/// Speedups of `runs` over `base` within the rounds: `T(base)/T(n)` for times, `X(n)/X(base)` for
/// rates. `None` if the rounds do not pair the runs: no round has a run of both, a round has two
/// runs of one sample, or a ratio is not a positive number.
pub fn round_ratios(base: &[RoundValue], runs: &[RoundValue], better: Better) -> Option<RoundRatios> {
    let (of_base, of_runs) = (by_round(base)?, by_round(runs)?);
    let ratio = |(round, value): (&u32, &f64)| {
        let base = of_base.get(round)?;
        Some(match better {
            Better::Lower => base / value,
            Better::Higher => value / base,
        })
    };
    let ratios: Vec<f64> = of_runs.iter().filter_map(ratio).collect();
    let is_ratio = |ratio: &f64| ratio.is_finite() && *ratio > 0.0;
    let pairs = ratios.len();
    (pairs > 0 && ratios.iter().all(is_ratio)).then_some(RoundRatios {
        ratios,
        unpaired_base: of_base.len() - pairs,
        unpaired_runs: of_runs.len() - pairs,
    })
}

/// Values by round; `None` if a round has several.
fn by_round(runs: &[RoundValue]) -> Option<BTreeMap<u32, f64>> {
    let by_round: BTreeMap<u32, f64> = runs.iter().map(|run| (run.round, run.value)).collect();
    (by_round.len() == runs.len()).then_some(by_round)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(values: &[(u32, f64)]) -> Vec<RoundValue> {
        values.iter().map(|&(round, value)| RoundValue { round, value }).collect()
    }

    #[test]
    fn runs_pair_within_their_round_whatever_their_order() {
        let base = runs(&[(2, 9.0), (0, 8.0), (1, 6.0), (5, 1.0)]);
        let here = runs(&[(0, 4.0), (2, 3.0), (1, 2.0), (3, 7.0), (4, 7.0)]);
        let expected = RoundRatios { ratios: vec![2.0, 3.0, 3.0], unpaired_base: 1, unpaired_runs: 2 };
        assert_eq!(round_ratios(&base, &here, Better::Lower), Some(expected));
        let rates = round_ratios(&base, &here, Better::Higher).expect("the same pairs");
        assert_eq!(rates.ratios, [0.5, 1.0 / 3.0, 1.0 / 3.0]);
    }

    #[test]
    fn rounds_that_pair_no_runs_give_no_ratios() {
        let base = runs(&[(0, 8.0), (1, 6.0)]);
        for other in [vec![], runs(&[(2, 1.0)]), runs(&[(0, 1.0), (0, 2.0)]), runs(&[(0, 1.0), (1, 0.0)])] {
            assert_eq!(round_ratios(&base, &other, Better::Lower), None, "{other:?}");
        }
    }
}
