//! Diagnosis of the measurements that a machine allows; `morecores doctor --json` prints it.
//!
//! The facts and remedies are text, each under a key that does not change. Other modules produce
//! the findings and lay them out on a terminal.

use serde::{Deserialize, Serialize};

use morecores_study::Host;

/// Schema name of [`Diagnosis`].
pub const DIAGNOSIS_SCHEMA: &str = "morecores.doctor/1";

/// Facility of a finding. The variants are in the order of the findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckedFacility {
    /// CPUs that a command may use.
    UsableCpus,
    /// Activity of other programs on the machine.
    Quiet,
    /// Source of user and system time.
    CpuTime,
    /// Peak memory of the whole tree.
    PeakMemory,
    /// `--limit cpuset`.
    LimitCpuset,
    /// `--limit hotplug`.
    LimitHotplug,
    /// `--cold`.
    ColdCache,
    /// Kernel statistics of each task at its exit.
    Taskstats,
    /// Root rights or capabilities.
    Privilege,
    /// Loading of BPF programs.
    Bpf,
    /// The kernel's description of its own types.
    Btf,
    /// File system of tracepoints.
    Tracefs,
    /// Tracepoints that a trace needs.
    Tracepoints,
    /// Waits for kernel locks that a trace can see.
    KernelLocks,
    /// Samples of whole CPUs.
    Samples,
    /// Context switches of the user's own processes, without privilege.
    OwnSwitches,
    /// Probes at any kernel instruction.
    Kprobes,
    /// Probes at the entry and exit of kernel functions.
    Fentry,
    /// Memory that the process may lock.
    LockedMemory,
    /// Cycles and instructions.
    HardwareCounters,
    /// Clock that gives all times.
    Clock,
    /// Control of the clock rate.
    ClockRate,
    /// Clock rates above the nominal one.
    Boost,
    /// Hardware threads that share a core.
    Smt,
    /// Cores of different kinds.
    CoreTypes,
    /// The hypervisor, and whether it reports the time that it takes.
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

/// Group of subjects, for readability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Area {
    /// Requirements of timing.
    Measuring,
    /// Requirements of tracing.
    Tracing,
    /// Properties of the machine that affect every figure.
    Machine,
}

impl CheckedFacility {
    /// Group of the subject.
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

/// State of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Works as it should, or is mere information.
    Fine,
    /// Works in part, or may distort a measurement.
    Limited,
    /// Not available.
    Missing,
}

/// Remedy for a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Remedy {
    /// One command to type.
    Command {
        /// Shell command, with `sudo` if needed. `COMMAND` stands for the measured command.
        command: String,
        /// Whether the command needs root.
        root: bool,
        /// Whether the command takes effect only at the next boot.
        reboot: bool,
    },
    /// No command on this machine helps.
    Nothing {
        /// Reason, and any alternative.
        why: String,
    },
}

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Facility of the check.
    pub what: CheckedFacility,
    /// State of the subject.
    pub state: State,
    /// Observed fact: one clause without a full stop.
    pub fact: String,
    /// Figure or option that the fact affects: a noun phrase.
    pub matters: String,
    /// Remedy; absent exactly if the state is fine.
    pub remedy: Option<Remedy>,
}

/// All findings about a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// Schema name, [`DIAGNOSIS_SCHEMA`].
    pub schema: String,
    /// Description of the machine.
    pub host: Host,
    /// Findings for each subject that applies here, in the order of [`CheckedFacility`].
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    /// Finding about `what`.
    pub fn finding(&self, what: CheckedFacility) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.what == what)
    }
}
