//! Scheduler behaviour of the traced machine: the wake-up latency of an idle CPU, and the time
//! slice of a thread under contention. Both depend on the machine. A hypervisor must wake a
//! sleeping virtual CPU, and slices end at clock ticks.

use morecores_study::Nanos;

use morecores_explain::trace::{Occupant, Segment, State, Timeline};

/// Limits on a scheduler's time slice. A thread that yields leaves its CPU earlier, by its own
/// choice.
const MIN_SLICE: Nanos = Nanos::from_micros(200);
const MAX_SLICE: Nanos = Nanos::from_millis(100);

/// Number of events for which the median is known to some percent.
const MIN_EVENTS: usize = 10;

/// Median time from a wake-up of a thread in the tree until it runs on a CPU that was idle. `None`
/// with too few such events.
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
        let before = cpu.spans.partition_point(|span| span.to < run);
        let was_idle = cpu
            .spans
            .get(before)
            .is_some_and(|span| span.occupant == Occupant::Idle && span.to == run && span.from <= wake.at);
        if was_idle {
            latencies.push(run.since(wake.at));
        }
    }
    if latencies.len() < MIN_EVENTS { None } else { Nanos::median(latencies) }
}

/// Time that a thread of the tree kept its CPU before its preemption. `None` with too few
/// preemptions.
///
/// The value is the time-weighted median: half of the CPU time was in longer spans. A woken
/// thread may preempt early and often, so short spans are frequent.
pub(super) fn time_slice(timeline: &Timeline) -> Option<Nanos> {
    let ran = |pair: &[Segment]| match pair {
        [ran, left]
            if matches!(ran.state, State::Running { .. })
                && left.state == State::Runnable
                && left.from == ran.to =>
        {
            Some(ran.to.since(ran.from))
        }
        _ => None,
    };
    let mut times: Vec<Nanos> =
        timeline.tree().flat_map(|(_, thread)| thread.segments.windows(2).filter_map(ran)).collect();
    times.sort_unstable();
    let all: Nanos = times.iter().copied().sum();
    let mut so_far = Nanos::ZERO;
    let middle = times.iter().find(|time| {
        so_far += **time;
        so_far.0 >= all.0 / 2
    });
    middle.map(|time| (*time).clamp(MIN_SLICE, MAX_SLICE)).filter(|_| times.len() >= MIN_EVENTS)
}
