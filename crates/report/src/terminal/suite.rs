//! The tables of the classic benchmarks and their summary, on a terminal.

mod picture;

use morecores_catalogue::PublishedFacts;
use morecores_view::suite::SuiteSummary;

use super::Style;
use super::grid::Grid;
use crate::suite::{BenchmarkResult, benchmark_tables, summary_notes, summary_table};
pub(crate) use picture::suite_picture;

/// Tables of a benchmark, each line ended by a newline.
pub fn suite_report(result: &BenchmarkResult<'_>, published: &PublishedFacts, style: &Style) -> String {
    let tables = benchmark_tables(result, published);
    let mut lines: Vec<String> =
        style.wrap(&tables.title, "  ").iter().map(|line| style.paint().bold(line)).collect();
    for table in tables.tables.iter().filter(|table| !table.columns.is_empty()) {
        lines.push(String::new());
        lines.extend(Grid::from_table(table, style).into_lines());
    }
    lines.extend(tables.notes.iter().flat_map(|note| style.wrap_dim(note)));
    lines.push(String::new());
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Summary of a suite: its table, its picture and how to read them; each line ended by a newline.
pub fn suite_summary_report(summary: &SuiteSummary, style: &Style) -> String {
    let mut lines = vec![style.paint().bold("Summary: speedups then and now"), String::new()];
    lines.extend(Grid::from_table(&summary_table(summary), style).into_lines());
    lines.extend(summary_notes(summary).iter().flat_map(|note| style.wrap_dim(note)));
    let picture = suite_picture(summary, style);
    if !picture.is_empty() {
        lines.push(String::new());
        lines.extend(picture);
    }
    lines.push(String::new());
    lines.iter().map(|line| format!("{line}\n")).collect()
}
