//! Programs that extend morecores, as git's do: `morecores NAME` runs `morecores-NAME` if NAME is
//! no command of morecores itself.
//!
//! A program is looked for beside this one, then on PATH. The built-in workloads are one of them,
//! because a benchmark must not carry its own measuring instrument. The commands about locks are
//! two more. They have the front end of morecores itself.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow};
use morecores_lock_lab::CELL_PROGRAM;
use morecores_measure::program::resolve;

const PREFIX: &str = "morecores-";

/// Path of the program of `name`; `None` if it is neither beside this program nor on PATH.
pub(crate) fn find(name: &OsStr) -> Option<PathBuf> {
    // A path is no name of a program.
    if name.is_empty() || name.as_bytes().contains(&b'/') {
        return None;
    }
    let mut file = OsString::from(PREFIX);
    file.push(name);
    find_file(&file)
}

/// Path of the program with this file name; `None` if it is neither beside this program nor on
/// PATH.
pub(crate) fn find_file(name: &OsStr) -> Option<PathBuf> {
    let sibling = env::current_exe().ok()?.with_file_name(name);
    if is_executable(&sibling) { Some(sibling) } else { resolve(name, env::var_os("PATH").as_deref()).ok() }
}

/// Names of all programs beside this one and on PATH.
pub(crate) fn names() -> BTreeSet<String> {
    let own_folder = env::current_exe().ok().and_then(|exe| exe.parent().map(Path::to_owned));
    let on_path = env::var_os("PATH").unwrap_or_default();
    let folders = own_folder.into_iter().chain(env::split_paths(&on_path));
    let files = folders.filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    files.filter_map(|file| program_name(&file.path())).collect()
}

/// Name by which morecores runs a file; `None` if the file is no such program. A name with a dot is
/// that of another kind of file. The cell of the lock laboratory is a part of `morecores locks`.
fn program_name(file: &Path) -> Option<String> {
    if file.file_name()? == CELL_PROGRAM {
        return None;
    }
    let name = file.file_name()?.to_str()?.strip_prefix(PREFIX)?;
    (!name.is_empty() && !name.contains('.') && is_executable(file)).then(|| name.to_owned())
}

fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Error for a program of morecores that is missing.
pub(crate) fn missing(name: &str) -> anyhow::Error {
    anyhow!(
        "{PREFIX}{name} is neither beside morecores nor on PATH; it is built and installed together with morecores"
    )
}

/// Program and arguments that a command line asks for: `NAME ARGUMENTS`, or `help NAME`. `None` if
/// the line is one of morecores itself, by `is_own`, or names no program. A program that
/// `has_front_end` of morecores gets the options before its name too. `line` begins after the name
/// of this program.
pub(crate) fn select(
    line: &[OsString],
    is_own: impl Fn(&str) -> bool,
    has_front_end: impl Fn(&str) -> bool,
) -> Option<(PathBuf, Vec<OsString>)> {
    // The options of morecores itself that may stand before a name.
    let is_verbose = |word: &&OsString| {
        word.to_str().is_some_and(|word| {
            word == "--verbose"
                || word
                    .strip_prefix('-')
                    .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte == b'v'))
        })
    };
    let (options, line) = line.split_at(line.iter().take_while(is_verbose).count());
    let help = ["--help".into()];
    let (name, arguments) = match line {
        [word, name] if word == "help" => (name, &help[..]),
        [name, arguments @ ..] => (name, arguments),
        [] => return None,
    };
    if name.as_bytes().starts_with(b"-") || name.to_str().is_some_and(is_own) {
        return None;
    }
    let options = if name.to_str().is_some_and(has_front_end) { options } else { &[] };
    Some((find(name)?, [options, arguments].concat()))
}

/// Replaces this process with a program. Returns only if the program cannot be started.
///
/// # Errors
/// The program cannot be started.
pub(crate) fn exec(program: &Path, arguments: &[OsString]) -> Result<u8> {
    let error = Command::new(program).args(arguments).exec();
    Err(anyhow!(error)).with_context(|| format!("cannot start {}", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_executable_files_of_the_prefix_are_programs() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = |name: &str, mode: u32| {
            let path = dir.path().join(name);
            fs::write(&path, "").expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its mode");
            program_name(&path)
        };
        assert_eq!(file("morecores-shake", 0o755).as_deref(), Some("shake"));
        for (name, mode) in [
            ("morecores-work.d", 0o755),
            ("morecores-lock-cell", 0o755),
            ("morecores-notes", 0o644),
            ("morecores-", 0o755),
            ("morecores", 0o755),
        ] {
            assert_eq!(file(name, mode), None, "{name}");
        }
    }

    #[test]
    fn built_in_commands_options_and_paths_are_not_programs() {
        let line = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        for words in
            [&["run", "x"][..], &["--help"], &["help"], &["help", "run"], &["../morecores-work"], &[]]
        {
            let program = select(&line(words), |name| ["run", "help"].contains(&name), |_| false);
            assert_eq!(program, None, "{words:?}");
        }
    }
}
