//! A machine's description as one text file that people can read, compare and send.
//!
//! ```text
//! # morecores topology recording 1
//! /proc/self/cgroup<TAB>3:cpuset:/
//! /sys/devices/system/cpu/cpu{0-3}/topology/physical_package_id<TAB>0
//! ```
//!
//! Each line is a path, a tab and one line of that file; a file of several lines has several lines
//! here. CPUs with equal content of a file share a line, with their numbers in braces. `#` begins a
//! comment. In paths, tab, newline and backslash are octal escapes as in mountinfo.
//!
//! A recording holds exactly the text that the readers read: the affinity mask alone from
//! `/proc/self/status`, and only the mounts and cgroups that limit CPUs. The names of those cgroups
//! can reveal a container or a user number.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use morecores_study::{CpuId, CpuSet};

use super::{CPUS, read_from};
use crate::kernel_files::unescape;
use crate::kernel_files::{Tree, join_below_root};

/// First line of every recording, with the version number of the format.
const HEADER: &str = "# morecores topology recording 1";

/// Files from which a topology was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    comments: Vec<String>,
    files: BTreeMap<PathBuf, String>,
}

/// Error of reading or unpacking a recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The first line is not the header.
    #[error("not a topology recording: its first line must be `{HEADER}`")]
    Header,
    /// A line is damaged.
    #[error("line {line} of the recording: {why}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// Description of the error and of the expected text.
        why: String,
    },
    /// A file could not be written.
    #[error("cannot unpack {path}: {error}")]
    Write {
        /// File or directory.
        path: PathBuf,
        /// Reason given by the system.
        error: io::Error,
    },
}

impl Recording {
    /// Records the running machine as this process sees it.
    pub fn record_machine() -> Self {
        let mut tree = Tree::live();
        read_from(&mut tree);
        Self::from_tree(&tree)
    }

    /// Recording of the files that have been read from `tree` so far. Each unreadable file becomes
    /// a comment.
    pub fn from_tree(tree: &Tree) -> Self {
        let comments =
            tree.unread().iter().map(|unread| format!("not read: {}: {}", unread.path, unread.why));
        Self { comments: comments.collect(), files: tree.texts().clone() }
    }

    /// Adds a file, for recordings of invented machines.
    pub fn insert(&mut self, path: impl Into<PathBuf>, text: impl Into<String>) {
        self.files.insert(path.into(), text.into());
    }

    /// Adds a comment line below the header.
    pub fn comment(&mut self, text: impl Into<String>) {
        self.comments.push(text.into());
    }

    /// Tree of the recorded machine, which readers use like that of the running machine.
    pub fn tree(&self) -> Tree {
        Tree::from_files(self.files.clone())
    }

    /// Writes the files below `dir`, from which [`Tree::from_directory`] reads them.
    pub fn unpack(&self, dir: &Path) -> Result<(), RecordingError> {
        for (path, text) in &self.files {
            // Parsing has rejected paths that lead outside `dir`.
            let path = join_below_root(dir, path);
            let parent = path.parent().unwrap_or(dir);
            fs::create_dir_all(parent)
                .and_then(|()| fs::write(&path, format!("{text}\n")))
                .map_err(|error| RecordingError::Write { path: path.clone(), error })?;
        }
        Ok(())
    }
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        for comment in self.comments.iter().flat_map(|comment| comment.lines()) {
            writeln!(f, "# {comment}")?;
        }
        let mut cpu_files: BTreeMap<(&Path, &str), CpuSet> = BTreeMap::new();
        for (path, text) in &self.files {
            match split_cpu_path(path) {
                Some((cpu, file)) => {
                    cpu_files.entry((file, text)).or_default().insert(cpu);
                }
                None => write_file(f, &escape(path), text)?,
            }
        }
        // The order is by file, then by lowest CPU. The order of the texts differs: "10" sorts
        // before "2".
        let mut cpu_files: Vec<_> =
            cpu_files.into_iter().map(|((file, text), cpus)| (file, cpus, text)).collect();
        cpu_files.sort();
        for (file, cpus, text) in cpu_files {
            write_file(f, &format!("{CPUS}/cpu{{{cpus}}}/{}", escape(file)), text)?;
        }
        Ok(())
    }
}

fn write_file(f: &mut fmt::Formatter<'_>, path: &str, text: &str) -> fmt::Result {
    if text.is_empty() {
        writeln!(f, "{path}\t")?;
    }
    text.lines().try_for_each(|line| writeln!(f, "{path}\t{line}"))
}

/// CPU and remaining path of a path below `cpuN`.
fn split_cpu_path(path: &Path) -> Option<(CpuId, &Path)> {
    let below = path.strip_prefix(CPUS).ok()?;
    let mut components = below.components();
    let cpu = components.next()?.as_os_str().to_str()?.strip_prefix("cpu")?.parse().ok()?;
    Some((CpuId(cpu), components.as_path()))
}

/// Path with mountinfo's octal escapes.
fn escape(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "\\134").replace('\t', "\\011").replace('\n', "\\012")
}

impl FromStr for Recording {
    type Err = RecordingError;

    fn from_str(text: &str) -> Result<Self, RecordingError> {
        let mut lines = text.lines();
        if lines.next().map(str::trim_end) != Some(HEADER) {
            return Err(RecordingError::Header);
        }
        let mut recording = Self::default();
        for (number, line) in (2..).zip(lines) {
            if let Some(comment) = line.strip_prefix('#') {
                recording.comments.push(comment.strip_prefix(' ').unwrap_or(comment).to_owned());
            } else if !line.trim().is_empty() {
                recording.add_line(line).map_err(|why| RecordingError::Line { line: number, why })?;
            }
        }
        Ok(recording)
    }
}

impl Recording {
    fn add_line(&mut self, line: &str) -> Result<(), String> {
        let (path, text) = line.split_once('\t').ok_or("no tab between path and text")?;
        for path in expand_paths(path)? {
            // Recordings come from strangers, so unpacking one must not write outside its
            // directory.
            let plain =
                path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
            if !path.is_absolute() || !plain {
                return Err(format!("{} is not an absolute path without `..`", path.display()));
            }
            match self.files.get_mut(&path) {
                Some(lines) => {
                    lines.push('\n');
                    lines.push_str(text);
                }
                None => self.insert(path, text),
            }
        }
        Ok(())
    }
}

/// Paths that a path with a CPU list in braces denotes. Braces elsewhere, for example in a cgroup's
/// name, have no special meaning.
fn expand_paths(path: &str) -> Result<Vec<PathBuf>, String> {
    let braces =
        path.strip_prefix(CPUS).and_then(|p| p.strip_prefix("/cpu{")).and_then(|p| p.split_once('}'));
    let Some((list, file)) = braces else {
        return Ok(vec![unescape(path).into()]);
    };
    let cpus: CpuSet = list.parse().map_err(|error| format!("{error}"))?;
    Ok(cpus.iter().map(|cpu| format!("{CPUS}/cpu{cpu}{}", unescape(file)).into()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(files: &[(&str, &str)]) -> Recording {
        let mut recording = Recording::default();
        files.iter().for_each(|(path, text)| recording.insert(*path, *text));
        recording
    }

    #[test]
    fn a_recording_survives_its_text_form_and_joins_cpus() {
        let mut original = recording(&[
            ("/proc/self/cgroup", "2:cpu:/\n0::/a{b}\\x2d"),
            ("/sys/devices/system/cpu/cpu0/topology/core_id", "0"),
            ("/sys/devices/system/cpu/cpu2/topology/core_id", "2"),
            ("/sys/devices/system/cpu/cpu10/topology/core_id", "0"),
            ("/sys/devices/system/cpu/online", "0,2,10"),
            ("/sys/devices/system/cpu/isolated", ""),
            ("/sys/fs/cgroup/a{b}\\x2d\t/cpu.max", "max 100000"),
        ]);
        original.comment("made up");
        let text = original.to_string();
        let cpus = "/sys/devices/system/cpu/cpu";
        let joined = format!("{cpus}{{0,10}}/topology/core_id\t0\n{cpus}{{2}}/topology/core_id\t2\n");
        assert!(text.ends_with(&joined), "{text}");
        assert_eq!(text.parse::<Recording>().unwrap(), original);
    }

    #[test]
    fn unpacked_files_equal_the_recording() {
        let dir = tempfile::tempdir().unwrap();
        recording(&[("/proc/self/cgroup", "2:cpu:/\n0::/")]).unpack(dir.path()).unwrap();
        assert_eq!(
            Tree::from_directory(dir.path()).read("/proc/self/cgroup").as_deref(),
            Some("2:cpu:/\n0::/")
        );
    }

    #[test]
    fn a_damaged_recording_is_refused_by_line() {
        let cases = [
            ("/a b", "line 2 of the recording: no tab"),
            ("/a/../../etc/passwd\tx", "without `..`"),
            ("a\tx", "absolute"),
            ("/sys/devices/system/cpu/cpu{0-}/x\t1", "write a list like"),
        ];
        for (line, expected) in cases {
            let error = format!("{HEADER}\n{line}\n").parse::<Recording>().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(matches!("/a\tx".parse::<Recording>(), Err(RecordingError::Header)));
    }
}
