//! The CPU quota that is enough: each quota compared with the largest one.
//!
//! Pure: no words here.

use morecores_statistics::{Design, Interval, ScalingRatio, leads_over, median};
use morecores_study::{InCell, Plan, Point, QuotaPercent, Run};

use crate::sample::Sample;
use crate::stack::speedup_between;
use crate::{
    Estimate, PointView, QuotaComparison, QuotaView, Ranking, SizedBy, Sufficiency, Throttling, TraceView,
    View,
};

/// Loss of speed, as a share, up to which a quota is enough. A choice: below it, few would pay for
/// a larger limit.
const TOLERANCE: f64 = 0.05;

/// Returns the comparison of the quotas of a plan, if several were measured. `samples` are in the
/// order of the plan. Of several values of `{n}`, each quota has the best.
pub(crate) fn quota_comparison(
    samples: &[Sample<'_>],
    rankings: &[Ranking],
    traces: &[TraceView],
    plan: &Plan,
    tells_n: bool,
    design: Design,
) -> Option<QuotaComparison> {
    let is_best = |sample: &&Sample<'_>| {
        let own = |r: &&Ranking| r.cpus == sample.point.cpus && r.axes == sample.point.axes;
        rankings.iter().find(own).is_none_or(|ranking| ranking.best == sample.point.n)
    };
    let measured = samples.iter().filter(|sample| !sample.runs.is_empty()).filter(is_best);
    let mut best: Vec<(QuotaPercent, &Sample<'_>)> =
        measured.filter_map(|sample| Some((sample.point.quota()?, sample))).collect();
    best.sort_by_key(|(quota, _)| *quota);
    if best.len() < 2 {
        return None;
    }
    let values: Vec<_> = best.iter().map(|(_, sample)| sample.round_values()).collect();
    let leads = leads_over(&values, best.len() - 1, plan.better(), design);
    let views = best.iter().zip(leads);
    let mut quotas: Vec<QuotaView> =
        views.filter_map(|((quota, sample), lead)| Some(quota_view(*quota, sample, lead?))).collect();
    // The largest one is the reference, and has no interval.
    quotas.last_mut()?.suffices = Sufficiency::Enough;
    if quotas.len() < 2 {
        return None;
    }
    let sized_by = if tells_n { None } else { sized_by(best.iter().map(|(_, s)| s.point), traces) };
    Some(QuotaComparison { quotas, tolerance: TOLERANCE, sized_by })
}

impl View {
    /// Returns the view with one point for each quota, at its best value of `{n}`, and speedups
    /// over the smallest quota; none without several quotas.
    pub fn over_quotas(&self) -> Option<Self> {
        let quotas = &self.quota.as_ref()?.quotas;
        let point = |quota: &QuotaView| {
            let is_own = |p: &&PointView| {
                p.n == quota.n && QuotaPercent::from_coordinates(&p.axes) == Some(quota.quota_percent)
            };
            self.points.iter().find(is_own)
        };
        let base = point(quotas.first()?)?;
        let over_base = |point: &PointView| {
            // The speedups of the view are over the first value of `{n}`.
            let speedup = speedup_between(base, point);
            PointView { speedup, ..point.clone() }
        };
        let points = quotas.iter().filter_map(|quota| Some(over_base(point(quota)?)));
        Some(Self { points: points.collect(), ..self.clone() })
    }
}

fn quota_view(quota: QuotaPercent, sample: &Sample<'_>, lead: ScalingRatio) -> QuotaView {
    QuotaView {
        quota_percent: quota,
        n: sample.point.n,
        lead: Estimate { value: lead.value, ci95: lead.interval.map(Interval::ends) },
        suffices: sufficiency(lead),
        throttling: throttling(&sample.runs),
    }
}

/// Returns the throttling of the median run; none if the kernel did not count it.
pub(crate) fn throttling(runs: &[&Run]) -> Option<Throttling> {
    let median_of = |value: fn(&Run) -> Option<f64>| {
        median(&runs.iter().filter_map(|run| value(run)).collect::<Vec<f64>>())
    };
    let share = median_of(|run| run.tree.bandwidth?.throttled_share(run.cpu.user_ns + run.cpu.system_ns))?;
    let periods_share = median_of(|run| {
        let used = run.tree.bandwidth?;
        Some(used.throttled_periods as f64 / used.periods.max(1) as f64)
    })?;
    let periods = median_of(|run| Some(run.tree.bandwidth?.periods as f64))?;
    Some(Throttling { share, periods_share, periods })
}

/// Decides by the interval of the largest quota's lead.
fn sufficiency(lead: ScalingRatio) -> Sufficiency {
    match lead.interval {
        Some(interval) if interval.hi <= 1.0 + TOLERANCE => Sufficiency::Enough,
        Some(interval) if interval.lo > 1.0 + TOLERANCE => Sufficiency::TooSmall,
        _ => Sufficiency::Unknown,
    }
}

/// Returns the number that the workers of the traced runs follow.
fn sized_by<'a>(points: impl Iterator<Item = &'a Point>, traces: &[TraceView]) -> Option<SizedBy> {
    let workers = |point: &Point| {
        let trace = traces.iter().find(|trace| trace.cell() == point.cell())?;
        Some((point.quota()?, point.cpus, trace.workers.as_ref().map_or(1, |workers| workers.threads)))
    };
    let traced: Vec<(QuotaPercent, u32, u32)> = points.filter_map(workers).collect();
    let whole = |quota: QuotaPercent| quota.0.div_ceil(100);
    let (first, last) = (traced.first()?, traced.last()?);
    // Quotas that round up to one number do not tell the two apart.
    if whole(first.0) == whole(last.0) {
        return None;
    }
    if traced.iter().all(|(quota, _, workers)| *workers == whole(*quota)) {
        return Some(SizedBy::Quota);
    }
    // Threads that wait for the quota are ready to run, so that some more are at a small one.
    let of_machine = |(_, cpus, workers): &(QuotaPercent, u32, u32)| workers >= cpus;
    let machine = SizedBy::Machine { quota_percent: first.0, workers: first.2 };
    (whole(first.0) < first.1 && traced.iter().all(of_machine)).then_some(machine)
}
