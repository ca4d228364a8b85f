//! Clocks of the machine's CPUs: the work of each CPU, and the time that a hypervisor or a quota
//! took from it.
//!
//! The clocks count in steps of 10 ms ([`user_tick`]), so they are not read more often.
//! [`ActivityMonitor`] carries activity that is not yet visible over to the next reading. This
//! module does not judge whether a machine is fit to measure on.

mod devices;
mod other_programs;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use morecores_study::{CpuId, CpuSet, Nanos, Quiet, Surroundings};

use crate::cgroup::{Hierarchies, Version};
use crate::clock::{monotonic, process_cpu, user_tick};

pub use other_programs::OtherProgramMonitor;

use devices::{DeviceReading, Devices};

/// Time for which the machine is watched while nothing is measured: fifty ticks.
pub const QUIET_TIME: Duration = Duration::from_millis(500);

/// Times of one CPU since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuClock {
    /// Time of any work: user, kernel, interrupts.
    pub busy: Nanos,
    /// Time that a hypervisor took.
    pub steal: Nanos,
}

/// Clocks of every online CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuClocks(Vec<(CpuId, CpuClock)>);

impl CpuClocks {
    /// Reads the clocks; empty if `/proc/stat` cannot be read.
    pub fn read() -> Self {
        Self::parse(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// Parses the lines `cpuN user nice system idle iowait irq softirq steal guest guest_nice` of
    /// proc_stat(5). User time already includes guest time.
    /// `procfs` would also parse the rest of the file, thousands of interrupt counts, around every
    /// run.
    fn parse(stat: &str) -> Self {
        let tick = user_tick();
        let line = |line: &str| {
            let (name, values) = line.split_once(' ')?;
            let cpu = name.strip_prefix("cpu")?.parse().ok()?;
            let mut ticks = [0; 8];
            for (count, value) in ticks.iter_mut().zip(values.split_ascii_whitespace()) {
                *count = value.parse::<u64>().ok()?;
            }
            let [user, nice, system, _idle, _iowait, irq, softirq, steal] = ticks;
            let time = |ticks: u64| Nanos(ticks * tick.0);
            Some((
                CpuId(cpu),
                CpuClock { busy: time(user + nice + system + irq + softirq), steal: time(steal) },
            ))
        };
        // The lines of the CPUs come first, after the line of their sum.
        Self(stat.lines().take_while(|l| l.starts_with("cpu")).filter_map(line).collect())
    }

    /// Whether the clocks could not be read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Times since `earlier`, summed over the CPUs that `within` accepts. A CPU that was not online
    /// at both readings is left out.
    pub fn since(&self, earlier: &Self, within: impl Fn(CpuId) -> bool) -> CpuClock {
        let mut sum = CpuClock::default();
        for (cpu, now) in self.0.iter().filter(|(cpu, _)| within(*cpu)) {
            let Some((_, then)) = earlier.0.iter().find(|(c, _)| c == cpu) else { continue };
            sum.busy += now.busy.since(then.busy);
            sum.steal += now.steal.since(then.steal);
        }
        sum
    }
}

/// Watches the machine around runs.
#[derive(Debug)]
pub struct ActivityMonitor {
    throttles: Vec<ThrottleFile>,
    devices: Devices,
    device_times: DeviceReading,
    clocks: CpuClocks,
    throttled: Nanos,
    read_at: Nanos,
    /// CPU time of the tree since the last reading of the clocks.
    tree: Nanos,
    /// CPU time of this process at the last reading of the clocks.
    own: Nanos,
}

/// `cpu.stat` file of a cgroup whose quota applies to the command.
#[derive(Debug)]
struct ThrottleFile {
    file: PathBuf,
    version: Version,
}

impl ActivityMonitor {
    /// Starts watching.
    pub fn new(hierarchies: &Hierarchies) -> Self {
        let dir = hierarchies.controller("cpu");
        let throttles = dir.into_iter().flat_map(|dir| {
            dir.ancestors().map(|path| ThrottleFile { file: path.join("cpu.stat"), version: dir.version() })
        });
        let mut watch = Self {
            throttles: throttles.collect(),
            devices: Devices::find(),
            device_times: DeviceReading::default(),
            clocks: CpuClocks::default(),
            throttled: Nanos::ZERO,
            read_at: Nanos::ZERO,
            tree: Nanos::ZERO,
            own: Nanos::ZERO,
        };
        watch.restart();
        watch
    }

    /// Adds the quota of a version 2 cgroup that is beside this process's cgroup and not above it.
    pub fn watch_throttling(&mut self, cgroup: &Path) {
        self.throttles.push(ThrottleFile { file: cgroup.join("cpu.stat"), version: Version::V2 });
        self.restart();
    }

    /// Discards the activity since the last reading, because no run caused it.
    pub fn restart(&mut self) {
        self.clocks = CpuClocks::read();
        self.device_times = self.devices.read();
        self.throttled = self.total_throttled();
        self.read_at = monotonic();
        self.tree = Nanos::ZERO;
        self.own = process_cpu();
    }

    /// Activity since the last reading, after a run that used `tree` of CPU time on `allotted`.
    /// `None` if the interval is shorter than a clock tick.
    pub fn run_surroundings(&mut self, tree: Nanos, allotted: &CpuSet) -> Option<Surroundings> {
        self.tree += tree;
        let now = monotonic();
        if now.since(self.read_at) < user_tick() {
            return None;
        }
        let (clocks, device_times) = (CpuClocks::read(), self.devices.read());
        let here = clocks.since(&self.clocks, |cpu| allotted.contains(cpu));
        let elsewhere = clocks.since(&self.clocks, |cpu| !allotted.contains(cpu));
        let (throttled, own) = (self.total_throttled(), process_cpu());
        let covers_ns = now.since(self.read_at);
        let surroundings = Surroundings {
            covers_ns,
            steal_ns: here.steal,
            throttled_ns: (!self.throttles.is_empty()).then(|| throttled.since(self.throttled)),
            busy_allotted_ns: here.busy,
            busy_elsewhere_ns: elsewhere.busy,
            tree_ns: self.tree,
            own_ns: own.since(self.own),
            devices: devices::busy_times(&self.device_times, &device_times, covers_ns),
        };
        (self.clocks, self.throttled, self.read_at) = (clocks, throttled, now);
        (self.tree, self.own, self.device_times) = (Nanos::ZERO, own, device_times);
        Some(surroundings)
    }

    /// Watches the machine for [`QUIET_TIME`] while nothing is measured.
    pub fn watch_quiet_machine(&mut self) -> Quiet {
        self.restart();
        sleep(QUIET_TIME);
        let sum = CpuClocks::read().since(&self.clocks, |_| true);
        let quiet =
            Quiet { watched_ns: monotonic().since(self.read_at), busy_ns: sum.busy, steal_ns: sum.steal };
        self.restart();
        quiet
    }

    /// Total time for which a quota throttled one of the watched cgroups.
    fn total_throttled(&self) -> Nanos {
        self.throttles.iter().filter_map(ThrottleFile::read).sum()
    }
}

impl ThrottleFile {
    fn read(&self) -> Option<Nanos> {
        let text = fs::read_to_string(&self.file).ok()?;
        let value =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        match self.version {
            Version::V1 => value("throttled_time ").map(Nanos),
            Version::V2 => value("throttled_usec ").map(Nanos::from_micros),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_and_work_are_distinguished_for_each_cpu() {
        let before = CpuClocks::parse(
            "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 1 1 50 1 1 1 2 0 0\ncpu5 0 0 0 0 0 0 0 0 0 0\nintr 5\n",
        );
        let after = CpuClocks::parse(
            "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 2 1 4 60 9 1 1 5 0 0\ncpu5 7 0 0 0 0 0 0 0 0 0\ncpux\n",
        );
        let on_0 = after.since(&before, |cpu| cpu == CpuId(0));
        assert_eq!(on_0, CpuClock { busy: user_tick().times(4), steal: user_tick().times(3) });
        let on_5 = after.since(&before, |cpu| cpu == CpuId(5));
        assert_eq!(on_5.busy, user_tick().times(7));
    }
}
