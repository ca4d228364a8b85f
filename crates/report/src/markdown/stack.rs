//! The speedup stacks in Markdown: the table of where the CPUs went, and the causes.

use std::fmt::{self, Write};

use morecores_view::View;

use super::prose;
use crate::causes;
use crate::causes::word_causes;
use crate::stack::{Parts, besides, lossy, notes};

/// Writes table, causes of the largest count and notes; nothing without a stack.
pub(super) fn stack(view: &View, out: &mut impl Write) -> fmt::Result {
    let Some(largest) = view.stack.last() else { return Ok(()) };
    let parts = Parts::of(view, false);
    writeln!(out, "**Where the CPUs went**\n")?;
    let header: Vec<String> = view.stack.iter().map(|s| format!("of {}", s.cpus)).collect();
    writeln!(out, "| CPUs | {} |", header.join(" | "))?;
    writeln!(out, "|:---|{}", "---:|".repeat(header.len()))?;
    for part in parts.rows() {
        let figures: Vec<String> = view.stack.iter().map(|s| parts.figure(part, s)).collect();
        writeln!(out, "| {} | {} |", prose(&parts.name(part)), figures.join(" | "))?;
    }
    writeln!(out)?;

    let mut clauses = word_causes(&causes(largest, view));
    clauses.extend(besides(largest, view));
    for clause in &clauses {
        writeln!(out, "- {}", prose(clause))?;
    }
    if !clauses.is_empty() {
        writeln!(out)?;
    }
    for lossy in view.traces.iter().filter_map(lossy) {
        writeln!(out, "**{}**\n", prose(&lossy))?;
    }
    writeln!(out, "<sub>{}</sub>\n", prose(&notes(view).join(" ")))
}
