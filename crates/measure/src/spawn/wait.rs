//! Waits for a child to end or to stop.
//!
//! A stopped child asks for the terminal, or waits for a SIGCONT that may never come. The caller
//! decides the response.

use std::io;
use std::mem::MaybeUninit;
use std::thread::sleep;
use std::time::Duration;

use morecores_study::{Bytes, Exit, Nanos, Rusage};

use morecores_machine::clock::monotonic;

/// Block size in which `getrusage(2)` counts block I/O.
const RUSAGE_BLOCK: u64 = 512;

/// Change of a child's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The child has ended, and is a zombie.
    Ended,
    /// A signal has stopped the child.
    Stopped(i32),
}

/// Waits until `pid` has ended or is stopped. A child that has ended is not reaped.
pub(super) fn wait_for_change(pid: libc::pid_t) -> io::Result<Change> {
    let info = waitid(pid, libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT)?;
    // SAFETY: `si_status` is set for a child that has changed.
    #[allow(unsafe_code)]
    let signal = unsafe { info.si_status() };
    if !matches!(info.si_code, libc::CLD_STOPPED | libc::CLD_TRAPPED) {
        return Ok(Change::Ended);
    }
    // This call consumes the event; otherwise the next wait would return it again.
    waitid(pid, libc::WSTOPPED | libc::WNOHANG)?;
    Ok(Change::Stopped(signal))
}

/// Whether a stopped `pid` continues, or ends, within `timeout`.
pub(super) fn continues_within(pid: libc::pid_t, timeout: Nanos) -> io::Result<bool> {
    let stopped = monotonic();
    loop {
        let info = waitid(pid, libc::WEXITED | libc::WCONTINUED | libc::WNOWAIT | libc::WNOHANG)?;
        // The field is zero if nothing has changed (waitid(2)).
        if info.si_signo != 0 {
            return Ok(true);
        }
        if monotonic().since(stopped) >= timeout {
            return Ok(false);
        }
        sleep(Duration::from_millis(10));
    }
}

fn waitid(pid: libc::pid_t, flags: libc::c_int) -> io::Result<libc::siginfo_t> {
    loop {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: `info` is a valid place for a siginfo_t. All-zero bytes are a valid siginfo_t if
        // the call leaves them unchanged.
        #[allow(unsafe_code)]
        let (result, info) = unsafe {
            let result = libc::waitid(libc::P_PID, pid as libc::id_t, info.as_mut_ptr(), flags);
            (result, info.assume_init())
        };
        if result == 0 {
            return Ok(info);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Reaps a child that has ended.
pub(super) fn reap(pid: libc::pid_t) -> io::Result<(Exit, Rusage)> {
    let (_, exit, rusage) = wait4(pid, 0)?;
    Ok((exit, rusage))
}

/// Reaps a child, -1 for any child. Returns 0 if `flags` forbid waiting and no child has ended.
pub(super) fn wait4(pid: libc::pid_t, flags: libc::c_int) -> io::Result<(libc::pid_t, Exit, Rusage)> {
    loop {
        let mut status = 0;
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: both pointers are valid for writing, and the call fills their targets or leaves
        // them unchanged.
        #[allow(unsafe_code)]
        let reaped = unsafe { libc::wait4(pid, &mut status, flags, usage.as_mut_ptr()) };
        if reaped >= 0 {
            // SAFETY: all-zero bytes are a valid rusage, and the kernel wrote only valid bytes over
            // them.
            #[allow(unsafe_code)]
            let usage = unsafe { usage.assume_init() };
            return Ok((reaped, parse_exit(status), convert_rusage(&usage)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn parse_exit(status: libc::c_int) -> Exit {
    if libc::WIFSIGNALED(status) {
        Exit::Signal(libc::WTERMSIG(status))
    } else {
        Exit::Code(libc::WEXITSTATUS(status))
    }
}

fn convert_rusage(usage: &libc::rusage) -> Rusage {
    let time = |t: libc::timeval| Nanos::from_micros(t.tv_sec as u64 * 1_000_000 + t.tv_usec as u64);
    Rusage {
        user_ns: time(usage.ru_utime),
        system_ns: time(usage.ru_stime),
        max_rss_bytes: Bytes::from_kib(usage.ru_maxrss as u64),
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        block_read_bytes: Bytes(usage.ru_inblock as u64 * RUSAGE_BLOCK),
        block_written_bytes: Bytes(usage.ru_oublock as u64 * RUSAGE_BLOCK),
    }
}
