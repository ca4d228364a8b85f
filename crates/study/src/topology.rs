//! CPUs of a machine, and their relations to each other.
//!
//! All facts are those that the kernel reports; a fact that the kernel does not report is absent
//! rather than guessed. Nothing here reads a file or decides which CPUs to use.

use serde::{Deserialize, Serialize};

use crate::usable::Usable;
use crate::{Bytes, CpuId, CpuSet, Kilohertz};

/// CPUs of the machine, their grouping, and the CPUs that may be used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Topology {
    /// CPU numbers that the kernel could ever use, including places for hotplug.
    pub possible: CpuSet,
    /// CPUs that are present, online or not.
    pub present: CpuSet,
    /// CPUs that the scheduler uses.
    pub online: CpuSet,
    /// CPUs that are present but switched off.
    pub offline: CpuSet,
    /// Physical packages (sockets), by number. Offline CPUs are missing, because the kernel does
    /// not place them.
    pub packages: Vec<Package>,
    /// NUMA nodes, by number; empty if the kernel names none.
    pub nodes: Vec<NumaNode>,
    /// Dies; empty unless a package has more than one.
    pub dies: Vec<CpuSet>,
    /// Clusters: cores that share a cache or a bus below the last level. Only clusters larger than
    /// a core and smaller than a package are listed.
    pub clusters: Vec<CpuSet>,
    /// Cores, by their lowest CPU.
    pub cores: Vec<Core>,
    /// Kinds of core, the fastest first; exactly one if all cores are alike.
    pub core_types: Vec<CoreType>,
    /// Caches, each once, by level, kind and lowest CPU.
    pub caches: Vec<CpuCache>,
    /// CPUs that the measured command may use, and the reasons for the limit.
    pub usable: Usable,
    /// Files that could not be read, and the facts that are therefore unknown.
    pub unread: Vec<UnreadFile>,
}

/// Physical package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Package {
    /// Number of the package in the kernel; absent if the kernel gives none, as in some virtual
    /// machines.
    pub id: Option<u32>,
    /// Online CPUs of the package.
    pub cpus: CpuSet,
}

/// NUMA node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct NumaNode {
    /// Number of the node; the numbers may have gaps.
    pub id: u32,
    /// CPUs of the node; empty if the node has only memory.
    pub cpus: CpuSet,
    /// Distance to every online node, in the order of [`Topology::nodes`]; 10 is a node's distance
    /// to itself (ACPI 6.5, table "SLIT"). Empty if unknown.
    pub distances: Vec<u32>,
}

/// Core: hardware threads that share execution units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Core {
    /// Online hardware threads of the core; more than one with SMT.
    pub cpus: CpuSet,
    /// Index into [`Topology::core_types`].
    pub core_type: usize,
    /// Highest clock rate that the core's cpufreq driver reports.
    pub max_frequency: Option<Kilohertz>,
}

/// Kind of core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CoreType {
    /// Property that distinguishes this kind.
    pub class: CoreClass,
    /// Online CPUs of this kind.
    pub cpus: CpuSet,
}

/// Property by which a kind of core is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum CoreClass {
    /// All cores are alike, or the kernel does not distinguish them.
    Uniform,
    /// Performance cores of Intel, `/sys/devices/cpu_core`.
    Performance,
    /// Efficiency cores of Intel, `/sys/devices/cpu_atom`.
    Efficiency,
    /// Low-power efficiency cores of Intel, `/sys/devices/cpu_lowpower`.
    LowPower,
    /// Highest capacity of the kind's cores, on a scale on which the fastest cores have 1024
    /// (`cpu_capacity`).
    Capacity(u32),
    /// Highest performance of the kind's cores, on AMD's scale (`amd_pstate_highest_perf`). This is
    /// a caution: no file says that the kinds differ.
    HighestPerformance(u32),
    /// Highest clock rate of the kind's cores. This is a caution too: no file says that the kinds
    /// differ.
    MaxClock(Kilohertz),
}

/// Cache and the CPUs that share it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CpuCache {
    /// Level of the cache; 1 is nearest to the core.
    pub level: u8,
    /// Content of the cache.
    pub kind: CacheKind,
    /// Size of the cache; absent if the kernel does not report it.
    pub size: Option<Bytes>,
    /// Online CPUs that share the cache.
    pub cpus: CpuSet,
}

/// Content of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum CacheKind {
    /// Data only.
    Data,
    /// Instructions only.
    Instruction,
    /// Data and instructions.
    Unified,
}

/// Fact that the kernel did not report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct UnreadFile {
    /// File or directory that could not be read.
    pub path: String,
    /// Reason for the failure, and the fact that is unknown as a result.
    pub why: String,
}

impl Topology {
    /// Package of `cpu`.
    pub fn package_with(&self, cpu: CpuId) -> Option<&Package> {
        self.packages.iter().find(|p| p.cpus.contains(cpu))
    }

    /// NUMA node of `cpu`.
    pub fn node_with(&self, cpu: CpuId) -> Option<&NumaNode> {
        self.nodes.iter().find(|n| n.cpus.contains(cpu))
    }

    /// Core of which `cpu` is a hardware thread.
    pub fn core_with(&self, cpu: CpuId) -> Option<&Core> {
        self.cores.iter().find(|c| c.cpus.contains(cpu))
    }

    /// Largest number of online hardware threads of a core; 1 without SMT.
    pub fn threads_per_core(&self) -> usize {
        self.cores.iter().map(|c| c.cpus.len()).max().unwrap_or(1).max(1)
    }

    /// Number of cores with at least one hardware thread in `cpus`.
    pub fn cores_in(&self, cpus: &CpuSet) -> usize {
        self.cores.iter().filter(|c| c.cpus.iter().any(|cpu| cpus.contains(cpu))).count()
    }
}
