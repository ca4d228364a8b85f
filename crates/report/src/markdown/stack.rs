//! The speedup stacks in Markdown: the table of where the CPUs went, and the causes.

use std::fmt::{self, Write};

use morecores_view::page::TableCell;
use morecores_view::{StackView, View};

use super::{escape_prose, write_table};
use crate::causes;
use crate::causes::cause_clauses;
use crate::code::{FunctionRows, function_losses_table};
use crate::stack::{Part, Parts, lossy_note, part_notes, stack_notes};
use crate::table::{Column, Table};

/// Writes table, causes of the largest count and notes; nothing without a stack.
pub(super) fn write_stack(view: &View, out: &mut impl Write) -> fmt::Result {
    let Some(largest) = view.stack.last() else { return Ok(()) };
    let parts = Parts::from_view(view, false);
    writeln!(out, "**Where the CPUs went**\n")?;
    let rows = parts.rows();
    let count = |stack: &StackView| {
        let cell = |part: &Part| TableCell::name(parts.figure(*part, stack));
        Column::figures(0, &format!("of {}", stack.cpus), rows.iter().map(cell))
    };
    let names = Column::labels("CPUs", rows.iter().map(|part| parts.name(*part)));
    let columns = std::iter::once(names).chain(view.stack.iter().map(count)).collect();
    write_table(&Table::new("", columns), out)?;

    let mut clauses = cause_clauses(&causes(largest, view));
    clauses.extend(part_notes(largest, view));
    for clause in &clauses {
        writeln!(out, "- {}", escape_prose(clause))?;
    }
    if !clauses.is_empty() {
        writeln!(out)?;
    }
    if let Some(functions) = function_losses_table(largest, FunctionRows::Largest) {
        write_table(&functions, out)?;
    }
    for lossy in view.traces.iter().filter_map(lossy_note) {
        writeln!(out, "**{}**\n", escape_prose(&lossy.to_string()))?;
    }
    writeln!(out, "<sub>{}</sub>\n", escape_prose(&stack_notes(view).join(" ")))
}
