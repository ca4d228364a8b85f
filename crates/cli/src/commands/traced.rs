//! Makes traced runs with an executor, a tracer and the file of a trace.
//!
//! A failure here must not spoil the timed runs: it becomes a message.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow};
use morecores_measure::executor::{Outcome, ProcessExecutor};
use morecores_measure::observer::{ObserverError, RunObserver};
use morecores_measure::spawn::STOPPED_FOR;
use morecores_measure::sweep::Trial;
use morecores_study::trace::{StreamWriter, TraceHeader};
use morecores_study::{Exit, InCell, Plan, Point, Run, StopReason, Study, StudyError, TraceWriter};
use rustix::process::Signal;

use morecores_report::success_list;

use crate::tracer::Tracer;

/// Traced run, successful or not.
#[derive(Debug)]
pub(super) struct TracedRun {
    pub(super) outcome: Outcome,
    /// Trace, complete except for its end.
    trace: Result<(Files, TraceHeader)>,
}

impl TracedRun {
    /// Makes one run and traces it into the study at the path `study`. The run is kept only
    /// together with its trace.
    pub(super) fn make(
        executor: &mut ProcessExecutor,
        tracer: &mut dyn Tracer,
        trial: &Trial<Point>,
        study: &Path,
    ) -> Result<Self> {
        let mut watching = TraceRecorder { tracer, study, stream: Stream::default() };
        let made = executor.execute_observed(trial, &mut watching)?;
        let TraceRecorder { tracer, stream, .. } = watching;
        let header = tracer.header(made.outcome.run.clone(), made.began, made.ended);
        let trace = made
            .observed
            .map_err(anyhow::Error::from)
            .and_then(|()| stream.take().zip(header).ok_or_else(|| anyhow!("the tracer told nothing")));
        Ok(Self { outcome: made.outcome, trace })
    }

    /// Keeps the trace and returns its header.
    pub(super) fn keep(self) -> Result<TraceHeader> {
        let (files, header) = self.trace?;
        files.finish(&header)?;
        Ok(header)
    }
}

/// Files of a trace that is being recorded. They are removed unless they are finished.
#[derive(Debug)]
struct Files {
    stream: StreamWriter<File>,
    trace: TraceWriter,
}

impl Files {
    fn create(study: &Path, point: &Point) -> Result<Self, StudyError> {
        let trace = TraceWriter::create(study, point.cell())?;
        let stream = StreamWriter::new(trace.sink()?).map_err(|source| StudyError::Io {
            action: "write a trace to",
            path: study.to_owned(),
            source,
        })?;
        Ok(Self { stream, trace })
    }

    fn finish(self, header: &TraceHeader) -> Result<()> {
        self.stream.finish().context("cannot write the end of a trace")?;
        Ok(self.trace.commit(header)?)
    }
}

/// Files of the run in progress. The tracer delivers events on a separate thread.
#[derive(Clone, Default)]
struct Stream(Arc<Mutex<Option<Files>>>);

impl Stream {
    fn with<T>(&self, use_it: impl FnOnce(&mut Option<Files>) -> T) -> T {
        // A panic elsewhere leaves a frame unwritten, and the reader detects that.
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn take(&self) -> Option<Files> {
        self.with(Option::take)
    }
}

/// Tracer at work on the runs of one study.
struct TraceRecorder<'a> {
    tracer: &'a mut dyn Tracer,
    study: &'a Path,
    stream: Stream,
}

impl RunObserver for TraceRecorder<'_> {
    fn begins(&mut self, point: &Point) -> Result<(), ObserverError> {
        // Nothing of an earlier attempt is kept.
        drop(self.stream.take());
        let files = Files::create(self.study, point).map_err(ObserverError::new)?;
        self.stream.with(|stream| *stream = Some(files));
        let stream = self.stream.clone();
        let sink = move |cpu, events: &[_]| {
            stream.with(|files| files.as_mut().map_or(Ok(()), |files| files.stream.frame(cpu, events)))
        };
        self.tracer.begin(Box::new(sink)).map_err(ObserverError::new)
    }

    fn ended(&mut self) -> Result<(), ObserverError> {
        self.tracer.end().map_err(ObserverError::new)
    }
}

/// Message on the trace of a run that a signal cut short.
pub(super) const CUT_SHORT: &str = "stopped: the trace is of the run up to there";

/// Whether `morecores trace` made this study, and a signal cut its run short. An interrupted sweep
/// keeps only whole traces, and has runs.
pub(super) fn has_cut_short_trace(study: &Study) -> bool {
    let interrupted = study.header.closing.as_ref().is_some_and(|c| c.reason == StopReason::Interrupted);
    interrupted && study.runs.is_empty() && !study.traces.is_empty()
}

/// Description of how an unsuccessful run ended.
pub(super) fn how_it_ended(outcome: &Outcome) -> String {
    if let Some(error) = &outcome.no_figure {
        return format!("has no figure: {error}");
    }
    match outcome.run.exit {
        Exit::Code(code) => format!("exited with status {code}"),
        Exit::Signal(signal) => format!("was ended by signal {signal}"),
        Exit::Stopped(signal) => {
            let patience = STOPPED_FOR.as_secs_f64();
            format!("was stopped by {} and ended after {patience:.0} s", stop_signal(signal))
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
            "where that is expected, --success {} counts such runs",
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
        _ => "nothing sent it SIGCONT: find out what stops it, or let the command send SIGCONT itself",
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
pub(super) fn reduced(tracer: &dyn Tracer) -> Option<String> {
    tracer.shortfall().map(|why| format!("traced when threads ran, not what they waited for; {why}"))
}
