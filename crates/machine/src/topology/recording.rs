//! A machine's description as one text file that people can read, compare and send.
//!
//! ```text
//! # morecores topology recording 1
//! /proc/self/cgroup<TAB>3:cpuset:/
//! /sys/devices/system/cpu/cpu{0-3}/topology/physical_package_id<TAB>0
//! ```
//!
//! A line is a path, a tab and one line of that file; a file of several lines has a line for each. CPUs of
//! which a file says the same share a line, their numbers in braces. `#` begins a comment. In paths, tab,
//! newline and backslash are octal escapes as in mountinfo.
//!
//! What is recorded is what the readers read, by construction: of `/proc/self/status` the affinity mask
//! alone, of the mounts and cgroups only those that limit CPUs. The names of the latter can tell a container
//! or a user number.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use morecores_study::{CpuId, CpuSet};

use super::{CPUS, read_from};
use crate::cgroup::unescape;
use crate::tree::{Tree, under};

/// First line of every recording; the number is that of the format.
const HEADER: &str = "# morecores topology recording 1";

/// The files that a topology was read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    comments: Vec<String>,
    files: BTreeMap<PathBuf, String>,
}

/// Why a recording cannot be read or unpacked.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// It does not begin as one.
    #[error("not a topology recording: its first line must be `{HEADER}`")]
    Header,
    /// A line is damaged.
    #[error("line {line} of the recording: {why}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong and what was expected.
        why: String,
    },
    /// A file could not be written.
    #[error("cannot unpack {path}: {source}")]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl Recording {
    /// Records the running machine as this process sees it.
    pub fn of_this_machine() -> Self {
        let mut tree = Tree::live();
        read_from(&mut tree);
        Self::of(&tree)
    }

    /// What has been read from `tree` so far; what could not be read becomes a comment.
    pub fn of(tree: &Tree) -> Self {
        let comments =
            tree.unread().iter().map(|unread| format!("not read: {}: {}", unread.path, unread.why));
        Self { comments: comments.collect(), files: tree.seen().clone() }
    }

    /// Adds a file, for recordings that are made up rather than recorded.
    pub fn insert(&mut self, path: impl Into<PathBuf>, text: impl Into<String>) {
        self.files.insert(path.into(), text.into());
    }

    /// Adds a line of comment below the header.
    pub fn comment(&mut self, text: impl Into<String>) {
        self.comments.push(text.into());
    }

    /// The recorded machine, to be read like the running one.
    pub fn tree(&self) -> Tree {
        Tree::of_files(self.files.clone())
    }

    /// Writes the files below `dir`, from where [`Tree::at`] reads them.
    pub fn unpack(&self, dir: &Path) -> Result<(), RecordingError> {
        for (path, text) in &self.files {
            // Parsing has refused paths that lead outside `dir`.
            let path = under(dir, path);
            let parent = path.parent().unwrap_or(dir);
            fs::create_dir_all(parent)
                .and_then(|()| fs::write(&path, format!("{text}\n")))
                .map_err(|source| RecordingError::Write { path: path.clone(), source })?;
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
        let mut of_cpus: BTreeMap<(&Path, &str), CpuSet> = BTreeMap::new();
        for (path, text) in &self.files {
            match of_cpu(path) {
                Some((cpu, file)) => {
                    of_cpus.entry((file, text)).or_default().insert(cpu);
                }
                None => write_file(f, &escape(path), text)?,
            }
        }
        // By file, then by lowest CPU, which is not the order of the texts: "10" sorts before "2".
        let mut of_cpus: Vec<_> =
            of_cpus.into_iter().map(|((file, text), cpus)| (file, cpus, text)).collect();
        of_cpus.sort();
        for (file, cpus, text) in of_cpus {
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

/// The CPU and the rest of a path below `cpuN`.
fn of_cpu(path: &Path) -> Option<(CpuId, &Path)> {
    let below = path.strip_prefix(CPUS).ok()?;
    let mut components = below.components();
    let cpu = components.next()?.as_os_str().to_str()?.strip_prefix("cpu")?.parse().ok()?;
    Some((CpuId(cpu), components.as_path()))
}

/// The reverse of mountinfo's octal escapes.
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
        for path in expand(path)? {
            // Recordings come from strangers: unpacking one must not write elsewhere.
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

/// The paths that a path with a CPU list in braces stands for. Braces elsewhere, as a cgroup's name may have
/// them, stand for themselves.
fn expand(path: &str) -> Result<Vec<PathBuf>, String> {
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
    fn text_round_trips_and_joins_cpus() {
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
    fn unpacked_files_read_as_recorded() {
        let dir = tempfile::tempdir().unwrap();
        recording(&[("/proc/self/cgroup", "2:cpu:/\n0::/")]).unpack(dir.path()).unwrap();
        assert_eq!(Tree::at(dir.path()).read("/proc/self/cgroup").as_deref(), Some("2:cpu:/\n0::/"));
    }

    #[test]
    fn damage_is_named_by_line() {
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
