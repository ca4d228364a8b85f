//! Components: the CPU-seconds of the allotted CPUs over a run, divided without overlap.
//!
//! Adds up what the timeline and the idle rule tell; formulas and limits are in
//! `docs/methods/explain.md`, "Components".

use std::collections::HashMap;

use morecores_study::trace::{SampleMode, TraceHeader, TraceSource};
use morecores_study::{CpuId, Nanos};
use morecores_view::Components;

use super::idle::Idle;
use super::lock_spans::{LockSpan, lock_spans};
use super::shares::{self, Shares};
use super::ticks::ticks;
use super::timeline::{Occupant, State, Thread, Timeline};

/// Accounting of a run's CPU-seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Accounting {
    /// Components; their sum is the number of allotted CPUs times the elapsed time.
    pub components: Components,
    /// Result of the idle rule, less the idle time that the tracer's programs used.
    pub idle: Idle,
    /// Ratio of time in the kernel to CPU time of the tree; none without a source for it.
    pub kernel_ratio: Option<f64>,
    /// Source of the ratio: `ticks`, `samples`, `ticks and samples`, or the estimator of the run's
    /// own CPU account.
    pub kernel_ratio_estimator: String,
    /// Work spent spinning in the program's own loops, in seconds; none without samples of user
    /// mode.
    pub user_spin_s: Option<f64>,
    /// CPU time on CPUs that were not allotted, in seconds: the tree's own and that of kernel
    /// workers on its behalf.
    pub outside_cpu_s: f64,
    /// The tree's own part of [`outside_cpu_s`](Self::outside_cpu_s), in seconds.
    pub outside_tree_s: f64,
    /// Time of each allotted CPU that no rule explains, in seconds: its occupant is unknown.
    pub unexplained: Vec<(CpuId, f64)>,
    /// CPU time accounted to threads on the allotted CPUs in excess of the elapsed time, in
    /// seconds.
    pub overaccounted_s: f64,
    /// Whether the trace records waits for kernel locks. An absent figure is better than a zero
    /// that means "not recorded".
    pub locks_are_traced: bool,
    /// Division of each stretch, in step with the timeline's stretches.
    pub(crate) shares: Vec<Vec<Shares>>,
}

/// Divides the CPU-seconds of the run. `idle` is the idle rule's result for this timeline.
pub fn account(header: &TraceHeader, timeline: &Timeline, idle: Idle) -> Accounting {
    let mut sums = Sums::default();
    let mut unexplained = Vec::new();
    let mut overaccounted_s = 0.0;
    let shares = shares::of_all(header, timeline);
    for (cpu, shares) in timeline.cpus.iter().zip(&shares).filter(|(cpu, _)| cpu.allotted) {
        let mut unknown = 0.0;
        for (stretch, parts) in cpu.stretches.iter().zip(shares) {
            sums.interrupts += parts.interrupts;
            overaccounted_s += parts.surplus;
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
    let cost = Cost::of(header, &sums, sums.tree.seconds - spin, idle.times.total());
    let idle = idle.lessened(cost.idle);
    let work = sums.tree.seconds - spin - cost.tree;
    let (kernel_ratio, kernel_ratio_estimator) = kernel_ratio(header, timeline);
    // Spinning and the tracer's programs run in the kernel, so the kernel ratio includes both.
    let kernel_work =
        kernel_ratio.map(|ratio| (ratio * sums.tree.seconds - spin - cost.tree).clamp(0.0, work.max(0.0)));
    let (outside_cpu_s, outside_tree_s) = outside(timeline);

    let locks_are_traced = header.stack_share.is_some() || !timeline.contentions.is_empty();
    let locks = |seconds: f64| locks_are_traced.then_some(seconds);
    // Perf events alone cannot show these times: a zero means "not recorded", any other value was
    // recorded.
    let told = |seconds: f64| (header.source != TraceSource::Perf || seconds != 0.0).then_some(seconds);
    let times = idle.times;
    let mut components = Components {
        user_work_s: work - kernel_work.unwrap_or(0.0),
        kernel_work_s: kernel_work,
        interrupt_s: told(sums.interrupts),
        kernel_lock_spin_s: locks(spin),
        other_processes_s: sums.others.seconds - cost.others,
        tracer_s: sums.tracer.seconds + cost.tree + cost.others + cost.idle,
        steal_s: told(sums.steal),
        idle_scheduling_s: times.scheduling,
        idle_held_s: (header.held_is_told || times.held > 0.0).then_some(times.held),
        idle_pinned_s: told(times.pinned),
        idle_kernel_lock_s: locks(times.kernel_lock),
        idle_user_lock_s: told(times.user_lock),
        idle_disk_s: told(times.disk),
        idle_peer_s: told(times.peer),
        idle_device_s: told(times.device),
        idle_rcu_s: told(times.rcu),
        idle_uninterruptible_s: told(times.uninterruptible),
        idle_timer_s: told(times.timer),
        idle_too_little_work_s: times.too_little_work,
        unexplained_s: 0.0,
    };
    let all = timeline.allotted.len() as f64 * timeline.elapsed().as_secs_f64();
    components.unexplained_s = all - explained(&components);
    Accounting {
        user_spin_s: own_spin(timeline, &components),
        components,
        idle,
        kernel_ratio,
        kernel_ratio_estimator,
        outside_cpu_s,
        outside_tree_s,
        unexplained,
        overaccounted_s,
        locks_are_traced,
        shares,
    }
}

/// Sum of all components except the unexplained one, in seconds. Unrecorded time is part of another
/// component.
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
        idle_held_s,
        idle_pinned_s,
        idle_kernel_lock_s,
        idle_user_lock_s,
        idle_disk_s,
        idle_peer_s,
        idle_device_s,
        idle_rcu_s,
        idle_uninterruptible_s,
        idle_timer_s,
        idle_too_little_work_s,
        unexplained_s: _,
    } = components;
    let always = user_work_s + other_processes_s + tracer_s + idle_scheduling_s + idle_too_little_work_s;
    let busy = [kernel_work_s, interrupt_s, kernel_lock_spin_s, steal_s];
    let ready = [idle_held_s, idle_pinned_s];
    let idle = [idle_kernel_lock_s, idle_user_lock_s, idle_disk_s, idle_peer_s, idle_timer_s];
    let outside = [idle_device_s, idle_rcu_s, idle_uninterruptible_s];
    always + busy.into_iter().chain(ready).chain(idle).chain(outside).flatten().sum::<f64>()
}

/// Seconds and number of stretches.
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

/// Time of the tracer's programs by place, in seconds.
struct Cost {
    tree: f64,
    others: f64,
    idle: f64,
}

impl Cost {
    /// Spreads the programs' time over the stretches of the allotted CPUs in equal parts, because a
    /// program runs in the context of the CPU's present occupant. The parts never exceed the tree's
    /// `work` and the `idle` time.
    fn of(header: &TraceHeader, sums: &Sums, work: f64, idle: f64) -> Self {
        let all: f64 = header.costs.iter().map(|cost| cost.count as f64 * cost.each_ns.as_secs_f64()).sum();
        let stretches =
            sums.tree.stretches + sums.others.stretches + sums.tracer.stretches + sums.idle_stretches;
        let one = if stretches > 0 { all / stretches as f64 } else { 0.0 };
        let part = |of: u64, at_most: f64| (one * of as f64).min(at_most.max(0.0));
        Self {
            tree: part(sums.tree.stretches, work),
            others: part(sums.others.stretches, sums.others.seconds),
            idle: part(sums.idle_stretches, idle),
        }
    }
}

/// Time that the tree spun for kernel locks on the allotted CPUs, in seconds. It is the running
/// part of the waits, with nested waits counted once, without the share of interrupts and steal.
fn spin(timeline: &Timeline, shares: &[Vec<Shares>]) -> f64 {
    let places: HashMap<CpuId, usize> = timeline
        .cpus
        .iter()
        .enumerate()
        .filter(|(_, c)| c.allotted)
        .map(|(place, c)| (c.cpu, place))
        .collect();
    let mut spun = 0.0;
    for LockSpan { thread, from, to } in lock_spans(timeline) {
        let segments = &timeline.thread(thread).segments;
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
    spun
}

/// Ratio of time in the kernel to CPU time of the tree, and its source.
///
/// Ticks and samples both observe the mode of the tree at instants that the tree does not choose.
/// The two counts are added, so that each observation has equal weight.
fn kernel_ratio(header: &TraceHeader, timeline: &Timeline) -> (Option<f64>, String) {
    let (mut user, mut system) = (Nanos::ZERO, Nanos::ZERO);
    for span in ticks(timeline) {
        user += span.user;
        system += span.system;
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
        (true, true) => (ratio(system + in_kernel, ticks + samples), "ticks and samples".to_owned()),
        (true, false) => (ratio(system, ticks), "ticks".to_owned()),
        (false, true) => (ratio(in_kernel, samples), "samples".to_owned()),
        (false, false) => {
            let cpu = &header.run.cpu;
            let (user, system) = (cpu.user_ns.as_secs_f64(), cpu.system_ns.as_secs_f64());
            let ratio = (user + system > 0.0).then(|| system / (user + system));
            (ratio, cpu.estimator.name().to_owned())
        }
    }
}

/// Work that only waits: the work in each mode times the share of spinning samples in that mode.
/// None without samples of user mode.
fn own_spin(timeline: &Timeline, components: &Components) -> Option<f64> {
    let share = |mode: SampleMode| {
        let of_tree = |id| timeline.thread(id).in_tree;
        let found = || timeline.samples.iter().filter(|s| s.mode == mode && s.thread.is_some_and(of_tree));
        let all = found().count();
        (all > 0).then(|| found().filter(|sample| sample.spins).count() as f64 / all as f64)
    };
    let yields = share(SampleMode::Kernel).unwrap_or(0.0) * components.kernel_work_s.unwrap_or(0.0);
    match share(SampleMode::User) {
        Some(share) => Some(share * components.user_work_s + yields),
        // A sample rarely lands outside the call in a loop of calls.
        None => (yields > 0.0).then_some(yields),
    }
}

/// CPU time on CPUs that were not allotted, in seconds: the tree's with that of kernel workers on
/// its behalf, and the tree's alone.
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
