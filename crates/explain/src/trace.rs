//! Accounting of a traced run's CPU-seconds: from the events to the state of each thread and CPU at
//! each instant, to the cause of each wait, and to the components.
//!
//! Pure functions of the recorded events; methods, sources and limits are in
//! `docs/methods/explain.md`.

mod activity_graph;
mod build;
mod call;
mod call_counts;
mod causes;
mod changes;
mod code_events;
mod components;
mod critical_path;
mod futexes;
mod holders;
mod idle;
mod lock_spans;
mod span_parts;
mod ticks;
mod timed_holds;
mod timeline;
mod user_stacks;
mod wait_forest;

pub use activity_graph::{ActivityGraph, LockOrder};
pub use call::call_name;
pub use causes::{Cause, causes, idle_causes};
pub use code_events::{CodeEvents, FoundCode, FoundFutex};
pub use components::{Accounting, account};
pub use critical_path::{Activity, ActivityKind, ThreadInstant, creator, critical_path, releaser};
pub use futexes::{FutexId, FutexUse, awaited_futex, condition_id, futex_uses};
pub(crate) use futexes::{WakeUp, timed_locks};
pub use holders::{LockHold, WaitsByThread, lock_holds};
pub use lock_spans::{LockSpan, lock_spans};
pub(crate) use span_parts::SpanParts;
pub(crate) use ticks::tick_spans;
pub use timed_holds::timed_lock_holds;

pub use idle::{BlockedPeriod, Charge, IdleAccounting, IdleSpan, IdleTimes, apply_idle_rule, idle_over_time};
pub use timeline::{
    CallRecord, Confinement, CpuSample, CpuSpan, CpuTimeline, LockWait, NameOrigin, Occupant, Segment,
    Source, State, Thread, ThreadId, ThreadName, Timeline, Wait, WaitId, Wake, WorkItem,
};
pub use user_stacks::{RecordedStack, UserStacks};
