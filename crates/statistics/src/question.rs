//! Question of a study: the samples that answer it, and the bound that a speedup must reach.
//!
//! This module selects and names samples. It computes no interval and decides nothing.

use std::collections::BTreeMap;

use morecores_study::{Better, RoundValue};

use crate::ranking::{best_of, share_of_rival};
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
    /// Share of the probability of error for the question whether the cell is as good as the best
    /// of its group. The values are then the speedups of the best. `None` if that is not asked.
    pub rival_share: Option<f64>,
}

impl QuestionSample {
    /// Sample of which only the median is asked for.
    pub fn without_bound(values: impl Into<Vec<f64>>) -> Self {
        Self { values: values.into(), ..Self::default() }
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
    /// Work of each cell, relative to the others: a speedup is multiplied by its growth.
    work: Option<Vec<f64>>,
    /// Whether the best cell is asked for, of those with one base. The base is then no more than a
    /// name of the group.
    ranks: bool,
}

impl Question {
    /// Question for the speedup of each cell over its base, and for the median of a cell that is
    /// alone. `bases` holds the position of each cell's base.
    pub fn speedups(bases: Vec<usize>, better: Better) -> Self {
        Self { bases, better, worth: None, work: None, ranks: false }
    }

    /// Question for the best cell of each group, and for the median of a cell that is alone.
    /// `groups` holds the position of a cell that stands for the group of each.
    pub fn best_of_groups(groups: Vec<usize>, better: Better) -> Self {
        Self { bases: groups, better, worth: None, work: None, ranks: true }
    }

    /// The same question, and whether the CPUs beyond those of the base are worth it. `cpus` holds
    /// the CPU count of each cell.
    #[must_use]
    pub fn with_worth(self, worth: f64, cpus: Vec<u32>) -> Self {
        Self { worth: Some((worth, cpus)), ..self }
    }

    /// The same question for scaled speedups: `work` holds the work of each cell, relative to the
    /// others.
    #[must_use]
    pub fn with_work(self, work: Vec<f64>) -> Self {
        Self { work: Some(work), ..self }
    }

    /// Samples that answer the question, from the runs of its cells.
    ///
    /// The sample of each speedup is the ratios within the rounds. If rounds do not pair the runs,
    /// both samples of values take its place. For a base of no other cell, the sample is the values
    /// of its runs. The first cell with a run takes the place of a base without any.
    ///
    /// For the best of a group, each sample is the speedups of the cell with the best median over
    /// another one.
    pub fn samples(&self, runs: &[Vec<RoundValue>]) -> Vec<QuestionSample> {
        if self.ranks {
            return self.rival_samples(runs);
        }
        let mut samples = Vec::new();
        for (position, (own_base, own)) in self.bases.iter().zip(runs).enumerate() {
            let group = || self.bases.iter().enumerate().filter(|(_, base)| *base == own_base);
            let measured = group().map(|(at, _)| at).find(|&at| runs.get(at).is_some_and(|r| !r.is_empty()));
            let base = measured.unwrap_or(*own_base);
            if group().count() == 1 {
                samples.push(QuestionSample::without_bound(values(own)));
            } else if let Some(of_base) = runs.get(base).filter(|_| base != position) {
                match round_ratios(of_base, own, self.better) {
                    Some(paired) => {
                        let growth = self.growth(base, position);
                        let speedups: Vec<f64> = paired.ratios.iter().map(|ratio| ratio * growth).collect();
                        let bound = self.bound(base, position);
                        samples.push(QuestionSample { bound, ..QuestionSample::without_bound(speedups) });
                    }
                    None => samples.extend([values(of_base), values(own)].map(QuestionSample::without_bound)),
                }
            }
        }
        samples
    }

    /// Positions of the cells of each group, by the position that stands for the group.
    pub(crate) fn groups(&self) -> BTreeMap<usize, Vec<usize>> {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (cell, group) in self.bases.iter().enumerate() {
            groups.entry(*group).or_default().push(cell);
        }
        groups
    }

    fn rival_samples(&self, runs: &[Vec<RoundValue>]) -> Vec<QuestionSample> {
        let mut samples = Vec::new();
        for group in self.groups().into_values() {
            let group: Vec<&Vec<RoundValue>> = group.iter().filter_map(|cell| runs.get(*cell)).collect();
            let Some(best) = best_of(&group, self.better).filter(|_| group.len() > 1) else {
                samples.extend(group.iter().map(|own| QuestionSample::without_bound(values(own))));
                continue;
            };
            let share = share_of_rival(group.len());
            for (_, rival) in group.iter().enumerate().filter(|(place, _)| *place != best) {
                let paired = round_ratios(rival, group[best], self.better);
                let values = paired.map(|paired| paired.ratios).unwrap_or_default();
                let rival_share = Some(share);
                samples.push(QuestionSample { rival_share, ..QuestionSample::without_bound(values) });
            }
        }
        samples
    }

    /// Growth of the work from the base to the cell at `position`.
    fn growth(&self, base: usize, position: usize) -> f64 {
        let work = |at: usize| self.work.as_ref().and_then(|work| work.get(at)).copied().unwrap_or(1.0);
        work(position) / work(base)
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
        // Twice the work on two CPUs in half the time.
        let scaled = Question::speedups(vec![0, 0], Better::Lower).with_work(vec![1.0, 2.0]);
        assert_eq!(scaled.samples(&cells()[..2])[0].values, [4.0, 4.0]);
        // A base without a run is replaced, and keeps an empty sample.
        assert_eq!(ask(&[0, 0, 0], &[vec![], two, four]), [vec![4.0, 3.0], vec![], vec![2.0, 1.5]]);
        // Rounds that do not pair the runs give both samples.
        let later = runs(&[(2, 4.0), (3, 3.0)]);
        assert_eq!(ask(&[0, 0], &[one, later]), [[8.0, 6.0], [4.0, 3.0]]);
    }

    #[test]
    fn the_best_of_a_group_is_asked_for_over_each_other() {
        let question = Question::best_of_groups(vec![0, 0, 0, 3], Better::Lower);
        let [one, two, four] = cells();
        let samples = question.samples(&[one.clone(), four, two, one]);
        let found: Vec<_> =
            samples.iter().map(|sample| (sample.values.as_slice(), sample.rival_share)).collect();
        // Four CPUs are best: they need 2 s in both rounds. The last cell is alone.
        assert_eq!(found, [(&[4.0, 3.0][..], Some(1.0)), (&[2.0, 1.5], Some(1.0)), (&[8.0, 6.0], None)]);
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
