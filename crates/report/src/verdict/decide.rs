//! Adds to the view's answer the figures that its words need.
//!
//! Pure: no words here, and no thresholds. The view has decided the answer.

use morecores_statistics::worthwhile_speedup;
use morecores_study::{Better, Closing, Scaling, StopReason};
use morecores_view::{PointView, Reason, View, Warning, invalid_baseline, time_outside_cpus};

use super::remarks::{disturbed_remark, remarks};
use super::{
    BestN, Beyond, ComparedQuantity, EnoughQuota, MeasuredGain, PlanSummary, Remark, ReportedVerdict, Taker,
    VerdictKind,
};

/// Verdict of a view, from the answer that the view has decided.
pub fn decide(view: &View) -> ReportedVerdict {
    let over_cpus = view.at_best_n();
    let kind = verdict_kind(&over_cpus).unwrap_or(VerdictKind::NothingMeasured);
    let best_n: Vec<BestN> = view.rankings.iter().map(|ranking| BestN::new(ranking, view)).collect();
    let quota = view.quota.as_ref().map(|quota| EnoughQuota::new(quota, view));
    let disturbed = disturbed_remark(view).into_iter();
    let (compared, plan) = (compared_quantity(view), plan_summary(view));
    let best_n_remarks = || best_n.iter().cloned().map(Remark::BestN);
    let (kind, remarks) = match (kind, quota, best_n.as_slice()) {
        (VerdictKind::OneCount { .. }, Some(quota), _) => {
            (VerdictKind::EnoughQuota(quota), disturbed.chain(best_n_remarks()).collect())
        }
        (VerdictKind::OneCount { .. }, None, [only]) => {
            (VerdictKind::BestN(only.clone()), disturbed.collect())
        }
        (kind, _, _) => {
            let further = remarks(&over_cpus, &kind);
            (kind, disturbed.chain(best_n_remarks()).chain(further).collect())
        }
    };
    ReportedVerdict { compared, answer: view.verdict.answer, kind, remarks, plan }
}

fn plan_summary(view: &View) -> PlanSummary {
    let ended = |closing: &Closing| closing.reason == StopReason::TimeExhausted;
    PlanSummary {
        warmups: view.plan.warmup,
        runs: view.plan.stop.max_runs,
        rounds_until_precise: view.rounds_until_precise,
        counts: view.plan.points.len(),
        out_of_time: view.closing.as_ref().is_some_and(ended),
        limit: view.plan.limit,
    }
}

fn compared_quantity(view: &View) -> ComparedQuantity {
    match &view.plan.metric {
        None if view.plan.scaling == Scaling::Weak => ComparedQuantity::Work,
        None => ComparedQuantity::Time,
        Some(metric) => match metric.better {
            Better::Higher => ComparedQuantity::Rate(metric.unit.clone().or(metric.name.clone())),
            Better::Lower => ComparedQuantity::Cost(metric.unit.clone().or(metric.name.clone())),
        },
    }
}

/// Kind of the verdict. None if the view lacks the figures behind its answer.
fn verdict_kind(view: &View) -> Option<VerdictKind> {
    if view.verdict.reason == Reason::AlreadyDone {
        return Some(VerdictKind::AlreadyDone);
    }
    let (base, largest) = (view.points.first()?, view.points.last()?);
    let decided = &view.verdict;
    let shown = view.points.iter().find(|point| Some(point.cpus) == decided.cpus).unwrap_or(largest);
    let gain = MeasuredGain::new(base, shown, decided.worth);
    let median = |point: &PointView| (point.cpus, point.deciding_summary().median);
    Some(match decided.reason {
        Reason::NothingMeasured => VerdictKind::NothingMeasured,
        Reason::AlreadyDone => VerdictKind::AlreadyDone,
        Reason::OneCount => VerdictKind::OneCount { cpus: base.cpus, used: busy_cpus(base) },
        Reason::RanOutsideCpus => VerdictKind::RanOutsideCpus(time_outside_cpus(view)?),
        Reason::ZeroFigures => VerdictKind::ZeroFigures { base: median(base), largest: median(largest) },
        Reason::NoBaseline => VerdictKind::NoBaseline { crowd: invalid_baseline(view)?, gain },
        Reason::TooFewRuns => VerdictKind::TooFewRuns(gain),
        Reason::CpusTaken => cpus_taken(base, shown, gain),
        Reason::WideInterval => VerdictKind::WideInterval { gain, rounds: decided.rounds_needed },
        Reason::WorthIt => VerdictKind::WorthIt { gain, beyond: beyond(view, shown, largest) },
        Reason::NotWorthIt => VerdictKind::NotWorthIt(gain),
        Reason::Slower => VerdictKind::Slower(gain),
        Reason::UnusedCpus => VerdictKind::UnusedCpus {
            gain,
            used: busy_cpus(shown),
            gets_count: view.warnings.iter().any(
                |w| matches!(w, Warning::ThreadsDidNotFollow { cpus, gets_count: true, .. } if *cpus == shown.cpus),
            ),
        },
    })
}

/// Loss of CPU time at the one of two counts that lost more, with its main consumer.
fn cpus_taken(base: &PointView, shown: &PointView, gain: MeasuredGain) -> VerdictKind {
    let worse = if base.taken_share() > shown.taken_share() { base } else { shown };
    let takers = [
        (Taker::OtherPrograms, worse.others_allotted_s),
        (Taker::Hypervisor, worse.steal_s),
        (Taker::Quota, worse.throttled_s),
    ];
    let seconds = |taken: &(Taker, Option<f64>)| taken.1.unwrap_or(0.0);
    let main = takers.into_iter().max_by(|a, b| seconds(a).total_cmp(&seconds(b)));
    let taker = main.map_or(Taker::OtherPrograms, |(taker, _)| taker);
    VerdictKind::CpusTaken { gain, cpus: worse.cpus, share: worse.taken_share(), taker }
}

/// Description of the counts beyond the one that a yes names.
fn beyond(view: &View, shown: &PointView, largest: &PointView) -> Beyond {
    let ratio = shown.ratio_to_larger.and_then(|ratio| ratio.ci95);
    match (view.verdict.up_to, ratio) {
        (None, _) => Beyond::NotKnown,
        (Some(_), None) => Beyond::Nothing,
        (Some(_), Some([low, _])) if low > 1.0 => {
            Beyond::Slower { largest: (largest.cpus, largest.speedup.value) }
        }
        (Some(_), Some([low, _])) => Beyond::LittleMore { largest: largest.cpus, at_most: 1.0 / low - 1.0 },
    }
}

impl MeasuredGain {
    fn new(base: &PointView, point: &PointView, worth: f64) -> Self {
        Self {
            base: base.cpus,
            cpus: point.cpus,
            speedup: point.speedup,
            efficiency: point.efficiency,
            runs: base.runs.min(point.runs),
            worth_from: worthwhile_speedup(worth, base.cpus, point.cpus),
        }
    }
}

/// Average number of busy CPUs.
pub(super) fn busy_cpus(point: &PointView) -> f64 {
    point.cpu_percent / 100.0
}
