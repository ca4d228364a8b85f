//! Process between this process and all processes that a hook starts: their subreaper.
//!
//! The subreaper adopts the hook's orphans, whenever they appear. The tree below it therefore
//! belongs to the hook, and all other descendants belong to the command. The subreaper ends with
//! the last process below it, or with the thread that started it.

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
    /// Starts `command` below a reaper, both outside of the cgroups that this process has entered.
    /// A "0" is written to each file of `outside`.
    ///
    /// # Errors
    /// A process cannot be created or moved, or the command cannot be executed.
    pub(super) fn start(mut command: Command, outside: &[File]) -> io::Result<Self> {
        let (status, writer) = io::pipe()?;
        let outside: Vec<RawFd> = outside.iter().map(AsRawFd::as_raw_fd).collect();
        let (parent, to) = (std::process::id(), writer.as_raw_fd());
        // SAFETY: between fork and exec the closure makes only system calls. The descriptors stay
        // open, because `outside` is borrowed and `writer` is dropped after the spawn.
        #[allow(unsafe_code)]
        unsafe {
            command.pre_exec(move || step_between(parent.cast_signed(), to, &outside));
        }
        let pid = command.spawn()?.id();
        drop(writer);
        Ok(Self { pid, status })
    }

    /// Waits for the end of the command. The reaper lives on with the processes that the command
    /// left running, and is reaped like any other child.
    ///
    /// # Errors
    /// The pipe cannot be read.
    pub(super) fn wait_for_command(&mut self) -> io::Result<ExitStatus> {
        let mut status = [0; size_of::<libc::c_int>()];
        match self.status.read_exact(&mut status) {
            // Only a killed reaper reports nothing, and only the watching thread kills one.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Ok(ExitStatus::from_raw(libc::SIGKILL))
            }
            read => read.map(|()| ExitStatus::from_raw(i32::from_ne_bytes(status))),
        }
    }

    /// Process number of the reaper.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }
}

/// Divides the child of `fork(2)` into two processes: the reaper, which does not return, and its
/// child, which returns to become the command.
fn step_between(parent: libc::pid_t, status: RawFd, outside: &[RawFd]) -> io::Result<()> {
    // SAFETY: system calls of a process with one thread, on its own state and valid pointers.
    // All-zero bytes are a valid sigset_t. `fork` is safe here as before, because no other thread
    // can hold a lock of this process.
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
        // The reaper has inherited the signal handlers of this process, and must not run them.
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

/// Runs the reaper: reports the exit status of the command, and ends when no process is left below
/// it.
///
/// # Safety
/// Call this function only in a separate process with one thread: it closes every descriptor except
/// `status`, and exits.
#[allow(unsafe_code)]
unsafe fn reap(command: libc::pid_t, status: RawFd) -> ! {
    // SAFETY: the caller guarantees the above; names and pointers are valid.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, c"morecores-hooks".as_ptr());
        close_all_but(status);
        loop {
            let mut how = 0;
            match libc::waitpid(-1, &mut how, 0) {
                -1 => libc::_exit(0), // ECHILD: no child is left. Signals are blocked, so EINTR is impossible.
                pid if pid == command => {
                    // If the write fails, no process is left to receive the status.
                    libc::write(status, (&raw const how).cast(), size_of_val(&how));
                }
                _ => {}
            }
        }
    }
}

/// Closes every descriptor except one, because other processes wait for the end of pipes.
///
/// # Safety
/// Call this function only in a process that does not use its descriptors any more.
#[allow(unsafe_code)]
unsafe fn close_all_but(kept: RawFd) {
    // SAFETY: the calls change only descriptors.
    unsafe {
        let kept = kept.cast_unsigned();
        let below = kept == 0 || libc::syscall(libc::SYS_close_range, 0, kept - 1, 0) == 0;
        if below && libc::syscall(libc::SYS_close_range, kept + 1, u32::MAX, 0) == 0 {
            return;
        }
        // Kernels before Linux 5.9 have no close_range.
        for fd in (0..libc::sysconf(libc::_SC_OPEN_MAX) as RawFd).filter(|fd| *fd != kept.cast_signed()) {
            libc::close(fd);
        }
    }
}
