//! The components: the CPU-seconds of the allotted CPUs over a run, divided without overlap.
//!
//! Adds up what the timeline and the idle rule tell; formulas and limits are in `docs/methods.md`, "Components".

use std::collections::HashMap;

use morecores_record::{Components, CpuId, Nanos, SampleMode, TraceHeader};

use super::idle::Idle;
use super::shares::{Shares, shares};
use super::timeline::{Naming, Occupant, State, Thread, ThreadId, Timeline};

/// Where the CPU-seconds of a run went.
#[derive(Clone, Debug, PartialEq)]
pub struct Accounting {
    /// The parts; their sum is the number of allotted CPUs times the elapsed time.
    pub components: Components,
    /// The idle rule's answer, less what the tracer took of the idle time.
    pub idle: Idle,
    /// Time in the kernel over CPU time of the tree; none where nothing told it.
    pub kernel_ratio: Option<f64>,
    /// What told it: `ticks`, `samples`, `ticks and samples`, or that of the run's own account.
    pub kernel_ratio_estimator: String,
    /// How many observations it is made of, for its error; zero where it comes from the run's account.
    pub kernel_ratio_observations: u64,
    /// Of the user work, what spins in a tight loop, in seconds; none without samples of user mode.
    pub user_spin_s: Option<f64>,
    /// CPU time on CPUs not allotted: the tree's and that of kernel workers for it, seconds.
    pub outside_cpu_s: f64,
    /// Of which the tree's own.
    pub outside_tree_s: f64,
    /// What no rule explains, of each allotted CPU, seconds.
    pub unexplained: Vec<(CpuId, f64)>,
}

/// Divides the run; `idle` is the idle rule's answer for the same timeline.
pub fn account(header: &TraceHeader, timeline: &Timeline, idle: Idle) -> Accounting {
    let mut sums = Sums::default();
    let mut unexplained = Vec::new();
    let shares: Vec<Vec<Shares>> = timeline.cpus.iter().map(|cpu| shares(header, cpu)).collect();
    for (cpu, shares) in timeline.cpus.iter().zip(&shares).filter(|(cpu, _)| cpu.allotted) {
        let mut unknown = 0.0;
        for (stretch, parts) in cpu.stretches.iter().zip(shares) {
            sums.interrupts += parts.interrupts;
            match stretch.who {
                Occupant::Idle => sums.idle_stretches += 1,
                Occupant::Lost => unknown += parts.rest,
                Occupant::Unseen => sums.others.add(parts.rest),
                Occupant::Thread(id) => {
                    sums.steal += parts.steal;
                    let thread = timeline.thread(id);
                    if thread.in_tree {
                        sums.tree.add(parts.rest);
                    } else if thread.tracer {
                        sums.tracer.add(parts.rest);
                    } else {
                        sums.others.add(parts.rest);
                    }
                }
            }
        }
        unexplained.push((cpu.cpu, unknown));
    }
    let spin = spin(timeline, &shares).min(sums.tree.seconds);
    let cost = Cost::of(header, &sums, idle.times.total());
    let idle = lessened(idle, cost.idle);
    let work = (sums.tree.seconds - spin - cost.tree).max(0.0);
    let (kernel_ratio, kernel_ratio_estimator, kernel_ratio_observations) = kernel_ratio(header, timeline);
    // Spinning and the tracer's programs are in the kernel, and were found there.
    let kernel_all = kernel_ratio.unwrap_or(0.0) * sums.tree.seconds;
    let kernel_work = (kernel_all - spin - cost.tree).clamp(0.0, work);
    let (outside_cpu_s, outside_tree_s) = outside(timeline);

    let times = idle.times;
    let mut components = Components {
        user_work_s: work - kernel_work,
        kernel_work_s: kernel_work,
        interrupt_s: sums.interrupts,
        kernel_lock_spin_s: spin,
        other_processes_s: sums.others.seconds - cost.others,
        tracer_s: sums.tracer.seconds + cost.tree + cost.others + cost.idle,
        steal_s: sums.steal,
        idle_scheduling_s: times.scheduling,
        idle_pinned_s: times.pinned,
        idle_kernel_lock_s: times.kernel_lock,
        idle_user_lock_s: times.user_lock,
        idle_disk_s: times.disk,
        idle_peer_s: times.peer,
        idle_timer_s: times.timer,
        idle_too_little_work_s: times.too_little_work,
        unexplained_s: 0.0,
    };
    let all = timeline.allotted.len() as f64 * timeline.elapsed().as_secs_f64();
    components.unexplained_s = all - explained(&components);
    Accounting {
        user_spin_s: user_spin(timeline).map(|share| share * components.user_work_s),
        components,
        idle,
        kernel_ratio,
        kernel_ratio_estimator,
        kernel_ratio_observations,
        outside_cpu_s,
        outside_tree_s,
        unexplained,
    }
}

/// The sum of all components but the unexplained one, in seconds.
fn explained(components: &Components) -> f64 {
    let Components {
        user_work_s,
        kernel_work_s,
        interrupt_s,
        kernel_lock_spin_s,
        other_processes_s,
        tracer_s,
        steal_s,
        idle_scheduling_s,
        idle_pinned_s,
        idle_kernel_lock_s,
        idle_user_lock_s,
        idle_disk_s,
        idle_peer_s,
        idle_timer_s,
        idle_too_little_work_s,
        unexplained_s: _,
    } = components;
    let busy = user_work_s + kernel_work_s + interrupt_s + kernel_lock_spin_s;
    let taken = other_processes_s + tracer_s + steal_s;
    let locks = idle_kernel_lock_s + idle_user_lock_s;
    let idle = idle_scheduling_s + idle_pinned_s + locks + idle_disk_s + idle_peer_s + idle_timer_s;
    busy + taken + idle + idle_too_little_work_s
}

/// Seconds, and in how many stretches.
#[derive(Default)]
struct Sum {
    seconds: f64,
    stretches: u64,
}

impl Sum {
    fn add(&mut self, seconds: f64) {
        self.seconds += seconds;
        self.stretches += 1;
    }
}

#[derive(Default)]
struct Sums {
    tree: Sum,
    others: Sum,
    tracer: Sum,
    idle_stretches: u64,
    interrupts: f64,
    steal: f64,
}

/// What the tracer's programs took, by where, in seconds.
struct Cost {
    tree: f64,
    others: f64,
    idle: f64,
}

impl Cost {
    /// A program runs when something happens to whoever has the CPU then: its time is spread over the stretches of the
    /// allotted CPUs in equal parts. Never more than there is.
    fn of(header: &TraceHeader, sums: &Sums, idle: f64) -> Self {
        let all: f64 = header.costs.iter().map(|cost| cost.count as f64 * cost.each_ns.as_secs_f64()).sum();
        let stretches =
            sums.tree.stretches + sums.others.stretches + sums.tracer.stretches + sums.idle_stretches;
        let one = if stretches > 0 { all / stretches as f64 } else { 0.0 };
        let part = |of: u64, at_most: f64| (one * of as f64).min(at_most.max(0.0));
        Self {
            tree: part(sums.tree.stretches, sums.tree.seconds),
            others: part(sums.others.stretches, sums.others.seconds),
            idle: part(sums.idle_stretches, idle),
        }
    }
}

/// The idle rule's answer with `cost` seconds taken off, of everything alike.
fn lessened(mut idle: Idle, cost: f64) -> Idle {
    let total = idle.times.total();
    if cost <= 0.0 || total <= 0.0 {
        return idle;
    }
    let left = 1.0 - cost / total;
    let times = &mut idle.times;
    for time in [
        &mut times.scheduling,
        &mut times.pinned,
        &mut times.kernel_lock,
        &mut times.user_lock,
        &mut times.disk,
        &mut times.peer,
        &mut times.timer,
        &mut times.too_little_work,
    ] {
        *time *= left;
    }
    for charge in &mut idle.charges {
        charge.seconds *= left;
    }
    idle
}

/// Time that the tree spun for kernel locks on the allotted CPUs, seconds: the part of the waits that the thread was
/// running, nested waits once, without the share of interrupts and steal.
fn spin(timeline: &Timeline, shares: &[Vec<Shares>]) -> f64 {
    let mut by_thread: HashMap<ThreadId, Vec<(Nanos, Nanos)>> = HashMap::new();
    for wait in timeline.contentions.iter().filter(|wait| wait.spun > Nanos::ZERO) {
        if timeline.thread(wait.thread).in_tree {
            by_thread.entry(wait.thread).or_default().push((wait.from, wait.to));
        }
    }
    let places: HashMap<CpuId, usize> = timeline
        .cpus
        .iter()
        .enumerate()
        .filter(|(_, c)| c.allotted)
        .map(|(place, c)| (c.cpu, place))
        .collect();
    // In the order of threads: a sum of floating-point numbers depends on its order.
    let mut by_thread: Vec<_> = by_thread.into_iter().collect();
    by_thread.sort_unstable_by_key(|(id, _)| *id);
    let mut spun = 0.0;
    for (id, waits) in by_thread {
        let segments = &timeline.thread(id).segments;
        for (from, to) in union(waits) {
            let first = segments.partition_point(|segment| segment.to <= from);
            for segment in segments[first..].iter().take_while(|segment| segment.from < to) {
                let State::Running { cpu } = segment.state else { continue };
                let Some(&place) = places.get(&cpu) else { continue };
                let part = segment.to.min(to).since(segment.from.max(from)).as_secs_f64();
                let stretches = &timeline.cpus[place].stretches;
                let of = stretches.partition_point(|stretch| stretch.to <= segment.from);
                let own = stretches.get(of).zip(shares[place].get(of)).map_or(1.0, |(stretch, parts)| {
                    (parts.rest / stretch.length().as_secs_f64()).clamp(0.0, 1.0)
                });
                spun += part * own;
            }
        }
    }
    spun
}

/// Intervals as disjoint ones in the order of time.
fn union(mut intervals: Vec<(Nanos, Nanos)>) -> Vec<(Nanos, Nanos)> {
    intervals.sort_unstable();
    let mut disjoint: Vec<(Nanos, Nanos)> = Vec::with_capacity(intervals.len());
    for (from, to) in intervals {
        match disjoint.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => disjoint.push((from, to)),
        }
    }
    disjoint
}

/// Time in the kernel over CPU time of the tree, what told it, and of how many observations.
///
/// Ticks and samples both find the tree in one mode or the other at instants that it does not choose; their counts are
/// added, which weighs each observation alike.
fn kernel_ratio(header: &TraceHeader, timeline: &Timeline) -> (Option<f64>, String, u64) {
    let (mut user, mut system) = (Nanos::ZERO, Nanos::ZERO);
    for (_, thread) in timeline.tree() {
        let ticks = ticks(timeline, thread);
        user += ticks.0;
        system += ticks.1;
    }
    let (user, system) = (user.0 / header.tick_ns.0.max(1), system.0 / header.tick_ns.0.max(1));
    let (mut in_user, mut in_kernel) = (0, 0);
    for sample in &timeline.samples {
        if sample.thread.is_some_and(|id| timeline.thread(id).in_tree) {
            in_user += u64::from(sample.mode == SampleMode::User);
            in_kernel += u64::from(sample.mode == SampleMode::Kernel);
        }
    }
    let (ticks, samples) = (user + system, in_user + in_kernel);
    let ratio = |kernel: u64, all: u64| Some(kernel as f64 / all as f64);
    match (ticks > 0, samples > 0) {
        (true, true) => {
            (ratio(system + in_kernel, ticks + samples), "ticks and samples".to_owned(), ticks + samples)
        }
        (true, false) => (ratio(system, ticks), "ticks".to_owned(), ticks),
        (false, true) => (ratio(in_kernel, samples), "samples".to_owned(), samples),
        (false, false) => {
            let cpu = &header.run.cpu;
            let (user, system) = (cpu.user_ns.as_secs_f64(), cpu.system_ns.as_secs_f64());
            let ratio = (user + system > 0.0).then(|| system / (user + system));
            (ratio, cpu.estimator.name().to_owned(), 0)
        }
    }
}

/// The ticks that found a thread in user mode, and in the kernel, as time, inside the window: what was accounted to it at its
/// end, or at its last exec where it outlived the window, less what was by the window's beginning.
fn ticks(timeline: &Timeline, thread: &Thread) -> (Nanos, Nanos) {
    let execs = || {
        thread.names.iter().filter_map(|named| match named.by {
            Naming::Exec(accounts) => Some((named.from, accounts)),
            Naming::Inherited | Naming::Rename => None,
        })
    };
    let before = execs().rfind(|(at, _)| *at <= timeline.began).map(|(_, accounts)| accounts);
    // A thread older than the trace had a life of which only its first account tells.
    let first = thread.born.is_none().then(|| execs().next().map(|(_, accounts)| accounts)).flatten();
    let since = before.or(first).unwrap_or_default();
    if thread.born.is_none() && before.or(first).is_none() {
        return (Nanos::ZERO, Nanos::ZERO);
    }
    let Some(until) = thread.accounts.or_else(|| execs().next_back().map(|(_, accounts)| accounts)) else {
        return (Nanos::ZERO, Nanos::ZERO);
    };
    (until.user.since(since.user), until.system.since(since.system))
}

/// Of the samples that found the tree in user mode, the share in a tight loop.
fn user_spin(timeline: &Timeline) -> Option<f64> {
    let in_user = || {
        timeline.samples.iter().filter(|sample| {
            sample.mode == SampleMode::User && sample.thread.is_some_and(|id| timeline.thread(id).in_tree)
        })
    };
    let all = in_user().count();
    (all > 0).then(|| in_user().filter(|sample| sample.spins).count() as f64 / all as f64)
}

/// CPU time on CPUs not allotted, in seconds: the tree's with that of kernel workers for it, and the tree's alone.
fn outside(timeline: &Timeline) -> (f64, f64) {
    let elsewhere = |thread: &Thread, from: Nanos, to: Nanos| -> Nanos {
        let first = thread.segments.partition_point(|segment| segment.to <= from);
        let inside = thread.segments[first..].iter().take_while(|segment| segment.from < to);
        let outside = inside.filter(
            |segment| matches!(segment.state, State::Running { cpu } if !timeline.allotted.contains(cpu)),
        );
        outside.map(|segment| segment.to.min(to).since(segment.from.max(from))).sum()
    };
    let tree: Nanos =
        timeline.tree().map(|(_, thread)| elsewhere(thread, timeline.began, timeline.ended)).sum();
    let for_tree = timeline.works.iter().filter(|work| {
        work.origin.thread().is_some_and(|id| timeline.thread(id).in_tree)
            && timeline.thread(work.worker).kernel
    });
    let workers: Nanos =
        for_tree.map(|work| elsewhere(timeline.thread(work.worker), work.from, work.to)).sum();
    ((tree + workers).as_secs_f64(), tree.as_secs_f64())
}
