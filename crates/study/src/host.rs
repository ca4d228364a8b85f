//! Machine on which a study was made.
//!
//! The fields are those that a reader needs to judge or repeat a measurement; none of them
//! identifies a person.

use serde::{Deserialize, Serialize};

use crate::Bytes;
use crate::memory_speed::MemorySpeed;
use crate::topology::Topology;

/// Settings that control the clock rate, as far as the kernel reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Frequency {
    /// Cpufreq governor, if there is one (`performance`, `schedutil`, …).
    pub governor: Option<String>,
    /// Cpufreq driver.
    pub driver: Option<String>,
    /// Whether the clock may rise above its nominal rate.
    pub boost: Option<bool>,
}

/// Machine of a study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Host {
    /// Host name.
    pub hostname: String,
    /// Name of the distribution, `PRETTY_NAME` of os-release.
    pub os: String,
    /// Kernel release, from `uname -r`.
    pub kernel: String,
    /// Hardware architecture, from `uname -m`.
    pub arch: String,
    /// Model name that the CPU reports.
    pub cpu_model: String,
    /// Hypervisor; absent if the CPU does not report one.
    pub hypervisor: Option<String>,
    /// Memory that the kernel manages.
    pub memory_bytes: Bytes,
    /// Kernel clock source: `tsc`, `kvm-clock`, `hpet`, …
    pub clocksource: Option<String>,
    /// Settings that control the clock rate.
    pub frequency: Frequency,
    /// CPUs of the machine, and the reasons why fewer of them may be usable.
    pub topology: Topology,
    /// Speed of the memory; absent if it was not measured since the machine started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_speed: Option<MemorySpeed>,
    /// Fields that a later version wrote.
    #[serde(flatten)]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub unknown: serde_json::Map<String, serde_json::Value>,
}
