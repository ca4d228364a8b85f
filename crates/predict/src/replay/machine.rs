//! What a program is replayed on: CPUs that may not be there, and what they cost each other. Knows nothing of what runs on them.

use morecores_study::Nanos;

use super::Id;

/// What the program is replayed on.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// How many CPUs; at least one.
    pub cpus: u32,
    /// How much longer a piece of work takes with 1, 2, … CPUs busy than alone; for more than there are entries the last, and
    /// without any 1. None below 1.
    pub slowdown: Vec<f64>,
    /// How much longer still each lock is held for each busy CPU beyond `grows_beyond`, by the lock's number; 0 for those beyond the
    /// list.
    pub growth: Vec<f64>,
    /// So many busy CPUs make no lock's holds longer.
    pub grows_beyond: u32,
    /// How long a thread keeps its CPU while others that have had less wait for one.
    pub slice: Nanos,
    /// From a wake-up until the thread runs, where a CPU is idle.
    pub wake_latency: Nanos,
    /// How much longer each thread's work takes than the program says, by the thread's number; 1 for those beyond the list.
    pub pace: Vec<f64>,
}

impl Machine {
    /// So many CPUs that cost nothing to share: no slowdown, no latency.
    pub const fn new(cpus: u32) -> Self {
        Self {
            cpus,
            slowdown: Vec::new(),
            growth: Vec::new(),
            grows_beyond: 1,
            slice: SLICE,
            wake_latency: Nanos::ZERO,
            pace: Vec::new(),
        }
    }

    /// How long a thread works here at what the program says takes so long.
    pub(super) fn work(&self, id: Id, time: Nanos) -> f64 {
        time.0 as f64 * self.pace.get(id as usize).copied().unwrap_or(1.0)
    }

    /// How long it holds a lock for what the program says takes so long, where so many CPUs are busy.
    pub(super) fn hold(&self, id: Id, lock: u32, time: Nanos, busy: u32) -> f64 {
        let growth = self.growth.get(lock as usize).copied().unwrap_or(0.0);
        self.work(id, time) * (1.0 + growth * f64::from(busy.saturating_sub(self.grows_beyond)))
    }
}

/// The kernel's `base_slice_ns` of 0.7 ms, scaled for eight CPUs or more by 1 + log2(8) (`kernel/sched/fair.c`).
const SLICE: Nanos = Nanos(2_800_000);
