//! What stands beside the events of a traced run: how it was traced, what was lost, and the names of what the events
//! give by number.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::event::Tid;
use crate::{CpuId, Nanos, Run};

/// Name of the schema of a trace: of [`TraceHeader`] and of the event stream beside it.
pub const TRACE_SCHEMA: &str = "morecores.trace/1";

/// What told the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum TraceSource {
    /// BPF programs at the kernel's tracepoints.
    Bpf,
    /// BPF programs, at every system call too.
    BpfWithSystemCalls,
    /// Context-switch records of perf events, without privilege: no wakers, locks, calls or interrupts.
    Perf,
}

/// A thread that there was when the trace began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownThread {
    /// Its number.
    pub tid: Tid,
    /// Its process's.
    pub process: Tid,
    /// Its name.
    pub name: String,
    /// Whether it is one of the kernel's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kernel: bool,
}

/// What was lost of one CPU's events for want of room in its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuLoss {
    /// Which.
    pub cpu: CpuId,
    /// So many events.
    pub dropped: u64,
}

/// What one kind of event cost, measured on this machine before the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCost {
    /// The tracepoint.
    pub probe: String,
    /// How often it was met during the run.
    pub count: u64,
    /// What one meeting cost.
    pub each_ns: Nanos,
}

/// One function of a kernel stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelFrame {
    /// The function, or the address in hexadecimal where it has no name.
    pub symbol: String,
    /// Bytes into it.
    pub offset: u64,
}

/// A kernel stack, innermost function first.
pub type KernelStack = Vec<KernelFrame>;

/// Something that this trace cannot tell, and why: the kernel, the hypervisor, the privilege, or what happened during
/// the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Untraced {
    /// What is missing, as words that follow "without".
    pub what: String,
    /// Why.
    pub why: String,
}

/// The content of a trace's JSON file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceHeader {
    /// [`TRACE_SCHEMA`].
    pub schema: String,
    /// What told the events.
    pub source: TraceSource,
    /// The traced run, accounted for like any other; it is no timed one.
    pub run: Run,
    /// The main process.
    pub root: Tid,
    /// `CLOCK_MONOTONIC` at the main process's exec.
    pub began_ns: Nanos,
    /// The same at its end.
    pub ended_ns: Nanos,
    /// Threads there were when the trace began.
    pub known: Vec<KnownThread>,
    /// How many events the stream holds.
    pub events: u64,
    /// What was lost, of each CPU that lost any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<CpuLoss>,
    /// Events that no program saw, because one was already running on the CPU; over all CPUs, as the kernel counts them.
    #[serde(default)]
    pub missed: u64,
    /// The thread that carried the events away, where it is in them, and all other threads of the tracer's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tracer: Vec<Tid>,
    /// What the events cost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<EventCost>,
    /// Time between two samples of one CPU; absent where none were taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_period_ns: Option<Nanos>,
    /// Time between two of the kernel's ticks, the grain of user and system time in [`Accounts`](super::Accounts).
    pub tick_ns: Nanos,
    /// Whether the kernel takes interrupts off a thread's accounted run time (CONFIG_IRQ_TIME_ACCOUNTING).
    pub interrupts_accounted: bool,
    /// Whether the events tell of threads that are ready and held back; older traces do not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held_is_told: bool,
    /// How long another, idle CPU of the machine took to be at work for a thread that was woken, measured before the run by two threads of
    /// the tracer's; absent where there was no other, or threads may not be placed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_latency_ns: Option<Nanos>,
    /// Of short waits for kernel locks, one in so many has its stack taken; of longer ones each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack_share: Option<u32>,
    /// Kernel stacks, by the number that events give.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stacks: BTreeMap<u32, KernelStack>,
    /// What the devices' interrupts are called in /proc/interrupts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub interrupts: BTreeMap<u32, String>,
    /// What this trace cannot tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untraced: Vec<Untraced>,
    /// Fields written by a later version.
    #[serde(flatten)]
    pub unknown: serde_json::Map<String, serde_json::Value>,
}
