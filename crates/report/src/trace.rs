//! One traced run in words, for every report: its headline, its parts and its figures in sentences.
//!
//! This module draws and lays out nothing, compares no runs, and judges nothing: the view's
//! warnings judge.

use morecores_view::{Component, TraceView};

use crate::causes::tight_loop_share;
use crate::component::{awaited_name, component_name_in, holder_waits, idle_includes_others};
use crate::format::{count, cpus, join_with_and, percent, point_values, time};
use crate::openmp::openmp_sentences;
use crate::stack::{FOLDED_SHARE, Part, folded_name, overhead_text, source_name};

/// Share of all CPU time from which the report mentions spinning in user mode and waits behind
/// locks.
const LEAST_SHARE: f64 = 0.01;

/// Identifies the run, the tracing method and the cost of tracing.
pub(crate) fn headline(trace: &TraceView) -> String {
    let values = point_values(trace.cpus, trace.n, &trace.axes);
    let values: String = values.iter().map(|value| format!(" · {value}")).collect();
    let overhead = trace.overhead.map(|o| format!(" · {}", overhead_text(o))).unwrap_or_default();
    let lost = if trace.lost_events == 0 { ", none lost" } else { "" };
    format!(
        "traced run on {} ({}){values} · {} · by {} · {} events{lost}{overhead}",
        cpus(trace.cpus),
        trace.cpu_set,
        time(trace.elapsed_s),
        source_name(trace.source),
        count(trace.events as f64),
    )
}

/// Time of the run's CPUs, in seconds.
pub(crate) fn total_cpu_seconds(trace: &TraceView) -> f64 {
    f64::from(trace.cpus) * trace.elapsed_s
}

/// CPU-seconds of the run's components, the largest first. Unless `all` is set, small components
/// are combined and come last. Empty if the run took no time.
pub(crate) fn trace_parts(trace: &TraceView, all: bool) -> Vec<(Part, f64)> {
    if total_cpu_seconds(trace) <= 0.0 {
        return Vec::new();
    }
    let seconds = |c: &Component| c.seconds(&trace.components).unwrap_or(0.0);
    let least = if all { 0.0 } else { FOLDED_SHARE * total_cpu_seconds(trace) };
    let (mut shown, folded): (Vec<Component>, Vec<Component>) = Component::ALL
        .into_iter()
        .filter(|c| seconds(c).is_finite() && seconds(c) != 0.0)
        .partition(|c| seconds(c).abs() >= least);
    shown.sort_by(|a, b| seconds(b).total_cmp(&seconds(a)));
    let mut parts: Vec<(Part, f64)> = shown.iter().map(|c| (Part::Component(*c), seconds(c))).collect();
    if !folded.is_empty() {
        parts.push((Part::Folded, folded.iter().map(seconds).sum()));
    }
    parts
}

/// Name of a part of a run.
pub(crate) fn part_name(part: Part, trace: &TraceView) -> String {
    match part {
        Part::Component(component) => component_name_in(trace, component).to_owned(),
        _ => folded_name(),
    }
}

/// Single figures as sentences: ratios with their estimators, waits behind locks, samples in tight
/// loops, and work elsewhere.
pub(crate) fn sentences(trace: &TraceView) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(ratio) = trace.kernel_ratio {
        let estimator = trace.kernel_ratio_estimator.name();
        sentences.push(format!("Kernel ratio {} (by {estimator}).", percent(ratio)));
    }
    if let Some(ratio) = trace.waiting_ratio {
        sentences.push(format!(
            "Waiting ratio {}: CPU time and sleep spent waiting for kernel locks, a lower bound.",
            percent(ratio)
        ));
    }
    if let Some(ratio) = trace.lock_ratio {
        sentences.push(format!("Lock ratio {}: CPU time spent holding kernel locks.", percent(ratio)));
    }
    let whole = total_cpu_seconds(trace);
    let waits =
        holder_waits(trace).into_iter().filter(|(_, seconds)| whole > 0.0 && *seconds >= LEAST_SHARE * whole);
    let waits: Vec<String> =
        waits.map(|(what, seconds)| format!("{} for {}", time(seconds), awaited_name(what))).collect();
    if !waits.is_empty() {
        sentences.push(format!(
            "While threads waited for user locks, the holders of these locks waited themselves: {}.",
            join_with_and(waits.into_iter())
        ));
    }
    if let Some(spin) = trace.user_spin_s.filter(|s| whole > 0.0 && *s >= LEAST_SHARE * whole) {
        sentences.push(format!(
            "By samples, the command spun in its own loops for {} of CPU time: {} of the CPUs' time and {} of its work. \
             Loops that only load, without PAUSE or sched_yield, count as work.",
            time(spin),
            percent(spin / whole),
            percent(tight_loop_share(trace))
        ));
    }
    sentences.extend(openmp_sentences(trace));
    if idle_includes_others(trace) && trace.components.idle_scheduling_s >= LEAST_SHARE * whole {
        sentences.push(format!(
            "Other processes used {} of these CPUs' time. This trace does not show when, so idle time with ready threads \
             includes it.",
            time(trace.untold_others_s.unwrap_or(0.0))
        ));
    }
    if whole > 0.0 && trace.overaccounted_s > LEAST_SHARE * whole {
        sentences.push(format!(
            "The kernel accounted {} more to threads than they ran on these CPUs ({} of the CPUs' time), because it \
             includes the wake-up of an idle CPU. This time is in no component.",
            time(trace.overaccounted_s),
            percent(trace.overaccounted_s / whole)
        ));
    }
    if trace.outside_cpu_s > 0.0 {
        let own = if trace.outside_tree_s > 0.0 {
            format!(", {} of it by its own threads", time(trace.outside_tree_s))
        } else {
            String::new()
        };
        sentences.push(format!(
            "Another {} of CPU time was used for the command on other CPUs{own}.",
            time(trace.outside_cpu_s)
        ));
    }
    sentences
}
