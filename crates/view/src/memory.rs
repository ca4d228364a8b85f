//! What memory a command needs by its CPUs, and what was killed for want of it.
//!
//! A straight line through the medians of the measured counts: what the command needs on any number, and what each
//! CPU, and the job on it, adds.

use crate::Warning;
use morecores_study::{Point, Run, Study};

use crate::sample::Sample;
use morecores_statistics::median;

/// Memory by CPU count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryDemand {
    /// Bytes at no CPU.
    fixed: f64,
    /// Bytes that each CPU adds, not below zero.
    each: f64,
}

impl MemoryDemand {
    /// Fits a line through `(CPUs, bytes)` by least squares; `None` from fewer than two counts.
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
        let each = (squares > 0.0).then(|| (products / squares).max(0.0))?;
        Some(Self { fixed: mean_bytes - each * mean_cpus, each })
    }

    /// Bytes needed on so many CPUs.
    pub fn at(&self, cpus: u32) -> f64 {
        self.fixed + self.each * f64::from(cpus)
    }

    /// The largest count whose need is within `limit` bytes; infinite where no CPU adds any.
    pub fn most(&self, limit: f64) -> f64 {
        ((limit - self.fixed) / self.each).floor().max(0.0)
    }
}

/// What a study says of the memory that its command needs by its CPUs; `None` where fewer than two counts tell it.
pub fn demand(study: &Study, from: Option<&[u32]>) -> Option<MemoryDemand> {
    let points = study.header.plan.points.iter();
    let wanted = points.filter(|point| from.is_none_or(|from| from.contains(&point.cpus)));
    let need = |point: &Point| {
        let needs: Vec<f64> = Sample::of(study, point)
            .runs
            .iter()
            .filter_map(|run| Some(run.tree.needed_memory_bytes?.0 as f64))
            .collect();
        Some((point.cpus, median(&needs)?))
    };
    MemoryDemand::fit(&wanted.filter_map(need).collect::<Vec<_>>())
}

/// Bytes of memory that the command had: the smallest limit around it, or the whole machine's; `None` where neither is known.
pub fn limit(study: &Study) -> Option<u64> {
    let limited = study.runs.last().and_then(|run| run.tree.memory_limit_bytes);
    let whole = study.header.host.memory_bytes;
    limited.map_or(Some(whole.0).filter(|bytes| *bytes > 0), |limit| Some(limit.0))
}

/// What the kernel killed for memory in the runs of one point, with what a job needs and what there was; `None` where
/// nothing was killed.
pub fn killed_for_memory(study: &Study, point: &Point) -> Option<Warning> {
    let of_point = |run: &&Run| run.cpus == point.cpus && run.n == point.n;
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
        limit_bytes: limit(study),
    })
}

/// Bytes that each of the command's jobs needs: what the successful runs of the largest number of jobs needed, over that
/// number; where there is none, the largest process of those that were killed. Of a command that is not told a number of
/// jobs the CPUs are taken for that.
fn job_bytes(study: &Study, killed: &[&Run]) -> Option<u64> {
    let spared = |run: &&Run| run.counts(&study.header.plan) && run.tree.killed_for_memory.is_none();
    let whole: Vec<&Run> = study.runs.iter().filter(spared).collect();
    let jobs = whole.iter().map(|run| run.n).max();
    let bytes = match jobs {
        Some(jobs) => {
            let needs: Vec<f64> =
                whole.iter().filter(|run| run.n == jobs).map(|run| needed(run) / f64::from(jobs)).collect();
            median(&needs)?
        }
        None => killed.iter().map(|run| run.rusage.max_rss_bytes.0 as f64).fold(0.0, f64::max),
    };
    (bytes > 0.0).then_some(bytes as u64)
}

/// Bytes that a run needed: those of its tree, or at least those of its largest process.
fn needed(run: &Run) -> f64 {
    run.tree.needed_memory_bytes.unwrap_or(run.rusage.max_rss_bytes).0 as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_the_counts_says_how_many_fit() {
        let demand = MemoryDemand::fit(&[(1, 500.0), (2, 900.0), (4, 1_700.0)]).unwrap();
        assert!((demand.at(8) - 3_300.0).abs() < 1e-6);
        assert!((demand.most(2_000.0) - 4.0).abs() < 1e-6, "4 need 1700, 5 need 2100");
        assert_eq!(MemoryDemand::fit(&[(1, 500.0)]), None);
        let shared = MemoryDemand::fit(&[(1, 500.0), (2, 490.0)]).unwrap();
        assert_eq!(shared.at(64), 495.0, "more CPUs never need less");
        assert!(shared.most(1_000.0).is_infinite());
    }
}
