//! Speedup stacks: at each traced CPU count, every CPU that the speedup does not contain, by cause.
//!
//! `cpus = S · base_cpus + Σ losses`, after Eyerman, Du Bois & Eeckhout, *Speedup stacks:
//! identifying scaling bottlenecks in multi-threaded applications*, ISPASS 2012. The traced runs
//! give the losses, the untraced runs give the speedup. This module compares finished views; it
//! must not look at events.

use std::collections::BTreeMap;

use crate::types::find_in_cell;
use crate::{Component, Culprit, Losses, PointView, SerialAndParallel, StackView, TraceView};
use morecores_study::InCell;
use morecores_study::trace::TraceSource;

/// Computes the stack of each traced count above the smallest one that also has untraced runs, in
/// the order of `traces`.
///
/// The baseline is the traced run on the fewest CPUs with the same further axes. Of several runs it
/// is the one with the same `{n}`, else the one with the same `{n}` per CPU. If there is neither,
/// the smallest `{n}` decides. This choice minimises other differences in what the program does.
pub(crate) fn speedup_stacks(points: &[PointView], traces: &[TraceView]) -> Vec<StackView> {
    // A run that was traced for a prediction has no untraced runs of its point.
    let is_timed = |trace: &&TraceView| find_in_cell(points, &trace.cell()).is_some();
    let traces: Vec<&TraceView> = traces.iter().filter(is_timed).collect();
    traces
        .iter()
        .filter_map(|trace| {
            let comparable = || traces.iter().filter(|base| base.axes == trace.axes);
            let fewest = comparable().map(|base| base.cpus).min()?;
            let base = comparable()
                .filter(|base| base.cpus == fewest && fewest < trace.cpus)
                .min_by_key(|base| difference_rank(base, trace))?;
            speedup_stack(points, base, trace)
        })
        .collect()
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

/// Computes the stack of `trace`. Returns none if the untraced runs give no speedup, or if a run
/// took no time. Also returns none if perf events recorded only one of the two traces: the
/// components that perf events cannot tell apart would appear as lost or gained.
fn speedup_stack(points: &[PointView], base: &TraceView, trace: &TraceView) -> Option<StackView> {
    let (base_point, point) = (find_in_cell(points, &base.cell())?, find_in_cell(points, &trace.cell())?);
    // Both speedups are relative to the smallest measured count, which may not be the smallest
    // traced one.
    let speedup = point.speedup.value / base_point.speedup.value;
    let by_perf = |trace: &TraceView| trace.source == TraceSource::Perf;
    if by_perf(base) != by_perf(trace) {
        return None;
    }
    if !(speedup.is_finite() && base.elapsed_s > 0.0 && trace.elapsed_s > 0.0) {
        return None;
    }
    let loss = |here: f64, there: f64| here / trace.elapsed_s - speedup * (there / base.elapsed_s);
    let mut losses = losses(|c| c.seconds(&trace.components), |c| c.seconds(&base.components), loss);
    move_displaced_work(
        &mut losses,
        excess_of_other_programs(point, trace) - speedup * excess_of_other_programs(base_point, base),
    );
    // A metric is a rate, or a time that the program chose. Parts of the elapsed time say nothing
    // about it.
    let parts = point.metric.is_none().then(|| part_speedups(base, trace));
    Some(StackView {
        cpus: trace.cpus,
        n: trace.n,
        axes: trace.axes.clone(),
        base_cpus: base.cpus,
        base_n: base.n,
        speedup,
        losses,
        culprits: culprits(&trace.culprits, &base.culprits, loss),
        serial_speedup: parts.and_then(|(serial, _)| serial),
        parallel_speedup: parts.and_then(|(_, parallel)| parallel),
    })
}

/// Returns the CPUs that other programs took of a traced run, minus those that they took of its
/// timed runs. Returns zero if nothing was read.
fn excess_of_other_programs(point: &PointView, trace: &TraceView) -> f64 {
    let timed = f64::from(point.runs) * point.elapsed_s.mean;
    let Some(others) = point.others_allotted_s.filter(|_| timed > 0.0) else { return 0.0 };
    (trace.components.other_processes_s / trace.elapsed_s - others / timed).max(0.0)
}

/// Moves the CPUs that other programs took of one traced run alone: from the loss to other
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

/// Computes the loss of each component from its amount in both runs. If one run cannot tell a
/// component apart, another component contains its time in that run. The loss of the containing
/// component then covers both runs.
pub(crate) fn losses(
    here: impl Fn(Component) -> Option<f64>,
    base: impl Fn(Component) -> Option<f64>,
    loss: impl Fn(f64, f64) -> f64,
) -> Losses {
    let own_loss = |component| Some(loss(here(component)?, base(component)?));
    let in_another = |component: &Component| own_loss(*component).is_none();
    // Component whose loss covers the one that cannot be told apart.
    let covering = |component: Component| {
        let containers = std::iter::successors(component.container(), |container| container.container());
        containers.into_iter().find(|container| !in_another(container))
    };
    Losses::from_amounts(|component| {
        let contained = Component::ALL
            .into_iter()
            .filter(|part| in_another(part) && covering(*part) == Some(component))
            .map(|part| loss(here(part).unwrap_or(0.0), base(part).unwrap_or(0.0)));
        Some(contained.fold(own_loss(component)?, |sum, loss| sum + loss))
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
