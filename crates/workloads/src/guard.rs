//! Guard process that cleans up when the workload has ended for any reason.
//!
//! The guard waits for the end of a pipe that only the workload can write to. A normal exit, Ctrl-C
//! and SIGKILL all look alike to the guard. This crate has no other clean-up and no signal handler.
//! The guard runs in its own session, out of reach of the terminal's signals. The worker processes
//! that need no clean-up are in [`processes`](crate::processes).

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process_group, setpgid, setsid, test_kill_process_group, waitpid,
};

use crate::outcome::TMPDIR;
use crate::{WorkloadError, processes};

/// Message to the guard: this byte, then a process group's number in four bytes.
const GROUP: u8 = b'g';
/// Message to the guard: this byte, then the number of a group that has ended.
const ENDED: u8 = b'e';
/// Message to the guard: this byte, then a directory's path and a zero byte.
const DIRECTORY: u8 = b'd';

/// Time limit of the wait for killed processes. They disappear at once unless a device blocks them.
const PATIENCE: Duration = Duration::from_secs(10);

/// Handle of the guard process. The guard cleans up when this handle is dropped, or when this
/// process is gone.
#[derive(Debug)]
pub(crate) struct Guard {
    /// The guard starts its clean-up at the end of this pipe.
    tells: Option<File>,
    process: Pid,
}

impl Guard {
    /// Starts the guard. The call comes before any server or directory is made.
    pub(crate) fn new() -> Result<Self, WorkloadError> {
        let refused =
            |source: io::Error| WorkloadError::Single { what: "the process that clears up", source };
        let (reads, writes) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| refused(error.into()))?;
        let mut ends = Some((reads, writes));
        let guard = || {
            if let Some((reads, writes)) = ends.take() {
                drop(writes);
                watch(File::from(reads));
            }
        };
        let process = processes::fork_free(guard).map_err(refused)?;
        let tells = ends.map(|(_, writes)| File::from(writes));
        Ok(Self { tells, process })
    }

    /// Makes a directory for this run below `parent`.
    pub(crate) fn directory(&self, parent: &Path) -> Result<PathBuf, WorkloadError> {
        let path = parent.join(format!("morecores-work-{}-{:x}", getpid(), crate::clock::now().0));
        // The guard is told before the directory exists, so that at no moment the directory could
        // remain.
        self.tell(DIRECTORY, &[path.as_os_str().as_bytes(), b"\0"].concat());
        fs::create_dir(&path).map_err(|source| WorkloadError::File {
            doing: "make the directory",
            path: path.clone(),
            source,
            option: TMPDIR,
        })?;
        Ok(path)
    }

    /// Starts a program in its own process group. The guard ends the group with this run.
    pub(crate) fn start(&self, command: &mut Command) -> io::Result<Child> {
        if let Some(tells) = &self.tells {
            let tells = tells.as_fd().try_clone_to_owned()?;
            // SAFETY: `join` makes two system calls and touches nothing else of this process's
            // memory.
            #[allow(unsafe_code)]
            unsafe {
                command.process_group(0).pre_exec(move || join(&tells));
            }
        }
        command.spawn()
    }

    /// Runs a program to its end in its own process group and returns its output. The guard then
    /// forgets the group, since a much later group may have an equal number.
    pub(crate) fn output(&self, command: &mut Command) -> io::Result<Output> {
        let child = self.start(command)?;
        let group = child.id();
        let output = child.wait_with_output();
        self.tell(ENDED, &group.to_ne_bytes());
        output
    }

    /// Does a piece of the work as a process group, in a separate process. The guard ends
    /// everything that the piece starts with this run.
    pub(crate) fn group<T>(&self, work: impl FnOnce() -> T) -> Result<T, WorkloadError> {
        let refused = |source| WorkloadError::Process { number: 1, wanted: 1, source };
        setpgid(None, None).map_err(|error| refused(error.into()))?;
        if let Some(tells) = &self.tells {
            join(tells).map_err(refused)?;
        }
        let result = work();
        self.tell(ENDED, &getpid().as_raw_nonzero().get().to_ne_bytes());
        Ok(result)
    }

    fn tell(&self, what: u8, which: &[u8]) {
        if let Some(mut tells) = self.tells.as_ref() {
            // The guard reads as long as this process lives.
            let _ = tells.write_all(&[&[what], which].concat());
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.tells = None;
        let _ = waitpid(Some(self.process), WaitOptions::empty());
    }
}

/// Reports the calling process's group to the guard. The report comes before the group's program
/// begins, so that no group is missed.
fn join(tells: impl AsFd) -> io::Result<()> {
    let [a, b, c, d] = getpid().as_raw_nonzero().get().to_ne_bytes();
    rustix::io::write(tells, &[GROUP, a, b, c, d])?;
    Ok(())
}

/// Main function of the guard process.
fn watch(mut reads: File) {
    let _ = setsid();
    // A reader of the workload's output must not wait for the guard.
    if let Ok(nothing) = File::options().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&nothing);
        let _ = rustix::stdio::dup2_stdout(&nothing);
        let _ = rustix::stdio::dup2_stderr(&nothing);
    }
    let mut told = Vec::new();
    // The read ends when the last holder of the other end is gone.
    let _ = reads.read_to_end(&mut told);
    let (groups, directories) = understood(&told);
    for group in &groups {
        let _ = kill_process_group(*group, Signal::KILL);
    }
    let deadline = Instant::now() + PATIENCE;
    for group in groups {
        while test_kill_process_group(group).is_ok() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(2));
        }
    }
    for directory in directories {
        let _ = fs::remove_dir_all(directory);
    }
}

/// Process groups and directories, parsed from the messages to the guard.
fn understood(mut told: &[u8]) -> (Vec<Pid>, Vec<PathBuf>) {
    let (mut groups, mut directories) = (Vec::new(), Vec::new());
    while let Some((&what, rest)) = told.split_first() {
        let length = match what {
            GROUP | ENDED => 4,
            _ => rest.iter().position(|byte| *byte == 0).map_or(rest.len(), |end| end + 1),
        };
        let (which, rest) = rest.split_at(length.min(rest.len()));
        told = rest;
        match (what, which) {
            (GROUP, &[a, b, c, d]) => groups.extend(Pid::from_raw(i32::from_ne_bytes([a, b, c, d]))),
            (ENDED, &[a, b, c, d]) => {
                groups.retain(|group| group.as_raw_nonzero().get() != i32::from_ne_bytes([a, b, c, d]));
            }
            (DIRECTORY, [path @ .., 0]) => directories.push(PathBuf::from(OsStr::from_bytes(path))),
            _ => {}
        }
    }
    (groups, directories)
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_testkit::wait_until;
    use std::process::Stdio;

    #[test]
    fn nothing_is_left_when_it_is_dropped() {
        let guard = Guard::new().unwrap();
        let directory = guard.directory(&std::env::temp_dir()).unwrap();
        fs::write(directory.join("file"), "content").unwrap();
        let mut child = guard.start(Command::new("sleep").arg("1000")).unwrap();
        // The parent is this process, which must wait for the child before the child is gone.
        let ended = thread::spawn(move || child.wait().unwrap());
        drop(guard);
        assert!(!ended.join().unwrap().success());
        assert!(!directory.exists());
    }

    #[test]
    fn a_group_that_has_ended_is_not_remembered() {
        let told =
            [&[GROUP][..], &7i32.to_ne_bytes(), &[GROUP], &9i32.to_ne_bytes(), &[ENDED], &7i32.to_ne_bytes()];
        assert_eq!(understood(&told.concat()).0, [Pid::from_raw(9).unwrap()]);

        let guard = Guard::new().unwrap();
        let mut sleeps = guard.start(Command::new("sleep").arg("1000")).unwrap();
        let output = guard.output(Command::new("echo").arg("said").stdout(Stdio::piped())).unwrap();
        assert_eq!(output.stdout, b"said\n");
        let ended = thread::spawn(move || sleeps.wait().unwrap());
        drop(guard);
        assert!(!ended.join().unwrap().success());
    }

    #[test]
    fn what_a_piece_of_the_work_has_started_ends_with_the_workload() {
        let (reads, writes) = std::io::pipe().unwrap();
        let workload = processes::fork(|| {
            let guard = Guard::new().unwrap();
            let piece = processes::fork(|| {
                let work = || {
                    let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
                    writeln!(&writes, "{}", getpid()).unwrap();
                    child.wait().unwrap();
                };
                guard.group(work).unwrap();
            });
            waitpid(Some(piece.unwrap()), WaitOptions::empty()).unwrap();
        });
        drop(writes);
        let mut said = String::new();
        io::BufRead::read_line(&mut io::BufReader::new(reads), &mut said).unwrap();
        let group = Pid::from_raw(said.trim().parse().unwrap()).unwrap();
        assert!(test_kill_process_group(group).is_ok());
        let workload = workload.unwrap();
        rustix::process::kill_process(workload, Signal::KILL).unwrap();
        waitpid(Some(workload), WaitOptions::empty()).unwrap();
        wait_until("the piece's group is gone", || test_kill_process_group(group).is_err());
    }

    #[test]
    fn nothing_is_left_when_the_workload_is_killed() {
        let (reads, writes) = std::io::pipe().unwrap();
        let workload = processes::fork(|| {
            let guard = Guard::new().unwrap();
            let directory = guard.directory(&std::env::temp_dir()).unwrap();
            let mut child = guard.start(Command::new("sleep").arg("1000")).unwrap();
            writeln!(&writes, "{} {}", child.id(), directory.display()).unwrap();
            child.wait().unwrap();
        });
        drop(writes);
        let mut said = String::new();
        io::BufRead::read_line(&mut io::BufReader::new(reads), &mut said).unwrap();
        let (child, directory) = said.trim().split_once(' ').unwrap();
        assert!(Path::new(directory).is_dir());
        let workload = workload.unwrap();
        rustix::process::kill_process(workload, Signal::KILL).unwrap();
        waitpid(Some(workload), WaitOptions::empty()).unwrap();
        let group = Pid::from_raw(child.parse().unwrap()).unwrap();
        wait_until("the child and its directory are gone", || {
            !Path::new(directory).exists() && test_kill_process_group(group).is_err()
        });
    }
}
