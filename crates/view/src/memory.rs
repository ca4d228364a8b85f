//! Memory that a command needs by its number of CPUs or of jobs, and memory that it has.
//!
//! The model is a straight line through the medians of the measured counts. Its intercept is the
//! memory needed with any number, its slope the memory that one more adds: a CPU with its job, or a
//! job.

use morecores_study::{Point, Study};

use crate::sample::Sample;
use morecores_statistics::median;

/// Memory demand by a count: of CPUs, or of jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryDemand {
    /// Bytes at a count of zero.
    fixed: f64,
    /// Bytes that each one adds, not below zero.
    per_count: f64,
}

impl MemoryDemand {
    /// Fits a line through `(count, bytes)` by least squares; returns `None` with fewer than two
    /// counts.
    pub fn fit(points: &[(u32, f64)]) -> Option<Self> {
        let n = points.len() as f64;
        let mean_count = points.iter().map(|(count, _)| f64::from(*count)).sum::<f64>() / n;
        let mean_bytes = points.iter().map(|(_, bytes)| bytes).sum::<f64>() / n;
        let (mut squares, mut products) = (0.0, 0.0);
        for (count, bytes) in points {
            let apart = f64::from(*count) - mean_count;
            squares += apart * apart;
            products += apart * (bytes - mean_bytes);
        }
        let per_count = (squares > 0.0).then(|| (products / squares).max(0.0))?;
        Some(Self { fixed: mean_bytes - per_count * mean_count, per_count })
    }

    /// Returns the bytes needed with a count.
    pub fn bytes_with(&self, count: u32) -> f64 {
        self.fixed + self.per_count * f64::from(count)
    }

    /// Returns the bytes that one more adds.
    pub fn bytes_per_count(&self) -> f64 {
        self.per_count
    }

    /// Returns the largest count that needs at most `limit` bytes; infinite if one more adds none.
    pub fn count_within(&self, limit: f64) -> f64 {
        ((limit - self.fixed) / self.per_count).floor().max(0.0)
    }
}

/// Returns the median of the memory that successful runs of a sample needed.
pub(crate) fn needed_bytes(sample: &Sample<'_>) -> Option<f64> {
    let needs = sample.runs.iter().filter_map(|run| Some(run.tree.needed_memory_bytes?.0 as f64));
    median(&needs.collect::<Vec<_>>())
}

/// Fits the memory demand of a study's command, over the counts in `from` or all counts. Returns
/// `None` if fewer than two counts tell it.
pub fn fit_demand(study: &Study, from: Option<&[u32]>) -> Option<MemoryDemand> {
    let points = study.header.plan.points.iter();
    let wanted = points.filter(|point| from.is_none_or(|from| from.contains(&point.cpus)));
    let need = |point: &Point| Some((point.cpus, needed_bytes(&Sample::new(study, point))?));
    MemoryDemand::fit(&wanted.filter_map(need).collect::<Vec<_>>())
}

/// Returns the bytes of memory that the command had: the smallest limit around it, or the memory of
/// the machine. Returns `None` if neither is known.
pub fn memory_limit(study: &Study) -> Option<u64> {
    let limited = study.runs.last().and_then(|run| run.tree.memory_limit_bytes);
    let whole = study.header.host.memory_bytes;
    limited.map_or(Some(whole.0).filter(|bytes| *bytes > 0), |limit| Some(limit.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_the_counts_gives_the_largest_fitting_count() {
        let demand = MemoryDemand::fit(&[(1, 500.0), (2, 900.0), (4, 1_700.0)]).unwrap();
        assert!((demand.bytes_with(8) - 3_300.0).abs() < 1e-6);
        assert!((demand.count_within(2_000.0) - 4.0).abs() < 1e-6, "4 need 1700, 5 need 2100");
        assert_eq!(MemoryDemand::fit(&[(1, 500.0)]), None);
        let shared = MemoryDemand::fit(&[(1, 500.0), (2, 490.0)]).unwrap();
        assert_eq!(shared.bytes_with(64), 495.0, "more CPUs never need less");
        assert!(shared.count_within(1_000.0).is_infinite());
    }
}
