//! Process that cleans up when the workload has ended for any reason.
//!
//! The clean-up process waits for the end of a pipe that only the workload can write to. A normal
//! exit, Ctrl-C and SIGKILL all look alike to the clean-up process. This crate has no other
//! clean-up and no signal handler. The clean-up process runs in its own session, out of reach of
//! the terminal's signals. The worker processes that need no clean-up are in
//! [`processes`](crate::processes).

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

/// Message to the clean-up process: this byte, then a process group's number in four bytes.
const ADD_GROUP: u8 = b'g';
/// Message to the clean-up process: this byte, then the number of a group that has ended.
const REMOVE_GROUP: u8 = b'e';
/// Message to the clean-up process: this byte, then a directory's path and a zero byte.
const ADD_DIRECTORY: u8 = b'd';

/// Time limit of the wait for killed processes. They disappear at once unless a device blocks them.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// Handle of the clean-up process. The clean-up process cleans up when this handle is dropped, or
/// when this process is gone.
#[derive(Debug)]
pub(crate) struct CleanupProcess {
    /// The clean-up process starts its clean-up at the end of this pipe.
    pipe: Option<File>,
    process: Pid,
}

impl CleanupProcess {
    /// Starts the clean-up process. The call comes before any server or directory is made.
    pub(crate) fn new() -> Result<Self, WorkloadError> {
        let spawn_error =
            |source: io::Error| WorkloadError::SingleProcess { what: "the process that clears up", source };
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| spawn_error(error.into()))?;
        let mut ends = Some((reader, writer));
        let body = || {
            if let Some((reader, writer)) = ends.take() {
                drop(writer);
                clean_up_after_workload(File::from(reader));
            }
        };
        let process = processes::fork_detached(body).map_err(spawn_error)?;
        let pipe = ends.map(|(_, writer)| File::from(writer));
        Ok(Self { pipe, process })
    }

    /// Makes a directory for this run below `parent`.
    pub(crate) fn make_directory(&self, parent: &Path) -> Result<PathBuf, WorkloadError> {
        let path = parent.join(format!("morecores-work-{}-{:x}", getpid(), crate::clock::monotonic().0));
        // The clean-up process is told before the directory exists, so that at no moment the
        // directory could remain.
        self.send(ADD_DIRECTORY, &[path.as_os_str().as_bytes(), b"\0"].concat());
        fs::create_dir(&path).map_err(|source| WorkloadError::File {
            operation: "make the directory",
            path: path.clone(),
            source,
            option: TMPDIR,
        })?;
        Ok(path)
    }

    /// Starts a program in its own process group. The clean-up process ends the group with this
    /// run.
    pub(crate) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        if let Some(pipe) = &self.pipe {
            let pipe = pipe.as_fd().try_clone_to_owned()?;
            // SAFETY: `report_group` makes two system calls and touches nothing else of this
            // process's memory.
            #[allow(unsafe_code)]
            unsafe {
                command.process_group(0).pre_exec(move || report_group(&pipe));
            }
        }
        command.spawn()
    }

    /// Runs a program to its end in its own process group and returns its output. The clean-up
    /// process then forgets the group, since a much later group may have an equal number.
    pub(crate) fn output(&self, command: &mut Command) -> io::Result<Output> {
        let child = self.spawn(command)?;
        let group = child.id();
        let output = child.wait_with_output();
        self.send(REMOVE_GROUP, &group.to_ne_bytes());
        output
    }

    /// Does a piece of the work as a process group, in a separate process. The clean-up process
    /// ends everything that the piece starts with this run.
    pub(crate) fn run_in_group<T>(&self, work: impl FnOnce() -> T) -> Result<T, WorkloadError> {
        let spawn_error = |source| WorkloadError::Process { number: 1, wanted: 1, source };
        setpgid(None, None).map_err(|error| spawn_error(error.into()))?;
        if let Some(pipe) = &self.pipe {
            report_group(pipe).map_err(spawn_error)?;
        }
        let result = work();
        self.send(REMOVE_GROUP, &getpid().as_raw_nonzero().get().to_ne_bytes());
        Ok(result)
    }

    fn send(&self, kind: u8, content: &[u8]) {
        if let Some(mut pipe) = self.pipe.as_ref() {
            // The clean-up process reads as long as this process lives.
            let _ = pipe.write_all(&[&[kind], content].concat());
        }
    }
}

impl Drop for CleanupProcess {
    fn drop(&mut self) {
        self.pipe = None;
        let _ = waitpid(Some(self.process), WaitOptions::empty());
    }
}

/// Reports the calling process's group to the clean-up process. The report comes before the group's
/// program begins, so that no group is missed.
fn report_group(pipe: impl AsFd) -> io::Result<()> {
    let [a, b, c, d] = getpid().as_raw_nonzero().get().to_ne_bytes();
    rustix::io::write(pipe, &[ADD_GROUP, a, b, c, d])?;
    Ok(())
}

/// Main function of the clean-up process.
fn clean_up_after_workload(mut reader: File) {
    let _ = setsid();
    // A reader of the workload's output must not wait for the clean-up process.
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
    let mut messages = Vec::new();
    // The read ends when the last holder of the other end is gone.
    let _ = reader.read_to_end(&mut messages);
    let (groups, directories) = parse_messages(&messages);
    for group in &groups {
        let _ = kill_process_group(*group, Signal::KILL);
    }
    let deadline = Instant::now() + KILL_TIMEOUT;
    for group in groups {
        while test_kill_process_group(group).is_ok() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(2));
        }
    }
    for directory in directories {
        let _ = fs::remove_dir_all(directory);
    }
}

/// Process groups and directories, parsed from the messages to the clean-up process.
fn parse_messages(mut messages: &[u8]) -> (Vec<Pid>, Vec<PathBuf>) {
    let (mut groups, mut directories) = (Vec::new(), Vec::new());
    while let Some((&kind, rest)) = messages.split_first() {
        let length = match kind {
            ADD_GROUP | REMOVE_GROUP => 4,
            _ => rest.iter().position(|byte| *byte == 0).map_or(rest.len(), |end| end + 1),
        };
        let (content, rest) = rest.split_at(length.min(rest.len()));
        messages = rest;
        match (kind, content) {
            (ADD_GROUP, &[a, b, c, d]) => groups.extend(Pid::from_raw(i32::from_ne_bytes([a, b, c, d]))),
            (REMOVE_GROUP, &[a, b, c, d]) => {
                groups.retain(|group| group.as_raw_nonzero().get() != i32::from_ne_bytes([a, b, c, d]));
            }
            (ADD_DIRECTORY, [path @ .., 0]) => directories.push(PathBuf::from(OsStr::from_bytes(path))),
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
        let cleanup = CleanupProcess::new().unwrap();
        let directory = cleanup.make_directory(&std::env::temp_dir()).unwrap();
        fs::write(directory.join("file"), "content").unwrap();
        let mut child = cleanup.spawn(Command::new("sleep").arg("1000")).unwrap();
        // The parent is this process, which must wait for the child before the child is gone.
        let ended = thread::spawn(move || child.wait().unwrap());
        drop(cleanup);
        assert!(!ended.join().unwrap().success());
        assert!(!directory.exists());
    }

    #[test]
    fn an_ended_group_is_forgotten() {
        let messages = [
            &[ADD_GROUP][..],
            &7i32.to_ne_bytes(),
            &[ADD_GROUP],
            &9i32.to_ne_bytes(),
            &[REMOVE_GROUP],
            &7i32.to_ne_bytes(),
        ];
        assert_eq!(parse_messages(&messages.concat()).0, [Pid::from_raw(9).unwrap()]);

        let cleanup = CleanupProcess::new().unwrap();
        let mut sleeps = cleanup.spawn(Command::new("sleep").arg("1000")).unwrap();
        let output = cleanup.output(Command::new("echo").arg("said").stdout(Stdio::piped())).unwrap();
        assert_eq!(output.stdout, b"said\n");
        let ended = thread::spawn(move || sleeps.wait().unwrap());
        drop(cleanup);
        assert!(!ended.join().unwrap().success());
    }

    #[test]
    fn processes_started_by_a_part_of_the_work_end_with_the_workload() {
        let (reader, writer) = std::io::pipe().unwrap();
        let workload = processes::fork(|| {
            let cleanup = CleanupProcess::new().unwrap();
            let piece = processes::fork(|| {
                let work = || {
                    let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
                    writeln!(&writer, "{}", getpid()).unwrap();
                    child.wait().unwrap();
                };
                cleanup.run_in_group(work).unwrap();
            });
            waitpid(Some(piece.unwrap()), WaitOptions::empty()).unwrap();
        });
        drop(writer);
        let mut line = String::new();
        io::BufRead::read_line(&mut io::BufReader::new(reader), &mut line).unwrap();
        let group = Pid::from_raw(line.trim().parse().unwrap()).unwrap();
        assert!(test_kill_process_group(group).is_ok());
        let workload = workload.unwrap();
        rustix::process::kill_process(workload, Signal::KILL).unwrap();
        waitpid(Some(workload), WaitOptions::empty()).unwrap();
        wait_until("the piece's group is gone", || test_kill_process_group(group).is_err());
    }

    #[test]
    fn nothing_is_left_when_the_workload_is_killed() {
        let (reader, writer) = std::io::pipe().unwrap();
        let workload = processes::fork(|| {
            let cleanup = CleanupProcess::new().unwrap();
            let directory = cleanup.make_directory(&std::env::temp_dir()).unwrap();
            let mut child = cleanup.spawn(Command::new("sleep").arg("1000")).unwrap();
            writeln!(&writer, "{} {}", child.id(), directory.display()).unwrap();
            child.wait().unwrap();
        });
        drop(writer);
        let mut line = String::new();
        io::BufRead::read_line(&mut io::BufReader::new(reader), &mut line).unwrap();
        let (child, directory) = line.trim().split_once(' ').unwrap();
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
