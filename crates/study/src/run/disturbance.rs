//! Disturbance of a run by other programs and by the hypervisor.
//!
//! The decision follows from the record of the machine's activity alone. It must not depend on the
//! measured time or figure, because disturbed runs are left out: a decision that looked at the
//! value could choose the result.

use crate::{Nanos, Run, Surroundings};

/// Share of the time of a run's CPUs that others may take before the run decides nothing. A choice.
pub const MOST_TAKEN: f64 = 0.1;

/// CPU time of others on one CPU that may be an error of the reading: two steps of the clocks, one
/// at each end.
const READING_ERROR: Nanos = Nanos::from_millis(20);

impl Surroundings {
    /// CPU time of other programs on the allotted CPUs.
    pub fn others_allotted(&self) -> Nanos {
        self.busy_allotted_ns.since(self.tree_ns + self.own_ns)
    }
}

impl Run {
    /// Returns whether other programs or the hypervisor took more than [`MOST_TAKEN`] of the time
    /// of the allotted CPUs, beyond the error of the reading. False if nothing was read.
    pub(super) fn lost_too_much(&self) -> bool {
        self.surroundings.as_ref().is_some_and(|around| {
            let (taken, cpus) = (around.others_allotted() + around.steal_ns, f64::from(self.cpus));
            let most = MOST_TAKEN * around.covers_ns.as_secs_f64() + READING_ERROR.as_secs_f64();
            taken.as_secs_f64() > cpus * most
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunRecord;

    /// Run on two CPUs that its tree keeps busy for half of `seconds`, beside others and a
    /// hypervisor.
    fn run(seconds: f64, others: f64, steal: f64) -> Run {
        let tree = Nanos::from_secs_f64(seconds);
        let surroundings = serde_json::json!({
            "covers_ns": Nanos::from_secs_f64(seconds), "steal_ns": Nanos::from_secs_f64(steal),
            "busy_allotted_ns": tree + Nanos::from_secs_f64(others), "busy_elsewhere_ns": 1_000_000_000_000_u64,
            "tree_ns": tree, "own_ns": 0
        });
        let usage = serde_json::json!({
            "user_ns": 1, "system_ns": 1, "max_rss_bytes": 1, "minor_faults": 0, "major_faults": 0,
            "voluntary_switches": 0, "involuntary_switches": 0, "block_read_bytes": 0, "block_written_bytes": 0
        });
        let run = serde_json::json!({
            "index": 0, "round": 0, "phase": "timed", "cpus": 2, "n": 2, "cpu_set": "0-1", "limit": "affinity",
            "started_at_ns": 1, "elapsed_ns": 1, "exit": {"code": 0}, "max_rss_floor_bytes": 1, "rusage": usage,
            "cpu": {"user_ns": 1, "system_ns": 1, "estimator": "cgroup"}, "surroundings": surroundings
        });
        serde_json::from_value(run).unwrap()
    }

    #[test]
    fn more_than_a_tenth_of_the_cpus_taken_is_a_disturbance() {
        assert!(!run(10.0, 1.9, 0.0).is_disturbed());
        assert!(run(10.0, 2.1, 0.0).is_disturbed());
        assert!(run(10.0, 1.0, 1.1).is_disturbed(), "programs and hypervisor together");
        assert!(!Run { surroundings: None, ..run(10.0, 9.0, 0.0) }.is_disturbed());
    }

    /// Checks that the steps of the clocks disturb no short run.
    #[test]
    fn a_short_run_is_not_disturbed_by_a_step_of_the_clocks() {
        assert!(!run(0.05, 0.03, 0.01).is_disturbed());
        assert!(run(0.05, 0.06, 0.0).is_disturbed());
    }

    #[test]
    fn the_measured_time_has_no_influence() {
        for seconds in [0.001, 1.0, 1000.0] {
            let elapsed_ns = Nanos::from_secs_f64(seconds);
            assert!(Run { elapsed_ns, ..run(10.0, 3.0, 0.0) }.is_disturbed());
            assert!(!Run { elapsed_ns, metric: Some(seconds), ..run(10.0, 1.0, 0.0) }.is_disturbed());
        }
    }
}
