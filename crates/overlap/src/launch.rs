//! The start of the build: a process of this program puts the filter on itself, hands its receiving
//! end to the supervisor, and executes the command.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::io::{FdFlags, fcntl_setfd};

use crate::OverlapError;
use crate::filter::Filter;
use crate::listener::{Answer, Listener, receive_descriptor, send_descriptor};
use crate::output::Output;
use crate::process::Process;
use crate::supervisor::Build;
use crate::tracee::Tracee;

/// First argument of the process that puts the filter on itself.
pub(crate) const LAUNCH: &str = "--launch-in-filter";

/// First argument of the process that answers what outlives the build.
pub(crate) const ANSWER: &str = "--answer-calls";

/// Starts the command with the filter on it. The command begins at the first answered call.
///
/// # Errors
/// The kernel or the container does not allow the filter or ptrace.
pub(crate) fn start(command: &[OsString]) -> Result<Build, OverlapError> {
    let mut output = Output::new()?;
    let (stdout, stderr) = output.take_writers()?;
    let (mut own, other) = UnixStream::pair()?;
    fcntl_setfd(&other, FdFlags::empty()).map_err(io::Error::from)?;
    let mut root = Command::new(std::env::current_exe()?)
        .arg(LAUNCH)
        .arg(other.as_raw_fd().to_string())
        .args(command)
        .stdout(stdout)
        .stderr(stderr)
        .spawn()?;
    drop(other);
    let started = receive(&own).and_then(|listener| {
        check_ptrace(&root)?;
        own.write_all(&[0])?;
        Ok(listener)
    });
    match started {
        Ok(listener) => Ok(Build { root, listener: Listener::new(listener), output }),
        Err(error) => {
            // It still waits for the answer, and has changed nothing.
            let _ = root.kill();
            let _ = root.wait();
            Err(error)
        }
    }
}

fn check_ptrace(root: &Child) -> Result<(), OverlapError> {
    let seize = || Tracee::seize(Process(root.id() as i32))?.wait_for_stop();
    seize().map_err(OverlapError::Ptrace)
}

fn receive(socket: &UnixStream) -> Result<OwnedFd, OverlapError> {
    receive_descriptor(socket)?.map_err(|note| match i32::from_ne_bytes(note) {
        // The kernel allows one supervisor.
        libc::EBUSY => OverlapError::Nested,
        code => OverlapError::Filter(io::Error::from_raw_os_error(code)),
    })
}

/// The launching process: never returns but with the reason why the command cannot be executed.
#[allow(unsafe_code)]
pub(crate) fn launch(socket: RawFd, command: &[OsString]) -> io::Error {
    // SAFETY: the supervisor left this descriptor open for this process alone.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    match execute(socket, command) {
        Ok(never) => match never {},
        Err(error) => error,
    }
}

enum Never {}

fn execute(socket: OwnedFd, command: &[OsString]) -> io::Result<Never> {
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    let [program, arguments @ ..] = command else { return Err(io::ErrorKind::InvalidInput.into()) };
    match Filter::for_build().install() {
        Ok(listener) => send_descriptor(&socket, &listener)?,
        Err(error) => {
            let code = error.raw_os_error().unwrap_or(libc::EINVAL).to_ne_bytes();
            rustix::io::write(&socket, &code)?;
        }
    }
    // Without an answer the supervisor has given up.
    UnixStream::from(socket).read_exact(&mut [0])?;
    let error = Command::new(program).args(arguments).exec();
    Err(io::Error::new(error.kind(), format!("cannot run {}: {error}", program.display())))
}

/// Leaves a process behind that answers the calls of programs that the build left running, such as
/// a compile server. Without programs under the filter there is no such process.
///
/// # Errors
/// It cannot be started. The programs would then fail at their next call.
pub(crate) fn leave_to_answer(listener: Listener) -> io::Result<()> {
    if !listener.is_in_use() {
        return Ok(());
    }
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(ANSWER).stdin(OwnedFd::from(listener)).stdout(Stdio::null()).stderr(Stdio::null());
    // Out of reach of the terminal's signals.
    command.process_group(0).spawn()?;
    Ok(())
}

/// Lets every call of the remaining programs go on, until there are none.
pub(crate) fn answer_rest() -> io::Result<()> {
    let listener = Listener::new(io::stdin().as_fd().try_clone_to_owned()?);
    while listener.wait()? {
        if let Some(call) = listener.receive() {
            listener.answer(&call, Answer::Continue);
        }
    }
    Ok(())
}
