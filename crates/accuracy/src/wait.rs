//! Processes made by `fork` alone, without a new program, and the waits for them.

use std::fs;
use std::io;

use morecores_study::Nanos;
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, waitid, waitpid};

use crate::AccuracyError;
use crate::accounts::SchedAccount;

/// Does `work` in a child that ends afterwards; returns the child's number at once. Fails in a
/// process with more than one thread, because the child may find the allocator locked forever.
pub(crate) fn fork(work: impl FnOnce()) -> Result<Pid, AccuracyError> {
    let threads = fs::read_dir("/proc/self/task").map_err(AccuracyError::system("list own threads"))?;
    if threads.count() != 1 {
        return Err(AccuracyError::Threads);
    }
    // SAFETY: this process has one thread, checked above, so the child is a complete copy and may
    // do anything.
    #[allow(unsafe_code)]
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        work();
        // SAFETY: ends the child at once. The child must not run the parent's exit handlers or
        // flush its buffers.
        #[allow(unsafe_code)]
        unsafe {
            libc::_exit(0)
        };
    }
    let error = io::Error::last_os_error();
    if pid < 0 {
        return Err(AccuracyError::System { what: "fork", error });
    }
    Pid::from_raw(pid).ok_or(AccuracyError::System { what: "fork", error })
}

/// Waits for the end of `child`, and returns how long it was runnable without running. The kernel
/// keeps the account until a process has waited for the child.
pub(crate) fn wait_and_account(child: Pid) -> Result<Nanos, AccuracyError> {
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(child), ended).map_err(AccuracyError::system("wait for a child"))?;
    let waited = SchedAccount::read_process(child.as_raw_nonzero().get().unsigned_abs())?.waited;
    wait(child)?;
    Ok(waited)
}

/// Waits for the end of `child`.
pub(crate) fn wait(child: Pid) -> Result<(), AccuracyError> {
    waitpid(Some(child), WaitOptions::empty()).map(drop).map_err(AccuracyError::system("wait for a child"))
}
