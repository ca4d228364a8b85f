//! Promises to make: the result of `stat` for an output that is not there yet, with the time of
//! change that the file will get.

use crate::effects::State;
use crate::jobs::{Pending, Timestamp};
use crate::listener::Answer;
use crate::process::Process;

/// Answer to make's question about a pending output; `None` if only the real file can tell.
/// `buffer` is the address of the result in make's memory.
///
/// Size and inode are invented, so nobody but make may be told this.
pub(crate) fn answer(make: Process, pending: &Pending, buffer: u64) -> Option<Answer> {
    let mode = match pending.after {
        State::Binary { mode } | State::Text { mode } => mode & !make.status()?.umask,
        State::Absent => return Some(Answer::Return(-i64::from(libc::ENOENT))),
        State::Other | State::Directory { .. } => return None,
    };
    make.write(buffer, &stat(mode, pending.time)).ok()?;
    Some(Answer::Return(0))
}

/// Bytes of a `struct stat` for a regular file.
#[allow(unsafe_code)]
fn stat(mode: u32, time: Timestamp) -> Vec<u8> {
    const SECOND: Timestamp = 1_000_000_000;
    // SAFETY: all fields are integers.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    stat.st_mode = libc::S_IFREG | mode;
    stat.st_nlink = 1;
    stat.st_ino = 1;
    stat.st_size = 1;
    stat.st_blocks = 8;
    stat.st_blksize = 4096;
    let (seconds, nanoseconds) = ((time / SECOND) as i64, (time % SECOND) as i64);
    (stat.st_mtime, stat.st_mtime_nsec) = (seconds, nanoseconds);
    (stat.st_ctime, stat.st_ctime_nsec) = (seconds, nanoseconds);
    (stat.st_atime, stat.st_atime_nsec) = (seconds, nanoseconds);
    // SAFETY: the structure has no padding between its integers on x86-64, and lives here.
    unsafe { std::slice::from_raw_parts((&raw const stat).cast::<u8>(), size_of::<libc::stat>()) }.to_vec()
}
