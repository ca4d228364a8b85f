//! Files that this user keeps from one invocation to the next, in a directory of states of their
//! own.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

/// File with this name; none if this user has no directory for it.
pub(crate) fn path(name: &str) -> Option<PathBuf> {
    let directory = directory(|name| env::var_os(name), rustix::process::geteuid().is_root())?;
    Some(directory.join(name))
}

/// Root's directory is below /var/lib, because `sudo` may leave HOME as the caller's.
fn directory(variable: impl Fn(&str) -> Option<OsString>, is_root: bool) -> Option<PathBuf> {
    // A relative path is to be ignored (XDG Base Directory Specification).
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let states = match absolute("XDG_STATE_HOME") {
        Some(states) => states,
        None if is_root => PathBuf::from("/var/lib"),
        None => absolute("HOME")?.join(".local/state"),
    };
    Some(states.join("morecores"))
}

/// Writes a file that only this user can read. The directory is created if it is missing. No link
/// is followed, and another user's directory is not used.
///
/// # Errors
/// A refusal by the system, or a directory that belongs to another user.
pub(crate) fn write(file: &Path, text: &str) -> io::Result<()> {
    let path = file.parent().unwrap_or(Path::new("/"));
    let name = file.file_name().unwrap_or(OsStr::new("state"));
    // Name of the file while it is written.
    let mut new = name.to_owned();
    new.push(".new");
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::open(path, flags, Mode::empty())?;
    if rustix::fs::fstat(&directory)?.st_uid != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("the directory belongs to another user"));
    }
    match rustix::fs::unlinkat(&directory, &new, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut written: File = rustix::fs::openat(&directory, &new, flags, Mode::RUSR | Mode::WUSR)?.into();
    written.write_all(text.as_bytes())?;
    Ok(rustix::fs::renameat(&directory, &new, &directory, name)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    #[test]
    fn files_under_sudo_are_not_in_the_callers_home() {
        let found = |home: &str, states: &str, is_root| {
            let variable = |name: &str| Some(OsString::from(if name == "HOME" { home } else { states }));
            directory(variable, is_root).map(|path| path.display().to_string())
        };
        assert_eq!(found("/home/x", "", false).as_deref(), Some("/home/x/.local/state/morecores"));
        assert_eq!(found("/home/x", "", true).as_deref(), Some("/var/lib/morecores"));
        assert_eq!(found("/home/x", "/s", true).as_deref(), Some("/s/morecores"));
        assert_eq!(found("home", "state", false), None);
    }

    #[test]
    fn only_this_user_can_read_the_file_and_no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a/morecores/last.log");
        write(&file, "first").unwrap();
        let elsewhere = dir.path().join("elsewhere");
        fs::write(&elsewhere, "precious").unwrap();
        symlink(&elsewhere, file.with_file_name("last.log.new")).unwrap();
        fs::remove_file(&file).unwrap();
        symlink(&elsewhere, &file).unwrap();
        write(&file, "second").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "second");
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "precious");
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(file.parent().unwrap().metadata().unwrap().mode() & 0o777, 0o700);
    }
}
