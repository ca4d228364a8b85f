//! The directory of the journals: a place of this user alone, or none.
//!
//! What a journal lists is undone at the next start, so that who can write one can have this user do it. The default of an
//! ordinary user is below /tmp, where anybody can make the directory first. So it is used only where it belongs to this user
//! and nobody else may write to it, and every file is reached through its descriptor, never through a link.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

/// Permission bits of group and others to write.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// All permission bits of group and others.
const OTHERS: u32 = 0o077;

/// An open directory of journals.
#[derive(Debug)]
pub(super) struct JournalDirectory {
    descriptor: OwnedFd,
}

impl JournalDirectory {
    /// Opens the directory, which is made where it is missing.
    ///
    /// # Errors
    /// A directory that cannot be made, and those of [`open`](Self::open).
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        match rustix::fs::mkdir(path, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        Self::open(path)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Opens the directory; `None` where there is none.
    ///
    /// # Errors
    /// A link, a directory of another user, or one that others may write to.
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
        if facts.st_mode & WRITABLE_BY_OTHERS != 0 {
            return Err(io::Error::other("other users may write to it; look what is in it, then remove it"));
        }
        if facts.st_mode & OTHERS != 0 {
            rustix::fs::fchmod(&descriptor, Mode::RWXU)?;
        }
        Ok(Some(Self { descriptor }))
    }

    /// Names of all files in it.
    pub(super) fn names(&self) -> Vec<PathBuf> {
        use std::os::unix::ffi::OsStrExt;
        let entries = Dir::read_from(&self.descriptor).into_iter().flatten().flatten();
        entries
            .map(|entry| PathBuf::from(OsStr::from_bytes(entry.file_name().to_bytes())))
            .filter(|name| name.extension().is_some())
            .collect()
    }

    /// Opens a file of it for reading.
    ///
    /// # Errors
    /// A file that is gone, a link or no regular file.
    pub(super) fn read(&self, name: &Path) -> io::Result<File> {
        self.open_file(name, OFlags::RDONLY)
    }

    /// Makes a file in it, in place of any of that name.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub(super) fn make(&self, name: &Path) -> io::Result<File> {
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

    /// Gives a file of it another name.
    ///
    /// # Errors
    /// A refusal of the system.
    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.descriptor, from, &self.descriptor, to)?)
    }

    /// Removes a file of it; none is no error.
    ///
    /// # Errors
    /// A refusal of the system.
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

    use morecores_testkit::skipped;

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn it_is_this_user_s_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journals");
        assert!(JournalDirectory::open(&path).unwrap().is_none());
        JournalDirectory::create(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        // As older versions made it.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        JournalDirectory::create(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
    }

    #[test]
    fn one_that_others_can_write_to_or_a_link_is_refused() {
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
    fn another_user_s_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journals");
        JournalDirectory::create(&path).unwrap();
        if std::os::unix::fs::chown(&path, Some(12_345), None).is_err() {
            return skipped("another_user_s_is_refused", "only root can give a directory away");
        }
        assert!(JournalDirectory::create(&path).unwrap_err().to_string().contains("belongs to user 12345"));
    }

    #[test]
    fn a_link_in_it_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let directory = JournalDirectory::create(&dir.path().join("journals")).unwrap();
        std::fs::write(dir.path().join("secret"), "x").unwrap();
        symlink(dir.path().join("secret"), dir.path().join("journals/1.json")).unwrap();
        assert!(directory.read(Path::new("1.json")).is_err());
        directory.make(Path::new("1.json")).unwrap();
        assert_eq!(std::fs::read(dir.path().join("secret")).unwrap(), b"x");
    }
}
