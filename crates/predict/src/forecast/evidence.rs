//! Evidence for a prediction: measured points, and the demands of the traced runs.
//!
//! Evidence is plain data. This module has the look-ups in it; each module computes the figures
//! that it needs.

use morecores_study::{Better, CpuKind};
use morecores_view::machine_memory::MemoryPoint;
use morecores_view::{Estimate, View, Warning};

use super::traced_program::TracedProgram;
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
    /// Smallest measured count with CPUs of another kind than the smaller counts; absent if all are
    /// alike.
    pub mixed_from: Option<u32>,
    /// Kind of each CPU of the measured machine, in the order in which counts add them; empty if
    /// unknown.
    pub cpu_kinds: Vec<CpuKind>,
    /// Speed of the measured machine's memory, in ascending order of CPU count. The CPUs are those
    /// that the study's counts have. Empty if unknown.
    pub memory_speed: Vec<MemoryPoint>,
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
    /// Relative standard error of the speedup over the smallest count; zero for that count.
    pub speedup_error: f64,
    /// Relative standard deviation of a single run.
    pub deviation: f64,
    /// Median CPU time of the process tree in seconds, if known.
    pub work: Option<f64>,
    /// Share of the CPU time in the kernel, if known.
    pub kernel: Option<f64>,
}

/// Number of processes beyond one per CPU from which the process count indicates the amount of
/// work: the command is a graph of jobs.
pub(super) const MIN_JOBS: usize = 20;

/// Number of standard errors in half of a 95% interval.
pub(super) const Z95: f64 = 1.959_964;

/// Relative standard error of a median from too few runs for an interval.
const DEFAULT_ERROR: f64 = 0.02;

/// Relative standard error of a median.
pub(super) fn estimate_error(estimate: Estimate) -> f64 {
    estimate.ci95.map_or(DEFAULT_ERROR, |[low, high]| (high - low) / 2.0 / Z95 / estimate.value)
}

impl Evidence {
    /// Collects the evidence from a study's view and its traced runs, for a command that does not
    /// receive the CPU count. With `from`, only those CPU counts are used.
    pub fn from_view(view: &View, programs: Vec<TracedProgram>, from: Option<&[u32]>) -> Self {
        let at_best_n = view.at_best_n();
        let view = at_best_n.as_ref();
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
            let error = estimate_error(Estimate { value: median, ci95 });
            let speedup_error = point
                .speedup
                .ci95
                .map_or_else(|| error.hypot(DEFAULT_ERROR), |[lo, hi]| (hi / lo).ln() / 2.0 / Z95);
            let work = point.user_s.median + point.system_s.median;
            let work = (point.metric.is_none() && work > 0.0).then_some(work);
            // The standard error of the median of normal values is 1.2533 times the standard
            // deviation over the square root of the number of runs.
            let deviation = error * f64::from(point.runs).sqrt() / 1.2533;
            let kernel = point.kernel_ratio;
            points.push(MeasuredPoint {
                cpus: point.cpus,
                elapsed: median,
                error,
                speedup_error,
                deviation,
                work,
                kernel,
            });
            kinds.push((point.cpus, point.adds.clone()));
        }
        points.sort_unstable_by_key(|point| point.cpus);
        let is_other = |kind: &CpuKind| matches!(kind, CpuKind::SmtSibling | CpuKind::OtherCoreType);
        let mixed = kinds.iter().filter(|(_, kinds)| kinds.iter().any(is_other));
        let mixed_from = mixed.map(|(cpus, _)| *cpus).min();
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
            Warning::OversubscribedBase { workers, machine_sized: true, .. } => Some(workers.threads),
            _ => None,
        });
        Self {
            points,
            programs,
            receives_n: false,
            is_time,
            mixed_from,
            cpu_kinds: Vec::new(),
            memory_speed: Vec::new(),
            busy_devices,
            outside_share,
            machine_sized,
            memory: None,
        }
    }
}

impl Evidence {
    /// Points that one curve may be fitted to: those without CPUs of another kind, if there are two
    /// or more.
    pub(super) fn alike_points(&self) -> &[MeasuredPoint] {
        let alike =
            self.points.iter().take_while(|point| self.mixed_from.is_none_or(|from| point.cpus < from));
        let count = alike.count();
        if count < 2 { &self.points } else { &self.points[..count] }
    }
}

/// Measured point at this count.
pub(super) fn point_at(points: &[MeasuredPoint], cpus: u32) -> Option<MeasuredPoint> {
    points.iter().copied().find(|point| point.cpus == cpus)
}

/// Trace of the program for `cpus` CPUs, from the largest traced count up to `max_traced`.
pub(super) fn program_for(evidence: &Evidence, max_traced: u32, cpus: u32) -> Option<&TracedProgram> {
    let fits =
        |program: &&TracedProgram| program.cpus <= max_traced && (!evidence.receives_n || program.n == cpus);
    evidence.programs.iter().filter(fits).max_by_key(|program| (program.cpus, program.n))
}

/// Trace of the measured configuration at this count.
pub(super) fn measured_program(evidence: &Evidence, cpus: u32) -> Option<&TracedProgram> {
    let is_measured =
        |program: &&TracedProgram| program.cpus == cpus && (!evidence.receives_n || program.n == cpus);
    evidence.programs.iter().find(is_measured)
}
