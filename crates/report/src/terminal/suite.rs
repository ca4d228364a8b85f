//! The tables of the classic benchmarks and their summary, on a terminal.

mod picture;

use morecores_study::published::Published;
use morecores_view::SuiteSummary;

use super::Style;
use super::grid::Grid;
use crate::suite::{BenchmarkResult, ColumnKind, Table, summary_notes, summary_table, tables};
pub(crate) use picture::picture;

/// Tables of a benchmark, each line ended by a newline.
pub fn suite_report(result: &BenchmarkResult<'_>, published: &Published, style: &Style) -> String {
    let tables = tables(result, published);
    let mut lines: Vec<String> =
        style.wrap(&tables.title, "  ").iter().map(|line| style.paint().bold(line)).collect();
    for table in tables.tables.iter().filter(|table| !table.columns.is_empty()) {
        lines.push(String::new());
        lines.extend(grid(table, style));
    }
    lines.extend(tables.notes.iter().flat_map(|note| style.wrap_dim(note)));
    lines.push(String::new());
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Summary of a suite: its table, its picture and how to read them; each line ended by a newline.
pub fn suite_summary_report(summary: &SuiteSummary, style: &Style) -> String {
    let mut lines = vec![style.paint().bold("Summary: speedups then and now"), String::new()];
    lines.extend(grid(&summary_table(summary), style));
    lines.extend(summary_notes(summary).iter().flat_map(|note| style.wrap_dim(note)));
    let picture = picture(summary, style);
    if !picture.is_empty() {
        lines.push(String::new());
        lines.extend(picture);
    }
    lines.push(String::new());
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn grid(table: &Table, style: &Style) -> Vec<String> {
    let mut grid = Grid::new(style);
    for column in &table.columns {
        let cells = column.cells.iter().cloned();
        match column.kind {
            ColumnKind::Name(rank) => grid.names(rank, column.header, cells),
            ColumnKind::Label => grid.labels(column.header, cells),
            ColumnKind::Figure(rank) => grid.figures(rank, column.header, cells),
        }
    }
    grid.lines()
}
