//! Speedup stacks: at each traced CPU count, every CPU that the speedup does not contain, by cause.
//!
//! `cpus = S · base_cpus + Σ losses`, after Eyerman, Du Bois & Eeckhout, *Speedup stacks:
//! identifying scaling bottlenecks in multi-threaded applications*, ISPASS 2012. The traced runs
//! give the losses, the untraced runs give the speedup. This module compares finished views; it
//! must not look at events.

use std::collections::BTreeMap;

use crate::code_losses::{CodeComparison, StackSpeedup};
use crate::compare::log_difference;
use crate::traced_runs::TracedRuns;
use crate::types::find_in_cell;
use crate::{
    Component, ComponentIntervals, Culprit, Estimate, Losses, PointView, SerialAndParallel, StackView,
    TraceView,
};
use morecores_statistics::Interval;
use morecores_study::trace::TraceSource;
use morecores_study::{InCell, Scaling};

/// Computes the stack of each traced count above the smallest one that also has untraced runs, in
/// the order of `traces`.
///
/// The baseline is the traced runs on the fewest CPUs with the same further axes. Of several cells
/// it is the one with the same `{n}`, else the one with the same `{n}` per CPU. If there is
/// neither, the smallest `{n}` decides. This choice minimises other differences in what the program
/// does.
///
/// The speedup may be a scaled one: a loss is then CPU time beyond the growth of the work.
pub(crate) fn speedup_stacks(
    points: &[PointView],
    traces: &[TracedRuns<'_>],
    scaling: Scaling,
) -> Vec<StackView> {
    // A run that was traced for a prediction has no untraced runs of its point.
    let is_timed = |runs: &&TracedRuns<'_>| find_in_cell(points, &runs.cell()).is_some();
    let traces: Vec<&TracedRuns<'_>> = traces.iter().filter(is_timed).collect();
    traces
        .iter()
        .filter_map(|runs| {
            let base = base_of_stack(&traces, runs.shown)?;
            speedup_stack(points, base, runs, scaling)
        })
        .collect()
}

/// Returns the baseline of a trace among all traced runs that also have untraced ones; none for the
/// fewest CPUs.
pub(crate) fn base_of_stack<'r, 'a>(
    traces: &[&'r TracedRuns<'a>],
    trace: &TraceView,
) -> Option<&'r TracedRuns<'a>> {
    let comparable = || traces.iter().copied().filter(|base| base.shown.axes == trace.axes);
    let fewest = comparable().map(|base| base.shown.cpus).min()?;
    comparable()
        .filter(|base| base.shown.cpus == fewest && fewest < trace.cpus)
        .min_by_key(|base| difference_rank(base.shown, trace))
}

/// Returns a rank of the difference between the programs of `base` and `trace`; the run with the
/// least difference is the baseline.
fn difference_rank(base: &TraceView, trace: &TraceView) -> (u8, u32) {
    let same = base.n == trace.n;
    let per_cpu = u64::from(base.n) * u64::from(trace.cpus) == u64::from(trace.n) * u64::from(base.cpus);
    (
        if same {
            0
        } else if per_cpu {
            1
        } else {
            2
        },
        base.n,
    )
}

/// Computes the stack of the traced runs of one count. Returns none if the untraced runs give no
/// speedup, or if a run took no time. Also returns none if perf events recorded only one of the two
/// counts: the components that perf events cannot tell apart would appear as lost or gained.
fn speedup_stack(
    points: &[PointView],
    base_runs: &TracedRuns<'_>,
    runs: &TracedRuns<'_>,
    scaling: Scaling,
) -> Option<StackView> {
    let (base, trace) = (base_runs.shown, runs.shown);
    let (base_point, point) = (find_in_cell(points, &base.cell())?, find_in_cell(points, &trace.cell())?);
    let Estimate { value: speedup, ci95 } = speedup_between(base_point, point);
    let by_perf = |trace: &TraceView| trace.source == TraceSource::Perf;
    if by_perf(base) != by_perf(trace) {
        return None;
    }
    if !(speedup.is_finite() && base.elapsed_s > 0.0 && trace.elapsed_s > 0.0) {
        return None;
    }
    let loss = |here: f64, there: f64| here - speedup * there;
    let mut losses = losses(|c| runs.share(c), |c| base_runs.share(c), loss);
    move_displaced_work(
        &mut losses,
        excess_of_other_programs(point, runs) - speedup * excess_of_other_programs(base_point, base_runs),
    );
    let losses_ci95 = ci95.map(|ci95| loss_intervals(&losses, runs, base_runs, speedup, ci95));
    // A metric is a rate, or a time that the program chose. Parts of the elapsed time say nothing
    // about it. How the work of a part grows is not known either.
    let is_same_work = point.metric.is_none() && scaling == Scaling::Strong;
    let parts = is_same_work.then(|| part_speedups(base, trace));
    let code = CodeComparison { here: runs, base: base_runs, speedup: StackSpeedup { value: speedup, ci95 } };
    Some(StackView {
        cpus: trace.cpus,
        n: trace.n,
        axes: trace.axes.clone(),
        base_cpus: base.cpus,
        base_n: base.n,
        speedup,
        losses,
        losses_ci95,
        culprits: culprits(&runs.culprits(), &base_runs.culprits(), loss),
        functions: code.function_losses(),
        calls: code.call_losses(),
        serial_speedup: parts.and_then(|(serial, _)| serial),
        parallel_speedup: parts.and_then(|(_, parallel)| parallel),
    })
}

/// Returns the speedup of `point` over `base`, which may differ from the base of the speedups: the
/// smallest measured count may be without a trace.
///
/// The interval of the quotient is that of two independent speedups (Zou & Donner 2008). Both have
/// the same base, and this correlation only makes the interval too wide.
pub(crate) fn speedup_between(base: &PointView, point: &PointView) -> Estimate {
    let value = point.speedup.value / base.speedup.value;
    let interval = |estimate: Estimate| estimate.ci95.map(|[lo, hi]| (estimate.value, Interval { lo, hi }));
    let quotient = |(here, base)| log_difference(here, base).ends();
    Estimate { value, ci95: interval(point.speedup).zip(interval(base.speedup)).map(quotient) }
}

/// Computes the 95% interval of each loss `a - S·b`, with the shares `a` here and `b` in the
/// baseline.
///
/// The three estimates come from different runs, so they are independent. Each end of the loss has
/// the distance of Zou & Donner (Statistics in Medicine 27, 2008) for a difference:
/// `√((distance of a)² + (distance of S·b)²)`, where the distance of `S·b` is
/// `√((b · distance of S)² + (S · distance of b)²)` to the first order. With one traced run of a
/// count the spread of its share is unknown and taken as zero: the interval is then too narrow for
/// a program whose runs differ.
fn loss_intervals(
    losses: &Losses,
    runs: &TracedRuns<'_>,
    base_runs: &TracedRuns<'_>,
    speedup: f64,
    [slowest, fastest]: [f64; 2],
) -> ComponentIntervals {
    let is_known = |c: Component| runs.share(c).is_some() && base_runs.share(c).is_some();
    ComponentIntervals::from_ends(|component| {
        let (lost, parts) = (component.loss(losses)?, covered_components(component, is_known)?);
        let share = |runs: &TracedRuns<'_>| parts.iter().filter_map(|part| runs.share(*part)).sum::<f64>();
        let half_width =
            |runs: &TracedRuns<'_>| runs.share_interval(&parts).map_or(0.0, Interval::half_width);
        let spread = half_width(runs).hypot(speedup * half_width(base_runs));
        let distance = |of_speedup: f64| spread.hypot(share(base_runs) * of_speedup);
        Some([lost - distance(fastest - speedup), lost + distance(speedup - slowest)])
    })
}

/// Returns the CPUs that other programs took of the traced runs, minus those that they took of the
/// timed runs. Returns zero if nothing was read.
fn excess_of_other_programs(point: &PointView, runs: &TracedRuns<'_>) -> f64 {
    let timed = f64::from(point.runs) * point.elapsed_s.mean;
    let Some(others) = point.others_allotted_s.filter(|_| timed > 0.0) else { return 0.0 };
    (runs.share(Component::OtherProcesses).unwrap_or(0.0) - others / timed).max(0.0)
}

/// Moves the CPUs that other programs took of the traced runs alone: from the loss to other
/// processes to the work that they displaced.
///
/// The speedup comes from the timed runs. A traced run that other programs made longer holds less
/// work per second than the timed runs. This difference is neither a gain of the command nor a loss
/// to other programs. `beyond` is negative if other programs disturbed the baseline. The sum of the
/// losses does not change.
fn move_displaced_work(losses: &mut Losses, beyond: f64) {
    let mut left = beyond;
    for work in std::iter::once(&mut losses.user_work).chain(losses.kernel_work.as_mut()) {
        let displaced = -*work;
        if displaced * left > 0.0 {
            let part = if left > 0.0 { displaced.min(left) } else { displaced.max(left) };
            *work += part;
            losses.other_processes -= part;
            left -= part;
        }
    }
}

/// Returns the components whose time the figure of `component` contains: first itself, then each
/// component that is not known and that it contains. Returns none if it is not known itself.
pub(crate) fn covered_components(
    component: Component,
    is_known: impl Fn(Component) -> bool,
) -> Option<Vec<Component>> {
    let container = |part: Component| {
        std::iter::successors(part.container(), |container| container.container()).find(|c| is_known(*c))
    };
    let contained = Component::ALL.into_iter().filter(|part| !is_known(*part));
    let contained = contained.filter(|part| container(*part) == Some(component));
    is_known(component).then(|| std::iter::once(component).chain(contained).collect())
}

/// Computes the loss of each component from its amount in both runs. If one run cannot tell a
/// component apart, another component contains its time in that run. The loss of the containing
/// component then covers both runs.
pub(crate) fn losses(
    here: impl Fn(Component) -> Option<f64>,
    base: impl Fn(Component) -> Option<f64>,
    loss: impl Fn(f64, f64) -> f64,
) -> Losses {
    let is_known = |component| here(component).is_some() && base(component).is_some();
    Losses::from_amounts(|component| {
        let parts = covered_components(component, is_known)?;
        let part_loss = |part: Component| loss(here(part).unwrap_or(0.0), base(part).unwrap_or(0.0));
        parts.into_iter().map(part_loss).reduce(|sum, loss| sum + loss)
    })
}

/// Computes the lost CPUs by name, most first. Names of the baseline alone stay, with a negative
/// loss, so that the sum remains the loss of the component.
pub(crate) fn culprits(here: &[Culprit], base: &[Culprit], loss: impl Fn(f64, f64) -> f64) -> Vec<Culprit> {
    let mut by_name: BTreeMap<&str, (f64, f64, Option<&String>)> = BTreeMap::new();
    for culprit in base {
        let entry = by_name.entry(&culprit.name).or_default();
        entry.1 += culprit.lost_cpus;
        entry.2 = culprit.waiting_in.as_ref();
    }
    for culprit in here {
        let entry = by_name.entry(&culprit.name).or_default();
        entry.0 += culprit.lost_cpus;
        entry.2 = culprit.waiting_in.as_ref();
    }
    let mut culprits: Vec<Culprit> = by_name
        .into_iter()
        .map(|(name, (here, base, waiting_in))| Culprit {
            name: name.to_owned(),
            lost_cpus: loss(here, base),
            waiting_in: waiting_in.cloned(),
        })
        .collect();
    culprits.sort_by(|a, b| b.lost_cpus.total_cmp(&a.lost_cpus));
    culprits
}

/// Computes the speedups of the serial and the parallel part: the time in the baseline divided by
/// the time here. Returns none for a part that is shorter in either run than the shortest serial
/// phase, because such a part is noise.
///
/// A program that runs everything serially on one CPU, as `make -j1` does, is one serial phase
/// there. Its parts are not those of `make -j2`, so its parallel part is shorter on fewer CPUs. The
/// serial phases are then assumed to last as long there as here. With the same program on one CPU
/// they would. They have no speedup of their own in this case.
fn part_speedups(base: &TraceView, trace: &TraceView) -> (Option<f64>, Option<f64>) {
    let least = base.serial_minimum_s.max(trace.serial_minimum_s);
    let speedup =
        |there: f64, here: f64| (there >= least && here >= least && here > 0.0).then(|| there / here);
    let SerialAndParallel { serial_s, parallel_s } = trace.parts;
    if base.parts.parallel_s < parallel_s {
        return (None, speedup(base.elapsed_s - serial_s, parallel_s));
    }
    (speedup(base.parts.serial_s, serial_s), speedup(base.parts.parallel_s, parallel_s))
}
