//! The machine a study was made on.
//!
//! What a reader needs in order to judge or repeat a measurement; nothing that identifies a person.

use serde::{Deserialize, Serialize};

use crate::{Bytes, Topology};

/// What keeps the clock rate where it is, as far as the kernel tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Frequency {
    /// The cpufreq governor, where there is one (`performance`, `schedutil`, …).
    pub governor: Option<String>,
    /// The cpufreq driver.
    pub driver: Option<String>,
    /// Whether the clock may rise above its nominal rate.
    pub boost: Option<bool>,
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Host {
    /// Its name.
    pub hostname: String,
    /// The distribution's own words, `PRETTY_NAME` of os-release.
    pub os: String,
    /// `uname -r`.
    pub kernel: String,
    /// `uname -m`.
    pub arch: String,
    /// The CPU's own name.
    pub cpu_model: String,
    /// The hypervisor, where the CPU says that there is one.
    pub hypervisor: Option<String>,
    /// Memory that the kernel manages.
    pub memory_bytes: Bytes,
    /// `tsc`, `kvm-clock`, `hpet`, …
    pub clocksource: Option<String>,
    /// Clock rate and who changes it.
    pub frequency: Frequency,
    /// Its CPUs, and why fewer of them may be usable.
    pub topology: Topology,
    /// Fields written by a later version.
    #[serde(flatten)]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub unknown: serde_json::Map<String, serde_json::Value>,
}
