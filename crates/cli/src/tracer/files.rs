//! Files of a trace while its run is in progress.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result};
use morecores_explain::trace::CodeEvents;
use morecores_measure::observer::ObserverError;
use morecores_study::trace::{Event, EventSink, StreamWriter, TraceHeader, TraceWriter};
use morecores_study::{CpuId, InCell, Point, StudyError};

use super::DebugFiles;
use super::code_names::name_code;

/// Files for the events of one run at a time. The copies of this handle share the files, because a
/// tracer delivers events on a separate thread.
#[derive(Clone, Debug)]
pub(crate) struct TraceFiles {
    study: PathBuf,
    repetition: u32,
    current: Arc<Mutex<Option<UnfinishedTrace>>>,
}

/// Files of one attempt at a trace. They are removed unless they are finished.
#[derive(Debug)]
pub(crate) struct UnfinishedTrace {
    stream: StreamWriter<File>,
    writer: TraceWriter,
    /// Events for the names of functions and locks.
    code: CodeEvents,
    /// Time before the start of the command.
    began: SystemTime,
    /// Located files of other mount namespaces, by the number of their module.
    located: HashMap<u32, OwnedFd>,
}

impl TraceFiles {
    /// Files in the study at this path, of the traces with this number in their cells; none yet.
    pub(crate) fn new(study: &Path, repetition: u32) -> Self {
        Self { study: study.to_owned(), repetition, current: Arc::default() }
    }

    /// Number of the traces in their cells.
    pub(crate) fn repetition(&self) -> u32 {
        self.repetition
    }

    /// Creates the files of an attempt, and returns the receiver of its events. Nothing of an
    /// earlier attempt is kept.
    pub(crate) fn begin(&self, point: &Point) -> Result<EventSink, ObserverError> {
        drop(self.take());
        let created =
            UnfinishedTrace::create(&self.study, point, self.repetition).map_err(ObserverError::new)?;
        self.with_current(|current| *current = Some(created));
        let files = self.clone();
        Ok(Box::new(move |cpu, events| {
            files.with_current(|current| {
                current.as_mut().map_or(Ok(()), |files| files.add_events(cpu, events))
            })
        }))
    }

    /// Adds files of other mount namespaces to the current attempt, by the number of their module.
    pub(crate) fn add_located(&self, located: HashMap<u32, OwnedFd>) {
        self.with_current(|current| {
            if let Some(files) = current {
                files.located = located;
            }
        });
    }

    /// Files of the last attempt, from now on without a receiver.
    pub(crate) fn take(&self) -> Option<UnfinishedTrace> {
        self.with_current(Option::take)
    }

    fn with_current<T>(&self, use_it: impl FnOnce(&mut Option<UnfinishedTrace>) -> T) -> T {
        // A panic elsewhere leaves a frame unwritten, and the reader detects that.
        use_it(&mut self.current.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl UnfinishedTrace {
    fn create(study: &Path, point: &Point, repetition: u32) -> Result<Self, StudyError> {
        let writer = TraceWriter::create(study, point.cell(), repetition)?;
        let stream = StreamWriter::new(writer.sink()?).map_err(|error| StudyError::Io {
            action: "write a trace to",
            path: study.to_owned(),
            error,
        })?;
        let (code, began) = (CodeEvents::default(), SystemTime::now());
        Ok(Self { stream, writer, code, began, located: HashMap::new() })
    }

    fn add_events(&mut self, cpu: CpuId, events: &[Event]) -> io::Result<()> {
        self.code.add(events);
        self.stream.frame(cpu, events)
    }

    /// Completes the trace and adds it to the study, with the names of the sampled functions in its
    /// header. `debug_files` are those of servers, if the user wants them.
    pub(crate) fn finish(self, header: &mut TraceHeader, debug_files: Option<&DebugFiles>) -> Result<()> {
        name_code(&mut header.facts, self.code, self.began, self.located, debug_files);
        self.stream.finish().context("cannot write the end of a trace")?;
        Ok(self.writer.commit(header)?)
    }
}
