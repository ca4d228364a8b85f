//! Makes traced runs with an executor and a tracer.
//!
//! A failure here must not spoil the timed runs: it becomes a message.

use anyhow::{Result, anyhow};
use morecores_measure::executor::{Outcome, ProcessExecutor};
use morecores_measure::spawn::STOPPED_FOR;
use morecores_measure::sweep::Trial;
use morecores_study::trace::{TRACE_SCHEMA, TraceHeader};
use morecores_study::{Exit, Plan, Point, Run, StopReason, Study};
use rustix::process::Signal;

use morecores_report::success_list;

use crate::tracer::{DebugFiles, RunTracer, UnfinishedTrace};

/// Traced run, successful or not.
#[derive(Debug)]
pub(super) struct TracedRun {
    pub(super) outcome: Outcome,
    /// Trace, complete except for its end.
    trace: Result<(UnfinishedTrace, TraceHeader)>,
}

impl TracedRun {
    /// Makes one run and traces it. The run is kept only together with its trace.
    pub(super) fn make(
        executor: &mut ProcessExecutor,
        tracer: &mut RunTracer,
        trial: &Trial<Point>,
    ) -> Result<Self> {
        let observed_run = executor.execute_observed(trial, tracer.observer.as_mut())?;
        let files = tracer.files.take();
        let trace = observed_run.observed.map_err(anyhow::Error::from).and_then(|facts| {
            let header = TraceHeader {
                schema: TRACE_SCHEMA.to_owned(),
                run: observed_run.outcome.run.clone(),
                repetition: tracer.files.repetition(),
                began_ns: observed_run.began,
                ended_ns: observed_run.ended,
                facts,
                unknown: serde_json::Map::new(),
            };
            Ok((files.ok_or_else(|| anyhow!("the tracer returned no header"))?, header))
        });
        Ok(Self { outcome: observed_run.outcome, trace })
    }

    /// Keeps the trace and returns its header. `debug_files` are those of servers, if the user
    /// wants them.
    pub(super) fn keep(self, debug_files: Option<&DebugFiles>) -> Result<TraceHeader> {
        let (files, mut header) = self.trace?;
        files.finish(&mut header, debug_files)?;
        Ok(header)
    }
}

/// Message on the trace of a run that a signal cut short.
pub(super) const CUT_SHORT: &str = "stopped: the trace ends there";

/// Whether `morecores trace` made this study, and a signal cut its run short. An interrupted sweep
/// keeps only whole traces, and has runs.
pub(super) fn has_cut_short_trace(study: &Study) -> bool {
    let interrupted = study.header.closing.as_ref().is_some_and(|c| c.reason == StopReason::Interrupted);
    interrupted && study.runs.is_empty() && !study.traces.is_empty()
}

/// Description of how an unsuccessful run ended.
pub(super) fn describe_end(outcome: &Outcome) -> String {
    if let Some(error) = &outcome.no_figure {
        return format!("has no figure: {error}");
    }
    match outcome.run.exit {
        Exit::Code(code) => format!("exited with status {code}"),
        Exit::Signal(signal) => format!("was ended by signal {signal}"),
        Exit::Stopped(signal) => {
            let seconds = STOPPED_FOR.as_secs_f64();
            format!("was stopped by {} and ended after {seconds:.0} s", stop_signal(signal))
        }
        Exit::TimedOut => "ran past --timeout and was ended".to_owned(),
    }
}

/// Advice on an unsuccessful run, if there is any: how to prevent its stop, or the option that
/// accepts its exit status.
pub(super) fn advice(outcome: &Outcome, plan: &Plan) -> Option<String> {
    let run = &outcome.run;
    if let (Exit::Code(status), None) = (run.exit, &outcome.no_figure) {
        let mut success = plan.success.clone();
        success.extend(u8::try_from(status));
        return Some(format!(
            "if this status is expected, --success {} counts such runs",
            success_list(&success)
        ));
    }
    advice_where_stopped(run).map(str::to_owned)
}

/// Advice on how to prevent the stop of a run; none if no signal stopped the run.
fn advice_where_stopped(run: &Run) -> Option<&'static str> {
    let Exit::Stopped(signal) = run.exit else { return None };
    Some(match Signal::from_named_raw(signal) {
        Some(Signal::TTIN) => {
            "it reads the terminal, and morecores runs in the background: start morecores in the foreground, or \
             give the command its input by --input"
        }
        Some(Signal::TTOU) => {
            "it sets the terminal, and morecores runs in the background: start morecores in the foreground"
        }
        _ => "nothing sent it SIGCONT: find out what stops it, or make the command send SIGCONT itself",
    })
}

/// Name of a signal that stops a process.
fn stop_signal(signal: i32) -> String {
    match Signal::from_named_raw(signal) {
        Some(Signal::TTIN) => "SIGTTIN".to_owned(),
        Some(Signal::TTOU) => "SIGTTOU".to_owned(),
        Some(Signal::STOP) => "SIGSTOP".to_owned(),
        Some(Signal::TSTP) => "SIGTSTP".to_owned(),
        _ => format!("signal {signal}"),
    }
}

/// Note on a trace that records only when threads ran, and on how to get a full one; none for a
/// full trace.
pub(super) fn missing_causes_note(tracer: &RunTracer) -> Option<String> {
    tracer
        .shortfall
        .as_ref()
        .map(|why| format!("the trace shows when threads ran, not why they waited: {why}"))
}
