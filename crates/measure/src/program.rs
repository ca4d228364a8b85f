//! From the command as the user wrote it to the image that is started at one CPU count.
//!
//! Decides everything about a start that can be decided before it: the words after `{n}`, the file that PATH
//! leads to, the environment. Starts nothing.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use morecores_study::{Command, Point};

use crate::environment::{Environment, Pair};
use crate::spawn::Image;

/// Why a command cannot be started at all.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// No such file anywhere on PATH, or at the path given.
    #[error("{}: command not found{}", .0, shell_hint(.0))]
    NotFound(String),
    /// There is a file, but it cannot be executed.
    #[error("{0}: permission denied: is it executable?")]
    NotExecutable(String),
    /// It looks like a program, and the kernel refuses it.
    #[error("cannot execute {name}: {source}{}", if .source.kind() == io::ErrorKind::NotFound {
        ": the interpreter that its first line or its header names is not there"
    } else {
        ""
    })]
    Refused {
        /// The program as the user wrote it.
        name: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// An argument holds a null byte.
    #[error("an argument of the command holds a null byte")]
    NullByte,
}

/// What to try where a name that leads nowhere looks like a whole line: it holds what shells divide and join words by.
fn shell_hint(name: &str) -> &'static str {
    let is_line = name.contains(|c: char| c.is_whitespace() || "|&;<>()$`*?".contains(c));
    if is_line { " (a line for a shell? give it with --shell)" } else { "" }
}

/// Where PATH, or the name itself where it has a slash, leads.
///
/// # Errors
/// [`ProgramError::NotFound`], [`ProgramError::NotExecutable`].
pub fn resolve(name: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, ProgramError> {
    if name.is_empty() {
        return Err(Unusable::Missing.of(name));
    }
    if name.as_bytes().contains(&b'/') {
        return executable(Path::new(name)).map(|()| PathBuf::from(name)).map_err(|e| e.of(name));
    }
    // As execvp(3): an entry that cannot be executed is passed over, and named only if no other serves.
    let mut found = Unusable::Missing;
    for dir in std::env::split_paths(path.unwrap_or(OsStr::new("/bin:/usr/bin"))) {
        let file = dir.join(name);
        match executable(&file) {
            Ok(()) => return Ok(file),
            Err(Unusable::Denied) => found = Unusable::Denied,
            Err(Unusable::Missing) => {}
        }
    }
    Err(found.of(name))
}

/// Why a path is not a program.
enum Unusable {
    Missing,
    Denied,
}

impl Unusable {
    fn of(self, name: &OsStr) -> ProgramError {
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

/// The image of `command` at one CPU count.
///
/// # Errors
/// See [`ProgramError`].
pub fn image(command: &Command, point: &Point, environment: &Environment) -> Result<Image, ProgramError> {
    let words = command.at(point.n).argv();
    let name = words.first().map_or(OsStr::new(""), OsString::as_os_str);
    let variables = environment.of_command(point);
    let path = resolve(name, search_path(&variables))?;
    image_of(&path, &words, variables)
}

/// The image of `/bin/sh FILE ARGUMENTS…`, for a file that the kernel does not take for a program: as
/// execvp(3) and every shell do.
///
/// # Errors
/// See [`ProgramError`].
pub fn script_image(
    command: &Command,
    point: &Point,
    environment: &Environment,
) -> Result<Image, ProgramError> {
    let mut words = command.at(point.n).argv();
    let variables = environment.of_command(point);
    if let Some(name) = words.first_mut() {
        *name = resolve(name, search_path(&variables))?.into_os_string();
    }
    words.insert(0, "sh".into());
    image_of(Path::new("/bin/sh"), &words, variables)
}

/// PATH among the variables that the command gets, as `env PATH=… COMMAND` searches it.
fn search_path(variables: &[Pair]) -> Option<&OsStr> {
    variables.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str())
}

/// The image of the program at `path`, with these words and the variables that we have.
///
/// # Errors
/// See [`ProgramError`].
pub fn plain_image(path: &Path, words: &[OsString]) -> Result<Image, ProgramError> {
    image_of(path, words, std::env::vars_os().collect())
}

fn image_of(path: &Path, words: &[OsString], env: Vec<Pair>) -> Result<Image, ProgramError> {
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
