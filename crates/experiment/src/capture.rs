//! Where the command's output goes while it is measured, and how its end is read back.
//!
//! A file in memory rather than a pipe: nobody has to wake up and drain it, so that a talkative command is
//! measured and not our reading. It never interprets what it holds.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use morecores_record::Output;

/// How much of the end of an output is kept when it grows: enough for the last lines of any failure.
const TAIL: u64 = 256 * 1024;
/// Size at which the front of an output is given back to the system.
const TRIM_ABOVE: u64 = 64 * 1024 * 1024;

/// Receives what the command prints.
#[derive(Debug)]
pub struct Capture {
    target: Target,
}

#[derive(Debug)]
enum Target {
    Memory(File),
    Null(File),
    Inherited,
}

impl Capture {
    /// Opens the target.
    ///
    /// # Errors
    /// Where the kernel gives no file.
    pub fn new(output: &Output) -> io::Result<Self> {
        let target = match output {
            Output::Captured => Target::Memory(memory_file()?),
            Output::Null => Target::Null(File::options().write(true).open("/dev/null")?),
            Output::Inherited => Target::Inherited,
        };
        Ok(Self { target })
    }

    /// Becomes the command's standard output.
    pub fn stdout(&self) -> BorrowedFd<'_> {
        match &self.target {
            Target::Memory(file) | Target::Null(file) => file.as_fd(),
            Target::Inherited => rustix::stdio::stdout(),
        }
    }

    /// Becomes the command's standard error.
    pub fn stderr(&self) -> BorrowedFd<'_> {
        match &self.target {
            Target::Memory(file) | Target::Null(file) => file.as_fd(),
            Target::Inherited => rustix::stdio::stderr(),
        }
    }

    /// Forgets what the run before printed.
    ///
    /// # Errors
    /// Where the file cannot be cut; never seen.
    pub fn clear(&self) -> io::Result<()> {
        match &self.target {
            Target::Memory(file) if file.metadata()?.len() > 0 => file.set_len(0),
            _ => Ok(()),
        }
    }

    /// Gives the memory of a very long output back, all but its end. May be called while the command writes.
    ///
    /// # Errors
    /// Where the file system cannot punch holes; a memory file can.
    pub fn trim(&self) -> io::Result<()> {
        if let Target::Memory(file) = &self.target {
            let length = file.metadata()?.len();
            if length > TRIM_ABOVE {
                let hole = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
                rustix::fs::fallocate(file, hole, 0, length - TAIL)?;
            }
        }
        Ok(())
    }

    /// The end of what the run printed, at most 256 KiB; empty where it went elsewhere. Bytes that are not UTF-8
    /// are replaced.
    ///
    /// # Errors
    /// Where it cannot be read; never seen.
    pub fn tail(&self) -> io::Result<String> {
        let Target::Memory(file) = &self.target else { return Ok(String::new()) };
        let length = file.metadata()?.len();
        let from = length.saturating_sub(TAIL);
        let mut bytes = vec![0; (length - from) as usize];
        file.read_exact_at(&mut bytes, from)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// An unnamed file in memory, always written at its end, as a terminal would be.
fn memory_file() -> io::Result<File> {
    let fd = rustix::fs::memfd_create("morecores-output", rustix::fs::MemfdFlags::CLOEXEC)?;
    rustix::fs::fcntl_setfl(&fd, rustix::fs::OFlags::APPEND)?;
    Ok(File::from(fd))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_end_of_an_output_survives_trimming_and_clearing_starts_anew() {
        let capture = Capture::new(&Output::Captured).unwrap();
        let Target::Memory(file) = &capture.target else { unreachable!() };
        let mut writer = file.try_clone().unwrap();
        let block = vec![b'x'; 1 << 20];
        for _ in 0..70 {
            writer.write_all(&block).unwrap();
        }
        writer.write_all(b"the last line\n").unwrap();
        capture.trim().unwrap();
        assert!(rustix::fs::fstat(file).unwrap().st_blocks * 512 < 1 << 20, "memory is given back");
        assert!(capture.tail().unwrap().ends_with("xthe last line\n"));
        capture.clear().unwrap();
        writer.write_all(b"next\n").unwrap();
        assert_eq!(capture.tail().unwrap(), "next\n");
    }
}
