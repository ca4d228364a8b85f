//! One traced run in Markdown, without another run to compare it with: the table of its components.

use morecores_study::Quantity;
use std::fmt::{self, Write};

use morecores_view::TraceView;

use super::escape_prose;
use crate::format::{column_cells, percent};
use crate::stack::{lossy_note, untraced_note};
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
        writeln!(out, "| of the CPUs' time | CPU time ({}) | share |", unit.symbol)?;
        writeln!(out, "|:---|---:|---:|")?;
        for ((part, seconds), time) in parts.iter().zip(column_cells(&seconds)) {
            writeln!(
                out,
                "| {} | {time} | {} |",
                escape_prose(&part_name(*part, trace)),
                percent(seconds / total_cpu_seconds(trace))
            )?;
        }
        writeln!(out)?;
    }
    let mut sentences = sentences(trace);
    sentences.extend(untraced_note(std::slice::from_ref(trace)));
    if sentences.is_empty() { Ok(()) } else { writeln!(out, "{}\n", escape_prose(&sentences.join(" "))) }
}
