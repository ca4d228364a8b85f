//! Directory of the journals, which must belong to this user alone.
//!
//! The next start undoes the changes that a journal lists, so a writer of journals acts with this
//! user's rights. An ordinary user's default directory is below /tmp, where anybody can create it
//! first. The directory is therefore used only if it belongs to this user and nobody else may write
//! to it. Every file is opened through the directory's descriptor, and never through a link.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

/// Write permission bits of group and others.
const OTHERS_WRITE_MASK: u32 = 0o022;
/// All permission bits of group and others.
const OTHERS_MASK: u32 = 0o077;

/// An open directory of journals.
#[derive(Debug)]
pub(super) struct JournalDirectory {
    descriptor: OwnedFd,
}

impl JournalDirectory {
    /// Opens the directory, and creates it if it is missing.
    ///
    /// # Errors
    /// The directory cannot be created, or [`open`](Self::open) fails.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        match rustix::fs::mkdir(path, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        Self::open(path)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Opens the directory; `None` if it does not exist.
    ///
    /// # Errors
    /// The path is a link, or the directory belongs to another user, or others may write to it.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let descriptor = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(descriptor) => descriptor,
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR) => {
                return Err(io::Error::other("it is a link or a file; remove it"));
            }
            Err(error) => return Err(error.into()),
        };
        let facts = rustix::fs::fstat(&descriptor)?;
        if facts.st_uid != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other(format!(
                "it belongs to user {}; remove it, or set XDG_RUNTIME_DIR to a directory of your own",
                facts.st_uid
            )));
        }
        if facts.st_mode & OTHERS_WRITE_MASK != 0 {
            return Err(io::Error::other("other users may write to it; look what is in it, then remove it"));
        }
        if facts.st_mode & OTHERS_MASK != 0 {
            rustix::fs::fchmod(&descriptor, Mode::RWXU)?;
        }
        Ok(Some(Self { descriptor }))
    }

    /// Names of all files with an extension in the directory.
    pub(super) fn names(&self) -> Vec<PathBuf> {
        use std::os::unix::ffi::OsStrExt;
        let entries = Dir::read_from(&self.descriptor).into_iter().flatten().flatten();
        entries
            .map(|entry| PathBuf::from(OsStr::from_bytes(entry.file_name().to_bytes())))
            .filter(|name| name.extension().is_some())
            .collect()
    }

    /// Opens a file of the directory for reading.
    ///
    /// # Errors
    /// The file is gone, is a link, or is not a regular file.
    pub(super) fn read(&self, name: &Path) -> io::Result<File> {
        self.open_file(name, OFlags::RDONLY)
    }

    /// Creates a file in the directory, and replaces any file of that name.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(super) fn create_file(&self, name: &Path) -> io::Result<File> {
        self.remove(name)?;
        self.open_file(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)
    }

    fn open_file(&self, name: &Path, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::openat(&self.descriptor, name, flags, Mode::RUSR | Mode::WUSR)?;
        match FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) {
            FileType::RegularFile => Ok(file.into()),
            _ => Err(io::Error::other("it is no regular file")),
        }
    }

    /// Renames a file of the directory.
    ///
    /// # Errors
    /// A refusal by the system.
    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.descriptor, from, &self.descriptor, to)?)
    }

    /// Removes a file of the directory; a missing file is not an error.
    ///
    /// # Errors
    /// A refusal by the system.
    pub(super) fn remove(&self, name: &Path) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.descriptor, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use morecores_testkit::report_skip;

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn only_this_user_can_use_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journals");
        assert!(JournalDirectory::open(&path).unwrap().is_none());
        JournalDirectory::create(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        // Older versions created the directory with this mode.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        JournalDirectory::create(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
    }

    #[test]
    fn a_link_and_a_directory_writable_by_others_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journals");
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(JournalDirectory::open(&path).unwrap_err().to_string().contains("other users may write"));
        let link = dir.path().join("link");
        std::fs::create_dir(dir.path().join("elsewhere")).unwrap();
        symlink(dir.path().join("elsewhere"), &link).unwrap();
        assert!(JournalDirectory::open(&link).unwrap_err().to_string().contains("link"));
    }

    #[test]
    fn a_directory_of_another_user_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journals");
        JournalDirectory::create(&path).unwrap();
        if std::os::unix::fs::chown(&path, Some(12_345), None).is_err() {
            return report_skip(
                "a_directory_of_another_user_is_refused",
                "only root can give a directory away",
            );
        }
        assert!(JournalDirectory::create(&path).unwrap_err().to_string().contains("belongs to user 12345"));
    }

    #[test]
    fn a_link_in_the_directory_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let directory = JournalDirectory::create(&dir.path().join("journals")).unwrap();
        std::fs::write(dir.path().join("secret"), "x").unwrap();
        symlink(dir.path().join("secret"), dir.path().join("journals/1.json")).unwrap();
        assert!(directory.read(Path::new("1.json")).is_err());
        directory.create_file(Path::new("1.json")).unwrap();
        assert_eq!(std::fs::read(dir.path().join("secret")).unwrap(), b"x");
    }
}
