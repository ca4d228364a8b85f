//! What a stretch of a CPU is made of: interrupts, what a hypervisor took, and the rest, which is its occupant's own.
//!
//! The kernel accounts to a thread from a reading of its own clock, which it may have taken before the switch: a thread
//! that is woken on an idle CPU is accounted from the interrupt that woke it, some 10 µs early. Within a busy period, from
//! one idle stretch to the next, such readings are the end of one thread and the beginning of the next, and cancel. So
//! steal is told of busy periods, and one with more accounted than there was time for has none. Its stretches
//! are taken to be as long as they were: the surplus is time in which the CPU was still idle.

use morecores_study::trace::TraceHeader;

use super::timeline::{CpuTimeline, Occupant, Stretch, Timeline};

/// One stretch, divided: interrupts, steal and rest are seconds that add up to its length.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Shares {
    pub(crate) interrupts: f64,
    /// Signed: within a busy period one thread may be accounted what was another's.
    pub(crate) steal: f64,
    /// What was accounted to the threads of a busy period beyond its length: no part of the stretch. Signed like steal.
    pub(crate) surplus: f64,
    /// What is left to whoever had the CPU.
    pub(crate) rest: f64,
}

/// Divides each stretch of each CPU: in step with the timeline's CPUs and their stretches.
pub(super) fn of_all(header: &TraceHeader, timeline: &Timeline) -> Vec<Vec<Shares>> {
    timeline.cpus.iter().map(|cpu| shares(header, cpu)).collect()
}

/// Divides each stretch of a CPU.
fn shares(header: &TraceHeader, cpu: &CpuTimeline) -> Vec<Shares> {
    let mut shares = Vec::with_capacity(cpu.stretches.len());
    let is_idle = |stretch: &Stretch| stretch.who == Occupant::Idle;
    for period in cpu.stretches.chunk_by(|one, next| !is_idle(one) && !is_idle(next)) {
        let taken = |stretch: &Stretch| taken(header, stretch);
        let steals = period.iter().map(taken).sum::<f64>() > 0.0;
        shares.extend(period.iter().map(|stretch| {
            let interrupts = stretch.interrupts.as_secs_f64();
            let taken = taken(stretch);
            let (steal, surplus) = if steals { (taken, 0.0) } else { (0.0, -taken) };
            let rest = stretch.length().as_secs_f64() - interrupts - steal;
            Shares { interrupts, steal, surplus, rest }
        }));
    }
    shares
}

/// Wall time of a stretch that was not accounted to its thread, signed.
fn taken(header: &TraceHeader, stretch: &Stretch) -> f64 {
    stretch.accounted.map_or(0.0, |accounted| {
        let own = if header.interrupts_accounted { stretch.interrupts.as_secs_f64() } else { 0.0 };
        stretch.length().as_secs_f64() - accounted.as_secs_f64() - own
    })
}
