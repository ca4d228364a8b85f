//! Derives the displayed figures from the recorded data, and makes the header of a new study. The
//! subcommands that make studies and those that show them share this module.

use std::path::Path;

use morecores_explain::trace_view;
use morecores_machine::clock;
use morecores_predict::forecast::{Evidence, MemoryBudget, TracedProgram, forecast, what_if};
use morecores_study::trace::TraceHeader;
use morecores_study::{
    Bytes, Host, STUDY_SCHEMA, Study, StudyError, StudyHeader, Subject, read_trace_events,
};
use morecores_view::memory;
use morecores_view::{Gain, Prediction, TraceView, View};

use crate::options::default_targets;

/// Header of a new study.
pub(super) fn header<S: Subject>(subject: S, plan: S::Plan, host: Host) -> StudyHeader<S> {
    StudyHeader {
        schema: STUDY_SCHEMA.to_owned(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        created_at_ns: clock::realtime(),
        subject,
        plan,
        host,
        closing: None,
        unknown: serde_json::Map::new(),
    }
}

/// Name of a study: the name of its directory.
pub(super) fn study_name(path: &Path) -> String {
    let name =
        path.canonicalize().ok().and_then(|full| Some(full.file_name()?.to_string_lossy().into_owned()));
    name.unwrap_or_else(|| path.display().to_string())
}

/// Everything derived from a study.
pub(super) struct Derived {
    pub(super) view: View,
    /// Demand of each traced run, ready for replay.
    pub(super) programs: Vec<TracedProgram>,
    /// One line for each trace that cannot be read.
    pub(super) unread: Vec<String>,
}

/// Decodes the traces of the study at `path` and derives everything except a prediction.
pub(super) fn read(study: &Study, path: &Path) -> Derived {
    let damaged =
        study.damaged_traces.iter().map(|trace| format!("{}: {}", trace.path.display(), trace.reason));
    let (mut views, mut programs, mut unread) = (Vec::new(), Vec::new(), damaged.collect::<Vec<_>>());
    for header in &study.traces {
        match read_trace_events(path, header) {
            Ok(decoded) => {
                let view = trace_view(header, &decoded, &study.header.host.arch);
                programs.extend(TracedProgram::from_trace(header, &decoded, &view));
                views.push(view);
            }
            Err(error) => unread.push(error.to_string()),
        }
    }
    for line in &mut unread {
        line.push_str("; the study is shown without this trace");
    }
    Derived { view: morecores_view::view(study, &views), programs, unread }
}

/// View of the study for people, with the lines on unreadable traces. It includes a prediction if
/// the study was made for one, or if `always` is set and the data support one.
pub(super) fn view(study: &Study, path: &Path, always: bool) -> (View, Vec<String>) {
    let Derived { mut view, programs, unread } = read(study, path);
    let largest = view.points.last().map(|point| point.cpus);
    if let Some(largest) = largest.filter(|_| always || !view.plan.predict.is_empty()) {
        let evidence = evidence(study, &view, programs, None, None);
        view.prediction = usable_prediction(&evidence, &view, largest);
    }
    (view, unread)
}

/// Amount of derivation for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Measured figures only: for a study that is still being measured, on a machine that is busy
    /// with it.
    Measured,
    /// Also a prediction.
    Predicted,
    /// Also the gain of each change, for which the traces are replayed many times.
    WhatIf,
}

/// View of the study for a page, with the gains of changes and the lines on unreadable traces.
/// `depth` limits the derivation; a prediction appears if the data support one.
pub(super) fn for_page(study: &Study, path: &Path, depth: Depth) -> (View, Vec<Gain>, Vec<String>) {
    let Derived { mut view, programs, unread } = read(study, path);
    if depth == Depth::Measured {
        return (view, Vec::new(), unread);
    }
    let is_replayed = depth == Depth::WhatIf && !programs.is_empty();
    let evidence = evidence(study, &view, programs, None, None);
    let prediction = view.points.last().and_then(|point| usable_prediction(&evidence, &view, point.cpus));
    let gains = if is_replayed { what_if(&evidence, &[], None).unwrap_or_default() } else { Vec::new() };
    view.prediction = prediction;
    (view, gains, unread)
}

/// Evidence for a prediction, restricted to the CPU counts in `from` if given. `memory` is the
/// memory of the predicted machines in bytes, by default that of the measured machine.
pub(super) fn evidence(
    study: &Study,
    view: &View,
    programs: Vec<TracedProgram>,
    from: Option<&[u32]>,
    memory: Option<Bytes>,
) -> Evidence {
    let limit = memory.map(|memory| memory.0).or_else(|| memory::memory_limit(study));
    let room = memory::fit_demand(study, from).zip(limit);
    let memory = room.map(|(demand, limit)| MemoryBudget { demand, limit: limit as f64 });
    Evidence { memory, ..Evidence::from_view(view, programs, receives_n(study), from) }
}

/// Prediction for the default CPU counts; none if the evidence supports no count.
fn usable_prediction(evidence: &Evidence, view: &View, largest: u32) -> Option<Prediction> {
    let prediction = forecast(evidence, &default_targets(view, largest))?;
    Some(prediction).filter(|prediction| !prediction.points.is_empty())
}

/// Whether the command was told the number of CPUs.
pub(super) fn receives_n(study: &Study) -> bool {
    study.header.plan.tells_n(&study.header.subject)
}

/// View of one trace of the study at `path`, made on a machine of architecture `arch`.
pub(super) fn trace(path: &Path, header: &TraceHeader, arch: &str) -> Result<TraceView, StudyError> {
    let decoded = read_trace_events(path, header)?;
    Ok(trace_view(header, &decoded, arch))
}
