//! What is said of one traced run: its components, and the tables beside them.
//!
//! This is where the parts are put together; each part is computed from the timeline alone and knows no other.

mod callers;
mod commands;
mod concurrency;
mod culprits;
mod locks;
mod phases;
mod profile;
mod programs;
mod waiting;

use morecores_record::{Event, TraceHeader, TraceView};

use crate::trace::{Timeline, account, causes, idle};
use programs::Programs;

/// Everything derived from one traced run: `events` in the order of time, with the header beside them. Its overhead is
/// not: that takes the untraced runs, which [`view`](crate::view()) has.
pub fn trace_view(header: &TraceHeader, events: &[Event]) -> TraceView {
    let timeline = Timeline::new(header, events);
    let accounting = account(header, &timeline, idle(&timeline, &causes(&timeline)));
    let root = timeline.tree().next().map(|(id, _)| id);
    let programs = Programs::of(&timeline, root);
    let moments = concurrency::moments(&timeline);
    let phases = phases::phases(header, &timeline, &programs, &moments, &accounting.idle.silences);
    let lock_times = locks_are_traced(header, &timeline).then(|| waiting::lock_times(&timeline));
    let commands = commands::commands(header, &timeline, &programs, root, lock_times.as_deref());
    let lost = header.lost.iter().map(|loss| loss.dropped).sum::<u64>() + header.missed;
    TraceView {
        cpus: header.run.cpus,
        n: header.run.n,
        cpu_set: header.run.cpu_set.clone(),
        source: header.source,
        elapsed_s: timeline.elapsed().as_secs_f64(),
        overhead: None,
        events: header.events,
        lost_events: lost.max(timeline.troubles.lost),
        components: accounting.components,
        user_spin_s: accounting.user_spin_s,
        outside_cpu_s: accounting.outside_cpu_s,
        outside_tree_s: accounting.outside_tree_s,
        kernel_ratio: accounting.kernel_ratio,
        kernel_ratio_estimator: accounting.kernel_ratio_estimator,
        waiting_ratio: commands.waiting_ratio,
        lock_ratio: None,
        parallelism: profile::parallelism(&moments, header.run.cpus),
        serial_phases: phases.phases,
        serial_gap_s: phases.gap.as_secs_f64(),
        serial_minimum_s: phases.minimum.as_secs_f64(),
        parts: phases.parts,
        commands: commands.rows,
        locks: locks::locks(header, &timeline),
        culprits: culprits::culprits(&timeline, &programs, &accounting.idle.charges),
        others: culprits::others(header, &timeline, &programs),
        untraced: header.untraced.clone(),
    }
}

/// Whether waits for kernel locks would have been seen. An absent figure is better than a zero that means "not looked".
fn locks_are_traced(header: &TraceHeader, timeline: &Timeline) -> bool {
    header.stack_share.is_some() || !timeline.contentions.is_empty()
}
