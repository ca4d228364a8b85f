//! A decoded run with everything that its tables show.

use morecores_explain::trace::{
    Activity, Cause, IdleAccounting, IdleSpan, account, apply_idle_rule, critical_path, idle_causes,
    idle_spans,
};
use morecores_explain::{DecodedTrace, Programs};
use morecores_study::trace::TraceSource;

/// Decoded run, with the causes of its waits, the idle time lost to them, and its critical path.
#[derive(Debug)]
pub struct ExportedRun<'t> {
    pub(crate) trace: &'t DecodedTrace<'t>,
    /// Architecture of the traced machine, which decides the names of system calls.
    pub(crate) arch: &'t str,
    pub(crate) programs: Programs,
    /// Cause of each wait.
    pub(crate) causes: Vec<Cause>,
    /// Idle time lost to each wait, without the time that the tracer's programs took of it.
    pub(crate) idle: IdleAccounting,
    /// Share of the idle time that the tracer's programs did not take.
    idle_share: f64,
    /// Critical path; empty for a trace without wake-ups.
    pub(crate) path: Vec<Activity>,
}

impl<'t> ExportedRun<'t> {
    /// Derives what the tables show. `arch` is the architecture of the traced machine.
    pub fn new(trace: &'t DecodedTrace<'t>, arch: &'t str) -> Self {
        let timeline = &trace.timeline;
        let causes = idle_causes(timeline);
        let idle = apply_idle_rule(timeline, &causes);
        let all_idle_s = idle.times.total();
        let idle = account(trace.header, timeline, idle).idle;
        let idle_share = if all_idle_s > 0.0 { idle.times.total() / all_idle_s } else { 1.0 };
        let has_wakes = trace.header.facts.source != TraceSource::Perf;
        Self {
            programs: Programs::from_timeline(timeline),
            idle,
            idle_share,
            path: if has_wakes { critical_path(timeline, &causes) } else { Vec::new() },
            causes,
            trace,
            arch,
        }
    }

    /// Idle time by cause over time, without the time that the tracer's programs took of it: the
    /// reports charge this time to the tracer, in equal proportion from every cause.
    pub(crate) fn idle_spans(&self) -> Vec<IdleSpan> {
        let mut spans = idle_spans(&self.trace.timeline, &self.causes);
        for (_, seconds) in spans.iter_mut().flat_map(|span| &mut span.times) {
            *seconds *= self.idle_share;
        }
        spans
    }
}
