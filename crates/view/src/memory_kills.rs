//! Warning of the processes that the kernel killed for lack of memory.
//!
//! This module finds the killed processes and what their jobs need. It predicts no demand.

use std::collections::BTreeSet;

use morecores_statistics::median;
use morecores_study::{InCell, Point, Run, Study};

use crate::Warning;
use crate::memory::memory_limit;

/// Returns a warning of the processes that the kernel killed for memory in the runs of one point.
/// The warning includes the memory needed per job and the memory available. Returns `None` if no
/// process was killed.
pub fn killed_for_memory(study: &Study, point: &Point) -> Option<Warning> {
    let runs = study.runs.iter().filter(|run| run.cell() == point.cell());
    let killed: Vec<&Run> = runs.filter(|run| run.tree.killed_for_memory.is_some()).collect();
    let kills = killed.iter().filter_map(|run| run.tree.killed_for_memory.as_ref());
    let names: BTreeSet<String> = kills.flat_map(|kill| kill.names.iter().cloned()).collect();
    killed.last()?;
    Some(Warning::KilledForMemory {
        cpus: point.cpus,
        count: killed.len() as u32,
        names: names.into_iter().collect(),
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
