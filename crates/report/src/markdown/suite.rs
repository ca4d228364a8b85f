//! The tables of the classic benchmarks, for a README.

use std::fmt::{self, Write};

use morecores_record::Published;

use super::prose;
use crate::suite::{BenchmarkResult, Column, ColumnKind, Table, tables};

/// Writes a benchmark's tables below a heading of the second level.
///
/// # Errors
///
/// What `out` fails with; a `String` never does.
pub fn suite_markdown(
    result: &BenchmarkResult<'_>,
    published: &Published,
    out: &mut impl Write,
) -> fmt::Result {
    let tables = tables(result, published);
    writeln!(out, "## {}\n", prose(&tables.title))?;
    for columns in tables.tables.iter().filter(|table| !table.columns.is_empty()) {
        table(columns, out)?;
    }
    for note in &tables.notes {
        writeln!(out, "- {}", prose(note))?;
    }
    if tables.notes.is_empty() { Ok(()) } else { writeln!(out) }
}

fn table(table: &Table, out: &mut impl Write) -> fmt::Result {
    let rule = |column: &Column| if column.kind == ColumnKind::Name { "---" } else { "---:" };
    let headers: Vec<String> =
        table.columns.iter().map(|column| prose(&column.header.replace('\n', " "))).collect();
    writeln!(out, "| {} |", headers.join(" | "))?;
    writeln!(out, "|{}|", table.columns.iter().map(rule).collect::<Vec<_>>().join("|"))?;
    for row in 0..table.columns.iter().map(|column| column.cells.len()).max().unwrap_or(0) {
        let cells: Vec<String> = table.columns.iter().map(|column| prose(&column.cells[row])).collect();
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    writeln!(out)
}
