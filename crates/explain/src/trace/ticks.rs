//! The kernel's ticks of the tree: how many found a thread in user mode and how many in the kernel, from one account of
//! it to the next.
//!
//! The kernel tells a thread's accounts when it becomes another program and when it ends. What a thread does after its
//! last account inside the window is not told. Nothing here divides or estimates.

use morecores_study::Nanos;
use morecores_study::trace::Accounts;

use super::timeline::{Naming, ThreadId, Timeline};

/// What was accounted to a thread from an instant to its next account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticks {
    pub(crate) thread: ThreadId,
    /// Since when. The thread ran one program from then on.
    pub(crate) from: Nanos,
    /// Ticks in user mode, as time.
    pub(crate) user: Nanos,
    /// Ticks in the kernel, as time.
    pub(crate) system: Nanos,
}

/// All that was accounted to the threads of the tree inside the window.
pub(crate) fn ticks(timeline: &Timeline) -> Vec<Ticks> {
    let mut ticks = Vec::new();
    for (thread, told) in timeline.tree() {
        // What the main process was before it became the command is no part of it, and of a thread older than the trace
        // it is not known what it had done by then.
        let begun = told.born.filter(|_| timeline.root != Some(thread));
        let mut since = begun.map(|born| (born, Accounts::default()));
        let execs = told.names.iter().filter_map(|named| match named.by {
            Naming::Exec(accounts) => Some((named.from, accounts)),
            Naming::Inherited | Naming::Rename => None,
        });
        let end = told.accounts.map(|accounts| (told.ended.unwrap_or(timeline.ended), accounts));
        for (at, accounts) in execs.chain(end) {
            if let Some((from, before)) = since
                && at > timeline.began
            {
                let (user, system) = (accounts.user.since(before.user), accounts.system.since(before.system));
                ticks.push(Ticks { thread, from, user, system });
            }
            since = Some((at, accounts));
        }
    }
    ticks
}
