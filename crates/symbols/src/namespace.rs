//! Files in the mount namespaces of other processes. This module must not name functions.
//!
//! The rule on other people's files is the kernel's: it opens the namespace of a process only for a
//! reader that may trace the process (`PTRACE_MODE_READ`; `ptrace(2)`, "Ptrace access mode
//! checking"). A path is resolved inside the root of the process: no symbolic link leads out of it.

use std::io;
use std::os::fd::OwnedFd;

use morecores_study::trace::Tid;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2, stat};

/// File at a path in the mount namespace of a living process; none if this is the namespace of the
/// calling process too. The file is only located, not opened for reading: a device stays as it is.
///
/// # Errors
/// The process has ended, the caller may not trace it, or the file does not exist.
pub fn locate_in_other_namespace(process: Tid, path: &str) -> io::Result<Option<OwnedFd>> {
    let namespace = |process: &str| {
        let namespace = stat(format!("/proc/{process}/ns/mnt"))?;
        io::Result::Ok((namespace.st_dev, namespace.st_ino))
    };
    if namespace(&process.0.to_string())? == namespace("self")? {
        return Ok(None);
    }
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let root = openat(CWD, format!("/proc/{}/root", process.0), flags | OFlags::DIRECTORY, Mode::empty())?;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    Ok(Some(openat2(root, path, flags, Mode::empty(), resolve)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_namespace_has_no_located_files() {
        let own = Tid(std::process::id());
        assert!(locate_in_other_namespace(own, "/proc/self/exe").is_ok_and(|file| file.is_none()));
        // No process has this number: it is above the largest one that Linux permits.
        assert!(locate_in_other_namespace(Tid(1 << 30), "/bin/sh").is_err());
    }
}
