//! Limits of a prediction: the lower limits on elapsed time, and the first limit on the use of more
//! CPUs.
//!
//! This module alone keeps them consistent with the figures of the same output. A limit is withheld
//! if a measurement refutes it beyond the intervals, or if the replay failed its back-test.
//! Otherwise it is never beyond a measured or predicted time.

mod fit;

use morecores_view::{BoundsView, FirstLimit, LimitBasis, PredictedPoint, Resource};

use super::band::limit_error_factor;
use super::ensemble::DrawnLimits;
use super::evidence::{Evidence, MIN_JOBS, MeasuredPoint, Z95, measured_program};
use super::model_set::ModelSet;
use super::quantiles::Quantiles;
use super::traced_program::TracedProgram;

/// Name for the disk: a trace does not distinguish further devices.
pub(super) const DISK: &str = "the disk";

/// Number of CPUs beyond which a limit is not reported: its inputs are known only to about a
/// percent.
const MAX_LIMIT_CPUS: f64 = 512.0;

/// Elapsed time in the same output as a limit.
#[derive(Clone, Copy, Debug)]
struct KnownTime {
    cpus: u32,
    elapsed: f64,
    /// Upper end of its interval.
    most: f64,
}

impl KnownTime {
    fn measured(point: &MeasuredPoint) -> Self {
        let most = point.elapsed * (Z95 * point.error).exp();
        Self { cpus: point.cpus, elapsed: point.elapsed, most }
    }

    /// A predicted time is a figure of this program, so it refutes no limit.
    fn predicted(point: &PredictedPoint) -> Option<Self> {
        Some(Self { cpus: point.cpus, elapsed: point.elapsed_s?, most: f64::INFINITY })
    }
}

/// Lower limits on the elapsed time of a traced program, by the draws of its replays.
pub(super) struct LowerLimits<'e> {
    pub(super) program: &'e TracedProgram,
    drawn: DrawnLimits,
}

impl<'e> LowerLimits<'e> {
    /// Lower limits for `cpus` CPUs. `None` without a trace for this count, after a failed
    /// back-test, and if the longest chain of steps is longer than a measured run.
    pub(super) fn new(models: &ModelSet<'e>, cpus: u32) -> Option<Self> {
        if models.failed_back_test().is_some() {
            return None;
        }
        let (evidence, ensemble) = (models.evidence, models.ensemble(cpus)?);
        let (program, drawn) = (ensemble.program(), ensemble.lower_limits()?);
        let known: Vec<_> = evidence.points.iter().map(KnownTime::measured).collect();
        Self { program, drawn }.within(if evidence.is_time { &known } else { &[] })
    }

    /// Limits that are not above any of these times.
    fn within(self, times: &[KnownTime]) -> Option<Self> {
        let least = |value: &dyn Fn(&KnownTime) -> f64| times.iter().map(value).fold(f64::INFINITY, f64::min);
        let (shortest, most) = (least(&|time| time.elapsed), least(&|time| time.most));
        let least_work = least(&|time| f64::from(time.cpus) * time.elapsed);
        let kept = |limit: Quantiles| (limit.low <= most).then(|| limit.map(|value| value.min(shortest)));
        // A queue that a measured run refutes is no queue.
        let kept_queues = |queues: Vec<Quantiles>| {
            queues.into_iter().map(|queue| kept(queue).unwrap_or(Quantiles::certain(0.0))).collect()
        };
        let DrawnLimits { work, span, holds, services } = self.drawn;
        let drawn = DrawnLimits {
            // Larger total caches can make work take less CPU time than it took in the trace.
            work: work.map(|value| value.min(least_work)),
            span: kept(span)?,
            holds: kept_queues(holds),
            services: kept_queues(services),
        };
        Some(Self { program: self.program, drawn })
    }

    /// Limits that are consistent with the predicted points too.
    pub(super) fn within_points(self, points: &[PredictedPoint]) -> Option<Self> {
        self.within(&points.iter().filter_map(KnownTime::predicted).collect::<Vec<_>>())
    }

    /// Least elapsed time on `cpus` CPUs.
    pub(super) fn least_elapsed(&self, cpus: u32) -> Quantiles {
        let DrawnLimits { work, span, holds, services } = &self.drawn;
        let work = work.map(|work| work / f64::from(cpus));
        holds.iter().chain(services).fold(work.max(*span), |least, queue| least.max(*queue))
    }

    /// Total CPU time, and longest chain of dependent steps, in seconds.
    pub(super) const fn work_and_span(&self) -> (f64, f64) {
        (self.drawn.work.middle, self.drawn.span.middle)
    }

    /// Limits with names.
    pub(super) fn view(&self) -> BoundsView {
        let DrawnLimits { work, span, holds, services } = &self.drawn;
        let mut locks: Vec<_> = self.program.lock_names.iter().zip(holds).collect();
        locks.sort_by(|a, b| b.1.middle.total_cmp(&a.1.middle));
        BoundsView {
            work_s: work.middle,
            work_band90_s: work.band(),
            span_s: span.middle,
            span_band90_s: span.band(),
            lock_bands90_s: locks.iter().map(|(_, hold)| hold.band()).collect(),
            locks: locks.into_iter().map(|(name, hold)| (name.clone(), hold.middle)).collect(),
            devices: services.iter().map(|service| (DISK.to_owned(), service.middle)).collect(),
            device_bands90_s: services.iter().map(|service| service.band()).collect(),
        }
    }

    /// Limit of each resource. `base` is the elapsed time on the smallest count, if it is a time.
    /// A speedup has this time as its numerator, and it can exceed the work: a run on one CPU also
    /// waits.
    fn resource_limits(&self, base: Option<f64>) -> Vec<Candidate> {
        let DrawnLimits { work, span, holds, services } = &self.drawn;
        let numerator = base.map_or(work.middle, |base| base.max(work.middle));
        let serial = Resource::SerialWork { command: self.program.serial_command.clone() };
        let locks = self.program.lock_names.iter().map(|name| Resource::Lock { name: name.clone() });
        let devices = services.iter().map(|_| Resource::Device { name: DISK.to_owned() });
        std::iter::once((serial, span))
            .chain(locks.zip(holds))
            .chain(devices.zip(services))
            .filter(|(_, time)| time.middle > 0.0)
            .map(|(resource, time)| Candidate {
                resource,
                cpus: time.map_decreasing(|time| (numerator / time).max(1.0)),
                basis: LimitBasis::Trace,
            })
            .collect()
    }
}

/// Lower limits of the programs of several CPU counts. Counts with one program share its limits.
#[derive(Default)]
pub(super) struct ProgramLimits<'e> {
    last: Option<(&'e TracedProgram, Option<LowerLimits<'e>>)>,
}

impl<'e> ProgramLimits<'e> {
    /// Lower limits for `cpus` CPUs.
    pub(super) fn at(&mut self, models: &ModelSet<'e>, cpus: u32) -> Option<&LowerLimits<'e>> {
        let program = models.program(cpus);
        if !self
            .last
            .as_ref()
            .is_some_and(|(last, _)| program.is_some_and(|program| std::ptr::eq(*last, program)))
        {
            self.last = program.map(|program| (program, LowerLimits::new(models, cpus)));
        }
        self.last.as_ref()?.1.as_ref()
    }

    /// Lower limits for the count that was asked for last.
    pub(super) fn into_last(self) -> Option<LowerLimits<'e>> {
        self.last?.1
    }
}

/// Limit before the comparison with the speedups of the same output.
struct Candidate {
    resource: Resource,
    cpus: Quantiles,
    basis: LimitBasis,
}

impl Candidate {
    /// Limit that no speedup exceeds. `None` if a speedup refutes it, or if its band reaches counts
    /// that are too large to be known. Each speedup comes with the lower end of its interval.
    fn above(self, speedups: &[(f64, f64)]) -> Option<FirstLimit> {
        let refuted = speedups.iter().any(|(_, least)| self.cpus.high < *least);
        let most = speedups.iter().map(|(speedup, _)| *speedup).fold(1.0, f64::max);
        let cpus = self.cpus.map(|cpus| cpus.max(most));
        (!refuted && cpus.high < MAX_LIMIT_CPUS).then_some(FirstLimit {
            resource: self.resource,
            cpus: cpus.middle,
            band90: Some(cpus.band()),
            basis: self.basis,
        })
    }
}

/// Memory limit, if the largest target does not fit in memory. It precedes all other limits,
/// because the command does not run at all without enough memory.
pub(super) fn memory_size_limit(evidence: &Evidence, targets: &[u32]) -> Option<FirstLimit> {
    let (budget, largest) = (evidence.memory?, *targets.last()?);
    let needed = budget.demand.bytes_with(largest);
    (needed > budget.limit).then(|| FirstLimit {
        resource: Resource::MemorySize {
            needed_bytes: needed as u64,
            limit_bytes: budget.limit as u64,
            at_cpus: largest,
        },
        cpus: budget.demand.count_within(budget.limit),
        band90: None,
        basis: LimitBasis::Fit,
    })
}

/// Limit that allows the smallest number of busy CPUs: that of the trace, or else that of the
/// closed form with the largest weight or of the serial phases. `points` and `peak` are those of
/// the same output.
pub(super) fn first_limit(
    models: &ModelSet<'_>,
    traced: Option<&LowerLimits<'_>>,
    points: &[PredictedPoint],
    peak: Option<f64>,
) -> Option<FirstLimit> {
    let evidence = models.evidence;
    let base = evidence.points.first()?;
    let measured = evidence.points.iter().map(|point| {
        let speedup = base.elapsed / point.elapsed;
        (speedup, speedup * (-Z95 * base.error.hypot(point.error)).exp())
    });
    let predicted = points.iter().filter_map(|point| Some((point.speedup?, point.speedup?)));
    let speedups: Vec<_> = measured.chain(predicted).collect();
    let mut candidates = match traced {
        Some(limits) => limits.resource_limits(evidence.is_time.then_some(base.elapsed)),
        None => fit::form_limit(models, peak)
            .into_iter()
            .chain(SerialPhases::new(evidence).and_then(|phases| phases.limit()))
            .collect(),
    };
    candidates.extend(fit::memory_limit(models));
    let limits = candidates.into_iter().filter_map(|candidate| candidate.above(&speedups));
    limits.min_by(|a, b| a.cpus.total_cmp(&b.cpus))
}

/// Serial phases of a command without a trace for the predicted counts, by its largest traced run.
///
/// The phases of a graph of jobs stay with any number of CPUs: a job waited for another. Threads of
/// one process divide their work in another way for each count, so their phases are left out.
pub(super) struct SerialPhases<'e> {
    program: &'e TracedProgram,
    /// Time of the phases in seconds.
    serial: Quantiles,
    /// CPU time of the command in seconds.
    work: f64,
    /// Elapsed time on the largest measured count.
    elapsed: f64,
}

impl<'e> SerialPhases<'e> {
    /// Serial phases on the largest measured count.
    pub(super) fn new(evidence: &'e Evidence) -> Option<Self> {
        let point = evidence.points.last().filter(|point| evidence.is_time && point.cpus > 1)?;
        let program = measured_program(evidence, point.cpus)?;
        let (work, elapsed) = (point.work?, point.elapsed);
        let serial = (program.serial_s * elapsed / program.net_elapsed_s.max(f64::MIN_POSITIVE)).min(work);
        let factor = limit_error_factor(point.error, program.lost_share, 0.0);
        let is_job_graph = program.processes >= program.n as usize + MIN_JOBS;
        let serial = Quantiles::certain(serial).widen(factor);
        is_job_graph.then_some(Self { program, serial, work, elapsed })
    }

    /// Least elapsed time on `cpus` CPUs: the phases, and the rest of the work divided.
    pub(super) fn least_elapsed(&self, cpus: u32) -> Quantiles {
        let divided = |serial: f64| serial + (self.work - serial).max(0.0) / f64::from(cpus);
        self.serial.map(|serial| divided(serial).min(self.elapsed))
    }

    fn limit(&self) -> Option<Candidate> {
        (self.serial.middle > 0.0).then(|| Candidate {
            resource: Resource::SerialWork { command: self.program.serial_command.clone() },
            cpus: self.serial.map_decreasing(|serial| (self.work / serial).max(1.0)),
            basis: LimitBasis::Trace,
        })
    }
}
