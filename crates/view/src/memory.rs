//! Memory that a command needs by its number of CPUs, and processes killed for lack of memory.
//!
//! The model is a straight line through the medians of the measured counts. Its intercept is the
//! memory needed on any number of CPUs, its slope the memory that each CPU and its job add.

use crate::Warning;
use morecores_study::{InCell, Point, Run, Study};

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

/// Returns a warning of the processes that the kernel killed for memory in the runs of one point.
/// The warning includes the memory needed per job and the memory available. Returns `None` if no
/// process was killed.
pub fn killed_for_memory(study: &Study, point: &Point) -> Option<Warning> {
    let of_point = |run: &&Run| run.cell() == point.cell();
    let killed: Vec<&Run> =
        study.runs.iter().filter(of_point).filter(|run| run.tree.killed_for_memory.is_some()).collect();
    let mut names: Vec<String> = killed
        .iter()
        .filter_map(|run| run.tree.killed_for_memory.as_ref())
        .flat_map(|k| k.names.clone())
        .collect();
    names.sort_unstable();
    names.dedup();
    killed.last()?;
    Some(Warning::KilledForMemory {
        cpus: point.cpus,
        count: killed.len() as u32,
        names,
        job_bytes: job_bytes(study, &killed),
        limit_bytes: memory_limit(study),
    })
}

/// Estimates the bytes that each job of the command needs. The estimate is the median need of the
/// successful runs with the most jobs, divided by that number. Without a successful run it is the
/// size of the largest killed process. If the command is not told a number of jobs, the number of
/// CPUs replaces it.
fn job_bytes(study: &Study, killed: &[&Run]) -> Option<u64> {
    let is_complete = |run: &&Run| run.counts(&study.header.plan) && run.tree.killed_for_memory.is_none();
    let complete: Vec<&Run> = study.runs.iter().filter(is_complete).collect();
    let jobs = complete.iter().map(|run| run.n).max();
    let bytes = match jobs {
        Some(jobs) => {
            let needs: Vec<f64> = complete
                .iter()
                .filter(|run| run.n == jobs)
                .map(|run| needed_bytes(run) / f64::from(jobs))
                .collect();
            median(&needs)?
        }
        None => killed.iter().map(|run| run.rusage.max_rss_bytes.0 as f64).fold(0.0, f64::max),
    };
    (bytes > 0.0).then_some(bytes as u64)
}

/// Returns the bytes that a run needed: those of its tree, or at least those of its largest
/// process.
fn needed_bytes(run: &Run) -> f64 {
    run.tree.needed_memory_bytes.unwrap_or(run.rusage.max_rss_bytes).0 as f64
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
