//! Plan of a measurement: the CPU counts and the rules of the sweep.
//!
//! A plan is complete before anything runs. The study keeps the plan, so that the measurement can
//! be repeated and resumed. A plan holds no results.

mod hooks;
mod input;
mod metric;
mod variable;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::experiment::cross_product;
use crate::{
    Axis, CPUS_AXIS, Cell, Command, Coordinates, CpuKind, CpuSet, Exit, Experiment, InCell, N_AXIS, Nanos,
    OnFailure, Placement, QuotaPercent, Schedule, ScheduledCell,
};

pub use hooks::Hooks;
pub use input::{InputContent, InputSource};
pub use metric::{Better, DecimalMark, FurtherMetric, Metric};
pub use variable::{Variable, holds_n};

/// Mechanism that holds a run to its allotted CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// `sched_setaffinity(2)`: needs no privilege; a program can widen the mask again.
    #[default]
    Affinity,
    /// Cpuset of a cgroup: a program cannot widen it.
    Cpuset,
    /// All other CPUs but CPU 0 are taken offline (root): interrupts and kernel threads move too.
    Hotplug,
    /// CPU time for each period of 100 ms by a cgroup's quota, as a container's CPU limit; the CPUs
    /// are allotted by affinity. Needs --quota.
    Quota,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Affinity => "affinity",
            Self::Cpuset => "cpuset",
            Self::Hotplug => "hotplug",
            Self::Quota => "quota",
        })
    }
}

/// Planned cell of a command: one CPU count of a sweep, or one value on each of several axes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Point {
    /// Number of allotted CPUs.
    pub cpus: u32,
    /// Number that replaces `{n}`.
    pub n: u32,
    /// Values on further axes.
    #[serde(default, skip_serializing_if = "Coordinates::is_empty")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub axes: Coordinates,
    /// Allotted CPUs; the set holds `cpus` CPUs.
    pub cpu_set: CpuSet,
    /// Kinds of CPU that this count adds to the previous count.
    pub adds: BTreeSet<CpuKind>,
}

impl Point {
    /// Plans the cells of the axes `cpus` and `n` and of any further axes. `allot` returns the CPUs
    /// of a count, and the kinds of CPU that the count adds.
    pub fn from_axes(axes: &[Axis], allot: impl Fn(u32) -> (CpuSet, BTreeSet<CpuKind>)) -> Vec<Self> {
        let count = |cell: &Cell, axis| u32::try_from(cell.number(axis)?).ok();
        let point = |cell: &Cell| {
            let (cpus, n) = (count(cell, CPUS_AXIS)?, count(cell, N_AXIS)?);
            let (cpu_set, adds) = allot(cpus);
            Some(Self { cpus, n, axes: cell.further_coordinates(), cpu_set, adds })
        };
        cross_product(axes).iter().filter_map(point).collect()
    }
}

impl Point {
    /// Quota of the cell, if it has one.
    pub fn quota(&self) -> Option<QuotaPercent> {
        QuotaPercent::from_coordinates(&self.axes)
    }

    /// CPU time that the cell may use in each second, in seconds: that of its CPUs, or its quota.
    pub fn cpu_time(&self) -> f64 {
        let cpus = f64::from(self.cpus);
        self.quota().map_or(cpus, |quota| quota.cpus().min(cpus))
    }
}

impl InCell for Point {
    fn cell(&self) -> Cell {
        Cell::from_counts(self.cpus, self.n, &self.axes)
    }
}

/// Rules for the end of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Stop {
    /// Target half-width of every speedup's 95% interval, as a share of that speedup; with one CPU
    /// count, of the median's. The sweep stops at this precision, or as the plan's goal says.
    /// Absent: the sweep continues to `max_runs`.
    pub precision: Option<f64>,
    /// Runs of each point before `precision` can stop the sweep.
    pub min_runs: u32,
    /// Runs of each point at which the sweep ends, whatever the precision.
    pub max_runs: u32,
    /// Time limit that the user gave for the whole study, including warm-up and traced runs. The
    /// current run is ended at the limit.
    pub max_time: Option<Nanos>,
    /// Time limit for the whole study if the user gave none. No run starts unless it is expected to
    /// end within the limit. The current run is finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Nanos>,
}

impl Stop {
    /// Time limit for the whole study; `None` if the time is not limited.
    pub fn time(&self) -> Option<Nanos> {
        self.max_time.or(self.budget)
    }
}

/// Knowledge that ends a sweep before its largest number of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// Every speedup is known to the precision; with one CPU count, the median.
    #[default]
    Precision,
    /// No larger count is worth its CPUs; or some count is, and every speedup is known to the
    /// precision.
    Answer,
    /// The best value of `{n}` on each CPU count is found, or one as good within the precision.
    /// Rounds leave out the values that are worse, and take a quarter of the runs of the whole grid
    /// at most.
    Tune,
}

impl Goal {
    fn is_default(&self) -> bool {
        *self == Self::Precision
    }
}

/// Work of a command on more CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Scaling {
    /// It stays the same.
    #[default]
    Strong,
    /// It grows in proportion to `{n}`.
    Weak,
}

impl Scaling {
    fn is_default(&self) -> bool {
        *self == Self::Strong
    }

    /// Work of a cell with this value of `{n}`, relative to the other cells.
    pub fn work(self, n: u32) -> f64 {
        match self {
            Self::Strong => 1.0,
            Self::Weak => f64::from(n),
        }
    }
}

/// State of the page cache before each run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Cache {
    /// The state that the previous run left, after the warm-up runs.
    Warm,
    /// The cache is written back and dropped before each run, and the named file systems are
    /// remounted. This is the protocol of the Linux Gazette's benchmark (source 000).
    Cold {
        /// Mount points to remount.
        remount: Vec<String>,
    },
}

/// Destination of the command's standard output and standard error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Output {
    /// A file in memory; its end is shown if the command fails.
    #[default]
    #[cfg_attr(feature = "clap", value(name = "capture"))]
    Captured,
    /// `/dev/null`.
    Null,
    /// The terminal or pipe of morecores itself.
    #[cfg_attr(feature = "clap", value(name = "inherit"))]
    Inherited,
}

/// Rule for tracing runs after the timed runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum TraceMode {
    /// No run is traced.
    Off,
    /// Runs are traced as far as the machine and the privilege allow; without causes of waiting
    /// where they allow little.
    #[default]
    Auto,
    /// Runs are traced in full; the study does not start if that is impossible.
    On,
}

/// Holds of the command's own locks that a trace has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum LockHolds {
    /// Holds for which other threads wait.
    #[default]
    Contended,
    /// Also each hold of a lock of the C library, counted by probes at its functions.
    Exact,
}

impl LockHolds {
    /// Whether each hold is counted.
    pub fn are_exact(&self) -> bool {
        *self == Self::Exact
    }

    fn are_contended(&self) -> bool {
        !self.are_exact()
    }
}

/// All decisions made before the first run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Plan {
    /// CPU counts, in ascending order.
    pub points: Vec<Point>,
    /// Axes other than `cpus` and `n`, with the units of their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub axes: Vec<Axis>,
    /// Mechanism that holds runs to their CPUs.
    pub limit: Limit,
    /// Policy for the order of the CPUs; absent if the user listed the CPUs.
    pub placement: Option<Placement>,
    /// Seed of the shuffle of every round and of every resampling in the analysis.
    pub seed: u64,
    /// Warm-up runs of each point before the timed runs.
    pub warmup: u32,
    /// Rules for the end of the sweep.
    pub stop: Stop,
    /// Knowledge that ends the sweep early.
    #[serde(default, skip_serializing_if = "Goal::is_default")]
    pub goal: Goal,
    /// Work of the command on more CPUs.
    #[serde(default, skip_serializing_if = "Scaling::is_default")]
    pub scaling: Scaling,
    /// Whether rounds that others disturbed count like all others and are not repeated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_disturbed: bool,
    /// State of the page cache before each run.
    pub cache: Cache,
    /// User commands around the runs.
    pub hooks: Hooks,
    /// Time limit of one run; a run that exceeds the limit is ended and counts as failed.
    pub timeout: Option<Nanos>,
    /// Figure that is measured instead of the elapsed time.
    pub metric: Option<Metric>,
    /// Figures that are kept and shown beside the metric; empty if there is no metric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further_metrics: Vec<FurtherMetric>,
    /// Decimal mark of the command's figures; absent if it is inferred from the figures or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub decimal_mark: Option<DecimalMark>,
    /// Whether OMP_NUM_THREADS and similar variables were set to `n`.
    pub thread_env: bool,
    /// Environment variables of the command that the user gave, by `--env` or by `{n}` in the value
    /// of a variable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<Variable>,
    /// Exit statuses of successful runs.
    #[serde(default = "default_success")]
    pub success: BTreeSet<u8>,
    /// Whether a failing run ends the study.
    pub ignore_failure: bool,
    /// Whether the study continues if the first run leaves almost no work to the later runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incremental: bool,
    /// Whether processes that outlive the command are left alone.
    pub keep_survivors: bool,
    /// Source of the command's standard input.
    #[serde(flatten)]
    #[cfg_attr(feature = "typescript", ts(flatten))]
    pub input: InputSource,
    /// Destination of the command's output.
    pub output: Output,
    /// Rule for tracing runs.
    pub trace: TraceMode,
    /// Traced runs of each point; absent if the time of a run decides: see
    /// [`traced_runs`](Self::traced_runs).
    #[serde(default, rename = "traced_runs", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub requested_traced_runs: Option<u32>,
    /// Whether a trace holds every system call with its object; otherwise it holds only blocking
    /// calls, without their objects.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub syscalls: bool,
    /// Holds of the command's own locks that a trace has.
    #[serde(default, skip_serializing_if = "LockHolds::are_contended")]
    pub locks: LockHolds,
    /// CPU counts above the measured counts for which runs are traced, so that these counts can be
    /// predicted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predict: Vec<u32>,
    /// Smallest share of a CPU that an added CPU must bring to be worth it, if the user gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub worth: Option<f64>,
}

/// Default set of successful exit statuses: 0 alone. It also applies to studies from before the set
/// could be chosen.
pub fn default_success() -> BTreeSet<u8> {
    [0].into()
}

/// Traced runs of each point unless the user gives a number. With fewer, Student's interval of
/// their mean is wider than most losses: with two runs it has 12.7 standard errors on each side,
/// with three 4.3.
const TRACED_RUNS: u32 = 3;
/// Duration of a run above which one traced run of each point has to do. A choice: two more rounds
/// of a longer command take minutes.
const LONG_RUN: Nanos = Nanos::from_millis(20_000);

impl Plan {
    /// Number of traced runs of each point: the number that the user gave; else 3, or 1 if a run
    /// takes more than 20 s.
    pub fn traced_runs(&self, longest_run: Nanos) -> u32 {
        let usual = if longest_run > LONG_RUN { 1 } else { TRACED_RUNS };
        self.requested_traced_runs.unwrap_or(usual).max(1)
    }

    /// Cells of this plan and their schedule.
    pub fn experiment(&self) -> Experiment<Point> {
        let on_failure = if self.ignore_failure { OnFailure::Continue } else { OnFailure::End };
        Experiment {
            cells: self
                .points
                .iter()
                .enumerate()
                .map(|(place, point)| self.scheduled(place, point))
                .collect(),
            schedule: Schedule { seed: self.seed, warmup: self.warmup, stop: self.stop.clone(), on_failure },
        }
    }

    /// Point in the schedule. A search warms up with its first value alone: the others would cost
    /// as much as the search.
    fn scheduled(&self, place: usize, point: &Point) -> ScheduledCell<Point> {
        ScheduledCell { warms_up: self.goal != Goal::Tune || place == 0, ..point.clone().into() }
    }

    /// Better direction of the figure that the study is about; a time is better if it is lower.
    pub fn better(&self) -> Better {
        self.metric.as_ref().map_or(Better::Lower, |metric| metric.better)
    }

    /// Planned cell of a run; `None` for a run that only serves a prediction.
    pub fn point(&self, cell: &Cell) -> Option<&Point> {
        self.points.iter().find(|point| point.cell() == *cell)
    }

    /// Returns whether a run with this exit succeeds, as far as the exit shows; a signal is never a
    /// success.
    pub fn is_success(&self, exit: Exit) -> bool {
        matches!(exit, Exit::Code(status) if u8::try_from(status).is_ok_and(|own| self.success.contains(&own)))
    }

    /// Returns whether the command receives the number of CPUs, in its arguments or in its
    /// environment.
    pub fn tells_n(&self, command: &Command) -> bool {
        command.uses_n() || self.thread_env || self.env.iter().any(Variable::uses_n)
    }

    /// Additional traced runs for a prediction, for each combination of values on further axes. On
    /// the largest set of CPUs, the command is given each predicted count. On the smallest set, the
    /// command is given the largest measured count, to test the prediction against a measurement.
    pub fn oversubscribed(&self) -> Vec<Point> {
        if self.predict.is_empty() {
            return Vec::new();
        }
        let mut ends: BTreeMap<&Coordinates, (&Point, &Point)> = BTreeMap::new();
        for point in &self.points {
            ends.entry(&point.axes).or_insert((point, point)).1 = point;
        }
        let all = ends.into_values().flat_map(|(first, last)| {
            let back_test = Point { n: last.cpus, ..first.clone() };
            let told = |cpus: &u32| Point { n: *cpus, ..last.clone() };
            std::iter::once(back_test).chain(self.predict.iter().map(told))
        });
        all.filter(|point| self.point(&point.cell()).is_none()).collect()
    }
}
