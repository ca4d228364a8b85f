//! Directory of a search: its header, one line a run, and the findings.
//!
//! ```text
//! NAME.shake/
//!   search.json     header: the program and its conditions
//!   stdout          output that every run must have, if there is such a rule
//!   runs.jsonl      one line a run, appended when the run has ended
//!   core            core of the first failure, if a signal ended the program or it stood still
//!   findings.json   findings, written at the end
//! ```

use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use morecores_study::StudyState;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::findings::Findings;
use crate::place::CodePlace;
use crate::schedule::Schedule;

/// Version of the format.
const SCHEMA: &str = "morecores.shake/1";
const HEADER: &str = "search.json";
const STDOUT: &str = "stdout";
const RUNS: &str = "runs.jsonl";
/// Name of the core of the first failure.
pub const CORE: &str = "core";
const FINDINGS: &str = "findings.json";

/// Program and conditions of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the format, [`Header::schema`].
    pub schema: String,
    /// The program with its arguments.
    pub command: Vec<String>,
    /// Host name of the machine; empty in a search of an earlier version.
    #[serde(default)]
    pub host: String,
    /// Start of the runs, in seconds since 1970; 0 in a search of an earlier version.
    #[serde(default)]
    pub created_at_s: f64,
    /// Numbers of the CPUs of the runs on several CPUs.
    pub cpus: Vec<usize>,
    /// Command that judges a run.
    pub check: Option<String>,
    /// Seed of every choice.
    pub seed: u64,
    /// Elapsed time of a first run, in seconds.
    pub elapsed_s: f64,
    /// Time limit of a run, in seconds.
    pub timeout_s: f64,
    /// Whether threads have real-time priorities.
    pub real_time: bool,
}

impl Header {
    /// Version of the format that this version writes.
    pub fn schema() -> String {
        SCHEMA.to_owned()
    }
}

/// Run of a search: every choice in it, and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunLine {
    /// Number, from 1.
    pub run: u64,
    /// Conditions of the run.
    pub schedule: Schedule,
    /// Seed of the times and lengths of the holds.
    pub seed: u64,
    /// Places at which threads are held.
    pub sites: Vec<CodePlace>,
    /// Number of the hit at which each thread is held, from 1; at random hits if there is none. A
    /// hit is an execution of one of these places by the thread.
    #[serde(default)]
    pub hit: Option<u32>,
    /// Elapsed time, in seconds.
    pub elapsed_s: f64,
    /// Number of holds that could change the order of threads.
    pub holds: u64,
    /// Failure, if it failed.
    pub failure: Option<Failure>,
}

/// Directory that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// It cannot be created.
    #[error("cannot use {}: {error}; choose another directory with -o", path.display())]
    Create {
        /// Path of the directory.
        path: PathBuf,
        /// Reason.
        error: io::Error,
    },
    /// It holds no search that this version can read.
    #[error("cannot read {} as a search: {error}", path.display())]
    Read {
        /// Path of the directory.
        path: PathBuf,
        /// Reason.
        error: io::Error,
    },
}

impl DirectoryError {
    fn read(path: &Path, error: impl Into<io::Error>) -> Self {
        Self::Read { path: path.to_owned(), error: error.into() }
    }
}

/// Writer of a new directory.
#[derive(Debug)]
pub struct DirectoryWriter {
    directory: PathBuf,
    runs: Option<File>,
}

impl DirectoryWriter {
    /// Creates the directory.
    ///
    /// # Errors
    /// It exists already, or cannot be created.
    pub fn create(directory: &Path) -> Result<Self, DirectoryError> {
        let error = |error| DirectoryError::Create { path: directory.to_owned(), error };
        fs::create_dir(directory).map_err(error)?;
        Ok(Self { directory: directory.to_owned(), runs: None })
    }

    /// Writes the header, and the output that every run must have.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn begin(&mut self, header: &Header, stdout: Option<&[u8]>) -> io::Result<()> {
        self.write(HEADER, header)?;
        if let Some(stdout) = stdout {
            fs::write(self.directory.join(STDOUT), stdout)?;
        }
        let runs = File::create(self.directory.join(RUNS))?;
        // The lock lasts as long as this process writes to the search.
        runs.try_lock()?;
        self.runs = Some(runs);
        Ok(())
    }

    /// Appends a run.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&mut self, run: &RunLine) -> io::Result<()> {
        let Some(file) = &mut self.runs else { return Ok(()) };
        file.write_all((serde_json::to_string(run)? + "\n").as_bytes())
    }

    /// Writes the findings.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(&self, findings: &Findings) -> io::Result<()> {
        self.write(FINDINGS, findings)
    }

    fn write(&self, name: &str, content: &impl Serialize) -> io::Result<()> {
        fs::write(self.directory.join(name), serde_json::to_string_pretty(content)? + "\n")
    }
}

impl Drop for DirectoryWriter {
    fn drop(&mut self) {
        // A search that could not begin has nothing to keep.
        if self.runs.is_none() {
            let _ = fs::remove_dir(&self.directory);
        }
    }
}

/// Whether a directory is that of a search.
pub fn is_search(directory: &Path) -> bool {
    directory.join(HEADER).is_file()
}

/// State of the search in a directory.
pub fn search_state(directory: &Path) -> StudyState {
    if directory.join(FINDINGS).is_file() {
        return StudyState::Ended;
    }
    let runs = File::open(directory.join(RUNS));
    let is_locked = runs.is_ok_and(|runs| matches!(runs.try_lock_shared(), Err(TryLockError::WouldBlock)));
    if is_locked { StudyState::Measuring } else { StudyState::Killed }
}

/// Findings of an ended search.
///
/// # Errors
/// It has not ended, or this version cannot read its findings.
pub fn read_findings(directory: &Path) -> Result<Findings, DirectoryError> {
    let error = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            DirectoryError::read(directory, io::Error::other("it has no findings yet; let the search end"))
        }
        _ => DirectoryError::read(directory, error),
    };
    let text = fs::read_to_string(directory.join(FINDINGS)).map_err(error)?;
    serde_json::from_str(&text).map_err(|error| DirectoryError::read(directory, error))
}

/// Earlier search.
#[derive(Debug)]
pub struct Search {
    /// Program and conditions.
    pub header: Header,
    /// Output that every run must have, if there is such a rule.
    pub stdout: Option<Vec<u8>>,
    /// Runs that have ended.
    pub runs: Vec<RunLine>,
}

impl Search {
    /// Reads the directory. A last line that was cut short is left out.
    ///
    /// # Errors
    /// It is no directory of a search, or one of a newer version.
    pub fn read(directory: &Path) -> Result<Self, DirectoryError> {
        let error = |error| DirectoryError::read(directory, error);
        let text = fs::read_to_string(directory.join(HEADER)).map_err(error)?;
        let header: Header = serde_json::from_str(&text).map_err(io::Error::from).map_err(error)?;
        if header.schema != SCHEMA {
            return Err(error(io::Error::other(format!("its format is {}, not {SCHEMA}", header.schema))));
        }
        let lines = BufReader::new(File::open(directory.join(RUNS)).map_err(error)?).lines();
        let runs = lines.map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok()).collect();
        Ok(Self { header, stdout: fs::read(directory.join(STDOUT)).ok(), runs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            schema: Header::schema(),
            command: vec!["./p".to_owned()],
            host: "machine".to_owned(),
            created_at_s: 1.5e9,
            cpus: vec![0, 1],
            check: None,
            seed: 1,
            elapsed_s: 0.5,
            timeout_s: 7.0,
            real_time: false,
        }
    }

    #[test]
    fn a_run_is_read_back_and_a_cut_line_is_not() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("p.shake");
        let mut writer = DirectoryWriter::create(&path).unwrap();
        writer.begin(&header(), Some(b"right")).unwrap();
        let run = RunLine {
            run: 1,
            schedule: Schedule::OneCpuHolds,
            seed: u64::MAX,
            sites: vec![CodePlace { file: "/p".into(), offset: 7 }],
            hit: Some(3),
            elapsed_s: 0.25,
            holds: 2,
            failure: Some(Failure::Signal(11)),
        };
        writer.append(&run).unwrap();
        writer.runs.as_ref().unwrap().write_all(b"{\"run\":2,").unwrap();
        assert_eq!(search_state(&path), StudyState::Measuring);
        drop(writer);
        assert_eq!(search_state(&path), StudyState::Killed);
        let search = Search::read(&path).unwrap();
        assert_eq!((search.header, search.stdout), (header(), Some(b"right".to_vec())));
        assert_eq!(search.runs, [run]);
    }

    #[test]
    fn an_existing_directory_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let error = DirectoryWriter::create(home.path()).unwrap_err();
        assert!(error.to_string().contains("choose another"), "{error}");
        assert!(home.path().exists());
        drop(DirectoryWriter::create(&home.path().join("a")).unwrap());
        assert!(!home.path().join("a").exists(), "nothing was begun");
    }

    #[test]
    fn a_newer_format_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let newer = Header { schema: "morecores.shake/2".to_owned(), ..header() };
        fs::write(home.path().join(HEADER), serde_json::to_string(&newer).unwrap()).unwrap();
        let error = Search::read(home.path()).unwrap_err();
        assert!(error.to_string().contains("morecores.shake/2"), "{error}");
    }
}
