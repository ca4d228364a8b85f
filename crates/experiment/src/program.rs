//! From the command as the user wrote it to the image that is started at one CPU count.
//!
//! Decides everything about a start that can be decided before it: the words after `{n}`, the file that PATH
//! leads to, the environment. Starts nothing.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use morecores_record::{Command, Point};

use crate::spawn::Image;

/// Variables that runtimes read their thread count from, set by `--thread-env`. One a line, with its reader.
const THREAD_VARIABLES: &[&str] = &[
    "OMP_NUM_THREADS",            // OpenMP
    "OPENBLAS_NUM_THREADS",       // OpenBLAS
    "MKL_NUM_THREADS",            // Intel MKL
    "BLIS_NUM_THREADS",           // BLIS
    "VECLIB_MAXIMUM_THREADS",     // Accelerate
    "NUMEXPR_NUM_THREADS",        // numexpr
    "GOTO_NUM_THREADS",           // GotoBLAS
    "RAYON_NUM_THREADS",          // Rust's rayon
    "TOKIO_WORKER_THREADS",       // Rust's tokio
    "GOMAXPROCS",                 // Go
    "JULIA_NUM_THREADS",          // Julia
    "NUMBA_NUM_THREADS",          // numba
    "POLARS_MAX_THREADS",         // polars
    "CMAKE_BUILD_PARALLEL_LEVEL", // cmake --build
    "CTEST_PARALLEL_LEVEL",       // ctest
    "CARGO_BUILD_JOBS",           // cargo
    "UV_THREADPOOL_SIZE",         // Node.js's libuv
];

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

/// The variables of a run: `inherited`, and ours on top.
fn environment(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    point: &Point,
    thread_env: bool,
) -> Vec<(OsString, OsString)> {
    let threads = if thread_env { THREAD_VARIABLES } else { &[] };
    let ours: Vec<(OsString, OsString)> = [("MORECORES_CPUS", point.cpus)]
        .into_iter()
        .chain(threads.iter().map(|&name| (name, point.n)))
        .map(|(name, value)| (name.into(), value.to_string().into()))
        .collect();
    let theirs = inherited.filter(|(name, _)| ours.iter().all(|(our, _)| our != name));
    theirs.chain(ours.clone()).collect()
}

/// The image of `command` at one CPU count.
///
/// # Errors
/// See [`ProgramError`].
pub fn image(command: &Command, point: &Point, thread_env: bool) -> Result<Image, ProgramError> {
    let words = command.at(point.n).argv();
    let name = words.first().map_or(OsStr::new(""), OsString::as_os_str);
    let path = resolve(name, std::env::var_os("PATH").as_deref())?;
    image_of(&path, &words, environment(std::env::vars_os(), point, thread_env))
}

/// The image of `/bin/sh FILE ARGUMENTS…`, for a file that the kernel does not take for a program: as
/// execvp(3) and every shell do.
///
/// # Errors
/// See [`ProgramError`].
pub fn script_image(command: &Command, point: &Point, thread_env: bool) -> Result<Image, ProgramError> {
    let mut words = command.at(point.n).argv();
    if let Some(name) = words.first_mut() {
        *name = resolve(name, std::env::var_os("PATH").as_deref())?.into_os_string();
    }
    words.insert(0, "sh".into());
    image_of(Path::new("/bin/sh"), &words, environment(std::env::vars_os(), point, thread_env))
}

/// The image of the program at `path`, with these words and the variables that we have.
///
/// # Errors
/// See [`ProgramError`].
pub fn plain_image(path: &Path, words: &[OsString]) -> Result<Image, ProgramError> {
    image_of(path, words, std::env::vars_os().collect())
}

fn image_of(path: &Path, words: &[OsString], env: Vec<(OsString, OsString)>) -> Result<Image, ProgramError> {
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

    #[test]
    fn the_environment_names_the_cpus_once() {
        let inherited = [("MORECORES_CPUS", "9"), ("HOME", "/h"), ("GOMAXPROCS", "9")];
        let inherited = || inherited.iter().map(|(k, v)| (OsString::from(k), OsString::from(v)));
        let has = |env: &[(OsString, OsString)], name: &str, value: &str| {
            env.iter().filter(|(k, _)| k == name).map(|(_, v)| v).eq([value])
        };
        let point = Point { cpus: 1, n: 2, cpu_set: "0".parse().unwrap(), adds: Default::default() };
        let plain = environment(inherited(), &point, false);
        assert!(
            has(&plain, "MORECORES_CPUS", "1") && has(&plain, "HOME", "/h") && has(&plain, "GOMAXPROCS", "9")
        );
        let threads = environment(inherited(), &point, true);
        assert!(has(&threads, "GOMAXPROCS", "2") && has(&threads, "OMP_NUM_THREADS", "2"));
    }
}
