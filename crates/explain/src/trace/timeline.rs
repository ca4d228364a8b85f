//! Types of the timeline: the activity of each thread and each CPU, from the beginning of the
//! window to its end.
//!
//! The timeline holds only events and their actors. Other modules decide the cause of each lost
//! CPU-second.

use std::collections::BTreeMap;

use morecores_study::trace::{
    Accounts, Call, CodeAddress, Comm, Event, FutexWait, HoldReason, Interrupt, KnownLock, LockFlags, Object,
    PrevState, SampleMode, Tid, TraceHeader, TraceSource,
};
use morecores_study::{CpuId, CpuSet, Nanos};
use morecores_view::Inconsistencies;

use super::user_stacks::{RecordedStack, UserStacks};

/// A thread from its beginning to its end: an index into [`Timeline::threads`]. Unlike a [`Tid`], a
/// `ThreadId` is never reused for another thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

impl ThreadId {
    /// The identifier as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A wait: an index into [`Timeline::waits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitId(pub u32);

impl WaitId {
    /// The identifier as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Activity of all threads and CPUs during a run.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Beginning of the window: the exec of the main process. Only births, names and confinements
    /// can be earlier.
    pub began: Nanos,
    /// End of the window: the end of the main process. Nothing in the timeline is later.
    pub ended: Nanos,
    /// CPUs allotted to the run.
    pub allotted: CpuSet,
    /// Names of the devices' interrupts by interrupt number, where they are known.
    pub interrupts: BTreeMap<u32, String>,
    /// Source of the events.
    pub source: TraceSource,
    /// First thread of the main process; none if no event mentions it.
    pub root: Option<ThreadId>,
    /// All threads, of the tree and others, in the order of their first appearance.
    pub threads: Vec<Thread>,
    /// CPUs in ascending order: all allotted ones, and any other CPU that occurs in an event.
    pub cpus: Vec<CpuTimeline>,
    /// All waits of all threads, in the order of their beginnings.
    pub waits: Vec<Wait>,
    /// Waits for kernel locks, in the order of their ends.
    pub contentions: Vec<LockWait>,
    /// Work items of kernel workers with their originators, in the order of their ends.
    pub work_items: Vec<WorkItem>,
    /// Threads that could not use all allotted CPUs, in the order of time.
    pub confinements: Vec<Confinement>,
    /// Samples, in the order of time.
    pub samples: Vec<CpuSample>,
    /// System calls of the tree that concern an object, in the order of their returns; exact traces
    /// only.
    pub calls: Vec<CallRecord>,
    /// User stacks of the tree.
    pub user_stacks: UserStacks,
    /// Number of lost events, counted by the events themselves.
    pub lost_events: u64,
    /// Number of contradictions between events.
    pub misfits: Inconsistencies,
}

impl Timeline {
    /// Builds the timeline from the events of all CPUs in the order of time. Events outside the
    /// window only show which threads exist; everything else is cut to the window.
    pub fn new(header: &TraceHeader, events: &[Event]) -> Self {
        super::build::build(header, events)
    }

    /// The thread with this identifier.
    pub fn thread(&self, id: ThreadId) -> &Thread {
        &self.threads[id.index()]
    }

    /// The wait with this identifier.
    pub fn wait(&self, id: WaitId) -> &Wait {
        &self.waits[id.index()]
    }

    /// Threads of the tree.
    pub fn tree(&self) -> impl Iterator<Item = (ThreadId, &Thread)> {
        (0..).map(ThreadId).zip(&self.threads).filter(|(_, thread)| thread.in_tree)
    }

    /// Length of the window.
    pub fn elapsed(&self) -> Nanos {
        self.ended.since(self.began)
    }
}

/// One thread.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Number of the thread. After an exec by a thread other than the process's first one, it is
    /// the number since that exec.
    pub tid: Tid,
    /// Number of the thread's process; none if it is unknown.
    pub process: Option<Tid>,
    /// First thread of the process, possibly this thread itself; none if it is unknown. Together
    /// with an address it identifies a futex.
    pub leader: Option<ThreadId>,
    /// Parent that created the thread, if the trace shows it.
    pub parent: Option<ThreadId>,
    /// Whether the thread belongs to the command: to the main process or one of its descendants. A
    /// thread belongs to the command if its process does, no matter which thread created it.
    pub in_tree: bool,
    /// Whether it is a kernel thread.
    pub kernel: bool,
    /// Whether it is a thread of the tracer.
    pub tracer: bool,
    /// Time of its creation; none if the thread is older than the trace.
    pub created: Option<Nanos>,
    /// Time at which it left its CPU for good, or at which its number went to another thread; none
    /// if it outlived the window.
    pub ended: Option<Nanos>,
    /// Names of the thread, in the order of time; never empty.
    pub names: Vec<ThreadName>,
    /// States of the thread, in the order of time and without overlap. Gaps occur before a new
    /// thread is first made runnable, and where events were lost.
    pub segments: Vec<Segment>,
    /// Resources accounted to the thread over its life, recorded when it ended inside the window.
    pub accounts: Option<Accounts>,
}

impl Thread {
    /// Index into [`names`](Self::names) of the name at an instant: the last name given by then, or
    /// the first one.
    pub fn name_index_at(&self, at: Nanos) -> usize {
        self.names.partition_point(|name| name.from <= at).saturating_sub(1)
    }

    /// Name of the thread at an instant.
    pub fn name_at(&self, at: Nanos) -> Comm {
        self.names.get(self.name_index_at(at)).map(|name| name.name).unwrap_or_default()
    }

    /// Time of the thread on any CPU.
    pub fn on_cpu(&self) -> Nanos {
        self.segments.iter().filter(|s| matches!(s.state, State::Running { .. })).map(Segment::length).sum()
    }
}

/// A name and the beginning of its validity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadName {
    /// Beginning of the name's validity.
    pub from: Nanos,
    /// The name.
    pub name: Comm,
    /// Origin of the name.
    pub origin: NameOrigin,
}

/// Origin of a thread's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameOrigin {
    /// The thread had the name at its first appearance: its parent's name, or the one in the
    /// header.
    Inherited,
    /// An exec gave the thread a new program. The value holds the resources accounted to the thread
    /// by then.
    Exec(Accounts),
    /// The thread was renamed.
    Rename,
}

/// A span of a thread's life in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Beginning of the span.
    pub from: Nanos,
    /// End of the span.
    pub to: Nanos,
    /// State during the span.
    pub state: State,
}

impl Segment {
    /// Length of the span.
    pub const fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

/// State of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The thread is on this CPU, allotted or not.
    Running {
        /// CPU of the thread.
        cpu: CpuId,
    },
    /// The thread is ready and has no CPU.
    Runnable,
    /// The thread is ready but may not run on any CPU.
    Held(HoldReason),
    /// The thread waits.
    Blocked(WaitId),
}

/// A wait: its beginning and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Waiting thread.
    pub thread: ThreadId,
    /// Beginning of the wait.
    pub from: Nanos,
    /// End of the wait, or end of the window.
    pub to: Nanos,
    /// Reason for which the thread left its CPU.
    pub prev_state: PrevState,
    /// System call of the wait.
    pub call: Call,
    /// Object of the wait, if the trace records it.
    pub object: Object,
    /// Arguments of the futex call, if the wait is in one and the trace records them.
    pub futex: Option<FutexWait>,
    /// Wake-up that ended the wait; none if the window ended first or if the trace shows no
    /// wake-up.
    pub wake: Option<Wake>,
    /// Whether the wait ended inside the window, with or without a recorded wake-up.
    pub ended: bool,
    /// Wait for a kernel lock that contains this wait: an index into [`Timeline::contentions`]. For
    /// nested lock waits it is the inner one.
    pub contention: Option<u32>,
}

/// A wake-up: it made a thread runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// Time of the wake-up.
    pub at: Nanos,
    /// Direct source of the wake-up.
    pub by: Source,
    /// Source of the wake-up, followed through kernel threads. A worker leads to the source that
    /// queued its work. Another kernel thread leads to the source that ended its own last wait.
    pub origin: Source,
    /// Whether the kernel counts the wait as a wait for I/O.
    pub io_wait: bool,
}

/// Source of an action: [`Waker`](morecores_study::trace::Waker) with a [`ThreadId`] in place of
/// the thread's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A thread, in its own context.
    Thread(ThreadId),
    /// A soft interrupt that a thread raised.
    SoftIrqOfThread {
        /// Number of the soft interrupt.
        vector: u8,
        /// Thread that raised it.
        thread: ThreadId,
    },
    /// A hard interrupt.
    Interrupt(Interrupt),
    /// A soft interrupt that a hard interrupt raised.
    SoftIrqOfInterrupt {
        /// Number of the soft interrupt.
        vector: u8,
        /// Hard interrupt that raised it.
        interrupt: Interrupt,
    },
    /// Not recorded.
    Unknown,
}

impl Source {
    /// Thread behind the source, if there is one.
    pub const fn thread(self) -> Option<ThreadId> {
        match self {
            Self::Thread(thread) | Self::SoftIrqOfThread { thread, .. } => Some(thread),
            _ => None,
        }
    }

    /// Whether this is a timer: its interrupt, or a soft interrupt of the kernel's timers.
    const fn is_timer(self) -> bool {
        match self {
            Self::Interrupt(interrupt) => matches!(interrupt, Interrupt::Timer),
            Self::SoftIrqOfThread { vector, .. } | Self::SoftIrqOfInterrupt { vector, .. } => {
                matches!(vector, vector::TIMER | vector::HRTIMER)
            }
            Self::Thread(_) | Self::Unknown => false,
        }
    }
}

impl Wake {
    /// Whether a timer ended the wait.
    pub const fn is_by_timer(self) -> bool {
        self.by.is_timer() || self.origin.is_timer()
    }
}

/// Numbers of soft interrupts: `enum` in `include/linux/interrupt.h`.
pub(super) mod vector {
    pub(crate) const TIMER: u8 = 1;
    pub(crate) const NET_TX: u8 = 2;
    pub(crate) const NET_RX: u8 = 3;
    pub(crate) const BLOCK: u8 = 4;
    pub(crate) const IRQ_POLL: u8 = 5;
    pub(crate) const HRTIMER: u8 = 8;
    pub(crate) const RCU: u8 = 9;
}

/// Activity of one CPU.
#[derive(Clone, Debug)]
pub struct CpuTimeline {
    /// The CPU.
    pub cpu: CpuId,
    /// Whether the CPU was allotted to the run.
    pub allotted: bool,
    /// Spans in the order of time, without gap or overlap over the whole window.
    pub spans: Vec<CpuSpan>,
}

/// A span of a CPU's time between two switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuSpan {
    /// Beginning of the span.
    pub from: Nanos,
    /// End of the span.
    pub to: Nanos,
    /// Occupant of the CPU.
    pub occupant: Occupant,
    /// Time in interrupts during the span.
    pub interrupts: Nanos,
    /// CPU time that the kernel accounted to the thread over the span. It is none for the idle
    /// loop, for a span cut by the window or by a loss, and if the source does not record it.
    pub accounted: Option<Nanos>,
}

impl CpuSpan {
    /// Length of the span.
    pub const fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

/// Occupant of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// The idle loop.
    Idle,
    /// A thread.
    Thread(ThreadId),
    /// A thread that the source of the trace does not show: it preempted a traced thread.
    Unseen,
    /// Unknown, because events were lost.
    Lost,
}

/// A thread's wait for a kernel lock, cut to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockWait {
    /// Waiting thread.
    pub thread: ThreadId,
    /// Beginning of the wait.
    pub from: Nanos,
    /// End of the wait.
    pub to: Nanos,
    /// Address of the lock.
    pub lock: u64,
    /// The kernel's flags for the lock.
    pub flags: LockFlags,
    /// Identity of the lock, if it is a known one.
    pub known: KnownLock,
    /// Kernel stack of the waiting thread: a key of the header's stacks.
    pub stack: Option<u32>,
}

/// A work item that a kernel worker executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkItem {
    /// The worker.
    pub worker: ThreadId,
    /// Beginning of the execution.
    pub from: Nanos,
    /// End of the execution.
    pub to: Nanos,
    /// Source that queued the work item, followed through kernel threads.
    pub origin: Source,
}

/// A restriction of a thread to some of the CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// Beginning of the restriction.
    pub at: Nanos,
    /// The restricted thread.
    pub thread: ThreadId,
    /// CPUs on which the thread may run.
    pub allowed: CpuSet,
}

/// A sample: the activity of a CPU at one instant of the sampling clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuSample {
    /// Time of the sample.
    pub at: Nanos,
    /// Sampled CPU.
    pub cpu: CpuId,
    /// Sampled thread; none for the idle loop and for threads that the trace does not show.
    pub thread: Option<ThreadId>,
    /// Mode of the CPU.
    pub mode: SampleMode,
    /// Whether the thread spins in a loop of its own.
    pub spins: bool,
    /// Code that the thread ran; none in the kernel of a trace without its functions, and for code
    /// of which the trace shows no mapping.
    pub code: Option<CodeAddress>,
    /// User stack of the thread, if it was recorded.
    pub stack: Option<RecordedStack>,
}

/// A system call and its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallRecord {
    /// Calling thread.
    pub thread: ThreadId,
    /// Beginning of the call; if the call waited, the beginning of the wait.
    pub from: Nanos,
    /// Time of the return.
    pub to: Nanos,
    /// Number of the system call.
    pub number: u16,
    /// Returned value; the largest number of 31 bits also stands for all larger values.
    pub result: i64,
    /// Object of the call; never [`Object::None`].
    pub object: Object,
}
