//! What a prediction may rest on: measured points, and what the traced runs demand.

use morecores_study::{Better, CpuKind};
use morecores_view::{View, Warning};

use super::traced::TracedProgram;
use crate::models;
use morecores_view::memory::MemoryDemand;

/// What is known of a program.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Measured counts, ascending, each once.
    pub points: Vec<Measured>,
    /// Traced runs.
    pub programs: Vec<TracedProgram>,
    /// Whether the command was told how many CPUs there are: then a trace is of the program for that number alone.
    pub told_n: bool,
    /// Whether what was measured is elapsed time: otherwise the inverse of a rate.
    pub is_time: bool,
    /// Whether the CPUs of the larger counts are of another kind than those of the smaller.
    pub mixed_kinds: bool,
    /// Disks and wires, by name, and the share of the time that they were busy at the largest count, whoever used them.
    pub busy_devices: Vec<(String, f64)>,
    /// The most CPU time that was spent on CPUs that were not allotted, over that of the allotted ones.
    pub outside_share: f64,
    /// Number of threads that it ran, where that is the number of the machine's CPUs and not of those that it might use.
    pub machine_sized: Option<u32>,
    /// The memory that is needed and that there is; absent where either is not known.
    pub memory: Option<MemoryRoom>,
}

/// What memory a command needs by its CPUs, and how much there is for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryRoom {
    /// What it needs.
    pub demand: MemoryDemand,
    /// Bytes that there are.
    pub limit: f64,
}

/// A measured count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// How many CPUs.
    pub cpus: u32,
    /// Median elapsed time in seconds, or whatever else is the less the better.
    pub elapsed: f64,
    /// Its relative standard error.
    pub error: f64,
    /// The relative standard deviation of a single run.
    pub deviation: f64,
    /// Median CPU time of the tree in seconds, where known.
    pub work: Option<f64>,
    /// The share of that in the kernel, where known.
    pub kernel: Option<f64>,
}

/// Half of a 95% interval is so many standard errors.
const Z95: f64 = 1.959_964;

/// The standard error, relative, of a median of too few runs for an interval.
const UNKNOWN_ERROR: f64 = 0.02;

impl Evidence {
    /// Of what a study says, its traced runs, and whether its command was told the number of CPUs; from the counts of `from`
    /// where it is given.
    pub fn of(view: &View, programs: Vec<TracedProgram>, told_n: bool, from: Option<&[u32]>) -> Self {
        let wanted = |cpus: u32| from.is_none_or(|from| from.contains(&cpus));
        let mut points: Vec<Measured> = Vec::new();
        let mut kinds = Vec::new();
        for point in view.points.iter().filter(|point| wanted(point.cpus)) {
            // Of the same count with several `n`, the first is that of the sweep.
            if points.iter().any(|known| known.cpus == point.cpus) {
                continue;
            }
            let (median, ci95) = match &point.metric {
                None => (point.elapsed_s.median, point.elapsed_s.ci95),
                Some(metric) if metric.better == Better::Lower => {
                    (metric.summary.median, metric.summary.ci95)
                }
                Some(metric) => {
                    let inverse = |value: f64| 1.0 / value;
                    (
                        inverse(metric.summary.median),
                        metric.summary.ci95.map(|[lo, hi]| [inverse(hi), inverse(lo)]),
                    )
                }
            };
            if !(median.is_finite() && median > 0.0) {
                continue;
            }
            let error = ci95.map_or(UNKNOWN_ERROR, |[lo, hi]| (hi - lo) / 2.0 / Z95 / median);
            let work = point.user_s.median + point.system_s.median;
            let work = (point.metric.is_none() && work > 0.0).then_some(work);
            // Of a median of normal values: the standard deviation times 1.2533 over the root of how many.
            let deviation = error * f64::from(point.runs).sqrt() / 1.2533;
            let kernel = point.kernel_ratio;
            points.push(Measured { cpus: point.cpus, elapsed: median, error, deviation, work, kernel });
            kinds.push(point.adds.clone());
        }
        points.sort_unstable_by_key(|point| point.cpus);
        let other = |kind: &CpuKind| matches!(kind, CpuKind::SmtSibling | CpuKind::OtherCoreType);
        let mixed_kinds = kinds.iter().flatten().any(other);
        let largest = points.last().map_or(0, |point| point.cpus);
        let programs = programs.into_iter().filter(|p| wanted(p.cpus) && p.cpus <= largest).collect();
        let is_time = view.plan.metric.is_none();
        let of_largest = view.points.iter().find(|point| point.cpus == largest);
        let busy_devices = of_largest.map_or(Vec::new(), |point| point.busy_devices.clone());
        let outside = view.warnings.iter().filter_map(|warning| match warning {
            Warning::RanOutsideCpus { cpus, share, .. } if wanted(*cpus) => Some(*share),
            _ => None,
        });
        let outside_share = outside.fold(0.0, f64::max);
        let machine_sized = view.warnings.iter().find_map(|warning| match warning {
            Warning::CrowdedBase { workers, machine_sized: true, .. } => Some(workers.threads),
            _ => None,
        });
        Self {
            points,
            programs,
            told_n,
            is_time,
            mixed_kinds,
            busy_devices,
            outside_share,
            machine_sized,
            memory: None,
        }
    }

    /// The points as the closed forms take them.
    pub(super) fn models_points(&self) -> Vec<models::Point> {
        self.points.iter().map(|point| models::Point::new(point.cpus, point.elapsed)).collect()
    }

    /// The relative standard error of a point: the root of the mean square.
    pub(super) fn noise(&self) -> f64 {
        let squares: f64 = self.points.iter().map(|point| point.error.powi(2)).sum();
        (squares / self.points.len().max(1) as f64).sqrt().max(LEAST_NOISE)
    }

    /// The trace on the largest of the counts up to `most` that is of the program for `cpus` CPUs.
    pub(super) fn program(&self, most: u32, cpus: u32) -> Option<&TracedProgram> {
        let fits = |program: &&TracedProgram| program.cpus <= most && (!self.told_n || program.n == cpus);
        self.programs.iter().filter(fits).max_by_key(|program| (program.cpus, program.n))
    }

    /// The trace of this count itself.
    pub(super) fn own_program(&self, cpus: u32) -> Option<&TracedProgram> {
        self.programs.iter().find(|program| program.cpus == cpus && (!self.told_n || program.n == cpus))
    }

    /// How much longer the program that `program` is takes on its CPUs than that which was measured there: by what both traced
    /// runs took, as far as that is more than runs differ anyway.
    pub(super) fn told_more(&self, program: &TracedProgram) -> f64 {
        let Some(own) = self.own_program(program.cpus).filter(|own| own.n != program.n) else { return 1.0 };
        let Some(measured) = self.point(program.cpus) else { return 1.0 };
        // A run that was disturbed is no measure.
        let expected = 3.0 * (measured.deviation + TRACED_DEVIATION);
        let usual = if !self.is_time || (own.own_elapsed / measured.elapsed).ln().abs() <= expected {
            own.own_elapsed
        } else {
            measured.elapsed
        };
        let change = (program.own_elapsed / usual).ln();
        if !change.is_finite() {
            return 1.0;
        }
        let noise = 2.0 * (measured.deviation.powi(2) + TRACED_DEVIATION.powi(2));
        // The part of the square that chance does not explain: James & Stein 1961, of one value.
        let told = if change != 0.0 { (1.0 - noise / change.powi(2)).max(0.0) } else { 0.0 };
        (change * told).exp()
    }

    /// The least that the program that `program` is takes on its CPUs where it is not traced, over what the traced run took: a tracer
    /// and a machine that had become slower are in that, and what more threads than CPUs cost, which may go where each has one.
    pub(super) fn timed_over_traced(&self, program: &TracedProgram) -> f64 {
        let measured = self.point(program.cpus).filter(|_| self.is_time);
        measured.map_or(1.0, |measured| {
            measured.elapsed * self.told_more(program) / program.own_elapsed / self.crowding(program)
        })
    }

    /// How many times the CPU time of a run with a CPU for each thread one with more threads than CPUs took. Caches that too many
    /// share on few CPUs may be all there is to it, or more threads may have more to do. Where as many times more processes came and
    /// went, it is the latter; of the rest one trace cannot tell.
    pub(super) fn crowding(&self, program: &TracedProgram) -> f64 {
        if !self.told_n || program.n <= program.cpus {
            return 1.0;
        }
        let work = |of: &TracedProgram| of.demands.program.work().as_secs_f64();
        // Without those that there are one of for each CPU.
        let jobs = |of: &TracedProgram| of.processes.saturating_sub(of.n as usize);
        let own = self.own_program(program.cpus);
        let more = own.filter(|own| jobs(own) >= MANY_JOBS);
        let more = more.map_or(1.0, |own| jobs(program) as f64 / jobs(own) as f64).max(1.0);
        // Of two traced runs the tracer is in both.
        let usual = own.map(work).or_else(|| self.point(program.cpus)?.work);
        usual.map_or(1.0, |usual| (work(program) / usual / more).max(1.0))
    }

    /// What was measured there.
    pub(super) fn point(&self, cpus: u32) -> Option<Measured> {
        self.points.iter().copied().find(|point| point.cpus == cpus)
    }
}

/// Processes beyond one for each CPU from which on their number tells how much a program does.
const MANY_JOBS: usize = 20;

/// What a traced run's own account of the tracer's cost may be off by.
const TRACED_DEVIATION: f64 = 0.01;

/// No measurement on a machine with an operating system is better than this.
const LEAST_NOISE: f64 = 0.002;
