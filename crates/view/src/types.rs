//! The derived view of a study: what `morecores show --json` prints. Its keys are a public contract, described
//! in `docs/format.md`; times are seconds, because that is what readers of JSON expect.
//!
//! These are only the shapes; `morecores-predict` computes them.

mod comparison;
mod locks;
mod noise;
mod prediction;
mod trace;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use morecores_study::{
    Better, Closing, CpuEstimator, CpuKind, CpuSet, Failure, Host, Limit, Neighbour, Plan,
};

pub use comparison::{
    Aspect, COMPARISON_SCHEMA, Compared, ComparedPoint, ComparedSpeedup, ComparedStack, Comparison,
    Difference, Judged, Unlike,
};
pub use locks::{
    CostModel, CostModelPoint, LOCKS_VIEW_SCHEMA, LinePrice, LockAdvice, LockCosts, LockPoint, LockResult,
    LockSituation, LocksView, Prices,
};
pub use noise::{CpuNoise, Disturbance, MachineNoise};
pub use prediction::{
    Abstention, BoundsView, Caveat, Contestant, FirstLimit, Gain, GainKind, GainPoint, PredictedPoint,
    Prediction, Resource,
};
pub use trace::BehindLock;
pub use trace::{
    CommandView, Components, Culprit, LockView, Losses, Misfits, NOBODY, Parallelism, SerialAndParallel,
    SerialPhase, StackView, TraceView, Workers,
};

/// Name of the schema of [`View`].
pub const VIEW_SCHEMA: &str = "morecores.view/1";

/// A sample in five numbers, in the unit that the field's name ends in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Summary {
    /// The median: the estimate.
    pub median: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// 95% confidence interval of the median, `[low, high]`; null with fewer than six runs.
    pub ci95: Option<[f64; 2]>,
}

/// An estimate with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its 95% confidence interval, `[low, high]`; null where there are too few runs for one.
    pub ci95: Option<[f64; 2]>,
}

/// The figure that the command printed, where `--metric` asked for one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct MetricView {
    /// Its name, where the user gave one.
    #[serde(default)]
    pub name: Option<String>,
    /// The values.
    #[serde(flatten)]
    pub summary: Summary,
    /// Unit to print behind them.
    pub unit: Option<String>,
    /// Which direction is better.
    pub better: Better,
}

/// A figure that the command printed beside the metric: it is shown, and decides nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FigureView {
    /// Its name.
    pub name: String,
    /// The values.
    #[serde(flatten)]
    pub summary: Summary,
    /// Unit to print behind them.
    pub unit: Option<String>,
}

/// One CPU count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PointView {
    /// How many CPUs were allotted.
    pub cpus: u32,
    /// What `{n}` was.
    pub n: u32,
    /// Which CPUs.
    pub cpu_set: CpuSet,
    /// Kinds of CPU that this count adds to the one before.
    pub adds: BTreeSet<CpuKind>,
    /// How the runs were held to them.
    pub limit: Limit,
    /// Timed runs that succeeded: the ones every figure here is computed from.
    pub runs: u32,
    /// Timed runs that failed; part of no figure.
    pub failed_runs: u32,
    /// Runs whose elapsed time lies far from the median (modified z-score above 3.5); part of every figure.
    pub outliers: u32,
    /// From exec to exit.
    pub elapsed_s: Summary,
    /// In user mode, over the tree.
    pub user_s: Summary,
    /// In the kernel, over the tree.
    pub system_s: Summary,
    /// Median over runs of (user + system) / elapsed, in percent: 200 is two CPUs busy all the time.
    pub cpu_percent: f64,
    /// Median of the largest resident set of any one process.
    pub max_rss_bytes: u64,
    /// Whether `max_rss_bytes` is only an upper bound, since the starting process's own mark hides a smaller one.
    pub max_rss_is_bound: bool,
    /// Median of the peak memory of the tree, page cache included.
    pub tree_peak_bytes: Option<u64>,
    /// Median over runs.
    pub minor_faults: f64,
    /// Median over runs.
    pub major_faults: f64,
    /// Mean over runs.
    pub swapped_in_pages: Option<f64>,
    /// Mean over runs.
    pub swapped_out_pages: Option<f64>,
    /// Median over runs.
    pub voluntary_switches: f64,
    /// Median over runs.
    pub involuntary_switches: f64,
    /// Median over runs.
    pub block_read_bytes: f64,
    /// Median over runs.
    pub block_written_bytes: f64,
    /// Time taken by a hypervisor from the allotted CPUs, over all runs of the point; null where not known.
    pub steal_s: Option<f64>,
    /// Time held back by a CPU quota, over all runs of the point.
    pub throttled_s: Option<f64>,
    /// CPU time of others on the allotted CPUs, over all runs of the point.
    pub others_allotted_s: Option<f64>,
    /// CPU time of others on the other CPUs, over all runs of the point.
    pub others_elsewhere_s: Option<f64>,
    /// Disks and wires, by name, and the share of the time of all runs for which each was busy, the busiest first.
    #[serde(default)]
    pub busy_devices: Vec<(String, f64)>,
    /// The metric, where one was asked for; then speedup is computed from it.
    pub metric: Option<MetricView>,
    /// The other figures that were asked for, in the order of the plan.
    #[serde(default)]
    pub further_metrics: Vec<FigureView>,
    /// T(base)/T(n), or X(n)/X(base) of a rate; the base is the smallest CPU count.
    pub speedup: Estimate,
    /// Speedup over the growth in CPUs.
    pub efficiency: f64,
    /// Its 95% interval.
    #[serde(default)]
    pub efficiency_ci95: Option<[f64; 2]>,
    /// Karp and Flatt's serial fraction; null at the base.
    pub serial_fraction: Option<f64>,
    /// Its 95% interval.
    pub serial_fraction_ci95: Option<[f64; 2]>,
    /// System over user + system, from their sums over the runs; null where no CPU time was counted, or too little
    /// for the kernel's ticks to tell: then the medians of user and system time say nothing either.
    pub kernel_ratio: Option<f64>,
    /// What told user and system time.
    pub kernel_ratio_estimator: CpuEstimator,
    /// Relative difference of two medians of as many runs as these that chance alone gives in one case of
    /// twenty (A/A); null with too few runs.
    pub noise_floor: Option<f64>,
}

/// What shows that a command ran on CPUs that it was not allotted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum OutsideEvidence {
    /// The traced run; the share is that run's.
    Trace,
    /// The timed runs took more CPU time than the allotted CPUs have; the share is the least that it can have been.
    CpuTime,
}

/// Number of runs that failed in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FailureCount {
    /// Kind of failure.
    pub how: Failure,
    /// So many.
    pub count: u32,
}

/// Something that spoils, or may spoil, the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Warning {
    /// Fewer than six runs: no interval.
    TooFewRuns {
        /// At this CPU count.
        cpus: u32,
        /// So many.
        runs: u32,
    },
    /// The sweep ended before the asked precision was reached.
    Imprecise {
        /// At this CPU count.
        cpus: u32,
        /// Half-width of the interval over the median.
        half_width: f64,
        /// What was asked.
        precision: f64,
    },
    /// Runs far from the others.
    Outliers {
        /// At this CPU count.
        cpus: u32,
        /// So many.
        count: u32,
    },
    /// The first timed run differs from all later ones: a cold cache, or work that is done only once.
    FirstRunDiffers {
        /// At this CPU count.
        cpus: u32,
        /// First run over the median of the later ones.
        ratio: f64,
    },
    /// The speed of the machine changed during the study.
    Drift {
        /// At this CPU count.
        cpus: u32,
        /// Median of the second half of the runs over that of the first half.
        ratio: f64,
    },
    /// Each run depends on the one before, so that the intervals are too narrow.
    DependentRuns {
        /// At this CPU count.
        cpus: u32,
        /// Correlation of each run with the next.
        correlation: f64,
    },
    /// The runs have two speeds, about as often the one as the other: their median says little.
    TwoSpeeds {
        /// At this CPU count.
        cpus: u32,
    },
    /// A hypervisor took time from the allotted CPUs.
    Steal {
        /// At this CPU count.
        cpus: u32,
        /// Share of the CPUs' time.
        share: f64,
    },
    /// A CPU quota held the command back.
    Throttled {
        /// At this CPU count.
        cpus: u32,
        /// Seconds over all runs.
        seconds: f64,
    },
    /// CPUs take no thread from each other, so that several threads may share one while others are idle.
    NotBalanced {
        /// At this CPU count.
        cpus: u32,
        /// Those of the allotted CPUs that are not load-balanced.
        cpu_set: CpuSet,
        /// Whether a cpuset of the runs' own is balanced.
        by_cpuset: bool,
    },
    /// A CPU quota is below the CPU count.
    QuotaBelowCpus {
        /// At this CPU count.
        cpus: u32,
        /// CPUs' worth of time that the quota allows.
        quota: f64,
    },
    /// The point adds SMT siblings of cores already in use.
    SmtSiblings {
        /// At this CPU count.
        cpus: u32,
    },
    /// The point mixes core types.
    MixedCoreTypes {
        /// At this CPU count.
        cpus: u32,
    },
    /// The clock rate may have changed during the study.
    FrequencyScaling {
        /// The governor.
        governor: Option<String>,
        /// Whether boost is on.
        boost: Option<bool>,
    },
    /// The command used no more CPUs than before, though it was given more.
    ThreadsDidNotFollow {
        /// At this CPU count.
        cpus: u32,
        /// (user + system) / elapsed.
        used: f64,
        /// Whether `{n}` or --thread-env told the command how many to use.
        told: bool,
    },
    /// Work was done outside the command's tree while it ran.
    WorkOutsideTree {
        /// At this CPU count.
        cpus: u32,
        /// CPUs that others kept busy while the runs went on.
        busy_cpus: f64,
        /// CPUs of the machine.
        of_cpus: u32,
        /// Others that explain a good part of that, busiest first.
        neighbours: Vec<Neighbour>,
    },
    /// The command is known to hand its work to a daemon.
    KnownClient {
        /// Its name.
        program: String,
        /// What does the work.
        daemon: String,
    },
    /// The machine was busy while nothing was measured.
    NotQuiet {
        /// CPUs that others kept busy.
        busy_cpus: f64,
        /// CPUs of the machine.
        of_cpus: u32,
        /// Others that explain a good part of what was done beside the runs, busiest first.
        neighbours: Vec<Neighbour>,
    },
    /// The kernel killed processes of the command for memory.
    KilledForMemory {
        /// At this CPU count.
        cpus: u32,
        /// In so many runs.
        count: u32,
        /// What was killed, each name once; empty where the kernel's log does not tell.
        names: Vec<String>,
        /// Bytes that each of the command's jobs needs; null where no run tells.
        job_bytes: Option<u64>,
        /// Bytes that there are; null where that is not known.
        limit_bytes: Option<u64>,
    },
    /// User and system time by `getrusage` only.
    OnlyGetrusage,
    /// Processes outlived the command and were ended.
    Survivors {
        /// Their names.
        names: Vec<String>,
        /// Whether they were left alone.
        kept: bool,
    },
    /// Runs failed and were left out.
    FailedRuns {
        /// At this CPU count.
        cpus: u32,
        /// So many.
        count: u32,
        /// Kinds of failure, the most frequent first.
        #[serde(default)]
        failures: Vec<FailureCount>,
        /// Exit statuses that count.
        #[serde(default)]
        success: BTreeSet<u8>,
    },
    /// Lines of runs.jsonl could not be read.
    DamagedLines {
        /// So many.
        count: usize,
    },
    /// Events of the traced run were lost, so that every figure from it is a guess.
    LossyTrace {
        /// At this CPU count.
        cpus: u32,
        /// So many.
        lost_events: u64,
        /// Over all there were.
        share: f64,
    },
    /// The command ran on CPUs that it was not allotted, so that the count is not what it says.
    RanOutsideCpus {
        /// At this CPU count.
        cpus: u32,
        /// Its CPU time there over that of the allotted CPUs.
        share: f64,
        /// What shows it.
        evidence: OutsideEvidence,
    },
    /// The traced run took so much longer than the untraced ones that it may have been another run altogether.
    TraceOverhead {
        /// At this CPU count.
        cpus: u32,
        /// Elapsed time over the untraced median, minus one.
        overhead: f64,
    },
    /// The components of the traced run do not add up to the time of its CPUs.
    UnexplainedTime {
        /// At this CPU count.
        cpus: u32,
        /// What is missing, or too much where negative, over the time of the allotted CPUs.
        share: f64,
    },
    /// Threads wait in loops of the program's own, which looks like work.
    UserSpinning {
        /// At this CPU count.
        cpus: u32,
        /// Such time over the time of the allotted CPUs.
        share: f64,
    },
    /// At the smallest count more threads of one name were ready to run at once than there were CPUs, and more than the
    /// command was told to use.
    CrowdedBase {
        /// The count.
        cpus: u32,
        /// The threads.
        workers: Workers,
        /// Whether they are as many as the machine has CPUs online.
        machine_sized: bool,
        /// Whether `{n}` or --thread-env told the command how many to use.
        told: bool,
    },
    /// With this limit the other CPUs serve interrupts and kernel threads, which flatters the smallest count.
    OtherCpusHelp,
}

/// Everything derived from a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct View {
    /// [`VIEW_SCHEMA`].
    pub schema: String,
    /// Version of the tool that made the study.
    pub tool: String,
    /// The command's words.
    pub command: Vec<String>,
    /// On what.
    pub host: Host,
    /// Kind of failure.
    pub plan: Plan,
    /// Why the sweep ended; null while it goes on and after a kill.
    pub closing: Option<Closing>,
    /// The CPU counts, ascending; only those with a successful run.
    pub points: Vec<PointView>,
    /// Traced runs, ascending by CPU count.
    pub traces: Vec<TraceView>,
    /// Speedup stacks, one for each traced CPU count but the smallest.
    pub stack: Vec<StackView>,
    /// Prediction of larger machines; null where none was asked for, or nothing can be said.
    pub prediction: Option<Prediction>,
    /// What spoils the measurement.
    pub warnings: Vec<Warning>,
}

impl View {
    /// The traced run on `cpus` CPUs in which `{n}` was `n`.
    pub fn trace(&self, cpus: u32, n: u32) -> Option<&TraceView> {
        self.traces.iter().find(|trace| trace.cpus == cpus && trace.n == n)
    }
}
