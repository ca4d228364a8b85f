//! Types of the derived view of a study, as `morecores show --json` prints it. The keys are a
//! public contract, described in `docs/format.md`. Times are in seconds, the unit that readers of
//! JSON expect.
//!
//! This module holds types only. `derive` computes most figures; `morecores-explain` and
//! `morecores-predict` add the traces and the prediction.

mod advice;
mod cell;
pub mod code;
mod comparison;
mod component;
mod critical_path;
mod efficiency;
mod openmp;
mod prediction;
mod quota;
mod ranking;
mod trace;
mod verdict;
mod warning;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use morecores_study::{
    Better, Cell, Closing, Coordinates, CpuEstimator, CpuKind, CpuSet, Host, InCell, Limit, Plan,
};

pub use advice::{Advice, SavedTime, SerialWork};
pub use cell::{CellFigure, CellView};
pub use comparison::{
    Aspect, COMPARISON_SCHEMA, ComparedPoint, ComparedSpeedup, ComparedStack, ComparedStudy, Comparison,
    ConditionResult, Difference, Mismatch,
};
pub use component::{Component, ComponentIntervals, Components, Losses};
pub use critical_path::{
    CriticalPathView, EfficiencyTimes, PathActivity, PathEdge, PathEdgeKind, PathPart, ThreadView,
};
pub use efficiency::EfficiencyView;
pub use openmp::{OpenMpRegion, OpenMpView};
pub use prediction::{
    Abstention, BoundsView, Caveat, FirstLimit, Gain, GainKind, GainPoint, LimitBasis, ModelName, ModelView,
    PredictedPoint, Prediction, Resource,
};
pub use quota::{QuotaComparison, QuotaView, SizedBy, Sufficiency, Throttling};
pub use ranking::{MemoryByN, RankedValue, Ranking, SearchedBest};
pub use trace::HolderWaits;
pub use trace::{
    CommandView, Culprit, IdleCause, Inconsistencies, KernelRatioEstimator, LawViolation, LockView,
    NO_CULPRIT, OperationalLaw, Parallelism, SerialAndParallel, SerialPhase, StackView, TraceEstimator,
    TraceView, Workers,
};
pub use verdict::{Answer, Reason, Verdict};
pub use warning::{FailureCount, OutsideEvidence, Warning};

/// Name of the schema of [`View`].
pub const VIEW_SCHEMA: &str = "morecores.view/1";

/// Summary of a sample in five figures; the suffix of the field's name gives the unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Summary {
    /// Median, the estimate.
    pub median: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// 95% confidence interval of the median, `[low, high]`; null with fewer than six runs.
    pub ci95: Option<[f64; 2]>,
}

/// Estimate with its 95% confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Estimate {
    /// Point estimate.
    pub value: f64,
    /// 95% confidence interval, `[low, high]`; null with too few runs.
    pub ci95: Option<[f64; 2]>,
}

/// Metric that the command printed, if `--metric` requested one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct MetricView {
    /// Name of the metric, if the user gave one.
    #[serde(default)]
    pub name: Option<String>,
    /// Summary of the metric over the runs.
    #[serde(flatten)]
    pub summary: Summary,
    /// Unit to print after the values.
    pub unit: Option<String>,
    /// Direction in which the metric improves.
    pub better: Better,
}

/// Further figure that the command printed. The figure is shown, and no verdict depends on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FigureView {
    /// Name of the figure.
    pub name: String,
    /// Summary of the figure over the runs.
    #[serde(flatten)]
    pub summary: Summary,
    /// Unit to print after the values.
    pub unit: Option<String>,
}

/// Figures of one CPU count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PointView {
    /// Number of allotted CPUs.
    pub cpus: u32,
    /// Value of `{n}`.
    pub n: u32,
    /// Values on further axes.
    #[serde(default, skip_serializing_if = "Coordinates::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, type = "Record<string, boolean | number | string>"))]
    pub axes: Coordinates,
    /// Allotted CPUs.
    pub cpu_set: CpuSet,
    /// Kinds of CPU that this count adds to the previous count.
    pub adds: BTreeSet<CpuKind>,
    /// Mechanism that confined the runs to the allotted CPUs.
    pub limit: Limit,
    /// Number of timed runs that succeeded, without those of disturbed rounds if the view leaves
    /// these out; every figure of the point is computed from these runs.
    pub runs: u32,
    /// Number of timed runs that failed; no figure includes them.
    pub failed_runs: u32,
    /// Number of runs whose elapsed time lies far from the median (modified z-score above 3.5);
    /// every figure includes them.
    pub outliers: u32,
    /// Elapsed time from exec to exit.
    pub elapsed_s: Summary,
    /// CPU time of the tree in user mode.
    pub user_s: Summary,
    /// CPU time of the tree in the kernel.
    pub system_s: Summary,
    /// Median over runs of (user + system) / elapsed, in percent; 200 means two CPUs busy all the
    /// time.
    pub cpu_percent: f64,
    /// Median over runs of the largest resident set of any one process.
    pub max_rss_bytes: u64,
    /// Whether `max_rss_bytes` is only an upper bound. The starting process's own high-water mark
    /// may hide a smaller value.
    pub max_rss_is_bound: bool,
    /// Median over runs of the tree's peak memory, page cache included.
    pub tree_peak_bytes: Option<u64>,
    /// Median over runs of the number of minor page faults.
    pub minor_faults: f64,
    /// Median over runs of the number of major page faults.
    pub major_faults: f64,
    /// Mean over runs of the number of pages swapped in.
    pub swapped_in_pages: Option<f64>,
    /// Mean over runs of the number of pages swapped out.
    pub swapped_out_pages: Option<f64>,
    /// Median over runs of the number of voluntary context switches.
    pub voluntary_switches: f64,
    /// Median over runs of the number of involuntary context switches.
    pub involuntary_switches: f64,
    /// Median over runs of the bytes read from block devices.
    pub block_read_bytes: f64,
    /// Median over runs of the bytes written to block devices.
    pub block_written_bytes: f64,
    /// Intervals of the medians above that are plain numbers.
    #[serde(flatten)]
    pub intervals: MedianIntervals,
    /// Time that a hypervisor took from the allotted CPUs, over all runs of the point; null if
    /// unknown.
    pub steal_s: Option<f64>,
    /// Time that a quota of an enclosing cgroup held the command back, over all runs of the point.
    pub throttled_s: Option<f64>,
    /// Throttling by the quota of the point; null without one.
    #[serde(default)]
    pub throttling: Option<Throttling>,
    /// CPU time of other programs on the allotted CPUs, over all runs of the point.
    pub others_allotted_s: Option<f64>,
    /// CPU time of other programs on the other CPUs, over all runs of the point.
    pub others_elsewhere_s: Option<f64>,
    /// Names of disks and network interfaces, each with its busy share of the time of all runs, the
    /// busiest first.
    #[serde(default)]
    pub busy_devices: Vec<(String, f64)>,
    /// Metric, if one was requested; the speedup is then computed from it.
    pub metric: Option<MetricView>,
    /// Further figures that were requested, in the order of the plan.
    #[serde(default)]
    pub further_metrics: Vec<FigureView>,
    /// Speedup over the base, the smallest CPU count or quota: median over the rounds of
    /// T(base)/T(n) of a time, X(n)/X(base) of a rate. If the work grows with `{n}`, it is the
    /// scaled speedup: multiplied by the growth of the work.
    pub speedup: Estimate,
    /// Speedup of this count divided by the speedup of the fastest larger count; null at the
    /// largest count.
    #[serde(default)]
    pub ratio_to_larger: Option<Estimate>,
    /// Speedup divided by the growth in CPUs.
    pub efficiency: f64,
    /// 95% confidence interval of the efficiency.
    #[serde(default)]
    pub efficiency_ci95: Option<[f64; 2]>,
    /// Karp and Flatt's serial fraction, or Gustafson's if the work grows with `{n}`; null at the
    /// base.
    pub serial_fraction: Option<f64>,
    /// 95% confidence interval of the serial fraction.
    pub serial_fraction_ci95: Option<[f64; 2]>,
    /// System time divided by user + system time, from their sums over the runs. Null if no CPU
    /// time was counted, or too little for the kernel's ticks to divide. In that case the medians
    /// of user and system time say nothing either.
    pub kernel_ratio: Option<f64>,
    /// Source of the split into user and system time.
    pub kernel_ratio_estimator: CpuEstimator,
    /// Relative difference of two medians of this many runs that chance alone exceeds in one case
    /// of twenty (A/A); null with too few runs.
    pub noise_floor: Option<f64>,
}

/// 95% confidence intervals of those medians of a [`PointView`] that are plain numbers, by the name
/// of the median; null with too few runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[allow(missing_docs, reason = "one per median of PointView, described there")]
pub struct MedianIntervals {
    pub cpu_percent_ci95: Option<[f64; 2]>,
    pub max_rss_bytes_ci95: Option<[f64; 2]>,
    pub tree_peak_bytes_ci95: Option<[f64; 2]>,
    pub minor_faults_ci95: Option<[f64; 2]>,
    pub major_faults_ci95: Option<[f64; 2]>,
    pub voluntary_switches_ci95: Option<[f64; 2]>,
    pub involuntary_switches_ci95: Option<[f64; 2]>,
    pub block_read_bytes_ci95: Option<[f64; 2]>,
    pub block_written_bytes_ci95: Option<[f64; 2]>,
}

/// Everything derived from a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct View {
    /// Schema name, [`VIEW_SCHEMA`].
    pub schema: String,
    /// Version of the tool that made the study.
    pub tool: String,
    /// Words of the command.
    pub command: Vec<String>,
    /// Machine that ran the study.
    pub host: Host,
    /// Plan of the measurement.
    pub plan: Plan,
    /// End of the sweep and its reason; null while the sweep runs and after a kill.
    pub closing: Option<Closing>,
    /// Answer to "will more cores help?".
    pub verdict: Verdict,
    /// Timed rounds in which other programs or the hypervisor took too much CPU time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed_rounds: Vec<u32>,
    /// Answer of all rounds, if the figures and the verdict leave out the disturbed ones. They do
    /// if enough rounds are quiet for an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub verdict_with_disturbed: Option<Verdict>,
    /// Planned points with at least one successful run, in the order of the plan: CPU counts,
    /// ascending, and the values of `{n}` at each.
    pub points: Vec<PointView>,
    /// Rankings of the values of `{n}`, where several were measured at one CPU count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rankings: Vec<Ranking>,
    /// Comparison of the CPU quotas, if several were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub quota: Option<QuotaComparison>,
    /// Measured cells with the figures that studies of every subject have, in the order of the
    /// plan.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub cells: Vec<CellView>,
    /// Traced runs, ascending by CPU count.
    pub traces: Vec<TraceView>,
    /// Speedup stacks, one for each traced CPU count above the smallest.
    pub stack: Vec<StackView>,
    /// Efficiencies, one for each traced CPU count with untraced runs.
    #[serde(default)]
    pub efficiencies: Vec<EfficiencyView>,
    /// Prediction for larger machines; null if none was requested or none is possible.
    pub prediction: Option<Prediction>,
    /// Number of rounds at which every speedup (with one CPU count: the median) would probably be
    /// known to the requested precision, or the plan's goal be reached, given the spread so far.
    /// Null if it already is, if no precision was requested, with too few runs for a spread, and
    /// beyond a thousand rounds.
    #[serde(default)]
    pub rounds_until_precise: Option<u32>,
    /// Conditions that spoil, or may spoil, the measurement.
    pub warnings: Vec<Warning>,
}

impl View {
    /// Returns the traced run of this cell.
    pub fn trace(&self, cell: &Cell) -> Option<&TraceView> {
        find_in_cell(&self.traces, cell)
    }

    /// Returns the traced run whose details are shown: the one on the most CPUs that also has timed
    /// runs, or the last one. A run that was traced for a prediction has no timed runs.
    pub fn main_trace(&self) -> Option<&TraceView> {
        let is_timed = |trace: &&TraceView| self.point(&trace.cell()).is_some();
        self.traces.iter().rfind(is_timed).or(self.traces.last())
    }

    /// Returns the measured count of this cell.
    pub fn point(&self, cell: &Cell) -> Option<&PointView> {
        find_in_cell(&self.points, cell)
    }

    /// Returns whether the figures leave out the timed runs of this round, because others disturbed
    /// it.
    pub fn leaves_out(&self, round: u32) -> bool {
        self.verdict_with_disturbed.is_some() && self.disturbed_rounds.contains(&round)
    }
}

/// Returns the first of these objects that belongs to the cell.
pub(crate) fn find_in_cell<'a, T: InCell>(objects: &'a [T], cell: &Cell) -> Option<&'a T> {
    objects.iter().find(|object| object.cell() == *cell)
}

/// Returns the first of these objects that does the work of the cell: the base of a comparison
/// between amounts of CPU time.
pub(crate) fn find_base<'a, T: InCell>(
    objects: impl IntoIterator<Item = &'a T>,
    cell: &Cell,
) -> Option<&'a T> {
    let work = cell.work_coordinates();
    objects.into_iter().find(|object| object.cell().work_coordinates() == work)
}

impl PointView {
    /// Returns the summary of the measurements behind the speedup.
    pub fn deciding_summary(&self) -> &Summary {
        self.metric.as_ref().map_or(&self.elapsed_s, |metric| &metric.summary)
    }

    /// Returns the CPU time that other programs, the hypervisor and a CPU quota took from the runs,
    /// divided by the time of the allotted CPUs.
    pub fn taken_share(&self) -> f64 {
        let whole = f64::from(self.runs * self.cpus) * self.elapsed_s.mean;
        let taken = [self.others_allotted_s, self.steal_s, self.throttled_s];
        if whole > 0.0 { taken.into_iter().flatten().sum::<f64>() / whole } else { 0.0 }
    }
}

impl InCell for PointView {
    fn cell(&self) -> Cell {
        Cell::from_counts(self.cpus, self.n, &self.axes)
    }
}

impl InCell for TraceView {
    fn cell(&self) -> Cell {
        Cell::from_counts(self.cpus, self.n, &self.axes)
    }
}

impl InCell for StackView {
    fn cell(&self) -> Cell {
        Cell::from_counts(self.cpus, self.n, &self.axes)
    }
}

impl StackView {
    /// Returns the cell of the baseline.
    pub fn base_cell(&self) -> Cell {
        Cell::from_counts(self.base_cpus, self.base_n, &self.axes)
    }
}
