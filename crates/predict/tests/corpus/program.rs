//! Types of a program: its behaviour, without CPUs and instants.
//!
//! Times are in nanoseconds on one CPU without other load.

use std::fmt;

use super::machine::{Capacity, MachineCosts, Memory, Siblings};

/// Program: consecutive phases, and the resources that their work shares.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Program {
    /// Seed of the program.
    pub(crate) seed: u64,
    /// Phases, run one after the other by the main process.
    pub(crate) phases: Vec<Phase>,
    /// Locks; steps name a lock by its index.
    pub(crate) locks: Vec<Lock>,
    /// Device, if steps use one.
    pub(crate) device: Option<Device>,
    /// Slowdown of work with the number of busy CPUs.
    pub(crate) memory: Memory,
    /// Capacity of the machine.
    pub(crate) capacity: Capacity,
    /// Relative standard deviation of a piece of work from run to run.
    pub(crate) noise: f64,
    /// Share of the work in the kernel.
    pub(crate) system: f32,
    /// Costs of the machine's operations for the program.
    pub(crate) machine_costs: MachineCosts,
}

/// Part of a program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    /// Job of the main thread alone.
    Serial(Job),
    /// Independent jobs.
    Parallel {
        /// Distribution of the jobs over threads or processes.
        style: Style,
        /// Work of the main thread before it hands out each job, if it hands them out one by one.
        /// In a fork-join pool, work of each thread after it queued a job.
        handout_cost: f64,
        /// Jobs, in the order of their distribution.
        jobs: Vec<Job>,
    },
}

/// Distribution of a phase's jobs over threads or processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// One process per job, `{n}` at once, like `make -j{n}`; `wait4` ends a job.
    Processes {
        /// Whether a shell starts the process that does the work.
        shell: bool,
    },
    /// `{n}` processes that read their next job from a pipe.
    ProcessPool,
    /// `{n}` threads that take jobs from a queue, and wait on a condition variable while it is
    /// empty.
    ThreadPool,
    /// `{n}` threads created for the phase and joined after it; the jobs are distributed
    /// beforehand.
    Dealt,
    /// Main thread and `{n}` - 1 others that persist across phases and wait at a barrier, as in
    /// OpenMP.
    Team {
        /// Whether each thread takes the next job when it is ready; otherwise the jobs are
        /// distributed beforehand.
        dynamic: bool,
    },
    /// `{n}` threads of a fork-join pool. The jobs form chains: the worker of a job queues the next
    /// job of its chain. Idle workers share one condition variable.
    Chains {
        /// Number of chains.
        chains: usize,
        /// Workers woken for a queued job.
        wakes: Wakes,
    },
}

/// Waiters that a call at a condition variable wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wakes {
    /// One waiter: a signal.
    One,
    /// All waiters: a broadcast. Most of them find nothing to do.
    All,
}

impl Style {
    /// Whether the jobs are processes, which share no futex.
    pub(crate) const fn uses_processes(self) -> bool {
        matches!(self, Self::Processes { .. } | Self::ProcessPool)
    }
}

/// Steps of a thread that do not wait for other jobs.
pub(crate) type Job = Vec<Step>;

/// Step of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    /// Work without a lock.
    Work(f64),
    /// Work with a lock held. A kernel lock is taken inside a system call, after some work of that
    /// call.
    Hold {
        /// Index of the lock.
        lock: usize,
        /// Work in the system call before the lock.
        before: f64,
        /// Work with the lock held, if no other CPU is busy.
        held: f64,
    },
    /// Request to the device, with its service time.
    Request(f64),
    /// Wait with a futex lock held.
    HoldAcross {
        /// Index of the lock.
        lock: usize,
        /// Wait under the lock.
        wait: HeldWait,
    },
}

/// Wait of a thread that holds a lock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum HeldWait {
    /// For the device, with the service time.
    Device(f64),
    /// For a timer.
    Timer(f64),
}

impl Step {
    /// Work of the step on a CPU.
    pub(crate) const fn work(&self) -> f64 {
        match *self {
            Self::Work(ns) => ns,
            Self::Hold { before, held, .. } => before + held,
            Self::Request(_) | Self::HoldAcross { .. } => 0.0,
        }
    }
}

/// Lock of the program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lock {
    /// Kind of the lock.
    pub(crate) kind: LockKind,
    /// Relative growth of the hold time per further busy CPU: cache lines move between CPUs.
    pub(crate) growth: f64,
}

/// Kind of a lock: how its waiters wait, and whether a trace shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockKind {
    /// Mutex of the program: a futex once it is contended. An arriving thread may take it before
    /// the woken waiter.
    Futex,
    /// Kernel spinlock: first come first served, without preemption of its threads.
    Spin,
    /// Kernel semaphore: waiters sleep. An arriving thread may take it before the woken waiter.
    Sleep,
}

/// Device that serves requests in the order of their arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    /// Number of the device's interrupt.
    pub(crate) interrupt: u32,
    /// Number of requests served at once.
    pub(crate) channels: usize,
}

impl Program {
    /// Program of one parallel phase, without noise, on a machine whose operations cost nothing.
    pub(crate) fn one_phase(style: Style, jobs: Vec<Job>) -> Self {
        Self {
            seed: 1,
            phases: vec![Phase::Parallel { style, handout_cost: 0.0, jobs }],
            locks: Vec::new(),
            device: None,
            memory: Memory::default(),
            capacity: Capacity::default(),
            noise: 0.0,
            system: 0.1,
            machine_costs: MachineCosts::FREE,
        }
    }

    /// Factor on the time of work with `busy` working CPUs.
    pub(crate) fn slowdown(&self, busy: u32) -> f64 {
        self.memory.slowdown(busy) * self.capacity.slowdown(busy)
    }

    /// All jobs, including the serial phases.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.phases.iter().flat_map(|phase| match phase {
            Phase::Serial(job) => std::slice::from_ref(job),
            Phase::Parallel { jobs, .. } => jobs,
        })
    }

    /// CPU time of the program's own work without any slowdown, in nanoseconds.
    pub(crate) fn demand(&self) -> f64 {
        let handout_cost = self.phases.iter().map(|phase| match phase {
            Phase::Parallel {
                style:
                    Style::Processes { .. } | Style::ProcessPool | Style::ThreadPool | Style::Chains { .. },
                handout_cost,
                jobs,
            } => handout_cost * jobs.len() as f64,
            _ => 0.0,
        });
        handout_cost.sum::<f64>() + self.jobs().flatten().map(Step::work).sum::<f64>()
    }
}

impl fmt::Display for Program {
    /// Summary in one line, for the analysis of a wrong prediction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |work: f64| 100.0 * work / self.demand();
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
                    Step::Hold { lock, held: time, .. }
                    | Step::HoldAcross { lock, wait: HeldWait::Device(time) | HeldWait::Timer(time) }
                        if *lock == index =>
                    {
                        Some(*time)
                    }
                    _ => None,
                })
                // The sum of an empty iterator is -0.
                .fold(0.0, |all, held| all + held);
            write!(f, ", {:?} {:.1}% +{:.0}%", lock.kind, share(held), 100.0 * lock.growth)?;
        }
        if let Some(Device { channels, .. }) = self.device {
            let served = self.jobs().flatten().map(|step| match step {
                Step::Request(ns) | Step::HoldAcross { wait: HeldWait::Device(ns), .. } => *ns,
                _ => 0.0,
            });
            write!(f, ", device {:.1}% by {channels}", share(served.sum()))?;
        }
        if let Some(bandwidth) = self.capacity.bandwidth {
            write!(f, ", bandwidth for {bandwidth:.1}")?;
        }
        if let Some(Siblings { cores, share }) = self.capacity.siblings {
            write!(f, ", {cores} cores with siblings of {share:.2}")?;
        }
        write!(f, ", memory ×{:.2} at 16, noise {:.1}%", self.memory.slowdown(16), 100.0 * self.noise)
    }
}
