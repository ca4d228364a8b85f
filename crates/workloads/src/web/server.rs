//! Lifetime of the server: it answers correctly when [`Server::start`] returns, and it is gone when
//! it is dropped.
//!
//! The kinds of servers are in `embedded` and `program`.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, geteuid, kill_process, kill_process_group, waitpid};

use super::content::{Content, NAME};
use super::embedded;
use super::program::{Program, Setting, backlog};
use super::response::{Progress, Response};
use super::stall::Stall;
use crate::guard::Guard;
use crate::outcome::TMPDIR;
use crate::{WorkloadError, processes, shortage};

/// Time limit from the start of a server to its first answer, including thousands of processes on a
/// busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Time limit for a program to end after it is asked: ten times Apache's time for its processes.
const FAREWELL: Duration = Duration::from_secs(2);

/// Intervals between two checks for the server, at first and at most.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LAST_LOOK: Duration = Duration::from_millis(50);

/// Number of attempts to find a free port, if another program takes the port before the server
/// does.
const TRIES: usize = 3;

/// Kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// apache-prefork where Apache is installed, else embedded
    Auto,
    /// Apache httpd by N processes, each of which serves one connection at a time
    ApachePrefork,
    /// Apache httpd by N processes, with a thread for each connection
    ApacheEvent,
    /// nginx by N processes, each of which serves many connections
    Nginx,
    /// The server in this program, by N threads, each of which serves many connections
    Embedded,
    /// None is started: there is one on --port that serves the same file, as `web --clients 0` does
    None,
}

impl Kind {
    /// Actual kind of server on this machine.
    pub(super) fn chosen(self) -> Self {
        match self {
            Self::Auto if Program::ApachePrefork.is_installed() => Self::ApachePrefork,
            Self::Auto => Self::Embedded,
            chosen => chosen,
        }
    }

    /// Name on the command line.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::ApachePrefork => "apache-prefork",
            Self::ApacheEvent => "apache-event",
            Self::Nginx => "nginx",
            Self::Embedded => "embedded",
            Self::None => "none",
        }
    }

    const fn program(self) -> Option<Program> {
        match self {
            Self::ApachePrefork => Some(Program::ApachePrefork),
            Self::ApacheEvent => Some(Program::ApacheEvent),
            Self::Nginx => Some(Program::Nginx),
            Self::Auto | Self::Embedded | Self::None => None,
        }
    }
}

/// Settings of a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan<'a> {
    /// Kind of server, not `Auto`.
    pub(super) kind: Kind,
    pub(super) workers: usize,
    pub(super) connections: usize,
    /// Port on loopback; `None` selects a free one.
    pub(super) port: Option<u16>,
    pub(super) content: &'a Content,
    /// Stall of the embedded server.
    pub(super) stall: Option<Stall>,
}

/// A server that answers.
#[derive(Debug)]
pub(super) struct Server {
    kind: Kind,
    port: u16,
    life: Life,
}

#[derive(Debug)]
enum Life {
    /// A program in its own process group, with the guard that cleans up after it.
    Program { child: Child, log: PathBuf, _guard: Guard },
    /// A copy of this process, and the pipe with its error message.
    Copy { pid: Pid, ended: bool, says: File },
    /// A server that another process has started.
    Foreign,
}

impl Server {
    /// Starts the server and makes one request.
    pub(super) fn start(plan: &Plan) -> Result<Self, WorkloadError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let listener = listener(plan.port, plan.connections)?;
            let port = listener.local_addr().map_err(|error| unusable(0, &error))?.port();
            let mut server = match plan.kind.program() {
                Some(program) => {
                    // The program takes the port now.
                    drop(listener);
                    Self { kind: plan.kind, port, life: run(program, plan, port)? }
                }
                None => Self { kind: plan.kind, port, life: copy(listener, plan)? },
            };
            match server.wait_for(plan.content) {
                Ok(()) => return Ok(server),
                // Another program took the port first.
                Err(WorkloadError::Failed { reason, .. })
                    if plan.port.is_none() && tries < TRIES && reason.contains("Address already in use") => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Connects to an existing server.
    pub(super) fn foreign(port: u16, content: &Content) -> Result<Self, WorkloadError> {
        let mut server = Self { kind: Kind::None, port, life: Life::Foreign };
        server.wait_for(content)?;
        Ok(server)
    }

    /// Port of the server.
    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// Reason of the end, if the server has ended.
    pub(super) fn ended(&mut self) -> Option<WorkloadError> {
        match &mut self.life {
            Life::Program { child, log, .. } => {
                let status = child.try_wait().ok().flatten()?;
                let last = last_line(log);
                Some(self.failed(format!("{status}: {last}")))
            }
            Life::Copy { pid, ended, says } => {
                waitpid(Some(*pid), WaitOptions::NOHANG).ok().flatten()?;
                *ended = true;
                let mut message = String::new();
                let _ = says.read_to_string(&mut message);
                if message.is_empty() {
                    message.push_str("the embedded web server was killed");
                }
                Some(WorkloadError::Piece { message, wrong: false })
            }
            Life::Foreign => None,
        }
    }

    /// Repeats a request until the server answers.
    fn wait_for(&mut self, content: &Content) -> Result<(), WorkloadError> {
        let deadline = Instant::now() + PATIENCE;
        let mut pause = FIRST_LOOK;
        loop {
            let asked = self.ask(content);
            // If the server has ended, another server has answered.
            if let Some(ended) = self.ended() {
                return Err(ended);
            }
            match asked {
                Ok(()) => return Ok(()),
                Err(Asked::Wrongly(error)) => return Err(error),
                Err(Asked::NotYet(error))
                    if Instant::now() > deadline || matches!(self.life, Life::Foreign) =>
                {
                    let said = match &self.life {
                        Life::Program { log, .. } => format!("; {}", last_line(log)),
                        Life::Copy { .. } | Life::Foreign => String::new(),
                    };
                    // A read that timed out has an error text that looks like a limit of processes.
                    let error = match error.kind() {
                        io::ErrorKind::WouldBlock => "it takes too long".to_owned(),
                        _ => error.to_string(),
                    };
                    return Err(self.failed(format!("no answer on port {}: {error}{said}", self.port)));
                }
                Err(Asked::NotYet(_)) => {}
            }
            thread::sleep(pause);
            pause = (2 * pause).min(LAST_LOOK);
        }
    }

    /// Makes one request and checks the answer.
    fn ask(&self, content: &Content) -> Result<(), Asked> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).map_err(Asked::NotYet)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(Asked::NotYet)?;
        let request = format!("GET /{NAME} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).map_err(Asked::NotYet)?;
        let mut response = Response::default();
        response.begin(true);
        let mut bytes = vec![0; 65_536];
        loop {
            let got = stream.read(&mut bytes).map_err(Asked::NotYet)?;
            if got == 0 {
                return Err(Asked::NotYet(io::ErrorKind::UnexpectedEof.into()));
            }
            match response.take(&bytes[..got], &content.expected()) {
                Ok(Progress::Partial) => {}
                Ok(Progress::Whole { .. }) => return Ok(()),
                // A server with other content is a reason not to begin, not a wrong result.
                Err(WorkloadError::Wrong { what, expected, got }) => {
                    return Err(Asked::Wrongly(self.unexpected(&what, &expected, &got)));
                }
                Err(error) => return Err(Asked::Wrongly(error)),
            }
        }
    }

    fn unexpected(&self, what: &str, expected: &str, got: &str) -> WorkloadError {
        let advice = match (self.kind, got) {
            (Kind::None, _) => ": start it with the same --file and --seed",
            (_, "403" | "404") if geteuid().is_root() => {
                ": it does not serve as root, so set TMPDIR to a directory that everybody may enter"
            }
            _ => "",
        };
        self.failed(format!("{what}: expected {expected}, got {got}{advice}"))
    }

    fn failed(&self, reason: String) -> WorkloadError {
        WorkloadError::Failed { program: format!("the web server ({})", self.kind.name()), reason }
    }
}

/// Last message of a program, or an earlier message that reports a shortage.
fn last_line(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    if let Some(line) = shortage::line(text.lines()) {
        return line.to_owned();
    }
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").to_owned()
}

/// Reason for a missing or wrong answer.
enum Asked {
    /// The answer may still come.
    NotYet(io::Error),
    Wrongly(WorkloadError),
}

impl Drop for Server {
    fn drop(&mut self) {
        match &mut self.life {
            Life::Program { child, .. } => end(child),
            Life::Copy { pid, ended: false, .. } => {
                let _ = kill_process(*pid, Signal::KILL);
                let _ = waitpid(Some(*pid), WaitOptions::empty());
            }
            Life::Copy { ended: true, .. } | Life::Foreign => {}
        }
    }
}

/// Ends a program. The program is asked first, so that it waits for its own child processes.
/// Otherwise those would remain as zombies until the process that adopts orphans collects them.
fn end(child: &mut Child) {
    let Some(group) = Pid::from_raw(child.id().cast_signed()) else {
        return;
    };
    let deadline = Instant::now() + FAREWELL;
    if let Ok(None) = child.try_wait() {
        let _ = kill_process(group, Signal::TERM);
    }
    while let Ok(None) = child.try_wait() {
        if Instant::now() > deadline {
            let _ = kill_process_group(group, Signal::KILL);
        }
        thread::sleep(FIRST_LOOK);
    }
}

/// A listening socket on the given port or on a free one. A port in use gives a clear message.
fn listener(port: Option<u16>, connections: usize) -> Result<TcpListener, WorkloadError> {
    let port = port.unwrap_or(0);
    let opened = || -> rustix::io::Result<OwnedFd> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        // Connections of an earlier server may linger for a minute.
        sockopt::set_socket_reuseaddr(&socket, true)?;
        rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
        rustix::net::listen(&socket, backlog(connections).try_into().unwrap_or(i32::MAX))?;
        Ok(socket)
    };
    opened().map(TcpListener::from).map_err(|error| unusable(port, &error.into()))
}

fn unusable(port: u16, error: &io::Error) -> WorkloadError {
    WorkloadError::Unfit(match port {
        0 => format!("no port on 127.0.0.1 can be had: {error}"),
        _ => format!(
            "port {port} on 127.0.0.1 cannot be had ({error}): give another --port, or none for a free one"
        ),
    })
}

/// Starts the embedded server.
fn copy(listener: TcpListener, plan: &Plan) -> Result<Life, WorkloadError> {
    let refused = |source: io::Error| WorkloadError::Single { what: "the web server", source };
    let (reads, writes) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| refused(error.into()))?;
    let pid = processes::fork(|| {
        let error = embedded::serve(listener.into(), plan.content, plan.workers, plan.stall);
        let _ = File::from(writes).write_all(error.to_string().as_bytes());
    });
    Ok(Life::Copy { pid: pid.map_err(refused)?, ended: false, says: File::from(reads) })
}

/// Starts a program.
fn run(program: Program, plan: &Plan, port: u16) -> Result<Life, WorkloadError> {
    // This check comes before anything is made.
    program.find()?;
    let guard = Guard::new()?;
    let directory = guard.directory(&std::env::temp_dir())?;
    let setting =
        Setting { directory: &directory, port, workers: plan.workers, connections: plan.connections };
    let file = |doing, name: &str| {
        let path = directory.join(name);
        move |source| WorkloadError::File { doing, path, source, option: TMPDIR }
    };
    let files = directory.join("files");
    fs::create_dir(&files).map_err(file("make the directory", "files"))?;
    plan.content.write_to(&files)?;
    // The user of the server passes through these directories and reads the file. The modes must
    // therefore not depend on the umask of this process.
    for (name, mode) in [("", 0o755), ("files", 0o755), ("files/file", 0o644)] {
        let path = directory.join(name);
        fs::set_permissions(path, Permissions::from_mode(mode))
            .map_err(file("give others access to", name))?;
    }
    let text = program.configuration(&setting)?;
    fs::write(directory.join("conf"), text).map_err(file("write to", "conf"))?;
    // Both programs report a failed start there, before they have opened their log.
    let log = directory.join("log");
    let says = File::options().create(true).append(true).open(&log).map_err(file("write to", "log"))?;
    let mut command = program.command(&directory)?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(says).current_dir(&directory);
    command.arg0(program.command_name());
    let child = guard
        .start(&mut command)
        .map_err(|source| WorkloadError::Single { what: "the web server", source })?;
    Ok(Life::Program { child, log, _guard: guard })
}
