//! The seccomp filter: which system calls of the build are shown to the supervisor.
//!
//! `readlink` is left out: with nothing deferred it is 60% of all calls with a path, because
//! compilers and linkers resolve their own names with it. The calls of 32-bit programs have other
//! numbers and are not shown. `waitid` is left to the supervisor, which makes drivers wait for
//! their copies with it.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use crate::calls::FCHMODAT2;
use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, c_long, sock_filter};

/// Calls that start and end processes, that reach others, and that open files by other means. Those
/// to threads are left out: programs signal their own threads with them.
const PROCESSES: &[c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_exit_group,
    libc::SYS_wait4,
    libc::SYS_connect,
    libc::SYS_sendto,
    libc::SYS_kill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_pidfd_send_signal,
    libc::SYS_io_uring_setup,
];

/// Calls that look at names.
const LOOKS: &[c_long] = &[
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_getdents,
    libc::SYS_getdents64,
    libc::SYS_chdir,
];

/// Calls that open and change files.
const USES: &[c_long] = &[
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_creat,
    libc::SYS_mkdir,
    libc::SYS_mkdirat,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_link,
    libc::SYS_linkat,
    libc::SYS_symlink,
    libc::SYS_symlinkat,
    libc::SYS_mknod,
    libc::SYS_mknodat,
    libc::SYS_chmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_fchownat,
    libc::SYS_truncate,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
];

/// Calls that are shown unless they ask about an open file, by the argument with their flags.
const WATCHED_WITH_PATH: &[(c_long, u32)] = &[(libc::SYS_newfstatat, 3), (libc::SYS_statx, 2)];

/// `AUDIT_ARCH_X86_64` of `linux/audit.h`.
const ARCHITECTURE: u32 = 0xc000_003e;
/// Offsets of `struct seccomp_data`.
const NUMBER_OFFSET: u32 = 0;
const ARCHITECTURE_OFFSET: u32 = 4;
const ARGUMENTS_OFFSET: u32 = 16;

/// Program of the filter.
#[derive(Debug)]
pub(crate) struct Filter(Vec<sock_filter>);

impl Filter {
    /// The filter of the build.
    pub(crate) fn for_build() -> Self {
        let mut code = show(&[PROCESSES, LOOKS, USES]);
        // Reads of the standard input alone.
        code.push(jump_if_equal(call_number(libc::SYS_read), 0, 3));
        code.push(load(ARGUMENTS_OFFSET));
        code.push(jump_if_equal(0, 0, 1));
        code.push(answer(libc::SECCOMP_RET_USER_NOTIF));
        code.push(answer(libc::SECCOMP_RET_ALLOW));
        Self(code)
    }

    /// The filter of a program whose uses of files are shown. It shows no `execve`, because the
    /// supervisor waits for that of the program itself.
    pub(crate) fn for_job() -> Self {
        let mut code = show(&[LOOKS, USES]);
        code.push(answer(libc::SECCOMP_RET_ALLOW));
        Self(code)
    }

    /// Puts the filter on the calling process and everything it starts. Returns the descriptor that
    /// receives the calls.
    ///
    /// # Errors
    /// The kernel or the container does not allow it.
    #[allow(unsafe_code)]
    pub(crate) fn install(&self) -> io::Result<OwnedFd> {
        let program = libc::sock_fprog { len: self.0.len() as u16, filter: self.0.as_ptr().cast_mut() };
        // An ordinary user must give up setuid programs; root need not.
        if !rustix::process::geteuid().is_root() {
            rustix::thread::set_no_new_privs(true)?;
        }
        // SAFETY: the program and its length describe one live vector, which the kernel copies.
        let result = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                // Without the second flag Linux before 5.16 slows every program with a filter.
                libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW,
                &raw const program,
            )
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call returned a new descriptor, which nothing else owns.
        Ok(unsafe { OwnedFd::from_raw_fd(result as i32) })
    }
}

/// Instructions that show these calls and those of `WATCHED_WITH_PATH`, and leave the number of any
/// other in the accumulator.
fn show(calls: &[&[c_long]]) -> Vec<sock_filter> {
    let mut code = vec![
        load(ARCHITECTURE_OFFSET),
        jump_if_equal(ARCHITECTURE, 1, 0),
        answer(libc::SECCOMP_RET_ALLOW),
        load(NUMBER_OFFSET),
    ];
    for &number in calls.iter().copied().flatten() {
        code.push(jump_if_equal(call_number(number), 0, 1));
        code.push(answer(libc::SECCOMP_RET_USER_NOTIF));
    }
    for &(number, flags) in WATCHED_WITH_PATH {
        code.push(jump_if_equal(call_number(number), 0, 4));
        code.push(load(ARGUMENTS_OFFSET + 8 * flags));
        code.push(sock_filter {
            code: (BPF_JMP | libc::BPF_JSET | BPF_K) as u16,
            jt: 1,
            jf: 0,
            k: libc::AT_EMPTY_PATH as u32,
        });
        code.push(answer(libc::SECCOMP_RET_USER_NOTIF));
        code.push(answer(libc::SECCOMP_RET_ALLOW));
    }
    code
}

fn call_number(number: c_long) -> u32 {
    number as u32
}

fn load(offset: u32) -> sock_filter {
    sock_filter { code: (BPF_LD | BPF_W | BPF_ABS) as u16, jt: 0, jf: 0, k: offset }
}

fn jump_if_equal(value: u32, then: u8, otherwise: u8) -> sock_filter {
    sock_filter { code: (BPF_JMP | BPF_JEQ | BPF_K) as u16, jt: then, jf: otherwise, k: value }
}

fn answer(action: u32) -> sock_filter {
    sock_filter { code: (BPF_RET | BPF_K) as u16, jt: 0, jf: 0, k: action }
}
