//! Target of the command's output during the measurement, and access to its tail.
//!
//! A thread of this process drains a pipe, and keeps only the tail of any output, however long and
//! fast it is. The thread lets small outputs accumulate before it reads them. The reads thus do not
//! distort the measurement of a command that prints a line now and then. The thread belongs to none
//! of the command's cgroups. This module does not interpret the output.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use morecores_study::Output;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

/// Size in bytes of the kept tail: enough for the last lines of any failure.
const TAIL: usize = 256 * 1024;
/// Capacity of the pipe: room for the output of a fast writer until the thread runs. The kernel
/// charges the content to the writer, so the capacity is no larger than necessary.
const PIPE: usize = 256 * 1024;
/// Time for which output accumulates before it is read, unless it comes fast. A writer of 256 MB/s
/// fills the pipe in that time.
const GATHER: Duration = Duration::from_millis(1);
/// Size of one read: the default capacity of a pipe.
const BLOCK: usize = 64 * 1024;

/// Receiver of the command's output.
#[derive(Debug)]
pub struct Capture {
    target: Target,
}

#[derive(Debug)]
enum Target {
    Pipe { writer: OwnedFd, drain: Arc<Drain> },
    Null(File),
    Inherited,
}

/// Reading end of the pipe, shared by the draining thread and the reader of the tail.
#[derive(Debug)]
struct Drain {
    reader: File,
    tail: Mutex<Vec<u8>>,
}

impl Capture {
    /// Opens the target. The draining thread starts at this call, in the cgroups of the caller.
    ///
    /// # Errors
    /// The kernel provides no pipe or no thread.
    pub fn new(output: &Output) -> io::Result<Self> {
        let target = match output {
            Output::Captured => piped()?,
            Output::Null => Target::Null(File::options().write(true).open("/dev/null")?),
            Output::Inherited => Target::Inherited,
        };
        Ok(Self { target })
    }

    /// Descriptor for the command's standard output.
    pub fn stdout(&self) -> BorrowedFd<'_> {
        match &self.target {
            Target::Pipe { writer, .. } => writer.as_fd(),
            Target::Null(file) => file.as_fd(),
            Target::Inherited => rustix::stdio::stdout(),
        }
    }

    /// Descriptor for the command's standard error.
    pub fn stderr(&self) -> BorrowedFd<'_> {
        match &self.target {
            Target::Inherited => rustix::stdio::stderr(),
            _ => self.stdout(),
        }
    }

    /// Discards the output of the previous run.
    ///
    /// # Errors
    /// The pipe cannot be read; this error has never been observed.
    pub fn clear(&self) -> io::Result<()> {
        if let Target::Pipe { drain, .. } = &self.target {
            let mut tail = drain.lock();
            drain.read_rest(&mut tail)?;
            tail.clear();
        }
        Ok(())
    }

    /// Tail of the run's output, at most 256 KiB; empty if the output went elsewhere. Bytes that
    /// are not UTF-8 are replaced.
    ///
    /// # Errors
    /// The pipe cannot be read; this error has never been observed.
    pub fn tail(&self) -> io::Result<String> {
        let Target::Pipe { drain, .. } = &self.target else { return Ok(String::new()) };
        let mut tail = drain.lock();
        drain.read_rest(&mut tail)?;
        let from = tail.len().saturating_sub(TAIL);
        Ok(String::from_utf8_lossy(&tail[from..]).into_owned())
    }
}

fn piped() -> io::Result<Target> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    // Only the reading end is non-blocking; the command's end blocks, like any pipe.
    fcntl_setfl(&reader, OFlags::NONBLOCK)?;
    // If the pipe may not be enlarged, a fast writer waits more often.
    let _ = fcntl_setpipe_size(&writer, PIPE);
    let drain = Arc::new(Drain { reader: reader.into(), tail: Mutex::default() });
    let drained = Arc::clone(&drain);
    thread::Builder::new().name("output".to_owned()).spawn(move || drained.drain_until_closed())?;
    Ok(Target::Pipe { writer, drain })
}

impl Drain {
    /// Drains the pipe until no process can write to it any more.
    fn drain_until_closed(&self) {
        let mut is_fast = false;
        loop {
            let mut wanted = [PollFd::new(&self.reader, PollFlags::IN)];
            // The pipe is read whether poll was interrupted by a signal or found data.
            let _ = poll(&mut wanted, None);
            if !is_fast {
                thread::sleep(GATHER);
            }
            match self.read_rest(&mut self.lock()) {
                Ok(Some(read)) => is_fast = read >= PIPE / 2,
                // The output has ended, or the pipe cannot be read.
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// Reads the content of the pipe, but at most one pipe capacity, so that a fast writer cannot
    /// hold it for ever. Returns the number of bytes; `None` at the end of the output.
    fn read_rest(&self, tail: &mut Vec<u8>) -> io::Result<Option<usize>> {
        let mut block = [0; BLOCK];
        let mut read = 0;
        while read < PIPE {
            match (&self.reader).read(&mut block) {
                Ok(0) => return Ok(None),
                Ok(length) => {
                    keep_end(tail, &block[..length]);
                    read += length;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(read))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        // The bytes are consistent at any moment, so a poisoned lock is harmless.
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Appends to the tail. It drops the excess only at twice the tail's size, because otherwise each
/// byte would move the whole tail.
fn keep_end(tail: &mut Vec<u8>, more: &[u8]) {
    tail.extend_from_slice(more);
    if tail.len() > 2 * TAIL {
        tail.drain(..tail.len() - TAIL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn writer(capture: &Capture) -> File {
        capture.stdout().try_clone_to_owned().unwrap().into()
    }

    #[test]
    fn only_the_end_of_the_output_is_kept() {
        let capture = Capture::new(&Output::Captured).unwrap();
        let mut writer = writer(&capture);
        let block = vec![b'x'; 1 << 20];
        for _ in 0..70 {
            writer.write_all(&block).unwrap();
        }
        writer.write_all(b"the last line\n").unwrap();
        let tail = capture.tail().unwrap();
        assert!(tail.ends_with("xthe last line\n"));
        assert_eq!(tail.len(), TAIL);
        let Target::Pipe { drain, .. } = &capture.target else { unreachable!() };
        assert!(drain.lock().capacity() <= 4 * TAIL, "{} bytes", drain.lock().capacity());
        capture.clear().unwrap();
        writer.write_all(b"next\n").unwrap();
        assert_eq!(capture.tail().unwrap(), "next\n");
    }

    #[test]
    fn both_streams_are_one_in_the_order_written() {
        let capture = Capture::new(&Output::Captured).unwrap();
        writer(&capture).write_all(b"out ").unwrap();
        let mut stderr = File::from(capture.stderr().try_clone_to_owned().unwrap());
        stderr.write_all(b"err\n").unwrap();
        assert_eq!(capture.tail().unwrap(), "out err\n");
    }
}
