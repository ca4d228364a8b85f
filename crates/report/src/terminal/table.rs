//! The table of points.
//!
//! This module chooses columns and lays them out; `columns` holds the figures of each column.

mod columns;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};
use morecores_study::CpuEstimator;
use morecores_view::{View, Warning};

use super::Style;
use crate::format::{figures_with_intervals, interval_note, join_with_and};
use columns::Column;

/// Spaces between two columns.
const GAP: u16 = 2;

/// Table, with its footnotes below it.
pub(super) fn points_table(view: &View, style: &Style) -> Vec<String> {
    let columns = columns::all_columns(view, style);
    let mut lines = Vec::new();
    let mut dropped = Vec::new();
    if style.wide {
        for block in blocks(&columns, style.table_width()) {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            lines.extend(render(view, &block, style));
        }
    } else {
        let usual = columns.iter().filter(|c| c.usual).collect();
        let shown = drop_columns(usual, style.table_width(), &mut dropped);
        lines.extend(render(view, &shown, style));
    }
    for note in footnotes(view, &dropped) {
        lines.extend(style.wrap(&note, "  ").iter().map(|line| style.paint().dim(line)));
    }
    lines
}

/// Splits all columns into blocks that fit, the first column repeated in each.
fn blocks(columns: &[Column], width: usize) -> Vec<Vec<&Column>> {
    let Some((key, rest)) = columns.split_first() else { return Vec::new() };
    let mut blocks = vec![vec![key]];
    for column in rest {
        let last = blocks.len() - 1;
        blocks[last].push(column);
        if blocks[last].len() > 2 && table_width(&blocks[last]) > width {
            blocks[last].pop();
            blocks.push(vec![key, column]);
        }
    }
    blocks
}

/// Columns that fit; the least important others go to `dropped`, in the table's order.
fn drop_columns<'a>(
    mut columns: Vec<&'a Column>,
    width: usize,
    dropped: &mut Vec<&'a Column>,
) -> Vec<&'a Column> {
    while columns.len() > 2 && table_width(&columns) > width {
        let least = columns.iter().enumerate().max_by_key(|(_, c)| c.rank).map_or(0, |(i, _)| i);
        dropped.push(columns.remove(least));
    }
    dropped.reverse();
    columns
}

fn table_width(columns: &[&Column]) -> usize {
    let content: usize = columns.iter().map(|c| c.width()).sum();
    content + usize::from(GAP) * columns.len().saturating_sub(1)
}

fn render(view: &View, columns: &[&Column], style: &Style) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let right = |text: &str| Cell::new(text).set_alignment(CellAlignment::Right);
    // The two lines of a header are two rows, so that a short header stands on the lower line.
    for line in 0..2 {
        table.add_row(columns.iter().map(|c| right(&c.header[line])));
    }
    for row in 0..view.points.len() {
        table.add_row(columns.iter().map(|c| right(&c.cells[row])));
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if i == 0 { 0 } else { GAP }, 0));
    }

    let rule = style.text(if style.unicode { "─" } else { "-" }).repeat(table_width(columns));
    let mut lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    let header: Vec<String> = lines.drain(..2).filter(|l| !l.is_empty()).collect();
    let mut out: Vec<String> = header.iter().map(|line| style.paint().bold(line)).collect();
    out.push(style.paint().dim(&rule));
    for (line, point) in lines.iter().zip(&view.points) {
        out.push(colour_efficiency(line, columns, point.efficiency, style));
    }
    out
}

/// Row with its efficiency coloured. Cells hold only characters one column wide, so a column's
/// place in the line is known.
fn colour_efficiency(line: &str, columns: &[&Column], efficiency: f64, style: &Style) -> String {
    let Some(index) = columns.iter().position(|c| c.is_efficiency) else { return line.to_owned() };
    let end = table_width(&columns[..=index]);
    let start = end - columns[index].width();
    let chars: Vec<char> = line.chars().collect();
    if chars.len() < end {
        return line.to_owned();
    }
    let part = |range: &[char]| range.iter().collect::<String>();
    part(&chars[..start])
        + &style.paint().efficiency(efficiency, &part(&chars[start..end]))
        + &part(&chars[end..])
}

/// Notes needed to understand the figures above.
fn footnotes(view: &View, dropped: &[&Column]) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(interval_note(figures_with_intervals(view)).map(|note| format!("{note}.")));
    let without: Vec<u32> =
        view.points.iter().filter(|p| p.elapsed_s.ci95.is_none()).map(|p| p.runs).collect();
    if let (Some(least), Some(most)) = (without.iter().min(), without.iter().max()) {
        let runs = if least == most { format!("{most}") } else { format!("{least} to {most}") };
        notes.push(format!("± ?: no interval, since {runs} of the 6 runs that it takes were made."));
    }
    if view.warnings.iter().any(|w| matches!(w, Warning::SmtSiblings { .. })) {
        notes.push("†: with SMT siblings of cores already in use.".to_owned());
    }
    if view.warnings.iter().any(|w| matches!(w, Warning::MixedCoreTypes { .. })) {
        notes.push("‡: with cores of different types.".to_owned());
    }
    notes.extend(estimator_note(view));
    if !dropped.is_empty() {
        let names = join_with_and(dropped.iter().map(|c| c.name()));
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
