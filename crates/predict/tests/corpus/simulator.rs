//! Event-driven simulator: runs a program on simulated CPUs and reports the elapsed time.
//!
//! A thread is a list of [`Op`]s, which `effects`, `queues` and `teams` execute. `scheduler`
//! assigns CPUs. `tracer` records the events that the tracer of a real run would record. Time is in
//! whole nanoseconds. Work is in nanoseconds of an undisturbed CPU, at a pace that depends on the
//! number of busy CPUs.

mod effects;
mod ops;
mod queues;
mod scheduler;
mod teams;
mod tracer;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use morecores_study::Nanos;
use morecores_study::trace::Tid;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::program::{HeldWait, Job, LockKind, Phase, Program, Step};
use effects::LockState;
use ops::{Op, ThreadRole};
use queues::Queue;
use scheduler::Cpu;
use teams::Team;
use tracer::Tracer;

pub(crate) use tracer::Trace;

/// Thread number of the main process.
pub(crate) const ROOT: u32 = 100;
/// Period of the tick in nanoseconds: 250 ticks per second.
const TICK: u64 = 4_000_000;

/// Number of CPUs, and value of `{n}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Size {
    pub(crate) cpus: u32,
    pub(crate) n: u32,
}

/// Tracing of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TraceDetail {
    Untraced,
    /// Events of `TraceSource::Bpf`.
    Traced,
    /// Events of `TraceSource::Bpf` and system calls.
    Exact,
}

/// Result of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Time from the main process's exec to its end.
    pub(crate) elapsed: Nanos,
    /// CPU time of each thread since the exec.
    pub(crate) threads: Vec<(Tid, Nanos)>,
    /// CPU time spent spinning for kernel locks.
    pub(crate) spun: Nanos,
    /// Requested work: the program's own work, and the total including the machine's operations.
    pub(crate) own: f64,
    pub(crate) demanded: f64,
    /// Completed work.
    pub(crate) done: f64,
    /// Service time of the device for all requests.
    pub(crate) served: Nanos,
    /// Trace of the run, if it was traced.
    pub(crate) trace: Option<Trace>,
}

/// Runs the program once.
pub(crate) fn simulate(program: &Program, size: Size, seed: u64, mode: TraceDetail) -> Outcome {
    let mut sim = Simulation::new(program, size, seed, mode);
    sim.start();
    while !sim.ended {
        sim.step();
    }
    sim.finish(mode)
}

/// State of a simulated thread.
struct Thread {
    tid: Tid,
    /// First thread of its process.
    process: Tid,
    parent: usize,
    is_thread: bool,
    ops: VecDeque<Op>,
    location: Location,
    /// Remaining work of the current step, and its share in the kernel.
    remaining: f64,
    system: f32,
    /// Whether the thread holds or wants a spinlock, and so cannot be preempted.
    not_preemptible: bool,
    /// Whether the thread is in a system call, and the instant of its entry. The instant is not
    /// recorded once the thread has left its CPU.
    in_call: bool,
    entered: Option<u64>,
    runtime: u64,
    vruntime: i64,
    slept_at: u64,
    last_cpu: usize,
    ticks: (u64, u64),
    system_time: f64,
    /// Child processes: ended ones that are not yet reaped, and the number of all that are not yet
    /// reaped.
    zombies: VecDeque<usize>,
    unreaped: u32,
    /// Threads that this thread created and has not joined.
    unjoined: VecDeque<usize>,
    joined_by: Option<usize>,
    /// Start of the attempt to take a kernel lock.
    lock_wait_start: Option<u64>,
    /// Whether the thread had to wait for the lock that it tries to take.
    waited: bool,
}

/// Location of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Location {
    Cpu,
    Queue,
    Nothing,
    /// Waiting for a child.
    Child,
    Dead,
}

/// Event that occurs at a set time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// Start of an idle CPU with its assigned thread.
    Arrive(usize),
    /// Notification of a CPU about a thread woken for it.
    Resched(usize),
    /// End of a thread's request, and of its wait for a timer.
    Served(usize),
    Awake(usize),
}

/// Next event of the simulation.
enum NextEvent {
    Done(usize),
    Slice(usize),
    Timer(Timer),
}

struct Simulation<'p> {
    program: &'p Program,
    size: Size,
    /// Jobs by phase with the lengths of this run, and the cost of handing out each.
    jobs: Vec<Vec<Job>>,
    handout_cost: Vec<Vec<f64>>,
    now: u64,
    ended: bool,
    cpus: Vec<Cpu>,
    threads: Vec<Thread>,
    timers: BinaryHeap<Reverse<(u64, u64, Timer)>>,
    timers_set: u64,
    slowdown: f64,
    locks: Vec<LockState>,
    queues: Vec<Queue>,
    /// Requests that the device serves, and those that wait for it.
    in_service: usize,
    requests: VecDeque<(usize, u64)>,
    team: Team,
    rng: ChaCha8Rng,
    tracer: Tracer,
    spun: u64,
    own: f64,
    demanded: f64,
    done: f64,
    served: u64,
}

impl<'p> Simulation<'p> {
    fn new(program: &'p Program, size: Size, seed: u64, mode: TraceDetail) -> Self {
        // Each run has its own noise, even if it differs only in size.
        let run = u64::from(size.cpus) << 48 ^ u64::from(size.n) << 40 ^ seed;
        let mut rng = ChaCha8Rng::seed_from_u64(program.seed);
        rng.set_stream(run);
        let mut jobs = Vec::new();
        let mut handout_cost = Vec::new();
        for phase in &program.phases {
            let (phase_jobs, each): (&[Job], f64) = match phase {
                Phase::Serial(job) => (std::slice::from_ref(job), 0.0),
                Phase::Parallel { handout_cost, jobs, .. } => (jobs, *handout_cost),
            };
            handout_cost.push(phase_jobs.iter().map(|_| noisy(each, program.noise, &mut rng)).collect());
            jobs.push(phase_jobs.iter().map(|job| noisy_job(job, program.noise, &mut rng)).collect());
        }
        Self {
            program,
            size,
            jobs,
            handout_cost,
            now: 0,
            ended: false,
            cpus: (0..size.cpus).map(|_| Cpu::default()).collect(),
            threads: Vec::new(),
            timers: BinaryHeap::new(),
            timers_set: 0,
            slowdown: 1.0,
            locks: program.locks.iter().map(|_| LockState::default()).collect(),
            queues: program.phases.iter().map(|_| Queue::default()).collect(),
            in_service: 0,
            requests: VecDeque::new(),
            team: Team::default(),
            rng,
            tracer: Tracer::new(mode),
            spun: 0,
            own: 0.0,
            demanded: 0.0,
            done: 0.0,
            served: 0,
        }
    }

    /// Starts the main process's exec on the first CPU at time zero.
    fn start(&mut self) {
        let root = self.add_thread(ThreadRole::Root, usize::MAX, false);
        self.tracer.record_start();
        self.threads[root].location = Location::Cpu;
        self.cpus[0].take(root, 0);
        self.advance(0);
        self.update_state();
    }

    fn add_thread(&mut self, role: ThreadRole, parent: usize, is_thread: bool) -> usize {
        let index = self.threads.len();
        let tid = Tid(ROOT + index as u32);
        self.threads.push(Thread {
            tid,
            process: if is_thread { self.threads[parent].process } else { tid },
            parent,
            is_thread,
            ops: self.initial_ops(role, is_thread),
            location: Location::Nothing,
            remaining: 0.0,
            system: 1.0,
            not_preemptible: false,
            in_call: false,
            entered: None,
            runtime: 0,
            vruntime: 0,
            slept_at: 0,
            last_cpu: 0,
            ticks: (0, 0),
            system_time: 0.0,
            zombies: VecDeque::new(),
            unreaped: 0,
            unjoined: VecDeque::new(),
            joined_by: None,
            lock_wait_start: None,
            waited: false,
        });
        index
    }

    // Time.

    fn set_timer(&mut self, at: u64, timer: Timer) {
        self.timers_set += 1;
        self.timers.push(Reverse((at, self.timers_set, timer)));
    }

    fn step(&mut self) {
        let mut next = self.timers.peek().map(|Reverse((at, _, timer))| (*at, NextEvent::Timer(*timer)));
        let sooner =
            |next: &Option<(u64, NextEvent)>, at: u64| next.as_ref().is_none_or(|(best, _)| at < *best);
        for (index, cpu) in self.cpus.iter().enumerate().filter(|(_, cpu)| cpu.current.is_some()) {
            if sooner(&next, cpu.finish) {
                next = Some((cpu.finish, NextEvent::Done(index)));
            }
            let slice = cpu.slice_end.max(self.now);
            if !cpu.queue.is_empty() && sooner(&next, slice) {
                next = Some((slice, NextEvent::Slice(index)));
            }
        }
        let (at, next) = next.unwrap_or_else(|| panic!("{}: everybody waits", self.program));
        assert!(at >= self.now && at < u64::MAX, "{}: time runs backwards or never ends", self.program);
        self.now = at;
        match next {
            NextEvent::Done(cpu) => {
                self.progress(cpu);
                let thread = &mut self.threads[self.cpus[cpu].current.expect("just seen")];
                self.done += std::mem::take(&mut thread.remaining);
                self.advance(cpu);
            }
            NextEvent::Slice(cpu) => self.slice_ended(cpu),
            NextEvent::Timer(timer) => {
                self.timers.pop();
                match timer {
                    Timer::Arrive(cpu) => self.arrive(cpu),
                    Timer::Resched(cpu) => self.cpus[cpu].resched = true,
                    Timer::Served(thread) => self.end_request(thread),
                    Timer::Awake(thread) => self.end_sleep(thread),
                }
            }
        }
        self.update_state();
    }

    /// Accounts for the work of a CPU until now.
    fn progress(&mut self, cpu: usize) {
        let state = &mut self.cpus[cpu];
        let ran = self.now - state.updated;
        let Some(index) = state.current.filter(|_| ran > 0) else {
            state.updated = self.now;
            return;
        };
        let thread = &mut self.threads[index];
        thread.runtime += ran;
        thread.vruntime += ran as i64;
        let system = if state.spinning { 1.0 } else { thread.system };
        if state.spinning {
            self.spun += ran;
        } else {
            let done = (ran as f64 / self.slowdown).min(thread.remaining);
            thread.remaining -= done;
            self.done += done;
        }
        thread.system_time += ran as f64 * f64::from(system);
        // The ticks of the CPUs are staggered.
        let phase = cpu as u64 * 250_000;
        for _ in (state.updated + phase) / TICK..(self.now + phase) / TICK {
            if self.rng.random::<f32>() < system {
                thread.ticks.1 += TICK;
            } else {
                thread.ticks.0 += TICK;
            }
        }
        state.updated = self.now;
    }

    /// Updates the state after each event: preemptions, the pace of work, and the finish time of
    /// each CPU.
    fn update_state(&mut self) {
        self.preempt_requested();
        let working = self.cpus.iter().filter(|cpu| cpu.current.is_some() && !cpu.spinning).count();
        let slowdown = self.program.slowdown(working as u32);
        let changed = slowdown != self.slowdown;
        if changed {
            for cpu in 0..self.cpus.len() {
                self.progress(cpu);
            }
            self.slowdown = slowdown;
        }
        for cpu in self.cpus.iter_mut().filter(|cpu| cpu.dirty || changed) {
            cpu.dirty = false;
            if let Some(thread) = cpu.current {
                let left = self.threads[thread].remaining * slowdown;
                cpu.finish = if cpu.spinning { u64::MAX } else { cpu.updated + left.ceil() as u64 };
            }
        }
    }

    fn finish(self, mode: TraceDetail) -> Outcome {
        let elapsed = Nanos(self.now);
        let system = self.threads.iter().map(|thread| thread.system_time).sum::<f64>();
        let all: u64 = self.threads.iter().map(|thread| thread.runtime).sum();
        let trace = (mode != TraceDetail::Untraced)
            .then(|| self.tracer.finish(self.program, self.size, elapsed, Nanos(all), Nanos(system as u64)));
        Outcome {
            elapsed,
            threads: self.threads.iter().map(|thread| (thread.tid, Nanos(thread.runtime))).collect(),
            spun: Nanos(self.spun),
            own: self.own,
            demanded: self.demanded,
            done: self.done,
            served: Nanos(self.served),
            trace,
        }
    }
}

fn noisy_job(job: &Job, noise: f64, rng: &mut ChaCha8Rng) -> Job {
    let noisy = |step: &Step| match *step {
        Step::Work(ns) => Step::Work(noisy(ns, noise, rng)),
        Step::Hold { lock, before, held } => Step::Hold { lock, before, held: noisy(held, noise, rng) },
        Step::Request(ns) => Step::Request(noisy(ns, noise, rng)),
        Step::HoldAcross { lock, wait: HeldWait::Device(ns) } => {
            Step::HoldAcross { lock, wait: HeldWait::Device(noisy(ns, noise, rng)) }
        }
        Step::HoldAcross { lock, wait: HeldWait::Timer(ns) } => {
            Step::HoldAcross { lock, wait: HeldWait::Timer(noisy(ns, noise, rng)) }
        }
    };
    job.iter().map(noisy).collect()
}

/// Length in one run: normally distributed, cut at three standard deviations.
fn noisy(ns: f64, noise: f64, rng: &mut ChaCha8Rng) -> f64 {
    // Irwin-Hall: the sum of twelve uniform numbers minus six, without logarithms.
    let normal = (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0;
    ns * (1.0 + noise * f64::from(normal.clamp(-3.0, 3.0)))
}
