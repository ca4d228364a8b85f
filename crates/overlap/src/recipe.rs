//! From a command to its effects: the grammar of recipe lines, and the table of programs.
//!
//! A command whose words are not understood in full has no effects here, and is never deferred.
//! Pure but for `Files`, which answers the few questions about the disk that arguments leave open.

mod archive;
mod awk;
mod compiler;
mod environment;
mod files;
mod filters;
mod kernel;
mod libtool;
mod line;
mod programs;
mod sed;
mod substitution;
#[cfg(test)]
mod tests;
mod word;
mod xargs;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(crate) use environment::Environment;

use crate::disk::is_of_kernel;
use crate::effects::{Effects, State, Write};

/// The disk, as far as the meaning of a command depends on it.
pub(crate) trait Files {
    /// The present kind of a path; `None` if it is about to change.
    fn kind(&self, path: &Path) -> Option<Kind>;
    /// The same behind links that are about to be made.
    fn kind_behind_links(&self, path: &Path) -> Option<Kind> {
        self.kind(path)
    }
    /// The file that a name in a command line executes; `None` for a name that is not found.
    fn program(&self, name: &str, directory: &Path, search_path: &str) -> Option<Executable>;
    /// The contents of a small file; `None` if it cannot be read, or is about to change.
    fn read(&self, path: &Path) -> Option<Vec<u8>>;
    /// The names in a folder at present, without what is about to be written.
    fn names(&self, folder: &Path) -> Vec<OsString>;
}

/// Kind of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing is there.
    Missing,
    /// A directory.
    Directory,
    /// Anything else.
    File,
}

impl Kind {
    /// Kind of a path after a write that concerns it; `None` if the write does not tell.
    pub(crate) fn after(path: &Path, write: &Path, state: State) -> Option<Self> {
        match state {
            State::Absent => Some(Self::Missing),
            State::Binary { .. } | State::Text { .. } => Some(Self::File),
            State::Directory { .. } if path == write => Some(Self::Directory),
            // A new directory is empty.
            State::Directory { .. } => Some(Self::Missing),
            State::Other => None,
        }
    }
}

/// An executable file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Executable {
    /// Its name, with symbolic links resolved.
    pub(crate) name: String,
    /// Its format.
    pub(crate) format: Format,
}

/// Format of an executable file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Machine code.
    Elf,
    /// A text for an interpreter.
    Script,
}

/// A command as `execve` gets it.
#[derive(Debug)]
pub(crate) struct Invocation {
    /// File that is executed.
    pub(crate) program: String,
    /// Arguments, with the name of the program as the first.
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Environment,
    /// Working directory.
    pub(crate) directory: PathBuf,
}

/// Meaning of a command, all of which is understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// The files it reads and writes.
    pub(crate) effects: Effects,
    /// Whether it takes so long that deferring it can save time.
    pub(crate) weight: Weight,
}

/// Whether a command takes long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// A few milliseconds, such as `rm` or `test`.
    Light,
    /// A compiler, a linker or an archiver.
    Heavy,
}

/// Whether an executable file, by its own name or that behind a symbolic link, is a shell or in the
/// table of programs.
pub(crate) fn may_be_known(file: &Path) -> bool {
    let is_known = |path: &Path| {
        let name = path.file_name().and_then(OsStr::to_str);
        name.is_some_and(|name| SHELLS.contains(&name) || programs::is_known(name))
    };
    is_known(file) || file.canonicalize().is_ok_and(|file| is_known(&file))
}

/// Shells whose recipe lines are understood.
const SHELLS: &[&str] = &["sh", "dash", "bash"];

/// The meaning of a command; `None` if some part of it is not understood.
pub(crate) fn meaning(invocation: &Invocation, files: &dyn Files) -> Option<Meaning> {
    let program = files.program(&invocation.program, &invocation.directory, "")?;
    let meaning = match &invocation.arguments[..] {
        [_, option, text] if is_shell(&program) && matches!(option.as_str(), "-c" | "-ec") => {
            line::meaning(text, invocation, files)
        }
        [_, arguments @ ..] => {
            let Invocation { directory, environment, .. } = invocation;
            let command = Command { files, directory, environment, arguments, input: &Input::Inherited };
            command_meaning(&program, &command)
        }
        [] => None,
    }?;
    // A deferred command has no standard input, and no terminal.
    let names_stream = meaning.effects.paths().any(is_of_kernel);
    (!names_stream).then_some(meaning)
}

fn is_shell(program: &Executable) -> bool {
    program.format == Format::Elf && SHELLS.contains(&program.name.as_str())
}

/// Meaning of a command that is no recipe line.
fn command_meaning(program: &Executable, command: &Command) -> Option<Meaning> {
    match command.arguments {
        [script, ..] if is_shell(program) && libtool::is_script(script, command.directory, command.files) => {
            Some(Meaning { effects: libtool::effects(command)?, weight: Weight::Heavy })
        }
        _ if program.name == "xargs" && program.format == Format::Elf => xargs::meaning(command),
        _ => programs::meaning(program, command),
    }
}

/// One command without a shell: its arguments after the name, and where it runs.
#[derive(Clone, Copy)]
pub(crate) struct Command<'a> {
    files: &'a dyn Files,
    directory: &'a Path,
    environment: &'a Environment,
    arguments: &'a [String],
    input: &'a Input,
}

/// Source of a command's standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Input {
    /// That of the build, which a deferred command does not have.
    Inherited,
    /// A file or a pipe of the same recipe line.
    Redirected,
    /// A pipe of the same recipe line, with this text.
    Known(String),
}

impl Command<'_> {
    /// Absolute path of an argument, without `.` and `..`.
    fn path(&self, argument: &str) -> PathBuf {
        absolute(self.directory, OsStr::from_bytes(argument.as_bytes()))
    }

    /// Whether an argument is a directory; `None` if that is about to change.
    fn is_directory(&self, argument: &str) -> Option<bool> {
        Some(self.files.kind(&self.path(argument))? == Kind::Directory)
    }

    /// Whether an argument among several is a directory.
    fn has_directory(&self, arguments: &[&String]) -> Option<bool> {
        arguments.iter().try_fold(false, |any, argument| Some(any | self.is_directory(argument)?))
    }

    /// Paths of several arguments.
    fn paths<'b>(&self, arguments: impl IntoIterator<Item = &'b String>) -> Vec<PathBuf> {
        arguments.into_iter().map(|argument| self.path(argument)).collect()
    }

    /// The file that a name executes.
    fn program(&self, name: &str) -> Option<Executable> {
        self.files.program(name, self.directory, self.environment.value("PATH")?)
    }

    fn write(&self, argument: &str, after: State) -> Write {
        Write::new(self.path(argument), after)
    }

    /// The arguments with each response file `@FILE` replaced by its words, and the response files.
    /// `None` if a response file cannot be read.
    fn expand_response_files(&self) -> Option<(Vec<String>, Vec<PathBuf>)> {
        let mut words = Vec::new();
        let mut response_files = Vec::new();
        for argument in self.arguments {
            match argument.strip_prefix('@') {
                Some(name) => {
                    let path = self.path(name);
                    let text = String::from_utf8(self.files.read(&path)?).ok()?;
                    let inner = shell_words::split(&text).ok()?;
                    // A response file inside a response file is rare enough to be left alone.
                    if inner.iter().any(|word| word.starts_with('@')) {
                        return None;
                    }
                    words.extend(inner);
                    response_files.push(path);
                }
                None => words.push(argument.clone()),
            }
        }
        Some((words, response_files))
    }
}

/// Absolute path without `.` and `..`. As in the kernel, `..` behind a symbolic link is the parent
/// of the link's target.
pub(crate) fn absolute(directory: &Path, path: &OsStr) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in directory.join(path).components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                if let Ok(physical) = clean.canonicalize() {
                    clean = physical;
                }
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}
