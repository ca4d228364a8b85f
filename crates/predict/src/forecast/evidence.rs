//! Evidence for a prediction: measured points, and the demands of the traced runs.

use morecores_study::{Better, CpuKind};
use morecores_view::{View, Warning};

use super::traced_program::TracedProgram;
use crate::models;
use morecores_view::memory::MemoryDemand;

/// Known facts about a program.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Measured points, in ascending order of CPU count, each count once.
    pub points: Vec<MeasuredPoint>,
    /// Programs from the traced runs.
    pub programs: Vec<TracedProgram>,
    /// Whether the command received the CPU count as an argument. A trace then describes the
    /// program for that count alone.
    pub receives_n: bool,
    /// Whether the points hold elapsed time; otherwise they hold another metric, inverted when
    /// higher is better.
    pub is_time: bool,
    /// Whether larger counts use CPUs of another kind than smaller counts.
    pub mixed_kinds: bool,
    /// Disks and network devices by name, with the share of time that each was busy at the largest
    /// count, whichever program used it.
    pub busy_devices: Vec<(String, f64)>,
    /// Largest CPU time spent outside the allotted CPUs, over the time of the allotted CPUs.
    pub outside_share: f64,
    /// Number of threads that the program ran, if it equals the number of the machine's CPUs
    /// instead of the allotted CPUs.
    pub machine_sized: Option<u32>,
    /// Memory demand and available memory; absent when either is unknown.
    pub memory: Option<MemoryBudget>,
}

/// Memory demand of a command by CPU count, and the available memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryBudget {
    /// Memory demand of the command.
    pub demand: MemoryDemand,
    /// Available memory in bytes.
    pub limit: f64,
}

/// Measured CPU count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredPoint {
    /// Number of CPUs.
    pub cpus: u32,
    /// Median elapsed time in seconds, or another figure for which lower is better.
    pub elapsed: f64,
    /// Relative standard error of the median.
    pub error: f64,
    /// Relative standard deviation of a single run.
    pub deviation: f64,
    /// Median CPU time of the process tree in seconds, if known.
    pub work: Option<f64>,
    /// Share of the CPU time in the kernel, if known.
    pub kernel: Option<f64>,
}

/// Number of standard errors in half of a 95% interval.
const Z95: f64 = 1.959_964;

/// Relative standard error of a median from too few runs for an interval.
const DEFAULT_ERROR: f64 = 0.02;

impl Evidence {
    /// Collects the evidence from a study's view, its traced runs, and whether its command received
    /// the CPU count. With `from`, only those CPU counts are used.
    pub fn from_view(
        view: &View,
        programs: Vec<TracedProgram>,
        receives_n: bool,
        from: Option<&[u32]>,
    ) -> Self {
        let is_selected = |cpus: u32| from.is_none_or(|from| from.contains(&cpus));
        let mut points: Vec<MeasuredPoint> = Vec::new();
        let mut kinds = Vec::new();
        for point in view.points.iter().filter(|point| is_selected(point.cpus)) {
            // A count with several values of `n` appears more than once; the first point is from
            // the sweep.
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
            let error = ci95.map_or(DEFAULT_ERROR, |[lo, hi]| (hi - lo) / 2.0 / Z95 / median);
            let work = point.user_s.median + point.system_s.median;
            let work = (point.metric.is_none() && work > 0.0).then_some(work);
            // The standard error of the median of normal values is 1.2533 times the standard
            // deviation over the square root of the number of runs.
            let deviation = error * f64::from(point.runs).sqrt() / 1.2533;
            let kernel = point.kernel_ratio;
            points.push(MeasuredPoint { cpus: point.cpus, elapsed: median, error, deviation, work, kernel });
            kinds.push(point.adds.clone());
        }
        points.sort_unstable_by_key(|point| point.cpus);
        let is_other = |kind: &CpuKind| matches!(kind, CpuKind::SmtSibling | CpuKind::OtherCoreType);
        let mixed_kinds = kinds.iter().flatten().any(is_other);
        let largest = points.last().map_or(0, |point| point.cpus);
        let programs = programs.into_iter().filter(|p| is_selected(p.cpus) && p.cpus <= largest).collect();
        let is_time = view.plan.metric.is_none();
        let largest_point = view.points.iter().find(|point| point.cpus == largest);
        let busy_devices = largest_point.map_or(Vec::new(), |point| point.busy_devices.clone());
        let outside = view.warnings.iter().filter_map(|warning| match warning {
            Warning::RanOutsideCpus { cpus, share, .. } if is_selected(*cpus) => Some(*share),
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
            receives_n,
            is_time,
            mixed_kinds,
            busy_devices,
            outside_share,
            machine_sized,
            memory: None,
        }
    }

    /// Measured points as input of the closed forms.
    pub(super) fn model_points(&self) -> Vec<models::Point> {
        self.points.iter().map(|point| models::Point::new(point.cpus, point.elapsed)).collect()
    }

    /// Root mean square of the points' relative standard errors.
    pub(super) fn noise(&self) -> f64 {
        let squares: f64 = self.points.iter().map(|point| point.error.powi(2)).sum();
        (squares / self.points.len().max(1) as f64).sqrt().max(MIN_NOISE)
    }

    /// Trace of the program for `cpus` CPUs, from the largest traced count up to `max_traced`.
    pub(super) fn program_for(&self, max_traced: u32, cpus: u32) -> Option<&TracedProgram> {
        let fits =
            |program: &&TracedProgram| program.cpus <= max_traced && (!self.receives_n || program.n == cpus);
        self.programs.iter().filter(fits).max_by_key(|program| (program.cpus, program.n))
    }

    /// Trace of the measured configuration at this count.
    pub(super) fn measured_program(&self, cpus: u32) -> Option<&TracedProgram> {
        self.programs.iter().find(|program| program.cpus == cpus && (!self.receives_n || program.n == cpus))
    }

    /// Ratio of the elapsed time of `program` to that of the measured configuration on the same
    /// CPUs. The ratio comes from the two traced runs, shrunk by the variation between runs.
    pub(super) fn elapsed_ratio(&self, program: &TracedProgram) -> f64 {
        let Some(own) = self.measured_program(program.cpus).filter(|own| own.n != program.n) else {
            return 1.0;
        };
        let Some(measured) = self.point(program.cpus) else { return 1.0 };
        // A disturbed traced run is not used; the measured median replaces it.
        let expected = 3.0 * (measured.deviation + TRACED_DEVIATION);
        let base = if !self.is_time || (own.net_elapsed_s / measured.elapsed).ln().abs() <= expected {
            own.net_elapsed_s
        } else {
            measured.elapsed
        };
        let change = (program.net_elapsed_s / base).ln();
        if !change.is_finite() {
            return 1.0;
        }
        let noise = 2.0 * (measured.deviation.powi(2) + TRACED_DEVIATION.powi(2));
        // Shrinkage keeps the part of the square that chance does not explain: James & Stein 1961,
        // for one value.
        let kept_share = if change != 0.0 { (1.0 - noise / change.powi(2)).max(0.0) } else { 0.0 };
        (change * kept_share).exp()
    }

    /// Least ratio of the elapsed time of `program` without a tracer to its traced elapsed time.
    ///
    /// The traced time includes the tracer's cost and any slowdown of the machine since the timed
    /// runs. It also includes the cost of oversubscription, which may disappear with one CPU per
    /// thread.
    pub(super) fn untraced_elapsed_ratio(&self, program: &TracedProgram) -> f64 {
        let measured = self.point(program.cpus).filter(|_| self.is_time);
        measured.map_or(1.0, |measured| {
            measured.elapsed * self.elapsed_ratio(program)
                / program.net_elapsed_s
                / self.oversubscription_cost(program)
        })
    }

    /// Ratio of the CPU time of an oversubscribed run to that of a run with one CPU per thread.
    ///
    /// Two causes are possible: many threads share the caches of few CPUs, or more threads have
    /// more work to do. If the number of processes grew too, the ratio is divided by that growth,
    /// because those processes are extra work. One trace cannot tell the causes of the rest apart.
    pub(super) fn oversubscription_cost(&self, program: &TracedProgram) -> f64 {
        if !self.receives_n || program.n <= program.cpus {
            return 1.0;
        }
        let work = |program: &TracedProgram| program.demands.program.work().as_secs_f64();
        // Processes that exist once per CPU do not count as jobs.
        let jobs = |program: &TracedProgram| program.processes.saturating_sub(program.n as usize);
        let own = self.measured_program(program.cpus);
        let job_growth = own.filter(|own| jobs(own) >= MIN_JOBS);
        let job_growth = job_growth.map_or(1.0, |own| jobs(program) as f64 / jobs(own) as f64).max(1.0);
        // Both traced runs include the tracer's cost, so their ratio needs no correction.
        let base = own.map(work).or_else(|| self.point(program.cpus)?.work);
        base.map_or(1.0, |base| (work(program) / base / job_growth).max(1.0))
    }

    /// Measured point at this count.
    pub(super) fn point(&self, cpus: u32) -> Option<MeasuredPoint> {
        self.points.iter().copied().find(|point| point.cpus == cpus)
    }
}

/// Number of processes beyond one per CPU from which the process count indicates the amount of
/// work.
const MIN_JOBS: usize = 20;

/// Relative error of a traced run's own figure for the tracer's cost.
const TRACED_DEVIATION: f64 = 0.01;

/// Lower limit of the relative noise of a measurement on a machine with an operating system.
const MIN_NOISE: f64 = 0.002;
