//! Tracer of `morecores-trace`: BPF programs, or perf events for users who may not load any.

use anyhow::{Result, anyhow};
use morecores_study::trace::{TRACE_SCHEMA, TraceHeader};
use morecores_study::{Nanos, Run};
use morecores_trace::{Options, TraceError, TraceSummary};
use tracing::debug;

use super::{Sink, TraceRequest, Tracer, remedy};

/// Version of libbpf.
pub(crate) fn libbpf_version() -> Option<String> {
    Some(morecores_trace::libbpf_version())
}

/// Tracer of full traces.
pub(crate) fn open_in_full(wanted: &TraceRequest) -> Result<Box<dyn Tracer>> {
    let tracer = opened(wanted)?;
    match tracer.shortfall() {
        None => Ok(Box::new(tracer)),
        Some(why) => Err(anyhow!(why)),
    }
}

/// Best available tracer. If BPF is refused or missing, this is the tracer that records only when
/// threads ran. That tracer sees no system calls, so a request for system calls is then refused.
pub(crate) fn open(wanted: &TraceRequest) -> Result<Box<dyn Tracer>> {
    Ok(Box::new(opened(wanted)?))
}

fn opened(wanted: &TraceRequest) -> Result<InstalledTracer> {
    let options = Options { syscalls: wanted.syscalls, ..Options::new(wanted.allotted.clone()) };
    let tracer = morecores_trace::Tracer::open(&options).map_err(|error| anyhow!(in_words(&error)))?;
    let wake_latency = morecores_trace::wake_latency();
    debug!("wake-up of an idle CPU: {wake_latency:?}");
    Ok(InstalledTracer { tracer, wake_latency, recorded: None })
}

/// Reason why there is no full trace. If a privilege is missing, the text contains the one command
/// that grants it.
fn in_words(error: &TraceError) -> String {
    match error {
        TraceError::Refused => format!("a full trace needs CAP_BPF and CAP_PERFMON: {}", remedy()),
        TraceError::NoSource { bpf, perf } => format!("{}; and without that: {perf}", in_words(bpf)),
        other => other.to_string(),
    }
}

struct InstalledTracer {
    tracer: morecores_trace::Tracer,
    wake_latency: Option<Nanos>,
    recorded: Option<TraceSummary>,
}

impl Tracer for InstalledTracer {
    fn shortfall(&self) -> Option<String> {
        self.tracer.bpf_refusal().map(in_words)
    }

    fn begin(&mut self, sink: Sink) -> Result<()> {
        self.recorded = None;
        Ok(self.tracer.begin(sink)?)
    }

    fn end(&mut self) -> Result<()> {
        self.recorded = Some(self.tracer.end()?);
        Ok(())
    }

    fn header(&mut self, run: Run, began_ns: Nanos, ended_ns: Nanos) -> Option<TraceHeader> {
        let recorded = self.recorded.take()?;
        Some(TraceHeader {
            schema: TRACE_SCHEMA.to_owned(),
            source: recorded.source,
            run,
            root: recorded.root,
            began_ns,
            ended_ns,
            known: recorded.known,
            events: recorded.events,
            lost: recorded.lost,
            missed: recorded.missed,
            tracer: recorded.tracer,
            costs: recorded.costs,
            sample_period_ns: recorded.sample_period,
            tick_ns: recorded.tick,
            interrupts_accounted: recorded.interrupts_accounted,
            held_is_told: recorded.held_is_told,
            wake_latency_ns: self.wake_latency,
            stack_share: recorded.stack_share,
            stacks: recorded.stacks,
            interrupts: recorded.interrupts,
            untraced: recorded.untraced,
            unknown: serde_json::Map::new(),
        })
    }
}
