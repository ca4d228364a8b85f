//! What a machine allows to be measured: what `morecores doctor --json` prints.
//!
//! Facts and remedies in words, each under a key that does not change. What is found, and how it is laid out
//! on a terminal, is decided elsewhere.

use serde::{Deserialize, Serialize};

use morecores_study::Host;

/// Name of the schema of [`Diagnosis`].
pub const DIAGNOSIS_SCHEMA: &str = "morecores.doctor/1";

/// What a finding is about. In the order in which findings are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The CPUs that a command may use.
    UsableCpus,
    /// Whether others keep the machine busy.
    Quiet,
    /// What tells user and system time.
    CpuTime,
    /// The peak memory of the whole tree.
    PeakMemory,
    /// `--limit cpuset`.
    LimitCpuset,
    /// `--limit hotplug`.
    LimitHotplug,
    /// `--cold`.
    ColdCache,
    /// The kernel's statistics of each task at its exit.
    Taskstats,
    /// Root, or capabilities.
    Privilege,
    /// Loading of BPF programs.
    Bpf,
    /// The kernel's description of its own types.
    Btf,
    /// The file system of tracepoints.
    Tracefs,
    /// The tracepoints that a trace needs.
    Tracepoints,
    /// Which waits for kernel locks a trace sees.
    KernelLocks,
    /// Samples of whole CPUs.
    Samples,
    /// Context switches of processes of one's own, without privilege.
    OwnSwitches,
    /// Probes at any kernel instruction.
    Kprobes,
    /// Probes at the entry and exit of kernel functions.
    Fentry,
    /// Memory that may be locked.
    LockedMemory,
    /// Cycles and instructions.
    HardwareCounters,
    /// The clock that times are taken from.
    Clock,
    /// What sets the clock rate.
    ClockRate,
    /// Clock rates above the nominal one.
    Boost,
    /// Hardware threads that share a core.
    Smt,
    /// Cores of different kinds.
    CoreTypes,
    /// The hypervisor, and whether it tells what it takes.
    Hypervisor,
    /// The kernel's own clock tick.
    Tick,
    /// Swap space.
    Swap,
    /// Pressure stall information.
    Pressure,
    /// Randomised addresses.
    Aslr,
    /// Transparent huge pages.
    HugePages,
}

/// Three groups of subjects, for reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Area {
    /// What timing needs.
    Measuring,
    /// What tracing needs.
    Tracing,
    /// What shapes every figure.
    Machine,
}

impl Subject {
    /// The group it belongs to.
    pub const fn area(self) -> Area {
        match self {
            Self::UsableCpus
            | Self::Quiet
            | Self::CpuTime
            | Self::PeakMemory
            | Self::LimitCpuset
            | Self::LimitHotplug
            | Self::ColdCache
            | Self::Taskstats => Area::Measuring,
            Self::Privilege
            | Self::Bpf
            | Self::Btf
            | Self::Tracefs
            | Self::Tracepoints
            | Self::KernelLocks
            | Self::Samples
            | Self::OwnSwitches
            | Self::Kprobes
            | Self::Fentry
            | Self::LockedMemory
            | Self::HardwareCounters => Area::Tracing,
            Self::Clock
            | Self::ClockRate
            | Self::Boost
            | Self::Smt
            | Self::CoreTypes
            | Self::Hypervisor
            | Self::Tick
            | Self::Swap
            | Self::Pressure
            | Self::Aslr
            | Self::HugePages => Area::Machine,
        }
    }
}

/// How a finding stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// As it should be, or plain information.
    Fine,
    /// Works in part, or may spoil a measurement.
    Limited,
    /// Not to be had.
    Missing,
}

/// What can be done about a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Remedy {
    /// One command to type.
    Command {
        /// The command for a shell, `sudo` included where it is needed. `COMMAND` stands for what is measured.
        command: String,
        /// Whether it needs root.
        root: bool,
        /// Whether it takes effect at the next boot only.
        reboot: bool,
    },
    /// No command on this machine helps.
    Nothing {
        /// Why not, and what else might be done.
        why: String,
    },
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What.
    pub what: Subject,
    /// How it stands.
    pub state: State,
    /// What was found: one clause without a full stop.
    pub fact: String,
    /// What it matters for: a noun phrase.
    pub matters: String,
    /// What can be done; absent exactly where all is fine.
    pub remedy: Option<Remedy>,
}

/// Everything that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// [`DIAGNOSIS_SCHEMA`].
    pub schema: String,
    /// The machine.
    pub host: Host,
    /// One for each subject that applies here, in the order of [`Subject`].
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    /// The finding about `what`.
    pub fn about(&self, what: Subject) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.what == what)
    }
}
