//! Division of each stretch of a CPU into interrupts, the hypervisor's steal, and the rest, which
//! belongs to its occupant.
//!
//! The kernel accounts CPU time from a reading of its own clock, which it may have taken before the
//! switch. A thread that is woken on an idle CPU is accounted from the interrupt that woke it, some
//! 10 µs early. Within a busy period, from one idle stretch to the next, such a reading is the end
//! of one thread and the beginning of the next, and the errors cancel. Steal is therefore computed
//! for busy periods, and a period with more accounted time than elapsed time has no steal. Its
//! stretches keep their measured length: the surplus is time in which the CPU was still idle.

use morecores_study::trace::TraceHeader;

use super::timeline::{CpuTimeline, Occupant, Stretch, Timeline};

/// Division of one stretch: interrupts, steal and rest are seconds that add up to its length.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Shares {
    pub(crate) interrupts: f64,
    /// Time taken by the hypervisor. It is signed: within a busy period, one thread may be
    /// accounted another thread's time.
    pub(crate) steal: f64,
    /// Time accounted to the threads of a busy period beyond its length. It is no part of the
    /// stretch, and signed like steal.
    pub(crate) surplus: f64,
    /// Time left to the occupant of the CPU.
    pub(crate) rest: f64,
}

/// Divides each stretch of each CPU, in step with the timeline's CPUs and their stretches.
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
