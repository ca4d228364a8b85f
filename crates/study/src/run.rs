//! One run of the command: the line that is appended to `runs.jsonl` the moment the run ends.
//!
//! Only what was measured; a median or a ratio has no place here. What could not be read is absent, never zero.

mod failure;

use serde::{Deserialize, Serialize};

use crate::{Bytes, CpuSet, Limit, Nanos};

pub use failure::{Failure, MissingFigure};

/// Whether a run counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before the timed runs; recorded, never used for an estimate.
    Warmup,
    /// Counts.
    Timed,
    /// Traced, after the timed ones: kept with its trace and not among the runs, never used for an estimate of time.
    Traced,
}

/// How the main process of a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It exited with this status.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// This signal stopped it, nothing let it go on, and it was ended.
    Stopped(i32),
    /// It ran past the time limit and was ended.
    TimedOut,
}

impl Exit {
    /// Whether a process ended by itself with status 0. Whether a run of a study counts, its plan says: [`Run::counts`].
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Code(0))
    }
}

/// Where the user and system times of a run come from; see `docs/methods/measure.md`, "User and system time".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum CpuEstimator {
    /// `cpu.stat` of a version 2 cgroup that held the tree.
    Cgroup,
    /// `cpuacct` of a version 1 cgroup that held the tree, its exact usage split by its raw ticks.
    CgroupV1,
    /// The raw ticks in user mode that the kernel reports of each task that exits (taskstats), and the rest of the
    /// exact total.
    Taskstats,
    /// `getrusage(2)`: scaled per process, so that a short process is all user time. Also misses processes
    /// that nobody waited for.
    Getrusage,
}

impl CpuEstimator {
    /// The name used beside every figure.
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
    /// In user mode.
    pub user_ns: Nanos,
    /// In the kernel.
    pub system_ns: Nanos,
    /// How it was told.
    pub estimator: CpuEstimator,
}

/// What the kernel counted for the command's tree in `struct rusage`: the main process, every descendant that
/// was waited for, and the orphans that fell to morecores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rusage {
    /// User time as scaled by the kernel per process.
    pub user_ns: Nanos,
    /// System time, likewise.
    pub system_ns: Nanos,
    /// Largest resident set of any one process. Never below what the starting process itself had resident
    /// (`exec` inherits the mark), which is [`Run::max_rss_floor_bytes`].
    pub max_rss_bytes: Bytes,
    /// Page faults served without a device.
    pub minor_faults: u64,
    /// Page faults that needed a device.
    pub major_faults: u64,
    /// Times a thread gave up its CPU to wait.
    pub voluntary_switches: u64,
    /// Times a thread was taken off its CPU.
    pub involuntary_switches: u64,
    /// Read from block devices.
    pub block_read_bytes: Bytes,
    /// Written towards block devices.
    pub block_written_bytes: Bytes,
}

/// What only a cgroup can tell of the tree as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeUsage {
    /// Peak memory of the whole tree, page cache that it brought in included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<Bytes>,
    /// The same without what was still charged when the tree had ended, page cache for the most part: what it needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed_memory_bytes: Option<Bytes>,
    /// The smallest memory limit of the cgroups around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<Bytes>,
    /// What the kernel killed for memory; absent where that was nothing, or is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub killed_for_memory: Option<MemoryKills>,
    /// Pages read back from swap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swapped_in_pages: Option<u64>,
    /// Pages written to swap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swapped_out_pages: Option<u64>,
    /// Read from block devices, also by processes that nobody waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_read_bytes: Option<Bytes>,
    /// Written to block devices, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_written_bytes: Option<Bytes>,
}

/// Processes that the kernel killed for memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryKills {
    /// Number of processes, by `oom_kill` of the cgroup.
    pub count: u64,
    /// Their names, each once; empty where the kernel's log does not tell them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

/// What the machine did since it was last looked at: over the run, and over any shorter runs before it, since
/// its clocks count in steps of 10 ms and are not read more often than that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surroundings {
    /// The wall time that these figures cover.
    pub covers_ns: Nanos,
    /// Time that a hypervisor took from the allotted CPUs.
    pub steal_ns: Nanos,
    /// Time for which a CPU quota of this or an enclosing cgroup held the tree back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<Nanos>,
    /// Time for which the allotted CPUs did any work, the tree's and everybody else's, interrupts included.
    pub busy_allotted_ns: Nanos,
    /// The same for all other online CPUs.
    pub busy_elsewhere_ns: Nanos,
    /// CPU time of the tree meanwhile.
    pub tree_ns: Nanos,
    /// CPU time of morecores itself meanwhile.
    pub own_ns: Nanos,
    /// Disks and wires that were busy for a hundredth of the time or more, the busiest first, whoever used them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceTime>,
}

/// How long a disk had anything to do, or how long the wire of a network interface takes for what went through it in the busier
/// direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceTime {
    /// As the kernel calls it.
    pub name: String,
    /// How long.
    pub busy_ns: Nanos,
}

/// A figure that the command printed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Name of its metric; absent where that has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its value, in the unit of the study's first figure of this metric.
    pub value: f64,
    /// The number as the command printed it.
    pub text: String,
    /// The unit that the command printed beside it, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Position in the order of execution, from 0, counting every run of the study.
    pub index: u32,
    /// The round it belongs to, from 0; warm-up rounds have numbers of their own.
    pub round: u32,
    /// Whether it counts.
    pub phase: Phase,
    /// How many CPUs it was allotted.
    pub cpus: u32,
    /// What `{n}` was.
    pub n: u32,
    /// The CPUs it was allotted.
    pub cpu_set: CpuSet,
    /// How it was held to them.
    pub limit: Limit,
    /// When it began: nanoseconds of `CLOCK_REALTIME` since 1970.
    pub started_at_ns: Nanos,
    /// From the main process's `exec` to its exit.
    pub elapsed_ns: Nanos,
    /// How the main process ended.
    pub exit: Exit,
    /// User and system time by the best estimator there was.
    pub cpu: CpuTime,
    /// The kernel's own counts for the tree.
    pub rusage: Rusage,
    /// What `rusage.max_rss_bytes` can at least be on this machine.
    pub max_rss_floor_bytes: Bytes,
    /// What the tree's cgroup told.
    #[serde(default)]
    pub tree: TreeUsage,
    /// What went on around the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surroundings: Option<Surroundings>,
    /// The figure that the command printed, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<f64>,
    /// All figures that were asked for, in the order of the plan, that of `metric` first; none in studies of versions
    /// that kept the value alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
    /// The figure that was asked for and is not there, or cannot be told from another; the run has then failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingFigure>,
    /// Processes that outlived the main process, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub survivors: Vec<String>,
    /// Fields written by a later version.
    #[serde(flatten)]
    pub unknown: serde_json::Map<String, serde_json::Value>,
}

impl Run {
    /// The value of the figure of this name.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|figure| figure.name.as_deref() == Some(name)).map(|figure| figure.value)
    }
}
