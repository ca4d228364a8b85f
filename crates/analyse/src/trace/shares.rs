//! What a stretch of a CPU is made of: interrupts, what a hypervisor took, and the rest, which is its occupant's own.
//!
//! The kernel accounts to a thread from a reading of its own clock, which it may have taken before the switch: a thread
//! that is woken on an idle CPU is accounted from the interrupt that woke it, some 10 µs early. Within a busy period, from
//! one idle stretch to the next, such readings are the end of one thread and the beginning of the next, and cancel. So
//! steal is told of busy periods, and one with more accounted than there was time for has none.

use morecores_record::TraceHeader;

use super::timeline::{CpuTimeline, Occupant, Stretch};

/// One stretch, divided: seconds that add up to its length.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shares {
    pub(crate) interrupts: f64,
    /// Signed: within a busy period one thread may be accounted what was another's.
    pub(crate) steal: f64,
    /// What is left to whoever had the CPU.
    pub(crate) rest: f64,
}

/// Divides each stretch of a CPU.
pub(crate) fn shares(header: &TraceHeader, cpu: &CpuTimeline) -> Vec<Shares> {
    let mut shares = Vec::with_capacity(cpu.stretches.len());
    let is_idle = |stretch: &Stretch| stretch.who == Occupant::Idle;
    for period in cpu.stretches.chunk_by(|one, next| !is_idle(one) && !is_idle(next)) {
        let taken = |stretch: &Stretch| taken(header, stretch);
        let steals = period.iter().map(taken).sum::<f64>() > 0.0;
        shares.extend(period.iter().map(|stretch| {
            let interrupts = stretch.interrupts.as_secs_f64();
            let steal = if steals { taken(stretch) } else { 0.0 };
            Shares { interrupts, steal, rest: stretch.length().as_secs_f64() - interrupts - steal }
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
