//! Standard input of the command: the same bytes for every run.
//!
//! A file is opened again for each run, as a shell does. A pipe or a terminal can be read only
//! once. It is copied to a temporary file before the first of several runs, and each run gets the
//! copy. This module does not interpret the bytes.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use morecores_study::{Bytes, InputContent};

/// Path that denotes the standard input of this process.
const STANDARD_INPUT: &str = "-";
/// Standard input's name in the file system. This module does not open that name, because a socket
/// cannot be opened by name.
const STANDARD_INPUT_FILE: &str = "/dev/stdin";
/// Number of bytes that are copied at a time: the capacity of a pipe (pipe(7)).
const CHUNK: usize = 64 * 1024;

/// Reason for which the command cannot get its input.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The input cannot be opened.
    #[error("cannot open --input {}: {error}", path.display())]
    Open {
        /// File of the input.
        path: PathBuf,
        /// Reason given by the system.
        error: io::Error,
    },
    /// The input can be opened, but not read.
    #[error("cannot read --input {}: {error}", path.display())]
    Read {
        /// File of the input.
        path: PathBuf,
        /// Reason given by the system.
        error: io::Error,
    },
    /// The input cannot be copied.
    #[error("cannot keep --input {} in a temporary file: {error}; name another directory with TMPDIR", path.display())]
    Keep {
        /// File of the input.
        path: PathBuf,
        /// Reason given by the system.
        error: io::Error,
    },
    /// The input can be read only once, and is too large for a copy.
    #[error(
        "--input {} can be read only once and holds more than {limit}, the most that is kept for the other runs: \
         raise that with --input-limit, or give a file", path.display()
    )]
    TooLarge {
        /// File of the input.
        path: PathBuf,
        /// Largest size of a copy.
        limit: Bytes,
    },
    /// The input existed for an earlier run, and is gone.
    #[error("--input {} is gone: it existed at an earlier run", path.display())]
    Gone {
        /// File of the input.
        path: PathBuf,
    },
    /// The size of the input differs from its size in the first run.
    #[error(
        "--input {} has {now} bytes now and had {then} for the first run: runs on different input cannot be compared; \
         give a copy that does not change, or write it before each run with --prepare", path.display()
    )]
    Changed {
        /// File of the input.
        path: PathBuf,
        /// Size in bytes in the first run.
        then: u64,
        /// Size in bytes now.
        now: u64,
    },
}

/// Number of readers of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// One run, which may read a pipe itself.
    One,
    /// Several runs. Input that can be read only once is copied, up to a limit.
    Several {
        /// Largest size of a copy.
        limit: Bytes,
    },
}

/// Requirement on the input's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// The size must be equal for every run; otherwise the runs do different work.
    Fixed,
    /// The size may differ, because the user creates the input again for each run.
    Free,
}

/// The command's standard input.
#[derive(Debug)]
pub struct Input {
    /// Path as the user named it.
    name: PathBuf,
    source: Source,
    /// Size and checksum of the copy, if any.
    copied: Option<InputContent>,
    /// Size of a regular file in the first run.
    size: Option<u64>,
}

/// Source that is opened for each run.
#[derive(Debug)]
enum Source {
    /// A file, by its name.
    Named,
    /// A file that this process holds open, from a start position.
    Held { file: File, start: u64 },
    /// A source that can be read only once, until a run gets it.
    Once(Option<File>),
}

impl Input {
    /// Empty input: `/dev/null`.
    pub fn none() -> Self {
        Self::new(Path::new("/dev/null"), Source::Named)
    }

    fn new(name: &Path, source: Source) -> Self {
        Self { name: name.to_owned(), source, copied: None, size: None }
    }

    /// Opens the input at `path`; `-` is the standard input of this process, from its current
    /// position. Copies a source that can be read only once if several runs read it.
    ///
    /// # Errors
    /// The input cannot be opened, read or copied.
    pub fn open(path: &Path, readers: Readers) -> Result<Self, InputError> {
        let open_error = |error| InputError::Open { path: path.to_owned(), error };
        let is_standard_input = [STANDARD_INPUT, STANDARD_INPUT_FILE].map(Path::new).contains(&path);
        let opened = if is_standard_input { standard_input() } else { File::open(path) };
        let mut file = opened.map_err(open_error)?;
        if file.metadata().map_err(open_error)?.is_dir() {
            return Err(open_error(io::ErrorKind::IsADirectory.into()));
        }
        // The ability to seek shows whether a source can be read again: pipes, sockets and
        // terminals refuse it (lseek(2)).
        match file.stream_position() {
            Ok(_) if !names_descriptor(path) => Ok(Self::new(path, Source::Named)),
            // A file that another user opened may be readable only through this descriptor.
            Ok(start) if File::open(descriptor_path(&file)).is_ok() => {
                Ok(Self::new(path, Source::Held { file, start }))
            }
            _ => match readers {
                Readers::One => Ok(Self::new(path, Source::Once(Some(file)))),
                Readers::Several { limit } => Self::copy(path, &mut file, limit),
            },
        }
    }

    /// Copies the rest of `from` to a temporary file without a name.
    fn copy(path: &Path, from: &mut File, limit: Bytes) -> Result<Self, InputError> {
        let keep_error = |error| InputError::Keep { path: path.to_owned(), error };
        let mut copy = tempfile::tempfile().map_err(keep_error)?;
        let content = read_to_end(path, from, |chunk, bytes| {
            if bytes > limit {
                return Err(InputError::TooLarge { path: path.to_owned(), limit });
            }
            copy.write_all(chunk).map_err(keep_error)
        })?;
        Ok(Self { copied: Some(content), ..Self::new(path, Source::Held { file: copy, start: 0 }) })
    }

    /// Whether every run gets a copy, because the input can be read only once.
    pub fn is_copied(&self) -> bool {
        self.copied.is_some()
    }

    /// Size and checksum of the input, to recognise it later; `None` for a device, which has no
    /// end.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn content(&mut self) -> Result<Option<InputContent>, InputError> {
        if self.copied.is_some() || matches!(self.source, Source::Once(_)) {
            return Ok(self.copied);
        }
        let mut file = self.rewind()?;
        if !file.metadata().map_err(|error| self.read_error(error))?.is_file() {
            return Ok(None);
        }
        read_to_end(&self.name, &mut file, |_, _| Ok(())).map(Some)
    }

    /// Opens the input for one more run, at its beginning.
    ///
    /// # Errors
    /// The input is gone, or `size` is fixed and the size differs from the first run's.
    pub(crate) fn for_run(&mut self, size: Size) -> Result<File, InputError> {
        let file = self.rewind()?;
        let metadata = file.metadata().map_err(|error| self.read_error(error))?;
        if metadata.is_file() {
            let now = metadata.len();
            let then = *self.size.get_or_insert(now);
            if then != now && size == Size::Fixed {
                return Err(InputError::Changed { path: self.name.clone(), then, now });
            }
        }
        Ok(file)
    }

    /// Opens the input again, so that each run has its own position in it.
    fn rewind(&mut self) -> Result<File, InputError> {
        let (path, start) = match &mut self.source {
            Source::Once(file) => {
                return file.take().ok_or_else(|| InputError::Gone { path: self.name.clone() });
            }
            Source::Named => (self.name.clone(), 0),
            Source::Held { file, start } => (descriptor_path(file), *start),
        };
        let mut file = File::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => InputError::Gone { path: self.name.clone() },
            _ => InputError::Open { path: self.name.clone(), error },
        })?;
        if start > 0 {
            file.seek(SeekFrom::Start(start)).map_err(|error| self.read_error(error))?;
        }
        Ok(file)
    }

    fn read_error(&self, error: io::Error) -> InputError {
        InputError::Read { path: self.name.clone(), error }
    }
}

/// Reads all of `from`, passes each piece to `take` with the number of bytes so far, and returns
/// size and checksum.
fn read_to_end(
    path: &Path,
    from: &mut File,
    mut take: impl FnMut(&[u8], Bytes) -> Result<(), InputError>,
) -> Result<InputContent, InputError> {
    let mut checksum = crc32fast::Hasher::new();
    let mut chunk = vec![0; CHUNK];
    let mut bytes = Bytes(0);
    loop {
        let length = match from.read(&mut chunk) {
            Ok(0) => return Ok(InputContent { bytes, crc32: checksum.finalize() }),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(InputError::Read { path: path.to_owned(), error }),
        };
        bytes.0 += length as u64;
        checksum.update(&chunk[..length]);
        take(&chunk[..length], bytes)?;
    }
}

/// Whether a path names a descriptor of this process. Another process does not have that
/// descriptor.
pub fn names_descriptor(path: &Path) -> bool {
    let is_below = |directory| path.starts_with(directory);
    [STANDARD_INPUT, STANDARD_INPUT_FILE].map(Path::new).contains(&path)
        || ["/dev/fd", "/proc/self/fd", "/proc/thread-self/fd"].into_iter().any(is_below)
}

/// Standard input of this process, as a file.
fn standard_input() -> io::Result<File> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

/// Path that opens the file behind a descriptor of this process again (proc_pid_fd(5)).
fn descriptor_path(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: Readers = Readers::Several { limit: Bytes(1 << 20) };

    /// Reading end of a pipe with its path; the pipe holds this text and has no writer.
    fn pipe(text: &[u8]) -> (io::PipeReader, PathBuf) {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(text).unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", reader.as_raw_fd()));
        (reader, path)
    }

    fn content(input: &mut Input, size: Size) -> Result<String, InputError> {
        input.for_run(size).map(|file| io::read_to_string(file).unwrap())
    }

    #[test]
    fn every_run_gets_the_content_of_the_pipe() {
        let (_reader, path) = pipe(b"once\n");
        let mut input = Input::open(&path, MANY).unwrap();
        assert!(input.is_copied());
        for _ in 0..3 {
            assert_eq!(content(&mut input, Size::Fixed).unwrap(), "once\n");
        }
        // Checksum from `printf 'once\n' | gzip -c | tail -c 8 | od -An -tx4`.
        assert_eq!(input.content().unwrap(), Some(InputContent { bytes: Bytes(5), crc32: 0xb477_9434 }));
    }

    #[test]
    fn two_runs_at_once_read_each_from_the_beginning() {
        let (_reader, path) = pipe(b"twice");
        let mut input = Input::open(&path, MANY).unwrap();
        let [first, second] = [(); 2].map(|()| input.for_run(Size::Fixed).unwrap());
        assert_eq!(io::read_to_string(first).unwrap(), io::read_to_string(second).unwrap());
        assert!(input.for_run(Size::Fixed).unwrap().write(b"x").is_err(), "a run cannot change it");
    }

    #[test]
    fn a_pipe_that_holds_more_than_the_limit_is_refused() {
        let (_reader, path) = pipe(b"12345");
        let error = Input::open(&path, Readers::Several { limit: Bytes(4) }).unwrap_err();
        assert!(error.to_string().contains("more than 4 B"), "{error}");
        let (_reader, path) = pipe(b"1234");
        assert!(Input::open(&path, Readers::Several { limit: Bytes(4) }).is_ok());
    }

    #[test]
    fn a_file_that_disappears_or_changes_its_size_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("input");
        std::fs::write(&path, "12345").unwrap();
        let mut input = Input::open(&path, Readers::Several { limit: Bytes(0) }).unwrap();
        assert_eq!((content(&mut input, Size::Fixed).unwrap().as_str(), input.is_copied()), ("12345", false));
        std::fs::write(&path, "123").unwrap();
        let error = input.for_run(Size::Fixed).unwrap_err();
        assert!(matches!(error, InputError::Changed { then: 5, now: 3, .. }), "{error}");
        assert_eq!(content(&mut input, Size::Free).unwrap(), "123");
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(input.for_run(Size::Free), Err(InputError::Gone { .. })));
    }

    #[test]
    fn a_single_run_reads_the_pipe_itself() {
        let (_reader, path) = pipe(b"once");
        let mut input = Input::open(&path, Readers::One).unwrap();
        assert_eq!((content(&mut input, Size::Fixed).unwrap().as_str(), input.is_copied()), ("once", false));
        assert!(matches!(input.for_run(Size::Fixed), Err(InputError::Gone { .. })));
    }

    #[test]
    fn a_descriptor_is_held_and_a_device_has_no_content() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"12345").unwrap();
        let mut input = Input::open(&descriptor_path(&file), MANY).unwrap();
        drop(file);
        assert_eq!((content(&mut input, Size::Fixed).unwrap().as_str(), input.is_copied()), ("12345", false));
        assert_eq!(input.content().unwrap().map(|content| content.crc32), Some(0xcbf5_3a1c));
        assert_eq!(Input::open(Path::new("/dev/zero"), MANY).unwrap().content().unwrap(), None);
    }

    #[test]
    fn a_directory_is_not_an_input() {
        let error = Input::open(Path::new("/"), MANY).unwrap_err();
        assert!(error.to_string().contains("directory"), "{error}");
    }
}
