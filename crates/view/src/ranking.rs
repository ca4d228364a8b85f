//! Rankings of the values of `{n}`, and a study with several of them seen as one over CPU counts.
//!
//! Pure: no words here.

use std::borrow::Cow;

use morecores_statistics::{Design, Interval, ranking};
use morecores_study::{Coordinates, InCell, Plan};

use crate::sample::Sample;
use crate::stack::speedup_between;
use crate::{Estimate, PointView, RankedValue, Ranking, View};

/// Returns a ranking for each CPU count, and for each combination of values on further axes, at
/// which several values of `{n}` were measured. `samples` are in the order of the plan.
pub(crate) fn rankings(samples: &[Sample<'_>], plan: &Plan, design: Design) -> Vec<Ranking> {
    let mut groups: Vec<((u32, &Coordinates), Vec<&Sample<'_>>)> = Vec::new();
    for sample in samples.iter().filter(|sample| !sample.runs.is_empty()) {
        let key = (sample.point.cpus, &sample.point.axes);
        match groups.iter_mut().find(|(own, _)| *own == key) {
            Some((_, group)) => group.push(sample),
            None => groups.push((key, vec![sample])),
        }
    }
    let ranked = |((cpus, axes), group): ((u32, &Coordinates), Vec<&Sample<'_>>)| {
        let values: Vec<_> = group.iter().map(|sample| sample.round_values()).collect();
        let ranking = ranking(&values, plan.better(), design)?;
        let value = |(sample, ranked): (&&Sample<'_>, &Option<morecores_statistics::RankedSample>)| {
            let ranked = (*ranked)?;
            let lead = Estimate { value: ranked.lead.value, ci95: ranked.lead.interval.map(Interval::ends) };
            Some(RankedValue { n: sample.point.n, lead, may_be_best: ranked.may_be_best })
        };
        Some(Ranking {
            cpus,
            axes: axes.clone(),
            best: group[ranking.best].point.n,
            values: group.iter().zip(&ranking.samples).filter_map(value).collect(),
        })
    };
    groups.into_iter().filter_map(ranked).collect()
}

impl View {
    /// Returns the view with the best value of `{n}` alone at each CPU count, as a user would
    /// choose it. Its speedups are over the best value on the fewest CPUs.
    ///
    /// The best is the value with the best median. Where noise hides which value is best, the
    /// choice makes a count look a little better than it is, on the fewest CPUs as on the others.
    pub fn at_best_n(&self) -> Cow<'_, Self> {
        if self.rankings.is_empty() {
            return Cow::Borrowed(self);
        }
        let is_best = |point: &PointView| {
            let own = |r: &&Ranking| r.cpus == point.cpus && r.axes == point.axes;
            self.rankings.iter().find(own).is_none_or(|ranking| ranking.best == point.n)
        };
        let best: Vec<&PointView> = self.points.iter().filter(|point| is_best(point)).collect();
        let base = |point: &PointView| best.iter().find(|base| base.axes == point.axes).copied();
        let points: Vec<PointView> =
            best.iter().filter_map(|point| Some(point.with_base(base(point)?))).collect();
        let fastest_larger = |point: &PointView| {
            let larger = points.iter().filter(|p| p.cpus > point.cpus && p.axes == point.axes);
            larger.max_by(|a, b| a.speedup.value.total_cmp(&b.speedup.value))
        };
        let ratios: Vec<Option<Estimate>> =
            points.iter().map(|point| Some(speedup_between(fastest_larger(point)?, point))).collect();
        let with_ratio = |(point, ratio_to_larger)| PointView { ratio_to_larger, ..point };
        let points: Vec<PointView> = points.clone().into_iter().zip(ratios).map(with_ratio).collect();
        let mut view = self.clone();
        let has_point = |cell| points.iter().any(|point| point.cell() == cell);
        view.traces.retain(|trace| has_point(trace.cell()));
        view.stack.retain(|stack| has_point(stack.cell()) && has_point(stack.base_cell()));
        view.points = points;
        Cow::Owned(view)
    }
}

impl PointView {
    /// Returns the same figures with the speedup over another base.
    fn with_base(&self, base: &Self) -> Self {
        if self.cell() == base.cell() {
            let ci95 = self.speedup.ci95.map(|_| [1.0, 1.0]);
            let speedup = Estimate { value: 1.0, ci95 };
            return Self {
                speedup,
                efficiency: 1.0,
                efficiency_ci95: ci95,
                ..self.without_serial_fraction()
            };
        }
        let speedup = speedup_between(base, self);
        let growth = f64::from(self.cpus) / f64::from(base.cpus);
        Self {
            speedup,
            efficiency: speedup.value / growth,
            efficiency_ci95: speedup.ci95.map(|ends| ends.map(|end| end / growth)),
            ..self.without_serial_fraction()
        }
    }

    fn without_serial_fraction(&self) -> Self {
        Self { serial_fraction: None, serial_fraction_ci95: None, ..self.clone() }
    }
}
