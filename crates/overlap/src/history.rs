//! The recipe lines of a build with the files that each read and wrote: the ground on which hazards
//! are judged.
//!
//! Data alone. `supervisor::observation` fills it, and `hazards` judges it.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::rules::{RecipeCommand, Rules};

/// Place of a recipe line in the serial order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LineId(pub(crate) usize);

/// Place of a run of make in the order of their starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct MakeId(pub(crate) usize);

/// A file, by its place in the list of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileId(usize);

/// A run of make.
#[derive(Debug)]
pub(crate) struct MakeRun {
    /// The recipe line of another make that started it.
    pub(crate) caller: Option<LineId>,
    /// `None` if its dry run failed.
    pub(crate) rules: Option<Rules>,
}

/// A recipe line that was started.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) make: MakeId,
    pub(crate) command: RecipeCommand,
    /// Files that existed and were opened to read.
    pub(crate) reads: BTreeSet<FileId>,
    /// Names that were changed.
    pub(crate) writes: BTreeSet<FileId>,
    /// Directories that the line makes if they are missing.
    pub(crate) directories: BTreeSet<FileId>,
}

/// Use of a file by a recipe line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    Write,
    /// A directory that may have been there.
    EnsureDirectory,
}

/// Numbers of runs of make and of recipe lines at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Length {
    pub(crate) makes: usize,
    pub(crate) lines: usize,
}

/// All runs of make and their recipe lines.
#[derive(Debug)]
pub(crate) struct History {
    /// Working directory of the build.
    pub(crate) directory: PathBuf,
    pub(crate) makes: Vec<MakeRun>,
    pub(crate) lines: Vec<Line>,
    names: Vec<PathBuf>,
    by_name: HashMap<PathBuf, FileId>,
}

impl History {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory, makes: Vec::new(), lines: Vec::new(), names: Vec::new(), by_name: HashMap::new() }
    }

    pub(crate) fn add_make(&mut self, run: MakeRun) -> MakeId {
        self.makes.push(run);
        MakeId(self.makes.len() - 1)
    }

    pub(crate) fn add_line(&mut self, make: MakeId, command: RecipeCommand) -> LineId {
        self.lines.push(Line {
            make,
            command,
            reads: BTreeSet::new(),
            writes: BTreeSet::new(),
            directories: BTreeSet::new(),
        });
        LineId(self.lines.len() - 1)
    }

    /// Adds the use of a file. Lines that were taken back use nothing.
    pub(crate) fn add_use(&mut self, line: LineId, path: &Path, usage: Use) {
        let file = match self.by_name.get(path) {
            Some(file) => *file,
            None => {
                let file = FileId(self.names.len());
                self.names.push(path.to_owned());
                self.by_name.insert(path.to_owned(), file);
                file
            }
        };
        let Some(line) = self.lines.get_mut(line.0) else { return };
        match usage {
            // What the line wrote itself comes from no other.
            Use::Read if line.writes.contains(&file) => false,
            Use::Read => line.reads.insert(file),
            Use::Write => line.writes.insert(file),
            Use::EnsureDirectory => line.directories.insert(file),
        };
    }

    /// Present length, to come back to.
    pub(crate) fn length(&self) -> Length {
        Length { makes: self.makes.len(), lines: self.lines.len() }
    }

    /// Removes everything after a length, which the serial run never started.
    pub(crate) fn truncate(&mut self, length: Length) {
        self.makes.truncate(length.makes);
        self.lines.truncate(length.lines);
    }

    pub(crate) fn name(&self, file: FileId) -> &Path {
        &self.names[file.0]
    }

    pub(crate) fn file(&self, path: &Path) -> Option<FileId> {
        self.by_name.get(path).copied()
    }
}
