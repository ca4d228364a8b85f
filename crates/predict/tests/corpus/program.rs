//! The nouns of a program: what it would do, without a word on which CPU or when.
//!
//! Times are nanoseconds of one CPU that has the machine to itself.

use std::fmt;

/// A program: phases one after the other, and what their work shares.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Program {
    /// What it was drawn from.
    pub(crate) seed: u64,
    /// One after the other, by the main process.
    pub(crate) phases: Vec<Phase>,
    /// Locks that steps name by their place.
    pub(crate) locks: Vec<Lock>,
    /// A device, where steps use one.
    pub(crate) device: Option<Device>,
    /// How work slows down with the number of busy CPUs.
    pub(crate) memory: Memory,
    /// Standard deviation of a piece of work from one run to the next, relative.
    pub(crate) noise: f64,
    /// Share of the work that is done in the kernel.
    pub(crate) system: f32,
    /// What the machine takes for what it does for the program.
    pub(crate) gear: Gear,
}

/// A part of a program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    /// The main thread alone.
    Serial(Job),
    /// Jobs that do not wait for each other.
    Parallel {
        /// By whom they are done.
        style: Style,
        /// What the main thread does before it hands out each, where it hands them out one by one.
        handing: f64,
        /// The jobs, in the order in which they are handed out.
        jobs: Vec<Job>,
    },
}

/// By whom the jobs of a phase are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// A process for each, `{n}` of them at once, like `make -j{n}`: `wait4` ends a job.
    Processes {
        /// Whether a shell stands between, which starts the process that does the work.
        shell: bool,
    },
    /// `{n}` processes that read from a pipe what to do next.
    ProcessPool,
    /// `{n}` threads that take jobs from a queue and wait on a condition variable where it is empty.
    ThreadPool,
    /// `{n}` threads that are made for the phase and joined; the jobs are dealt to them beforehand.
    Dealt,
    /// The main thread and `{n}` - 1 others that stay from one phase to the next and wait at a barrier, as OpenMP does.
    Team {
        /// Whether each takes the next job when it is ready, or they are dealt beforehand.
        dynamic: bool,
    },
}

impl Style {
    /// Whether jobs are processes of their own, which share no futex.
    pub(crate) const fn by_processes(self) -> bool {
        matches!(self, Self::Processes { .. } | Self::ProcessPool)
    }
}

/// What a thread does without waiting for other jobs.
pub(crate) type Job = Vec<Step>;

/// A piece of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    /// Work.
    Work(f64),
    /// Work with a lock held; around a kernel lock there is a system call with some work before it.
    Hold {
        /// Which.
        lock: usize,
        /// Of the same system call, before the lock.
        before: f64,
        /// With the lock held, where no other CPU is busy.
        held: f64,
    },
    /// A request to the device, which takes so long once it is served.
    Request(f64),
}

impl Step {
    /// Its own work on a CPU.
    pub(crate) const fn work(&self) -> f64 {
        match *self {
            Self::Work(ns) => ns,
            Self::Hold { before, held, .. } => before + held,
            Self::Request(_) => 0.0,
        }
    }
}

/// A lock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lock {
    /// Which kind.
    pub(crate) kind: LockKind,
    /// How much longer it is held for each further CPU that is busy, relative: cache lines travel.
    pub(crate) growth: f64,
}

/// How one waits for a lock, and who sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockKind {
    /// A mutex of the program's own: a futex once it is contended; whoever comes by may take it before who was woken.
    Futex,
    /// A spinlock of the kernel: in the order of arrival, and nobody is preempted meanwhile.
    Spin,
    /// A semaphore of the kernel: waiters sleep; whoever comes by may take it before who was woken.
    Sleep,
}

/// A device that serves one request after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    /// The number of its interrupt.
    pub(crate) interrupt: u32,
}

/// Memory that busy CPUs share: with `k` of them work takes `1 + a·(k-1)^p / (1 + b·(k-1))` times as long.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Memory {
    /// Size.
    pub(crate) a: f64,
    /// Shape.
    pub(crate) p: f64,
    /// How soon it levels off.
    pub(crate) b: f64,
}

impl Memory {
    /// How many times as long work takes with `busy` CPUs at work.
    pub(crate) fn slowdown(&self, busy: u32) -> f64 {
        let others = f64::from(busy.max(1) - 1);
        1.0 + self.a * others.powf(self.p) / (1.0 + self.b * others)
    }
}

/// What the machine takes for what it does for a program, in nanoseconds of a CPU; of the order of what a virtual
/// machine of today needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gear {
    /// An idle CPU is this late, at least, when it is given a thread; at most twice as late.
    pub(crate) wake_latency: u64,
    /// From one thread to another.
    pub(crate) switch: f64,
    /// Making a process, becoming a program, and ending.
    pub(crate) fork: f64,
    pub(crate) exec: f64,
    pub(crate) exit: f64,
    /// Making and ending a thread.
    pub(crate) clone: f64,
    pub(crate) thread_exit: f64,
    /// A system call that does little, a wake-up among them.
    pub(crate) call: f64,
}

impl Gear {
    /// A machine that takes nothing for anything: for known answers.
    pub(crate) const FREE: Self = Self {
        wake_latency: 0,
        switch: 0.0,
        fork: 0.0,
        exec: 0.0,
        exit: 0.0,
        clone: 0.0,
        thread_exit: 0.0,
        call: 0.0,
    };
}

impl Program {
    /// All jobs, serial phases among them.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.phases.iter().flat_map(|phase| match phase {
            Phase::Serial(job) => std::slice::from_ref(job),
            Phase::Parallel { jobs, .. } => jobs,
        })
    }

    /// The CPU time that its own work asks for where nothing slows it down, nanoseconds.
    pub(crate) fn demand(&self) -> f64 {
        let handing = self.phases.iter().map(|phase| match phase {
            Phase::Parallel {
                style: Style::Processes { .. } | Style::ProcessPool | Style::ThreadPool,
                handing,
                jobs,
            } => handing * jobs.len() as f64,
            _ => 0.0,
        });
        handing.sum::<f64>() + self.jobs().flatten().map(Step::work).sum::<f64>()
    }
}

impl fmt::Display for Program {
    /// In a line, for whoever looks for what a prediction missed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |of: f64| 100.0 * of / self.demand();
        write!(f, "{}: {:.2} s", self.seed, self.demand() / 1e9)?;
        let serial = self.phases.iter().filter_map(|phase| match phase {
            Phase::Serial(job) => Some(job.iter().map(Step::work).sum::<f64>()),
            Phase::Parallel { .. } => None,
        });
        write!(f, ", serial {:.1}%", share(serial.sum()))?;
        for phase in &self.phases {
            if let Phase::Parallel { style, jobs, .. } = phase {
                write!(f, ", {} by {style:?}", jobs.len())?;
            }
        }
        for (index, lock) in self.locks.iter().enumerate() {
            let held: f64 = self
                .jobs()
                .flatten()
                .filter_map(|step| match step {
                    Step::Hold { lock, held, .. } if *lock == index => Some(*held),
                    _ => None,
                })
                // An empty sum is -0.
                .fold(0.0, |all, held| all + held);
            write!(f, ", {:?} {:.1}% +{:.0}%", lock.kind, share(held), 100.0 * lock.growth)?;
        }
        if self.device.is_some() {
            let served = self.jobs().flatten().map(|step| match step {
                Step::Request(ns) => *ns,
                _ => 0.0,
            });
            write!(f, ", device {:.1}%", share(served.sum()))?;
        }
        write!(f, ", memory ×{:.2} at 16, noise {:.1}%", self.memory.slowdown(16), 100.0 * self.noise)
    }
}
