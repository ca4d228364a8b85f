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
use super::grid::lines_with_title;
use crate::code::{calls_table, functions_table, stack_coverage_text, user_locks_table, waits_table};
use crate::critical_path::{critical_path_table, threads_table};
use crate::format::count;
use crate::lock_holds::{lock_holds_table, lock_holds_text};
use crate::openmp::openmp_table;
use crate::stack;
use crate::trace as run;
use crate::warning::Severity;
use tables::RowSelection;

/// Report of `morecores trace`: one traced run without a study. `path` is the place of the kept
/// trace; it is never broken, so that it can be copied. No other line is wider than the style's
/// width.
pub fn trace_report(trace: &TraceView, path: Option<&Path>, style: &Style) -> String {
    let mut sections = full_sections(trace, style);
    sections.extend(path.map(|path| vec![super::path_line("trace", path, style)]));
    super::join_sections(sections)
}

/// Sections on a traced run that follow the stack in a study's report: everything if requested,
/// otherwise the tables with notable rows.
pub(super) fn study_sections(trace: &TraceView, style: &Style) -> Vec<Vec<String>> {
    if style.wide {
        return full_sections(trace, style);
    }
    vec![
        tables::commands(trace, RowSelection::Notable, style),
        tables::locks(trace, RowSelection::Notable, style),
        lock_hold_lines(trace, style),
    ]
}

/// Figures and sentences on where the run's CPUs went: the part that a study shows of a run without
/// another run to compare it with.
pub(super) fn overview_sections(trace: &TraceView, style: &Style) -> Vec<Vec<String>> {
    vec![
        headline_lines(trace, style),
        components::component_lines(trace, style),
        sentence_lines(trace, style),
    ]
}

fn full_sections(trace: &TraceView, style: &Style) -> Vec<Vec<String>> {
    let mut sections = overview_sections(trace, style);
    sections.extend([
        profile::profile_lines(trace, style),
        tables::serial_phases(trace, style),
        critical_path_table(trace).map_or(Vec::new(), |table| lines_with_title(&table, style)),
        threads_table(trace).map_or(Vec::new(), |table| lines_with_title(&table, style)),
        tables::commands(trace, RowSelection::First, style),
        functions_table(trace).map_or(Vec::new(), |table| lines_with_title(&table, style)),
        calls_table(trace).map_or(Vec::new(), |table| lines_with_title(&table, style)),
        user_locks_table(trace).map_or(Vec::new(), |table| lines_with_title(&table, style)),
        lock_hold_lines(trace, style),
        openmp_table(trace).map_or(Vec::new(), |table| lines_with_title(&table, style)),
        waits_table(trace).map_or(Vec::new(), |table| lines_with_title(&table, style)),
        tables::locks(trace, RowSelection::First, style),
        tables::other_lines(trace, style),
        stack_coverage_text(trace).map_or(Vec::new(), |text| style.wrap_dim(&text)),
        [untraced_lines(trace, style), inconsistency_lines(trace, style)].concat(),
    ]);
    sections
}

/// All holds of locks, and how precise they are.
fn lock_hold_lines(trace: &TraceView, style: &Style) -> Vec<String> {
    let mut lines = lock_holds_table(trace).map_or(Vec::new(), |table| lines_with_title(&table, style));
    lines.extend(lock_holds_text(trace).map_or(Vec::new(), |text| style.wrap_dim(&text)));
    lines
}

/// Identifies the run, and warns if its figures are unreliable.
fn headline_lines(trace: &TraceView, style: &Style) -> Vec<String> {
    let text = run::headline(trace);
    let mut lines: Vec<String> = style.wrap(&text, "  ").iter().map(|l| style.paint().bold(l)).collect();
    lines.extend(lossy_lines(trace, style));
    lines
}

/// Mark of a trace that lost events.
pub(super) fn lossy_lines(trace: &TraceView, style: &Style) -> Vec<String> {
    let label = |label: &str| style.paint().label(Severity::Serious, label);
    stack::lossy_note(trace).map_or(Vec::new(), |text| style.wrap_statement(&text, "  ", label))
}

/// Single figures of the run, as sentences.
fn sentence_lines(trace: &TraceView, style: &Style) -> Vec<String> {
    run::sentences(trace).iter().flat_map(|s| style.wrap(s, "  ")).collect()
}

/// Kinds of time that this trace cannot distinguish.
fn untraced_lines(trace: &TraceView, style: &Style) -> Vec<String> {
    trace.untraced.iter().flat_map(|u| style.wrap_dim(&format!("without {}: {}", u.what, u.why))).collect()
}

/// Number of contradictions between events, if there are any: the analysis accepted the latest
/// event.
fn inconsistency_lines(trace: &TraceView, style: &Style) -> Vec<String> {
    // A wake-up before the sleep is no contradiction: it arrived earlier.
    let Inconsistencies { misplaced, unborn, unwoken, early: _ } = trace.misfits;
    // Perf events cover only the command: its starter, which made the first thread, is in none.
    let unborn = if trace.source == TraceSource::Perf { 0 } else { unborn };
    let kinds = [
        (misplaced, "switch", "switches", "that contradict an earlier event"),
        (unborn, "thread", "threads", "without a creator"),
        (unwoken, "wait", "waits", "without a waker"),
    ];
    let present = kinds.into_iter().filter(|(number, ..)| *number > 0);
    let texts: Vec<String> = present
        .map(|(number, one, many, what)| {
            format!("{} {} {what}", count(number as f64), if number == 1 { one } else { many })
        })
        .collect();
    if texts.is_empty() {
        Vec::new()
    } else {
        style.wrap_dim(&format!("inconsistent events: {}", texts.join(", ")))
    }
}
