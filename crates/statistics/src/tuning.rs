//! Search for the best of several cells with few runs: successive elimination in rounds, and how
//! sure its result is.
//!
//! The times of a round share a factor, and the logarithms of the times have a common noise beside
//! it. So a few rounds of many cells tell the noise well, long before any cell has enough runs for
//! an interval of its own. Every decision follows from the rounds before it, so that a resumed
//! search repeats it.

use std::collections::BTreeSet;

use morecores_study::{Better, RoundValue};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::interval::Interval;
use crate::mean::mean;
use crate::stopping::Decision;

/// Probability, on one side, with which a comparison may leave out a cell that is no worse than the
/// best. A choice: with 16 cells and a few looks, the best is lost in less than a tenth of the
/// searches, and mostly to one that is nearly as good.
const ELIMINATION_ALPHA: f64 = 0.01;
/// Fewest rounds of a decision: with one there is no noise to compare with.
const FEWEST_ROUNDS: usize = 2;
/// Part of the runs of the whole grid that a search takes at most: one of so many.
const BUDGET_SHARE: usize = 4;
/// Points of the integral of the probability of being best, over eight standard deviations.
const STEPS: usize = 400;

/// Rule of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// Direction of the values.
    pub better: Better,
    /// Difference, as a share, below which another cell is as good as the best.
    pub tolerance: f64,
    /// Most rounds; the whole grid has so many of each cell.
    pub max_rounds: usize,
}

/// State of a search after some rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct TuningState {
    /// Positions of the cells that are still in question.
    pub survivors: BTreeSet<usize>,
    /// Decision about a further round of these.
    pub decision: Decision,
}

/// Best cell of a search, and how sure it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Position of the best cell.
    pub best: usize,
    /// Probability that it is the best.
    pub probability: f64,
    /// Probability that it is as good as the best, within the tolerance.
    pub probability_as_good: f64,
    /// Speedup of the best over each cell, with a 95% interval of its own where there is a noise to
    /// compare with; `None` for a cell without runs beside the best.
    pub leads: Vec<Option<(f64, Option<Interval>)>>,
}

/// Noise of the logarithm of a time, with its degrees of freedom.
#[derive(Clone, Copy, Debug)]
struct Noise {
    deviation: f64,
    freedom: f64,
}

impl Noise {
    /// Quantile of Student's distribution.
    fn quantile(&self, probability: f64) -> f64 {
        StudentsT::new(0.0, 1.0, self.freedom).map_or(f64::INFINITY, |t| t.inverse_cdf(probability))
    }

    /// Standard deviation with which a normal distribution has the 95% interval of Student's.
    fn widened(&self) -> f64 {
        self.deviation * self.quantile(0.975) / Normal::standard().inverse_cdf(0.975)
    }
}

impl Tuning {
    /// State after the rounds below `made`. `samples` has the values of each cell with their
    /// rounds; those of later rounds have no part.
    pub fn state(&self, samples: &[Vec<RoundValue>], made: u32) -> TuningState {
        let mut survivors: BTreeSet<usize> = (0..samples.len()).collect();
        let mut decision = Decision::Continue;
        for rounds in FEWEST_ROUNDS as u32..=made {
            let logs = Logs::before(samples, &survivors, rounds, self.better);
            let beaten = self.beaten(&logs);
            survivors.retain(|cell| !beaten.contains(cell));
            decision = self.decide(samples, &survivors, &logs, rounds);
        }
        TuningState { survivors, decision }
    }

    /// Cells that are shown to be worse than the best.
    fn beaten(&self, logs: &Logs) -> BTreeSet<usize> {
        let (Some(best), Some(bound)) = (logs.best(), logs.bound()) else { return BTreeSet::new() };
        logs.cells.iter().copied().filter(|cell| logs.mean(*cell) - logs.mean(best) > bound).collect()
    }

    fn decide(
        &self,
        samples: &[Vec<RoundValue>],
        survivors: &BTreeSet<usize>,
        logs: &Logs,
        rounds: u32,
    ) -> Decision {
        let as_good = |cell: &usize| {
            let difference = logs.best().map(|best| logs.mean(*cell) - logs.mean(best));
            difference.zip(logs.bound()).is_some_and(|(d, bound)| bound - d <= self.tolerance.ln_1p())
        };
        if survivors.len() <= 1 || survivors.iter().all(as_good) {
            return Decision::Answered;
        }
        let runs: usize = samples.iter().map(|own| own.iter().filter(|run| run.round < rounds).count()).sum();
        let budget = samples.len() * self.max_rounds / BUDGET_SHARE;
        let exhausted = runs + survivors.len() > budget || rounds as usize >= self.max_rounds;
        if exhausted { Decision::RunsExhausted } else { Decision::Continue }
    }

    /// Best cell after all rounds. `None` without runs.
    pub fn standing(&self, samples: &[Vec<RoundValue>]) -> Option<Standing> {
        let made = samples.iter().flatten().map(|run| run.round + 1).max()?;
        let survivors = self.state(samples, made).survivors;
        let logs = Logs::before(samples, &survivors, made, self.better);
        let measured = || survivors.iter().copied().find(|cell| !samples[*cell].is_empty());
        let best = logs.best().or_else(measured)?;
        // Few cells in a few rounds tell less of the noise than all cells in the first rounds.
        let all: BTreeSet<usize> = (0..samples.len()).collect();
        let first = Logs::before(samples, &all, FEWEST_ROUNDS as u32, self.better);
        let noises = [logs.noise(), first.noise()];
        let noise = noises.into_iter().flatten().max_by(|a, b| a.freedom.total_cmp(&b.freedom));
        let compared: Vec<Option<(f64, usize)>> =
            samples.iter().map(|own| compare(own, &samples[best], self.better)).collect();
        let lead = |(mean, rounds): (f64, usize)| {
            let half = |noise: Noise| noise.quantile(0.975) * noise.deviation * (2.0 / rounds as f64).sqrt();
            let ends = |half: f64| Interval { lo: (mean - half).exp(), hi: (mean + half).exp() };
            (mean.exp(), noise.map(|noise| ends(half(noise))))
        };
        let rivals: Vec<(f64, usize)> = compared
            .iter()
            .enumerate()
            .filter(|(cell, _)| *cell != best)
            .filter_map(|(_, compared)| *compared)
            .collect();
        let rounds = samples[best].len();
        let chance = |tolerance: f64| {
            noise
                .map_or(0.0, |noise| probability_of_best(&rivals, rounds, noise.widened(), tolerance.ln_1p()))
        };
        Some(Standing {
            best,
            probability: chance(0.0),
            probability_as_good: chance(self.tolerance),
            leads: compared.into_iter().map(|compared| compared.map(lead)).collect(),
        })
    }
}

/// Logarithms of the values of some cells, as costs, in the rounds that have all of them.
struct Logs {
    cells: Vec<usize>,
    /// For each cell, its logarithms less those of the round's mean.
    values: Vec<Vec<f64>>,
}

impl Logs {
    fn before(samples: &[Vec<RoundValue>], cells: &BTreeSet<usize>, rounds: u32, better: Better) -> Self {
        let cells: Vec<usize> = cells.iter().copied().collect();
        let mut values = vec![Vec::new(); cells.len()];
        for round in 0..rounds {
            let of_cell =
                |cell: &usize| log_cost(samples[*cell].iter().find(|run| run.round == round)?, better);
            let Some(all) = cells.iter().map(of_cell).collect::<Option<Vec<f64>>>() else { continue };
            let Some(middle) = mean(&all) else { continue };
            values.iter_mut().zip(all).for_each(|(values, value)| values.push(value - middle));
        }
        Self { cells, values }
    }

    fn rounds(&self) -> usize {
        self.values.first().map_or(0, Vec::len)
    }

    fn mean(&self, cell: usize) -> f64 {
        let place = self.cells.iter().position(|other| *other == cell);
        place.and_then(|place| mean(&self.values[place])).unwrap_or(f64::INFINITY)
    }

    fn best(&self) -> Option<usize> {
        let measured = self.cells.iter().copied().filter(|_| self.rounds() > 0);
        measured.min_by(|a, b| self.mean(*a).total_cmp(&self.mean(*b)))
    }

    /// Noise of one value: the residual of an analysis of variance by cell and round.
    fn noise(&self) -> Option<Noise> {
        let freedom = self.cells.len().checked_sub(1)? * self.rounds().checked_sub(1)?;
        let residuals = |values: &Vec<f64>| {
            let middle = mean(values).unwrap_or(0.0);
            values.iter().map(|value| (value - middle).powi(2)).sum::<f64>()
        };
        let squares: f64 = self.values.iter().map(residuals).sum();
        (freedom > 0).then(|| Noise { deviation: (squares / freedom as f64).sqrt(), freedom: freedom as f64 })
    }

    /// Difference of two means beyond which the worse cell is left out.
    fn bound(&self) -> Option<f64> {
        let noise = self.noise()?;
        let error = noise.deviation * (2.0 / self.rounds() as f64).sqrt();
        Some(noise.quantile(1.0 - ELIMINATION_ALPHA) * error)
    }
}

/// Logarithm of a value as a cost: lower is better.
fn log_cost(run: &RoundValue, better: Better) -> Option<f64> {
    let log = run.value.ln();
    let cost = if better == Better::Lower { log } else { -log };
    cost.is_finite().then_some(cost)
}

/// Mean difference of the logarithms to those of the best, and the number of their common rounds.
fn compare(own: &[RoundValue], best: &[RoundValue], better: Better) -> Option<(f64, usize)> {
    let difference = |run: &RoundValue| {
        let other = best.iter().find(|other| other.round == run.round)?;
        Some(log_cost(run, better)? - log_cost(other, better)?)
    };
    let differences: Vec<f64> = own.iter().filter_map(difference).collect();
    Some((mean(&differences)?, differences.len()))
}

/// Probability that a cell is the best, or by less than `tolerance` (of the logarithm) no worse.
/// `rivals` has the mean difference of each other cell to it, with the number of their rounds;
/// `rounds` is the number of its own. All values have the same normal noise.
///
/// It is `∫ φ(z) ∏ Φ((d_i + tolerance - z σ_b) / σ_i) dz`, with a flat prior for each cell.
fn probability_of_best(rivals: &[(f64, usize)], rounds: usize, deviation: f64, tolerance: f64) -> f64 {
    let normal = Normal::standard();
    // Equal values everywhere leave no doubt but ties.
    let error = |rounds: usize| (deviation / (rounds as f64).sqrt()).max(f64::MIN_POSITIVE);
    let own = error(rounds);
    let at = |step: usize| {
        let z = 8.0 * ((step as f64 + 0.5) / STEPS as f64 - 0.5);
        let beats = |(difference, rounds): &(f64, usize)| {
            normal.cdf((difference + tolerance - z * own) / error(*rounds))
        };
        (-z * z / 2.0).exp() * rivals.iter().map(beats).product::<f64>()
    };
    let density: f64 = (0..STEPS).map(at).sum();
    density * 8.0 / STEPS as f64 / (2.0 * std::f64::consts::PI).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    const RULE: Tuning = Tuning { better: Better::Lower, tolerance: 0.02, max_rounds: 12 };

    /// Search over cells with these true times and a relative noise, made round by round.
    fn search(truth: &[f64], noise: f64, random: &mut ChaCha8Rng) -> (Standing, usize, Decision) {
        let mut normal = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let mut samples = vec![Vec::new(); truth.len()];
        for round in 0.. {
            let state = RULE.state(&samples, round);
            if state.decision != Decision::Continue {
                let runs = samples.iter().map(Vec::len).sum();
                return (RULE.standing(&samples).unwrap(), runs, state.decision);
            }
            let shared = (0.2 * normal()).exp();
            for cell in state.survivors {
                let value = truth[cell] * shared * (noise * normal()).exp();
                samples[cell].push(RoundValue { round, value });
            }
        }
        unreachable!("the rounds have an end")
    }

    fn build_times() -> Vec<f64> {
        // A build on two CPUs: the first two jobs halve the time, and more jobs cost a little.
        (1..=16).map(|n| if n == 1 { 2.0 } else { 1.0 + 0.004 * f64::from(n - 2) }).collect()
    }

    #[test]
    fn a_search_takes_a_quarter_of_the_grid_and_finds_a_good_value() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let truth = build_times();
        let good = (0..100).filter(|_| {
            let (standing, runs, _) = search(&truth, 0.01, &mut random);
            assert!(runs <= 16 * 12 / 4, "{runs}");
            truth[standing.best] <= 1.02
        });
        let good = good.count();
        assert!(good >= 98, "{good} of 100");
    }

    /// The cell with the stated probability is the best as often as that.
    #[test]
    fn the_probability_is_that_of_being_right() {
        let mut random = ChaCha8Rng::seed_from_u64(8);
        let (mut right, mut stated, mut good, mut stated_good) = (0.0, 0.0, 0.0, 0.0);
        for _ in 0..400 {
            let truth: Vec<f64> = (0..6).map(|_| 1.0 + 0.04 * random.random::<f64>()).collect();
            let best = truth.iter().copied().fold(f64::INFINITY, f64::min);
            let (standing, ..) = search(&truth, 0.01, &mut random);
            right += f64::from(u8::from(truth[standing.best] == best));
            good += f64::from(u8::from(truth[standing.best] <= best * 1.02));
            stated += standing.probability;
            stated_good += standing.probability_as_good;
        }
        assert!((right - stated) / 400.0 > -0.06 && (right - stated) / 400.0 < 0.1, "{right} {stated}");
        assert!(good >= stated_good - 12.0, "{good} {stated_good}");
    }

    #[test]
    fn a_clear_best_ends_the_search_at_once() {
        let mut random = ChaCha8Rng::seed_from_u64(9);
        let (standing, runs, decision) = search(&[4.0, 1.0, 2.0, 3.0], 0.001, &mut random);
        assert_eq!((standing.best, runs, decision), (1, 8, Decision::Answered));
        assert!(standing.probability > 0.999, "{}", standing.probability);
        let (lead, interval) = standing.leads[0].unwrap();
        assert!(interval.unwrap().contains(4.0) && (3.9..4.1).contains(&lead), "{lead} {interval:?}");
    }

    #[test]
    fn a_repeated_decision_is_the_same_with_later_rounds() {
        let mut random = ChaCha8Rng::seed_from_u64(10);
        let mut noise = || 0.02 * random.random::<f64>();
        let samples: Vec<Vec<RoundValue>> = [1.0, 1.01, 1.5]
            .map(|time| (0..6).map(|round| RoundValue { round, value: time + noise() }).collect())
            .into();
        let first: Vec<Vec<RoundValue>> = samples.iter().map(|runs| runs[..3].to_vec()).collect();
        assert_eq!(RULE.state(&samples, 3), RULE.state(&first, 3));
        assert_eq!(RULE.state(&[vec![], vec![]], 0).decision, Decision::Continue);
        assert_eq!(RULE.standing(&[vec![], vec![]]), None);
    }
}
