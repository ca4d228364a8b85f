//! Two studies beside each other, for a pull request.
//!
//! This module only writes; `crate::comparison` decides the words and the rows.

use std::fmt::{self, Write};

use morecores_view::Comparison;

use super::{code, prose};
use crate::command;
use crate::comparison::{answer, columns, different_commands, grown, grown_rows, judged, note, unlike};

/// Writes a warning of different commands, the answer, conditions, table, components that grew, and
/// other differences between the studies.
///
/// # Errors
///
/// Fails if writing to `out` fails; writing to a `String` never does.
pub fn comparison_markdown(comparison: &Comparison, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "{}\n", code(&command::for_reading(&comparison.new.command)))?;
    if let Some(warning) = different_commands(comparison) {
        writeln!(out, "**Warning:** {}\n", prose(&warning))?;
    }
    writeln!(out, "**{}**\n", prose(&answer(comparison)))?;
    for one in &comparison.conditions {
        let mark = match one.holds {
            Some(true) => "❌",
            Some(false) => "✅",
            None => "❔",
        };
        writeln!(out, "- {mark} {}", prose(&judged(one)))?;
    }
    if !comparison.conditions.is_empty() {
        writeln!(out)?;
    }
    let columns = columns(comparison);
    let headers: Vec<String> = columns.iter().map(|(header, _)| prose(header)).collect();
    writeln!(out, "| {} |", headers.join(" | "))?;
    writeln!(out, "|{}", "---:|".repeat(headers.len()))?;
    for row in 0..comparison.points.len() {
        let cells: Vec<&str> = columns.iter().map(|(_, cells)| cells[row].as_str()).collect();
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    writeln!(out)?;
    stack(comparison, out)?;
    for line in unlike(comparison) {
        writeln!(out, "- **Note:** {}", prose(&line))?;
    }
    writeln!(out, "\n<sub>{}</sub>", prose(&note(comparison)))
}

fn stack(comparison: &Comparison, out: &mut impl Write) -> fmt::Result {
    let Some(said) = grown(comparison) else { return Ok(()) };
    let rows = grown_rows(comparison);
    if !rows.is_empty() {
        let headers: Vec<String> = comparison.stack.iter().map(|s| format!("of {}", s.cpus)).collect();
        writeln!(out, "| CPUs, NEW less BASE | {} |", headers.join(" | "))?;
        writeln!(out, "|:---|{}", "---:|".repeat(headers.len()))?;
        for (name, cells) in &rows {
            writeln!(out, "| {} | {} |", prose(name), cells.join(" | "))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "{}\n", prose(&said))
}
