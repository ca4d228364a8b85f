//! Selects the remarks on a verdict.
//!
//! Pure: no words here, and no thresholds except the choices below.

use morecores_study::{InCell, Scaling};
use morecores_view::{Estimate, PointView, View, Warning, oversubscribed_base};

use super::decide::busy_cpus;
use super::{Beyond, Remark, VerdictKind};
use crate::{main_causes, no_cause_reason};

/// Efficiency below which the verdict states how many CPUs were busy. That is the first question
/// once a fifth is lost. A choice.
const GOOD_EFFICIENCY: f64 = 0.8;

/// Largest CPU count of the guess over the largest measured count: two doublings, a machine of the
/// next size to consider. A choice.
const GUESS_AHEAD: u32 = 4;

/// Ratio of the upper to the lower end of the serial fraction's interval, above which there is no
/// guess: the guessed limit of the speedup would be uncertain by this factor.
const GUESSABLE_INTERVAL: f64 = 3.0;

/// Remark on the rounds that others disturbed, if the figures leave these out.
pub(super) fn disturbed_remark(view: &View) -> Option<Remark> {
    let with_them = view.verdict_with_disturbed?;
    let disturbed = view.disturbed_rounds.len() as u32;
    let quiet = view.points.iter().map(|point| point.runs).max().unwrap_or(0);
    Some(Remark::DisturbedRounds {
        disturbed,
        of: quiet + disturbed,
        with_them: Some(with_them.answer).filter(|answer| *answer != view.verdict.answer),
    })
}

/// Remarks on a verdict of this kind.
pub(super) fn remarks(view: &View, kind: &VerdictKind) -> Vec<Remark> {
    let [base, .., largest] = view.points.as_slice() else { return Vec::new() };
    // If the counts are not the real ones, there is nothing to add.
    if matches!(
        kind,
        VerdictKind::RanOutsideCpus(_) | VerdictKind::NoBaseline { .. } | VerdictKind::AlreadyDone
    ) {
        return Vec::new();
    }
    let mut remarks = Vec::new();
    let smt = first_smt(view).filter(|first| *first > base.cpus);
    let doubtful = view.warnings.iter().any(is_doubtful);
    let is_superlinear = matches!(kind, VerdictKind::WorthIt { .. }) && largest.is_more_than_ideal(base);
    let is_yes = matches!(kind, VerdictKind::WorthIt { .. });
    let improves = matches!(kind, VerdictKind::WorthIt { beyond: Beyond::Nothing | Beyond::NotKnown, .. });
    if is_superlinear {
        let without_oversubscription =
            view.trace(&base.cell()).is_some() && oversubscribed_base(view).is_none();
        remarks.push(Remark::MoreThanIdeal { base: base.cpus, without_oversubscription });
    }
    if let Some((from, factor, share)) = last_step(&view.points).filter(|_| improves) {
        let smt = smt.is_some_and(|first| first <= largest.cpus);
        if smt || (share < view.verdict.worth && view.points.len() > 2) {
            remarks.push(Remark::LastStep { from, to: largest.cpus, factor, smt });
        }
    }
    let falls_short = match kind {
        VerdictKind::WorthIt { gain, .. } => gain.efficiency < GOOD_EFFICIENCY || !improves,
        VerdictKind::NotWorthIt(_) | VerdictKind::Slower(_) | VerdictKind::WideInterval { .. } => true,
        _ => false,
    };
    if falls_short {
        remarks.push(busy_remark(view, base, largest));
    }
    let causes = main_causes(view);
    if let Some(cause) = causes.first().filter(|_| !is_superlinear) {
        let lossy =
            view.traces.iter().any(|t| t.lost_events > 0 && [cause.cpus, cause.base_cpus].contains(&t.cpus));
        remarks.push(Remark::MainCauses { causes, lossy });
    }
    remarks.extend(view.stack.last().and_then(|s| no_cause_reason(s, view)).map(Remark::NoCause));
    if is_yes {
        let mixed = view.warnings.iter().any(|w| matches!(w, Warning::MixedCoreTypes { .. }));
        // Both remarks are about the same work.
        let is_fixed = view.plan.scaling == Scaling::Strong;
        match serial_fraction_rises(view, smt).filter(|_| is_fixed) {
            Some(remark) if !mixed => remarks.push(remark),
            None if !is_fixed => {}
            None if improves && !mixed && !doubtful && smt.is_none() && view.prediction.is_none() => {
                remarks.extend(amdahl_remark(base, largest, view.points.len()));
            }
            _ => {}
        }
    }
    if doubtful {
        remarks.push(Remark::Doubtful);
    }
    remarks
}

/// Whether the warning names something other than the command's own scaling that may have caused
/// the speedup.
fn is_doubtful(warning: &Warning) -> bool {
    matches!(
        warning,
        Warning::QuotaBelowCpus { .. }
            | Warning::NotBalanced { .. }
            | Warning::Throttled { .. }
            | Warning::WorkOutsideTree { .. }
            | Warning::KnownClient { .. }
            | Warning::RanOutsideCpus { .. }
            | Warning::FailedRuns { .. }
    )
}

/// Remark on the busy CPUs at `point`.
fn busy_remark(view: &View, base: &PointView, point: &PointView) -> Remark {
    let cpu_time = |p: &PointView| p.user_s.median + p.system_s.median;
    // With a metric the program usually runs for a fixed time, so its CPU time says nothing about
    // the work.
    let is_fixed = view.plan.metric.is_none() && view.plan.scaling == Scaling::Strong;
    let same_work = is_fixed && cpu_time(base) > 0.0;
    Remark::Busy {
        cpus: point.cpus,
        used: busy_cpus(point),
        cpu_time_growth: same_work.then(|| cpu_time(point) / cpu_time(base)),
        base: base.cpus,
    }
}

/// Remark where the serial fraction of the last point without SMT siblings exceeds that of an
/// earlier point, beyond both intervals. The earlier point is the first whose fraction is
/// distinguishable from zero, otherwise the first point.
fn serial_fraction_rises(view: &View, smt: Option<u32>) -> Option<Remark> {
    let alike = view.points.iter().filter(|p| smt.is_none_or(|first| p.cpus < first));
    let known: Vec<(u32, Estimate)> =
        alike.filter_map(|p| Some((p.cpus, serial_fraction(p)?))).filter(|(_, f)| f.ci95.is_some()).collect();
    let (to, earlier) = known.split_last()?;
    let ends = |f: &Estimate| f.ci95.unwrap_or([f.value; 2]);
    let [last_low, _] = ends(&to.1);
    let below = || earlier.iter().filter(|(_, f)| last_low > ends(f)[1].max(0.0));
    let from = below().find(|(_, f)| ends(f)[0] > 0.0).or_else(|| below().next())?;
    Some(Remark::SerialFractionRises { from: *from, to: *to })
}

fn serial_fraction(point: &PointView) -> Option<Estimate> {
    point.serial_fraction.map(|value| Estimate { value, ci95: point.serial_fraction_ci95 })
}

/// Amdahl's law, `1 / (f + (1 - f) / n)`, with n in multiples of the base; none if the fraction is
/// within its own noise.
fn amdahl_remark(base: &PointView, largest: &PointView, points: usize) -> Option<Remark> {
    let serial_fraction = serial_fraction(largest)?;
    let (f, [low, high]) = (serial_fraction.value, serial_fraction.ci95?);
    let told_apart_from_none = low > 0.0 && high / low <= GUESSABLE_INTERVAL;
    let cpus = largest.cpus.checked_mul(GUESS_AHEAD)?;
    let n = f64::from(cpus) / f64::from(base.cpus);
    told_apart_from_none.then(|| Remark::IfSerialFractionStays {
        serial_fraction,
        cpus,
        speedup: 1.0 / (f + (1.0 - f) / n),
        limit: 1.0 / f,
        points,
    })
}

/// Count before the last, gain of the last step as a factor, and its share of the possible gain of
/// the added CPUs.
fn last_step(points: &[PointView]) -> Option<(u32, f64, f64)> {
    let [.., before, last] = points else { return None };
    let factor = last.speedup.value / before.speedup.value;
    let ideal = f64::from(last.cpus) / f64::from(before.cpus);
    Some((before.cpus, factor, (factor - 1.0) / (ideal - 1.0)))
}

/// Smallest count with SMT siblings.
fn first_smt(view: &View) -> Option<u32> {
    let smt = |w: &Warning| if let Warning::SmtSiblings { cpus } = w { Some(*cpus) } else { None };
    view.warnings.iter().filter_map(smt).min()
}
