//! The kernel's ticks of the tree: their counts in user mode and in the kernel, from one account of
//! a thread to its next.
//!
//! The kernel reports a thread's accounts when it executes another program and when it ends. The
//! time after a thread's last account inside the window is not recorded. This module neither
//! divides nor estimates.

use morecores_study::Nanos;
use morecores_study::trace::Accounts;

use super::timeline::{NameOrigin, ThreadId, Timeline};

/// Time accounted to a thread from an instant to its next account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TickSpan {
    pub(crate) thread: ThreadId,
    /// Beginning of the span. The thread ran one program from then on.
    pub(crate) from: Nanos,
    /// Ticks in user mode, as time.
    pub(crate) user: Nanos,
    /// Ticks in the kernel, as time.
    pub(crate) system: Nanos,
}

/// All time accounted to the threads of the tree inside the window.
pub(crate) fn tick_spans(timeline: &Timeline) -> Vec<TickSpan> {
    let mut spans = Vec::new();
    for (id, thread) in timeline.tree() {
        // The main process's time before it became the command does not count. The earlier time of
        // a thread older than the trace is unknown.
        let creation = thread.created.filter(|_| timeline.root != Some(id));
        let mut since = creation.map(|created| (created, Accounts::default()));
        let execs = thread.names.iter().filter_map(|name| match name.origin {
            NameOrigin::Exec(accounts) => Some((name.from, accounts)),
            NameOrigin::Inherited | NameOrigin::Rename => None,
        });
        let end = thread.accounts.map(|accounts| (thread.ended.unwrap_or(timeline.ended), accounts));
        for (at, accounts) in execs.chain(end) {
            if let Some((from, before)) = since
                && at > timeline.began
            {
                let (user, system) = (accounts.user.since(before.user), accounts.system.since(before.system));
                spans.push(TickSpan { thread: id, from, user, system });
            }
            since = Some((at, accounts));
        }
    }
    spans
}
