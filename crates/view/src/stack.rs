//! Speedup stacks: at each traced CPU count, every CPU that is not in the speedup, by cause.
//!
//! `cpus = S · base_cpus + Σ losses`, after Eyerman, Du Bois & Eeckhout, *Speedup stacks: identifying scaling
//! bottlenecks in multi-threaded applications*, ISPASS 2012. Where CPUs went is told by the traced runs, how much was
//! gained by the untraced ones. This module compares finished views; it must not look at events.

use std::collections::BTreeMap;

use crate::{Components, Culprit, Losses, PointView, SerialAndParallel, StackView, TraceView};
use morecores_study::trace::TraceSource;

/// The stack of each traced count above the smallest one that also has untraced runs, in the order of `traces`.
///
/// The baseline is the traced run on the fewest CPUs; of several there, the one with the same `{n}`, else with as
/// much `{n}` a CPU, else with the smallest: what else the program does differently is then least.
pub(crate) fn stacks(points: &[PointView], traces: &[TraceView]) -> Vec<StackView> {
    // A run that was traced for a prediction has no untraced ones beside it.
    let timed =
        |trace: &&TraceView| points.iter().any(|point| (point.cpus, point.n) == (trace.cpus, trace.n));
    let traces: Vec<&TraceView> = traces.iter().filter(timed).collect();
    let Some(fewest) = traces.iter().map(|trace| trace.cpus).min() else { return Vec::new() };
    let bases: Vec<&TraceView> = traces.iter().copied().filter(|trace| trace.cpus == fewest).collect();
    traces
        .into_iter()
        .filter(|trace| trace.cpus > fewest)
        .filter_map(|trace| {
            let base = bases.iter().min_by_key(|base| unlike(base, trace))?;
            stack(points, base, trace)
        })
        .collect()
}

/// How little the program of `base` is that of `trace`; the least is the baseline.
fn unlike(base: &TraceView, trace: &TraceView) -> (u8, u32) {
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

/// The stack of `trace`; None where the untraced runs give no speedup, a run took no time, or one of the two was traced
/// by perf events alone: what they cannot tell apart would be lost or gained between the two.
fn stack(points: &[PointView], base: &TraceView, trace: &TraceView) -> Option<StackView> {
    let point = |of: &TraceView| points.iter().find(|point| point.cpus == of.cpus && point.n == of.n);
    let (base_point, point) = (point(base)?, point(trace)?);
    // Both are over the smallest measured count, which need not be the smallest traced one.
    let speedup = point.speedup.value / base_point.speedup.value;
    let by_perf = |of: &TraceView| of.source == TraceSource::Perf;
    if by_perf(base) != by_perf(trace) {
        return None;
    }
    if !(speedup.is_finite() && base.elapsed_s > 0.0 && trace.elapsed_s > 0.0) {
        return None;
    }
    let loss = |here: f64, there: f64| here / trace.elapsed_s - speedup * (there / base.elapsed_s);
    let mut losses = losses(&trace.components, &base.components, loss);
    give_back(&mut losses, beyond_timed(point, trace) - speedup * beyond_timed(base_point, base));
    // A metric is a rate or a time of the program's own choosing: parts of the elapsed time say nothing about it.
    let parts = point.metric.is_none().then(|| part_speedups(base, trace));
    Some(StackView {
        cpus: trace.cpus,
        n: trace.n,
        base_cpus: base.cpus,
        base_n: base.n,
        speedup,
        losses,
        culprits: culprits(&trace.culprits, &base.culprits, loss),
        serial_speedup: parts.and_then(|(serial, _)| serial),
        parallel_speedup: parts.and_then(|(_, parallel)| parallel),
    })
}

/// CPUs that others took of a traced run beyond what they took of the timed runs of its count; none where nobody looked.
fn beyond_timed(point: &PointView, trace: &TraceView) -> f64 {
    let timed = f64::from(point.runs) * point.elapsed_s.mean;
    let Some(others) = point.others_allotted_s.filter(|_| timed > 0.0) else { return 0.0 };
    (trace.components.other_processes_s / trace.elapsed_s - others / timed).max(0.0)
}

/// Puts CPUs that others took of one traced run alone to the work that they displaced there. The speedup is that of the timed
/// runs, so that a traced run which others made longer holds less work a second than they: that is no gain of the command's, nor
/// a loss to others. `beyond` is negative where the baseline was the disturbed one. The sum of the losses stays.
fn give_back(losses: &mut Losses, beyond: f64) {
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

/// Each component's loss, from what it is in both. What one of them cannot tell is in another component
/// there, and so it is here: of both.
pub(crate) fn losses(here: &Components, base: &Components, loss: impl Fn(f64, f64) -> f64) -> Losses {
    let of = |part: fn(&Components) -> f64| loss(part(here), part(base));
    // What it is, and what it is besides in the other component.
    let if_told = |part: fn(&Components) -> Option<f64>| match (part(here), part(base)) {
        (Some(here), Some(base)) => (Some(loss(here, base)), 0.0),
        (here, base) => (None, loss(here.unwrap_or(0.0), base.unwrap_or(0.0))),
    };
    let (kernel_work, in_user_work) = if_told(|c| c.kernel_work_s);
    let (interrupt, hit) = if_told(|c| c.interrupt_s);
    let (kernel_lock_spin, spun) = if_told(|c| c.kernel_lock_spin_s);
    let (steal, stolen) = if_told(|c| c.steal_s);
    let (idle_held, held) = if_told(|c| c.idle_held_s);
    let (idle_pinned, pinned) = if_told(|c| c.idle_pinned_s);
    let (idle_kernel_lock, for_kernel_lock) = if_told(|c| c.idle_kernel_lock_s);
    let (idle_user_lock, for_user_lock) = if_told(|c| c.idle_user_lock_s);
    let (idle_disk, for_disk) = if_told(|c| c.idle_disk_s);
    let (idle_peer, for_peer) = if_told(|c| c.idle_peer_s);
    let (idle_device, for_device) = if_told(|c| c.idle_device_s);
    let (idle_rcu, for_rcu) = if_told(|c| c.idle_rcu_s);
    let (idle_uninterruptible, for_others) = if_told(|c| c.idle_uninterruptible_s);
    let (idle_timer, for_timer) = if_told(|c| c.idle_timer_s);
    // Spinning is in the kernel, as far as that is told apart.
    let in_kernel_work = if kernel_work.is_some() { spun } else { 0.0 };
    Losses {
        user_work: of(|c| c.user_work_s) + in_user_work + hit + stolen + (spun - in_kernel_work),
        kernel_work: kernel_work.map(|loss| loss + in_kernel_work),
        interrupt,
        kernel_lock_spin,
        other_processes: of(|c| c.other_processes_s),
        tracer: of(|c| c.tracer_s),
        steal,
        idle_scheduling: of(|c| c.idle_scheduling_s) + held + pinned,
        idle_held,
        idle_pinned,
        idle_kernel_lock,
        idle_user_lock,
        idle_disk,
        idle_peer,
        idle_device,
        idle_rcu,
        idle_uninterruptible,
        idle_timer,
        idle_too_little_work: of(|c| c.idle_too_little_work_s)
            + (for_kernel_lock + for_user_lock + for_disk + for_peer + for_timer)
            + (for_device + for_rcu + for_others),
        unexplained: of(|c| c.unexplained_s),
    }
}

/// Lost CPUs by name, most first. Names of the baseline alone are kept, with what they no longer lose, so that the sum
/// stays the loss of the component.
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

/// Time of the serial part in the baseline over that here, and the same of the rest. None for a part that is in either
/// run shorter than the least serial phase: a part made of fewer than one is noise.
///
/// A program that does one thing after the other on one CPU, as `make -j1` does, is there one serial phase, and its parts
/// are not those of `make -j2`: the rest is then shorter on fewer CPUs. Its serial phases are taken to last as long
/// there as here, as they would with the same program on one CPU, and have no speedup of their own.
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
