//! What the traced machine's scheduler did, as the trace shows it: how long an idle CPU takes to be at work, and how long a thread
//! keeps its CPU while others want one. Of no machine is either known beforehand: a hypervisor has to be asked to wake a CPU that
//! sleeps, and slices end at the ticks of a clock.

use morecores_study::Nanos;

use morecores_explain::trace::{Occupant, Segment, State, Timeline};

/// No scheduler's slices are shorter or longer: a thread that yields its CPU leaves it earlier, of its own will.
const SHORTEST: Nanos = Nanos::from_micros(200);
const LONGEST: Nanos = Nanos::from_millis(100);

/// Events whose median is known to some percent.
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
    median(latencies)
}

/// How long a thread of the tree had its CPU until it was made to leave it; `None` where that happened too seldom to tell. Half of
/// the time was in longer ones and half in shorter: who is woken may take a CPU early, often and from one who has hardly begun.
pub(super) fn slice(timeline: &Timeline) -> Option<Nanos> {
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
    middle.map(|time| (*time).clamp(SHORTEST, LONGEST)).filter(|_| times.len() >= ENOUGH)
}

fn median(mut times: Vec<Nanos>) -> Option<Nanos> {
    times.sort_unstable();
    (times.len() >= ENOUGH).then(|| times[times.len() / 2])
}
