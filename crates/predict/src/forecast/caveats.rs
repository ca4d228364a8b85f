//! Caveats of a prediction: what it could not use, and what it assumes.

use morecores_view::{Caveat, PredictedPoint};

use super::band::memory_knee::MemoryKnee;
use super::band::wide_band;
use super::compared_program::ComparedProgram;
use super::evidence::Evidence;
use super::model_set::ModelSet;
use super::sharing::{UnseenSharing, sharing};

/// Ratio of CPU times above which oversubscription matters: the CPU time of the oversubscribed run
/// over that of a run with one CPU per thread. Beyond this ratio, the share of the extra CPU time
/// that stays matters.
const NOTABLE_OVERSUBSCRIPTION: f64 = 1.1;

/// Ratio of forced waits to threads above which forced waits in a replay are no accident.
const MAX_FORCED: f64 = 0.05;

/// Results of the prediction that decide its caveats.
pub(super) struct Outcome<'p> {
    pub(super) points: &'p [PredictedPoint],
    /// Forced waits per thread in one replay.
    pub(super) forced: f64,
    /// Counts with a speedup that formulas alone cannot support.
    pub(super) fit_alone: Vec<u32>,
    /// Whether a rule withholds all points.
    pub(super) is_withheld: bool,
}

/// Caveats of a prediction for these targets.
pub(super) fn caveats(models: &ModelSet<'_>, targets: &[u32], outcome: &Outcome<'_>) -> Vec<Caveat> {
    let evidence = models.evidence;
    let mut caveats = Vec::new();
    if evidence.programs.is_empty() {
        caveats.push(Caveat::Untraced);
    } else {
        let without: Vec<u32> =
            targets.iter().copied().filter(|cpus| models.program(*cpus).is_none()).collect();
        if !without.is_empty() {
            caveats.push(Caveat::NotOversubscribed { cpus: without });
        }
        let used: Vec<_> = targets.iter().filter_map(|cpus| models.program(*cpus)).collect();
        let lossy = used.iter().map(|program| program.lost_share).fold(0.0, f64::max);
        if lossy > 0.0 {
            caveats.push(Caveat::Lossy { share: lossy });
        }
        if used.iter().any(|program| !program.has_calls) {
            caveats.push(Caveat::NoSystemCalls);
        }
    }
    let largest = evidence.points.last();
    if let Some((point, error)) = largest.zip(models.failed_back_test()) {
        caveats.push(Caveat::FailedBackTest { cpus: point.cpus, error });
    }
    caveats.extend(unseen_sharing(evidence));
    caveats.extend(memory_bound(evidence, targets));
    let has_one_cpu =
        evidence.points.len() > 1 && evidence.points.first().is_some_and(|point| point.cpus == 1);
    if !has_one_cpu || !evidence.is_time {
        caveats.push(Caveat::OneCount);
    }
    let costs = targets
        .iter()
        .filter_map(|cpus| models.program(*cpus))
        .map(|program| ComparedProgram::new(evidence, program).oversubscription_cost);
    let times = costs.fold(1.0, f64::max);
    if times > NOTABLE_OVERSUBSCRIPTION {
        caveats.push(Caveat::Oversubscribed { times });
    }
    if outcome.forced > MAX_FORCED {
        caveats.push(Caveat::Forced { share: outcome.forced });
    }
    // A rule that withholds the points is a reason of its own, so the width of their bands is not
    // reported.
    if outcome.is_withheld {
        return caveats;
    }
    if !outcome.fit_alone.is_empty() {
        caveats.push(Caveat::FitAlone { cpus: outcome.fit_alone.clone(), above: super::MAX_FIT_SPEEDUP });
    }
    let largest = largest.map_or(1, |point| point.cpus);
    let wide = |point: &&PredictedPoint| {
        !outcome.fit_alone.contains(&point.cpus)
            && point.band90[1] / point.band90[0] > wide_band(largest, point.cpus)
    };
    let wide: Vec<u32> = outcome.points.iter().filter(wide).map(|point| point.cpus).collect();
    if let Some(&first) = wide.first() {
        caveats.push(Caveat::Wide { cpus: wide, factor: wide_band(largest, first) });
    }
    caveats
}

/// Program that probably lives on the bandwidth of the memory, if a target is within its curve.
fn memory_bound(evidence: &Evidence, targets: &[u32]) -> Option<Caveat> {
    let memory = MemoryKnee::new(&evidence.memory_speed, evidence.alike_points())?;
    let cpus: Vec<u32> = targets.iter().copied().filter(|cpus| *cpus <= memory.most_cpus()).collect();
    (memory.is_likely() && !cpus.is_empty()).then_some(Caveat::MemoryBound { chance: memory.chance, cpus })
}

/// Sharing of a program that was measured or traced on one CPU only.
fn unseen_sharing(evidence: &Evidence) -> Option<Caveat> {
    let on_one_cpu = evidence.points.iter().all(|point| point.cpus == 1)
        || evidence.programs.iter().all(|program| program.cpus == 1);
    (on_one_cpu && sharing(evidence) == UnseenSharing::Memory).then_some(Caveat::UnseenSharing)
}
