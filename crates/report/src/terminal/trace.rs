//! One traced run: its components, its parallelism, its serial phases, commands and locks.
//!
//! This module arranges the sections; its submodules hold the sections, `crate::trace` the words.
//! Nothing here compares runs.

mod components;
mod profile;
mod tables;

use std::path::Path;

use morecores_study::trace::TraceSource;
use morecores_view::{Inconsistencies, TraceView};

use super::Style;
use crate::format::count;
use crate::stack;
use crate::trace as run;
use crate::warning::Severity;
use tables::Extent;

/// Report of `morecores trace`: one traced run without a study. `path` is the place of the kept
/// trace; it is never broken, so that it can be copied. No other line is wider than the style's
/// width.
pub fn trace_report(trace: &TraceView, path: Option<&Path>, style: &Style) -> String {
    let mut sections = everything(trace, style);
    sections.extend(path.map(|path| vec![super::path_line("trace", path, style)]));
    super::joined(sections)
}

/// Sections on a traced run beside the stack in a study's report: everything if requested,
/// otherwise the tables with notable rows.
pub(super) fn in_study(trace: &TraceView, style: &Style) -> Vec<Vec<String>> {
    if style.wide {
        return everything(trace, style);
    }
    vec![tables::commands(trace, Extent::Telling, style), tables::locks(trace, Extent::Telling, style)]
}

/// Figures and sentences on where the run's CPUs went: the part that a study shows of a run without
/// another run to compare it with.
pub(super) fn overview(trace: &TraceView, style: &Style) -> Vec<Vec<String>> {
    vec![headline(trace, style), components::components(trace, style), sentences(trace, style)]
}

fn everything(trace: &TraceView, style: &Style) -> Vec<Vec<String>> {
    let mut sections = overview(trace, style);
    sections.extend([
        profile::profile(trace, style),
        tables::serial_phases(trace, style),
        tables::commands(trace, Extent::Most, style),
        tables::locks(trace, Extent::Most, style),
        tables::others(trace, style),
        [untraced(trace, style), misfits(trace, style)].concat(),
    ]);
    sections
}

/// Identifies the run, and warns if its figures are unreliable.
fn headline(trace: &TraceView, style: &Style) -> Vec<String> {
    let text = run::headline(trace);
    let mut lines: Vec<String> = style.wrap(&text, "  ").iter().map(|l| style.paint().bold(l)).collect();
    lines.extend(lossy(trace, style));
    lines
}

/// Mark of a trace that lost events.
pub(super) fn lossy(trace: &TraceView, style: &Style) -> Vec<String> {
    let label = |label: &str| style.paint().label(Severity::Serious, label);
    stack::lossy(trace).map_or(Vec::new(), |text| style.wrap_labelled(&text, "  ", label))
}

/// Single figures of the run, as sentences.
fn sentences(trace: &TraceView, style: &Style) -> Vec<String> {
    run::sentences(trace).iter().flat_map(|s| style.wrap(s, "  ")).collect()
}

/// Kinds of time that this trace cannot distinguish.
fn untraced(trace: &TraceView, style: &Style) -> Vec<String> {
    trace.untraced.iter().flat_map(|u| style.wrap_dim(&format!("without {}: {}", u.what, u.why))).collect()
}

/// Number of contradictions between events, if there are any: the analysis believed the latest
/// event.
fn misfits(trace: &TraceView, style: &Style) -> Vec<String> {
    // A wake-up before the sleep is no contradiction: it arrived earlier.
    let Inconsistencies { misplaced, unborn, unwoken, early: _ } = trace.misfits;
    // Perf events cover only the command: its starter, which made the first thread, is in none.
    let unborn = if trace.source == TraceSource::Perf { 0 } else { unborn };
    let kinds = [
        (misplaced, "switch", "switches", "that did not fit the one before"),
        (unborn, "thread", "threads", "that nobody was seen to make"),
        (unwoken, "wait", "waits", "that nobody was seen to end"),
    ];
    let told = kinds.into_iter().filter(|(number, ..)| *number > 0);
    let told: Vec<String> = told
        .map(|(number, one, many, what)| {
            format!("{} {} {what}", count(number as f64), if number == 1 { one } else { many })
        })
        .collect();
    if told.is_empty() {
        Vec::new()
    } else {
        style.wrap_dim(&format!("did not fit together: {}", told.join(", ")))
    }
}
