//! How a command is to be measured: the CPU counts and the rules of the sweep.
//!
//! A plan is decided before anything runs and kept with the study, so that the study can be repeated and
//! resumed. It holds no results.

mod hooks;
mod input;
mod metric;
mod variable;

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Command, CpuKind, CpuSet, Exit, Nanos, Placement};

pub use hooks::Hooks;
pub use input::{InputContent, InputSource};
pub use metric::{Better, DecimalMark, FurtherMetric, Metric};
pub use variable::{Variable, holds_n};

/// By what means a run is held to its allotted CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// `sched_setaffinity(2)`; a program can widen it again.
    #[default]
    Affinity,
    /// A cgroup's cpuset, version 1 or 2; a program cannot widen it.
    Cpuset,
    /// All other CPUs are taken offline; CPU 0 always stays. Interrupts and kernel threads move too.
    Hotplug,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Affinity => "affinity",
            Self::Cpuset => "cpuset",
            Self::Hotplug => "hotplug",
        })
    }
}

/// One CPU count of a sweep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Point {
    /// How many CPUs are allotted.
    pub cpus: u32,
    /// What `{n}` becomes.
    pub n: u32,
    /// Which CPUs are allotted; `cpus` of them.
    pub cpu_set: CpuSet,
    /// Kinds of CPU that this count adds to the one before.
    pub adds: BTreeSet<CpuKind>,
}

/// When a sweep has measured enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Stop {
    /// Half-width of the 95% interval of every median, as a share of that median, at which to stop; none: go
    /// on to `max_runs`.
    pub precision: Option<f64>,
    /// Runs of each point before `precision` may stop the sweep.
    pub min_runs: u32,
    /// Runs of each point at which the sweep ends whatever the precision.
    pub max_runs: u32,
    /// Time for the whole study that the user gave, warm-up and traced runs included; the run under way is ended then.
    pub max_time: Option<Nanos>,
    /// Time for the whole study where the user gave none: no run begins that is not expected to end in it; the run under
    /// way is finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Nanos>,
}

impl Stop {
    /// Time for the whole study; none where it is not limited.
    pub fn time(&self) -> Option<Nanos> {
        self.max_time.or(self.budget)
    }
}

/// The state of the page cache before each run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Cache {
    /// As the run before left it, after the warm-up runs.
    Warm,
    /// Written back and dropped before each run; the named file systems mounted anew too, the protocol of the
    /// Linux Gazette's benchmark (source 000).
    Cold {
        /// Mount points to mount anew.
        remount: Vec<String>,
    },
}

/// Where the command's standard output and error go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Output {
    /// To a file in memory whose end is shown when the command fails.
    #[default]
    Captured,
    /// To `/dev/null`.
    Null,
    /// To the terminal or pipe of morecores itself.
    Inherited,
}

/// Whether runs are traced after the timing runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum TraceMode {
    /// Never.
    Off,
    /// Where the machine allows it.
    #[default]
    Auto,
    /// Always; where it cannot be done, the study does not start.
    On,
}

/// Everything that was decided before the first run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Plan {
    /// The CPU counts, ascending.
    pub points: Vec<Point>,
    /// How runs are held to their CPUs.
    pub limit: Limit,
    /// By which policy CPUs are added; none where the user listed them.
    pub placement: Option<Placement>,
    /// Seed of the shuffle of every round and of every resampling in the analysis.
    pub seed: u64,
    /// Runs of each point before the timed ones.
    pub warmup: u32,
    /// When to stop.
    pub stop: Stop,
    /// The page cache before each run.
    pub cache: Cache,
    /// The user's commands around the runs.
    pub hooks: Hooks,
    /// After how long a run is ended and counts as failed.
    pub timeout: Option<Nanos>,
    /// What is measured instead of the elapsed time.
    pub metric: Option<Metric>,
    /// Figures that are kept and shown beside the metric; none without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further_metrics: Vec<FurtherMetric>,
    /// The mark before the fraction of the command's figures; absent: told from the figures, or not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub decimal_mark: Option<DecimalMark>,
    /// Whether OMP_NUM_THREADS and its like were set to `n`.
    pub thread_env: bool,
    /// Variables of the command's environment that the user gave: by `--env`, or by `{n}` in a value of the environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<Variable>,
    /// Exit statuses of runs that count.
    #[serde(default = "zero_alone")]
    pub success: BTreeSet<u8>,
    /// Whether a failing run ends the study.
    pub ignore_failure: bool,
    /// Whether the study goes on where the first run leaves the later ones next to nothing to do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incremental: bool,
    /// Whether processes that outlive the command are left alone.
    pub keep_survivors: bool,
    /// What becomes the command's standard input.
    #[serde(flatten)]
    #[cfg_attr(feature = "typescript", ts(flatten))]
    pub input: InputSource,
    /// Where the command's output goes.
    pub output: Output,
    /// Whether runs are traced.
    pub trace: TraceMode,
    /// Whether a trace holds every system call with its object; else only those that blocked, without.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub syscalls: bool,
    /// CPU counts beyond the measured ones for which runs are traced, so that they can be predicted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predict: Vec<u32>,
}

/// What success is unless somebody says otherwise, and was in every study before it could be said.
pub fn zero_alone() -> BTreeSet<u8> {
    [0].into()
}

impl Plan {
    /// Whether a run that ends so succeeds, as far as its end tells; a signal never does.
    pub fn is_success(&self, exit: Exit) -> bool {
        matches!(exit, Exit::Code(status) if u8::try_from(status).is_ok_and(|own| self.success.contains(&own)))
    }

    /// Whether the command is told how many CPUs there are: by its words or by its environment.
    pub fn tells_n(&self, command: &Command) -> bool {
        command.uses_n() || self.thread_env || self.env.iter().any(Variable::uses_n)
    }

    /// The runs that are traced for a prediction beside those of the sweep: the command told each predicted count on the most
    /// CPUs there are, and told those on the fewest, to test the prediction by what was measured.
    pub fn oversubscribed(&self) -> Vec<Point> {
        let (Some(first), Some(last)) = (self.points.first(), self.points.last()) else { return Vec::new() };
        if self.predict.is_empty() {
            return Vec::new();
        }
        let back_test = Point { n: last.cpus, ..first.clone() };
        let told = |cpus: &u32| Point { n: *cpus, ..last.clone() };
        let all = std::iter::once(back_test).chain(self.predict.iter().map(told));
        all.filter(|point| !self.points.iter().any(|own| (own.cpus, own.n) == (point.cpus, point.n)))
            .collect()
    }
}
