//! One traced run in Markdown, without another run to compare it with: the table of its components.

use morecores_study::Quantity;
use std::fmt::{self, Write};

use morecores_view::TraceView;
use morecores_view::page::TableCell;

use super::{escape_prose, write_table};
use crate::format::column_cells;
use crate::stack::{Part, lossy_note, untraced_note};
use crate::table::{Column, Table, figure_cell};
use crate::trace::{headline, part_name, sentences, total_cpu_seconds, trace_parts};

/// Writes the headline, the components, and the single figures as sentences.
pub(super) fn write_trace(trace: &TraceView, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "**Where the CPUs went**: {}\n", escape_prose(&headline(trace)))?;
    if let Some(lossy) = lossy_note(trace) {
        writeln!(out, "**{}**\n", escape_prose(&lossy.to_string()))?;
    }
    let parts = trace_parts(trace, false);
    if !parts.is_empty() {
        let unit = Quantity::Time.column_scale([trace.elapsed_s]);
        let seconds: Vec<f64> = parts.iter().map(|(_, seconds)| seconds / unit.size).collect();
        let times = column_cells(&seconds).into_iter().map(TableCell::name);
        let share = |(_, seconds): &(Part, f64)| {
            figure_cell(Quantity::Share, Some(seconds / total_cpu_seconds(trace)))
        };
        let columns = vec![
            Column::labels("of the CPUs' time", parts.iter().map(|(part, _)| part_name(*part, trace))),
            Column::figures(0, &format!("CPU time ({})", unit.symbol), times),
            Column::figures(0, "share", parts.iter().map(share)),
        ];
        write_table(&Table::new("", columns), out)?;
    }
    let mut sentences = sentences(trace);
    sentences.extend(untraced_note(std::slice::from_ref(trace)));
    if sentences.is_empty() { Ok(()) } else { writeln!(out, "{}\n", escape_prose(&sentences.join(" "))) }
}
