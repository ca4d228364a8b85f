//! The speedup stacks in Markdown: the table of where the CPUs went, and the causes.

use std::fmt::{self, Write};

use morecores_view::View;

use super::escape_prose;
use crate::causes;
use crate::causes::cause_clauses;
use crate::stack::{Parts, lossy_note, part_notes, stack_notes};

/// Writes table, causes of the largest count and notes; nothing without a stack.
pub(super) fn write_stack(view: &View, out: &mut impl Write) -> fmt::Result {
    let Some(largest) = view.stack.last() else { return Ok(()) };
    let parts = Parts::from_view(view, false);
    writeln!(out, "**Where the CPUs went**\n")?;
    let header: Vec<String> = view.stack.iter().map(|s| format!("of {}", s.cpus)).collect();
    writeln!(out, "| CPUs | {} |", header.join(" | "))?;
    writeln!(out, "|:---|{}", "---:|".repeat(header.len()))?;
    for part in parts.rows() {
        let figures: Vec<String> = view.stack.iter().map(|s| parts.figure(part, s)).collect();
        writeln!(out, "| {} | {} |", escape_prose(&parts.name(part)), figures.join(" | "))?;
    }
    writeln!(out)?;

    let mut clauses = cause_clauses(&causes(largest, view));
    clauses.extend(part_notes(largest, view));
    for clause in &clauses {
        writeln!(out, "- {}", escape_prose(clause))?;
    }
    if !clauses.is_empty() {
        writeln!(out)?;
    }
    for lossy in view.traces.iter().filter_map(lossy_note) {
        writeln!(out, "**{}**\n", escape_prose(&lossy.to_string()))?;
    }
    writeln!(out, "<sub>{}</sub>\n", escape_prose(&stack_notes(view).join(" ")))
}
