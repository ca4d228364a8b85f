//! The files that a command reads and writes, as far as its arguments tell, and the order that
//! follows for two commands.
//!
//! Pure: no file is looked at here.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The files that a command reads and writes. All paths are absolute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    /// Files named by the arguments.
    pub(crate) reads: Vec<PathBuf>,
    /// Files that exist, or are gone, after the command, in the order in which it finishes them.
    pub(crate) writes: Vec<Write>,
    /// Files that the command finds by itself.
    pub(crate) search: Search,
}

/// One file that a command changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Write {
    /// The name that changes.
    pub(crate) path: PathBuf,
    /// The state of the name after the command.
    pub(crate) after: State,
    /// The origin of the file.
    pub(crate) origin: Origin,
}

/// The origin of the file of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The command writes it, or removes it.
    Command,
    /// This file was moved to the name, with its state and its time of change.
    Moved(PathBuf),
    /// It is a symbolic link to this file.
    Link(PathBuf),
}

/// State of a name after the command that changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// A regular file of machine code, which no compiler reads as a source.
    Binary {
        /// Permission bits that the command asks for, before the umask.
        mode: u32,
    },
    /// A regular file of text.
    Text {
        /// Permission bits that the command asks for, before the umask.
        mode: u32,
    },
    /// A file whose kind or time the arguments do not tell, such as a symbolic link or a copy.
    Other,
    /// A directory, whose files need it.
    Directory {
        /// Whether the command makes the directory only if it is missing, as `mkdir -p` does.
        may_exist: bool,
    },
    /// No file.
    Absent,
}

/// Files that a command finds by itself, on paths of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Search {
    /// Sources and headers: every name that is not clearly the output of a compiler or linker.
    pub(crate) headers: bool,
    /// Libraries by `-l`, and the scripts of linkers.
    pub(crate) libraries: bool,
    /// Any file, as by `.incbin`.
    pub(crate) anything: bool,
}

impl Write {
    /// A write of the command itself.
    pub(crate) fn new(path: PathBuf, after: State) -> Self {
        Self { path, after, origin: Origin::Command }
    }

    /// Whether other names may stand below this one: anything may stand behind a link.
    pub(crate) fn may_be_directory(&self) -> bool {
        matches!(self.after, State::Directory { .. }) || matches!(self.origin, Origin::Link(_))
    }

    /// Origin of the file after it has been moved. A link may lead elsewhere from another folder.
    fn moved_origin(&self) -> Origin {
        match &self.origin {
            Origin::Link(_) => Origin::Command,
            other => other.clone(),
        }
    }

    /// Whether the write changes a path: its own name, or what lies in a directory that comes or
    /// goes.
    pub(crate) fn concerns(&self, path: &Path) -> bool {
        let is_directory = self.after == State::Absent || self.may_be_directory();
        // Bytes first: a path without doubles is compared part by part otherwise.
        let (text, own) = (path.as_os_str().as_bytes(), self.path.as_os_str().as_bytes());
        text.starts_with(own) && (text.len() == own.len() || (is_directory && path.starts_with(&self.path)))
    }
}

impl Search {
    /// Compilation of a source.
    pub(crate) const HEADERS: Self = Self { headers: true, libraries: false, anything: false };
    /// A link.
    pub(crate) const LIBRARIES: Self = Self { headers: false, libraries: true, anything: false };

    /// Both searches.
    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            headers: self.headers || other.headers,
            libraries: self.libraries || other.libraries,
            anything: self.anything || other.anything,
        }
    }

    /// Whether the search can find a file that was written, or miss one that was removed.
    #[must_use]
    pub(crate) fn can_find(self, write: &Write) -> bool {
        // No source is an empty directory.
        let is_binary = matches!(write.after, State::Binary { .. } | State::Directory { .. });
        let kind = || NameKind::of_file(&write.path);
        self.anything
            || (self.headers && !is_binary && kind() == NameKind::Text)
            || (self.libraries && kind() == NameKind::Library)
            // A linker's script. A program is none.
            || (self.libraries && !is_binary && kind() == NameKind::Text)
    }
}

/// Kind of a file by its name, as far as searches care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameKind {
    /// Read by compilers only if an argument names it.
    Object,
    /// Found by linkers.
    Library,
    /// Possibly a source, a header or a linker's script.
    Text,
}

/// Endings of files that compilers write and no `#include` names.
const OBJECT_ENDINGS: &[&str] = &[
    ".o", ".lo", ".obj", ".os", ".d", ".Po", ".Plo", ".Tpo", ".TPlo", ".dep", ".dwo", ".gcno", ".su", ".cmd",
    ".Td",
];

impl NameKind {
    fn of_file(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_library =
            [".a", ".la", ".so"].iter().any(|ending| name.ends_with(ending)) || name.contains(".so.");
        // What libtool puts into its folder is not installed under this name.
        let is_of_libtool = path.parent().is_some_and(|folder| folder.ends_with(".libs"));
        if is_library {
            Self::Library
        } else if is_of_libtool || OBJECT_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
            Self::Object
        } else {
            Self::Text
        }
    }
}

impl Effects {
    /// Adds the effects of a command that runs afterwards.
    pub(crate) fn append(&mut self, later: Self) {
        self.reads.extend(later.reads);
        self.search = self.search.or(later.search);
        for mut write in later.writes {
            self.writes.retain(|earlier| earlier.path != write.path);
            let is_source = |earlier: &Write| write.origin == Origin::Moved(earlier.path.clone());
            match self.writes.iter().position(is_source) {
                // The moved file keeps its time, and so its place.
                Some(place) => {
                    let source = &self.writes[place];
                    (write.after, write.origin) = (source.after, source.moved_origin());
                    self.writes.insert(place, write);
                }
                None => self.writes.push(write),
            }
        }
    }

    /// All paths that the command reads or writes.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        let writes = self.writes.iter().map(|write| &write.path);
        writes.chain(&self.reads).map(PathBuf::as_path)
    }

    /// The same effects with every path replaced.
    #[must_use]
    pub(crate) fn map_paths(self, mut replace: impl FnMut(&Path) -> PathBuf) -> Self {
        Self {
            reads: self.reads.iter().map(|path| replace(path)).collect(),
            writes: self
                .writes
                .into_iter()
                .map(|write| Write {
                    path: replace(&write.path),
                    after: write.after,
                    origin: match write.origin {
                        Origin::Command => Origin::Command,
                        Origin::Moved(path) => Origin::Moved(replace(&path)),
                        Origin::Link(path) => Origin::Link(replace(&path)),
                    },
                })
                .collect(),
            search: self.search,
        }
    }

    /// Reason for which this command must run after `earlier`; `None` if their order does not
    /// matter. The conditions are those of Bernstein: neither writes what the other reads or
    /// writes.
    #[must_use]
    pub(crate) fn conflict<'a>(&'a self, earlier: &'a Self) -> Option<Conflict<'a>> {
        let names = |effects: &Self, write: &Write| effects.paths().any(|path| write.concerns(path));
        // Of two commands that make a directory if it is missing, either may be the first.
        let is_of_both = |write: &&Write| {
            write.after == State::Directory { may_exist: true }
                && self.writes.contains(write)
                && earlier.writes.contains(write)
        };
        let earlier_writes = || earlier.writes.iter().filter(|write| !is_of_both(write));
        let mut writes = self.writes.iter().filter(|write| !is_of_both(write));
        let named = earlier_writes()
            .find(|write| names(self, write))
            .or_else(|| writes.find(|write| names(earlier, write) || earlier.search.can_find(write)));
        let found = || earlier_writes().find(|write| self.search.can_find(write));
        named
            .map(|write| Conflict::Named(&write.path))
            .or_else(|| found().map(|write| Conflict::Found(&write.path)))
    }
}

/// Reason for the order of two commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conflict<'a> {
    /// The later command names this file, or changes what the earlier one may read. It starts after
    /// the earlier one.
    Named(&'a Path),
    /// The later command may find this output of the earlier one by itself. It may start before,
    /// and waits if it looks at the file.
    Found(&'a Path),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(source: &str, object: &str) -> Effects {
        Effects { reads: vec![source.into()], writes: vec![binary(object)], search: Search::HEADERS }
    }

    fn binary(path: &str) -> Write {
        Write::new(path.into(), State::Binary { mode: 0o666 })
    }

    #[test]
    fn two_compilations_are_independent_and_a_link_is_not() {
        let first = compile("/b/a.c", "/b/a.o");
        assert_eq!(compile("/b/b.c", "/b/b.o").conflict(&first), None);
        let link = Effects {
            reads: vec!["/b/a.o".into(), "/b/b.o".into()],
            writes: vec![binary("/b/p")],
            search: Search::LIBRARIES,
        };
        assert_eq!(link.conflict(&first), Some(Conflict::Named(Path::new("/b/a.o"))));
    }

    #[test]
    fn a_generated_header_waits_for_compilations_that_may_find_it_and_they_only_if_they_look() {
        let object = compile("/b/a.c", "/b/a.o");
        let header = Effects {
            reads: vec!["/b/config.in".into()],
            writes: vec![Write::new("/b/config.h".into(), State::Other)],
            search: Search::default(),
        };
        assert_eq!(header.conflict(&object), Some(Conflict::Named(Path::new("/b/config.h"))));
        assert_eq!(object.conflict(&header), Some(Conflict::Found(Path::new("/b/config.h"))));
    }

    #[test]
    fn two_commands_may_make_one_directory_in_either_order() {
        let with_directory = |source: &str, object: &str, may_exist: bool| {
            let mut effects = compile(source, object);
            effects.writes.insert(0, Write::new("/b/out".into(), State::Directory { may_exist }));
            effects
        };
        let first = with_directory("/b/a.c", "/b/out/a.o", true);
        assert_eq!(with_directory("/b/b.c", "/b/out/b.o", true).conflict(&first), None);
        assert_eq!(
            compile("/b/b.c", "/b/out/b.o").conflict(&first),
            Some(Conflict::Named(Path::new("/b/out")))
        );
        let plain = with_directory("/b/a.c", "/b/out/a.o", false);
        assert_eq!(plain.conflict(&plain), Some(Conflict::Named(Path::new("/b/out"))));
    }

    #[test]
    fn a_linker_finds_libraries_and_a_compiler_does_not() {
        for name in ["libz.a", "libz.so", "libz.so.1.2.13", "libz.la"] {
            assert!(Search::LIBRARIES.can_find(&binary(name)), "{name}");
            assert!(!Search::HEADERS.can_find(&binary(name)), "{name}");
        }
        assert!(!Search::LIBRARIES.can_find(&binary("a.o")));
        // A script of the linker may have any name, and no program is one.
        assert!(!Search::LIBRARIES.can_find(&binary("prog")));
        assert!(Search::LIBRARIES.can_find(&Write::new("prog".into(), State::Other)));
    }

    #[test]
    fn only_libraries_are_found_in_the_folder_of_libtool() {
        let both = Search::HEADERS.or(Search::LIBRARIES);
        let text = |path: &str| Write::new(path.into(), State::Text { mode: 0o666 });
        assert!(!both.can_find(&text("/b/.libs/libz.lai")));
        assert!(!both.can_find(&text("/b/.libs/libz.ver")));
        assert!(both.can_find(&text("/b/.libs/libz.so")));
        assert!(both.can_find(&text("/b/libz.ver")));
    }
}
