//! The text of the build in its serial order: what the drivers print, and between it what the
//! deferred commands print.
//!
//! The drivers write into pipes. What a driver writes after a deferral is held until the deferred
//! command has ended.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Seek};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, OFlags, fcntl_getfl, fcntl_setfl, fstat, memfd_create};

use rustix::io::Errno;

use crate::jobs::JobId;

/// One of the two streams of the build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Output,
    Error,
}

/// A part of the text in its serial order.
#[derive(Debug)]
enum Part {
    Text(Stream, Vec<u8>),
    /// The text of a deferred command, once it has ended.
    Job(JobId, Option<PrintedText>),
}

/// Files that take what one deferred command prints, each with the stream where it is printed.
#[derive(Debug)]
pub(crate) struct JobText {
    output: (Stream, File),
    /// `None` if both streams of the command go to the same place, as with `2>&1`.
    error: Option<(Stream, File)>,
}

/// Text that a deferred command has printed to each stream.
#[derive(Debug)]
pub(crate) struct PrintedText(Vec<(Stream, Vec<u8>)>);

/// Streams of the build to which the standard output and the standard error of a command go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Targets {
    output: Stream,
    error: Stream,
}

/// A file without a name, which is gone with its descriptors.
pub(crate) fn memory_file() -> io::Result<File> {
    Ok(memfd_create("morecores-overlap", MemfdFlags::CLOEXEC)?.into())
}

impl JobText {
    /// Files for the text of one command.
    pub(crate) fn new(targets: Targets) -> io::Result<Self> {
        let error =
            if targets.output == targets.error { None } else { Some((targets.error, memory_file()?)) };
        Ok(Self { output: (targets.output, memory_file()?), error })
    }

    /// The text after the end of the command.
    pub(crate) fn read(self) -> io::Result<PrintedText> {
        let mut texts = Vec::new();
        for (stream, mut file) in [Some(self.output), self.error].into_iter().flatten() {
            let mut text = Vec::new();
            file.rewind()?;
            file.read_to_end(&mut text)?;
            texts.push((stream, text));
        }
        Ok(PrintedText(texts))
    }

    /// Descriptors for the standard output and the standard error of the command.
    pub(crate) fn descriptors(&self) -> io::Result<(OwnedFd, OwnedFd)> {
        let (_, error) = self.error.as_ref().unwrap_or(&self.output);
        Ok((self.output.1.as_fd().try_clone_to_owned()?, error.as_fd().try_clone_to_owned()?))
    }
}

/// A pipe in place of one stream of the build.
#[derive(Debug)]
struct Pipe {
    stream: Stream,
    /// `None` once nobody can write any more.
    reader: Option<PipeReader>,
    writer: Option<PipeWriter>,
    /// Name of the pipe in `/proc/PID/fd`.
    name: String,
}

/// The text that is not printed yet, and the pipes from which more comes.
#[derive(Debug)]
pub(crate) struct Output {
    pipes: Vec<Pipe>,
    parts: VecDeque<Part>,
}

impl Output {
    /// Pipes for a build whose text goes to the streams of this process.
    pub(crate) fn new() -> io::Result<Self> {
        let has_one_target = is_same_file(io::stdout().as_fd(), io::stderr().as_fd());
        let streams = if has_one_target { &[Stream::Output][..] } else { &[Stream::Output, Stream::Error] };
        let pipes = streams.iter().map(|stream| Pipe::new(*stream)).collect::<io::Result<_>>()?;
        Ok(Self { pipes, parts: VecDeque::new() })
    }

    /// Descriptors for the standard output and the standard error of the first driver. Called once.
    pub(crate) fn take_writers(&mut self) -> io::Result<(OwnedFd, OwnedFd)> {
        let mut writers = self.pipes.iter_mut().filter_map(|pipe| pipe.writer.take()).map(OwnedFd::from);
        let output = writers.next().ok_or(io::ErrorKind::BrokenPipe)?;
        let error = match writers.next() {
            Some(error) => error,
            None => output.try_clone()?,
        };
        Ok((output, error))
    }

    /// Descriptors to watch for text.
    pub(crate) fn readers(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.pipes.iter().filter_map(|pipe| pipe.reader.as_ref()).map(AsFd::as_fd)
    }

    /// Streams to which descriptors 1 and 2 of a process lead, by their names in `/proc`; `None` if
    /// one leads elsewhere.
    pub(crate) fn targets(&self, output: &str, error: &str) -> Option<Targets> {
        let stream = |name: &str| self.pipes.iter().find(|pipe| pipe.name == name).map(|pipe| pipe.stream);
        Some(Targets { output: stream(output)?, error: stream(error)? })
    }

    /// Takes what the drivers have written so far, and prints what need not be held.
    pub(crate) fn drain(&mut self) -> io::Result<()> {
        let mut buffer = [0; 64 << 10];
        for pipe in &mut self.pipes {
            while let Some(reader) = &mut pipe.reader {
                match reader.read(&mut buffer) {
                    Ok(0) => pipe.reader = None,
                    Ok(length) => self.parts.push_back(Part::Text(pipe.stream, buffer[..length].to_vec())),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
        }
        self.print()
    }

    /// Reserves the place for the text of a command that is deferred now.
    pub(crate) fn reserve(&mut self, job: JobId) -> io::Result<()> {
        self.drain()?;
        self.parts.push_back(Part::Job(job, None));
        Ok(())
    }

    /// Gives the text of a settled command its place, and prints what need not be held.
    pub(crate) fn finish(&mut self, job: JobId, text: PrintedText) -> io::Result<()> {
        for part in &mut self.parts {
            if let Part::Job(id, place) = part
                && *id == job
            {
                *place = Some(text);
                break;
            }
        }
        self.print()
    }

    /// Drops everything behind the place of a command, read or not: the serial run never printed
    /// it.
    pub(crate) fn discard_after(&mut self, job: JobId) -> io::Result<()> {
        self.drain()?;
        let place = self.parts.iter().position(|part| matches!(part, Part::Job(id, _) if *id == job));
        if let Some(place) = place {
            self.parts.truncate(place + 1);
        }
        Ok(())
    }

    /// Prints from the front up to the first command that has not ended.
    fn print(&mut self) -> io::Result<()> {
        while let Some(part) = self.parts.front_mut() {
            match part {
                Part::Text(stream, text) => write(*stream, text)?,
                Part::Job(_, None) => return Ok(()),
                Part::Job(_, Some(text)) => {
                    for (stream, text) in &text.0 {
                        write(*stream, text)?;
                    }
                }
            }
            self.parts.pop_front();
        }
        Ok(())
    }
}

impl Pipe {
    fn new(stream: Stream) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let flags = fcntl_getfl(&reader)?;
        fcntl_setfl(&reader, flags | OFlags::NONBLOCK)?;
        let name = std::fs::read_link(format!("/proc/self/fd/{}", writer.as_raw_fd()))?;
        Ok(Self {
            stream,
            reader: Some(reader),
            writer: Some(writer),
            name: name.to_string_lossy().into_owned(),
        })
    }
}

/// Prints a text. A reader that has closed the stream wants no more of it.
fn write(stream: Stream, mut text: &[u8]) -> io::Result<()> {
    let (output, error) = (io::stdout(), io::stderr());
    let descriptor = match stream {
        Stream::Output => output.as_fd(),
        Stream::Error => error.as_fd(),
    };
    while !text.is_empty() {
        match rustix::io::write(descriptor, text) {
            Ok(written) => text = &text[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let mut polled = [PollFd::from_borrowed_fd(descriptor, PollFlags::OUT)];
                poll(&mut polled, None)?;
            }
            Err(Errno::PIPE) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Whether two descriptors lead to one file.
fn is_same_file(first: BorrowedFd, second: BorrowedFd) -> bool {
    match (fstat(first), fstat(second)) {
        (Ok(first), Ok(second)) => {
            (first.st_dev, first.st_ino, first.st_rdev) == (second.st_dev, second.st_ino, second.st_rdev)
        }
        _ => false,
    }
}
