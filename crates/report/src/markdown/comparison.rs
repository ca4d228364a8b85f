//! Two studies side by side, for a pull request.
//!
//! This module only writes; `crate::comparison` decides the words and the rows.

use std::fmt::{self, Write};

use morecores_view::Comparison;

use super::{code_span, escape_prose, write_table};
use crate::command;
use crate::comparison::{
    condition_text, different_commands, growth_table, growth_text, mismatch_lines, table, table_note,
    verdict_statement,
};

/// Writes a warning of different commands, the answer, conditions, table, components that grew, and
/// other differences between the studies.
///
/// # Errors
///
/// Fails if writing to `out` fails; writing to a `String` never does.
pub fn comparison_markdown(comparison: &Comparison, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "{}\n", code_span(&command::display_command(&comparison.new.command)))?;
    if let Some(warning) = different_commands(comparison) {
        writeln!(out, "**Warning:** {}\n", escape_prose(&warning))?;
    }
    writeln!(out, "**{}**\n", escape_prose(&verdict_statement(comparison).to_string()))?;
    for one in &comparison.conditions {
        let mark = match one.holds {
            Some(true) => "❌",
            Some(false) => "✅",
            None => "❔",
        };
        writeln!(out, "- {mark} {}", escape_prose(&condition_text(one)))?;
    }
    if !comparison.conditions.is_empty() {
        writeln!(out)?;
    }
    write_table(&table(comparison), out)?;
    growth_section(comparison, out)?;
    for line in mismatch_lines(comparison) {
        writeln!(out, "- **Note:** {}", escape_prose(&line))?;
    }
    writeln!(out, "\n<sub>{}</sub>", escape_prose(&table_note(comparison)))
}

fn growth_section(comparison: &Comparison, out: &mut impl Write) -> fmt::Result {
    let Some(text) = growth_text(comparison) else { return Ok(()) };
    if let Some(table) = growth_table(comparison) {
        write_table(&table, out)?;
    }
    writeln!(out, "{}\n", escape_prose(&text))
}
