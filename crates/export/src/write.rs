//! Rows as CSV, and as lines of JSON. Each row is written as soon as it is known.

use std::io::{self, Write};

use serde::Serializer;
use thiserror::Error;

use crate::{Condition, ExportedRun, Table, Value};

/// Format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// Comma-separated values with a header line (RFC 4180). A missing value is empty.
    Csv,
    /// One JSON object per line. A missing value is null.
    JsonLines,
}

/// Failure to write a table.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The output failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The output of CSV failed.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// A row could not be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl WriteError {
    /// Whether the reader of the output has closed it.
    pub fn is_closed_pipe(&self) -> bool {
        let kind = match self {
            Self::Io(error) => Some(error.kind()),
            Self::Csv(error) => match error.kind() {
                csv::ErrorKind::Io(error) => Some(error.kind()),
                _ => None,
            },
            Self::Json(error) => error.io_error_kind(),
        };
        kind == Some(io::ErrorKind::BrokenPipe)
    }
}

/// Writes the rows of a table that meet all conditions.
///
/// # Errors
///
/// [`WriteError`] if the output fails.
pub fn write_table(
    run: &ExportedRun<'_>,
    table: Table,
    conditions: &[Condition],
    format: RowFormat,
    output: impl Write,
) -> Result<(), WriteError> {
    let is_selected = |row: &[Value<'_>]| conditions.iter().all(|condition| condition.holds(row));
    let names = || table.columns().iter().map(|column| column.name);
    match format {
        RowFormat::Csv => {
            let mut writer = csv::Writer::from_writer(output);
            writer.write_record(names())?;
            table.try_for_each_row(run, |row| {
                if is_selected(row) { writer.write_record(row.iter().map(csv_text)) } else { Ok(()) }
            })?;
            Ok(writer.flush()?)
        }
        RowFormat::JsonLines => {
            let mut output = io::BufWriter::new(output);
            table.try_for_each_row(run, |row| -> Result<(), WriteError> {
                if is_selected(row) {
                    serde_json::Serializer::new(&mut output).collect_map(names().zip(row))?;
                    output.write_all(b"\n")?;
                }
                Ok(())
            })?;
            Ok(output.flush()?)
        }
    }
}

fn csv_text(value: &Value<'_>) -> String {
    match value {
        Value::Missing => String::new(),
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => text.to_string(),
    }
}
