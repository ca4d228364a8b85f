//! Components: the CPU-seconds of the allotted CPUs over a run, divided without overlap.
//!
//! Adds up the times of the timeline and of the idle rule; formulas and limits are in
//! `docs/methods/explain.md`, "Components".

use std::collections::HashMap;

use morecores_study::trace::{EventCost, SampleMode, TraceHeader, TraceSource};
use morecores_study::{CpuId, Nanos};
use morecores_view::{Component, Components, KernelRatioEstimator, TraceEstimator};

use super::idle::IdleAccounting;
use super::lock_spans::{LockSpan, lock_spans};
use super::span_parts::{SpanParts, divide_spans};
use super::ticks::tick_spans;
use super::timeline::{Occupant, State, Thread, Timeline};

/// Accounting of a run's CPU-seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Accounting {
    /// Components; their sum is the number of allotted CPUs times the elapsed time.
    pub components: Components,
    /// Result of the idle rule, less the idle time that the tracer's programs used.
    pub idle: IdleAccounting,
    /// Ratio of time in the kernel to CPU time of the tree; none without a source for it.
    pub kernel_ratio: Option<f64>,
    /// Source of the ratio.
    pub kernel_ratio_estimator: KernelRatioEstimator,
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
    /// Division of each span, in step with the timeline's spans.
    pub(crate) span_parts: Vec<Vec<SpanParts>>,
}

/// Divides the CPU-seconds of the run. `idle` is the idle rule's result for this timeline.
pub fn account(header: &TraceHeader, timeline: &Timeline, idle: IdleAccounting) -> Accounting {
    let mut sums = ComponentSums::default();
    let mut unexplained = Vec::new();
    let mut overaccounted_s = 0.0;
    let span_parts = divide_spans(header, timeline);
    for (cpu, span_parts) in timeline.cpus.iter().zip(&span_parts).filter(|(cpu, _)| cpu.allotted) {
        let mut unknown = 0.0;
        for (span, parts) in cpu.spans.iter().zip(span_parts) {
            sums.interrupts += parts.interrupts;
            overaccounted_s += parts.surplus;
            match span.occupant {
                Occupant::Idle => sums.idle_spans += 1,
                Occupant::Lost => unknown += parts.occupant,
                Occupant::Unseen => sums.others.add(parts.occupant),
                Occupant::Thread(id) => {
                    sums.steal += parts.steal;
                    let thread = timeline.thread(id);
                    if thread.in_tree {
                        sums.tree.add(parts.occupant);
                    } else if thread.tracer {
                        sums.tracer.add(parts.occupant);
                    } else {
                        sums.others.add(parts.occupant);
                    }
                }
            }
        }
        unexplained.push((cpu.cpu, unknown));
    }
    let spin = kernel_lock_spin(timeline, &span_parts).min(sums.tree.seconds);
    let cost = TracerCost::spread(header, &sums, sums.tree.seconds - spin, idle.times.total());
    let idle = idle.reduced_by(cost.idle);
    let work = sums.tree.seconds - spin - cost.tree;
    let (kernel_ratio, kernel_ratio_estimator) = kernel_ratio(header, timeline);
    // Spinning and the tracer's programs run in the kernel, so the kernel ratio includes both.
    let kernel_work =
        kernel_ratio.map(|ratio| (ratio * sums.tree.seconds - spin - cost.tree).clamp(0.0, work.max(0.0)));
    let (outside_cpu_s, outside_tree_s) = time_outside_cpus(timeline);

    let locks_are_traced = header.facts.stack_share.is_some() || !timeline.contentions.is_empty();
    let if_locks_traced = |seconds: f64| locks_are_traced.then_some(seconds);
    // Perf events alone cannot show these times: a zero means "not recorded", any other value was
    // recorded.
    let if_recorded =
        |seconds: f64| (header.facts.source != TraceSource::Perf || seconds != 0.0).then_some(seconds);
    let times = idle.times;
    let mut components = Components {
        user_work_s: work - kernel_work.unwrap_or(0.0),
        kernel_work_s: kernel_work,
        interrupt_s: if_recorded(sums.interrupts),
        kernel_lock_spin_s: if_locks_traced(spin),
        other_processes_s: sums.others.seconds - cost.others,
        tracer_s: sums.tracer.seconds + cost.tree + cost.others + cost.idle,
        steal_s: if_recorded(sums.steal),
        idle_scheduling_s: times.scheduling,
        idle_held_s: (header.facts.held_is_told || times.held > 0.0).then_some(times.held),
        idle_pinned_s: if_recorded(times.pinned),
        idle_kernel_lock_s: if_locks_traced(times.kernel_lock),
        idle_user_lock_s: if_recorded(times.user_lock),
        idle_disk_s: if_recorded(times.disk),
        idle_peer_s: if_recorded(times.peer),
        idle_device_s: if_recorded(times.device),
        idle_rcu_s: if_recorded(times.rcu),
        idle_uninterruptible_s: if_recorded(times.uninterruptible),
        idle_timer_s: if_recorded(times.timer),
        idle_too_little_work_s: times.too_little_work,
        unexplained_s: 0.0,
    };
    let allotted_s = timeline.allotted.len() as f64 * timeline.elapsed().as_secs_f64();
    components.unexplained_s = allotted_s - explained_s(&components);
    Accounting {
        user_spin_s: user_spin(header, timeline, &components),
        components,
        idle,
        kernel_ratio,
        kernel_ratio_estimator,
        outside_cpu_s,
        outside_tree_s,
        unexplained,
        overaccounted_s,
        locks_are_traced,
        span_parts,
    }
}

/// Sum of all components except the unexplained one, in seconds. Unrecorded time is part of another
/// component.
fn explained_s(components: &Components) -> f64 {
    let sum = |is_summed: fn(&Component) -> bool| -> f64 {
        Component::ALL.iter().filter(|c| is_summed(c)).filter_map(|c| c.seconds(components)).sum()
    };
    sum(|c| c.container().is_none() && *c != Component::Unexplained) + sum(|c| c.container().is_some())
}

/// Seconds and number of spans.
#[derive(Default)]
struct TimeSum {
    seconds: f64,
    spans: u64,
}

impl TimeSum {
    fn add(&mut self, seconds: f64) {
        self.seconds += seconds;
        self.spans += 1;
    }
}

#[derive(Default)]
struct ComponentSums {
    tree: TimeSum,
    others: TimeSum,
    tracer: TimeSum,
    idle_spans: u64,
    interrupts: f64,
    steal: f64,
}

/// Time of the tracer's programs by place, in seconds.
struct TracerCost {
    tree: f64,
    others: f64,
    idle: f64,
}

impl TracerCost {
    /// Spreads the programs' time over the spans of the allotted CPUs in equal parts, because a
    /// program runs in the context of the CPU's present occupant. The time at events that only the
    /// tree has is its own. The parts never exceed the tree's `work` and the `idle` time.
    fn spread(header: &TraceHeader, sums: &ComponentSums, work: f64, idle: f64) -> Self {
        let (of_tree, of_any): (Vec<&EventCost>, Vec<&EventCost>) =
            header.facts.costs.iter().partition(|cost| cost.is_of_command());
        let total = |costs: Vec<&EventCost>| costs.into_iter().map(EventCost::total_s).sum::<f64>();
        let (of_tree, all) = (total(of_tree), total(of_any));
        let span_count = sums.tree.spans + sums.others.spans + sums.tracer.spans + sums.idle_spans;
        let one = if span_count > 0 { all / span_count as f64 } else { 0.0 };
        let part = |spans: u64, at_most: f64| (one * spans as f64).min(at_most.max(0.0));
        Self {
            tree: (of_tree + one * sums.tree.spans as f64).min(work.max(0.0)),
            others: part(sums.others.spans, sums.others.seconds),
            idle: part(sums.idle_spans, idle),
        }
    }
}

/// Time that the tree spun for kernel locks on the allotted CPUs, in seconds. It is the running
/// part of the waits, with nested waits counted once, without the share of interrupts and steal.
fn kernel_lock_spin(timeline: &Timeline, span_parts: &[Vec<SpanParts>]) -> f64 {
    let cpu_indices: HashMap<CpuId, usize> = timeline
        .cpus
        .iter()
        .enumerate()
        .filter(|(_, c)| c.allotted)
        .map(|(cpu_index, c)| (c.cpu, cpu_index))
        .collect();
    let mut spun = 0.0;
    for LockSpan { thread, from, to } in lock_spans(timeline) {
        let segments = &timeline.thread(thread).segments;
        let first = segments.partition_point(|segment| segment.to <= from);
        for segment in segments[first..].iter().take_while(|segment| segment.from < to) {
            let State::Running { cpu } = segment.state else { continue };
            let Some(&cpu_index) = cpu_indices.get(&cpu) else { continue };
            let part = segment.to.min(to).since(segment.from.max(from)).as_secs_f64();
            let spans = &timeline.cpus[cpu_index].spans;
            let index = spans.partition_point(|span| span.to <= segment.from);
            let share = spans
                .get(index)
                .zip(span_parts[cpu_index].get(index))
                .map_or(1.0, |(span, parts)| (parts.occupant / span.length().as_secs_f64()).clamp(0.0, 1.0));
            spun += part * share;
        }
    }
    spun
}

/// Ratio of time in the kernel to CPU time of the tree, and its source.
///
/// Ticks and samples both observe the mode of the tree at instants that the tree does not choose.
/// The two counts are added, so that each observation has equal weight.
fn kernel_ratio(header: &TraceHeader, timeline: &Timeline) -> (Option<f64>, KernelRatioEstimator) {
    let (mut user, mut system) = (Nanos::ZERO, Nanos::ZERO);
    for span in tick_spans(timeline) {
        user += span.user;
        system += span.system;
    }
    let (user, system) = (user.0 / header.facts.tick_ns.0.max(1), system.0 / header.facts.tick_ns.0.max(1));
    let (mut in_user, mut in_kernel) = (0, 0);
    // The samples of perf events are in user mode alone and do not show the ratio.
    let both_modes = header.facts.source != TraceSource::Perf;
    for sample in timeline.samples.iter().filter(|_| both_modes) {
        if sample.thread.is_some_and(|id| timeline.thread(id).in_tree) {
            in_user += u64::from(sample.mode == SampleMode::User);
            in_kernel += u64::from(sample.mode == SampleMode::Kernel);
        }
    }
    let (ticks, samples) = (user + system, in_user + in_kernel);
    let ratio = |kernel: u64, all: u64| Some(kernel as f64 / all as f64);
    let (ratio, estimator) = match (ticks > 0, samples > 0) {
        (true, true) => (ratio(system + in_kernel, ticks + samples), TraceEstimator::TicksAndSamples),
        (true, false) => (ratio(system, ticks), TraceEstimator::Ticks),
        (false, true) => (ratio(in_kernel, samples), TraceEstimator::Samples),
        (false, false) => {
            let cpu = &header.run.cpu;
            let (user, system) = (cpu.user_ns.as_secs_f64(), cpu.system_ns.as_secs_f64());
            let ratio = (user + system > 0.0).then(|| system / (user + system));
            return (ratio, KernelRatioEstimator::Account(cpu.estimator));
        }
    };
    (ratio, KernelRatioEstimator::Trace(estimator))
}

/// Work that only waits: the work in each mode times the share of spinning samples in that mode.
/// None without samples of user mode, or if they do not show whether the thread spins, as those of
/// perf events.
fn user_spin(header: &TraceHeader, timeline: &Timeline, components: &Components) -> Option<f64> {
    if header.facts.source == TraceSource::Perf {
        return None;
    }
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
fn time_outside_cpus(timeline: &Timeline) -> (f64, f64) {
    let time_outside = |thread: &Thread, from: Nanos, to: Nanos| -> Nanos {
        let first = thread.segments.partition_point(|segment| segment.to <= from);
        let inside = thread.segments[first..].iter().take_while(|segment| segment.from < to);
        let outside = inside.filter(
            |segment| matches!(segment.state, State::Running { cpu } if !timeline.allotted.contains(cpu)),
        );
        outside.map(|segment| segment.to.min(to).since(segment.from.max(from))).sum()
    };
    let tree: Nanos =
        timeline.tree().map(|(_, thread)| time_outside(thread, timeline.began, timeline.ended)).sum();
    let for_tree = timeline.work_items.iter().filter(|work| {
        work.origin.thread().is_some_and(|id| timeline.thread(id).in_tree)
            && timeline.thread(work.worker).kernel
    });
    let workers: Nanos =
        for_tree.map(|work| time_outside(timeline.thread(work.worker), work.from, work.to)).sum();
    ((tree + workers).as_secs_f64(), tree.as_secs_f64())
}
