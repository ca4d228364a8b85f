//! Debug files from the servers of `DEBUGINFOD_URLS`, by the client program of elfutils. It has a
//! cache and knows all variables of `debuginfod_find_debuginfo(3)` and those of proxies. This
//! module must not decide which files are fetched, and must not read them.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};

/// Time between two looks at the client and at a request to stop. A choice: not noticed by a user.
const POLL_EVERY: Duration = Duration::from_millis(20);

/// Largest output of the client that is read, in bytes: it prints one path, or a line of error for
/// each server.
const MOST_OUTPUT: u64 = 64 << 10;

/// Longest reason of a failure, in characters. A choice: the client's lines have some 80.
const LONGEST_REASON: usize = 200;

/// Reason why a debug file was not fetched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum FetchError {
    /// The build identifier is empty, or has other characters than hexadecimal digits.
    #[error("the build identifier is damaged")]
    InvalidBuildId,
    /// The client program did not start.
    #[error("cannot start debuginfod-find: {0}")]
    NotStarted(String),
    /// No server returned the file. The text is the client's last line of error.
    #[error("debuginfod-find: {0}")]
    NotFound(String),
    /// The time limit ended the transfer.
    #[error("the servers took too long")]
    TimedOut,
    /// The user, or the end of the time for a study, ended the transfer.
    #[error("the transfer was stopped")]
    Stopped,
}

/// Client program `debuginfod-find`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebuginfodClient {
    program: PathBuf,
}

impl DebuginfodClient {
    /// Client program at this path.
    pub fn new(program: PathBuf) -> Self {
        Self { program }
    }

    /// Fetches the debug file with a build identifier, and returns its path in the client's cache.
    /// `on_start` receives the number of the client's process. The transfer ends when `limit` has
    /// passed, or when `is_stopped` returns true.
    ///
    /// # Errors
    /// [`FetchError`].
    pub fn fetch(
        &self,
        build_id: &str,
        limit: Duration,
        on_start: impl FnOnce(u32),
        is_stopped: impl Fn() -> bool,
    ) -> Result<PathBuf, FetchError> {
        if build_id.is_empty() || !build_id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(FetchError::InvalidBuildId);
        }
        let not_started = |error: io::Error| FetchError::NotStarted(error.to_string());
        // Files in memory never block the client, as a full pipe does.
        let (mut output, sink) = file_in_memory().map_err(not_started)?;
        let (mut errors, error_sink) = file_in_memory().map_err(not_started)?;
        let client = Command::new(&self.program)
            .args(["debuginfo", build_id])
            // These variables add lines to the errors.
            .env_remove("DEBUGINFOD_PROGRESS")
            .env_remove("DEBUGINFOD_VERBOSE")
            .stdin(Stdio::null())
            .stdout(sink)
            .stderr(error_sink)
            .spawn();
        let mut client = client.map_err(not_started)?;
        on_start(client.id());
        let status = wait(&mut client, limit, is_stopped)?;
        if status.signal().is_some() {
            // Ctrl-C in a terminal ends the client too.
            return Err(FetchError::Stopped);
        }
        let path = last_line(&mut output).map(|line| PathBuf::from(OsString::from_vec(line)));
        if let Some(path) = path.filter(|path| status.success() && path.is_absolute()) {
            return Ok(path);
        }
        let reason = last_line(&mut errors).map(|line| readable(&line));
        Err(FetchError::NotFound(reason.unwrap_or_else(|| status.to_string())))
    }
}

/// Empty file in memory, and the client's end of it.
fn file_in_memory() -> io::Result<(File, File)> {
    let file = File::from(memfd_create("debuginfod-find", MemfdFlags::CLOEXEC)?);
    let sink = file.try_clone()?;
    Ok((file, sink))
}

/// Waits for the end of the client, or kills it.
fn wait(
    client: &mut Child,
    limit: Duration,
    is_stopped: impl Fn() -> bool,
) -> Result<ExitStatus, FetchError> {
    let began = Instant::now();
    loop {
        let reason = match client.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if is_stopped() => FetchError::Stopped,
            Ok(None) if began.elapsed() >= limit => FetchError::TimedOut,
            Ok(None) => {
                sleep(POLL_EVERY);
                continue;
            }
            Err(error) => FetchError::NotStarted(error.to_string()),
        };
        // The client may have ended in the meantime.
        let _ = client.kill();
        let _ = client.wait();
        return Err(reason);
    }
}

/// Last line of an output that is not empty.
fn last_line(output: &mut File) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    output.seek(SeekFrom::Start(0)).ok()?;
    output.take(MOST_OUTPUT).read_to_end(&mut bytes).ok()?;
    let line = bytes.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty())?;
    Some(line.to_vec())
}

/// Text of a line, without the characters that control a terminal: a server may have written a part
/// of it.
fn readable(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    text.chars().filter(|character| !character.is_control()).take(LONGEST_REASON).collect()
}
