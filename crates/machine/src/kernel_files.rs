//! Small text files of the kernel in `/proc` and `/sys`, below a root that may differ from `/`.
//!
//! A missing file is an answer and no error, because kernels, containers and architectures differ
//! in the files that they show. The tree keeps all text that it reads, so a recording of a machine
//! holds exactly the text that its readers saw. This module does not interpret the files, and
//! writes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use morecores_study::topology::UnreadFile;

/// Reader of files below a root, or of a recording.
#[derive(Debug)]
pub struct Tree {
    source: Source,
    texts: BTreeMap<PathBuf, String>,
    unread: Vec<UnreadFile>,
}

#[derive(Debug)]
enum Source {
    /// Files below a directory.
    Root(PathBuf),
    /// Files in memory, by their path on the machine.
    Memory(BTreeMap<PathBuf, String>),
}

/// Location of a machine's file in a tree at `root`: `/proc/self/status` is at
/// `ROOT/proc/self/status`.
pub fn join_below_root(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

impl Tree {
    /// Tree of the running machine.
    pub fn live() -> Self {
        Self::from_directory("/")
    }

    /// Tree of a copy of a machine's files, each at the location that [`join_below_root`] gives.
    pub fn from_directory(root: impl Into<PathBuf>) -> Self {
        Self::from_source(Source::Root(root.into()))
    }

    /// Tree of files in memory, by their path on the machine.
    pub fn from_files(files: BTreeMap<PathBuf, String>) -> Self {
        Self::from_source(Source::Memory(files))
    }

    fn from_source(source: Source) -> Self {
        Self { source, texts: BTreeMap::new(), unread: Vec::new() }
    }

    /// Reads the text of a file without its trailing newlines. `None` if the file does not exist or
    /// cannot be read; an unreadable file is noted.
    pub fn read(&mut self, path: impl AsRef<Path>) -> Option<String> {
        self.read_lines(path, |_| true)
    }

    /// Reads only the lines that `keep` accepts, otherwise like [`read`](Self::read). The rejected
    /// lines are not kept for a recording either.
    pub fn read_lines(&mut self, path: impl AsRef<Path>, keep: impl Fn(&str) -> bool) -> Option<String> {
        let path = path.as_ref();
        match self.source.read(path) {
            Ok(text) => {
                let kept: Vec<&str> = text.trim_end_matches('\n').lines().filter(|line| keep(line)).collect();
                let text = kept.join("\n");
                self.texts.insert(path.to_owned(), text.clone());
                Some(text)
            }
            Err(error) => {
                self.note_unless_absent(path, &error);
                None
            }
        }
    }

    /// Numbers `N` for which `directory` has an entry `PREFIXN`, ascending: `cpu0`, `index3`.
    pub fn numbered(&mut self, directory: impl AsRef<Path>, prefix: &str) -> Vec<u32> {
        let directory = directory.as_ref();
        let names = match self.source.names(directory) {
            Ok(names) => names,
            Err(error) => {
                self.note_unless_absent(directory, &error);
                return Vec::new();
            }
        };
        let mut numbers: Vec<u32> =
            names.iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Notes that information about `path` is unknown.
    pub fn note(&mut self, path: impl AsRef<Path>, why: impl Into<String>) {
        self.unread.push(UnreadFile { path: path.as_ref().display().to_string(), why: why.into() });
    }

    /// All text read so far, by path.
    pub fn texts(&self) -> &BTreeMap<PathBuf, String> {
        &self.texts
    }

    /// All notes about unknown information so far.
    pub fn unread(&self) -> &[UnreadFile] {
        &self.unread
    }

    /// Notes an error, unless the error means that the file is absent.
    ///
    /// A file may also have no content on this machine. sysfs answers ENODEV or ENXIO for a CPU
    /// that has just gone offline. It answers EOPNOTSUPP or EINVAL for an attribute that is
    /// declared and not implemented. ENOTDIR means that a path's parent is a file in this kernel.
    fn note_unless_absent(&mut self, path: &Path, error: &io::Error) {
        use io::ErrorKind::{InvalidInput, NotADirectory, NotFound, Unsupported};
        /// Error numbers from `include/uapi/asm-generic/errno-base.h`; the standard library has no
        /// kinds for them.
        const ENXIO: i32 = 6;
        const ENODEV: i32 = 19;
        let absent = matches!(error.kind(), NotFound | NotADirectory | Unsupported | InvalidInput)
            || matches!(error.raw_os_error(), Some(ENXIO | ENODEV));
        if !absent {
            self.note(path, error.to_string());
        }
    }
}

impl Source {
    fn read(&self, path: &Path) -> io::Result<String> {
        match self {
            Self::Root(root) => fs::read(join_below_root(root, path))
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            Self::Memory(files) => files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into()),
        }
    }

    /// Names of a directory's entries. A directory in memory yields a name once for each file below
    /// it.
    fn names(&self, directory: &Path) -> io::Result<Vec<String>> {
        match self {
            Self::Root(root) => fs::read_dir(join_below_root(root, directory))?
                .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
                .collect(),
            // Paths sort by component, so the files below a directory follow it without a gap.
            Self::Memory(files) => Ok(files
                .range(directory.to_owned()..)
                .map_while(|(path, _)| path.strip_prefix(directory).ok())
                .filter_map(|below| {
                    Some(below.components().next()?.as_os_str().to_string_lossy().into_owned())
                })
                .collect()),
        }
    }
}

/// Decodes the octal escapes of mountinfo (`\040` is a space). The kernel writes them for space,
/// tab, newline and backslash (`mangle` in `fs/seq_file.c`).
pub(crate) fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        match after.get(..3).and_then(|octal| u8::from_str_radix(octal, 8).ok()) {
            Some(byte) => {
                plain.push(char::from(byte));
                rest = &after[3..];
            }
            None => {
                plain.push('\\');
                rest = after;
            }
        }
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_file_is_silent_and_a_refused_one_is_noted() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), "x\ny \n\n").unwrap();
        let mut tree = Tree::from_directory(dir.path());
        assert_eq!(tree.read("/a").as_deref(), Some("x\ny "));
        assert_eq!(tree.read_lines("/a", |line| line.starts_with('y')).as_deref(), Some("y "));
        assert_eq!(tree.texts()[Path::new("/a")], "y ", "what was left out is not kept");
        assert_eq!(tree.read("/b"), None);
        assert_eq!(tree.read("/a/b"), None, "a file where a directory was expected");
        assert!(tree.unread().is_empty());
        // Even root cannot read a directory as a file, but root can read a file without
        // permissions.
        assert_eq!(tree.read("/"), None);
        assert_eq!(tree.unread().len(), 1);
    }

    #[test]
    fn numbered_entries_may_have_gaps_and_other_names_are_skipped() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["cpu10", "cpu2", "cpufreq", "cpu", "xcpu1"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        assert_eq!(Tree::from_directory(dir.path()).numbered("/", "cpu"), [2, 10]);
        let names = ["/a/cpu10/x", "/a/cpu2/x", "/a/cpu2/y", "/a/cpufreq/x", "/ab/cpu3/x"];
        let files = names.map(|path| (PathBuf::from(path), String::new()));
        assert_eq!(Tree::from_files(files.into()).numbered("/a", "cpu"), [2, 10]);
    }
}
