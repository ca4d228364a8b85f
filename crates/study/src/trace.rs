//! A traced run: what the kernel told of it, event by event, and what is needed to read the events.
//!
//! Only what was observed; which CPU was lost to what is computed from it elsewhere. A trace is told by one of two
//! sources (BPF programs, or the context-switch records of perf events that an ordinary user gets), and both tell it
//! in these events, the poorer one in fewer of them.

mod event;
mod header;
mod stream;
mod tracepoint;

pub use event::{
    Accounts, Call, Comm, Contention, Event, EventKind, Exec, Exit as ThreadExit, Fork, FutexWait, HeldBy,
    Interrupt, KnownLock, Left, LockFlags, Object, Sample, SampleMode, Switch, SystemCall, Tid, Waker,
    Waking, Work,
};
pub use header::{
    CpuLoss, EventCost, KernelFrame, KernelStack, KnownThread, TRACE_SCHEMA, TraceHeader, TraceSource,
    Untraced,
};
pub use stream::{Decoded, EventFrame, StreamError, StreamReader, StreamWriter, read_events};
pub use tracepoint::{LEAST_LINUX, Need, TRACEPOINTS, Tracepoint};
