//! Speed of a machine's memory: medians over the rounds, and whether other work disturbed them.

use morecores_statistics::Design;
use morecores_study::memory_speed::{MemorySpeed, MemorySpeedPoint};
use serde::{Deserialize, Serialize};

use crate::{Estimate, median_estimate};

/// Share of the CPUs' time from which other work disturbs the measurement. It is the error that a
/// bandwidth may have, as much as copies differ from other uses of the memory. The value is a
/// choice.
const MAX_OTHERS_SHARE: f64 = 0.05;

/// Speed of the memory for a number of CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryPoint {
    /// Number of CPUs that used the memory at once.
    pub cpus: u32,
    /// Bytes that all of them copied per second.
    pub copy_bytes_per_s: Estimate,
    /// Time of one access at random, the mean over the CPUs.
    pub access_s: Estimate,
}

/// Figures derived from a [`MemorySpeed`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineMemory {
    /// Figures by number of CPUs, in ascending order.
    pub points: Vec<MemoryPoint>,
    /// Share of the measured CPUs' time that other programs and a hypervisor took meanwhile.
    pub others_share: f64,
}

/// Derives the figures of a machine's memory.
pub fn machine_memory(speed: &MemorySpeed) -> MachineMemory {
    let seconds = |nanoseconds: &f64| nanoseconds / 1e9;
    let point = |measured: &MemorySpeedPoint| {
        let access: Vec<f64> = measured.access_ns.iter().map(seconds).collect();
        Some(MemoryPoint {
            cpus: u32::try_from(measured.cpus.len()).unwrap_or(u32::MAX),
            copy_bytes_per_s: median_estimate(&measured.copy_bytes_per_s, Design::Fixed)?,
            access_s: median_estimate(&access, Design::Fixed)?,
        })
    };
    let cpus = speed.points.iter().map(|point| point.cpus.len()).max().unwrap_or(0);
    let time = speed.lasted_ns.as_secs_f64() * cpus as f64;
    let others = (speed.others_ns + speed.steal_ns).as_secs_f64();
    MachineMemory {
        points: speed.points.iter().filter_map(point).collect(),
        others_share: if time > 0.0 { others / time } else { 0.0 },
    }
}

impl MachineMemory {
    /// Whether other programs or a hypervisor used so much of the CPUs' time that the figures are
    /// not those of the machine alone.
    pub fn is_disturbed(&self) -> bool {
        self.others_share > MAX_OTHERS_SHARE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_study::{Bytes, CpuId, Nanos};

    fn point(cpus: u32, rates: [f64; 6]) -> MemorySpeedPoint {
        MemorySpeedPoint {
            cpus: (0..cpus).map(CpuId).collect(),
            bytes_per_cpu: Bytes(1 << 26),
            copy_bytes_per_s: rates.to_vec(),
            access_ns: vec![90.0; 6],
        }
    }

    #[test]
    fn figures_are_medians_with_the_interval_of_the_rounds() {
        let points = vec![point(1, [5e9, 1e9, 3e9, 4e9, 2e9, 6e9]), point(2, [4e9; 6])];
        let lasted_ns = Nanos::from_millis(1000);
        let quiet = MemorySpeed { points, lasted_ns, ..MemorySpeed::default() };
        let memory = machine_memory(&quiet);
        assert_eq!(memory.points.iter().map(|point| point.cpus).collect::<Vec<_>>(), [1, 2]);
        let copy = memory.points[0].copy_bytes_per_s;
        assert_eq!((copy.value, copy.ci95), (3.5e9, Some([1e9, 6e9])));
        assert!((memory.points[1].access_s.value - 9e-8).abs() < 1e-15);
        assert!(!memory.is_disturbed());
        // A tenth of two CPUs for one second.
        let busy = MemorySpeed { others_ns: Nanos::from_millis(200), ..quiet };
        assert!((machine_memory(&busy).others_share - 0.1).abs() < 1e-9);
        assert!(machine_memory(&busy).is_disturbed());
    }

    #[test]
    fn nothing_measured_is_no_figure() {
        assert_eq!(machine_memory(&MemorySpeed::default()), MachineMemory::default());
    }
}
