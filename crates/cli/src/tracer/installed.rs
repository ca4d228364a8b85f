//! Tracer of `morecores-trace`: BPF programs, or perf events for users who may not load any.

use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use morecores_machine::{Remedy, doctor};
use morecores_measure::observer::{ObserverError, RunObserver};
use morecores_study::Point;
use morecores_study::trace::TraceFacts;
use morecores_trace::{LockProbe, Options, TraceError, Tracer};

use super::{RunTracer, TraceFiles, TraceRequest};

/// Version of libbpf.
pub(crate) fn libbpf_version() -> Option<String> {
    Some(morecores_trace::libbpf_version())
}

/// Fails unless full traces are available.
pub(crate) fn check_full(wanted: &TraceRequest) -> Result<()> {
    match open_any(wanted)?.bpf_refusal() {
        None => Ok(()),
        Some(refusal) => Err(anyhow!(with_remedy(refusal))),
    }
}

/// Best available tracer, for runs of the study at a path. If BPF is refused or missing, this is
/// the tracer that records only when threads ran. That tracer sees no system calls, so a request
/// for system calls is then refused.
pub(crate) fn open(wanted: &TraceRequest, study: &Path) -> Result<RunTracer> {
    let tracer = open_any(wanted)?;
    let shortfall = tracer.bpf_refusal().map(with_remedy);
    let files = TraceFiles::new(study, wanted.repetition);
    let observer = Box::new(InstalledTracer { tracer, files: files.clone() });
    Ok(RunTracer { observer, files, shortfall })
}

fn open_any(wanted: &TraceRequest) -> Result<Tracer> {
    let lock_probes = LockProbe::in_files(&wanted.lock_files).context("--locks exact")?;
    ensure!(
        wanted.lock_files.is_empty() || !lock_probes.is_empty(),
        "--locks exact counts calls of the pthread functions of a C library, and the command has none: leave it out"
    );
    let options = Options { syscalls: wanted.syscalls, lock_probes, ..Options::new(wanted.allotted.clone()) };
    Tracer::open(&options).map_err(|error| anyhow!(with_remedy(&error)))
}

/// Reason why there is no full trace. If a privilege is missing, the text contains the one command
/// that grants it.
fn with_remedy(error: &TraceError) -> String {
    match error {
        TraceError::Refused => {
            let remedy = match doctor::allow_tracing() {
                Remedy::Command { command, .. } => command,
                Remedy::Nothing { why } => why,
            };
            format!("a full trace needs CAP_BPF and CAP_PERFMON: {remedy}")
        }
        TraceError::NoSource { bpf, perf } => format!("{}; and without that: {perf}", with_remedy(bpf)),
        other => other.to_string(),
    }
}

struct InstalledTracer {
    tracer: Tracer,
    files: TraceFiles,
}

impl RunObserver for InstalledTracer {
    type Observation = TraceFacts;

    fn on_begin(&mut self, point: &Point) -> Result<(), ObserverError> {
        let sink = self.files.begin(point)?;
        self.tracer.begin(sink).map_err(ObserverError::new)
    }

    fn on_end(&mut self) -> Result<TraceFacts, ObserverError> {
        let facts = self.tracer.end().map_err(ObserverError::new)?;
        self.files.add_located(self.tracer.take_located_files());
        Ok(facts)
    }
}
