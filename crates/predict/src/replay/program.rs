//! Program: the demands of its threads, and the order between their steps.

use morecores_study::Nanos;

/// Behaviour of a program without the waits that a machine adds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Scripts of the threads. The first thread starts at once, and every other thread starts at
    /// the [`Step::Start`] that names it.
    pub threads: Vec<Script>,
    /// Number of tokens in each channel at the start.
    pub channels: Vec<u64>,
    /// Number of requests that each device serves at once; `u32::MAX` for no limit.
    pub devices: Vec<u32>,
    /// Policy of each lock.
    pub locks: Vec<LockPolicy>,
    /// Work that several threads share.
    pub shared_work: Vec<SharedWork>,
}

/// Work that any of several threads may do: jobs in a queue, parts of a loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SharedWork {
    /// Threads that take pieces, at a [`Step::ShareWork`].
    pub members: Vec<u32>,
    /// Pieces, in the order in which threads take them.
    pub pieces: Vec<Script>,
}

/// Rule for waiting for a lock and for passing it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockPolicy {
    /// Waiters spin and are served first come first served: the kernel's spinlocks.
    Spin,
    /// Waiters sleep, and the lock passes to the longest waiter.
    Handoff,
    /// Waiters sleep. A release wakes the longest waiter, and the first thread to arrive takes the
    /// lock: a mutex on a futex.
    Barging,
    /// Barging without preemption of the holder: the kernel's mutexes and semaphores.
    Kernel,
}

impl LockPolicy {
    /// Whether the holder may be preempted. The holder of a spinlock never is. Elsewhere in the
    /// kernel, preemption needs a kernel with full preemption (`CONFIG_PREEMPT`); lazy preemption
    /// waits for the return to user mode.
    pub(super) const fn holder_is_preemptible(self) -> bool {
        matches!(self, Self::Handoff | Self::Barging)
    }

    /// Whether a release passes the lock to the longest waiter.
    pub(super) const fn is_handed_off(self) -> bool {
        matches!(self, Self::Spin | Self::Handoff)
    }
}

/// Steps of one thread, in order.
pub type Script = Vec<Step>;

/// Action of a thread. Indices refer to the lists of [`Program`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Uses a CPU for this time.
    Run(Nanos),
    /// Creates this thread, which starts now.
    Start(u32),
    /// Passes a point that other threads may wait for: see [`Await`](Self::Await).
    Mark,
    /// Waits until a thread has passed a number of its marks, or has ended.
    Await {
        /// Awaited thread.
        thread: u32,
        /// Number of marks since the start of the thread.
        marks: u32,
    },
    /// Waits for the end of this thread.
    Join(u32),
    /// Does pieces of this shared work, one after the other, until none is left.
    ShareWork(u32),
    /// Puts tokens into a channel, for example bytes into a pipe or a slot into a pool.
    Put {
        /// Channel.
        channel: u32,
        /// Number of tokens.
        tokens: u64,
    },
    /// Takes tokens from a channel, and waits in line until they are available.
    Take {
        /// Channel.
        channel: u32,
        /// Number of tokens.
        tokens: u64,
    },
    /// Takes a lock, uses a CPU for a time, and releases the lock.
    Hold {
        /// Lock.
        lock: u32,
        /// Hold time, without the wait.
        time: Nanos,
    },
    /// Takes a lock and holds it across the following steps, until [`Unlock`](Self::Unlock).
    Lock(u32),
    /// Releases a held lock.
    Unlock(u32),
    /// Requests service from a device and waits until it is done.
    UseDevice {
        /// Device.
        device: u32,
        /// Service time, without the wait in line.
        time: Nanos,
    },
    /// Sleeps for this time, whatever other threads do.
    Sleep(Nanos),
    /// Starts polling at regular intervals: see [`NextPoll`](Self::NextPoll).
    StartPolling,
    /// Waits for the next poll: until a whole number of these intervals has passed since the last
    /// [`StartPolling`](Self::StartPolling).
    NextPoll(Nanos),
}

impl Step {
    /// CPU time of a step that is nothing but work.
    pub const fn run(&self) -> Option<Nanos> {
        match self {
            Self::Run(time) => Some(*time),
            _ => None,
        }
    }

    /// CPU time of the step.
    pub const fn work(&self) -> Nanos {
        match self {
            Self::Run(time) | Self::Hold { time, .. } => *time,
            _ => Nanos::ZERO,
        }
    }
}

impl Program {
    /// Total number of steps.
    pub fn steps(&self) -> usize {
        self.scripts().map(Vec::len).sum()
    }

    /// Scripts of all threads and all pieces of shared work.
    pub fn scripts(&self) -> impl Iterator<Item = &Script> {
        self.threads.iter().chain(self.shared_work.iter().flat_map(|work| &work.pieces))
    }

    /// Mutable scripts of all threads and all pieces of shared work.
    pub fn scripts_mut(&mut self) -> impl Iterator<Item = &mut Script> {
        self.threads.iter_mut().chain(self.shared_work.iter_mut().flat_map(|work| &mut work.pieces))
    }

    /// Total CPU time.
    pub fn work(&self) -> Nanos {
        self.scripts().flatten().map(Step::work).sum()
    }
}
