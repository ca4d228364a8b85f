//! The tables of the classic benchmarks, for a README.

use std::fmt::{self, Write};

use morecores_catalogue::PublishedFacts;
use morecores_view::suite::SuiteSummary;

use super::{escape_prose, write_table};
use crate::Style;
use crate::suite::{BenchmarkResult, benchmark_tables, summary_notes, summary_table};
use crate::terminal::suite_picture;

/// Width of the picture in its code block, in characters.
const PICTURE_WIDTH: usize = 80;

/// Writes a benchmark's tables below a heading of the second level.
///
/// # Errors
///
/// Fails if writing to `out` fails; writing to a `String` never does.
pub fn suite_markdown(
    result: &BenchmarkResult<'_>,
    published: &PublishedFacts,
    out: &mut impl Write,
) -> fmt::Result {
    let tables = benchmark_tables(result, published);
    writeln!(out, "## {}\n", escape_prose(&tables.title))?;
    for columns in tables.tables.iter().filter(|table| !table.columns.is_empty()) {
        write_table(columns, out)?;
    }
    for note in &tables.notes {
        writeln!(out, "- {}", escape_prose(note))?;
    }
    if tables.notes.is_empty() { Ok(()) } else { writeln!(out) }
}

/// Writes the summary of a suite below a heading of the second level: its table, its picture in
/// characters, and how to read them.
///
/// # Errors
///
/// Fails if writing to `out` fails; writing to a `String` never does.
pub fn suite_summary_markdown(summary: &SuiteSummary, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "## Summary: speedups then and now\n")?;
    write_table(&summary_table(summary), out)?;
    for note in summary_notes(summary) {
        writeln!(out, "- {}", escape_prose(&note))?;
    }
    let style = Style { width: PICTURE_WIDTH, colour: false, unicode: true, wide: false };
    let picture = suite_picture(summary, &style);
    if picture.is_empty() {
        return writeln!(out);
    }
    writeln!(out, "\n```text\n{}\n```\n", picture.join("\n"))
}
