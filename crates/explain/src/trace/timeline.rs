//! The nouns of a timeline: what each thread and each CPU did, from the beginning of the window to its end.
//!
//! Only what happened and who did it; which CPU was lost to what is decided elsewhere.

use std::collections::BTreeMap;

use morecores_study::trace::{
    Accounts, Call, Comm, Event, FutexWait, HeldBy, Interrupt, KnownLock, Left, LockFlags, Object,
    SampleMode, Tid, TraceHeader, TraceSource,
};
use morecores_study::{CpuId, CpuSet, Nanos};
use morecores_view::Misfits;

/// A thread from its beginning to its end: an index into [`Timeline::threads`]. Unlike a [`Tid`] it is never used
/// for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

impl ThreadId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A wait: an index into [`Timeline::waits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitId(pub u32);

impl WaitId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What all threads and CPUs did during a run.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Beginning of the window: the main process's exec. Nothing here is earlier, save births, names
    /// and confinements.
    pub began: Nanos,
    /// Its end: the main process's. Nothing here is later.
    pub ended: Nanos,
    /// The CPUs that the run was allotted.
    pub allotted: CpuSet,
    /// What the devices' interrupts are called, by their numbers, where that is known.
    pub interrupts: BTreeMap<u32, String>,
    /// What told the events.
    pub source: TraceSource,
    /// The main process's first thread; none where nothing was told of it.
    pub root: Option<ThreadId>,
    /// All threads, the tree's and others, in the order in which they were first known of.
    pub threads: Vec<Thread>,
    /// The CPUs, in ascending order: all allotted ones, and any other that was seen.
    pub cpus: Vec<CpuTimeline>,
    /// All waits of all threads, in the order in which they began.
    pub waits: Vec<Wait>,
    /// Waits for kernel locks, in the order in which they ended.
    pub contentions: Vec<LockWait>,
    /// What kernel workers did, and for whom, in the order in which it ended.
    pub works: Vec<WorkDone>,
    /// Which threads could not use all allotted CPUs, in the order of time.
    pub confinements: Vec<Confinement>,
    /// Samples, in the order of time.
    pub samples: Vec<Sampled>,
    /// System calls of the tree that were about something, in the order in which they returned; exact traces only.
    pub calls: Vec<CallMade>,
    /// Events that were lost, by the events themselves.
    pub lost: u64,
    /// What did not fit together.
    pub misfits: Misfits,
}

impl Timeline {
    /// From the events of all CPUs in the order of time. Events outside the window tell who there is; everything else
    /// is cut to the window.
    pub fn new(header: &TraceHeader, events: &[Event]) -> Self {
        super::build::build(header, events)
    }

    /// A thread.
    pub fn thread(&self, id: ThreadId) -> &Thread {
        &self.threads[id.index()]
    }

    /// A wait.
    pub fn wait(&self, id: WaitId) -> &Wait {
        &self.waits[id.index()]
    }

    /// The threads of the tree.
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
    /// Its number; after an exec by another than the process's first thread, the number since.
    pub tid: Tid,
    /// The number of its process; none where it is not known.
    pub process: Option<Tid>,
    /// The process's first thread, itself where it is that; none where it is not known. With an address it names a
    /// futex.
    pub leader: Option<ThreadId>,
    /// Who made it, where that was seen.
    pub parent: Option<ThreadId>,
    /// Whether it belongs to the command: the main process, and all that descends from it. A thread does where its
    /// process does, whoever made it.
    pub in_tree: bool,
    /// Whether it is one of the kernel's.
    pub kernel: bool,
    /// Whether it is the tracer's.
    pub tracer: bool,
    /// When it was made; none where it was there before the trace.
    pub born: Option<Nanos>,
    /// When it left its CPU for good, or when its number went to another; none where it outlived the window.
    pub ended: Option<Nanos>,
    /// Its names, in the order of time; never empty.
    pub names: Vec<Named>,
    /// What it did, in the order of time and without overlap. There are gaps: before a newborn is first made
    /// runnable, and where events were lost.
    pub segments: Vec<Segment>,
    /// All that was accounted to it in its life, told when it ended inside the window.
    pub accounts: Option<Accounts>,
}

impl Thread {
    /// Index into [`names`](Self::names) of its name at an instant: the last one given by then, or the first.
    pub fn naming_at(&self, at: Nanos) -> usize {
        self.names.partition_point(|name| name.from <= at).saturating_sub(1)
    }

    /// Its name at an instant.
    pub fn name_at(&self, at: Nanos) -> Comm {
        self.names.get(self.naming_at(at)).map(|named| named.name).unwrap_or_default()
    }

    /// Its time on any CPU.
    pub fn on_cpu(&self) -> Nanos {
        self.segments.iter().filter(|s| matches!(s.state, State::Running { .. })).map(Segment::length).sum()
    }
}

/// A name, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// Since when.
    pub from: Nanos,
    /// The name.
    pub name: Comm,
    /// How it came by it.
    pub by: Naming,
}

/// How a thread came by a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// It had it when it was first known of: its parent's, or the one that the header tells.
    Inherited,
    /// It became another program; with what had been accounted to it in its life by then.
    Exec(Accounts),
    /// It was renamed.
    Rename,
}

/// A stretch of a thread's life in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Since when.
    pub from: Nanos,
    /// Until when.
    pub to: Nanos,
    /// In which state.
    pub state: State,
}

impl Segment {
    /// How long.
    pub const fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// On this CPU, allotted or not.
    Running {
        /// Which.
        cpu: CpuId,
    },
    /// It could run and has no CPU.
    Runnable,
    /// It would run, and may not on any CPU.
    Held(HeldBy),
    /// It waits.
    Blocked(WaitId),
}

/// A wait: how it began and what ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Whose.
    pub thread: ThreadId,
    /// When it began.
    pub from: Nanos,
    /// When it ended, or the window.
    pub to: Nanos,
    /// Why the thread left its CPU.
    pub left: Left,
    /// In which call.
    pub call: Call,
    /// For what, where that was told.
    pub object: Object,
    /// The arguments of its futex call, where it is one and they were told.
    pub futex: Option<FutexWait>,
    /// What ended it; none where the window ended first or nobody was seen to.
    pub wake: Option<Wake>,
    /// Whether it ended inside the window, seen or not.
    pub ended: bool,
    /// The wait for a kernel lock that it is part of: an index into [`Timeline::contentions`]. Of nested ones the
    /// inner.
    pub contention: Option<u32>,
}

/// What made a thread runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// When.
    pub at: Nanos,
    /// By what.
    pub by: Source,
    /// By what, followed through kernel threads: a worker to whoever queued what it did, another one to what had
    /// ended its own last wait.
    pub origin: Source,
    /// Whether the kernel counts the wait as one for a device.
    pub io_wait: bool,
}

/// Who or what did something: [`Waker`](morecores_study::trace::Waker) with the thread in place of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A thread, in its own time.
    Thread(ThreadId),
    /// A soft interrupt that a thread raised.
    SoftIrqOfThread {
        /// Its number.
        vector: u8,
        /// Who raised it.
        thread: ThreadId,
    },
    /// A hard interrupt.
    Interrupt(Interrupt),
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

impl Source {
    /// The thread behind it, where there is one.
    pub const fn thread(self) -> Option<ThreadId> {
        match self {
            Self::Thread(thread) | Self::SoftIrqOfThread { thread, .. } => Some(thread),
            _ => None,
        }
    }
}

/// What one CPU did.
#[derive(Clone, Debug)]
pub struct CpuTimeline {
    /// Which.
    pub cpu: CpuId,
    /// Whether the run was allotted it.
    pub allotted: bool,
    /// What it did, in the order of time, without gap or overlap over the whole window.
    pub stretches: Vec<Stretch>,
}

/// A stretch of a CPU's time between two switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Since when.
    pub from: Nanos,
    /// Until when.
    pub to: Nanos,
    /// Who had the CPU.
    pub who: Occupant,
    /// Interrupts meanwhile.
    pub interrupts: Nanos,
    /// CPU time that the kernel accounted to the thread over the stretch; none where that is not known: of the idle
    /// loop, of a stretch that the window or a loss cuts, and where the source does not tell.
    pub accounted: Option<Nanos>,
}

impl Stretch {
    /// How long.
    pub const fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

/// Who has a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// The idle loop.
    Idle,
    /// A thread.
    Thread(ThreadId),
    /// Somebody whom the source of the trace does not show: a thread was made to leave for it.
    Unseen,
    /// Nobody knows: events were lost.
    Lost,
}

/// A thread's wait for a kernel lock, cut to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockWait {
    /// Whose.
    pub thread: ThreadId,
    /// When it began.
    pub from: Nanos,
    /// When it ended.
    pub to: Nanos,
    /// The lock's address.
    pub lock: u64,
    /// What the kernel says of it.
    pub flags: LockFlags,
    /// The lock, where it is a known one.
    pub known: KnownLock,
    /// Where the thread was: a key of the header's stacks.
    pub stack: Option<u32>,
}

/// A piece of work that a kernel worker did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkDone {
    /// The worker.
    pub worker: ThreadId,
    /// Since when.
    pub from: Nanos,
    /// Until when.
    pub to: Nanos,
    /// Who had queued it, followed through kernel threads.
    pub origin: Source,
}

/// A thread may use some CPUs only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// Since when.
    pub at: Nanos,
    /// Who.
    pub thread: ThreadId,
    /// The CPUs that it may use.
    pub allowed: CpuSet,
}

/// What a thread was doing at an instant of the sampling clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// When.
    pub at: Nanos,
    /// On which CPU.
    pub cpu: CpuId,
    /// Who; none for the idle loop and threads not shown.
    pub thread: Option<ThreadId>,
    /// In which mode.
    pub mode: SampleMode,
    /// Whether it waits in a loop of its own.
    pub spins: bool,
}

/// A system call, and what it was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallMade {
    /// By whom.
    pub thread: ThreadId,
    /// When it began; where it waited, the beginning of the wait.
    pub since: Nanos,
    /// When it returned.
    pub at: Nanos,
    /// Its number.
    pub number: u16,
    /// What it returned; the largest number of 31 bits stands for all that are larger.
    pub result: i64,
    /// What it was about; never [`Object::None`].
    pub object: Object,
}
