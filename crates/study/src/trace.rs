//! Traced run: the events that the kernel reported, and the data needed to read them.
//!
//! A trace holds observations only; other code computes from them where each CPU's time was lost.
//! One of two sources records a trace: BPF programs, or the perf events that an unprivileged user
//! gets. Both sources use these events; perf events supply fewer of them.

mod address_spaces;
mod code;
mod event;
mod header;
mod lock_uses;
mod source_map;
mod stream;
mod tracepoint;

pub use crate::study::{
    DamagedTrace, TraceHeaders, TraceWriter, read_trace_events, read_trace_headers, trace_events_path,
    trace_name,
};
pub use address_spaces::AddressSpaces;
pub use code::{CodeAddress, Function, GeneratedFunction, Mapping, Module, SourceLine, StackFrame, Variable};
pub use event::{
    Accounts, Call, Comm, Contention, Event, EventKind, Exec, Exit as ThreadExit, Fork, FutexWait,
    HoldReason, Interrupt, KnownLock, LockFlags, Object, PrevState, Sample, SampleMode, StackEnd,
    StackMoment, Switch, SystemCall, Tid, UserStack, Waker, Waking, Work,
};
pub use header::{
    CpuLoss, EventCost, KernelFrame, KernelStack, KnownThread, TRACE_SCHEMA, TraceFacts, TraceHeader,
    TraceSource, UntracedFact,
};
pub use lock_uses::{LockMode, LockUse, LockUses};
pub use source_map::{FileLine, InlinedFunction, SourceMap, SourcePlace, SourceRange};
pub use stream::{Decoded, EventFrame, EventSink, StreamError, StreamReader, StreamWriter, read_events};
pub use tracepoint::{LEAST_LINUX, Need, TRACEPOINTS, Tracepoint};
