//! Events of a trace, in the form in which the analysis reads them.
//!
//! Times are those of `CLOCK_MONOTONIC`. The events of one CPU are in the order in which they
//! happened, with one exception. The event of an interrupt may precede the event that it
//! interrupted, although its time is later. Nothing here knows how events are recorded or stored.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::code::{Mapping, StackFrame};
use crate::{CpuId, CpuSet, Nanos};

/// Number of a thread in the first pid namespace, whatever namespace the thread is in. In a trace
/// from perf events, it is the number in the tracer's pid namespace. Numbers are reused: a [`Fork`]
/// starts a new thread, even if another thread had its number before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tid(pub u32);

impl Tid {
    /// Idle loop of any CPU.
    pub const IDLE: Self = Self(0);
    /// Thread that the source of the trace does not show: another program's thread, or no thread.
    pub const UNSEEN: Self = Self(u32::MAX);
}

/// Name of a thread as the kernel keeps it: at most 15 bytes and a zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Comm(pub [u8; 16]);

impl Comm {
    /// Converts text, cut to the length that the kernel keeps.
    pub fn new(text: &str) -> Self {
        let mut name = [0; 16];
        for (to, from) in name.iter_mut().take(15).zip(text.bytes()) {
            *to = from;
        }
        Self(name)
    }
}

impl fmt::Display for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        f.write_str(&String::from_utf8_lossy(&self.0[..end]))
    }
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time of the event.
    pub at: Nanos,
    /// CPU of the event.
    pub cpu: CpuId,
    /// Kind of the event, with its details.
    pub kind: EventKind,
}

/// Kind of an event, with its details.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The CPU switched from one thread to another.
    Switch(Switch),
    /// A thread became runnable: it was woken or started.
    Waking(Waking),
    /// A thread or process was created.
    Fork(Fork),
    /// A process started another program.
    Exec(Exec),
    /// A thread was renamed.
    Rename {
        /// Renamed thread.
        tid: Tid,
        /// New name of the thread.
        name: Comm,
    },
    /// A thread ended. It still runs for a moment, until its last [`Switch`].
    Exit(Exit),
    /// A kernel worker started or finished a piece of queued work.
    Work(Work),
    /// A thread's wait for a kernel lock ended.
    Contention(Contention),
    /// Activity of a thread at a random instant.
    Sample(Sample),
    /// The thread on this CPU is about to wait for an object; the event is right before the
    /// thread's [`Switch`].
    Awaits {
        /// Thread that is about to wait.
        tid: Tid,
        /// Object of the wait.
        object: Object,
    },
    /// Arguments of the futex call in which the thread on this CPU is about to wait. The event is
    /// right before the thread's [`Awaits`](Self::Awaits).
    FutexWait {
        /// Thread that is about to wait.
        tid: Tid,
        /// Arguments of the call.
        wait: FutexWait,
    },
    /// A runnable thread may not use all CPUs that were allotted to the run.
    Confined {
        /// Confined thread.
        tid: Tid,
        /// CPUs that the thread may use, until a later event changes them.
        allowed: CpuSet,
    },
    /// A ready thread may not run, even on an idle CPU, from now until it runs or is woken. The
    /// event is right before the thread's [`Switch`], or right after its [`Waking`].
    Held {
        /// Thread that is held back.
        tid: Tid,
        /// Cause of the delay.
        by: HoldReason,
    },
    /// A process of the command mapped a file as code.
    Mapping(Mapping),
    /// Frame of the user stacks; it may come after stacks of other CPUs that contain it.
    Frame(StackFrame),
    /// User stack of the thread on this CPU.
    UserStack(UserStack),
    /// A system call returned; exact traces only.
    SystemCall(SystemCall),
    /// Events of this CPU were lost between the CPU's previous event and this instant.
    Lost {
        /// Number of lost events.
        events: u64,
    },
}

/// User stack of a thread. Stacks of waits and wake-ups are a random sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserStack {
    /// Thread with the stack.
    pub tid: Tid,
    /// Action of the thread.
    pub moment: StackMoment,
    /// Number of the innermost [`StackFrame`]; `None` if no frame is known.
    pub frame: Option<u32>,
    /// Reason for which the stack has no further frame.
    pub end: StackEnd,
    /// Binary logarithm of the number of moments that this one stands for: each of them had the
    /// same probability to be the one with a stack.
    pub weight_log2: u8,
}

/// Moment at which a thread's user stack was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StackMoment {
    /// The thread was running; the event is right before its [`Sample`].
    Sample,
    /// The thread is about to wait; the event is before its [`Switch`] and before other events of
    /// the wait.
    Wait,
    /// The thread wakes another thread; the event is right before the [`Waking`].
    Waking,
}

/// End of a recorded user stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StackEnd {
    /// The first function of the thread.
    Outermost,
    /// Code without an unwind table, or without a known file.
    UnknownCode,
    /// Stack memory that was not recorded.
    MissingMemory,
}

/// Cause that holds back a ready thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HoldReason {
    /// The thread's group has used up its quota of CPU time for this period (`cpu.max`,
    /// `cpu.cfs_quota_us`).
    Quota,
    /// The thread's group is frozen.
    Freezer,
    /// The thread or its group has used up its budget of real-time CPU time for this period
    /// (`SCHED_DEADLINE`, `cpu.rt_runtime_us`, `sched_rt_runtime_us`).
    RealTimeBudget,
}

/// State in which a thread left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrevState {
    /// The thread was preempted: it is still runnable.
    Preempted,
    /// The thread waits, and a signal can end the wait.
    Asleep,
    /// The thread waits, and only the awaited object ends the wait; most often a device.
    Uninterruptible,
    /// A signal or a debugger stopped the thread.
    Stopped,
    /// The thread ended.
    Dead,
    /// The thread waits for more work; only for kernel threads, whose idling delays no thread.
    Idle,
    /// The source of the trace does not report the reason, but the thread was not preempted.
    Unknown,
}

/// System call in which a thread left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// System call with this number on this architecture.
    Number(u16),
    /// No system call: a page fault, or the thread was stopped or traced.
    Fault,
    /// Unknown: the thread was preempted, is a kernel thread, or the source of the trace does not
    /// report the call.
    Unknown,
}

/// Switch of a CPU from one thread to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Thread that ran until now.
    pub prev: Tid,
    /// State in which `prev` left the CPU.
    pub prev_state: PrevState,
    /// System call in which `prev` left the CPU.
    pub call: Call,
    /// CPU time that the kernel has accounted to `prev` over its lifetime. Zero for the idle loop,
    /// and if the source does not report it. The figure excludes time that a hypervisor took.
    pub prev_runtime: Nanos,
    /// Time of interrupts on this CPU since its previous switch, in nanoseconds.
    pub interrupts: Nanos,
    /// Thread that runs from now on.
    pub next: Tid,
}

/// Source of an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interrupt {
    /// Device, by its number in /proc/interrupts.
    Device(u32),
    /// Timer of the CPU itself.
    Timer,
    /// Another CPU, or a source that is not reported.
    Other,
}

/// Origin of a wake-up or of queued work, decided by the context in which it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Waker {
    /// Thread, in its own time.
    Thread(Tid),
    /// Hard interrupt.
    Interrupt(Interrupt),
    /// Soft interrupt that a thread raised; on loopback, the sender.
    SoftIrqOfThread {
        /// Vector of the soft interrupt: `enum` in `include/linux/interrupt.h`; 3 is reception from
        /// the network, 4 is block devices.
        vector: u8,
        /// Thread that raised the soft interrupt.
        tid: Tid,
    },
    /// Soft interrupt that a hard interrupt raised.
    SoftIrqOfInterrupt {
        /// Vector of the soft interrupt.
        vector: u8,
        /// Hard interrupt that raised the soft interrupt.
        interrupt: Interrupt,
    },
    /// Origin that is not reported.
    Unknown,
}

/// Transition of a thread to the runnable state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waking {
    /// Thread that became runnable.
    pub tid: Tid,
    /// Origin of the wake-up.
    pub by: Waker,
    /// Whether the kernel counts the thread's wait as a wait for a device (`iowait`).
    pub io_wait: bool,
}

/// Creation of a thread or process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fork {
    /// Thread that created the new thread.
    pub parent: Tid,
    /// New thread.
    pub child: Tid,
    /// Process of the new thread: `child` itself if the new thread is a process of its own.
    pub process: Tid,
}

/// Figures that the kernel has accounted to a thread over its lifetime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// CPU time, exact.
    pub runtime: Nanos,
    /// Ticks that found the thread in user mode, as time.
    pub user: Nanos,
    /// Ticks that found the thread in the kernel, as time.
    pub system: Nanos,
    /// Page faults served without a device.
    pub minor_faults: u64,
    /// Page faults that needed a device.
    pub major_faults: u64,
}

/// Start of another program by a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exec {
    /// Thread of the process from now on.
    pub tid: Tid,
    /// Thread that made the call, if it was not the first thread of the process; its number no
    /// longer exists.
    pub was: Tid,
    /// Name of the thread from now on.
    pub name: Comm,
    /// Figures accounted to the thread before the call.
    pub accounts: Accounts,
}

/// End of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Thread that ended.
    pub tid: Tid,
    /// Figures accounted to the thread.
    pub accounts: Accounts,
}

/// Start or end of work by a kernel worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Kernel thread.
    pub worker: Tid,
    /// Origin of the work that the worker starts; absent if the work ends.
    pub queued_by: Option<Waker>,
}

/// Description of a lock by the kernel at the start of a wait: bits of `LCB_F_*` in
/// `include/trace/events/lock.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LockFlags(pub u8);

impl LockFlags {
    /// The waiter spins: the lock is a spinlock, or a mutex whose owner is running.
    pub const SPIN: u8 = 1;
    /// The waiter wants to read.
    pub const READ: u8 = 2;
    /// The waiter wants to write.
    pub const WRITE: u8 = 4;
    /// The lock is an rt-mutex.
    pub const RT: u8 = 8;
    /// The lock is a per-CPU reader-writer semaphore.
    pub const PERCPU: u8 = 16;
    /// The lock is a mutex.
    pub const MUTEX: u8 = 32;
}

/// Wait of a thread for a kernel lock, reported at its end. The thread spun for the part of the
/// wait that it was on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contention {
    /// Thread that waited.
    pub tid: Tid,
    /// Address of the lock.
    pub lock: u64,
    /// Length of the wait, from the first try.
    pub waited: Nanos,
    /// Flags of all tries together.
    pub flags: LockFlags,
    /// Known lock with the same address, if any.
    pub known: KnownLock,
    /// Kernel stack of the thread: a key of the header's stacks. Present for long waits and for a
    /// share of the short waits.
    pub stack: Option<u32>,
}

/// Lock recognised by its address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KnownLock {
    /// Unknown lock.
    #[default]
    None,
    /// The `mmap_lock` of the thread's own memory.
    MmapLock,
    /// Runqueue of a CPU.
    RunQueue,
}

/// Mode in which a sample found its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SampleMode {
    /// The thread's own code.
    User,
    /// The kernel, working for the thread.
    Kernel,
    /// Interrupt.
    Interrupt,
}

/// Activity of a thread at an instant of the sampling clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Sampled thread.
    pub tid: Tid,
    /// Mode of the CPU.
    pub mode: SampleMode,
    /// Address of the instruction.
    pub address: u64,
    /// Whether the thread waits in its own loop. In user mode, a PAUSE, TPAUSE or UMWAIT
    /// instruction is close by; in the kernel, the thread is in `sched_yield`.
    pub spins: bool,
}

/// Object of a wait or of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Object {
    /// Futex, by its address in the process.
    Futex(u64),
    /// Pipe, socket or file, by its inode.
    Inode(u64),
    /// Process or thread.
    Process(Tid),
    /// No object, or an unknown one.
    None,
}

/// Arguments of a futex call that describe what its caller waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FutexWait {
    /// Operation with its options: `FUTEX_*` in `include/uapi/linux/futex.h`. Zero, `FUTEX_WAIT`,
    /// for a call that has no other operation.
    pub operation: u32,
    /// Value that the word must have for the wait to begin. Meaningless if the kernel takes the
    /// lock itself.
    pub expected: u32,
}

impl FutexWait {
    /// `FUTEX_PRIVATE_FLAG` and `FUTEX_CLOCK_REALTIME`, which say nothing about the object of the
    /// wait.
    const OPTIONS: u32 = 128 | 256;
    /// `FUTEX_LOCK_PI` and `FUTEX_LOCK_PI2`.
    const LOCKS: [u32; 2] = [6, 13];
    /// `FUTEX_WAITERS`: the word holds the owner's number, and other threads wait.
    const WAITERS: u32 = 1 << 31;
    /// `FUTEX_TID_MASK`: the owner's number.
    const OWNER: u32 = (1 << 30) - 1;
    /// Largest number of a thread: `PID_MAX_LIMIT` in `include/linux/threads.h`.
    const MAX_OWNER: u32 = 4 << 20;
    /// Word of a lock that is taken and has waiters; 0 is a free lock and 1 a taken one (U.
    /// Drepper, *Futexes are tricky*, 2011). glibc, Rust's standard library and Go use these
    /// values.
    const CONTENDED: u32 = 2;

    /// Returns whether the kernel itself takes the lock for the caller.
    pub const fn takes_a_lock(self) -> bool {
        let operation = self.operation & !Self::OPTIONS;
        operation == Self::LOCKS[0] || operation == Self::LOCKS[1]
    }

    /// Returns whether the expected word, by the conventions of locks, means a taken lock with
    /// waiters. A counter may also pass this value.
    pub const fn expects_a_taken_lock(self) -> bool {
        let owner = self.expected & Self::OWNER;
        let names_owner = self.expected & Self::WAITERS != 0 && 0 < owner && owner <= Self::MAX_OWNER;
        self.takes_a_lock() || self.expected == Self::CONTENDED || names_owner
    }

    /// Returns whether the expected word may mean a taken lock with waiters: also a negative word
    /// without a thread's number. All ones are libgomp's lock with waiters and Rust's lock for
    /// readers and writers, but also a parked thread of Rust's standard library.
    pub const fn may_expect_a_taken_lock(self) -> bool {
        self.expects_a_taken_lock() || self.expected & Self::WAITERS != 0
    }
}

/// Return of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemCall {
    /// Thread that made the call.
    pub tid: Tid,
    /// Number of the call.
    pub number: u16,
    /// Time since the entry into the call. Zero if the thread was off its CPU meanwhile; the
    /// thread's switches show such a time.
    pub took: Nanos,
    /// Return value; the largest number of 31 bits stands for all larger values.
    pub result: i64,
    /// Object of the call.
    pub object: Object,
}
