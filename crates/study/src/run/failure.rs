//! Failure of a run, and the rule that decides whether a run counts.

use serde::{Deserialize, Serialize};

use super::{Exit, Run};
use crate::Plan;

/// Figure that the run should have printed and that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingFigure {
    /// Name of the figure's metric; absent if the metric has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Text that the expression matched; absent if the expression matched nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Kind of failure of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// Exit status that the plan does not count as success.
    Status(i32),
    /// Signal that ended the run or stopped it for good.
    Signal(i32),
    /// Time limit exceeded.
    TimedOut,
    /// Requested figure that is missing or ambiguous, with the name of its metric.
    NoFigure(Option<String>),
}

impl Run {
    /// Failure of the run, by the plan's definition of success; `None` if the run counts.
    pub fn failure(&self, plan: &Plan) -> Option<Failure> {
        match self.exit {
            Exit::Signal(signal) | Exit::Stopped(signal) => Some(Failure::Signal(signal)),
            Exit::TimedOut => Some(Failure::TimedOut),
            Exit::Code(status) if !plan.is_success(self.exit) => Some(Failure::Status(status)),
            Exit::Code(_) if plan.metric.is_some() && self.metric.is_none() => {
                Some(Failure::NoFigure(self.missing.as_ref().and_then(|missing| missing.name.clone())))
            }
            Exit::Code(_) => None,
        }
    }

    /// Returns whether the run counts, by the plan's definition of success.
    pub fn counts(&self, plan: &Plan) -> bool {
        self.failure(plan).is_none()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Plan and run in the format of versions that knew neither successful exit statuses nor
    /// missing figures.
    fn older(metric: serde_json::Value) -> (Plan, Run) {
        let stop = json!({"precision": null, "min_runs": 1, "max_runs": 1, "max_time": null});
        let plan = json!({
            "points": [], "limit": "affinity", "placement": null, "seed": 1, "warmup": 0, "stop": stop,
            "cache": {"kind": "warm"}, "hooks": {"setup": null, "prepare": null, "cleanup": null}, "timeout": null,
            "metric": metric, "thread_env": false, "ignore_failure": false, "keep_survivors": false, "input": null,
            "output": {"kind": "captured"}, "trace": "off"
        });
        let usage = json!({
            "user_ns": 1, "system_ns": 1, "max_rss_bytes": 1, "minor_faults": 0, "major_faults": 0,
            "voluntary_switches": 0, "involuntary_switches": 0, "block_read_bytes": 0, "block_written_bytes": 0
        });
        let run = json!({
            "index": 0, "round": 0, "phase": "timed", "cpus": 1, "n": 1, "cpu_set": "0", "limit": "affinity",
            "started_at_ns": 1, "elapsed_ns": 1, "exit": {"code": 0}, "max_rss_floor_bytes": 1, "rusage": usage,
            "cpu": {"user_ns": 1, "system_ns": 1, "estimator": "cgroup"}, "metric": 99.0
        });
        (serde_json::from_value(plan).unwrap(), serde_json::from_value(run).unwrap())
    }

    #[test]
    fn studies_of_older_versions_read_as_before() {
        let metric = json!({"regex": "x", "unit": null, "better": "higher"});
        for (plan, run) in [older(json!(null)), older(metric)] {
            assert!(run.counts(&plan));
            let failed = Run { exit: Exit::Code(1), ..run };
            assert_eq!(failed.failure(&plan), Some(Failure::Status(1)));
        }
    }

    #[test]
    fn a_run_counts_by_its_status_and_its_figure_and_never_after_a_signal() {
        let (plan, run) = older(json!({"regex": "x", "unit": null, "better": "higher"}));
        let plan = Plan { success: [0, 1, 9].into(), ..plan };
        assert!(Run { exit: Exit::Code(1), ..run.clone() }.counts(&plan));
        for (exit, failure) in [
            (Exit::Code(2), Failure::Status(2)),
            (Exit::Signal(9), Failure::Signal(9)),
            (Exit::TimedOut, Failure::TimedOut),
        ] {
            assert_eq!(Run { exit, ..run.clone() }.failure(&plan), Some(failure));
        }
        let missing = Some(MissingFigure { name: Some("p99".to_owned()), text: None });
        let without = Run { metric: None, missing, ..run };
        assert_eq!(without.failure(&plan), Some(Failure::NoFigure(Some("p99".to_owned()))));
    }
}
