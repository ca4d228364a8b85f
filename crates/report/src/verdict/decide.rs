//! Decides the answer and the remarks for a view.
//!
//! Pure: no words here, and no thresholds except the choices below.

use morecores_study::{Better, Closing, InCell, StopReason};
use morecores_view::{Estimate, PointView, Summary, View, Warning};

use super::validity::{invalid_baseline, oversubscribed_base, time_outside_cpus};
use super::{Gain, PlanSummary, Remark, Subject, Verdict, VerdictKind};
use crate::{main_causes, no_cause_reason};

/// Share of the possible gain of a step's added CPUs, below which the verdict mentions the step.
/// 0.5 is 1.5 times for a doubling. A choice, not a measurement: below it most of the added CPU
/// time is idle or wasted.
const WORTHWHILE_STEP: f64 = 0.5;

/// Share of the possible gain below which a step counts as little, with two counts only. 0.25 is
/// 1.25 times for two CPUs instead of one. A choice.
const MORE_THAN_A_LITTLE: f64 = 0.25;

/// Efficiency below which the verdict states how many CPUs were busy. That is the first question
/// once a fifth is lost. A choice.
const GOOD_EFFICIENCY: f64 = 0.8;

/// Largest CPU count of the guess over the largest measured count: two doublings, a machine of the
/// next size to consider. A choice.
const GUESS_AHEAD: u32 = 4;

/// Ratio of the upper to the lower end of the serial fraction's interval, above which there is no
/// guess: the guessed limit of the speedup would be uncertain by this factor.
const GUESSABLE_INTERVAL: f64 = 3.0;

/// Runs of each count from which complete separation is evidence without an interval. Three runs
/// are all faster than three others by chance in one case of 20 (3!·3!/6!).
const SEPARABLE_RUNS: u32 = 3;

/// Share of a count's CPUs taken by others, from which the speedup may be theirs. Work outside the
/// tree causes no warning below the same share.
const LEAST_TAKEN_SHARE: f64 = 0.05;

/// Decides the verdict of a view.
pub fn decide(view: &View) -> Verdict {
    let kind = verdict_kind(view);
    let remarks = remarks(view, &kind);
    Verdict { subject: subject(view), kind, remarks, plan: plan_summary(view) }
}

fn plan_summary(view: &View) -> PlanSummary {
    let ended = |closing: &Closing| closing.reason == StopReason::TimeExhausted;
    PlanSummary {
        warmups: view.plan.warmup,
        runs: view.plan.stop.max_runs,
        counts: view.plan.points.len(),
        out_of_time: view.closing.as_ref().is_some_and(ended),
        limit: view.plan.limit,
    }
}

fn subject(view: &View) -> Subject {
    match &view.plan.metric {
        None => Subject::Time,
        Some(metric) => match metric.better {
            Better::Higher => Subject::Rate(metric.unit.clone().or(metric.name.clone())),
            Better::Lower => Subject::Cost(metric.unit.clone().or(metric.name.clone())),
        },
    }
}

fn verdict_kind(view: &View) -> VerdictKind {
    if view.closing.as_ref().is_some_and(|closing| closing.reason == StopReason::AlreadyDone) {
        return VerdictKind::AlreadyDone;
    }
    let (base, largest) = match view.points.as_slice() {
        [] => return VerdictKind::NothingMeasured,
        [only] => return VerdictKind::OneCount { cpus: only.cpus, used: busy_cpus(only) },
        [base, .., largest] => (base, largest),
    };
    if let Some(outside) = time_outside_cpus(view) {
        return VerdictKind::RanOutsideCpus(outside);
    }
    let gain = gain(base, largest);
    let has_zeros = [base, largest].iter().any(|point| deciding_summary(point).min <= 0.0);
    if gain.speedup.ci95.is_none() && has_zeros {
        let median = |point: &PointView| (point.cpus, deciding_summary(point).median);
        return VerdictKind::ZeroFigures { base: median(base), largest: median(largest) };
    }
    if let Some(crowd) = invalid_baseline(view) {
        return VerdictKind::NoBaseline { crowd, gain };
    }
    if gain.speedup.ci95.is_none() {
        let separate = gain.runs >= SEPARABLE_RUNS && runs_are_separate(base, largest);
        return if separate { VerdictKind::Likely(gain) } else { VerdictKind::TooFewRuns(gain) };
    }

    let enough = last_helpful_point(base, &view.points);
    if enough.cpus == base.cpus {
        return if differs(base, base, largest) {
            VerdictKind::Slower(gain)
        } else {
            no_gain(view, largest, gain)
        };
    }
    if enough.cpus < largest.cpus {
        let slower = differs(base, enough, largest);
        return VerdictKind::Saturates { enough: self::gain(base, enough), largest: gain, slower };
    }

    if is_more_than_ideal(base, largest) {
        let traced = view.trace(&base.cell()).is_some();
        return VerdictKind::Superlinear {
            gain,
            without_oversubscription: traced && oversubscribed_base(view).is_none(),
        };
    }
    let smt = first_smt(view).is_some_and(|first| first <= largest.cpus);
    let share = last_step(&view.points).map_or(1.0, |(_, _, share)| share);
    // An SMT sibling gives less than a core, as expected; the remark on the step gives the figure.
    match view.points.len() {
        2 if share < MORE_THAN_A_LITTLE => VerdictKind::SmallGain(gain),
        3.. if share < WORTHWHILE_STEP && !smt => VerdictKind::DiminishingGain(gain),
        _ => VerdictKind::Scales(gain),
    }
}

/// Whether the speedup exceeds the growth in CPUs, beyond the speedup's interval and the noise.
pub(super) fn is_more_than_ideal(base: &PointView, largest: &PointView) -> bool {
    let ideal = f64::from(largest.cpus) / f64::from(base.cpus);
    let above = largest.speedup.value / ideal - 1.0;
    largest.speedup.ci95.is_some_and(|[low, _]| low > ideal) && above > noise_floor(base, largest)
}

/// Whether the interval of a gain contains a gain that the verdict would not call little.
pub(crate) fn leaves_worthwhile_gain(gain: &Gain) -> bool {
    let ideal = f64::from(gain.cpus) / f64::from(gain.base);
    gain.speedup.ci95.is_some_and(|[_, high]| high - 1.0 >= MORE_THAN_A_LITTLE * (ideal - 1.0))
}

/// Verdict where there is no gain: the command did not use the CPUs, or used them without a
/// difference.
fn no_gain(view: &View, largest: &PointView, gain: Gain) -> VerdictKind {
    for warning in &view.warnings {
        if let Warning::ThreadsDidNotFollow { cpus, used, gets_count } = *warning
            && cpus == largest.cpus
        {
            return VerdictKind::UnusedCpus { gain, used, gets_count };
        }
    }
    let base = view.points.first().and_then(|p| p.noise_floor);
    VerdictKind::NoDifference { gain, noise: base.into_iter().chain(largest.noise_floor).reduce(f64::max) }
}

fn remarks(view: &View, kind: &VerdictKind) -> Vec<Remark> {
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
    let step = last_step(&view.points);
    let doubtful = view.warnings.iter().any(is_doubtful) || cpus_were_taken(view);

    let little = matches!(kind, VerdictKind::DiminishingGain(_) | VerdictKind::SmallGain(_));
    let improves = little || matches!(kind, VerdictKind::Scales(_) | VerdictKind::Superlinear { .. });
    if let Some((from, factor, share)) = step.filter(|_| improves) {
        let smt = smt.is_some_and(|first| first <= largest.cpus);
        if smt || (share < WORTHWHILE_STEP && view.points.len() > 2) {
            remarks.push(Remark::LastStep { from, to: largest.cpus, factor, smt });
        }
    }
    let falls_short = match kind {
        VerdictKind::Scales(gain) => gain.efficiency < GOOD_EFFICIENCY,
        VerdictKind::Saturates { .. } | VerdictKind::NoDifference { .. } | VerdictKind::Slower(_) => true,
        _ => little,
    };
    if falls_short {
        remarks.push(busy_remark(view, base, largest));
    }
    let stopped = !matches!(kind, VerdictKind::Superlinear { .. });
    let causes = main_causes(view);
    if let Some(cause) = causes.first().filter(|_| stopped) {
        let lossy =
            view.traces.iter().any(|t| t.lost_events > 0 && [cause.cpus, cause.base_cpus].contains(&t.cpus));
        remarks.push(Remark::MainCauses { causes, lossy });
    }
    remarks.extend(view.stack.last().and_then(|s| no_cause_reason(s, view)).map(Remark::NoCause));
    if improves || matches!(kind, VerdictKind::Saturates { .. }) {
        let mixed = view.warnings.iter().any(|w| matches!(w, Warning::MixedCoreTypes { .. }));
        match serial_fraction_rises(view, smt) {
            Some(remark) if !mixed => remarks.push(remark),
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

/// Whether a warning says that other programs or the hypervisor took CPU time, and at some count
/// they took so much that the speedup may not be the command's own.
fn cpus_were_taken(view: &View) -> bool {
    let warned = |w: &Warning| matches!(w, Warning::NotQuiet { .. } | Warning::Steal { .. });
    let taken = |point: &PointView| {
        let whole = f64::from(point.runs * point.cpus) * point.elapsed_s.mean;
        let seconds = point.others_allotted_s.unwrap_or(0.0) + point.steal_s.unwrap_or(0.0);
        whole > 0.0 && seconds > LEAST_TAKEN_SHARE * whole
    };
    view.warnings.iter().any(warned) && view.points.iter().any(taken)
}

/// Remark on the busy CPUs at `point`.
fn busy_remark(view: &View, base: &PointView, point: &PointView) -> Remark {
    let cpu_time = |p: &PointView| p.user_s.median + p.system_s.median;
    // With a metric the program usually runs for a fixed time, so its CPU time says nothing about
    // the work.
    let same_work = view.plan.metric.is_none() && cpu_time(base) > 0.0;
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

/// Smallest count that is as good as the best, within the noise. `points` is not empty.
fn last_helpful_point<'a>(base: &'a PointView, points: &'a [PointView]) -> &'a PointView {
    let judged = || points.iter().filter(|p| p.cpus == base.cpus || p.speedup.ci95.is_some());
    let best = judged().max_by(|a, b| a.speedup.value.total_cmp(&b.speedup.value)).unwrap_or(base);
    judged().find(|p| !differs(base, p, best)).unwrap_or(best)
}

/// Whether two points differ beyond the noise floor and beyond their intervals.
fn differs(base: &PointView, a: &PointView, b: &PointView) -> bool {
    if a.cpus == b.cpus {
        return false;
    }
    let beyond_floor = (b.speedup.value / a.speedup.value - 1.0).abs() > noise_floor(a, b);
    let beyond_interval = match (a.cpus == base.cpus, b.speedup.ci95) {
        (true, Some([low, high])) => low > 1.0 || high < 1.0,
        // Between two points other than the base, the base's noise is common to both speedups;
        // their own intervals count.
        _ => match (deciding_summary(a).ci95, deciding_summary(b).ci95) {
            (Some([a_low, a_high]), Some([b_low, b_high])) => a_low > b_high || b_low > a_high,
            _ => false,
        },
    };
    beyond_floor && beyond_interval
}

/// Whether every run of one point lies beyond every run of the other.
fn runs_are_separate(a: &PointView, b: &PointView) -> bool {
    let (a, b) = (deciding_summary(a), deciding_summary(b));
    a.min > b.max || b.min > a.max
}

/// Measurements behind the speedup.
fn deciding_summary(point: &PointView) -> &Summary {
    point.metric.as_ref().map_or(&point.elapsed_s, |metric| &metric.summary)
}

/// Larger noise floor of two points; zero if neither has one, because the intervals still count.
fn noise_floor(a: &PointView, b: &PointView) -> f64 {
    a.noise_floor.into_iter().chain(b.noise_floor).fold(0.0, f64::max)
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

fn gain(base: &PointView, point: &PointView) -> Gain {
    Gain {
        base: base.cpus,
        cpus: point.cpus,
        speedup: point.speedup,
        efficiency: point.efficiency,
        runs: base.runs.min(point.runs),
    }
}

/// Average number of busy CPUs.
fn busy_cpus(point: &PointView) -> f64 {
    point.cpu_percent / 100.0
}
