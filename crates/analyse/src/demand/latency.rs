//! How long an idle CPU takes to be at work, as the trace shows it: longest on virtual machines, where the hypervisor has to be
//! asked to wake a CPU that sleeps.

use morecores_record::Nanos;

use crate::trace::{Occupant, State, Timeline};

/// Wake-ups whose median is known to some percent.
const ENOUGH: usize = 10;

/// The median time from a wake-up of a thread of the tree until it runs on a CPU that was idle; `None` where that happened too
/// seldom to tell.
pub(super) fn wake_latency(timeline: &Timeline) -> Option<Nanos> {
    let mut latencies = Vec::new();
    for wait in &timeline.waits {
        let Some(wake) = wait.wake else { continue };
        let thread = timeline.thread(wait.thread);
        if !thread.in_tree {
            continue;
        }
        let first = thread.segments.partition_point(|segment| segment.from < wait.to);
        let after = thread.segments[first..].iter().take(2);
        let Some((run, cpu)) = after
            .filter_map(|s| match s.state {
                State::Running { cpu } => Some((s.from, cpu)),
                _ => None,
            })
            .next()
        else {
            continue;
        };
        let Some(cpu) = timeline.cpus.iter().find(|timeline| timeline.cpu == cpu) else { continue };
        let before = cpu.stretches.partition_point(|stretch| stretch.to < run);
        let was_idle = cpu.stretches.get(before).is_some_and(|stretch| {
            stretch.who == Occupant::Idle && stretch.to == run && stretch.from <= wake.at
        });
        if was_idle {
            latencies.push(run.since(wake.at));
        }
    }
    latencies.sort_unstable();
    (latencies.len() >= ENOUGH).then(|| latencies[latencies.len() / 2])
}
