//! Deferred commands as processes of the supervisor: started with the circumstances in which the
//! build would have started them, outside the filter.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, test_kill_process_group, umask,
};

use crate::disk::{Backup, coarse_now};
use crate::filter::Filter;
use crate::jobs::Timestamp;
use crate::launch::leave_to_answer;
use crate::listener::{Answer, Listener, receive_descriptor, show_calls};
use crate::output::{JobText, PrintedText, Targets};
use crate::process::Process;
use crate::recipe::Invocation;

/// Number of resource limits of Linux.
const LIMITS: u32 = 16;

/// Limits of the supervisor, which never changes them.
static OWN_LIMITS: LazyLock<Vec<(u32, libc::rlimit)>> = LazyLock::new(|| limits(Process(0)));

/// Whether a command shows its uses of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileUses {
    Shown,
    Hidden,
}

/// A command that has not started, with everything it inherits.
#[derive(Debug)]
pub(crate) struct Deferred {
    /// Program, arguments, environment and directory.
    pub(crate) invocation: Invocation,
    umask: u32,
    limits: Vec<(u32, libc::rlimit)>,
    targets: Targets,
}

impl Deferred {
    /// The command of a process that is about to execute it.
    pub(crate) fn new(invocation: Invocation, process: Process, umask: u32, targets: Targets) -> Self {
        let differs = |(resource, limit): &(u32, libc::rlimit)| {
            !OWN_LIMITS.iter().any(|(known, own)| {
                known == resource && own.rlim_cur == limit.rlim_cur && own.rlim_max == limit.rlim_max
            })
        };
        let limits = limits(process).into_iter().filter(differs).collect();
        Self { invocation, umask, limits, targets }
    }

    /// Starts the command.
    ///
    /// # Errors
    /// It cannot be started, or an output of before cannot be kept.
    #[allow(unsafe_code)]
    pub(crate) fn start(self, outputs: &[PathBuf], folder: &Path, uses: FileUses) -> io::Result<Running> {
        let backups = outputs.iter().map(|path| Backup::new(path, folder)).collect::<io::Result<_>>()?;
        let text = JobText::new(self.targets)?;
        let (output, error) = text.descriptors()?;
        let [name, arguments @ ..] = &self.invocation.arguments[..] else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut command = Command::new(&self.invocation.program);
        command.arg0(name).args(arguments).env_clear().current_dir(&self.invocation.directory);
        command.envs(self.invocation.environment.pairs());
        command.stdin(Stdio::null()).stdout(output).stderr(error).process_group(0);
        let limits = self.limits;
        // Without this step the command starts without a copy of the supervisor's memory.
        if !limits.is_empty() {
            let set_limits = move || {
                for (resource, limit) in &limits {
                    // A limit above the hard limit of the supervisor stays as it is there.
                    // SAFETY: the limit is readable.
                    unsafe { libc::setrlimit(*resource, limit) };
                }
                Ok(())
            };
            // SAFETY: between fork and exec the closure makes system calls only; it allocates
            // nothing.
            unsafe { command.pre_exec(set_limits) };
        }
        let socket = match uses {
            FileUses::Hidden => None,
            FileUses::Shown => Some(show_calls(&mut command, Filter::for_job())?),
        };
        let start_time = coarse_now();
        let own_umask = umask(Mode::from_raw_mode(self.umask));
        let spawned = command.spawn();
        umask(own_umask);
        let child = spawned?;
        // It was sent before the command could start.
        let received = socket.map(receive_descriptor).transpose()?;
        let listener = received.and_then(Result::ok).map(Listener::new);
        let pid = Pid::from_child(&child);
        let descriptor = pidfd_open(pid, PidfdFlags::empty())?;
        Ok(Running { child, pid, descriptor, listener, text, backups, start_time })
    }
}

#[allow(unsafe_code)]
fn limits(process: Process) -> Vec<(u32, libc::rlimit)> {
    let read = |resource| {
        let mut limit = MaybeUninit::<libc::rlimit>::uninit();
        // SAFETY: the new limit is absent, and the old one is written to live memory.
        let result = unsafe { libc::prlimit(process.0, resource, std::ptr::null(), limit.as_mut_ptr()) };
        // SAFETY: the call succeeded and has written the limit.
        (result == 0).then(|| (resource, unsafe { limit.assume_init() }))
    };
    (0..LIMITS).filter_map(read).collect()
}

/// A command that runs.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    pid: Pid,
    descriptor: OwnedFd,
    /// Receives its uses of files if they are observed.
    listener: Option<Listener>,
    text: JobText,
    backups: Vec<Backup>,
    start_time: Timestamp,
}

/// A command that has ended, until it is settled.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Exit status.
    pub(crate) status: ExitStatus,
    /// Printed text.
    pub(crate) text: PrintedText,
    /// Coarse time of its start: what it changed has a later time of change.
    pub(crate) start_time: Timestamp,
    backups: Vec<Backup>,
}

impl Running {
    /// Descriptor that becomes readable when the command has ended.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Receiver of its uses of files.
    pub(crate) fn listener(&self) -> Option<&Listener> {
        self.listener.as_ref()
    }

    /// Takes the status of the ended command.
    pub(crate) fn wait(mut self) -> io::Result<Ended> {
        let status = self.child.wait()?;
        if let Some(listener) = self.listener.take() {
            // Of a program that the command left running.
            leave_to_answer(listener)?;
        }
        Ok(Ended { status, text: self.text.read()?, start_time: self.start_time, backups: self.backups })
    }

    /// Sends a signal to the command and everything it started in its group.
    pub(crate) fn signal(&self, signal: Signal) {
        // A group that is gone needs no signal.
        let _ = kill_process_group(self.pid, signal);
    }

    /// Waits a moment for the end of the command, and lets its calls go on meanwhile.
    fn wait_briefly(&self) -> io::Result<Wait> {
        let deadline = Instant::now() + UNDO_PAUSE;
        loop {
            // Without a listener the end is watched twice.
            let listener = self.listener.as_ref().map_or(self.descriptor.as_fd(), AsFd::as_fd);
            let rest = deadline.saturating_duration_since(Instant::now());
            let rest = Timespec::try_from(rest).map_err(io::Error::other)?;
            let mut polled = [
                PollFd::new(&self.descriptor, PollFlags::IN),
                PollFd::from_borrowed_fd(listener, PollFlags::IN),
            ];
            if poll(&mut polled, Some(&rest))? == 0 {
                return Ok(Wait::TimedOut);
            }
            if !polled[0].revents().is_empty() {
                return Ok(Wait::Ended);
            }
            match self.listener.as_ref().and_then(|listener| Some((listener, listener.receive()?))) {
                Some((listener, call)) => listener.answer(&call, Answer::Continue),
                None => thread::sleep(Duration::from_micros(200)),
            }
        }
    }

    /// Ends the command and puts its outputs back. An archiver would leave its temporary file, and
    /// takes only moments; a compiler removes its own.
    pub(crate) fn undo(self) -> io::Result<()> {
        for signal in [None, Some(Signal::TERM), Some(Signal::KILL)] {
            if let Some(signal) = signal {
                self.signal(signal);
            }
            if self.wait_briefly()? == Wait::Ended {
                break;
            }
        }
        let group = self.pid;
        let ended = self.wait()?;
        // What the command started may still write.
        while kill_process_group(group, Signal::KILL).is_ok() && test_kill_process_group(group).is_ok() {
            thread::sleep(Duration::from_micros(200));
        }
        ended.undo()
    }
}

/// Result of a short wait for the end of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    Ended,
    TimedOut,
}

/// Time that an undone command gets to end by itself, and then after a signal.
const UNDO_PAUSE: Duration = Duration::from_millis(200);

impl Ended {
    /// Puts the outputs of the command back.
    pub(crate) fn undo(&self) -> io::Result<()> {
        self.backups.iter().rev().try_for_each(Backup::restore)
    }
}
