//! The extended attribute that is the mark.

use std::io;
use std::num::NonZeroU32;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use rustix::fs::XattrFlags;
use rustix::io::Errno;

/// Name of the attribute. Its value is a decimal number of CPUs.
const NAME: &str = "user.morecores.cpus";

/// Most bytes of a value that are read.
const MAX_VALUE: usize = 32;

/// Reason for which a mark cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum MarkError {
    /// The file system has no such attributes.
    #[error(
        "{}: its file system keeps no extended attributes; start the program with `taskset -c 0` instead, or \
         move it to ext4, XFS, Btrfs or tmpfs", .0.display()
    )]
    Unsupported(PathBuf),
    /// The file belongs to another user, or its file system is read-only.
    #[error("{}: cannot change its mark: {error}; run as the owner of the file, or with sudo", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Reason given by the system.
        error: io::Error,
    },
    /// The value is not a number of CPUs.
    #[error(
        "{}: its mark is `{value}`, which is no number of CPUs; remove it with morecores mark --clear {0}",
        path.display()
    )]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Value of the attribute.
        value: String,
    },
    /// The file cannot be examined.
    #[error("{}: cannot read its mark: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Reason given by the system.
        error: io::Error,
    },
}

/// Most CPUs that a program may use by its mark; `None` if it has none. Symbolic links are
/// followed.
///
/// # Errors
/// The file cannot be examined, or its mark is not a number.
pub fn read(path: &Path) -> Result<Option<NonZeroU32>, MarkError> {
    let mut value = [0; MAX_VALUE];
    let length = match rustix::fs::getxattr(path, NAME, &mut value) {
        Ok(length) => length,
        // A file system without attributes has no marks, and neither has a file that is gone.
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOENT) => return Ok(None),
        // The value is longer than any number.
        Err(Errno::RANGE) => {
            return Err(MarkError::Invalid { path: path.to_owned(), value: "too long".to_owned() });
        }
        Err(error) => return Err(MarkError::Unreadable { path: path.to_owned(), error: error.into() }),
    };
    let value = String::from_utf8_lossy(&value[..length]);
    match value.trim().parse() {
        Ok(cpus) => Ok(Some(cpus)),
        Err(_) => Err(MarkError::Invalid { path: path.to_owned(), value: value.into_owned() }),
    }
}

/// The mark of an open file; `None` if it has none, or one that is not a number.
pub(crate) fn read_open(file: BorrowedFd) -> Option<NonZeroU32> {
    let mut value = [0; MAX_VALUE];
    let length = rustix::fs::fgetxattr(file, NAME, &mut value).ok()?;
    str::from_utf8(&value[..length]).ok()?.trim().parse().ok()
}

/// Marks a program for a number of CPUs.
///
/// # Errors
/// The file system has no such attributes, or the file may not be changed.
pub fn write(path: &Path, cpus: NonZeroU32) -> Result<(), MarkError> {
    rustix::fs::setxattr(path, NAME, cpus.to_string().as_bytes(), XattrFlags::empty())
        .map_err(|error| refusal(path, error))
}

/// Removes the mark of a program. Returns whether it had one. A program that is gone has none.
///
/// # Errors
/// The file may not be changed.
pub fn clear(path: &Path) -> Result<bool, MarkError> {
    match rustix::fs::removexattr(path, NAME) {
        Ok(()) => Ok(true),
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOENT) => Ok(false),
        Err(error) => Err(refusal(path, error)),
    }
}

fn refusal(path: &Path, error: Errno) -> MarkError {
    let path = path.to_owned();
    if error == Errno::OPNOTSUPP {
        MarkError::Unsupported(path)
    } else {
        MarkError::Refused { path, error: error.into() }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use morecores_testkit::report_skip;

    use super::*;

    /// A program in a folder whose file system has attributes.
    fn program(test: &str) -> Option<(tempfile::TempDir, PathBuf)> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("program");
        fs::copy("/bin/true", &path).expect("a copy");
        if let Err(error) = write(&path, NonZeroU32::MIN) {
            report_skip(test, &error.to_string());
            return None;
        }
        clear(&path).expect("it was marked");
        Some((folder, path))
    }

    #[test]
    fn a_mark_is_written_read_and_removed() {
        let Some((_folder, path)) = program("a_mark_is_written_read_and_removed") else { return };
        assert_eq!(read(&path).expect("no mark"), None);
        for cpus in [1, 12] {
            let cpus = NonZeroU32::new(cpus).expect("a number");
            write(&path, cpus).expect("the mark");
            assert_eq!(read(&path).expect("the mark"), Some(cpus));
        }
        assert!(clear(&path).expect("the mark"));
        assert!(!clear(&path).expect("no mark"));
    }

    #[test]
    fn a_value_that_is_no_number_is_told() {
        let Some((_folder, path)) = program("a_value_that_is_no_number_is_told") else { return };
        for value in ["many", "0", "-1", "", "1111111111111111111111111111111111111"] {
            rustix::fs::setxattr(&path, NAME, value.as_bytes(), XattrFlags::empty()).expect("a value");
            let error = read(&path).expect_err("no number").to_string();
            assert!(error.contains("morecores mark --clear"), "{error}");
        }
    }

    /// The claims of the help about tools that copy and change programs.
    #[test]
    fn copies_with_attributes_keep_the_mark_and_others_lose_it() {
        let Some((folder, path)) = program("copies_with_attributes_keep_the_mark") else { return };
        write(&path, NonZeroU32::MIN).expect("the mark");
        let copy = folder.path().join("copy");
        for (command, keeps) in [(&["cp", "-a"][..], true), (&["cp"], false), (&["install"], false)] {
            let _ = fs::remove_file(&copy);
            let done = Command::new(command[0]).args(&command[1..]).arg(&path).arg(&copy).status();
            assert!(done.expect("the program starts").success());
            assert_eq!(read(&copy).expect("a copy").is_some(), keeps, "{command:?}");
        }
        if Command::new("strip").arg(&path).status().is_ok_and(|status| status.success()) {
            assert!(read(&path).expect("the program").is_some());
        }
    }
}
