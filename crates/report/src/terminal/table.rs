//! The table of points.
//!
//! This module chooses columns; `columns` holds the figures of each column, `grid` lays them out.

mod columns;

use morecores_study::CpuEstimator;
use morecores_view::{View, Warning};

use super::Style;
use super::grid::{self, Grid};
use crate::format::{figures_with_intervals, interval_note, join_with_and};

/// Table, with its footnotes below it.
pub(super) fn points_table(view: &View, style: &Style) -> Vec<String> {
    let columns = columns::all_columns(view, style);
    let (mut lines, mut omitted) = (Vec::new(), Vec::new());
    if style.wide {
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        for block in blocks(columns, style.table_width()) {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            lines.extend(Grid::from_columns(block, style).layout(usize::MAX).into_lines(style));
        }
    } else {
        let usual = columns.into_iter().filter(|(usual, _)| *usual).map(|(_, column)| column).collect();
        let mut layout = Grid::from_columns(usual, style).layout(style.table_width());
        omitted.append(&mut layout.omitted);
        lines.extend(layout.into_lines(style));
    }
    for note in footnotes(view, &omitted) {
        lines.extend(style.wrap(&note, "  ").iter().map(|line| style.paint().dim(line)));
    }
    lines
}

/// Splits all columns into blocks that fit, the first column repeated in each.
fn blocks(columns: Vec<grid::Column>, width: usize) -> Vec<Vec<grid::Column>> {
    let mut columns = columns.into_iter();
    let Some(key) = columns.next() else { return Vec::new() };
    let (mut blocks, mut block) = (Vec::new(), vec![key.clone()]);
    for column in columns {
        if block.len() > 1 && grid::uncut_width(block.iter().chain([&column])) > width {
            blocks.push(std::mem::replace(&mut block, vec![key.clone()]));
        }
        block.push(column);
    }
    blocks.push(block);
    blocks
}

/// Notes needed to understand the figures above.
fn footnotes(view: &View, omitted: &[String]) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(interval_note(figures_with_intervals(view)).map(|note| format!("{note}.")));
    let without: Vec<u32> =
        view.points.iter().filter(|p| p.elapsed_s.ci95.is_none()).map(|p| p.runs).collect();
    if let (Some(least), Some(most)) = (without.iter().min(), without.iter().max()) {
        let runs = if least == most { format!("{most}") } else { format!("{least} to {most}") };
        notes.push(format!("± ?: no interval, because it needs 6 runs and there are {runs}."));
    }
    if view.warnings.iter().any(|w| matches!(w, Warning::SmtSiblings { .. })) {
        notes.push("†: with SMT siblings of cores already in use.".to_owned());
    }
    if view.warnings.iter().any(|w| matches!(w, Warning::MixedCoreTypes { .. })) {
        notes.push("‡: with cores of different types.".to_owned());
    }
    notes.extend(estimator_note(view));
    if !omitted.is_empty() {
        let names = join_with_and(omitted);
        notes.push(format!("Too narrow for {names}: --wide shows every column."));
    }
    notes
}

/// Source of user and system time, unless it is the one that a reader expects.
fn estimator_note(view: &View) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for point in &view.points {
        let name = point.kernel_ratio_estimator.name();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let expected = [CpuEstimator::Cgroup.name()];
    (names != expected && !names.is_empty())
        .then(|| format!("User, system and kernel ratio by {}.", join_with_and(&names)))
}
