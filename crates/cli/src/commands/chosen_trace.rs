//! The trace of a study that a command reads alone, by its name.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use morecores_explain::DecodedTrace;
use morecores_study::trace::{TraceHeader, trace_name};
use morecores_study::{InCell, Phase, Study};
use morecores_view::order_of_traces;

use crate::terminal;

/// Finds the trace with this name; without a name, the shown run on the most measured CPUs. `path`
/// is that of the study.
pub(super) fn find_trace<'s>(study: &'s Study, path: &Path, name: Option<&str>) -> Result<&'s TraceHeader> {
    let ordered = order_of_traces(&study.traces);
    let Some(last) = ordered.last() else {
        bail!(
            "{} has no trace: `morecores run --trace on` makes one (as root, or with what `morecores doctor` says)",
            path.display()
        );
    };
    match name {
        None => {
            // Runs traced only for a prediction have no timed runs.
            let is_timed = |trace: &TraceHeader| {
                let mut timed = study.runs.iter().filter(|run| run.phase == Phase::Timed);
                timed.any(|run| run.cell() == trace.run.cell())
            };
            let cell = ordered.iter().rfind(|trace| is_timed(trace)).unwrap_or(last).run.cell();
            Ok(ordered.iter().find(|trace| trace.run.cell() == cell).copied().unwrap_or(last))
        }
        Some(name) => ordered.iter().find(|trace| trace_name(trace) == name).copied().ok_or_else(|| {
            let names: Vec<String> = ordered.iter().map(|trace| trace_name(trace)).collect();
            anyhow!("{} has no trace {name:?}; its traces are {}", path.display(), names.join(", "))
        }),
    }
}

/// Tells the user if a trace lost events.
pub(super) fn note_lost_events(trace: &DecodedTrace<'_>) {
    let lost = trace.lost_events();
    if lost > 0 {
        terminal::note(&format!("the trace lost {lost} events: what is around them is missing or wrong"));
    }
}
