//! Times from which the efficiencies of POP follow: useful work, its division among workers, and
//! the elapsed time on an ideal machine.
//!
//! Rosas, Giménez & Labarta, *Scalability prediction for fundamental performance factors*,
//! Supercomputing Frontiers and Innovations 1, 2014.

use morecores_study::{Nanos, trace::SampleMode};
use morecores_view::EfficiencyTimes;

use super::critical_path::CriticalPath;
use crate::trace::{State, ThreadId, Timeline};

/// Computes the times. `kernel_spin` is the time spent spinning for kernel locks, in seconds, and
/// `path` the critical path if it is known.
pub(super) fn efficiency_times(
    timeline: &Timeline,
    kernel_spin_s: f64,
    path: Option<&CriticalPath<'_>>,
) -> EfficiencyTimes {
    let cpu_s: f64 = timeline.tree().map(|(_, thread)| thread.on_cpu().as_secs_f64()).sum();
    let kernel_share = if cpu_s > 0.0 { (1.0 - kernel_spin_s / cpu_s).clamp(0.0, 1.0) } else { 1.0 };
    let useful: Vec<f64> = spin_shares(timeline).iter().map(|spin| (1.0 - spin) * kernel_share).collect();
    let useful_s = |id: ThreadId| timeline.thread(id).on_cpu().as_secs_f64() * useful[id.index()];
    let sum: f64 = timeline.tree().map(|(id, _)| useful_s(id)).sum();
    let of_worker = |threads: Vec<ThreadId>| threads.into_iter().map(useful_s).sum::<f64>();
    let cpus = timeline.allotted.len().max(1) as f64;
    let longest_useful_s = workers(timeline).into_iter().map(of_worker).fold(sum / cpus, f64::max);
    EfficiencyTimes {
        useful_s: sum,
        longest_useful_s,
        ideal_s: path.map(|path| path.ideal_time(&useful).as_secs_f64().max(longest_useful_s)),
    }
}

/// Share of each thread's samples in which it spins, in step with the timeline's threads.
fn spin_shares(timeline: &Timeline) -> Vec<f64> {
    let mut counts = vec![(0_u32, 0_u32); timeline.threads.len()];
    for sample in timeline.samples.iter().filter(|sample| sample.mode != SampleMode::Interrupt) {
        if let Some(id) = sample.thread {
            let (spins, all) = &mut counts[id.index()];
            *spins += u32::from(sample.spins);
            *all += 1;
        }
    }
    let share = |(spins, all): (u32, u32)| if all > 0 { f64::from(spins) / f64::from(all) } else { 0.0 };
    counts.into_iter().map(share).collect()
}

/// Threads of the tree by worker: a thread continues the worker whose last thread ended latest
/// before the thread's beginning.
fn workers(timeline: &Timeline) -> Vec<Vec<ThreadId>> {
    let ran = |id: ThreadId| {
        let mut running =
            timeline.thread(id).segments.iter().filter(|s| matches!(s.state, State::Running { .. }));
        let first = running.next()?;
        Some((first.from, running.next_back().unwrap_or(first).to, id))
    };
    let mut lives: Vec<(Nanos, Nanos, ThreadId)> = timeline.tree().filter_map(|(id, _)| ran(id)).collect();
    lives.sort_unstable();
    let mut workers: Vec<(Nanos, Vec<ThreadId>)> = Vec::new();
    for (from, to, id) in lives {
        let free = workers.iter_mut().filter(|(end, _)| *end <= from).max_by_key(|(end, _)| *end);
        match free {
            Some((end, threads)) => {
                *end = to;
                threads.push(id);
            }
            None => workers.push((to, vec![id])),
        }
    }
    workers.into_iter().map(|(_, threads)| threads).collect()
}
