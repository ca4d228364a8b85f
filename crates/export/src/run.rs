//! A decoded run with everything that its tables and tracks show.

use std::cell::OnceCell;
use std::collections::HashMap;

use morecores_explain::trace::{
    Activity, BlockedPeriod, Cause, FutexId, IdleSpan, account, critical_path, idle_causes, idle_over_time,
};
use morecores_explain::{DecodedTrace, Programs, user_lock_names};
use morecores_study::trace::TraceSource;

/// Decoded run, with the causes of its waits. Everything else is derived when it is first needed,
/// because most tables need little of it.
#[derive(Debug)]
pub struct ExportedRun<'t> {
    pub(crate) trace: &'t DecodedTrace<'t>,
    /// Architecture of the traced machine, which decides the names of system calls.
    pub(crate) arch: &'t str,
    pub(crate) programs: Programs,
    /// Cause of each wait.
    pub(crate) causes: Vec<Cause>,
    idle: OnceCell<IdleTime>,
    path: OnceCell<Vec<Activity>>,
    lock_names: OnceCell<HashMap<FutexId, String>>,
}

/// Idle time of the run, without the time that the tracer's programs took of it.
#[derive(Debug)]
pub(crate) struct IdleTime {
    /// Idle time lost to each wait, in seconds of CPU time.
    pub(crate) wait_charges: Vec<f64>,
    /// Idle time by cause over time.
    pub(crate) spans: Vec<IdleSpan>,
    /// Periods in which no thread of the command ran or was ready.
    pub(crate) blocked_periods: Vec<BlockedPeriod>,
}

impl<'t> ExportedRun<'t> {
    /// Derives what most tables show. `arch` is the architecture of the traced machine.
    pub fn new(trace: &'t DecodedTrace<'t>, arch: &'t str) -> Self {
        Self {
            programs: Programs::from_timeline(&trace.timeline),
            causes: idle_causes(&trace.timeline),
            idle: OnceCell::new(),
            path: OnceCell::new(),
            lock_names: OnceCell::new(),
            trace,
            arch,
        }
    }

    /// Idle time. The reports charge the time that the tracer's programs took of it to the tracer,
    /// in equal proportion from every cause.
    pub(crate) fn idle(&self) -> &IdleTime {
        self.idle.get_or_init(|| {
            let timeline = &self.trace.timeline;
            let (all, mut spans) = idle_over_time(timeline, &self.causes);
            let all_s = all.times.total();
            let charged = account(self.trace.header, timeline, all).idle;
            let share = if all_s > 0.0 { charged.times.total() / all_s } else { 1.0 };
            for span in &mut spans {
                span.seconds *= share;
            }
            let (wait_charges, blocked_periods) = (charged.wait_charges, charged.blocked_periods);
            IdleTime { wait_charges, spans, blocked_periods }
        })
    }

    /// Critical path; empty for a trace without wake-ups.
    pub(crate) fn path(&self) -> &[Activity] {
        self.path.get_or_init(|| match self.trace.header.facts.source {
            TraceSource::Perf => Vec::new(),
            _ => critical_path(&self.trace.timeline, &self.causes),
        })
    }

    /// Names of the command's own locks, where they are known.
    pub(crate) fn lock_names(&self) -> &HashMap<FutexId, String> {
        self.lock_names.get_or_init(|| user_lock_names(self.trace, &self.causes))
    }
}
