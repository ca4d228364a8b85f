//! The real disk: answers for the table of programs, canonical names of files, and the state of
//! outputs before a deferred command changes them.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_OMIT, utimensat};

use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::effects::Origin;
use crate::jobs::{Jobs, Pending, Timestamp};
use crate::recipe::{Executable, Files, Format, Kind, absolute};

/// Longest response file or source that is looked at, in bytes.
const MAX_READ: u64 = 16 << 20;
/// Most symbolic links that are followed from one name, as in the kernel.
pub(crate) const MAX_LINKS: usize = 40;
/// Nanoseconds of a second.
const SECOND: Timestamp = 1_000_000_000;

/// The file systems of this machine, less what pending jobs are about to change.
pub(crate) struct Disk<'a> {
    pub(crate) jobs: &'a Jobs,
}

impl Disk<'_> {
    /// The pending write of a name, and the name's canonical form, which takes long to find out.
    fn pending(&self, path: &Path) -> Option<(PathBuf, Pending)> {
        if !self.jobs.may_write(path.file_name()?) {
            return None;
        }
        let path = canonical(path);
        let pending = self.jobs.pending(&path)?;
        Some((path, pending))
    }
}

impl Files for Disk<'_> {
    fn kind(&self, path: &Path) -> Option<Kind> {
        if let Some((path, pending)) = self.pending(path) {
            return Kind::after(&path, &pending.path, pending.after);
        }
        Some(match path.metadata() {
            Ok(found) if found.is_dir() => Kind::Directory,
            Ok(_) => Kind::File,
            Err(_) if path.is_symlink() => Kind::File,
            Err(_) => Kind::Missing,
        })
    }

    fn kind_behind_links(&self, path: &Path) -> Option<Kind> {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            match self.pending(&path).map(|(_, pending)| pending.origin) {
                Some(Origin::Link(target)) => path = target,
                _ => return self.kind(&path),
            }
        }
        None
    }

    fn program(&self, name: &str, directory: &Path, search_path: &str) -> Option<Executable> {
        let candidate = if name.contains('/') {
            absolute(directory, OsStr::new(name))
        } else {
            search_path
                .split(':')
                .map(|folder| absolute(directory, OsStr::new(folder)).join(name))
                .find(|file| is_executable(file))?
        };
        if self.pending(&candidate).is_some() || !is_executable(&candidate) {
            return None;
        }
        let mut start = [0; 4];
        File::open(&candidate).ok()?.read_exact(&mut start).ok()?;
        let format = if start == *b"\x7fELF" { Format::Elf } else { Format::Script };
        let name = candidate.canonicalize().ok()?.file_name()?.to_str()?.to_owned();
        Some(Executable { name, format })
    }

    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        if self.pending(path).is_some() {
            return None;
        }
        let found = path.metadata().ok()?;
        let is_small = found.is_file() && found.len() < MAX_READ;
        if is_small { fs::read(path).ok() } else { None }
    }

    fn names(&self, folder: &Path) -> Vec<OsString> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name()).collect()
    }
}

fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The one name of a file: its directory without symbolic links, and its own name. A file whose
/// directory is not there keeps the name it has.
pub(crate) fn canonical(path: &Path) -> PathBuf {
    CanonicalFolders::default().canonical(path)
}

/// Directories without symbolic links, for the files of one command: most lie in few directories.
#[derive(Debug, Default)]
pub(crate) struct CanonicalFolders(HashMap<PathBuf, Option<PathBuf>>);

impl CanonicalFolders {
    /// Canonical name of a file, as by the function [`canonical`].
    pub(crate) fn canonical(&mut self, path: &Path) -> PathBuf {
        let Some((parent, name)) = path.parent().zip(path.file_name()) else { return path.to_owned() };
        let folder = match self.0.get(parent) {
            Some(folder) => folder,
            None => self.0.entry(parent.to_owned()).or_insert_with(|| parent.canonicalize().ok()),
        };
        folder.as_ref().map_or_else(|| path.to_owned(), |folder| folder.join(name))
    }
}

/// Canonical name of the file to which a symbolic link leads, which need not be there.
pub(crate) fn link_target(link: &Path) -> Option<PathBuf> {
    Some(canonical(&absolute(link.parent()?, fs::read_link(link).ok()?.as_os_str())))
}

/// Time of the kernel's coarse clock, by which files get their times of change: that of its last
/// tick.
pub(crate) fn coarse_now() -> Timestamp {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    timestamp(now.tv_sec, now.tv_nsec)
}

/// Time of the precise clock: later than every time of change that a file has got so far.
pub(crate) fn precise_now() -> Timestamp {
    let now = clock_gettime(ClockId::Realtime);
    timestamp(now.tv_sec, now.tv_nsec)
}

fn timestamp(seconds: i64, nanoseconds: i64) -> Timestamp {
    Timestamp::from(seconds) * SECOND + Timestamp::from(nanoseconds)
}

/// Whether a file was changed `since`; `None` if there is none.
pub(crate) fn changed_since(path: &Path, since: Timestamp) -> Option<bool> {
    let found = path.symlink_metadata().ok()?;
    Some(timestamp(found.mtime(), found.mtime_nsec()) >= since)
}

/// Gives a file, or a symbolic link itself, a time of change, if it was changed `since`. A file
/// with an older time has been moved there, or is as it was.
pub(crate) fn set_time(path: &Path, since: Timestamp, time: Timestamp) -> io::Result<()> {
    if changed_since(path, since) != Some(true) {
        return Ok(());
    }
    let changed = Timespec { tv_sec: (time / SECOND) as i64, tv_nsec: (time % SECOND) as i64 };
    let times =
        Timestamps { last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT }, last_modification: changed };
    match utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW) {
        // A file of another owner keeps its time.
        Ok(()) | Err(Errno::PERM | Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A name before a deferred command changed it.
#[derive(Debug)]
pub(crate) struct Backup {
    path: PathBuf,
    before: Before,
}

#[derive(Debug)]
enum Before {
    Absent,
    /// A copy of the file, with its permissions and times.
    File(tempfile::TempPath, fs::Metadata),
    Link(PathBuf),
    /// Nothing that a command of the table replaces, such as a directory or a device.
    Special,
}

impl Backup {
    /// Keeps the present state of a name. The copy shares the blocks of the file where the file
    /// system can do so.
    ///
    /// # Errors
    /// The copy cannot be written, for example because the disk is full.
    pub(crate) fn new(path: &Path, folder: &Path) -> io::Result<Self> {
        let before = match path.symlink_metadata() {
            Err(_) => Before::Absent,
            Ok(found) if found.is_symlink() => Before::Link(fs::read_link(path)?),
            Ok(found) if found.is_file() => {
                let copy = || {
                    let copy = tempfile::NamedTempFile::new_in(folder)?.into_temp_path();
                    fs::copy(path, &copy)?;
                    Ok(copy)
                };
                let with_advice = |error: io::Error| {
                    let (path, folder) = (path.display(), folder.display());
                    let text = format!(
                        "cannot keep a copy of {path} in {folder}: {error}; set TMPDIR to a folder with more room"
                    );
                    io::Error::new(error.kind(), text)
                };
                Before::File(copy().map_err(with_advice)?, found)
            }
            Ok(_) => Before::Special,
        };
        Ok(Self { path: path.to_owned(), before })
    }

    /// Puts the name back.
    pub(crate) fn restore(&self) -> io::Result<()> {
        match &self.before {
            Before::Absent => remove(&self.path),
            Before::File(copy, found) => {
                // Never through a link that stands there now.
                remove(&self.path)?;
                fs::copy(copy, &self.path)?;
                let file = File::options().write(true).open(&self.path)?;
                file.set_permissions(found.permissions())?;
                file.set_times(
                    fs::FileTimes::new().set_accessed(found.accessed()?).set_modified(found.modified()?),
                )
            }
            Before::Link(target) => {
                remove(&self.path)?;
                symlink(target, &self.path)
            }
            Before::Special => Ok(()),
        }
    }
}

/// Removes a file, or a directory without files. One that is not there, or has files of others,
/// stays as it is.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => fs::remove_dir(path),
        other => other,
    };
    match removed {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => {
            Ok(())
        }
        other => other,
    }
}

/// Whether a path is a device, or a view of the kernel. `/dev/shm` holds ordinary files.
pub(crate) fn is_of_kernel(path: &Path) -> bool {
    (path.starts_with("/dev") && !path.starts_with("/dev/shm")) || path.starts_with("/proc")
}
