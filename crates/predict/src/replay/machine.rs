//! Machine for a replay: CPUs that may not exist, and their effect on each other. This module does
//! not know the program.

use morecores_study::Nanos;

/// Machine for a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Number of CPUs; at least one.
    pub cpus: u32,
    /// Time of a piece of work with 1, 2, … busy CPUs, relative to its time alone; no entry below
    /// 1. The last entry holds for more CPUs; an empty list means 1.
    pub slowdown: Vec<f64>,
    /// Relative growth of each lock's hold time per busy CPU beyond `growth_threshold`, by the
    /// lock's number; 0 for locks beyond the list.
    pub hold_growth: Vec<f64>,
    /// Number of busy CPUs up to which no hold time grows.
    pub growth_threshold: u32,
    /// Time slice of a thread while threads with less CPU time wait for a CPU.
    pub slice: Nanos,
    /// Time from a wake-up until the thread runs on an idle CPU.
    pub wake_latency: Nanos,
}

impl Machine {
    /// Machine with `cpus` CPUs without slowdown and without latency.
    pub const fn new(cpus: u32) -> Self {
        Self {
            cpus,
            slowdown: Vec::new(),
            hold_growth: Vec::new(),
            growth_threshold: 1,
            slice: DEFAULT_SLICE,
            wake_latency: Nanos::ZERO,
        }
    }

    /// Hold time of a lock on this machine with `busy` busy CPUs, for the time in the program.
    pub(super) fn hold_time(&self, lock: u32, time: Nanos, busy: u32) -> f64 {
        let growth = self.hold_growth.get(lock as usize).copied().unwrap_or(0.0);
        time.0 as f64 * (1.0 + growth * f64::from(busy.saturating_sub(self.growth_threshold)))
    }
}

/// Kernel's `base_slice_ns` of 0.7 ms, multiplied by 1 + log2(8) for eight CPUs or more
/// (`kernel/sched/fair.c`).
const DEFAULT_SLICE: Nanos = Nanos(2_800_000);
