//! The tables of the classic benchmarks, on a terminal.

use morecores_record::Published;

use super::Style;
use super::grid::Grid;
use crate::suite::{BenchmarkResult, ColumnKind, Table, tables};

/// A benchmark's tables, each line ended by a newline.
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

fn grid(table: &Table, style: &Style) -> Vec<String> {
    let mut grid = Grid::new(style);
    for column in &table.columns {
        let cells = column.cells.iter().cloned();
        match column.kind {
            ColumnKind::Name => grid.names(0, column.header, cells),
            ColumnKind::Figure(rank) => grid.figures(rank, column.header, cells),
        }
    }
    grid.lines()
}
