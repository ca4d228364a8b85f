//! Memory that a command needs by its number of CPUs, and memory that it has.
//!
//! The model is a straight line through the medians of the measured counts. Its intercept is the
//! memory needed on any number of CPUs, its slope the memory that each CPU and its job add.

use morecores_study::{Point, Study};

use crate::sample::Sample;
use morecores_statistics::median;

/// Memory demand by CPU count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryDemand {
    /// Bytes at zero CPUs.
    fixed: f64,
    /// Bytes that each CPU adds, not below zero.
    per_cpu: f64,
}

impl MemoryDemand {
    /// Fits a line through `(CPUs, bytes)` by least squares; returns `None` with fewer than two
    /// counts.
    pub fn fit(points: &[(u32, f64)]) -> Option<Self> {
        let n = points.len() as f64;
        let mean_cpus = points.iter().map(|(cpus, _)| f64::from(*cpus)).sum::<f64>() / n;
        let mean_bytes = points.iter().map(|(_, bytes)| bytes).sum::<f64>() / n;
        let (mut squares, mut products) = (0.0, 0.0);
        for (cpus, bytes) in points {
            let apart = f64::from(*cpus) - mean_cpus;
            squares += apart * apart;
            products += apart * (bytes - mean_bytes);
        }
        let per_cpu = (squares > 0.0).then(|| (products / squares).max(0.0))?;
        Some(Self { fixed: mean_bytes - per_cpu * mean_cpus, per_cpu })
    }

    /// Returns the bytes needed on `cpus` CPUs.
    pub fn bytes_on(&self, cpus: u32) -> f64 {
        self.fixed + self.per_cpu * f64::from(cpus)
    }

    /// Returns the largest count that needs at most `limit` bytes; infinite if a CPU adds none.
    pub fn cpus_within(&self, limit: f64) -> f64 {
        ((limit - self.fixed) / self.per_cpu).floor().max(0.0)
    }
}

/// Fits the memory demand of a study's command, over the counts in `from` or all counts. Returns
/// `None` if fewer than two counts tell it.
pub fn fit_demand(study: &Study, from: Option<&[u32]>) -> Option<MemoryDemand> {
    let points = study.header.plan.points.iter();
    let wanted = points.filter(|point| from.is_none_or(|from| from.contains(&point.cpus)));
    let need = |point: &Point| {
        let needs: Vec<f64> = Sample::new(study, point)
            .runs
            .iter()
            .filter_map(|run| Some(run.tree.needed_memory_bytes?.0 as f64))
            .collect();
        Some((point.cpus, median(&needs)?))
    };
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
        assert!((demand.bytes_on(8) - 3_300.0).abs() < 1e-6);
        assert!((demand.cpus_within(2_000.0) - 4.0).abs() < 1e-6, "4 need 1700, 5 need 2100");
        assert_eq!(MemoryDemand::fit(&[(1, 500.0)]), None);
        let shared = MemoryDemand::fit(&[(1, 500.0), (2, 490.0)]).unwrap();
        assert_eq!(shared.bytes_on(64), 495.0, "more CPUs never need less");
        assert!(shared.cpus_within(1_000.0).is_infinite());
    }
}
