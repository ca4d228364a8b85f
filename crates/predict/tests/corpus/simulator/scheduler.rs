//! Scheduler of the simulated CPUs: one run queue per CPU, fair by virtual run time, with slices.
//! Wake-ups prefer an idle CPU and may preempt, and idle CPUs take threads from others. The model
//! is Linux's fair class, `kernel/sched/fair.c`, without groups, priorities and domains.

use morecores_study::trace::{PrevState, Waker};
use rand::RngExt;

use super::effects::AwaitedFutex;
use super::{Location, Simulation, Timer};

/// Time slice of a thread while others wait for its CPU: the base slice with some CPUs.
const SLICE: u64 = 3_000_000;
/// Largest advantage of a thread that slept, and the excess of the running thread's run time from
/// which a woken thread preempts it.
const SLEEPER_CREDIT: i64 = 1_500_000;
const WAKE_GRANULARITY: i64 = 1_000_000;
/// Delay of an interrupt from one CPU to another.
const INTERRUPT: u64 = 2_000;
/// Delay before the next attempt to preempt a thread that cannot be preempted now.
const RETRY_DELAY: u64 = 20_000;

/// State of a CPU.
#[derive(Default)]
pub(super) struct Cpu {
    pub(super) current: Option<usize>,
    pub(super) queue: Vec<usize>,
    /// Thread that this idle CPU is about to start.
    arriving: Option<usize>,
    /// Instant up to which all work is accounted for.
    pub(super) updated: u64,
    /// Instant at which the current thread's work is done.
    pub(super) finish: u64,
    pub(super) slice_end: u64,
    /// Whether the current thread waits for a spinlock.
    pub(super) spinning: bool,
    /// Whether `finish` must be recomputed.
    pub(super) dirty: bool,
    /// Whether a woken thread requests preemption.
    pub(super) resched: bool,
    least_vruntime: i64,
}

impl Cpu {
    pub(super) fn take(&mut self, thread: usize, now: u64) {
        self.current = Some(thread);
        self.updated = now;
        self.slice_end = now + SLICE;
        self.spinning = false;
        self.dirty = true;
    }

    fn is_free(&self) -> bool {
        self.current.is_none() && self.arriving.is_none()
    }

    fn load(&self) -> usize {
        self.queue.len() + usize::from(!self.is_free())
    }
}

impl Simulation<'_> {
    pub(super) fn busy(&self) -> u32 {
        self.cpus.iter().filter(|cpu| cpu.current.is_some()).count() as u32
    }

    /// Ends a thread's wait. `cpu` is the CPU that runs the waker.
    pub(super) fn wake(&mut self, thread: usize, by: Waker, cpu: usize, io_wait: bool) {
        debug_assert!(matches!(self.threads[thread].location, Location::Nothing | Location::Child));
        self.tracer.waking(self.now, cpu, self.threads[thread].tid, by, io_wait);
        // Sleep counts as credit, up to a limit.
        let slept = (self.now - self.threads[thread].slept_at) as i64;
        let lag = (self.threads[thread].vruntime - slept).max(-SLEEPER_CREDIT);
        let last = self.threads[thread].last_cpu;
        let target = self.free_cpu(last).unwrap_or(last);
        self.enqueue(thread, target, lag, cpu);
    }

    /// Places a new thread on the CPU with the least load.
    pub(super) fn place_new_thread(&mut self, thread: usize, cpu: usize) {
        let least = (0..self.cpus.len()).min_by_key(|&at| (self.cpus[at].load(), at != cpu));
        let target = self.free_cpu(cpu).or(least).unwrap_or(cpu);
        self.enqueue(thread, target, 0, cpu);
    }

    /// First CPU without work, starting with `from`.
    fn free_cpu(&self, from: usize) -> Option<usize> {
        let count = self.cpus.len();
        (0..count).map(|step| (from + step) % count).find(|&cpu| self.cpus[cpu].is_free())
    }

    /// Queues a thread on a CPU, or starts it there if the CPU is free. `lag` is the thread's
    /// virtual run time relative to the CPU's queue; `from` is the CPU that places the thread.
    fn enqueue(&mut self, thread: usize, cpu: usize, lag: i64, from: usize) {
        self.threads[thread].location = Location::Queue;
        self.threads[thread].vruntime = self.cpus[cpu].least_vruntime + lag;
        self.threads[thread].last_cpu = cpu;
        if self.cpus[cpu].is_free() {
            self.cpus[cpu].arriving = Some(thread);
            let latency = self.program.machine_costs.wake_latency as f64 * (1.0 + self.rng.random::<f64>());
            self.set_timer(self.now + latency as u64, Timer::Arrive(cpu));
        } else {
            self.cpus[cpu].queue.push(thread);
            if cpu == from {
                self.cpus[cpu].resched = true;
            } else {
                self.set_timer(self.now + INTERRUPT, Timer::Resched(cpu));
                // The CPU does not notice the end of its slice before the interrupt.
                self.cpus[cpu].slice_end = self.cpus[cpu].slice_end.max(self.now + INTERRUPT);
            }
        }
    }

    pub(super) fn arrive(&mut self, cpu: usize) {
        let thread = self.cpus[cpu].arriving.take().expect("the timer was set for it");
        self.tracer.switch_from_idle(self.now, cpu, self.threads[thread].tid);
        self.start_thread(cpu, thread);
    }

    /// Takes the current thread off a CPU: for good, to wait, or for another thread. The caller has
    /// accounted for its progress.
    pub(super) fn take_off_cpu(
        &mut self,
        cpu: usize,
        prev_state: PrevState,
        call: Option<u16>,
        awaits: Option<AwaitedFutex>,
    ) {
        let prev = self.cpus[cpu].current.take().expect("somebody leaves");
        self.cpus[cpu].spinning = false;
        self.update_least(cpu, prev);
        let least = self.cpus[cpu].least_vruntime;
        let thread = &mut self.threads[prev];
        thread.entered = None;
        if prev_state == PrevState::Preempted {
            thread.location = Location::Queue;
            self.cpus[cpu].queue.push(prev);
        } else {
            // The virtual run time is relative while the thread is on no CPU.
            thread.vruntime -= least;
            thread.slept_at = self.now;
        }
        let next = self.pick_next(cpu);
        let (tid, runtime) = (self.threads[prev].tid, self.threads[prev].runtime);
        let next_tid = next.map(|next| self.threads[next].tid);
        self.tracer.switch(self.now, cpu, (tid, runtime), (prev_state, call, awaits), next_tid);
        if let Some(next) = next {
            self.start_thread(cpu, next);
        }
    }

    fn start_thread(&mut self, cpu: usize, thread: usize) {
        let switch = self.program.machine_costs.switch;
        self.threads[thread].location = Location::Cpu;
        self.threads[thread].last_cpu = cpu;
        self.threads[thread].remaining += switch;
        self.demanded += switch;
        self.cpus[cpu].take(thread, self.now);
    }

    fn update_least(&mut self, cpu: usize, running: usize) {
        let waiting = self.cpus[cpu].queue.iter().chain([&running]);
        let least = waiting.map(|&thread| self.threads[thread].vruntime).min();
        let state = &mut self.cpus[cpu];
        state.least_vruntime = state.least_vruntime.max(least.unwrap_or(0));
    }

    /// Next thread for a CPU: the one with the least run time in its own queue, otherwise in the
    /// longest queue.
    fn pick_next(&mut self, cpu: usize) -> Option<usize> {
        if let Some(own) = self.least_in_queue(cpu) {
            return Some(self.cpus[cpu].queue.swap_remove(own));
        }
        let from = (0..self.cpus.len()).max_by_key(|&other| self.cpus[other].queue.len())?;
        let place = self.least_in_queue(from)?;
        let thread = self.cpus[from].queue.swap_remove(place);
        let moved = self.cpus[cpu].least_vruntime - self.cpus[from].least_vruntime;
        self.threads[thread].vruntime += moved;
        Some(thread)
    }

    /// Index in the queue of the thread with the least virtual run time.
    fn least_in_queue(&self, cpu: usize) -> Option<usize> {
        let queue = &self.cpus[cpu].queue;
        (0..queue.len()).min_by_key(|&place| (self.threads[queue[place]].vruntime, queue[place]))
    }

    pub(super) fn slice_ended(&mut self, cpu: usize) {
        self.progress(cpu);
        let current = self.cpus[cpu].current.expect("its slice ended");
        if self.threads[current].not_preemptible {
            self.cpus[cpu].slice_end = self.now + RETRY_DELAY;
        } else if self.lag_behind(cpu, current) > 0 {
            self.take_off_cpu(cpu, PrevState::Preempted, None, None);
        } else {
            self.cpus[cpu].slice_end = self.now + SLICE;
        }
    }

    /// Virtual run time of the current thread beyond the least in the queue.
    fn lag_behind(&self, cpu: usize, current: usize) -> i64 {
        let least = self.least_in_queue(cpu).map(|place| self.threads[self.cpus[cpu].queue[place]].vruntime);
        least.map_or(0, |least| self.threads[current].vruntime - least)
    }

    pub(super) fn preempt_requested(&mut self) {
        for cpu in 0..self.cpus.len() {
            if !std::mem::take(&mut self.cpus[cpu].resched) {
                continue;
            }
            let Some(current) = self.cpus[cpu].current else { continue };
            self.progress(cpu);
            self.cpus[cpu].dirty = true;
            if self.lag_behind(cpu, current) > WAKE_GRANULARITY {
                if self.threads[current].not_preemptible {
                    self.cpus[cpu].slice_end = self.now + RETRY_DELAY;
                } else {
                    self.take_off_cpu(cpu, PrevState::Preempted, None, None);
                }
            }
        }
    }
}
