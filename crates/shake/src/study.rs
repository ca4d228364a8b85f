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

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::ShakeError;
use crate::code::CodePlace;
use crate::findings::Findings;
use crate::schedule::Schedule;

/// Version of the format.
const SCHEMA: &str = "morecores.shake/1";
const HEADER: &str = "search.json";
const STDOUT: &str = "stdout";
const RUNS: &str = "runs.jsonl";
/// Name of the core of the first failure.
pub(crate) const CORE: &str = "core";
const FINDINGS: &str = "findings.json";

/// Program and conditions of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) schema: String,
    pub(crate) command: Vec<String>,
    /// Numbers of the CPUs of the runs on several CPUs.
    pub(crate) cpus: Vec<usize>,
    pub(crate) check: Option<String>,
    pub(crate) seed: u64,
    /// Elapsed time of a first run, in seconds.
    pub(crate) elapsed_s: f64,
    /// Time limit of a run, in seconds.
    pub(crate) timeout_s: f64,
    /// Whether threads have real-time priorities.
    pub(crate) real_time: bool,
}

impl Header {
    pub(crate) fn schema() -> String {
        SCHEMA.to_owned()
    }
}

/// Run of a search: every choice in it, and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunLine {
    /// Number, from 1.
    pub(crate) run: u64,
    pub(crate) schedule: Schedule,
    /// Seed of the times and lengths of the holds.
    pub(crate) seed: u64,
    pub(crate) sites: Vec<CodePlace>,
    pub(crate) elapsed_s: f64,
    /// Number of holds that could change the order of threads.
    pub(crate) holds: u64,
    pub(crate) failure: Option<String>,
}

/// Writer of a new directory.
#[derive(Debug)]
pub(crate) struct StudyWriter {
    directory: PathBuf,
    runs: Option<File>,
}

impl StudyWriter {
    /// Creates the directory.
    ///
    /// # Errors
    /// It exists already, or cannot be created.
    pub(crate) fn create(directory: &Path) -> Result<Self, ShakeError> {
        let created = fs::create_dir(directory);
        let error = |error| ShakeError::Directory { path: directory.to_owned(), error };
        created.map_err(error)?;
        Ok(Self { directory: directory.to_owned(), runs: None })
    }

    /// Writes the header, and the output that every run must have.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn begin(&mut self, header: &Header, stdout: Option<&[u8]>) -> io::Result<()> {
        self.write(HEADER, header)?;
        if let Some(stdout) = stdout {
            fs::write(self.directory.join(STDOUT), stdout)?;
        }
        self.runs = Some(File::create(self.directory.join(RUNS))?);
        Ok(())
    }

    /// Appends a run.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn append(&mut self, run: &RunLine) -> io::Result<()> {
        let Some(file) = &mut self.runs else { return Ok(()) };
        file.write_all((serde_json::to_string(run)? + "\n").as_bytes())
    }

    /// Writes the findings.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn finish(&self, findings: &Findings) -> io::Result<()> {
        self.write(FINDINGS, findings)
    }

    fn write(&self, name: &str, content: &impl Serialize) -> io::Result<()> {
        fs::write(self.directory.join(name), serde_json::to_string_pretty(content)? + "\n")
    }
}

impl Drop for StudyWriter {
    fn drop(&mut self) {
        // A search that could not begin has nothing to keep.
        if self.runs.is_none() {
            let _ = fs::remove_dir(&self.directory);
        }
    }
}

/// Directory of an earlier search.
#[derive(Debug)]
pub(crate) struct Study {
    pub(crate) header: Header,
    pub(crate) stdout: Option<Vec<u8>>,
    pub(crate) runs: Vec<RunLine>,
}

impl Study {
    /// Reads the directory. A last line that was cut short is left out.
    ///
    /// # Errors
    /// It is no directory of a search, or one of a newer version.
    pub(crate) fn read(directory: &Path) -> Result<Self, ShakeError> {
        let error = |error| ShakeError::Directory { path: directory.to_owned(), error };
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
        let mut writer = StudyWriter::create(&path).unwrap();
        writer.begin(&header(), Some(b"right")).unwrap();
        let run = RunLine {
            run: 1,
            schedule: Schedule::OneCpuHolds,
            seed: u64::MAX,
            sites: vec![CodePlace { file: "/p".into(), offset: 7 }],
            elapsed_s: 0.25,
            holds: 2,
            failure: Some("SIGSEGV".to_owned()),
        };
        writer.append(&run).unwrap();
        writer.runs.as_ref().unwrap().write_all(b"{\"run\":2,").unwrap();
        drop(writer);
        let study = Study::read(&path).unwrap();
        assert_eq!((study.header, study.stdout), (header(), Some(b"right".to_vec())));
        assert_eq!(study.runs, [run]);
    }

    #[test]
    fn an_existing_directory_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let error = StudyWriter::create(home.path()).unwrap_err();
        assert!(error.to_string().contains("choose another"), "{error}");
        assert!(home.path().exists());
        drop(StudyWriter::create(&home.path().join("a")).unwrap());
        assert!(!home.path().join("a").exists(), "nothing was begun");
    }

    #[test]
    fn a_newer_format_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let newer = Header { schema: "morecores.shake/2".to_owned(), ..header() };
        fs::write(home.path().join(HEADER), serde_json::to_string(&newer).unwrap()).unwrap();
        let error = Study::read(home.path()).unwrap_err();
        assert!(error.to_string().contains("morecores.shake/2"), "{error}");
    }
}
