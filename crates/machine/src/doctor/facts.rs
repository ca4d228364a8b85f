//! Raw facts: the kernel's information, and its answers to attempts.
//!
//! This module does not judge. Each refusal of the kernel is kept with its own reason.

use std::path::PathBuf;

use morecores_study::{Bytes, CpuEstimator, CpuSet, Host, Nanos, OtherProgram, Quiet};
use rustix::io::Errno;

use crate::cgroup::Version;

/// All facts for a diagnosis.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Description of the machine.
    pub host: Host,
    /// Privilege of this process.
    pub privilege: Privilege,
    /// Facts about BPF.
    pub bpf: Bpf,
    /// Requirements of tracing besides BPF.
    pub tracing: Tracing,
    /// Facts about hardware counters.
    pub counters: Counters,
    /// Facts about cgroups.
    pub groups: Groups,
    /// Facts about CPU hotplug.
    pub hotplug: Hotplug,
    /// Facts about the clock.
    pub clock: Clock,
    /// Individual settings.
    pub settings: Settings,
    /// Activity of the machine while it was watched.
    pub quiet: Quiet,
    /// Programs that kept the machine busy.
    pub other_programs: Vec<OtherProgram>,
}

/// Bit of a capability set, from `include/uapi/linux/capability.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Capability {
    /// Network administration, which taskstats requires.
    NetAdmin = 12,
    /// The old catch-all; includes `PerfMon` and `Bpf`.
    SysAdmin = 21,
    /// Resource limits.
    SysResource = 24,
    /// Performance monitoring, since Linux 5.8.
    PerfMon = 38,
    /// BPF, since Linux 5.8.
    Bpf = 39,
}

/// Privilege of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Privilege {
    /// Whether the effective user is root, possibly only of a container.
    pub root: bool,
    /// Effective capabilities, as in `CapEff`.
    pub capabilities: u64,
    /// Whether the process runs in a container.
    pub container: bool,
}

impl Privilege {
    /// Whether the process has a capability.
    pub fn has(&self, capability: Capability) -> bool {
        self.capabilities >> (capability as u8) & 1 == 1
    }

    /// Whether the process runs in a container that restricts its root. Only the person who starts
    /// the container can change that.
    pub fn is_confined(&self) -> bool {
        self.container && !self.has(Capability::SysAdmin)
    }
}

/// Facts about BPF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bpf {
    /// Result of loading a raw tracepoint program of two instructions.
    pub load: Result<(), Errno>,
    /// `kernel.unprivileged_bpf_disabled`: 0 lets every user load socket filters.
    pub unprivileged_disabled: Option<u8>,
}

/// Accessibility of tracefs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracefs {
    /// The kernel has no such file system.
    Absent,
    /// The file system is not mounted.
    NotMounted,
    /// Only other users may read the file system.
    Closed,
    /// This process may read the file system.
    Readable,
}

/// Properties that decide how the kernel waits for spinlocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spinlocks {
    /// Whether the kernel can adapt itself to hypervisors; absent if its configuration cannot be
    /// read.
    pub paravirt: Option<bool>,
    /// Whether the kernel has spinlocks for hypervisors; absent if its configuration cannot be
    /// read.
    pub paravirt_spinlocks: Option<bool>,
    /// Whether a boot option disables those spinlocks.
    pub nopvspin: bool,
    /// Largest number of CPUs that the kernel could ever have.
    pub possible_cpus: usize,
    /// Whether KVM wakes a waiter of a paravirtual spinlock; absent if CPUID cannot tell.
    pub pv_unhalt: Option<bool>,
    /// Whether KVM states that the CPUs are not shared; absent if CPUID cannot tell.
    pub dedicated: Option<bool>,
}

/// Requirements of tracing besides BPF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracing {
    /// Whether the kernel's types can be read.
    pub btf: bool,
    /// Accessibility of tracefs.
    pub tracefs: Tracefs,
    /// Tracepoints of [`TRACEPOINTS`](morecores_study::trace::TRACEPOINTS) that the kernel lacks;
    /// absent if neither tracefs nor BTF can be read.
    pub missing_tracepoints: Option<Vec<String>>,
    /// Whether the kernel has kprobes; absent if this cannot be determined.
    pub kprobes: Option<bool>,
    /// Whether BPF trampolines can be attached to functions; absent if this cannot be determined.
    pub fentry: Option<bool>,
    /// Properties of spinlocks.
    pub spinlocks: Spinlocks,
    /// Result of opening samples of a whole CPU.
    pub samples: Result<(), Errno>,
    /// Result of requesting the context switches of a process of the same user, which needs no
    /// privilege.
    pub own_switches: Result<(), Errno>,
    /// Memory that this process may lock; absent if it is unlimited.
    pub memlock: Option<Bytes>,
}

/// Hardware counters of this process's own work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Result of counting cycles.
    pub cycles: Result<(), Errno>,
    /// Result of counting instructions.
    pub instructions: Result<(), Errno>,
    /// `kernel.perf_event_paranoid`.
    pub paranoid: Option<i32>,
}

/// Source of a tree's CPU time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accounting {
    /// A cgroup, with its estimator.
    Group(CpuEstimator),
    /// Only `getrusage`, because no cgroup could be created.
    Refused(String),
}

/// High-water mark of a cgroup's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeakMark {
    /// The cgroup has no mark.
    Absent,
    /// The mark cannot be reset.
    Fixed,
    /// The mark can be reset before each run.
    Resettable,
}

/// Availability of `--limit cpuset`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cpusets {
    /// Usable, in this cgroup version.
    Usable(Version),
    /// The parent cgroups do not enable the controller. It must be enabled in these files, in this
    /// order.
    NotEnabled(Vec<PathBuf>),
    /// Refused, for this reason.
    Refused(String),
}

/// Facts about cgroups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// Whether any version 1 hierarchy is mounted.
    pub v1: bool,
    /// Mount point of version 2, if it is mounted.
    pub v2: Option<PathBuf>,
    /// Source of CPU time.
    pub accounting: Accounting,
    /// Peak memory of the group.
    pub peak: PeakMark,
    /// Availability of cpusets.
    pub cpusets: Cpusets,
    /// Whether systemd, which creates cgroups on demand, runs this machine (sd_booted(3)).
    pub systemd: bool,
}

/// Facts about CPU hotplug.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hotplug {
    /// Online CPUs without a switch, except CPU 0.
    pub fixed: CpuSet,
    /// Whether this process may write to the switches.
    pub writable: bool,
}

/// Facts about the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Cost of one reading.
    pub read_cost: Nanos,
    /// Clock sources that the kernel offers.
    pub available: Vec<String>,
}

/// Individual settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether this process may drop the page cache.
    pub drop_caches: bool,
    /// Time between two ticks of the kernel.
    pub tick: Nanos,
    /// Size of the swap space.
    pub swap: Bytes,
    /// Swap space in use.
    pub swap_used: Bytes,
    /// `kernel.randomize_va_space`.
    pub aslr: Option<u8>,
    /// Active choice of `transparent_hugepage/enabled`.
    pub huge_pages: Option<String>,
    /// Whether pressure stall information can be read.
    pub pressure: bool,
    /// Whether the kernel supports pressure stall information; absent if the kernel's configuration
    /// cannot be read.
    pub pressure_built: Option<bool>,
    /// Whether the kernel has the taskstats family, or its error.
    pub taskstats: Result<(), Errno>,
    /// File that switches boost, and the value that switches it off.
    pub boost_switch: Option<(String, String)>,
    /// `smt/control`: `on`, `off`, `forceoff`, `notsupported`, …
    pub smt_control: Option<String>,
    /// Whether the hypervisor states that it reports steal time; absent if CPUID cannot tell.
    pub tells_steal: Option<bool>,
}
