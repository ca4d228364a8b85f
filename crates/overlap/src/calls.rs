//! The watched system calls by what they do to files: a pure decoding of number and arguments.

use crate::listener::Notification;

/// A path as a call names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathArgument {
    /// Descriptor of the directory from which a relative path starts, or `AT_FDCWD`.
    pub(crate) directory: i32,
    /// Address of the text.
    pub(crate) address: u64,
}

/// Effect of a call on files and processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    /// Starts a program.
    Execute { path: PathArgument, arguments: u64, environment: u64 },
    /// Ends the process with this status.
    Exit { status: i32 },
    /// Waits for a child and writes its status at an address, which may be zero.
    Wait { status: u64 },
    /// Looks a path up. For `stat` alone: the address of its result.
    Look { path: PathArgument, follows_links: bool, stat: Option<u64> },
    /// Opens a file to read.
    Open { path: PathArgument, follows_links: bool },
    /// Reads the names in an open directory.
    List { descriptor: i32 },
    /// Opens a file to write.
    OpenToWrite { path: PathArgument, flags: i32 },
    /// Makes a directory.
    MakeDirectory { path: PathArgument },
    /// Makes a name, which must not be there.
    MakeName { path: PathArgument },
    /// Removes or changes what a name stands for, which must be there.
    Change { path: PathArgument },
    /// Moves what a name stands for, which must be there.
    Rename { from: PathArgument, to: PathArgument },
    /// Reads the standard input.
    Read,
    /// Reaches another program by a socket, whose address is at this one.
    Connect { address: u64 },
    /// Sends a signal to the process with this number; `None` for one that a descriptor names.
    Signal { target: Option<i32> },
    /// Opens files by other means than calls.
    Ring,
    /// Nothing that concerns the order.
    Other,
}

/// `fchmodat2` of Linux 6.6.
pub(crate) const FCHMODAT2: i64 = 452;

const AT_CWD: i32 = libc::AT_FDCWD;

/// Decodes a call.
pub(crate) fn decode(call: &Notification) -> Call {
    let argument = |index: usize| call.arguments[index];
    let here = |index: usize| PathArgument { directory: AT_CWD, address: argument(index) };
    let at = |index: usize| PathArgument { directory: argument(index) as i32, address: argument(index + 1) };
    let open = |path: PathArgument, flags: i32| {
        // O_TMPFILE makes a file without a name.
        if flags & libc::O_TMPFILE == libc::O_TMPFILE {
            Call::Other
        } else if flags & (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) != 0 {
            Call::OpenToWrite { path, flags }
        } else {
            let follows_links = flags & libc::O_NOFOLLOW == 0;
            // No content is read through these.
            if flags & (libc::O_PATH | libc::O_DIRECTORY) != 0 {
                Call::Look { path, follows_links, stat: None }
            } else {
                Call::Open { path, follows_links }
            }
        }
    };
    let follows = |flags: u64| flags as i32 & libc::AT_SYMLINK_NOFOLLOW == 0;
    match call.number {
        libc::SYS_execve => Call::Execute { path: here(0), arguments: argument(1), environment: argument(2) },
        libc::SYS_execveat => Call::Execute { path: at(0), arguments: argument(2), environment: argument(3) },
        libc::SYS_exit_group => Call::Exit { status: argument(0) as i32 },
        libc::SYS_wait4 => Call::Wait { status: argument(1) },
        libc::SYS_open => open(here(0), argument(1) as i32),
        libc::SYS_openat => open(at(0), argument(2) as i32),
        // The flags lie in memory: taken for the worst.
        libc::SYS_openat2 => Call::OpenToWrite { path: at(0), flags: libc::O_RDWR | libc::O_CREAT },
        libc::SYS_creat => open(here(0), libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC),
        libc::SYS_stat => Call::Look { path: here(0), follows_links: true, stat: Some(argument(1)) },
        libc::SYS_lstat => Call::Look { path: here(0), follows_links: false, stat: Some(argument(1)) },
        libc::SYS_newfstatat => {
            Call::Look { path: at(0), follows_links: follows(argument(3)), stat: Some(argument(2)) }
        }
        libc::SYS_statx => Call::Look { path: at(0), follows_links: follows(argument(2)), stat: None },
        libc::SYS_access | libc::SYS_chdir => Call::Look { path: here(0), follows_links: true, stat: None },
        libc::SYS_faccessat | libc::SYS_faccessat2 => {
            Call::Look { path: at(0), follows_links: true, stat: None }
        }
        libc::SYS_getdents | libc::SYS_getdents64 => Call::List { descriptor: argument(0) as i32 },
        libc::SYS_mkdir => Call::MakeDirectory { path: here(0) },
        libc::SYS_mkdirat => Call::MakeDirectory { path: at(0) },
        libc::SYS_link | libc::SYS_symlink => Call::MakeName { path: here(1) },
        libc::SYS_linkat => Call::MakeName { path: at(2) },
        libc::SYS_symlinkat => Call::MakeName { path: at(1) },
        libc::SYS_mknod => Call::MakeName { path: here(0) },
        libc::SYS_mknodat => Call::MakeName { path: at(0) },
        libc::SYS_rename => Call::Rename { from: here(0), to: here(1) },
        libc::SYS_renameat | libc::SYS_renameat2 => Call::Rename { from: at(0), to: at(2) },
        libc::SYS_unlink
        | libc::SYS_rmdir
        | libc::SYS_chmod
        | libc::SYS_chown
        | libc::SYS_lchown
        | libc::SYS_truncate
        | libc::SYS_utime
        | libc::SYS_utimes
        | libc::SYS_setxattr
        | libc::SYS_lsetxattr
        | libc::SYS_removexattr
        | libc::SYS_lremovexattr => Call::Change { path: here(0) },
        // Without a path it sets the time of an open file, which waited when it was opened.
        libc::SYS_utimensat if argument(1) == 0 => Call::Other,
        libc::SYS_unlinkat
        | libc::SYS_fchmodat
        | FCHMODAT2
        | libc::SYS_fchownat
        | libc::SYS_futimesat
        | libc::SYS_utimensat => Call::Change { path: at(0) },
        libc::SYS_read => Call::Read,
        libc::SYS_connect => Call::Connect { address: argument(1) },
        // Without an address it sends through a connection.
        libc::SYS_sendto if argument(4) != 0 => Call::Connect { address: argument(4) },
        // No signal: it asks whether the process is there.
        libc::SYS_kill | libc::SYS_rt_sigqueueinfo | libc::SYS_pidfd_send_signal if argument(1) == 0 => {
            Call::Other
        }
        libc::SYS_kill | libc::SYS_rt_sigqueueinfo => Call::Signal { target: Some(argument(0) as i32) },
        libc::SYS_pidfd_send_signal => Call::Signal { target: None },
        libc::SYS_io_uring_setup => Call::Ring,
        _ => Call::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: i64, arguments: [u64; 6]) -> Call {
        decode(&Notification::for_test(number, arguments))
    }

    #[test]
    fn the_flags_of_an_open_tell_whether_it_writes() {
        let path = PathArgument { directory: 5, address: 100 };
        let open = |flags: i32| call(libc::SYS_openat, [5, 100, flags as u64, 0, 0, 0]);
        assert_eq!(open(libc::O_RDONLY | libc::O_CLOEXEC), Call::Open { path, follows_links: true });
        for flags in
            [libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT, libc::O_TRUNC, libc::O_WRONLY | libc::O_APPEND]
        {
            assert_eq!(open(flags), Call::OpenToWrite { path, flags });
        }
        assert_eq!(open(libc::O_PATH), Call::Look { path, follows_links: true, stat: None });
        assert_eq!(open(libc::O_TMPFILE | libc::O_RDWR), Call::Other);
    }

    #[test]
    fn a_call_without_a_directory_starts_at_the_working_directory() {
        let path = |address| PathArgument { directory: libc::AT_FDCWD, address };
        assert_eq!(call(libc::SYS_rename, [7, 8, 0, 0, 0, 0]), Call::Rename { from: path(7), to: path(8) });
        assert_eq!(call(libc::SYS_symlink, [7, 8, 0, 0, 0, 0]), Call::MakeName { path: path(8) });
        assert_eq!(
            call(libc::SYS_stat, [7, 8, 0, 0, 0, 0]),
            Call::Look { path: path(7), follows_links: true, stat: Some(8) }
        );
    }
}
