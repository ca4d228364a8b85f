//! Traced run as a replayable program, with the quality of its trace.

use std::collections::HashMap;

use morecores_study::Nanos;
use morecores_study::trace::Comm;
use morecores_view::{LockView, TraceView};

use crate::demand::{Demands, LockId, LockUse, lock_uses};
use crate::replay::{Inflation, Machine};
use morecores_explain::trace::{Cause, Timeline, Wait, awaited_futex, causes, idle_causes};
use morecores_explain::{DecodedTrace, user_lock_names};

/// Demands of a traced run, with the facts that decide the trust in its trace.
#[derive(Clone, Debug)]
pub struct TracedProgram {
    /// Number of CPUs of the traced run.
    pub cpus: u32,
    /// Value of `{n}`.
    pub n: u32,
    /// Elapsed time of the traced run.
    pub elapsed: Nanos,
    /// Elapsed time in seconds without the tracer's cost.
    pub net_elapsed_s: f64,
    /// Demands without the locks.
    pub demands: Demands,
    /// Locks of the program.
    pub locks: Vec<LockUse>,
    /// Display name of each lock.
    pub lock_names: Vec<String>,
    /// Command that each thread ran at its end.
    pub commands: Vec<String>,
    /// Command that ran for most of the serial phases' time.
    pub serial_command: Option<String>,
    /// Time of the serial phases in seconds, in the traced run.
    pub serial_s: f64,
    /// Waits at futexes that another thread of the same process ended, other than by its own end,
    /// per second of CPU time.
    pub meetings_per_s: f64,
    /// Longest wait of the first thread for a timer, over the elapsed time.
    pub timer_wait_share: f64,
    /// Whether the trace contains every system call with its object.
    pub has_calls: bool,
    /// Number of processes.
    pub processes: usize,
    /// Lost events over all events.
    pub lost_share: f64,
    /// CPU time that no rule explains, over the time of the allotted CPUs.
    pub unexplained_share: f64,
    /// Time in the program's own spin loops, over the time of the allotted CPUs.
    pub spinning_share: f64,
}

impl TracedProgram {
    /// Builds the program from a decoded trace and its view. `None` if the trace does not contain
    /// the main process.
    pub fn from_trace(trace: &DecodedTrace<'_>, view: &TraceView) -> Option<Self> {
        let header = trace.header;
        let mut program = Self::from_timeline(&trace.timeline, header.run.cpus, header.run.n)?;
        let latency = &mut program.demands.wake_latency;
        *latency = latency.or(header.facts.wake_latency_ns);
        let whole = f64::from(view.cpus) * view.elapsed_s;
        let allotted_share = |seconds: f64| if whole > 0.0 { seconds / whole } else { 0.0 };
        program.net_elapsed_s =
            (view.elapsed_s - view.components.tracer_s / f64::from(view.cpus.max(1))).max(0.0);
        program.lost_share = view.lost_events as f64 / (view.lost_events + view.events).max(1) as f64;
        program.unexplained_share = allotted_share(view.components.unexplained_s.abs());
        program.spinning_share = allotted_share(view.user_spin_s.unwrap_or(0.0));
        let mut phases: HashMap<&str, f64> = HashMap::new();
        for phase in &view.serial_phases {
            *phases.entry(&phase.culprit).or_default() += phase.duration_s;
        }
        program.serial_s = phases.values().sum();
        program.serial_command = phases
            .into_iter()
            .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(a.0)))
            .map(|(name, _)| name.to_owned());
        let user_locks = user_lock_names(trace, &idle_causes(&trace.timeline));
        for (name, lock_use) in program.lock_names.iter_mut().zip(&program.locks) {
            if let LockId::Futex(process, address) = lock_use.id {
                *name = user_locks.get(&(process, address)).cloned().unwrap_or_else(|| std::mem::take(name));
                continue;
            }
            // The table groups locks by caller. The row with the closest wait time belongs to this
            // lock.
            let wait_difference = |seconds: f64| (seconds - lock_use.waited.as_secs_f64()).abs();
            let likeliest = view
                .locks
                .iter()
                .min_by(|a, b| wait_difference(a.wait_s).total_cmp(&wait_difference(b.wait_s)));
            let is_close = |lock: &&LockView| {
                wait_difference(lock.wait_s) <= MAX_WAIT_DIFFERENCE * lock_use.waited.as_secs_f64()
            };
            if let Some(lock) = likeliest.filter(is_close) {
                let from = lock.caller.as_ref().map_or(String::new(), |caller| format!(" of {caller}"));
                *name = format!("{} {}{from}", lock.kind, lock.symbol);
            }
        }
        Some(program)
    }

    /// Builds the program from a timeline alone; the quality of the trace is unknown.
    pub fn from_timeline(timeline: &Timeline, cpus: u32, n: u32) -> Option<Self> {
        let demands = Demands::from_timeline(timeline)?;
        let locks = lock_uses(timeline, &demands);
        let name = |lock_use: &LockUse| match lock_use.id {
            LockId::Kernel(address) => format!("a lock of the kernel at {address:#x}"),
            LockId::Futex(_, address) => format!("the program's lock at {address:#x}"),
        };
        let lock_names = locks.iter().map(name).collect();
        let command = |id: &_| {
            let thread = timeline.thread(*id);
            let last = thread.ended.unwrap_or(timeline.ended).min(timeline.ended);
            let name: Comm = thread.name_at(last);
            name.to_string()
        };
        let commands = demands.threads.iter().map(command).collect();
        let meetings = meetings(timeline);
        let work_s = demands.program.work().as_secs_f64();
        Some(Self {
            commands,
            locks,
            lock_names,
            meetings_per_s: meetings as f64 / work_s.max(f64::MIN_POSITIVE),
            timer_wait_share: timer_wait_share(timeline),
            has_calls: !timeline.calls.is_empty(),
            processes: timeline.tree().filter(|(id, thread)| thread.leader == Some(*id)).count(),
            ..Self::from_demands(demands, cpus, n, timeline.elapsed())
        })
    }

    /// Builds a program of one process with these demands, without locks, and with a trace of every
    /// system call and without faults.
    pub fn from_demands(demands: Demands, cpus: u32, n: u32, elapsed: Nanos) -> Self {
        Self {
            cpus,
            n,
            elapsed,
            net_elapsed_s: elapsed.as_secs_f64(),
            commands: vec![String::new(); demands.program.threads.len()],
            demands,
            locks: Vec::new(),
            lock_names: Vec::new(),
            serial_command: None,
            serial_s: 0.0,
            meetings_per_s: 0.0,
            timer_wait_share: 0.0,
            has_calls: true,
            processes: 1,
            lost_share: 0.0,
            unexplained_share: 0.0,
            spinning_share: 0.0,
        }
    }

    /// Time for an idle CPU to start work.
    fn wake_latency(&self) -> Nanos {
        self.demands.wake_latency.unwrap_or(DEFAULT_WAKE_LATENCY)
    }

    /// Machine with `cpus` CPUs like the traced ones and with this inflation.
    pub(super) fn machine(&self, cpus: u32, inflation: Inflation) -> Machine {
        let wake_latency = self.wake_latency();
        let any = Machine::new(cpus);
        let slice = self.demands.slice.unwrap_or(any.slice);
        Machine { slowdown: inflation.slowdown(cpus), wake_latency, slice, ..any }
    }
}

/// Longest time between a thread's last wake-up of others and its end: the kernel wakes the threads
/// that join it.
const MAX_END_DELAY: Nanos = Nanos::from_millis(1);

/// Number of waits at futexes that another thread of the same process ended, other than by its own
/// end.
fn meetings(timeline: &Timeline) -> usize {
    let is_meeting = |wait: &&Wait| {
        let waker = wait.wake.and_then(|wake| Some((wake.at, timeline.thread(wake.by.thread()?))));
        let waiter = timeline.thread(wait.thread);
        waiter.in_tree
            && awaited_futex(timeline, wait).is_some()
            && waker.is_some_and(|(at, waker)| {
                let ends = waker.ended.is_some_and(|ended| ended.since(at) <= MAX_END_DELAY);
                waker.leader == waiter.leader && !ends
            })
    };
    timeline.waits.iter().filter(is_meeting).count()
}

fn timer_wait_share(timeline: &Timeline) -> f64 {
    let Some(root) = timeline.root else { return 0.0 };
    let waits = timeline.waits.iter().zip(causes(timeline));
    let by_timer = waits.filter(|(wait, cause)| wait.thread == root && *cause == Cause::Timer);
    let longest = by_timer.map(|(wait, _)| wait.to.since(wait.from)).max().unwrap_or(Nanos::ZERO);
    longest.as_secs_f64() / timeline.elapsed().as_secs_f64().max(f64::MIN_POSITIVE)
}

/// Largest relative difference between the waits of a lock and the waits of its table row. The
/// table divides waits without a stack over callers.
const MAX_WAIT_DIFFERENCE: f64 = 0.2;

/// Time for an idle CPU to start work, when neither the trace nor the tracer gives it: between 2
/// µs on a real CPU and tens of microseconds on a virtual one.
const DEFAULT_WAKE_LATENCY: Nanos = Nanos::from_micros(5);
