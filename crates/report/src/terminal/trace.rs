//! One traced run: its components, how parallel it was, its serial phases, commands and locks.
//!
//! Composes; the sections themselves are in the modules below. Nothing here compares runs.

mod components;
mod profile;
mod tables;
mod words;

use std::path::Path;

use morecores_record::TraceView;

use super::Style;
use crate::format::{count, cpus, percent, time};
use crate::stack::{self, traced_by};
use crate::warning::Severity;
use tables::Extent;

/// What `morecores trace` prints: one traced run without a study. `path` is where the trace was kept; it is never
/// broken, so that it can be copied. No other line is wider than the style's width.
pub fn trace_report(trace: &TraceView, path: Option<&Path>, style: &Style) -> String {
    let mut sections = everything(trace, style);
    sections.extend(path.map(|path| vec![super::path_line("trace", path, style)]));
    super::joined(sections)
}

/// What a study's report shows of a traced run beside the stack: everything if asked for, and otherwise the tables
/// that say something.
pub(super) fn in_study(trace: &TraceView, style: &Style) -> Vec<Vec<String>> {
    if style.wide {
        return everything(trace, style);
    }
    vec![tables::commands(trace, Extent::Telling, style), tables::locks(trace, Extent::Telling, style)]
}

/// Where its CPUs went, in figures and in sentences: what a study shows of a run that there is no other to compare with.
pub(super) fn overview(trace: &TraceView, style: &Style) -> Vec<Vec<String>> {
    vec![headline(trace, style), components::components(trace, style), words::words(trace, style)]
}

fn everything(trace: &TraceView, style: &Style) -> Vec<Vec<String>> {
    let mut sections = overview(trace, style);
    sections.extend([
        profile::profile(trace, style),
        tables::serial_phases(trace, style),
        tables::commands(trace, Extent::Most, style),
        tables::locks(trace, Extent::Most, style),
        tables::others(trace, style),
        untraced(trace, style),
    ]);
    sections
}

/// Which run, and whether its figures can be believed.
fn headline(trace: &TraceView, style: &Style) -> Vec<String> {
    let n = if trace.n == trace.cpus { String::new() } else { format!(" · n = {}", trace.n) };
    let overhead = match trace.overhead {
        None => String::new(),
        Some(o) if o <= 0.0 => " · no slower than untraced".to_owned(),
        Some(o) => format!(" · {} slower than untraced", percent(o)),
    };
    let lost = if trace.lost_events == 0 { ", none lost" } else { "" };
    let text = format!(
        "traced run on {} ({}){n} · {} · by {} · {} events{lost}{overhead}",
        cpus(trace.cpus),
        trace.cpu_set,
        time(trace.elapsed_s),
        traced_by(trace.source),
        count(trace.events as f64),
    );
    let mut lines: Vec<String> = style.wrap(&text, "  ").iter().map(|l| style.paint().bold(l)).collect();
    lines.extend(lossy(trace, style));
    if trace.outside_tree_s > 0.0 {
        let text = format!(
            "warning: the command ran for {} of CPU time outside its CPUs, so that this run says nothing of {}.",
            time(trace.outside_tree_s),
            cpus(trace.cpus)
        );
        lines.extend(warned(&text, style));
    }
    lines
}

/// The mark of a trace that lost events.
pub(super) fn lossy(trace: &TraceView, style: &Style) -> Vec<String> {
    stack::lossy(trace).map_or(Vec::new(), |text| warned(&text, style))
}

fn warned(text: &str, style: &Style) -> Vec<String> {
    let mut lines = style.wrap(text, "  ");
    if let Some(first) = lines.first_mut()
        && let Some(colon) = first.find(':')
    {
        let rest = first.split_off(colon + 1);
        *first = style.paint().label(Severity::Serious, first) + &rest;
    }
    lines
}

/// What this trace cannot tell.
fn untraced(trace: &TraceView, style: &Style) -> Vec<String> {
    let line = |what: &str, why: &str| style.wrap(&format!("without {what}: {why}"), "  ");
    trace.untraced.iter().flat_map(|u| line(&u.what, &u.why)).map(|l| style.paint().dim(&l)).collect()
}
