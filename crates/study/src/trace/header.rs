//! Data beside the events of a traced run: the tracing method, the losses, and the names behind the
//! numbers in the events.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::SourceMap;
use super::code::{Function, GeneratedFunction, Module, Variable};
use super::event::Tid;
use super::lock_uses::LockUses;
use crate::{CpuId, Nanos, Run};

/// Name of the schema of a trace: of [`TraceHeader`] and of the event stream beside it.
pub const TRACE_SCHEMA: &str = "morecores.trace/1";

/// Source of the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum TraceSource {
    /// BPF programs at the kernel's tracepoints.
    Bpf,
    /// BPF programs at the kernel's tracepoints and at every system call.
    BpfWithSystemCalls,
    /// Perf events, without privilege: context switches, and samples in user mode; no wakers,
    /// locks, calls or interrupts.
    Perf,
}

/// Thread that existed when the trace began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownThread {
    /// Number of the thread.
    pub tid: Tid,
    /// Number of the thread's process.
    pub process: Tid,
    /// Name of the thread.
    pub name: String,
    /// Whether the thread is a kernel thread.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kernel: bool,
}

/// Events of one CPU that were lost because its buffer was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuLoss {
    /// CPU that lost the events.
    pub cpu: CpuId,
    /// Number of lost events.
    pub dropped: u64,
}

/// Cost of one kind of event, measured on this machine before the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCost {
    /// Tracepoint of the event.
    pub probe: String,
    /// Number of hits during the run.
    pub count: u64,
    /// Cost of one hit.
    pub each_ns: Nanos,
}

impl EventCost {
    /// Name of the copies of user stacks among the events.
    pub const USER_STACK: &str = "user stack";
    /// Name of the holds of locks among the events, with the two calls of each.
    pub const LOCK_HOLD: &str = "hold of a lock";
    /// Events of the command's own threads alone; the others are of any thread.
    const OF_COMMAND: [&str; 5] =
        [Self::USER_STACK, Self::LOCK_HOLD, "sys_exit", "contention_end", "cpu-clock"];

    /// Cost of all hits together, in seconds.
    pub fn total_s(&self) -> f64 {
        self.count as f64 * self.each_ns.as_secs_f64()
    }

    /// Whether only threads of the command have the event.
    pub fn is_of_command(&self) -> bool {
        Self::OF_COMMAND.contains(&self.probe.as_str())
    }
}

/// One function of a kernel stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelFrame {
    /// Name of the function, or its address in hexadecimal if it has no name.
    pub symbol: String,
    /// Offset into the function, in bytes.
    pub offset: u64,
}

impl KernelFrame {
    /// Frame at an address without a known function.
    pub fn without_name(address: u64) -> Self {
        Self { symbol: format!("{address:#x}"), offset: 0 }
    }
}

/// Kernel stack, innermost function first.
pub type KernelStack = Vec<KernelFrame>;

/// Fact that this trace does not record, and the reason: the kernel, the hypervisor, the privilege,
/// or an event during the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct UntracedFact {
    /// Missing fact, in words that follow "without".
    pub what: String,
    /// Reason for the gap.
    pub why: String,
}

/// Content of a trace's header file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceHeader {
    /// Schema of the trace: [`TRACE_SCHEMA`].
    pub schema: String,
    /// Traced run, with the same figures as any other run; it is not a timed run.
    pub run: Run,
    /// Number of this trace among those of its cell, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repetition: u32,
    /// `CLOCK_MONOTONIC` at the main process's exec.
    pub began_ns: Nanos,
    /// `CLOCK_MONOTONIC` at the main process's end.
    pub ended_ns: Nanos,
    /// Facts from the tracer. The file has their keys beside those of the header.
    #[serde(flatten)]
    pub facts: TraceFacts,
    /// Fields that a later version wrote.
    #[serde(flatten)]
    pub unknown: serde_json::Map<String, serde_json::Value>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Facts about a trace that its tracer knows without knowing the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceFacts {
    /// Source of the events.
    pub source: TraceSource,
    /// Main process.
    pub root: Tid,
    /// Threads that existed when the trace began.
    pub known: Vec<KnownThread>,
    /// Number of events in the stream.
    pub events: u64,
    /// Losses of each CPU that lost any events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<CpuLoss>,
    /// Events that no program saw, because a program was already running on the CPU; over all CPUs,
    /// as the kernel counts them.
    #[serde(default)]
    pub missed: u64,
    /// Thread that carried the events away, if it is in them, and all other threads of the tracer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tracer: Vec<Tid>,
    /// Costs of the events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<EventCost>,
    /// Time between two samples of one CPU; absent if no samples were taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_period_ns: Option<Nanos>,
    /// Time between two kernel ticks, the resolution of user and system time in
    /// [`Accounts`](super::Accounts).
    pub tick_ns: Nanos,
    /// Whether the kernel subtracts interrupts from a thread's accounted run time
    /// (CONFIG_IRQ_TIME_ACCOUNTING).
    pub interrupts_accounted: bool,
    /// Whether the events record ready threads that are held back; older traces do not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held_is_told: bool,
    /// Time that another, idle CPU of the machine needed to start work for a woken thread. Two
    /// threads of the tracer measured it before the run. Absent if there was no other CPU, or
    /// threads may not be placed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_latency_ns: Option<Nanos>,
    /// Sampling interval of stacks: one in this many short waits for kernel locks has its stack
    /// recorded. Every longer wait has its stack recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack_share: Option<u32>,
    /// Kernel stacks, by the number that the events give.
    #[serde(default, deserialize_with = "numbered", skip_serializing_if = "BTreeMap::is_empty")]
    pub stacks: BTreeMap<u32, KernelStack>,
    /// Files that the processes mapped as code, in the order of their first mapping; after them the
    /// kernel, if it has functions here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<Module>,
    /// Functions in which samples found the processes, by module and start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<Function>,
    /// Places of the instructions in the source code.
    #[serde(default, skip_serializing_if = "SourceMap::is_empty")]
    pub source_map: SourceMap,
    /// Functions in which samples found the processes that generated them, by process, module and
    /// start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generated: Vec<GeneratedFunction>,
    /// Variables at the futexes that threads waited for, where the modules name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<Variable>,
    /// All holds of the command's own locks; absent unless each was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_uses: Option<LockUses>,
    /// Names of the devices' interrupts in /proc/interrupts.
    #[serde(default, deserialize_with = "numbered", skip_serializing_if = "BTreeMap::is_empty")]
    pub interrupts: BTreeMap<u32, String>,
    /// Facts that this trace does not record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untraced: Vec<UntracedFact>,
}

/// Map whose keys are numbers, from JSON, whose keys are strings. Serde's `flatten` holds a key
/// back as a string, from which a number is not read without help.
fn numbered<'de, D, V>(input: D) -> Result<BTreeMap<u32, V>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    let entries = BTreeMap::<String, V>::deserialize(input)?.into_iter();
    entries.map(|(key, value)| Ok((key.parse().map_err(D::Error::custom)?, value))).collect()
}
