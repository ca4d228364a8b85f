//! The raw facts: what the kernel said and what it allowed when tried.
//!
//! No judgement here. What a kernel refused is kept with its own reason.

use std::path::PathBuf;

use morecores_study::{Bytes, CpuEstimator, CpuSet, Host, Nanos, Neighbour, Quiet};
use rustix::io::Errno;

use crate::cgroup::Version;

/// Everything that a diagnosis rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The machine.
    pub host: Host,
    /// What this process may do.
    pub privilege: Privilege,
    /// BPF.
    pub bpf: Bpf,
    /// What else tracing needs.
    pub tracing: Tracing,
    /// Hardware counters.
    pub counters: Counters,
    /// Cgroups.
    pub groups: Groups,
    /// CPU hotplug.
    pub hotplug: Hotplug,
    /// The clock.
    pub clock: Clock,
    /// Single settings.
    pub settings: Settings,
    /// How busy the machine was while watched.
    pub quiet: Quiet,
    /// Who kept it busy.
    pub neighbours: Vec<Neighbour>,
}

/// Bits of a capability set, `include/uapi/linux/capability.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Capability {
    /// Network administration, which taskstats asks for.
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

/// What this process may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Privilege {
    /// Whether the effective user is root, if only of a container.
    pub root: bool,
    /// Effective capabilities, as in `CapEff`.
    pub capabilities: u64,
    /// Whether we run in a container.
    pub container: bool,
}

impl Privilege {
    /// Whether the process has a capability.
    pub fn has(&self, capability: Capability) -> bool {
        self.capabilities >> (capability as u8) & 1 == 1
    }

    /// Whether we are in a container that lets its root do little: then only who starts it can change that.
    pub fn confined(&self) -> bool {
        self.container && !self.has(Capability::SysAdmin)
    }
}

/// BPF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bpf {
    /// What came of loading a raw tracepoint program of two instructions.
    pub load: Result<(), Errno>,
    /// `kernel.unprivileged_bpf_disabled`: 0 lets everybody load socket filters.
    pub unprivileged_disabled: Option<u8>,
}

/// Whether tracefs can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracefs {
    /// The kernel has no such file system.
    Absent,
    /// Nobody mounted it.
    NotMounted,
    /// Others may read it.
    Closed,
    /// We may.
    Readable,
}

/// What decides how spinlocks are waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spinlocks {
    /// Whether the kernel can adapt itself to hypervisors; absent where its configuration cannot be read.
    pub paravirt: Option<bool>,
    /// Whether it has spinlocks adapted to them, likewise.
    pub paravirt_spinlocks: Option<bool>,
    /// Whether it was told at boot not to use those.
    pub nopvspin: bool,
    /// CPUs that it could ever have.
    pub possible_cpus: usize,
    /// Whether KVM wakes the waiter of such a spinlock; absent where that cannot be asked.
    pub pv_unhalt: Option<bool>,
    /// Whether KVM says that our CPUs are not shared, likewise.
    pub dedicated: Option<bool>,
}

/// What tracing needs beside BPF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracing {
    /// Whether the kernel's types can be read.
    pub btf: bool,
    /// Tracefs.
    pub tracefs: Tracefs,
    /// Those of [`TRACEPOINTS`](morecores_study::trace::TRACEPOINTS) that the kernel lacks; absent where neither tracefs nor BTF tells.
    pub missing_tracepoints: Option<Vec<String>>,
    /// Whether there are kprobes; absent where nothing tells.
    pub kprobes: Option<bool>,
    /// Whether BPF trampolines can be attached to functions; absent where nothing tells.
    pub fentry: Option<bool>,
    /// Spinlocks.
    pub spinlocks: Spinlocks,
    /// What came of opening samples of a whole CPU.
    pub samples: Result<(), Errno>,
    /// What came of asking a process of our own for its context switches, as can be done without privilege.
    pub own_switches: Result<(), Errno>,
    /// Memory that this process may lock; absent where it may lock all.
    pub memlock: Option<Bytes>,
}

/// Hardware counters of this process's own work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    /// What came of counting cycles.
    pub cycles: Result<(), Errno>,
    /// What came of counting instructions.
    pub instructions: Result<(), Errno>,
    /// `kernel.perf_event_paranoid`.
    pub paranoid: Option<i32>,
}

/// What tells the CPU time of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accounting {
    /// A cgroup, and by this estimator.
    Group(CpuEstimator),
    /// Only `getrusage`, because a cgroup could not be made.
    Refused(String),
}

/// The high-water mark of a cgroup's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeakMark {
    /// There is none.
    Absent,
    /// It cannot be set back.
    Fixed,
    /// It can be set back before each run.
    Resettable,
}

/// Whether `--limit cpuset` works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cpusets {
    /// It does, in this version.
    Usable(Version),
    /// The controller is not handed down to us: to be enabled in these files, in this order.
    NotEnabled(Vec<PathBuf>),
    /// It does not.
    Refused(String),
}

/// Cgroups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// Whether any version 1 hierarchy is mounted.
    pub v1: bool,
    /// Where version 2 is mounted, if it is.
    pub v2: Option<PathBuf>,
    /// CPU time.
    pub accounting: Accounting,
    /// Peak memory.
    pub peak: PeakMark,
    /// Cpusets.
    pub cpusets: Cpusets,
    /// Whether systemd, which makes cgroups on demand, runs this machine (sd_booted(3)).
    pub systemd: bool,
}

/// CPU hotplug.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hotplug {
    /// Online CPUs, but CPU 0, that have no switch.
    pub fixed: CpuSet,
    /// Whether we may write to the switches.
    pub writable: bool,
}

/// The clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    /// What reading it costs.
    pub read_cost: Nanos,
    /// The clock sources that the kernel offers.
    pub available: Vec<String>,
}

/// Single settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether we may drop the page cache.
    pub drop_caches: bool,
    /// Kernel ticks per second, where the kernel's configuration can be read.
    pub hz: Option<u32>,
    /// Swap space.
    pub swap: Bytes,
    /// The part of it in use.
    pub swap_used: Bytes,
    /// `kernel.randomize_va_space`.
    pub aslr: Option<u8>,
    /// `transparent_hugepage/enabled`, the choice in force.
    pub huge_pages: Option<String>,
    /// Whether pressure stall information can be read.
    pub pressure: bool,
    /// Whether the kernel has it at all, where the kernel's configuration can be read.
    pub pressure_built: Option<bool>,
    /// Whether the kernel has the taskstats family.
    pub taskstats: Result<(), Errno>,
    /// The file that switches boost, and what to write to switch it off.
    pub boost_switch: Option<(String, String)>,
    /// `smt/control`: `on`, `off`, `forceoff`, `notsupported`, …
    pub smt_control: Option<String>,
    /// Whether the hypervisor says that it tells steal; absent where that cannot be asked.
    pub tells_steal: Option<bool>,
}
