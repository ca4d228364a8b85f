//! Study directory on disk: creation, appending, reading and resuming.
//!
//! Each line is one `write(2)` to a file opened for appending, so that a kill leaves at most one
//! incomplete last line. There is no `fsync`: it would cost more than a short run, and it protects
//! only against a failure of the machine itself.

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::error::{StudyError, io_error};
use super::upgrade::{SchemaError, upgrade_header};
use super::{AnyStudy, Closing, STUDY_SCHEMA, StudyHeader, StudyRecord, traces};
use crate::lock::Laboratory;
use crate::{Command, Subject};

const HEADER_FILE: &str = "study.json";
/// File of the runs, one line each.
const LINES: &str = "runs.jsonl";

/// Writer of a study. It holds a lock on the file of lines for its whole lifetime.
#[derive(Debug)]
pub struct StudyRecordWriter<S: Subject> {
    path: PathBuf,
    header: StudyHeader<S>,
    lines: File,
    /// Whether this writer created the study; such a study holds no data of other writers.
    new: bool,
    /// Buffer that is kept between lines, so that appending does not allocate.
    line: Vec<u8>,
}

impl<S: Subject> StudyRecordWriter<S> {
    /// Creates the directory and its two files.
    ///
    /// # Errors
    /// [`StudyError::Exists`] if anything exists at `path`; [`StudyError::Io`] if the directory
    /// cannot be written.
    pub fn create(path: &Path, header: StudyHeader<S>) -> Result<Self, StudyError> {
        if path.symlink_metadata().is_ok() {
            return Err(StudyError::Exists(path.to_owned()));
        }
        // A trailing slash is removed, so that the temporary name is beside the directory, not in
        // it.
        let path: &Path = &path.components().collect::<PathBuf>();
        // The directory is made under another name, so that a kill never leaves half a study at
        // `path`.
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

    fn fill(new: &Path, path: &Path, header: StudyHeader<S>) -> Result<Self, StudyError> {
        write_header(new, &header)?;
        let lines = lock_lines::<S>(new)?;
        fs::rename(new, path).map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists
            | io::ErrorKind::DirectoryNotEmpty
            | io::ErrorKind::NotADirectory => StudyError::Exists(path.to_owned()),
            _ => io_error("create", path)(e),
        })?;
        Ok(Self { path: path.to_owned(), header, lines, new: true, line: Vec::new() })
    }

    /// Opens a study to continue it. No other process can write to the study from here on.
    ///
    /// # Errors
    /// The errors of reading the study; [`StudyError::Busy`] while another process writes to the
    /// study.
    pub fn open(path: &Path) -> Result<ResumableStudy<S>, StudyError> {
        // The header is read first, because nothing may be created in a directory that is no study
        // of this subject. The content is read under the lock.
        read_header::<S>(path)?;
        let lines = lock_lines::<S>(path)?;
        Ok(ResumableStudy { study: read(path)?, path: path.to_owned(), lines })
    }

    /// Path of the study.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes a study that this writer created and that turned out to be impossible before its
    /// first line. A study with lines is left alone. A resumed study is left alone too: it was
    /// worth keeping before, and may hold traces without a run.
    ///
    /// # Errors
    /// [`StudyError::Io`].
    pub fn discard(mut self) -> Result<(), StudyError> {
        let length = self.lines.seek(SeekFrom::End(0)).map_err(io_error("read", &self.path))?;
        if self.new && length == 0 {
            fs::remove_dir_all(&self.path).map_err(io_error("remove", &self.path))
        } else {
            Ok(())
        }
    }

    /// Appends one run.
    ///
    /// # Errors
    /// [`StudyError::Io`], for example on a full disk; the previous lines are intact.
    pub fn append(&mut self, run: &S::Run) -> Result<(), StudyError> {
        self.line.clear();
        let encoded = serde_json::to_writer(&mut self.line, run).map_err(io::Error::from);
        encoded.and_then(|()| self.write_line()).map_err(io_error("append a run to", &self.path.join(LINES)))
    }

    /// Writes the buffered line whole or not at all, as far as the file system allows.
    fn write_line(&mut self) -> io::Result<()> {
        self.line.push(b'\n');
        let before = self.lines.seek(SeekFrom::End(0))?;
        let written = self.lines.write_all(&self.line);
        if written.is_err() {
            let _ = self.lines.set_len(before);
        }
        written
    }

    /// Writes the facts that are known only at the end.
    ///
    /// # Errors
    /// [`StudyError::Io`]; the study stays readable as an unfinished one.
    pub fn close(mut self, closing: Closing) -> Result<(), StudyError> {
        self.header.closing = Some(closing);
        write_header(&self.path, &self.header)
    }
}

/// Study that is read and reserved for one writer, and still unchanged.
#[derive(Debug)]
pub struct ResumableStudy<S: Subject> {
    /// Content of the study.
    pub study: StudyRecord<S>,
    path: PathBuf,
    lines: File,
}

impl<S: Subject> ResumableStudy<S> {
    /// Makes the study unfinished again, and returns it with its writer. `adjust` may change what
    /// the plan leaves open.
    ///
    /// # Errors
    /// [`StudyError::Io`].
    pub fn resume(
        self,
        adjust: impl FnOnce(&mut StudyHeader<S>),
    ) -> Result<(StudyRecord<S>, StudyRecordWriter<S>), StudyError> {
        let Self { mut study, path, mut lines } = self;
        end_last_line(&mut lines).map_err(io_error("read", &path.join(LINES)))?;
        traces::clean(&path)?;
        study.header.closing = None;
        adjust(&mut study.header);
        write_header(&path, &study.header)?;
        upgrade_lines_file::<S>(&path)?;
        let header = study.header.clone();
        Ok((study, StudyRecordWriter { path, header, lines, new: false, line: Vec::new() }))
    }
}

/// Reads a study, finished or not. Lines that cannot be read are counted, not fatal.
pub(super) fn read<S: Subject>(path: &Path) -> Result<StudyRecord<S>, StudyError> {
    with_content(path, read_header(path)?)
}

/// Reads a study of any subject, finished or not.
pub(super) fn read_any(path: &Path) -> Result<AnyStudy, StudyError> {
    let value = read_header_value(path)?;
    if has_subject::<Laboratory>(&value) {
        let study = with_content(path, parse_header(path, value)?)?;
        return Ok(AnyStudy::Locks(Box::new(study)));
    }
    let study = with_content(path, parse_header(path, value)?)?;
    Ok(AnyStudy::Command(Box::new(study)))
}

/// Study with this header: reads its lines and the headers of its traces.
fn with_content<S: Subject>(path: &Path, header: StudyHeader<S>) -> Result<StudyRecord<S>, StudyError> {
    let (runs, damaged_lines) = read_lines::<S>(path)?;
    let traces = traces::read_trace_headers(path)?;
    let (traces, damaged_traces) = (traces.whole, traces.damaged);
    Ok(StudyRecord { header, runs, damaged_lines, traces, damaged_traces })
}

/// Readable lines, in order, and the number of unreadable lines.
fn read_lines<S: Subject>(path: &Path) -> Result<(Vec<S::Run>, usize), StudyError> {
    let (mut lines, mut damaged) = (Vec::new(), 0);
    let Some(file) = open_lines_file::<S>(path, OpenOptions::new().read(true))? else {
        // The writer was killed between the two files: nothing was measured in this study.
        return Ok((lines, damaged));
    };
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).map_err(io_error("read", &path.join(LINES)))? > 0 {
        match serde_json::from_slice(&line) {
            Ok(understood) => lines.push(understood),
            Err(_) if line.trim_ascii().is_empty() => {}
            Err(_) => damaged += 1,
        }
        line.clear();
    }
    Ok((lines, damaged))
}

/// Replaces `study.json` whole, so that a kill leaves the old file or the new one.
fn write_header(path: &Path, header: &impl Serialize) -> Result<(), StudyError> {
    let (file, new) = (path.join(HEADER_FILE), path.join("study.json.new"));
    let text = serde_json::to_vec_pretty(header).map_err(io::Error::from);
    text.and_then(|mut text| {
        text.push(b'\n');
        fs::write(&new, text)?;
        fs::rename(&new, &file)
    })
    .map_err(io_error("write", &file))
}

fn read_header<S: Subject>(path: &Path) -> Result<StudyHeader<S>, StudyError> {
    parse_header(path, read_header_value(path)?)
}

fn damaged_header(path: &Path, reason: String) -> StudyError {
    StudyError::DamagedHeader { path: path.join(HEADER_FILE), reason }
}

/// Content of `study.json` in the present schema. Its subject and all below are not yet checked.
fn read_header_value(path: &Path) -> Result<serde_json::Value, StudyError> {
    let file = path.join(HEADER_FILE);
    let text = match fs::read(&file) {
        Ok(text) => text,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Err(StudyError::NotAStudy(path.to_owned()));
        }
        Err(e) => return Err(io_error("read", &file)(e)),
    };
    let value: serde_json::Value =
        serde_json::from_slice(&text).map_err(|e| damaged_header(path, e.to_string()))?;
    // The schema is checked before anything else is interpreted.
    upgrade_header(value).map_err(|error| match error {
        SchemaError::Newer { found, known } => {
            StudyError::NewerSchema { path: path.to_owned(), found, known }
        }
        SchemaError::Unknown(schema) => {
            damaged_header(path, format!("its schema is `{schema}`, not `{STUDY_SCHEMA}`"))
        }
    })
}

/// Kind of the subject in the content of `study.json`; empty if there is none.
fn subject_kind(header: &serde_json::Value) -> &str {
    header["subject"]["kind"].as_str().unwrap_or_default()
}

fn has_subject<S: Subject>(header: &serde_json::Value) -> bool {
    S::KINDS.contains(&subject_kind(header))
}

/// Header of a study of this subject. The subject is checked before anything else is interpreted.
fn parse_header<S: Subject>(path: &Path, value: serde_json::Value) -> Result<StudyHeader<S>, StudyError> {
    match subject_kind(&value) {
        kind if S::KINDS.contains(&kind) => {}
        kind if Command::KINDS.contains(&kind) => return Err(StudyError::OfCommand(path.to_owned())),
        kind if Laboratory::KINDS.contains(&kind) => return Err(StudyError::OfLocks(path.to_owned())),
        "" => return Err(damaged_header(path, "it names no subject".to_owned())),
        kind => return Err(StudyError::UnknownSubject { path: path.to_owned(), kind: kind.to_owned() }),
    }
    serde_json::from_value(value).map_err(|e| damaged_header(path, e.to_string()))
}

/// Opens the file of the runs, which may have another name in an earlier schema. Returns none if
/// there is no such file.
fn open_lines_file<S: Subject>(path: &Path, options: &OpenOptions) -> Result<Option<File>, StudyError> {
    // A writer may give the file its present name between the first two attempts; that name is
    // therefore tried again.
    for name in [Some(LINES), S::EARLIER_LINES, Some(LINES)].into_iter().flatten() {
        let file = path.join(name);
        match options.open(&file) {
            Ok(lines) => return Ok(Some(lines)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(io_error("open", &file)(e)),
        }
    }
    Ok(None)
}

/// Opens the file of runs for appending and locks it against a second writer.
fn lock_lines<S: Subject>(path: &Path) -> Result<File, StudyError> {
    let file = path.join(LINES);
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    let lines = match open_lines_file::<S>(path, &options)? {
        Some(lines) => lines,
        None => options.create(true).open(&file).map_err(io_error("open", &file))?,
    };
    match lines.try_lock() {
        Ok(()) => Ok(lines),
        Err(fs::TryLockError::WouldBlock) => Err(StudyError::Busy(path.to_owned())),
        Err(fs::TryLockError::Error(e)) => Err(io_error("lock", &file)(e)),
    }
}

/// Gives the file of runs its present name. The lock of its writer stays with the file.
fn upgrade_lines_file<S: Subject>(path: &Path) -> Result<(), StudyError> {
    let lines = path.join(LINES);
    match S::EARLIER_LINES.map(|name| path.join(name)) {
        Some(file) if !lines.exists() => fs::rename(&file, &lines).map_err(io_error("rename", &file)),
        _ => Ok(()),
    }
}

/// Returns whether a process adds to the study at `path`: a writer holds a lock on the file of runs
/// for its whole lifetime.
pub(super) fn is_written_to<S: Subject>(path: &Path) -> bool {
    // If nobody holds a lock, this call takes one; closing the file releases it at once.
    let lines = open_lines_file::<S>(path, OpenOptions::new().read(true));
    lines.is_ok_and(|lines| {
        lines.is_some_and(|lines| matches!(lines.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
    })
}

/// Ends an incomplete last line, so that it stays a separate line. The line is damaged and counted,
/// but it is not lost, and it does not become the beginning of the next line.
fn end_last_line(lines: &mut File) -> io::Result<()> {
    if lines.seek(SeekFrom::End(0))? == 0 {
        return Ok(());
    }
    lines.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    lines.read_exact(&mut last)?;
    if last != *b"\n" {
        lines.write_all(b"\n")?;
    }
    Ok(())
}
