//! Types of the derived view of a study, as `morecores show --json` prints it. The keys are a
//! public contract, described in `docs/format.md`. Times are in seconds, the unit that readers of
//! JSON expect.
//!
//! This module holds types only. `derive` computes most figures; `morecores-explain` and
//! `morecores-predict` add the traces and the prediction.

mod comparison;
mod locks;
mod noise;
mod prediction;
mod spin_tuning;
mod trace;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use morecores_study::{
    Better, Cell, Closing, Coordinates, CpuEstimator, CpuKind, CpuSet, Failure, Host, InCell, Limit,
    Neighbour, Plan,
};

pub use comparison::{
    Aspect, COMPARISON_SCHEMA, ComparedPoint, ComparedSpeedup, ComparedStack, ComparedStudy, Comparison,
    ConditionResult, Difference, Mismatch,
};
pub use locks::{
    CostModel, CostModelPoint, LOCKS_VIEW_SCHEMA, LinePrice, LockAdvice, LockCosts, LockPoint, LockResult,
    LockSituation, LocksView, Prices,
};
pub use noise::{CpuNoise, Disturbance, MachineNoise};
pub use prediction::{
    Abstention, BoundsView, Caveat, FirstLimit, Gain, GainKind, GainPoint, ModelView, PredictedPoint,
    Prediction, Resource,
};
pub use spin_tuning::SpinTuning;
pub use trace::HolderWaits;
pub use trace::{
    CommandView, Components, Culprit, Inconsistencies, LockView, Losses, NO_CULPRIT, Parallelism,
    SerialAndParallel, SerialPhase, StackView, TraceView, Workers,
};

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
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub axes: Coordinates,
    /// Allotted CPUs.
    pub cpu_set: CpuSet,
    /// Kinds of CPU that this count adds to the previous count.
    pub adds: BTreeSet<CpuKind>,
    /// Mechanism that confined the runs to the allotted CPUs.
    pub limit: Limit,
    /// Number of timed runs that succeeded; every figure of the point is computed from these runs.
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
    /// Time that a hypervisor took from the allotted CPUs, over all runs of the point; null if
    /// unknown.
    pub steal_s: Option<f64>,
    /// Time that a CPU quota held the command back, over all runs of the point.
    pub throttled_s: Option<f64>,
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
    /// Speedup over the base, the smallest CPU count: T(base)/T(n) of a time, X(n)/X(base) of a
    /// rate.
    pub speedup: Estimate,
    /// Speedup divided by the growth in CPUs.
    pub efficiency: f64,
    /// 95% confidence interval of the efficiency.
    #[serde(default)]
    pub efficiency_ci95: Option<[f64; 2]>,
    /// Karp and Flatt's serial fraction; null at the base.
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

/// Evidence that a command ran on CPUs that were not allotted to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum OutsideEvidence {
    /// Traced run; the share is the share in that run.
    Trace,
    /// Timed runs that used more CPU time than the allotted CPUs have; the share is a lower bound.
    CpuTime,
}

/// Number of runs that failed in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FailureCount {
    /// Kind of failure.
    pub how: Failure,
    /// Number of runs.
    pub count: u32,
}

/// Condition that spoils, or may spoil, the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Warning {
    /// Fewer than six runs, so no confidence interval.
    TooFewRuns {
        /// CPU count of the point.
        cpus: u32,
        /// Number of runs.
        runs: u32,
    },
    /// Sweep that ended before it reached the requested precision.
    Imprecise {
        /// CPU count of the point.
        cpus: u32,
        /// Half-width of the confidence interval divided by the median.
        half_width: f64,
        /// Requested precision.
        precision: f64,
    },
    /// Runs far from the median.
    Outliers {
        /// CPU count of the point.
        cpus: u32,
        /// Number of these runs.
        count: u32,
    },
    /// First timed run that differs from all later ones, through a cold cache or work that is done
    /// only once.
    FirstRunDiffers {
        /// CPU count of the point.
        cpus: u32,
        /// Ratio of the first run to the median of the later ones.
        ratio: f64,
    },
    /// Change in the speed of the machine during the study.
    Drift {
        /// CPU count of the point.
        cpus: u32,
        /// Ratio of the median of the second half of the runs to that of the first half.
        ratio: f64,
    },
    /// Dependence of each run on the previous one, which makes the confidence intervals too narrow.
    DependentRuns {
        /// CPU count of the point.
        cpus: u32,
        /// Correlation of each run with the next.
        correlation: f64,
    },
    /// Two speeds of about equal frequency among the runs, whose median therefore says little.
    TwoSpeeds {
        /// CPU count of the point.
        cpus: u32,
    },
    /// Time that a hypervisor took from the allotted CPUs.
    Steal {
        /// CPU count of the point.
        cpus: u32,
        /// Stolen share of the allotted CPUs' time.
        share: f64,
    },
    /// CPU quota that held the command back.
    Throttled {
        /// CPU count of the point.
        cpus: u32,
        /// Seconds held back over all runs.
        seconds: f64,
    },
    /// CPUs that take no threads from each other. Several threads may share one CPU while others
    /// are idle.
    NotBalanced {
        /// CPU count of the point.
        cpus: u32,
        /// Allotted CPUs that are not load-balanced.
        cpu_set: CpuSet,
        /// Whether these CPUs are load-balanced when the runs have a cpuset of their own.
        by_cpuset: bool,
    },
    /// CPU quota below the CPU count.
    QuotaBelowCpus {
        /// CPU count of the point.
        cpus: u32,
        /// CPUs' worth of time that the quota allows.
        quota: f64,
    },
    /// Point that adds SMT siblings of cores already in use.
    SmtSiblings {
        /// CPU count of the point.
        cpus: u32,
    },
    /// Point that mixes core types.
    MixedCoreTypes {
        /// CPU count of the point.
        cpus: u32,
    },
    /// Clock rate that may have changed during the study.
    FrequencyScaling {
        /// Frequency governor.
        governor: Option<String>,
        /// Whether boost is on.
        boost: Option<bool>,
    },
    /// Command that was given more CPUs and used no more than before.
    ThreadsDidNotFollow {
        /// CPU count of the point.
        cpus: u32,
        /// CPUs used: (user + system) / elapsed.
        used: f64,
        /// Whether `{n}` or --thread-env told the command the number of CPUs to use.
        told: bool,
    },
    /// Work outside the command's tree while the command ran.
    WorkOutsideTree {
        /// CPU count of the point.
        cpus: u32,
        /// CPUs' worth of work of other programs during the runs.
        busy_cpus: f64,
        /// Number of online CPUs of the machine.
        of_cpus: u32,
        /// Other programs that explain a good part of this work, busiest first.
        neighbours: Vec<Neighbour>,
    },
    /// Command that is known to hand its work to a daemon.
    KnownClient {
        /// Name of the command's program.
        program: String,
        /// Daemon, or other place, that does the work.
        daemon: String,
    },
    /// Machine that was busy while nothing was measured.
    NotQuiet {
        /// CPUs that other programs kept busy.
        busy_cpus: f64,
        /// Number of online CPUs of the machine.
        of_cpus: u32,
        /// Programs that used a good part of the CPU time outside the command during the runs,
        /// busiest first.
        neighbours: Vec<Neighbour>,
    },
    /// Processes of the command that the kernel killed for memory.
    KilledForMemory {
        /// CPU count of the point.
        cpus: u32,
        /// Number of runs with a killed process.
        count: u32,
        /// Names of the killed processes, each once; empty if the kernel's log does not tell.
        names: Vec<String>,
        /// Bytes that each job of the command needs; null if no run tells.
        job_bytes: Option<u64>,
        /// Bytes of memory available to the command; null if unknown.
        limit_bytes: Option<u64>,
    },
    /// User and system time from `getrusage` only.
    OnlyGetrusage,
    /// Processes that outlived the command.
    Survivors {
        /// Names of these processes.
        names: Vec<String>,
        /// Whether morecores let these processes run on; otherwise it ended them.
        kept: bool,
    },
    /// Failed runs, which no figure includes.
    FailedRuns {
        /// CPU count of the point.
        cpus: u32,
        /// Number of failed runs.
        count: u32,
        /// Kinds of failure, the most frequent first.
        #[serde(default)]
        failures: Vec<FailureCount>,
        /// Exit statuses that count as success.
        #[serde(default)]
        success: BTreeSet<u8>,
    },
    /// Lines of runs.jsonl that cannot be read.
    DamagedLines {
        /// Number of lines.
        count: usize,
    },
    /// Lost events of the traced run, which make every figure of its trace a guess.
    LossyTrace {
        /// CPU count of the traced run.
        cpus: u32,
        /// Number of lost events.
        lost_events: u64,
        /// Share of lost events among all events, lost and kept.
        share: f64,
    },
    /// Command that ran on CPUs that were not allotted to it, so the CPU count is not the real one.
    RanOutsideCpus {
        /// CPU count of the point.
        cpus: u32,
        /// CPU time of the command on other CPUs, divided by the time of the allotted CPUs.
        share: f64,
        /// Evidence for the share.
        evidence: OutsideEvidence,
    },
    /// Traced run so much longer than the untraced ones that the two may not be comparable.
    TraceOverhead {
        /// CPU count of the traced run.
        cpus: u32,
        /// Ratio of the traced elapsed time to the untraced median, minus one.
        overhead: f64,
    },
    /// Components of the traced run that do not add up to the time of its CPUs.
    UnexplainedTime {
        /// CPU count of the traced run.
        cpus: u32,
        /// Unexplained time divided by the time of the allotted CPUs; negative if the components
        /// exceed that time.
        share: f64,
    },
    /// Threads that wait in loops of the program's own, which looks like work.
    UserSpinning {
        /// CPU count of the traced run.
        cpus: u32,
        /// Time in these loops divided by the time of the allotted CPUs.
        share: f64,
    },
    /// Smallest count with more ready threads of one name than CPUs, and more than the command was
    /// told to use.
    CrowdedBase {
        /// Smallest CPU count.
        cpus: u32,
        /// Threads of that name.
        workers: Workers,
        /// Whether the number of threads equals the number of online CPUs of the machine.
        machine_sized: bool,
        /// Whether `{n}` or --thread-env told the command the number of CPUs to use.
        told: bool,
    },
    /// Limit that lets the other CPUs serve interrupts and kernel threads, which flatters the
    /// smallest count.
    OtherCpusHelp,
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
    /// CPU counts with at least one successful run, ascending.
    pub points: Vec<PointView>,
    /// Traced runs, ascending by CPU count.
    pub traces: Vec<TraceView>,
    /// Speedup stacks, one for each traced CPU count above the smallest.
    pub stack: Vec<StackView>,
    /// Prediction for larger machines; null if none was requested or none is possible.
    pub prediction: Option<Prediction>,
    /// Conditions that spoil, or may spoil, the measurement.
    pub warnings: Vec<Warning>,
}

impl View {
    /// Returns the traced run of this cell.
    pub fn trace(&self, cell: &Cell) -> Option<&TraceView> {
        find_in_cell(&self.traces, cell)
    }

    /// Returns the measured count of this cell.
    pub fn point(&self, cell: &Cell) -> Option<&PointView> {
        find_in_cell(&self.points, cell)
    }
}

/// Returns the first of these objects that belongs to the cell.
pub(crate) fn find_in_cell<'a, T: InCell>(objects: &'a [T], cell: &Cell) -> Option<&'a T> {
    objects.iter().find(|object| object.cell() == *cell)
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
