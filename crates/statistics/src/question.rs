//! Question of a study: the samples that answer it, and the bound that a speedup must reach.
//!
//! This module selects and names samples. It computes no interval and decides nothing.

use morecores_study::{Better, RoundValue};

use crate::rounds::{round_ratios, values};

/// Speedup from which the CPUs beyond `base_cpus` are worth it, if each must bring the share
/// `worth` of itself: 1.25 for two CPUs instead of one that must bring a quarter.
pub fn worthwhile_speedup(worth: f64, base_cpus: u32, cpus: u32) -> f64 {
    1.0 + worth * (f64::from(cpus) / f64::from(base_cpus) - 1.0)
}

/// Sample whose median is asked for: the speedups of the rounds, or the runs of one cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuestionSample {
    /// Values in the order of the rounds.
    pub values: Vec<f64>,
    /// Speedup from which the CPUs of the sample's cell are worth it. `None` if only the size of
    /// the median is asked for.
    pub bound: Option<f64>,
}

impl QuestionSample {
    /// Sample of which only the median is asked for.
    pub fn without_bound(values: impl Into<Vec<f64>>) -> Self {
        Self { values: values.into(), bound: None }
    }
}

/// Question that a study answers from its rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Position of each cell's base among the cells.
    bases: Vec<usize>,
    better: Better,
    /// Smallest share of a CPU that is worth it, and the CPU count of each cell. `None` if only the
    /// speedups are asked for.
    worth: Option<(f64, Vec<u32>)>,
}

impl Question {
    /// Question for the speedup of each cell over its base, and for the median of a cell that is
    /// alone. `bases` holds the position of each cell's base.
    pub fn speedups(bases: Vec<usize>, better: Better) -> Self {
        Self { bases, better, worth: None }
    }

    /// The same question, and whether the CPUs beyond those of the base are worth it. `cpus` holds
    /// the CPU count of each cell.
    #[must_use]
    pub fn with_worth(self, worth: f64, cpus: Vec<u32>) -> Self {
        Self { worth: Some((worth, cpus)), ..self }
    }

    /// Samples that answer the question, from the runs of its cells.
    ///
    /// The sample of each speedup is the ratios within the rounds. If rounds do not pair the runs,
    /// both samples of values take its place. For a base of no other cell, the sample is the values
    /// of its runs. The first cell with a run takes the place of a base without any.
    pub fn samples(&self, runs: &[Vec<RoundValue>]) -> Vec<QuestionSample> {
        let mut samples = Vec::new();
        for (position, (own_base, own)) in self.bases.iter().zip(runs).enumerate() {
            let group = || self.bases.iter().enumerate().filter(|(_, base)| *base == own_base);
            let measured = group().map(|(at, _)| at).find(|&at| runs.get(at).is_some_and(|r| !r.is_empty()));
            let base = measured.unwrap_or(*own_base);
            if group().count() == 1 {
                samples.push(QuestionSample::without_bound(values(own)));
            } else if let Some(of_base) = runs.get(base).filter(|_| base != position) {
                match round_ratios(of_base, own, self.better) {
                    Some(paired) => samples
                        .push(QuestionSample { values: paired.ratios, bound: self.bound(base, position) }),
                    None => samples.extend([values(of_base), values(own)].map(QuestionSample::without_bound)),
                }
            }
        }
        samples
    }

    /// Speedup from which the CPUs of the cell at `position` are worth it.
    fn bound(&self, base: usize, position: usize) -> Option<f64> {
        let (worth, cpus) = self.worth.as_ref()?;
        let (base, cpus) = (*cpus.get(base)?, *cpus.get(position)?);
        (cpus > base).then(|| worthwhile_speedup(*worth, base, cpus))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(values: &[(u32, f64)]) -> Vec<RoundValue> {
        values.iter().map(|&(round, value)| RoundValue { round, value }).collect()
    }

    /// Two rounds on one, two and four CPUs.
    fn cells() -> [Vec<RoundValue>; 3] {
        [[8.0, 6.0], [4.0, 3.0], [2.0, 2.0]].map(|[a, b]| runs(&[(0, a), (1, b)]))
    }

    fn ask(bases: &[usize], cells: &[Vec<RoundValue>]) -> Vec<Vec<f64>> {
        let question = Question::speedups(bases.to_vec(), Better::Lower);
        question.samples(cells).into_iter().map(|sample| sample.values).collect()
    }

    #[test]
    fn the_question_is_each_speedup_or_the_only_median() {
        let [one, two, four] = cells();
        assert_eq!(ask(&[0, 0, 0], &cells()), [[2.0, 2.0], [4.0, 3.0]]);
        assert_eq!(ask(&[0], &cells()[..1]), [[8.0, 6.0]]);
        // Two groups: a speedup, and a cell of its own.
        assert_eq!(ask(&[0, 1, 0], &cells()), [[4.0, 3.0], [4.0, 3.0]]);
        // A base without a run is replaced, and keeps an empty sample.
        assert_eq!(ask(&[0, 0, 0], &[vec![], two, four]), [vec![4.0, 3.0], vec![], vec![2.0, 1.5]]);
        // Rounds that do not pair the runs give both samples.
        let later = runs(&[(2, 4.0), (3, 3.0)]);
        assert_eq!(ask(&[0, 0], &[one, later]), [[8.0, 6.0], [4.0, 3.0]]);
    }

    #[test]
    fn each_speedup_has_the_bound_of_its_cpus() {
        let question = Question::speedups(vec![0; 3], Better::Lower).with_worth(0.25, vec![1, 2, 4]);
        let bounds = |cells: &[Vec<RoundValue>]| -> Vec<Option<f64>> {
            question.samples(cells).into_iter().map(|sample| sample.bound).collect()
        };
        assert_eq!(bounds(&cells()), [Some(1.25), Some(1.75)]);
        let [_, two, four] = cells();
        assert_eq!(bounds(&[vec![], two.clone(), four]), [None, None, Some(1.25)], "over two CPUs");
        let [one, ..] = cells();
        let unpaired = runs(&[(7, 1.0)]);
        assert_eq!(bounds(&[one, two, unpaired]), [Some(1.25), None, None]);
    }
}
