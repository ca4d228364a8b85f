//! Traces of a study on disk: `traces/CPUS.json.zst`, the header, and `traces/CPUS.events`, or
//! `CPUS-nN` if `{n}` was not the number of CPUs, followed by `-AXIS=VALUE` for each further axis.
//! The second trace of a cell has `-r1` after that, the third `-r2`. Older versions wrote the
//! header as `CPUS.json`.
//!
//! A trace exists if its header exists. The header is renamed into place last, and removed first if
//! a trace is replaced. Resuming the study removes any other remains of a kill. The content of a
//! stream does not concern this module.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::{StudyError, io_error};
use crate::experiment::{CPUS_AXIS, N_AXIS};
use crate::trace::{Decoded, TRACE_SCHEMA, TraceHeader, read_events};
use crate::{Cell, InCell};

mod header_file;

const FOLDER: &str = "traces";
const EVENTS: &str = "events";
/// Suffix of the name of a file that is being written.
const UNFINISHED: &str = "new";

/// Trace that exists but cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedTrace {
    /// Header of the trace.
    pub path: PathBuf,
    /// Defect of the trace.
    pub reason: String,
}

/// Path of the events of a trace of a cell; `repetition` counts the traces of the cell from 0.
pub fn trace_events_path(study: &Path, cell: &Cell, repetition: u32) -> PathBuf {
    trace_path(study, cell, repetition, EVENTS)
}

/// Name of a trace in its study: that of its files, without the ending.
pub fn trace_name(trace: &TraceHeader) -> String {
    stem(&trace.run.cell(), trace.repetition)
}

/// Reads the events of one of [`Study::traces`](crate::Study::traces).
///
/// # Errors
/// [`StudyError::Io`] if the file cannot be opened, [`StudyError::Events`] if its content cannot be
/// read.
pub fn read_trace_events(study: &Path, trace: &TraceHeader) -> Result<Decoded, StudyError> {
    let path = trace_events_path(study, &trace.run.cell(), trace.repetition);
    let file = File::open(&path).map_err(io_error("open", &path))?;
    read_events(file).map_err(|error| StudyError::Events { path, error })
}

fn trace_path(study: &Path, cell: &Cell, repetition: u32, extension: &str) -> PathBuf {
    study.join(FOLDER).join(format!("{}.{extension}", stem(cell, repetition)))
}

/// Name of the files of a trace of a cell. Different cells have different names, because the values
/// of an axis have one type.
fn stem(cell: &Cell, repetition: u32) -> String {
    let mut stem = cell.get(CPUS_AXIS).map(ToString::to_string).unwrap_or_default();
    for (axis, value) in cell.coordinates().filter(|(axis, _)| *axis != CPUS_AXIS) {
        if axis != N_AXIS {
            stem += &format!("-{}={}", escape(axis), escape(&value.to_string()));
        } else if Some(value) != cell.get(CPUS_AXIS) {
            stem += &format!("-n{value}");
        }
    }
    if repetition > 0 {
        stem += &format!("-r{repetition}");
    }
    stem
}

/// Text with each byte that might have a meaning in a file name as `%` and two hexadecimal digits.
fn escape(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let escape =
        |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") };
    text.bytes().map(escape).collect()
}

/// Writer of a trace. If it is dropped without [`TraceWriter::commit`], it leaves nothing.
#[derive(Debug)]
pub struct TraceWriter {
    study: PathBuf,
    cell: Cell,
    repetition: u32,
    events: File,
    committed: bool,
}

impl TraceWriter {
    /// Creates the file of events, under another name until the trace is whole. The study belongs
    /// to the caller: only the holder of its [`StudyWriter`](crate::StudyWriter) may add to it.
    ///
    /// # Errors
    /// [`StudyError::Io`].
    pub fn create(study: &Path, cell: Cell, repetition: u32) -> Result<Self, StudyError> {
        let folder = study.join(FOLDER);
        fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
        let path = unfinished_path(&trace_path(study, &cell, repetition, EVENTS));
        let events = File::create(&path).map_err(io_error("create", &path))?;
        Ok(Self { study: study.to_owned(), cell, repetition, events, committed: false })
    }

    /// File of events, empty until the caller writes a stream to it.
    ///
    /// # Errors
    /// [`StudyError::Io`] if there are too many open files.
    pub fn sink(&self) -> Result<File, StudyError> {
        self.events.try_clone().map_err(io_error("open", &self.path(EVENTS)))
    }

    /// Adds the trace to the study; it replaces the trace of the same cell and repetition, if there
    /// is one.
    ///
    /// # Errors
    /// [`StudyError::OtherTrace`] if `header` is of another cell or repetition;
    /// [`StudyError::Io`]. In both cases the study is without this trace.
    pub fn commit(mut self, header: &TraceHeader) -> Result<(), StudyError> {
        if (header.run.cell(), header.repetition) != (self.cell.clone(), self.repetition) {
            return Err(StudyError::OtherTrace(self.path(header_file::ENDING)));
        }
        let (path, events) = (self.path(header_file::ENDING), self.path(EVENTS));
        let bytes = header_file::encode(header);
        bytes.and_then(|bytes| fs::write(unfinished_path(&path), bytes)).map_err(io_error("write", &path))?;
        // A kill at this point must not leave an old header with new events.
        for ending in header_file::ENDINGS {
            remove_if_present(&self.path(ending))?;
        }
        fs::rename(unfinished_path(&events), &events).map_err(io_error("create", &events))?;
        fs::rename(unfinished_path(&path), &path).map_err(io_error("create", &path))?;
        self.committed = true;
        Ok(())
    }

    fn path(&self, extension: &str) -> PathBuf {
        trace_path(&self.study, &self.cell, self.repetition, extension)
    }
}

impl Drop for TraceWriter {
    fn drop(&mut self) {
        if !self.committed {
            // Resuming the study removes the files that cannot be removed now.
            let _ = fs::remove_file(unfinished_path(&self.path(EVENTS)));
            let _ = fs::remove_file(unfinished_path(&self.path(header_file::ENDING)));
        }
    }
}

/// Headers of the traces of a study.
#[derive(Debug, Default)]
pub struct TraceHeaders {
    /// Readable traces, sorted by cell and repetition.
    pub whole: Vec<TraceHeader>,
    /// Traces that cannot be read.
    pub damaged: Vec<DamagedTrace>,
}

/// Reads the headers of all traces in the directory of a study, which may lack everything else.
///
/// # Errors
/// [`StudyError::Io`] if the folder cannot be listed; [`StudyError::NewerSchema`] if a later
/// version wrote a trace.
pub fn read_trace_headers(study: &Path) -> Result<TraceHeaders, StudyError> {
    let mut traces = TraceHeaders::default();
    for path in files(study)? {
        let Some(stem) = header_file::stem(&path) else { continue };
        // Somebody may have decompressed a header and kept both files.
        let compressed = path.with_file_name(format!("{stem}.{}", header_file::ENDING));
        if path != compressed && compressed.exists() {
            continue;
        }
        let text = match fs::read(&path).and_then(|bytes| header_file::decode(&path, bytes)) {
            Ok(text) => text,
            // A newer trace is replacing this one.
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            Err(e) => {
                traces.damaged.push(DamagedTrace { path, reason: e.to_string() });
                continue;
            }
        };
        match parse_header(&path, stem, &text)? {
            Ok(header) => traces.whole.push(header),
            Err(reason) => traces.damaged.push(DamagedTrace { path, reason }),
        }
    }
    traces.whole.sort_by_key(|trace| (trace.run.cell(), trace.repetition));
    Ok(traces)
}

/// Header of a trace, or the defect of the trace.
fn parse_header(path: &Path, name: &str, text: &[u8]) -> Result<Result<TraceHeader, String>, StudyError> {
    // The schema is checked before anything else is interpreted.
    let value: serde_json::Value = match serde_json::from_slice(text) {
        Ok(value) => value,
        Err(e) => return Ok(Err(e.to_string())),
    };
    let schema = value.get("schema").and_then(|schema| schema.as_str()).unwrap_or_default();
    match schema.strip_prefix("morecores.trace/").and_then(|version| version.parse::<u32>().ok()) {
        Some(1) => {}
        Some(2..) => {
            let (path, found) = (path.to_owned(), schema.to_owned());
            return Err(StudyError::NewerSchema { path, found, known: TRACE_SCHEMA });
        }
        _ => return Ok(Err(format!("its schema is `{schema}`, not `{TRACE_SCHEMA}`"))),
    }
    Ok(serde_json::from_value(value)
        .map_err(|e| e.to_string())
        .and_then(|header| check_name(path, name, header)))
}

/// Header, if the file has the header's own name and its events are beside it.
fn check_name(path: &Path, name: &str, header: TraceHeader) -> Result<TraceHeader, String> {
    let cell = header.run.cell();
    if name != stem(&cell, header.repetition) {
        return Err(format!("its run is that of {cell}, but the file is named otherwise"));
    }
    if !path.with_file_name(format!("{name}.{EVENTS}")).exists() {
        return Err("the file of its events is missing".to_owned());
    }
    Ok(header)
}

/// Removes what a killed process left: unfinished files, and events without a header. Only the
/// study's single writer may do so.
pub(super) fn clean(study: &Path) -> Result<(), StudyError> {
    for path in files(study)? {
        let is = |wanted: &str| path.extension().is_some_and(|extension| extension == wanted);
        let has_header = || header_file::ENDINGS.iter().any(|ending| path.with_extension(ending).exists());
        if is(UNFINISHED) || is(EVENTS) && !has_header() {
            remove_if_present(&path)?;
        }
    }
    Ok(())
}

/// Files of the folder, sorted by name; empty if there is no folder.
fn files(study: &Path) -> Result<Vec<PathBuf>, StudyError> {
    let folder = study.join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(io_error("read", &folder)(e)),
    };
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(io_error("read", &folder))?;
    paths.sort();
    Ok(paths)
}

fn unfinished_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(UNFINISHED);
    name.into()
}

fn remove_if_present(path: &Path) -> Result<(), StudyError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(io_error("remove", path)(e)),
        _ => Ok(()),
    }
}
