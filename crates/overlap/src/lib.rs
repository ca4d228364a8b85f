//! `morecores-overlap`: a serial build on all CPUs, without touching it.
//!
//! The build runs under a seccomp filter. A command whose outputs are known is deferred: its
//! process ends at once with success, and the command runs beside the build. A call of the build
//! that would notice the difference waits. After a failure the build goes back to the command that
//! failed.
//!
//! This crate measures nothing and explains nothing; it links no other crate of morecores.

mod calls;
mod disk;
mod dry_run;
mod effects;
mod estimate;
mod execution;
mod filter;
mod hazards;
mod history;
mod jobs;
mod launch;
mod listener;
mod output;
mod process;
mod promise;
mod recipe;
mod record;
mod rules;
mod summary;
mod supervisor;
mod timeline;
mod tracee;
mod watch;

use std::ffi::OsString;
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::net::UnixStream;
use std::process::ExitStatus;

use supervisor::{End, Supervisor};
use timeline::Timeline;

/// Reason for which a build could not be run.
#[derive(Debug, thiserror::Error)]
pub enum OverlapError {
    /// The filter was refused.
    #[error(
        "cannot watch the build: {0}; it needs Linux 5.5 or later, and a container that allows seccomp with user \
         notification (--security-opt seccomp=unconfined)"
    )]
    Filter(#[source] io::Error),
    /// Another supervisor has the calls.
    #[error(
        "another program already watches the calls of this one, such as a morecores overlap around it; run the build without it"
    )]
    Nested,
    /// ptrace was refused.
    #[error("cannot trace the build: {0}; in a container, allow ptrace (--cap-add SYS_PTRACE)")]
    Ptrace(#[source] io::Error),
    /// Another call failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Result of a build.
#[derive(Debug)]
pub struct Outcome {
    /// End of the command.
    pub end: BuildEnd,
    /// Lines about what was done.
    pub summary: String,
    /// The same in full, as JSON.
    pub record: String,
    /// The same as a timeline, in the trace event format of Chrome.
    pub timeline: String,
}

/// Choices for a build.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Commands that run at one time.
    pub schedule: Schedule,
    /// Whether hazards are looked for.
    pub hazards: HazardSearch,
}

/// Commands that run at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// At most this many beside the build.
    Parallel(NonZeroUsize),
    /// One, while the build waits. Times with more are estimated from it.
    Series,
}

impl Schedule {
    fn jobs(self) -> usize {
        match self {
            Self::Parallel(jobs) => jobs.get(),
            Self::Series => 1,
        }
    }
}

/// Search for missing dependencies: the serial build keeps an order, and `make -j` may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HazardSearch {
    /// The uses of files by the build and its commands are observed.
    Enabled,
    /// Nothing is observed.
    Disabled,
}

/// End of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildEnd {
    /// The command ended with this status.
    Status(ExitStatus),
    /// This signal ended the build.
    Signal(i32),
}

/// Runs a command with its compilations deferred.
///
/// # Errors
/// The build cannot be watched, or a deferred command cannot be started or put back.
pub fn supervise(command: &[OsString], options: Options) -> Result<Outcome, OverlapError> {
    watch::end_with_parent()?;
    let signals = signals()?;
    let build = launch::start(command)?;
    let (end, mut record, listener) = Supervisor::new(build, options, &signals)?.run(&signals)?;
    launch::leave_to_answer(listener)?;
    let end = match end {
        End::Status(status) => BuildEnd::Status(status),
        End::Signal(signal) => BuildEnd::Signal(signal),
    };
    record.command = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    Ok(Outcome {
        end,
        summary: summary::text(&record),
        timeline: serde_json::to_string(&Timeline::new(&record)).map_err(io::Error::from)?,
        record: serde_json::to_string_pretty(&record).map_err(io::Error::from)?,
    })
}

/// Receiving end of a pipe that gets the number of each signal that ends the build.
#[allow(unsafe_code)]
fn signals() -> io::Result<UnixStream> {
    let (receiver, sender) = UnixStream::pair()?;
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        let sender = sender.try_clone()?;
        // SAFETY: the action writes one byte, which is allowed in a signal handler.
        unsafe {
            signal_hook::low_level::register(signal, move || {
                // A full pipe already holds a signal.
                let _ = rustix::io::write(&sender, &[signal as u8]);
            })
        }?;
    }
    Ok(receiver)
}

/// Role of a process of this program.
#[derive(Debug)]
pub enum Role<'a> {
    /// The process that the user started, with the user's arguments.
    Front(&'a [OsString]),
    /// The supervisor, with the user's arguments.
    Supervisor(&'a [OsString]),
    /// The process that answers the calls of what outlives the build.
    Answerer,
    /// The process that puts the filter on itself. It has already failed to execute the command.
    Launcher(io::Error),
}

/// Finds the role of this process by its arguments. The first process of the build executes its
/// command here, and returns only with an error.
pub fn role(arguments: &[OsString]) -> Role<'_> {
    match arguments {
        [_, role, socket, command @ ..] if role == launch::LAUNCH => {
            let socket = socket.to_str().and_then(|socket| socket.parse().ok());
            let missing = || io::Error::from(io::ErrorKind::InvalidInput);
            Role::Launcher(socket.map_or_else(missing, |socket| launch::launch(socket, command)))
        }
        [_, role] if role == launch::ANSWER => Role::Answerer,
        [_, role, rest @ ..] if role == watch::SUPERVISE => Role::Supervisor(rest),
        [_, rest @ ..] => Role::Front(rest),
        [] => Role::Front(arguments),
    }
}

/// Lets every call of the programs that outlive a build go on.
///
/// # Errors
/// The calls cannot be received.
pub fn answer_rest() -> io::Result<()> {
    launch::answer_rest()
}

/// Starts the supervisor with the user's arguments, and waits until nothing of the build is left.
///
/// # Errors
/// The supervisor cannot be started.
pub fn watch(arguments: &[OsString]) -> io::Result<ExitStatus> {
    watch::watch(arguments)
}
