//! Accounting of a traced run's CPU-seconds: from the events to the state of each thread and CPU at
//! each instant, to the cause of each wait, and to the components.
//!
//! Pure functions of the recorded events; methods, sources and limits are in
//! `docs/methods/explain.md`.

mod build;
mod call;
mod causes;
mod changes;
mod components;
mod forest;
mod futexes;
mod holders;
mod idle;
mod labels;
mod lock_spans;
mod shares;
mod ticks;
mod timeline;

pub use call::call_name;
pub use causes::{Cause, causes};
pub use components::{Accounting, account};
pub use futexes::{FutexId, FutexUse, futex, futex_uses};
pub use holders::{Held, WaitsOf, held};
pub use lock_spans::{LockSpan, lock_spans};
pub(crate) use shares::Shares;
pub(crate) use ticks::ticks;

pub use idle::{Charge, Idle, IdleTimes, Silence, idle};
pub use timeline::{
    CallMade, Confinement, CpuTimeline, LockWait, Named, Naming, Occupant, Sampled, Segment, Source, State,
    Stretch, Thread, ThreadId, Timeline, Wait, WaitId, Wake, WorkDone,
};
