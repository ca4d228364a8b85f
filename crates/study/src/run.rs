//! One run of the command: the line that is appended to `runs.jsonl` as soon as the run ends.
//!
//! A run holds measurements only, no medians or ratios. A value that could not be read is absent,
//! never zero.

mod disturbance;
mod failure;

use serde::{Deserialize, Serialize};

use crate::{Bandwidth, Bytes, Cell, Coordinates, CpuSet, InCell, Limit, Nanos, RunRecord};

pub use disturbance::MOST_TAKEN;
pub use failure::{Failure, MissingFigure};

/// Phase of a run; the phase decides whether the run counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Run before the timed runs; it is recorded and never used for an estimate.
    Warmup,
    /// Run that counts.
    Timed,
    /// Traced run, after the timed runs. It is kept with its trace, not among the runs, and never
    /// used for an estimate of time.
    Traced,
}

/// End of a run's main process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// Exit status of the process.
    Code(i32),
    /// Signal that ended the process.
    Signal(i32),
    /// Signal that stopped the process; nothing continued the process, and morecores ended it.
    Stopped(i32),
    /// Time limit exceeded; morecores ended the process.
    TimedOut,
}

impl Exit {
    /// Returns whether a process ended by itself with status 0. The plan decides whether a run of a
    /// study counts: [`Run::counts`].
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Code(0))
    }
}

/// Source of a run's user and system times; see `docs/methods/measure.md`, "User and system time".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum CpuEstimator {
    /// `cpu.stat` of a version 2 cgroup that held the tree.
    Cgroup,
    /// `cpuacct` of a version 1 cgroup that held the tree; the exact usage is split by the raw
    /// ticks.
    CgroupV1,
    /// Taskstats: the user time is the sum of the raw user ticks that the kernel reports for each
    /// exiting task. The system time is the rest of the exact total.
    Taskstats,
    /// `getrusage(2)`: scaled per process, so that a short process shows user time only. Processes
    /// that nobody waited for are missing too.
    Getrusage,
}

impl CpuEstimator {
    /// Name of the estimator, as shown beside every figure.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cgroup => "cgroup",
            Self::CgroupV1 => "cgroup_v1",
            Self::Taskstats => "taskstats",
            Self::Getrusage => "getrusage",
        }
    }
}

/// User and system time of the command's tree, with their source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTime {
    /// Time in user mode.
    pub user_ns: Nanos,
    /// Time in the kernel.
    pub system_ns: Nanos,
    /// Source of the two times.
    pub estimator: CpuEstimator,
}

/// Counts of the kernel for the command's tree, from `struct rusage`. The tree is the main process,
/// every descendant that was waited for, and the orphans that morecores adopted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rusage {
    /// User time, as scaled by the kernel per process.
    pub user_ns: Nanos,
    /// System time, as scaled by the kernel per process.
    pub system_ns: Nanos,
    /// Largest resident set of any one process. It is never below the resident set of the process
    /// that started the command, because `exec` inherits the mark. That lower bound is
    /// [`Run::max_rss_floor_bytes`].
    pub max_rss_bytes: Bytes,
    /// Page faults served without a device.
    pub minor_faults: u64,
    /// Page faults that needed a device.
    pub major_faults: u64,
    /// Number of times a thread gave up its CPU to wait.
    pub voluntary_switches: u64,
    /// Number of times a thread was preempted.
    pub involuntary_switches: u64,
    /// Bytes read from block devices.
    pub block_read_bytes: Bytes,
    /// Bytes written towards block devices.
    pub block_written_bytes: Bytes,
}

/// Resource usage of the whole tree that only a cgroup reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeUsage {
    /// Peak memory of the whole tree, including the page cache that the tree filled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<Bytes>,
    /// Memory that the tree needed: the peak without the memory still charged after the tree ended,
    /// which is mostly page cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed_memory_bytes: Option<Bytes>,
    /// Smallest memory limit of the enclosing cgroups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<Bytes>,
    /// Processes that the kernel killed for memory; absent if there were none or the number is
    /// unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub killed_for_memory: Option<MemoryKills>,
    /// Pages read back from swap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swapped_in_pages: Option<u64>,
    /// Pages written to swap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swapped_out_pages: Option<u64>,
    /// Bytes read from block devices, including reads by processes that nobody waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_read_bytes: Option<Bytes>,
    /// Bytes written to block devices, including writes by processes that nobody waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_written_bytes: Option<Bytes>,
    /// Use of the quota of the run's cell; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Bandwidth>,
}

/// Processes that the kernel killed for memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryKills {
    /// Number of killed processes, from the cgroup's `oom_kill`.
    pub count: u64,
    /// Names of the killed processes, each once; empty if the kernel's log does not name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

/// Activity of the machine since the previous reading. The period covers the run and any shorter
/// runs before it: the clocks count in steps of 10 ms and are not read more often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surroundings {
    /// Wall-clock time that these figures cover.
    pub covers_ns: Nanos,
    /// Time that a hypervisor took from the allotted CPUs.
    pub steal_ns: Nanos,
    /// Time for which a CPU quota of this or an enclosing cgroup throttled the tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<Nanos>,
    /// Busy time of the allotted CPUs: the work of the tree and of all other programs, and
    /// interrupts.
    pub busy_allotted_ns: Nanos,
    /// Busy time of all other online CPUs, counted in the same way.
    pub busy_elsewhere_ns: Nanos,
    /// CPU time of the tree in the covered period.
    pub tree_ns: Nanos,
    /// CPU time of morecores itself in the covered period.
    pub own_ns: Nanos,
    /// Disks and network links that were busy for at least 1% of the time, the busiest first, for
    /// any user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceTime>,
}

/// Busy time of a disk, or the transmission time of a network interface. The transmission time is
/// that of the traffic in the busier direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceTime {
    /// Name of the device in the kernel.
    pub name: String,
    /// Busy or transmission time.
    pub busy_ns: Nanos,
}

/// Figure that the command printed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Name of the figure's metric; absent if the metric has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Value of the figure, in the unit of the study's first figure of this metric.
    pub value: f64,
    /// Number as the command printed it.
    pub text: String,
    /// Unit that the command printed beside the number, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Position in the order of execution over all runs of the study, from 0.
    pub index: u32,
    /// Round of the run, from 0; warm-up rounds are numbered separately.
    pub round: u32,
    /// Phase of the run; the phase decides whether the run counts.
    pub phase: Phase,
    /// Number of allotted CPUs.
    pub cpus: u32,
    /// Number that replaced `{n}`.
    pub n: u32,
    /// Values on further axes.
    #[serde(default, skip_serializing_if = "Coordinates::is_empty")]
    pub axes: Coordinates,
    /// Allotted CPUs.
    pub cpu_set: CpuSet,
    /// Mechanism that held the run to its CPUs.
    pub limit: Limit,
    /// Start of the run, in nanoseconds of `CLOCK_REALTIME` since 1970.
    pub started_at_ns: Nanos,
    /// Time from the main process's `exec` to its exit.
    pub elapsed_ns: Nanos,
    /// End of the main process.
    pub exit: Exit,
    /// User and system time, by the best available estimator.
    pub cpu: CpuTime,
    /// Counts of the kernel for the tree.
    pub rusage: Rusage,
    /// Lower bound of `rusage.max_rss_bytes` on this machine.
    pub max_rss_floor_bytes: Bytes,
    /// Figures of the tree's cgroup.
    #[serde(default)]
    pub tree: TreeUsage,
    /// Activity of the machine around the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surroundings: Option<Surroundings>,
    /// Figure that the command printed, if the plan asks for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<f64>,
    /// All figures that the plan asks for, in the order of the plan; the figure of `metric` comes
    /// first. Empty in studies of versions that kept only the value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
    /// Requested figure that is missing or ambiguous; the run has then failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingFigure>,
    /// Names of the processes that outlived the main process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub survivors: Vec<String>,
    /// Fields that a later version wrote.
    #[serde(flatten)]
    pub unknown: serde_json::Map<String, serde_json::Value>,
}

impl InCell for Run {
    fn cell(&self) -> Cell {
        Cell::from_counts(self.cpus, self.n, &self.axes)
    }
}

impl RunRecord for Run {
    fn phase(&self) -> Phase {
        self.phase
    }

    fn round(&self) -> u32 {
        self.round
    }

    /// The metric if there is one, otherwise the elapsed time in seconds.
    fn value(&self) -> f64 {
        self.metric.unwrap_or_else(|| self.elapsed_ns.as_secs_f64())
    }

    fn is_disturbed(&self) -> bool {
        self.lost_too_much()
    }
}

impl Run {
    /// Value of the figure with this name.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|figure| figure.name.as_deref() == Some(name)).map(|figure| figure.value)
    }
}
