//! What happened: the events of a trace, as the analysis reads them.
//!
//! Times are those of `CLOCK_MONOTONIC`. The events of one CPU are in the order in which they happened, except that an
//! interrupt's may stand before the event that it interrupted, with the later time. Nothing here knows how events are
//! recorded or stored.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{CpuId, CpuSet, Nanos};

/// A thread's number in the first pid namespace, whatever namespace the thread is in; where perf events told the trace,
/// in the pid namespace of who traced. Numbers are used again: a [`Fork`] begins a new thread, whoever had its number
/// before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tid(pub u32);

impl Tid {
    /// The idle loop of any CPU.
    pub const IDLE: Self = Self(0);
    /// A thread that the source of the trace does not show: somebody else, or nobody.
    pub const UNSEEN: Self = Self(u32::MAX);
}

/// A thread's name as the kernel keeps it: at most 15 bytes and a zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Comm(pub [u8; 16]);

impl Comm {
    /// From text, cut to what the kernel would keep.
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
    /// When.
    pub at: Nanos,
    /// On which CPU.
    pub cpu: CpuId,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The CPU went from one thread to another.
    Switch(Switch),
    /// A thread was made runnable: woken, or begun.
    Waking(Waking),
    /// A thread or process was made.
    Fork(Fork),
    /// A process became another program.
    Exec(Exec),
    /// A thread was given another name.
    Rename {
        /// Which.
        tid: Tid,
        /// Its name from now on.
        name: Comm,
    },
    /// A thread ended. It still runs for a moment, until its last [`Switch`].
    Exit(Exit),
    /// A kernel worker took up, or laid down, a piece of queued work.
    Work(Work),
    /// A thread's wait for a kernel lock ended.
    Contention(Contention),
    /// What a thread was doing at a random instant.
    Sample(Sample),
    /// The thread on this CPU is about to wait for this; stands right before its [`Switch`].
    Awaits {
        /// Who.
        tid: Tid,
        /// For what.
        object: Object,
    },
    /// The arguments of the futex call in which the thread on this CPU is about to wait; stands right before its
    /// [`Awaits`](Self::Awaits).
    FutexWait {
        /// Who.
        tid: Tid,
        /// The arguments.
        wait: FutexWait,
    },
    /// A runnable thread may not use all CPUs that the run was allotted.
    Confined {
        /// Who.
        tid: Tid,
        /// The CPUs it may use, until said otherwise.
        allowed: CpuSet,
    },
    /// A thread that is ready may not run, whatever CPU is idle: from now on, until it runs or is woken. Stands right
    /// before its [`Switch`], or right behind its [`Waking`].
    Held {
        /// The thread.
        tid: Tid,
        /// What holds it back.
        by: HeldBy,
    },
    /// A system call returned; exact traces only.
    SystemCall(SystemCall),
    /// So many events of this CPU were lost before this instant, since the event before on it.
    Lost {
        /// How many.
        events: u64,
    },
}

/// What holds back a thread that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeldBy {
    /// Its group has used up its quota of CPU time for this period (`cpu.max`, `cpu.cfs_quota_us`).
    Quota,
    /// Its group is frozen.
    Freezer,
    /// It, or its group, has used up its budget of real-time CPU time for this period (`SCHED_DEADLINE`,
    /// `cpu.rt_runtime_us`, `sched_rt_runtime_us`).
    RealTimeBudget,
}

/// Why a thread left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Left {
    /// It did not want to: it is still runnable.
    Preempted,
    /// It waits, and a signal may end the wait.
    Asleep,
    /// It waits, and nothing but what it waits for ends that: most often a device.
    Uninterruptible,
    /// A signal or a debugger stopped it.
    Stopped,
    /// For good.
    Dead,
    /// It waits for more work; of kernel threads, whose idling is nobody's wait.
    Idle,
    /// The source of the trace does not tell, except that it was not preempted.
    Unknown,
}

/// In which system call a thread left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// This one, by its number on this architecture.
    Number(u16),
    /// In none: a page fault, or it was stopped or traced.
    Fault,
    /// Not looked at: it was preempted, is a kernel thread, or the source of the trace does not tell.
    Unknown,
}

/// The CPU went from one thread to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Who ran until now.
    pub prev: Tid,
    /// Why it stopped.
    pub left: Left,
    /// In which call.
    pub call: Call,
    /// The CPU time that the kernel has accounted to `prev` in its life; zero for the idle loop and where not told.
    /// Time that a hypervisor took is not in it.
    pub prev_runtime: Nanos,
    /// Interrupts on this CPU since its switch before, in nanoseconds.
    pub interrupts: Nanos,
    /// Who runs from now on.
    pub next: Tid,
}

/// An interrupt, by its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interrupt {
    /// Of a device: its number in /proc/interrupts.
    Device(u32),
    /// Of the CPU's own timer.
    Timer,
    /// Of another CPU, or not told.
    Other,
}

/// Who did something to a thread, or queued something: decided by the context in which it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Waker {
    /// A thread, in its own time.
    Thread(Tid),
    /// A hard interrupt.
    Interrupt(Interrupt),
    /// A soft interrupt that a thread raised: on loopback, the sender.
    SoftIrqOfThread {
        /// Its number: `enum` in `include/linux/interrupt.h`; 3 is reception from the network, 4 block devices.
        vector: u8,
        /// Who raised it.
        tid: Tid,
    },
    /// A soft interrupt that a hard one raised.
    SoftIrqOfInterrupt {
        /// Its number.
        vector: u8,
        /// Who raised it.
        interrupt: Interrupt,
    },
    /// Not told.
    Unknown,
}

/// A thread was made runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waking {
    /// Who.
    pub tid: Tid,
    /// By whom.
    pub by: Waker,
    /// Whether the kernel counts its wait as one for a device (`iowait`).
    pub io_wait: bool,
}

/// A thread or process was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fork {
    /// By whom.
    pub parent: Tid,
    /// The new one.
    pub child: Tid,
    /// The process that the new one belongs to: `child` itself where it is a process of its own.
    pub process: Tid,
}

/// What the kernel has accounted to a thread in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// CPU time, exact.
    pub runtime: Nanos,
    /// Ticks that found it in user mode, as time.
    pub user: Nanos,
    /// Ticks that found it in the kernel, as time.
    pub system: Nanos,
    /// Page faults served without a device.
    pub minor_faults: u64,
    /// Page faults that needed one.
    pub major_faults: u64,
}

/// A process became another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exec {
    /// Its thread from now on.
    pub tid: Tid,
    /// The thread that asked, where it was not the process's first: that number is gone.
    pub was: Tid,
    /// Its name from now on.
    pub name: Comm,
    /// What was accounted to the thread before.
    pub accounts: Accounts,
}

/// A thread ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Who.
    pub tid: Tid,
    /// What was accounted to it.
    pub accounts: Accounts,
}

/// A kernel worker and its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The kernel thread.
    pub worker: Tid,
    /// Who queued what it begins; absent where it ends.
    pub queued_by: Option<Waker>,
}

/// What the kernel says of a lock when the wait for it begins: bits of `LCB_F_*` in
/// `include/trace/events/lock.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LockFlags(pub u8);

impl LockFlags {
    /// The waiter spins: a spinlock, or a mutex's owner is running.
    pub const SPIN: u8 = 1;
    /// It wants to read.
    pub const READ: u8 = 2;
    /// It wants to write.
    pub const WRITE: u8 = 4;
    /// An rt-mutex.
    pub const RT: u8 = 8;
    /// A per-CPU reader-writer semaphore.
    pub const PERCPU: u8 = 16;
    /// A mutex.
    pub const MUTEX: u8 = 32;
}

/// A thread's wait for a kernel lock, told when it ends. The part of it that the thread was on a CPU, it spun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contention {
    /// Who waited.
    pub tid: Tid,
    /// Address of the lock.
    pub lock: u64,
    /// For how long, from the first try.
    pub waited: Nanos,
    /// Of all tries together.
    pub flags: LockFlags,
    /// The lock by comparison with known ones, where it is one of them.
    pub known: KnownLock,
    /// Where the thread was: a key of the header's stacks; of long waits and of a share of the short ones.
    pub stack: Option<u32>,
}

/// A lock recognised by its address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KnownLock {
    /// None that is known.
    #[default]
    None,
    /// The `mmap_lock` of the thread's own memory.
    MmapLock,
    /// A CPU's runqueue.
    RunQueue,
}

/// In which mode a sample found its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SampleMode {
    /// In the thread's own code.
    User,
    /// In the kernel for the thread.
    Kernel,
    /// In an interrupt.
    Interrupt,
}

/// What a thread was doing at an instant of the sampling clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Who.
    pub tid: Tid,
    /// In which mode.
    pub mode: SampleMode,
    /// The address of the instruction.
    pub address: u64,
    /// Whether it waits in a loop of its own: in user mode PAUSE, TPAUSE or UMWAIT is close by, in the kernel it is in
    /// `sched_yield`.
    pub spins: bool,
}

/// What a thread waits for, or what a call was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Object {
    /// A futex, by its address in the process.
    Futex(u64),
    /// A pipe, socket or file, by its inode.
    Inode(u64),
    /// A process or thread.
    Process(Tid),
    /// None, or not known.
    None,
}

/// The arguments of a futex call that tell what its caller waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FutexWait {
    /// The operation with its options: `FUTEX_*` in `include/uapi/linux/futex.h`; zero, `FUTEX_WAIT`, of a call that has no
    /// other.
    pub operation: u32,
    /// The value at which the word was to be for the wait to begin. Of no meaning where the kernel takes the lock itself.
    pub expected: u32,
}

impl FutexWait {
    /// `FUTEX_PRIVATE_FLAG` and `FUTEX_CLOCK_REALTIME`, which say nothing of what is waited for.
    const OPTIONS: u32 = 128 | 256;
    /// `FUTEX_LOCK_PI` and `FUTEX_LOCK_PI2`.
    const LOCKS: [u32; 2] = [6, 13];
    /// `FUTEX_WAITERS`: the word holds the owner's number, and others wait.
    const WAITERS: u32 = 1 << 31;
    /// The word of a lock that is taken and waited for; 0 is a free and 1 a taken one (U. Drepper, *Futexes are tricky*, 2011).
    /// So in glibc, Rust's standard library, and Go.
    const CONTENDED: u32 = 2;

    /// Whether the kernel itself takes the lock for the caller.
    pub const fn takes_a_lock(self) -> bool {
        let operation = self.operation & !Self::OPTIONS;
        operation == Self::LOCKS[0] || operation == Self::LOCKS[1]
    }

    /// Whether the word stands, by the conventions of locks, for one that is taken and waited for. A counter may pass
    /// this value too.
    pub const fn expects_a_taken_lock(self) -> bool {
        self.takes_a_lock() || self.expected == Self::CONTENDED || self.expected & Self::WAITERS != 0
    }
}

/// A system call that returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemCall {
    /// Who made it.
    pub tid: Tid,
    /// Its number.
    pub number: u16,
    /// How long ago it was entered; zero where the thread was off its CPU meanwhile, which its switches tell.
    pub took: Nanos,
    /// What it returned; the largest number of 31 bits stands for all that are larger.
    pub result: i64,
    /// What it was about.
    pub object: Object,
}
