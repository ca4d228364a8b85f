//! A program as its threads' demands and the order that they depend on.

use morecores_study::Nanos;

/// What a program does, without the waits that a machine adds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Its threads. The first begins at once, every other one where a [`Step::Start`] names it.
    pub threads: Vec<Script>,
    /// Tokens in each channel at the beginning.
    pub channels: Vec<u64>,
    /// Its devices: how many requests each serves at once, `u32::MAX` for any number.
    pub devices: Vec<u32>,
    /// How each lock is waited for.
    pub locks: Vec<LockPolicy>,
    /// Work that is nobody's before somebody takes it.
    pub bags: Vec<Bag>,
}

/// Work that any of several threads may do: jobs in a queue, shares of a loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bag {
    /// Who takes from it, where a [`Step::Share`] says so.
    pub members: Vec<u32>,
    /// In the order in which they are taken.
    pub pieces: Vec<Script>,
}

/// How a lock is waited for and passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockPolicy {
    /// On the CPU, first come first served: the kernel's spinlocks.
    Spin,
    /// Asleep, and passed to who waits longest.
    HandOver,
    /// Asleep; who waits longest is woken, and whoever comes first has it: a mutex on a futex.
    Barging,
    /// The same in the kernel, where one thread does not take the CPU from another: its mutexes and semaphores.
    Kernel,
}

impl LockPolicy {
    /// Whether the CPU may be taken from who has it. From who has a spinlock never; elsewhere in the kernel only where it is built
    /// with full preemption (`CONFIG_PREEMPT`; lazy preemption waits for the way back to the program).
    pub(super) const fn holder_may_leave(self) -> bool {
        matches!(self, Self::HandOver | Self::Barging)
    }

    /// Whether who gives it back passes it on to who waits longest.
    pub(super) const fn hands_over(self) -> bool {
        matches!(self, Self::Spin | Self::HandOver)
    }
}

/// What one thread does, one step after the other.
pub type Script = Vec<Step>;

/// One thing that a thread does. Indices are into the lists of [`Program`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Needs a CPU for so long.
    Run(Nanos),
    /// Makes this thread, which begins now.
    Start(u32),
    /// Passes a point that others may wait for: see [`Await`](Self::Await).
    Mark,
    /// Waits until this thread has passed so many of its marks, or has ended.
    Await {
        /// Whose.
        thread: u32,
        /// How many, from its beginning.
        marks: u32,
    },
    /// Waits for the end of this thread.
    Join(u32),
    /// Does pieces of this bag, the next one whenever it is done with one, until none is left.
    Share(u32),
    /// Puts so many tokens into a channel: bytes into a pipe, a place in a pool.
    Put {
        /// Which.
        channel: u32,
        /// How many.
        tokens: u64,
    },
    /// Takes so many tokens out, and waits in line until they are there.
    Take {
        /// Which.
        channel: u32,
        /// How many.
        tokens: u64,
    },
    /// Takes a lock, needs a CPU for so long, and gives the lock back.
    Hold {
        /// Which.
        lock: u32,
        /// How long, without waiting.
        time: Nanos,
    },
    /// Takes a lock and keeps it over what follows, until [`GiveBack`](Self::GiveBack).
    Lock(u32),
    /// Gives back a lock that it has kept.
    GiveBack(u32),
    /// Waits for a device, for so long once it is served.
    Serve {
        /// Which.
        device: u32,
        /// How long, without waiting in line.
        time: Nanos,
    },
    /// Waits for so long, whatever others do.
    Sleep(Nanos),
    /// Begins to look whether something has come, every so often from now on: see [`Look`](Self::Look).
    Watch,
    /// Sees what has come at the next look: waits until a whole number of these times has passed since the last
    /// [`Watch`](Self::Watch).
    Look(Nanos),
}

impl Step {
    /// CPU time that it needs, where it is nothing but work.
    pub const fn run(&self) -> Option<Nanos> {
        match self {
            Self::Run(time) => Some(*time),
            _ => None,
        }
    }

    /// CPU time that it needs.
    pub const fn work(&self) -> Nanos {
        match self {
            Self::Run(time) | Self::Hold { time, .. } => *time,
            _ => Nanos::ZERO,
        }
    }
}

impl Program {
    /// How many steps in all.
    pub fn steps(&self) -> usize {
        self.scripts().map(Vec::len).sum()
    }

    /// What each thread does, and each piece of what they share.
    pub fn scripts(&self) -> impl Iterator<Item = &Script> {
        self.threads.iter().chain(self.bags.iter().flat_map(|bag| &bag.pieces))
    }

    /// The same, to be changed.
    pub fn scripts_mut(&mut self) -> impl Iterator<Item = &mut Script> {
        self.threads.iter_mut().chain(self.bags.iter_mut().flat_map(|bag| &mut bag.pieces))
    }

    /// CPU time in all.
    pub fn work(&self) -> Nanos {
        self.scripts().flatten().map(Step::work).sum()
    }
}
