//! One traced run in Markdown, without another run to compare it with: the table of its components.

use std::fmt::{self, Write};

use morecores_view::TraceView;

use super::prose;
use crate::format::{TimeUnit, column, percent};
use crate::stack::{lossy, untold};
use crate::trace::{headline, name, parts, sentences, whole};

/// Writes the headline, the components, and the single figures as sentences.
pub(super) fn trace(trace: &TraceView, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "**Where the CPUs went**: {}\n", prose(&headline(trace)))?;
    if let Some(lossy) = lossy(trace) {
        writeln!(out, "**{}**\n", prose(&lossy))?;
    }
    let parts = parts(trace, false);
    if !parts.is_empty() {
        let unit = TimeUnit::for_column([trace.elapsed_s]);
        let seconds: Vec<f64> = parts.iter().map(|(_, seconds)| seconds / unit.seconds()).collect();
        writeln!(out, "| of the CPUs' time | CPU time ({}) | share |", unit.symbol())?;
        writeln!(out, "|:---|---:|---:|")?;
        for ((part, seconds), time) in parts.iter().zip(column(&seconds)) {
            writeln!(
                out,
                "| {} | {time} | {} |",
                prose(&name(*part, trace)),
                percent(seconds / whole(trace))
            )?;
        }
        writeln!(out)?;
    }
    let mut sentences = sentences(trace);
    sentences.extend(untold(std::slice::from_ref(trace)));
    if sentences.is_empty() { Ok(()) } else { writeln!(out, "{}\n", prose(&sentences.join(" "))) }
}
