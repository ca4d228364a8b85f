//! Where the command's output goes while it is measured, and how its end is read back.
//!
//! A pipe that a thread of ours drains: of any output no more than its end is kept, however much comes and however fast.
//! The thread lets small outputs gather before it looks, so that a command that prints a line now and then is measured and
//! not our reading. It belongs to no cgroup of the command's, and nothing here interprets what is printed.

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

/// Bytes of the end of an output that are kept: enough for the last lines of any failure.
const TAIL: usize = 256 * 1024;
/// What the pipe holds: room for what a fast writer prints until the thread runs. The kernel charges what lies in it to
/// the writer, so that it is no more than is needed.
const PIPE: usize = 256 * 1024;
/// Time for which output gathers before it is read, unless it comes fast: a writer of 256 MB/s fills the pipe in that time.
const GATHER: Duration = Duration::from_millis(1);
/// Read at once: the size of a pipe before it is made larger.
const BLOCK: usize = 64 * 1024;

/// Receives what the command prints.
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

/// The reading end, shared by the thread that drains it and the one that wants the end of the output.
#[derive(Debug)]
struct Drain {
    reader: File,
    tail: Mutex<Vec<u8>>,
}

impl Capture {
    /// Opens the target. The thread that drains it starts where this is called, in the cgroups of the caller.
    ///
    /// # Errors
    /// An error of the kernel that gives no pipe or no thread.
    pub fn new(output: &Output) -> io::Result<Self> {
        let target = match output {
            Output::Captured => piped()?,
            Output::Null => Target::Null(File::options().write(true).open("/dev/null")?),
            Output::Inherited => Target::Inherited,
        };
        Ok(Self { target })
    }

    /// Becomes the command's standard output.
    pub fn stdout(&self) -> BorrowedFd<'_> {
        match &self.target {
            Target::Pipe { writer, .. } => writer.as_fd(),
            Target::Null(file) => file.as_fd(),
            Target::Inherited => rustix::stdio::stdout(),
        }
    }

    /// Becomes the command's standard error.
    pub fn stderr(&self) -> BorrowedFd<'_> {
        match &self.target {
            Target::Inherited => rustix::stdio::stderr(),
            _ => self.stdout(),
        }
    }

    /// Forgets what the run before printed.
    ///
    /// # Errors
    /// An error of reading the pipe; never seen.
    pub fn clear(&self) -> io::Result<()> {
        if let Target::Pipe { drain, .. } = &self.target {
            let mut tail = drain.lock();
            drain.read_rest(&mut tail)?;
            tail.clear();
        }
        Ok(())
    }

    /// The end of what the run printed, at most 256 KiB; empty where it went elsewhere. Bytes that are not UTF-8
    /// are replaced.
    ///
    /// # Errors
    /// Where it cannot be read; never seen.
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
    // Of the reading end alone: the command finds its own blocking, as any pipe.
    fcntl_setfl(&reader, OFlags::NONBLOCK)?;
    // Where it may not be made larger, a fast writer waits more often.
    let _ = fcntl_setpipe_size(&writer, PIPE);
    let drain = Arc::new(Drain { reader: reader.into(), tail: Mutex::default() });
    let drained = Arc::clone(&drain);
    thread::Builder::new().name("output".to_owned()).spawn(move || drained.until_closed())?;
    Ok(Target::Pipe { writer, drain })
}

impl Drain {
    /// Keeps the pipe from filling up until nobody can write to it any more.
    fn until_closed(&self) {
        let mut is_fast = false;
        loop {
            let mut wanted = [PollFd::new(&self.reader, PollFlags::IN)];
            // Interrupted by a signal, or ready: either way the pipe is looked at.
            let _ = poll(&mut wanted, None);
            if !is_fast {
                thread::sleep(GATHER);
            }
            match self.read_rest(&mut self.lock()) {
                Ok(Some(read)) => is_fast = read >= PIPE / 2,
                // The end, or a pipe that cannot be read.
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// Reads what lies in the pipe, but not for ever from one that is filled as fast: a pipe full at most. Returns how many
    /// bytes that were; `None` at the end of the output.
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
        // Bytes are whole at any moment.
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds to what is kept, and lets go of what is more than the end of it; of twice that at once, or each byte would move all.
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
    fn of_any_output_the_end_is_kept_and_no_more() {
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
