//! Simulated machine: what its busy CPUs do to each other, and the costs of its operations.

use morecores_study::CpuKind;

/// Memory shared by busy CPUs: with `k` busy CPUs, work takes `1 + a·(k-1)^p / (1 + b·(k-1))`
/// times as long.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Memory {
    /// Size of the slowdown.
    pub(crate) a: f64,
    /// Exponent of the slowdown.
    pub(crate) p: f64,
    /// Strength of the levelling off.
    pub(crate) b: f64,
}

impl Memory {
    /// Factor on the time of work with `busy` working CPUs.
    pub(crate) fn slowdown(&self, busy: u32) -> f64 {
        let others = f64::from(busy.max(1) - 1);
        1.0 + self.a * others.powf(self.p) / (1.0 + self.b * others)
    }
}

/// Costs of the machine's operations for a program, in nanoseconds of a CPU, about as large as on a
/// current virtual machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MachineCosts {
    /// Least delay of an idle CPU before it starts a thread; at most, the delay is twice as long.
    pub(crate) wake_latency: u64,
    /// Switch from one thread to another.
    pub(crate) switch: f64,
    /// Creation of a process, exec, and exit.
    pub(crate) fork: f64,
    pub(crate) exec: f64,
    pub(crate) exit: f64,
    /// Creation and exit of a thread.
    pub(crate) clone: f64,
    pub(crate) thread_exit: f64,
    /// System call with little work, such as a wake-up.
    pub(crate) call: f64,
}

impl MachineCosts {
    /// Machine whose operations cost nothing, for tests with known answers.
    pub(crate) const FREE: Self = Self {
        wake_latency: 0,
        switch: 0.0,
        fork: 0.0,
        exec: 0.0,
        exit: 0.0,
        clone: 0.0,
        thread_exit: 0.0,
        call: 0.0,
    };
}

/// Capacity of the machine, whatever the program does: with more busy CPUs than it serves at full
/// speed, all of them get slower.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Capacity {
    /// Number of busy CPUs that use all of the memory's bandwidth; absent without a limit.
    pub(crate) bandwidth: Option<f64>,
    /// Cores with two hardware threads each; absent if every CPU is a core.
    pub(crate) siblings: Option<Siblings>,
}

/// Second hardware threads of a machine's cores, which start after the first threads of all cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Siblings {
    /// Number of cores.
    pub(crate) cores: u32,
    /// Work of a second hardware thread, relative to that of the first alone.
    pub(crate) share: f64,
}

impl Capacity {
    /// Factor on the time of work with `busy` working CPUs.
    pub(crate) fn slowdown(&self, busy: u32) -> f64 {
        let busy = f64::from(busy.max(1));
        let mut capacity = busy;
        if let Some(Siblings { cores, share }) = self.siblings {
            let cores = f64::from(cores);
            capacity = busy.min(cores) + share * (busy - cores).max(0.0);
        }
        busy / capacity.min(self.bandwidth.unwrap_or(f64::INFINITY))
    }

    /// Number of CPUs of the machine; absent without a limit.
    pub(crate) fn cpus(&self) -> Option<u32> {
        self.siblings.map(|siblings| 2 * siblings.cores)
    }

    /// Kind of each CPU; empty if all are alike.
    pub(crate) fn cpu_kinds(&self) -> Vec<CpuKind> {
        let Some(Siblings { cores, .. }) = self.siblings else { return Vec::new() };
        let kind = |cpu: u32| if cpu < cores { CpuKind::Core } else { CpuKind::SmtSibling };
        (0..2 * cores).map(kind).collect()
    }
}
