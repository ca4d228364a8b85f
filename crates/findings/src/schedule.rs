//! Schedules: the conditions under which the program runs, and the counts of its failures under
//! each. Pure.

use std::collections::BTreeMap;
use std::fmt;

use morecores_statistics::{Interval, proportion_interval};
use morecores_study::Quantity;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// Conditions of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// One CPU, left alone.
    OneCpu,
    /// One CPU, and another thread ran while one was held.
    OneCpuHolds,
    /// Several CPUs, left alone.
    Cpus,
    /// Several CPUs, and another thread ran while one was held.
    CpusHolds,
    /// Several CPUs, and another thread ran between the read and the write of an update without
    /// LOCK.
    CpusSplits,
    /// Several CPUs, and two threads continued from two sites at the same time.
    CpusTogether,
}

impl Schedule {
    /// All schedules.
    pub const ALL: [Self; 6] =
        [Self::OneCpu, Self::OneCpuHolds, Self::Cpus, Self::CpusHolds, Self::CpusSplits, Self::CpusTogether];

    /// Whether the program has one CPU.
    pub fn is_on_one_cpu(self) -> bool {
        matches!(self, Self::OneCpu | Self::OneCpuHolds)
    }

    /// CPUs of a run, of all CPUs.
    pub fn cpus(self, cpus: &[usize]) -> &[usize] {
        if self.is_on_one_cpu() { &cpus[cpus.len().saturating_sub(1)..] } else { cpus }
    }

    /// Whether threads are held.
    pub fn has_holds(self) -> bool {
        !matches!(self, Self::OneCpu | Self::Cpus)
    }
}

/// Runs and failures under one schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Number of runs.
    pub runs: u64,
    /// Number of failures of each kind.
    pub failures: BTreeMap<Failure, u64>,
}

impl Tally {
    /// Adds a run.
    pub fn add(&mut self, failure: Option<&Failure>) {
        self.runs += 1;
        if let Some(failure) = failure {
            *self.failures.entry(failure.clone()).or_default() += 1;
        }
    }

    /// Number of failed runs.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// 95% interval of the probability of a failure, at any time of the search.
    pub fn rate(&self) -> Interval {
        proportion_interval(self.failed(), self.runs)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Interval { lo, hi } = self.rate();
        match self.failed() {
            0 => write!(f, "0 of {} (below {})", self.runs, percent(hi)),
            failed => write!(f, "{failed} of {} ({} to {})", self.runs, percent(lo), percent(hi)),
        }
    }
}

/// Share in percent.
pub(crate) fn percent(share: f64) -> String {
    Quantity::Share.text(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_their_intervals() {
        let mut tally = Tally::default();
        for run in 0..223 {
            tally.add((run < 27).then_some(&Failure::Status(1)));
        }
        assert_eq!((tally.runs, tally.failed()), (223, 27));
        let text = tally.to_string();
        assert!(text.starts_with("27 of 223 ("), "{text}");
        let none = Tally { runs: 436, ..Tally::default() };
        assert!(none.to_string().starts_with("0 of 436 (below 1."), "{none}");
    }
}
