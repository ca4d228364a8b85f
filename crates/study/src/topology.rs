//! What CPUs a machine has and how they hang together.
//!
//! Everything is as the kernel tells it; what it does not tell is absent rather than guessed. Nothing here
//! reads a file or decides which CPUs to use.

use serde::{Deserialize, Serialize};

use crate::{Bytes, CpuId, CpuSet, Kilohertz, Usable};

/// The machine's CPUs, their order of kinship, and which of them may be used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Topology {
    /// CPU numbers the kernel could ever use, places for hotplug included.
    pub possible: CpuSet,
    /// CPUs that are there, online or not.
    pub present: CpuSet,
    /// CPUs the scheduler uses.
    pub online: CpuSet,
    /// CPUs that are there but switched off.
    pub offline: CpuSet,
    /// Physical packages (sockets), by number. Without the offline CPUs: the kernel does not place those.
    pub packages: Vec<Package>,
    /// NUMA nodes, by number; empty where the kernel names none.
    pub nodes: Vec<NumaNode>,
    /// Dies, where a package has more than one.
    pub dies: Vec<CpuSet>,
    /// Clusters, where they are larger than a core and smaller than a package: cores that share a cache or
    /// a bus below the last level.
    pub clusters: Vec<CpuSet>,
    /// Cores, by their lowest CPU.
    pub cores: Vec<Core>,
    /// Kinds of core, the fastest first; exactly one where all are alike.
    pub core_types: Vec<CoreType>,
    /// Every cache once, by level, kind and lowest CPU.
    pub caches: Vec<CpuCache>,
    /// Which CPUs the measured command may use, and why not more.
    pub usable: Usable,
    /// What could not be read, and what is therefore unknown.
    pub unread: Vec<Unread>,
}

/// A physical package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Package {
    /// The kernel's number of it; absent where it gives none, as in some virtual machines.
    pub id: Option<u32>,
    /// Its online CPUs.
    pub cpus: CpuSet,
}

/// A NUMA node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct NumaNode {
    /// Its number; numbers may have gaps.
    pub id: u32,
    /// Its CPUs; none in a node of memory alone.
    pub cpus: CpuSet,
    /// Distance to every online node, in the order of [`Topology::nodes`]; 10 is a node's distance to itself
    /// (ACPI 6.5, table "SLIT"). Empty where unknown.
    pub distances: Vec<u32>,
}

/// A core: hardware threads that share execution units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Core {
    /// Its online hardware threads; more than one with SMT.
    pub cpus: CpuSet,
    /// Index into [`Topology::core_types`].
    pub core_type: usize,
    /// Highest clock rate its cpufreq driver promises.
    pub max_frequency: Option<Kilohertz>,
}

/// A kind of core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CoreType {
    /// What sets it apart.
    pub class: CoreClass,
    /// Its online CPUs.
    pub cpus: CpuSet,
}

/// By what a kind of core is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum CoreClass {
    /// All cores are alike, or the kernel does not tell them apart.
    Uniform,
    /// Intel's performance cores, `/sys/devices/cpu_core`.
    Performance,
    /// Intel's efficiency cores, `/sys/devices/cpu_atom`.
    Efficiency,
    /// Intel's low-power efficiency cores, `/sys/devices/cpu_lowpower`.
    LowPower,
    /// Cores of this capacity, where the fastest have 1024 (`cpu_capacity`); the highest of its cores.
    Capacity(u32),
    /// Cores whose highest performance on AMD's scale is this (`amd_pstate_highest_perf`); the highest of its cores. A
    /// caution: no file says that the kinds differ.
    HighestPerformance(u32),
    /// Cores of this highest clock rate; the highest of its cores. A caution, likewise.
    MaxClock(Kilohertz),
}

/// A cache and the CPUs that share it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CpuCache {
    /// 1 is nearest to the core.
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// Its size, where told.
    pub size: Option<Bytes>,
    /// The online CPUs that share it.
    pub cpus: CpuSet,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum CacheKind {
    /// Data alone.
    Data,
    /// Instructions alone.
    Instruction,
    /// Both.
    Unified,
}

/// Something the kernel did not tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Unread {
    /// The file or directory.
    pub path: String,
    /// Why not, and what is unknown without it.
    pub why: String,
}

impl Topology {
    /// The package that `cpu` is in.
    pub fn package_of(&self, cpu: CpuId) -> Option<&Package> {
        self.packages.iter().find(|p| p.cpus.contains(cpu))
    }

    /// The NUMA node that `cpu` is in.
    pub fn node_of(&self, cpu: CpuId) -> Option<&NumaNode> {
        self.nodes.iter().find(|n| n.cpus.contains(cpu))
    }

    /// The core that `cpu` is a thread of.
    pub fn core_of(&self, cpu: CpuId) -> Option<&Core> {
        self.cores.iter().find(|c| c.cpus.contains(cpu))
    }

    /// The most online hardware threads that any core has; 1 without SMT.
    pub fn threads_per_core(&self) -> usize {
        self.cores.iter().map(|c| c.cpus.len()).max().unwrap_or(1).max(1)
    }

    /// How many cores have at least one thread in `cpus`.
    pub fn cores_in(&self, cpus: &CpuSet) -> usize {
        self.cores.iter().filter(|c| c.cpus.iter().any(|cpu| cpus.contains(cpu))).count()
    }
}
