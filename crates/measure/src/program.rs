//! Turns the command as the user wrote it into the image that is started at one CPU count.
//!
//! This module decides everything about a start that can be decided in advance: the words after the
//! substitution of `{n}`, the file from PATH, the environment. It starts nothing.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use morecores_study::{Command, Point};

use crate::environment::{Environment, Pair};
use crate::spawn::Image;

/// Reason for which a command cannot be started at all.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// No such file exists on PATH, or at the given path.
    #[error("{}: command not found{}", .0, shell_hint(.0))]
    NotFound(String),
    /// The file exists, but cannot be executed.
    #[error("{0}: permission denied: is it executable?")]
    NotExecutable(String),
    /// The file looks like a program, but the kernel refuses it.
    #[error("cannot execute {name}: {error}{}", if .error.kind() == io::ErrorKind::NotFound {
        ": the interpreter in its first line or its header does not exist"
    } else {
        ""
    })]
    Refused {
        /// Program as the user wrote it.
        name: String,
        /// Error of the kernel.
        error: io::Error,
    },
    /// An argument holds a null byte.
    #[error("an argument of the command holds a null byte")]
    NullByte,
}

/// Suggestion for a name that is not found but looks like a whole shell line: it contains
/// characters that shells use to separate and join words.
fn shell_hint(name: &str) -> &'static str {
    let is_line = name.contains(|c: char| c.is_whitespace() || "|&;<>()$`*?".contains(c));
    if is_line { " (a line for a shell? give it with --shell)" } else { "" }
}

/// Finds the file of a program on PATH, or by the name itself if it contains a slash.
///
/// # Errors
/// [`ProgramError::NotFound`], [`ProgramError::NotExecutable`].
pub fn resolve(name: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, ProgramError> {
    if name.is_empty() {
        return Err(Unusable::Missing.into_error(name));
    }
    if name.as_bytes().contains(&b'/') {
        return executable(Path::new(name)).map(|()| PathBuf::from(name)).map_err(|e| e.into_error(name));
    }
    // As in execvp(3), an entry that cannot be executed is skipped, and is reported only if no
    // other entry is usable.
    let mut found = Unusable::Missing;
    for dir in std::env::split_paths(path.unwrap_or(OsStr::new("/bin:/usr/bin"))) {
        let file = dir.join(name);
        match executable(&file) {
            Ok(()) => return Ok(file),
            Err(Unusable::Denied) => found = Unusable::Denied,
            Err(Unusable::Missing) => {}
        }
    }
    Err(found.into_error(name))
}

/// Reason for which a path is not a program.
enum Unusable {
    Missing,
    Denied,
}

impl Unusable {
    fn into_error(self, name: &OsStr) -> ProgramError {
        let name = name.to_string_lossy().into_owned();
        match self {
            Self::Missing => ProgramError::NotFound(name),
            Self::Denied => ProgramError::NotExecutable(name),
        }
    }
}

fn executable(path: &Path) -> Result<(), Unusable> {
    let data = std::fs::metadata(path).map_err(|_| Unusable::Missing)?;
    let allowed = rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
    if data.is_file() && allowed { Ok(()) } else { Err(Unusable::Denied) }
}

/// Image of `command` at one CPU count.
///
/// # Errors
/// See [`ProgramError`].
pub fn image(command: &Command, point: &Point, environment: &Environment) -> Result<Image, ProgramError> {
    let path = file(command, point, environment)?;
    build_image(&path, &command.with_n(point.n).argv(), environment.command_variables(point))
}

/// File of the program of `command` at one CPU count.
///
/// # Errors
/// See [`ProgramError`].
pub fn file(command: &Command, point: &Point, environment: &Environment) -> Result<PathBuf, ProgramError> {
    let words = command.with_n(point.n).argv();
    let name = words.first().map_or(OsStr::new(""), OsString::as_os_str);
    resolve(name, search_path(&environment.command_variables(point)))
}

/// Image of `/bin/sh FILE ARGUMENTS…`, for a file that the kernel does not recognise as a
/// program. execvp(3) and every shell do the same.
///
/// # Errors
/// See [`ProgramError`].
pub fn script_image(
    command: &Command,
    point: &Point,
    environment: &Environment,
) -> Result<Image, ProgramError> {
    let mut words = command.with_n(point.n).argv();
    let variables = environment.command_variables(point);
    if let Some(name) = words.first_mut() {
        *name = resolve(name, search_path(&variables))?.into_os_string();
    }
    words.insert(0, "sh".into());
    build_image(Path::new("/bin/sh"), &words, variables)
}

/// PATH among the variables of the command. `env PATH=… COMMAND` uses the same PATH.
fn search_path(variables: &[Pair]) -> Option<&OsStr> {
    variables.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str())
}

/// Image of the program at `path`, with these words and the variables of this process.
///
/// # Errors
/// See [`ProgramError`].
pub fn plain_image(path: &Path, words: &[OsString]) -> Result<Image, ProgramError> {
    build_image(path, words, std::env::vars_os().collect())
}

fn build_image(path: &Path, words: &[OsString], env: Vec<Pair>) -> Result<Image, ProgramError> {
    let c_string = |bytes: &[u8]| CString::new(bytes).map_err(|_| ProgramError::NullByte);
    let argv = words.iter().map(|w| c_string(w.as_bytes())).collect::<Result<_, _>>()?;
    let env = env
        .into_iter()
        .map(|(mut name, value)| {
            name.push("=");
            name.push(value);
            c_string(name.as_bytes())
        })
        .collect::<Result<_, _>>()?;
    Ok(Image::new(c_string(path.as_os_str().as_bytes())?, argv, env))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_searched_as_a_shell_does() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("plain"), "").unwrap();
        let path = Some(dir.path().as_os_str());
        assert!(matches!(resolve(OsStr::new("plain"), path), Err(ProgramError::NotExecutable(_))));
        assert!(matches!(resolve(OsStr::new("absent"), path), Err(ProgramError::NotFound(_))));
        assert!(matches!(resolve(OsStr::new(""), path), Err(ProgramError::NotFound(_))));
        assert!(matches!(resolve(OsStr::new("/"), path), Err(ProgramError::NotExecutable(_))));
        assert_eq!(
            resolve(OsStr::new("sh"), Some(OsStr::new("/nowhere:/bin"))).unwrap(),
            Path::new("/bin/sh")
        );
        assert_eq!(resolve(OsStr::new("/bin/sh"), None).unwrap(), Path::new("/bin/sh"));
    }
}
