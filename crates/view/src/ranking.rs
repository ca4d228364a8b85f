//! Rankings of the values of `{n}`, and a study with several of them seen as one over CPU counts.
//!
//! Pure: no words here.

use std::borrow::Cow;

use morecores_statistics::{Design, Interval, RankedSample, Tuning, best_of, ranking};
use morecores_study::{Coordinates, InCell, Plan, Point, RoundValue, Run, RunRecord};

use crate::memory::{MemoryDemand, needed_bytes};
use crate::rounds::{n_groups, tuning};
use crate::sample::Sample;
use crate::stack::speedup_between;
use crate::{Estimate, MemoryByN, PointView, RankedValue, Ranking, SearchedBest, View};

/// Returns a ranking for each CPU count, and for each combination of values on further axes, at
/// which several values of `{n}` were measured. `samples` are in the order of the plan, and
/// `memory_limit` is in bytes.
pub(crate) fn rankings(
    samples: &[Sample<'_>],
    plan: &Plan,
    design: Design,
    memory_limit: Option<u64>,
) -> Vec<Ranking> {
    let mut groups: Vec<((u32, &Coordinates), Vec<&Sample<'_>>)> = Vec::new();
    for sample in samples.iter().filter(|sample| !sample.runs.is_empty()) {
        let key = (sample.point.cpus, &sample.point.axes);
        match groups.iter_mut().find(|(own, _)| *own == key) {
            Some((_, group)) => group.push(sample),
            None => groups.push((key, vec![sample])),
        }
    }
    let ranked = |((cpus, axes), group): ((u32, &Coordinates), Vec<&Sample<'_>>)| {
        let samples: Vec<_> = group.iter().map(|sample| sample.round_values()).collect();
        let n: Vec<u32> = group.iter().map(|sample| sample.point.n).collect();
        let (best, values, search) = match tuning(plan) {
            Some(tuning) => searched(&samples, &n, &tuning)?,
            None => compared(&samples, &n, plan, design)?,
        };
        let memory = memory_by_n(&group, memory_limit);
        Some(Ranking { cpus, axes: axes.clone(), best, values, search, memory })
    };
    groups.into_iter().filter_map(ranked).collect()
}

/// Returns the points of a plan whose runs are traced: all of them, but of several values of `{n}`
/// on one CPU count only the best by `timed`, and one for each CPU. Before the timed runs the first
/// stands for the best.
pub fn traced_points<'p>(plan: &'p Plan, timed: &[&Run]) -> Vec<&'p Point> {
    let Some(groups) = n_groups(plan) else { return plan.points.iter().collect() };
    let values = |point: &Point| -> Vec<RoundValue> {
        timed.iter().filter(|run| run.cell() == point.cell()).map(|run| run.round_value()).collect()
    };
    let best = |group: usize| {
        let members = || (0..groups.len()).filter(|place| groups[*place] == group);
        let samples: Vec<Vec<RoundValue>> = members().map(|place| values(&plan.points[place])).collect();
        let found = match tuning(plan) {
            Some(tuning) => tuning.standing(&samples).map(|standing| standing.best),
            None => best_of(&samples, plan.better()),
        };
        members().nth(found.unwrap_or(0))
    };
    let is_traced =
        |(place, point): &(usize, &Point)| point.n == point.cpus || best(groups[*place]) == Some(*place);
    plan.points.iter().enumerate().filter(is_traced).map(|(_, point)| point).collect()
}

/// Multiple of the largest measured value up to which the line of the memory is continued. A
/// choice.
const EXTRAPOLATED: f64 = 4.0;

/// Returns the memory that the command needs by its value of `{n}`.
fn memory_by_n(group: &[&Sample<'_>], limit: Option<u64>) -> Option<MemoryByN> {
    let need = |sample: &&Sample<'_>| Some((sample.point.n, needed_bytes(sample)?));
    let points: Vec<(u32, f64)> = group.iter().filter_map(need).collect();
    let demand = MemoryDemand::fit(&points)?;
    let (largest, largest_bytes) = points.into_iter().max_by_key(|(n, _)| *n)?;
    let limit_bytes = limit.map(|bytes| bytes as f64);
    let is_near = |n: &f64| (1.0..=EXTRAPOLATED * f64::from(largest)).contains(n);
    let fits = limit_bytes.map(|limit| demand.count_within(limit)).filter(is_near);
    let (bytes_per_n, fits) = (demand.bytes_per_count(), fits.map(|n| n as u32));
    Some(MemoryByN { largest, largest_bytes, bytes_per_n, limit_bytes, fits })
}

/// Best of several values, the values, and the certainty of a search.
type Ranked = (u32, Vec<RankedValue>, Option<SearchedBest>);

/// Returns the values compared by the intervals of their ratios.
fn compared(samples: &[Vec<RoundValue>], n: &[u32], plan: &Plan, design: Design) -> Option<Ranked> {
    let ranking = ranking(samples, plan.better(), design)?;
    let value = |(n, ranked): (&u32, &Option<RankedSample>)| {
        let RankedSample { lead, may_be_best } = (*ranked)?;
        let lead = Estimate { value: lead.value, ci95: lead.interval.map(Interval::ends) };
        Some(RankedValue { n: *n, lead, may_be_best })
    };
    let values = n.iter().zip(&ranking.samples).filter_map(value).collect();
    Some((n[ranking.best], values, None))
}

/// Returns the values as a search has them, which leaves most of them out after a few runs.
fn searched(samples: &[Vec<RoundValue>], n: &[u32], tuning: &Tuning) -> Option<Ranked> {
    let standing = tuning.standing(samples)?;
    let made = samples.iter().flatten().map(|run| run.round + 1).max()?;
    let survivors = tuning.state(samples, made).survivors;
    let value = |(place, n): (usize, &u32)| {
        let (value, interval) = standing.leads[place]?;
        let ci95 = interval.filter(|_| place != standing.best).map(Interval::ends);
        Some(RankedValue { n: *n, lead: Estimate { value, ci95 }, may_be_best: survivors.contains(&place) })
    };
    let values: Vec<RankedValue> = n.iter().enumerate().filter_map(value).collect();
    let search = SearchedBest {
        probability: standing.probability,
        probability_as_good: standing.probability_as_good,
        tolerance: tuning.tolerance,
        runs: samples.iter().map(Vec::len).sum::<usize>() as u32,
        grid_runs: (samples.len() * tuning.max_rounds) as u32,
    };
    (values.len() > 1).then_some((n[standing.best], values, Some(search)))
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
