//! The file that a thread asks the kernel to execute, while it waits in `execve`.
//!
//! The memory and the files of the thread may be on a file system that does not answer, so this
//! must not run where starts of programs are answered.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Longest path of the kernel, in bytes.
const MAX_PATH: usize = 4096;
/// Size of the parts in which a path is read, in bytes: a read must not cross into a page that is
/// not there.
const PAGE_SIZE: u64 = 4096;
/// Time between two looks at a thread that is about to wait.
const PAUSE: Duration = Duration::from_micros(50);
/// Most looks.
const MAX_LOOKS: usize = 40;
/// First bytes of a script.
const SCRIPT: &[u8; 2] = b"#!";

/// A file by its numbers, whatever its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId {
    /// Number of the device.
    pub device: u64,
    /// Number of the file on the device.
    pub inode: u64,
}

impl FileId {
    fn from_metadata(found: &Metadata) -> Self {
        Self { device: found.dev(), inode: found.ino() }
    }

    pub(crate) fn of_path(path: &Path) -> io::Result<Self> {
        Ok(Self::from_metadata(&fs::metadata(path)?))
    }

    pub(crate) fn of_descriptor(descriptor: BorrowedFd) -> io::Result<Self> {
        let found = rustix::fs::fstat(descriptor)?;
        Ok(Self { device: found.st_dev, inode: found.st_ino })
    }
}

/// Whether a thread that waits in `execve` executes a script, for which the kernel opens `file` as
/// the interpreter. `false` if that cannot be told.
pub fn executes_script_by(thread: u32, file: FileId) -> bool {
    let script = || {
        let call = waiting_call(thread)?;
        let memory = File::open(format!("/proc/{thread}/mem")).ok()?;
        let name = read_text(&memory, call.path)?;
        let path = behind_thread(thread, call.directory, &name)?;
        let found = fs::metadata(&path).ok()?;
        // A pipe has no beginning to look at.
        if !found.is_file() || FileId::from_metadata(&found) == file {
            return None;
        }
        let mut start = [0; SCRIPT.len()];
        File::open(path).ok()?.read_exact(&mut start).ok()?;
        Some(start == *SCRIPT)
    };
    script().unwrap_or(false)
}

/// A call that executes a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Execution {
    /// Descriptor of the directory from which a relative path starts; `None` for the working
    /// directory.
    directory: Option<i32>,
    /// Address of the path.
    path: u64,
}

/// The call in which a thread waits, or is about to wait.
fn waiting_call(thread: u32) -> Option<Execution> {
    for _ in 0..MAX_LOOKS {
        let text = fs::read_to_string(format!("/proc/{thread}/syscall")).ok()?;
        if text.trim_end() != "running" {
            return parse(&text);
        }
        thread::sleep(PAUSE);
    }
    None
}

/// Reads the text of `/proc/PID/syscall`: the number of the call, and its arguments.
fn parse(text: &str) -> Option<Execution> {
    let mut words = text.split_whitespace();
    let number: i64 = words.next()?.parse().ok()?;
    let mut arguments = words.map(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok());
    match number {
        libc::SYS_execve => Some(Execution { directory: None, path: arguments.next()?? }),
        libc::SYS_execveat => {
            let directory = arguments.next()?? as i32;
            let directory = (directory != libc::AT_FDCWD).then_some(directory);
            Some(Execution { directory, path: arguments.next()?? })
        }
        _ => None,
    }
}

/// A path of a thread, as this process can open it; `None` if it would mean another file here.
fn behind_thread(thread: u32, directory: Option<i32>, name: &[u8]) -> Option<PathBuf> {
    let name = Path::new(OsStr::from_bytes(name));
    if ["/proc/self", "/proc/thread-self", "/dev/fd", "/dev/stdin"].iter().any(|own| name.starts_with(own)) {
        return None;
    }
    let own = PathBuf::from(format!("/proc/{thread}"));
    if let Ok(below_root) = name.strip_prefix("/") {
        return Some(own.join("root").join(below_root));
    }
    let start = match directory {
        None => own.join("cwd"),
        Some(number) => own.join(format!("fd/{number}")),
    };
    // An empty name is the open file itself.
    Some(if name.as_os_str().is_empty() { start } else { start.join(name) })
}

/// A text up to its zero byte.
fn read_text(memory: &File, mut address: u64) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    while text.len() < MAX_PATH {
        let mut part = vec![0; (PAGE_SIZE - address % PAGE_SIZE) as usize];
        let length = memory.read_at(&mut part, address).ok().filter(|length| *length > 0)?;
        part.truncate(length);
        if let Some(end) = part.iter().position(|byte| *byte == 0) {
            text.extend(&part[..end]);
            return Some(text);
        }
        text.extend(part);
        address += length as u64;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_call_is_found() {
        let call = format!("{} 0x7ffd10 0x2 0x3 0x4 0x5 0x6 0x7ffd00 0x7f00\n", libc::SYS_execve);
        assert_eq!(parse(&call), Some(Execution { directory: None, path: 0x7f_fd10 }));
        let call = format!("{} 0xffffff9c 0x10 0x2 0x3 0x0 0x6 0x7ffd00 0x7f00\n", libc::SYS_execveat);
        assert_eq!(parse(&call), Some(Execution { directory: None, path: 0x10 }));
        let call = format!("{} 0x5 0x10 0x2 0x3 0x1000 0x6 0x7ffd00 0x7f00\n", libc::SYS_execveat);
        assert_eq!(parse(&call), Some(Execution { directory: Some(5), path: 0x10 }));
        assert_eq!(parse("-1 0x7ffd00 0x7f00\n"), None);
        assert_eq!(parse("0 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffd00 0x7f00\n"), None);
    }

    #[test]
    fn paths_start_from_the_root_the_directory_or_a_descriptor_of_the_thread() {
        let path = |directory, name: &str| behind_thread(7, directory, name.as_bytes());
        assert_eq!(path(None, "/bin/true"), Some("/proc/7/root/bin/true".into()));
        assert_eq!(path(Some(3), "/bin/true"), Some("/proc/7/root/bin/true".into()));
        assert_eq!(path(None, "./a"), Some("/proc/7/cwd/a".into()));
        assert_eq!(path(Some(3), "a"), Some("/proc/7/fd/3/a".into()));
        assert_eq!(path(Some(3), ""), Some("/proc/7/fd/3".into()));
        assert_eq!(path(None, "/proc/self/exe"), None);
    }

    #[test]
    fn a_text_of_this_process_is_read_across_pages() {
        let text = vec![b'x'; 3 * PAGE_SIZE as usize / 4].into_iter().chain([0]).collect::<Vec<u8>>();
        let memory = File::open("/proc/self/mem").expect("the own memory");
        let found = read_text(&memory, text.as_ptr() as u64).expect("a text");
        assert_eq!(found.len(), text.len() - 1);
        assert_eq!(read_text(&memory, 8), None);
    }
}
