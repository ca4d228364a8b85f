//! The speedup stacks: a bar for each CPU count, the figures of each part, and the causes in words.
//!
//! This module arranges the lines; `crate::stack` selects the parts, `bars` draws, `causes` words.

use morecores_view::{StackView, View};

use super::Style;
use super::bars::{self, Bar, BarUnit};
use super::grid::{Grid, lines_with_title};
use crate::causes;
use crate::causes::cause_clauses;
use crate::code::{FunctionRows, function_losses_table};
use crate::stack::{Parts, part_notes, stack_notes};

/// Ratio of the largest CPU count to the smallest, from which each bar is 100% of its CPUs: on one
/// common scale the short bars would be a cell or two. A choice: the ratio at which the curve's
/// axes become logarithmic.
const SHARES_FROM: u32 = 8;

/// Lines of the whole section; none without a stack.
pub(super) fn stack_section(view: &View, style: &Style) -> Option<Vec<String>> {
    let (smallest, largest) = (view.stack.first()?, view.stack.last()?);
    let parts = Parts::from_view(view, style.wide);
    let shares = largest.cpus / smallest.cpus.max(1) >= SHARES_FROM;
    let title =
        if shares { "where the CPUs went (each bar is 100% of its CPUs)" } else { "where the CPUs went" };
    let mut lines = style.wrap(title, "  ");
    let rows = parts.rows();
    let bars: Vec<Bar> = view
        .stack
        .iter()
        .map(|stack| {
            let whole = if shares { f64::from(stack.cpus) } else { 1.0 };
            let parts = rows.iter().map(|part| (*part, parts.cpus(*part, stack) / whole)).collect();
            Bar { label: stack.cpus.to_string(), parts }
        })
        .collect();
    let (full, unit) = if shares { (1.0, BarUnit::Share) } else { (f64::from(largest.cpus), BarUnit::Cpus) };
    lines.extend(bars::draw_bars(&bars, full, unit, style));
    lines.push(String::new());
    lines.extend(legend(view, &parts, style));
    lines.extend(cause_lines(view, style));
    lines.extend(function_lines(view, style));
    Some(lines)
}

/// Signs, and the CPUs of each part.
fn legend(view: &View, parts: &Parts, style: &Style) -> Vec<String> {
    let rows = parts.rows();
    let mut grid = Grid::new(style);
    grid.add_signs(&rows);
    grid.add_labels("CPUs", rows.iter().map(|part| parts.name(*part)));
    for (i, stack) in view.stack.iter().enumerate() {
        // The largest counts stay longest: they are the ones of interest.
        let rank = u8::try_from(view.stack.len() - 1 - i).unwrap_or(u8::MAX);
        let header = format!("of {}", stack.cpus);
        grid.add_figures(rank, &header, rows.iter().map(|part| parts.figure(*part, stack)));
    }
    let mut lines = grid.into_lines();
    for note in stack_notes(view) {
        lines.extend(style.wrap_dim(&note));
    }
    lines
}

/// Functions that hold the losses of the largest count, or of all.
fn function_lines(view: &View, style: &Style) -> Vec<String> {
    let rows = if style.wide { FunctionRows::All } else { FunctionRows::Largest };
    let tables = shown_stacks(view, style).iter().filter_map(|stack| function_losses_table(stack, rows));
    tables.flat_map(|table| [vec![String::new()], lines_with_title(&table, style)].concat()).collect()
}

/// Stacks with details: the largest count, or all.
fn shown_stacks<'v>(view: &'v View, style: &Style) -> &'v [StackView] {
    if style.wide { &view.stack } else { &view.stack[view.stack.len() - 1..] }
}

/// Causes in words and facts that the stack does not show, for the largest count or for all.
fn cause_lines(view: &View, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    for stack in shown_stacks(view, style) {
        let mut clauses = cause_clauses(&causes(stack, view));
        clauses.extend(part_notes(stack, view));
        if !clauses.is_empty() {
            lines.push(String::new());
        }
        lines.extend(clauses.iter().flat_map(|clause| style.wrap_after(clause, "- ", "  ")));
    }
    lines
}
