//! The process that stands between this one and everything that a hook starts: their subreaper.
//!
//! Orphans of a hook fall to it, whenever they are made, so that the tree below it is the hook's and the rest is the
//! command's. It ends with the last process below it, or with the thread that started it.

use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

/// A hook that is running below a reaper.
#[derive(Debug)]
pub(super) struct Reaper {
    pid: u32,
    status: PipeReader,
}

impl Reaper {
    /// Starts `command` below a reaper, both outside of the cgroups that this process was put in: each file of
    /// `outside` takes a "0".
    ///
    /// # Errors
    /// A process that cannot be made or moved, and a command that cannot be executed.
    pub(super) fn start(mut command: Command, outside: &[File]) -> io::Result<Self> {
        let (status, writer) = io::pipe()?;
        let outside: Vec<RawFd> = outside.iter().map(AsRawFd::as_raw_fd).collect();
        let (parent, to) = (std::process::id(), writer.as_raw_fd());
        // SAFETY: between fork and exec the closure makes nothing but system calls; the descriptors stay open, since
        // `outside` is borrowed and `writer` is dropped behind the spawn.
        #[allow(unsafe_code)]
        unsafe {
            command.pre_exec(move || step_between(parent.cast_signed(), to, &outside));
        }
        let pid = command.spawn()?.id();
        drop(writer);
        Ok(Self { pid, status })
    }

    /// Waits until the command has ended. The reaper lives on with what the command left running, and is reaped as any
    /// other child.
    ///
    /// # Errors
    /// A pipe that cannot be read.
    pub(super) fn wait_for_command(&mut self) -> io::Result<ExitStatus> {
        let mut status = [0; size_of::<libc::c_int>()];
        match self.status.read_exact(&mut status) {
            // Only a killed reaper says nothing, and only the watching thread kills one.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Ok(ExitStatus::from_raw(libc::SIGKILL))
            }
            read => read.map(|()| ExitStatus::from_raw(i32::from_ne_bytes(status))),
        }
    }

    /// Its process number.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }
}

/// Divides the child of `fork(2)` in two: the reaper, which does not return, and its child, which returns to become
/// the command.
fn step_between(parent: libc::pid_t, status: RawFd, outside: &[RawFd]) -> io::Result<()> {
    // SAFETY: system calls of a process with one thread, on its own state and valid pointers. All-zero bytes are a valid
    // sigset_t. `fork` is safe here as before: no other thread can hold a lock of this process.
    #[allow(unsafe_code)]
    unsafe {
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 || libc::getppid() != parent {
            return Err(io::Error::last_os_error());
        }
        for &file in outside {
            if libc::write(file, c"0".as_ptr().cast(), 1) != 1 {
                return Err(io::Error::last_os_error());
            }
        }
        if libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) != 0 {
            return Err(io::Error::last_os_error());
        }
        // The reaper has the signal handlers of this process, and must not run them.
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, &mut before);
        match libc::fork() {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                libc::sigprocmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
                Ok(())
            }
            command => reap(command, status),
        }
    }
}

/// What the reaper does: reports how the command ended, and ends when nothing is left below it.
///
/// # Safety
/// Only in a process of its own with one thread: it closes every descriptor but `status`, and exits.
#[allow(unsafe_code)]
unsafe fn reap(command: libc::pid_t, status: RawFd) -> ! {
    // SAFETY: as above; names and pointers are valid.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, c"morecores-hooks".as_ptr());
        close_all_but(status);
        loop {
            let mut how = 0;
            match libc::waitpid(-1, &mut how, 0) {
                -1 => libc::_exit(0), // ECHILD: nothing is left. Signals are blocked, so that it cannot be EINTR.
                pid if pid == command => {
                    // Nobody is left to be told where this fails.
                    libc::write(status, (&raw const how).cast(), size_of_val(&how));
                }
                _ => {}
            }
        }
    }
}

/// Closes every descriptor but one: others wait for the end of pipes.
///
/// # Safety
/// Only in a process whose descriptors nobody uses any more.
#[allow(unsafe_code)]
unsafe fn close_all_but(kept: RawFd) {
    // SAFETY: descriptors only.
    unsafe {
        let kept = kept.cast_unsigned();
        let below = kept == 0 || libc::syscall(libc::SYS_close_range, 0, kept - 1, 0) == 0;
        if below && libc::syscall(libc::SYS_close_range, kept + 1, u32::MAX, 0) == 0 {
            return;
        }
        // Before Linux 5.9.
        for fd in (0..libc::sysconf(libc::_SC_OPEN_MAX) as RawFd).filter(|fd| *fd != kept.cast_signed()) {
            libc::close(fd);
        }
    }
}
