//! Study of a command in memory, read once and passed down: its record, and the figures that its
//! runs and traces show.
//!
//! The subcommands that show studies share this module. It prints nothing.

use std::path::Path;

use morecores_explain::{DecodedTrace, Lanes, lanes, trace_view};
use morecores_machine::placement::CpuOrder;
use morecores_predict::forecast::{Evidence, MemoryBudget, TracedProgram, forecast, what_if};
use morecores_study::trace::TraceHeader;
use morecores_study::trace::read_trace_events;
use morecores_study::{Bytes, Cell, CpuSet, InCell, Limit, Scaling, Study, StudyError};
use morecores_view::machine_memory::{MemoryPoint, machine_memory};
use morecores_view::memory;
use morecores_view::{Gain, Prediction, TraceView, View, order_of_traces};

use crate::options::default_targets;

/// Name of a study: the name of its directory.
pub(super) fn study_name(path: &Path) -> String {
    let name =
        path.canonicalize().ok().and_then(|full| Some(full.file_name()?.to_string_lossy().into_owned()));
    name.unwrap_or_else(|| path.display().to_string())
}

/// Study of a command with all figures that its readers need.
///
/// Loading decodes each trace once and keeps what follows from it, but neither the events nor the
/// timeline. A later step can therefore not decode a trace again.
pub(super) struct LoadedStudy {
    pub(super) study: Study,
    /// Everything derived from the study; the prediction is absent until [`LoadedStudy::predict`].
    pub(super) view: View,
    /// Demand of the shown traced run of each cell, ready for replay.
    programs: Vec<TracedProgram>,
    /// Shown traced runs over time, in the order of the view's traces; empty if no page was asked
    /// for.
    pub(super) lanes: Vec<RunLanes>,
    /// One line for each trace that cannot be read.
    pub(super) unread: Vec<String>,
}

/// Traced run over time.
pub(super) struct RunLanes {
    pub(super) cell: Cell,
    pub(super) cpus: u32,
    pub(super) n: u32,
    pub(super) lanes: Lanes,
}

/// Purpose of loading a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Figures alone.
    Figures,
    /// Page, which also draws the traced runs over time.
    Page,
}

impl LoadedStudy {
    /// Reads the study of a command at `path`.
    pub(super) fn read(path: &Path, purpose: Purpose) -> Result<Self, StudyError> {
        Ok(Self::new(Study::read(path)?, path, purpose))
    }

    /// Derives the figures of `study`, which was read from `path`.
    pub(super) fn new(study: Study, path: &Path, purpose: Purpose) -> Self {
        let damaged =
            study.damaged_traces.iter().map(|trace| format!("{}: {}", trace.path.display(), trace.reason));
        let mut unread: Vec<String> = damaged.collect();
        let (mut views, mut programs, mut all_lanes) = (Vec::new(), Vec::new(), Vec::new());
        for header in order_of_traces(&study.traces) {
            match decode(path, header) {
                Ok(decoded) => {
                    let view = trace_view(&decoded, &study.header.host.arch);
                    let is_shown = views.last().is_none_or(|last: &TraceView| last.cell() != view.cell());
                    if is_shown {
                        programs.extend(TracedProgram::from_trace(&decoded, &view));
                    }
                    views.push(view);
                    if is_shown && purpose == Purpose::Page {
                        let (cell, lanes) = (header.run.cell(), lanes(&decoded));
                        all_lanes.push(RunLanes { cell, cpus: header.run.cpus, n: header.run.n, lanes });
                    }
                }
                Err(error) => unread.push(error.to_string()),
            }
        }
        for line in &mut unread {
            line.push_str("; the study is shown without this trace");
        }
        let view = morecores_view::view(&study, &views);
        Self { study, view, programs, lanes: all_lanes, unread }
    }

    /// Whether the study has a traced run that can be replayed.
    pub(super) fn has_programs(&self) -> bool {
        !self.programs.is_empty()
    }

    /// Evidence for a prediction, restricted to the CPU counts in `from` if given. `memory` is the
    /// memory of the predicted machines in bytes, by default that of the measured machine. The
    /// programs move into the evidence, since they are large.
    pub(super) fn take_evidence(&mut self, from: Option<&[u32]>, memory: Option<Bytes>) -> Evidence {
        let Self { study, view, programs, .. } = self;
        let limit = memory.map(|memory| memory.0).or_else(|| memory::memory_limit(study));
        let room = memory::fit_demand(study, from).zip(limit);
        let memory = room.map(|(demand, limit)| MemoryBudget { demand, limit: limit as f64 });
        let programs = std::mem::take(programs);
        let receives_n = study.header.plan.tells_n(&study.header.subject);
        let order = cpu_order(view);
        let cpu_kinds = order.steps().iter().map(|step| step.kind).collect();
        let memory_speed = memory_points(view, &order);
        Evidence { memory, receives_n, cpu_kinds, memory_speed, ..Evidence::from_view(view, programs, from) }
    }

    /// Adds a prediction to the view if the data support one.
    pub(super) fn predict(&mut self) {
        let evidence = self.take_evidence(None, None);
        self.view.prediction = usable_prediction(&evidence, &self.view);
    }

    /// Adds a prediction to the view if the study was made for one and the data support one.
    pub(super) fn predict_as_planned(&mut self) {
        if !self.view.plan.predict.is_empty() {
            self.predict();
        }
    }

    /// Adds a prediction to the view if the data support one, and returns the gain of each change.
    /// The gains take the longest: the traces are replayed once for each change.
    pub(super) fn predict_with_gains(&mut self) -> Vec<Gain> {
        let has_programs = self.has_programs();
        let evidence = self.take_evidence(None, None);
        self.view.prediction = usable_prediction(&evidence, &self.view);
        let has_gains = has_programs && unpredictable(&self.view).is_none();
        if has_gains { what_if(&evidence, &[], None).unwrap_or_default() } else { Vec::new() }
    }
}

/// Reason for which the runs of a study tell nothing about the same work on more CPUs; none if they
/// may tell something.
pub(super) fn unpredictable(view: &View) -> Option<&'static str> {
    if view.plan.scaling == Scaling::Weak {
        return Some("its work grows with {n}: measure without --weak");
    }
    (view.plan.limit == Limit::Quota).then_some("its runs differ in CPU quotas: measure without --quota")
}

/// Usable CPUs of the measured machine, in the order in which the study's counts add them; empty
/// for a study of listed CPUs.
fn cpu_order(view: &View) -> CpuOrder {
    let topology = &view.host.topology;
    let Some(placement) = view.plan.placement else { return CpuOrder::default() };
    CpuOrder::from_policy(topology, &topology.usable.cpus, placement)
}

/// Speed of the machine's memory for the first CPUs of `order`, up to the first count that was
/// measured with other CPUs.
fn memory_points(view: &View, order: &CpuOrder) -> Vec<MemoryPoint> {
    let Some(speed) = &view.host.memory_speed else { return Vec::new() };
    let is_of_order = |cpus: &CpuSet| order.cpus(cpus.len()) == *cpus;
    let same = speed.points.iter().take_while(|point| is_of_order(&point.cpus)).count();
    let mut points = machine_memory(speed).points;
    points.truncate(same);
    points
}

/// Prediction for the default CPU counts; none if the evidence supports no count.
fn usable_prediction(evidence: &Evidence, view: &View) -> Option<Prediction> {
    if unpredictable(view).is_some() {
        return None;
    }
    let largest = view.points.last()?.cpus;
    let prediction = forecast(evidence, &default_targets(view, largest))?;
    Some(prediction).filter(|prediction| !prediction.points.is_empty())
}

/// View of a study, which was read from `path`, with the prediction for which it was made.
pub(super) fn planned_view(study: Study, path: &Path) -> View {
    let mut loaded = LoadedStudy::new(study, path, Purpose::Figures);
    loaded.predict_as_planned();
    loaded.view
}

/// View of a single traced run, which was made on a machine of architecture `arch`. `path` is that
/// of its study.
pub(super) fn view_of_trace(path: &Path, header: &TraceHeader, arch: &str) -> Result<TraceView, StudyError> {
    Ok(trace_view(&decode(path, header)?, arch))
}

/// Decodes a trace of the study at `path`. No other function of this crate reads events.
pub(super) fn decode<'h>(path: &Path, header: &'h TraceHeader) -> Result<DecodedTrace<'h>, StudyError> {
    Ok(DecodedTrace::new(header, read_trace_events(path, header)?))
}
