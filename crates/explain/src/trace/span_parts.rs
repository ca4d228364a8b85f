//! Division of each span of a CPU into interrupts, the hypervisor's steal, and the rest, which
//! belongs to its occupant.
//!
//! The kernel accounts CPU time from a reading of its own clock, which it may have taken before the
//! switch. A thread that is woken on an idle CPU is accounted from the interrupt that woke it, some
//! 10 µs early. Within a busy period, from one idle span to the next, such a reading is the end
//! of one thread and the beginning of the next, and the errors cancel. Steal is therefore computed
//! for busy periods, and a period with more accounted time than elapsed time has no steal. Its
//! spans keep their measured length: the surplus is time in which the CPU was still idle.

use morecores_study::trace::TraceHeader;

use super::timeline::{CpuSpan, CpuTimeline, Occupant, Timeline};

/// Division of one span: interrupts, steal and rest are seconds that add up to its length.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SpanParts {
    pub(crate) interrupts: f64,
    /// Time taken by the hypervisor. It is signed: within a busy period, one thread may be
    /// accounted another thread's time.
    pub(crate) steal: f64,
    /// Time accounted to the threads of a busy period beyond its length. It is no part of the
    /// span, and signed like steal.
    pub(crate) surplus: f64,
    /// Time left to the occupant of the CPU.
    pub(crate) occupant: f64,
}

/// Divides each span of each CPU, in step with the timeline's CPUs and their spans.
pub(super) fn divide_spans(header: &TraceHeader, timeline: &Timeline) -> Vec<Vec<SpanParts>> {
    timeline.cpus.iter().map(|cpu| divide_cpu_spans(header, cpu)).collect()
}

/// Divides each span of a CPU.
fn divide_cpu_spans(header: &TraceHeader, cpu: &CpuTimeline) -> Vec<SpanParts> {
    let mut parts = Vec::with_capacity(cpu.spans.len());
    let is_idle = |span: &CpuSpan| span.occupant == Occupant::Idle;
    for period in cpu.spans.chunk_by(|one, next| !is_idle(one) && !is_idle(next)) {
        let unaccounted = |span: &CpuSpan| unaccounted_s(header, span);
        let has_steal = period.iter().map(unaccounted).sum::<f64>() > 0.0;
        parts.extend(period.iter().map(|span| {
            let interrupts = span.interrupts.as_secs_f64();
            let unaccounted = unaccounted(span);
            let (steal, surplus) = if has_steal { (unaccounted, 0.0) } else { (0.0, -unaccounted) };
            let occupant = span.length().as_secs_f64() - interrupts - steal;
            SpanParts { interrupts, steal, surplus, occupant }
        }));
    }
    parts
}

/// Wall time of a span that was not accounted to its thread, signed.
fn unaccounted_s(header: &TraceHeader, span: &CpuSpan) -> f64 {
    span.accounted.map_or(0.0, |accounted| {
        let own = if header.facts.interrupts_accounted { span.interrupts.as_secs_f64() } else { 0.0 };
        span.length().as_secs_f64() - accounted.as_secs_f64() - own
    })
}
