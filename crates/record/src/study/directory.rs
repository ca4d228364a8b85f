//! The study directory on a disk: created, appended to, read, resumed.
//!
//! Each run is one `write(2)` of one line to a file opened for appending, so that a kill leaves at most one
//! incomplete last line. There is no `fsync`: it would cost more than a short run, and protects only against
//! the machine itself failing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{Closing, Header, STUDY_SCHEMA, Study, traces};
use crate::{Run, StreamError};

const HEADER_FILE: &str = "study.json";
const RUNS_FILE: &str = "runs.jsonl";

/// Why a study could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The directory to be created is there already, or what is no directory.
    #[error("{} exists: {}name another with -o", .0.display(), if .0.is_dir() { "go on with it by --resume, or " } else { "" })]
    Exists(PathBuf),
    /// There is no study at the path.
    #[error("{}", not_a_study(.0))]
    NotAStudy(PathBuf),
    /// It was written by a later version.
    #[error("{} has schema {found}; this version reads up to {known}: use a newer morecores", .path.display())]
    NewerSchema {
        /// The study, or a trace in it.
        path: PathBuf,
        /// What it says of itself.
        found: String,
        /// The newest schema that this version reads.
        known: &'static str,
    },
    /// `study.json` is not what it should be.
    #[error("{}: {reason}: restore the file, the runs beside it are untouched", .path.display())]
    DamagedHeader {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A trace's events are not what they should be.
    #[error("{}: {source}", .path.display())]
    Events {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: StreamError,
    },
    /// A trace was to be kept under the name of another run's.
    #[error("{} is not where this trace belongs: it is of a run on other CPUs", .0.display())]
    OtherTrace(PathBuf),
    /// Another morecores is writing to the study.
    #[error("{} is being written by another morecores: wait for it, or name another study with -o", .0.display())]
    Busy(PathBuf),
    /// A system call failed.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

/// Why a path is no study.
fn not_a_study(path: &Path) -> String {
    let name = path.display();
    match fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => format!("there is no study {name}"),
        Ok(at) if at.is_file() => format!("{name} is a file: a study is a directory that holds study.json"),
        _ => format!("{name} is not a study: it holds no study.json"),
    }
}

/// Adds what was tried, and on what, to a system call's error.
pub(super) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StudyError {
    let path = path.to_owned();
    move |source| StudyError::Io { action, path, source }
}

/// A study that is being made. Holds a lock on `runs.jsonl` for as long as it lives.
#[derive(Debug)]
pub struct StudyWriter {
    path: PathBuf,
    header: Header,
    runs: File,
    /// Whether it was created by this writer, and so holds nothing of anybody else's.
    new: bool,
    /// Kept between runs, so that appending does not allocate.
    line: Vec<u8>,
}

impl StudyWriter {
    /// Creates the directory and its two files.
    ///
    /// # Errors
    /// [`StudyError::Exists`] where anything is at `path`; [`StudyError::Io`] where it cannot be written.
    pub fn create(path: &Path, header: Header) -> Result<Self, StudyError> {
        if path.symlink_metadata().is_ok() {
            return Err(StudyError::Exists(path.to_owned()));
        }
        // Made under another name, so that a kill never leaves half a study at `path`.
        let mut new = path.as_os_str().to_owned();
        new.push(format!(".new-{}", std::process::id()));
        let new = PathBuf::from(new);
        fs::create_dir(&new).map_err(io_error("create", path))?;
        let made = Self::fill(&new, path, header);
        if made.is_err() {
            let _ = fs::remove_dir_all(&new);
        }
        made
    }

    fn fill(new: &Path, path: &Path, header: Header) -> Result<Self, StudyError> {
        write_header(new, &header)?;
        let runs = open_runs(new)?;
        fs::rename(new, path).map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists
            | io::ErrorKind::DirectoryNotEmpty
            | io::ErrorKind::NotADirectory => StudyError::Exists(path.to_owned()),
            _ => io_error("create", path)(e),
        })?;
        Ok(Self { path: path.to_owned(), header, runs, new: true, line: Vec::new() })
    }

    /// Opens a study to go on with it, and returns what it holds. `adjust` may change what the plan leaves open.
    ///
    /// # Errors
    /// As [`Study::read`]; [`StudyError::Busy`] while another process writes to it.
    pub fn resume(path: &Path, adjust: impl FnOnce(&mut Header)) -> Result<(Study, Self), StudyError> {
        let mut study = Study::read(path)?;
        let mut runs = open_runs(path)?;
        end_last_line(&mut runs).map_err(io_error("read", &path.join(RUNS_FILE)))?;
        traces::clean(path)?;
        // The study is unfinished again from here on.
        study.header.closing = None;
        adjust(&mut study.header);
        write_header(path, &study.header)?;
        let header = study.header.clone();
        let writer = Self { path: path.to_owned(), header, runs, new: false, line: Vec::new() };
        Ok((study, writer))
    }

    /// Where the study is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes a study of this writer's own making that turned out to be impossible before its first run. One that
    /// holds runs is left alone, and so is one that was gone on with: it was worth keeping before, and may hold
    /// traces without a run.
    ///
    /// # Errors
    /// [`StudyError::Io`].
    pub fn discard(mut self) -> Result<(), StudyError> {
        let length = self.runs.seek(SeekFrom::End(0)).map_err(io_error("read", &self.path))?;
        if self.new && length == 0 {
            fs::remove_dir_all(&self.path).map_err(io_error("remove", &self.path))
        } else {
            Ok(())
        }
    }

    /// Appends one run.
    ///
    /// # Errors
    /// [`StudyError::Io`], for example on a full disk; the lines before are whole.
    pub fn append(&mut self, run: &Run) -> Result<(), StudyError> {
        self.line.clear();
        let encoded = serde_json::to_writer(&mut self.line, run).map_err(io::Error::from);
        encoded
            .and_then(|()| self.write_line())
            .map_err(io_error("append a run to", &self.path.join(RUNS_FILE)))
    }

    /// Writes the buffered line whole or not at all, as far as the file system lets us.
    fn write_line(&mut self) -> io::Result<()> {
        self.line.push(b'\n');
        let before = self.runs.seek(SeekFrom::End(0))?;
        let written = self.runs.write_all(&self.line);
        if written.is_err() {
            let _ = self.runs.set_len(before);
        }
        written
    }

    /// Writes what is known only at the end.
    ///
    /// # Errors
    /// [`StudyError::Io`]; the study stays readable as an unfinished one.
    pub fn close(mut self, closing: Closing) -> Result<(), StudyError> {
        self.header.closing = Some(closing);
        write_header(&self.path, &self.header)
    }
}

impl Study {
    /// A study of which only `study.json` is known: without runs and traces.
    pub const fn new(header: Header) -> Self {
        Self { header, runs: Vec::new(), damaged_lines: 0, traces: Vec::new(), damaged_traces: Vec::new() }
    }

    /// Reads a study, finished or not. Lines and traces that cannot be read are kept apart, not fatal. The events of
    /// traces are not read: [`read_trace_events`](crate::read_trace_events).
    ///
    /// # Errors
    /// [`StudyError::NotAStudy`], [`StudyError::NewerSchema`], [`StudyError::DamagedHeader`], [`StudyError::Io`].
    pub fn read(path: &Path) -> Result<Self, StudyError> {
        let mut study = Self::new(read_header(path)?);
        study.read_runs(&path.join(RUNS_FILE))?;
        let traces = traces::read(path)?;
        (study.traces, study.damaged_traces) = (traces.whole, traces.damaged);
        Ok(study)
    }

    fn read_runs(&mut self, file: &Path) -> Result<(), StudyError> {
        let mut reader = match File::open(file) {
            Ok(file) => BufReader::new(file),
            // Killed between making the two files: a study without a run.
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(io_error("read", file)(e)),
        };
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).map_err(io_error("read", file))? > 0 {
            match serde_json::from_slice(&line) {
                Ok(run) => self.runs.push(run),
                Err(_) if line.trim_ascii().is_empty() => {}
                Err(_) => self.damaged_lines += 1,
            }
            line.clear();
        }
        Ok(())
    }
}

/// Replaces `study.json` whole, so that a kill leaves the old one or the new one.
fn write_header(path: &Path, header: &Header) -> Result<(), StudyError> {
    let (file, new) = (path.join(HEADER_FILE), path.join("study.json.new"));
    let text = serde_json::to_vec_pretty(header).map_err(io::Error::from);
    text.and_then(|mut text| {
        text.push(b'\n');
        fs::write(&new, text)?;
        fs::rename(&new, &file)
    })
    .map_err(io_error("write", &file))
}

fn read_header(path: &Path) -> Result<Header, StudyError> {
    let file = path.join(HEADER_FILE);
    let text = match fs::read(&file) {
        Ok(text) => text,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Err(StudyError::NotAStudy(path.to_owned()));
        }
        Err(e) => return Err(io_error("read", &file)(e)),
    };
    let damaged = |reason: String| StudyError::DamagedHeader { path: file.clone(), reason };
    // The schema is looked at before anything else is understood.
    let value: serde_json::Value = serde_json::from_slice(&text).map_err(|e| damaged(e.to_string()))?;
    let schema = value.get("schema").and_then(|s| s.as_str()).unwrap_or_default();
    let version = schema.strip_prefix("morecores.study/").and_then(|v| v.parse::<u32>().ok());
    match version {
        Some(1) => serde_json::from_value(value).map_err(|e| damaged(e.to_string())),
        Some(2..) => Err(StudyError::NewerSchema {
            path: path.to_owned(),
            found: schema.to_owned(),
            known: STUDY_SCHEMA,
        }),
        _ => Err(damaged(format!("its schema is `{schema}`, not `{STUDY_SCHEMA}`"))),
    }
}

/// Opens `runs.jsonl` for appending and locks it against a second writer.
fn open_runs(path: &Path) -> Result<File, StudyError> {
    let file = path.join(RUNS_FILE);
    let runs = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .open(&file)
        .map_err(io_error("open", &file))?;
    match runs.try_lock() {
        Ok(()) => Ok(runs),
        Err(fs::TryLockError::WouldBlock) => Err(StudyError::Busy(path.to_owned())),
        Err(fs::TryLockError::Error(e)) => Err(io_error("lock", &file)(e)),
    }
}

/// Ends an incomplete last line, so that it stays a line of its own: damaged and counted, but not lost, and not
/// the beginning of the next run's.
fn end_last_line(runs: &mut File) -> io::Result<()> {
    if runs.seek(SeekFrom::End(0))? == 0 {
        return Ok(());
    }
    runs.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    runs.read_exact(&mut last)?;
    if last != *b"\n" {
        runs.write_all(b"\n")?;
    }
    Ok(())
}
