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

use super::content::{Content, FILE_NAME};
use super::embedded;
use super::program::{ServerProgram, Settings, backlog};
use super::response_check::{Progress, ResponseCheck};
use super::stall::Stall;
use crate::cleanup::CleanupProcess;
use crate::outcome::TMPDIR;
use crate::{WorkloadError, processes, shortage};

/// Time limit from the start of a server to its first answer, including thousands of processes on a
/// busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Time limit for a program to end after it is asked: ten times Apache's time for its processes.
const TERMINATE_TIMEOUT: Duration = Duration::from_secs(2);

/// Intervals between two checks for the server, at first and at most.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(1);
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Number of attempts to find a free port, if another program takes the port before the server
/// does.
const MAX_PORT_TRIES: usize = 3;

/// Kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ServerKind {
    /// apache-prefork if Apache is installed, else embedded
    Auto,
    /// Apache httpd with N processes, each with one connection at a time
    ApachePrefork,
    /// Apache httpd with N processes, and a thread for each connection
    ApacheEvent,
    /// nginx with N processes, each with many connections
    Nginx,
    /// Server in this program with N threads, each with many connections
    Embedded,
    /// No new server: a running one on --port serves the same file, for example `web --clients 0`
    None,
}

impl ServerKind {
    /// Actual kind of server on this machine.
    pub(super) fn resolve(self) -> Self {
        match self {
            Self::Auto if ServerProgram::ApachePrefork.is_installed() => Self::ApachePrefork,
            Self::Auto => Self::Embedded,
            kind => kind,
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

    const fn program(self) -> Option<ServerProgram> {
        match self {
            Self::ApachePrefork => Some(ServerProgram::ApachePrefork),
            Self::ApacheEvent => Some(ServerProgram::ApacheEvent),
            Self::Nginx => Some(ServerProgram::Nginx),
            Self::Auto | Self::Embedded | Self::None => None,
        }
    }
}

/// Settings of a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServerPlan<'a> {
    /// Kind of server, not `Auto`.
    pub(super) kind: ServerKind,
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
    kind: ServerKind,
    port: u16,
    process: ServerProcess,
}

#[derive(Debug)]
enum ServerProcess {
    /// A program in its own process group, with the process that cleans up after it.
    Program { child: Child, log: PathBuf, _cleanup: CleanupProcess },
    /// A copy of this process, and the pipe with its error message.
    Fork { pid: Pid, ended: bool, pipe: File },
    /// A server that another process has started.
    External,
}

impl Server {
    /// Starts the server and makes one request.
    pub(super) fn start(plan: &ServerPlan) -> Result<Self, WorkloadError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let listener = open_listener(plan.port, plan.connections)?;
            let port = listener.local_addr().map_err(|error| port_error(0, &error))?.port();
            let mut server = match plan.kind.program() {
                Some(program) => {
                    // The program takes the port now.
                    drop(listener);
                    Self { kind: plan.kind, port, process: start_program(program, plan, port)? }
                }
                None => Self { kind: plan.kind, port, process: fork_embedded(listener, plan)? },
            };
            match server.wait_until_ready(plan.content) {
                Ok(()) => return Ok(server),
                // Another program took the port first.
                Err(WorkloadError::ProgramFailed { reason, .. })
                    if plan.port.is_none()
                        && tries < MAX_PORT_TRIES
                        && reason.contains("Address already in use") => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Connects to an existing server.
    pub(super) fn connect_external(port: u16, content: &Content) -> Result<Self, WorkloadError> {
        let mut server = Self { kind: ServerKind::None, port, process: ServerProcess::External };
        server.wait_until_ready(content)?;
        Ok(server)
    }

    /// Port of the server.
    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// Reason of the end, if the server has ended.
    pub(super) fn exit_error(&mut self) -> Option<WorkloadError> {
        match &mut self.process {
            ServerProcess::Program { child, log, .. } => {
                let status = child.try_wait().ok().flatten()?;
                let last = last_message(log);
                Some(self.server_error(format!("{status}: {last}")))
            }
            ServerProcess::Fork { pid, ended, pipe } => {
                waitpid(Some(*pid), WaitOptions::NOHANG).ok().flatten()?;
                *ended = true;
                let mut message = String::new();
                let _ = pipe.read_to_string(&mut message);
                if message.is_empty() {
                    message.push_str("the embedded web server was killed");
                }
                Some(WorkloadError::ChildFailed { message, is_wrong_result: false })
            }
            ServerProcess::External => None,
        }
    }

    /// Repeats a request until the server answers.
    fn wait_until_ready(&mut self, content: &Content) -> Result<(), WorkloadError> {
        let deadline = Instant::now() + START_TIMEOUT;
        let mut poll_interval = MIN_POLL_INTERVAL;
        loop {
            let result = self.request_once(content);
            // If the server has ended, another server has answered.
            if let Some(ended) = self.exit_error() {
                return Err(ended);
            }
            match result {
                Ok(()) => return Ok(()),
                Err(RequestError::Final(error)) => return Err(error),
                Err(RequestError::NotReady(error))
                    if Instant::now() > deadline || matches!(self.process, ServerProcess::External) =>
                {
                    let log_message = match &self.process {
                        ServerProcess::Program { log, .. } => format!("; {}", last_message(log)),
                        ServerProcess::Fork { .. } | ServerProcess::External => String::new(),
                    };
                    // A read that timed out has an error text that looks like a limit of processes.
                    let error = match error.kind() {
                        io::ErrorKind::WouldBlock => "it takes too long".to_owned(),
                        _ => error.to_string(),
                    };
                    return Err(
                        self.server_error(format!("no answer on port {}: {error}{log_message}", self.port))
                    );
                }
                Err(RequestError::NotReady(_)) => {}
            }
            thread::sleep(poll_interval);
            poll_interval = (2 * poll_interval).min(MAX_POLL_INTERVAL);
        }
    }

    /// Makes one request and checks the answer.
    fn request_once(&self, content: &Content) -> Result<(), RequestError> {
        let mut stream =
            TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).map_err(RequestError::NotReady)?;
        stream.set_read_timeout(Some(START_TIMEOUT)).map_err(RequestError::NotReady)?;
        let request = format!("GET /{FILE_NAME} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).map_err(RequestError::NotReady)?;
        let mut response = ResponseCheck::default();
        response.reset(true);
        let mut bytes = vec![0; 65_536];
        loop {
            let got = stream.read(&mut bytes).map_err(RequestError::NotReady)?;
            if got == 0 {
                return Err(RequestError::NotReady(io::ErrorKind::UnexpectedEof.into()));
            }
            match response.check_bytes(&bytes[..got], &content.expected()) {
                Ok(Progress::Partial) => {}
                Ok(Progress::Complete { .. }) => return Ok(()),
                // A server with other content is a reason not to begin, not a wrong result.
                Err(WorkloadError::WrongResult { what, expected, got }) => {
                    return Err(RequestError::Final(self.unexpected_response(&what, &expected, &got)));
                }
                Err(error) => return Err(RequestError::Final(error)),
            }
        }
    }

    fn unexpected_response(&self, what: &str, expected: &str, got: &str) -> WorkloadError {
        let advice = match (self.kind, got) {
            (ServerKind::None, _) => ": start it with the same --file and --seed",
            (_, "403" | "404") if geteuid().is_root() => {
                ": it does not serve as root, so set TMPDIR to a directory that everybody may enter"
            }
            _ => "",
        };
        self.server_error(format!("{what}: expected {expected}, got {got}{advice}"))
    }

    fn server_error(&self, reason: String) -> WorkloadError {
        WorkloadError::ProgramFailed { program: format!("the web server ({})", self.kind.name()), reason }
    }
}

/// Last message of a program, or an earlier message that reports a shortage.
fn last_message(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    if let Some(line) = shortage::find_line(text.lines()) {
        return line.to_owned();
    }
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it printed nothing").to_owned()
}

/// Reason for a missing or wrong answer.
enum RequestError {
    /// The answer may still come.
    NotReady(io::Error),
    Final(WorkloadError),
}

impl Drop for Server {
    fn drop(&mut self) {
        match &mut self.process {
            ServerProcess::Program { child, .. } => terminate(child),
            ServerProcess::Fork { pid, ended: false, .. } => {
                let _ = kill_process(*pid, Signal::KILL);
                let _ = waitpid(Some(*pid), WaitOptions::empty());
            }
            ServerProcess::Fork { ended: true, .. } | ServerProcess::External => {}
        }
    }
}

/// Ends a program. The program is asked first, so that it waits for its own child processes.
/// Otherwise those would remain as zombies until the process that adopts orphans collects them.
fn terminate(child: &mut Child) {
    let Some(group) = Pid::from_raw(child.id().cast_signed()) else {
        return;
    };
    let deadline = Instant::now() + TERMINATE_TIMEOUT;
    if let Ok(None) = child.try_wait() {
        let _ = kill_process(group, Signal::TERM);
    }
    while let Ok(None) = child.try_wait() {
        if Instant::now() > deadline {
            let _ = kill_process_group(group, Signal::KILL);
        }
        thread::sleep(MIN_POLL_INTERVAL);
    }
}

/// A listening socket on the given port or on a free one. A port in use gives a clear message.
fn open_listener(port: Option<u16>, connections: usize) -> Result<TcpListener, WorkloadError> {
    let port = port.unwrap_or(0);
    let open_socket = || -> rustix::io::Result<OwnedFd> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        // Connections of an earlier server may linger for a minute.
        sockopt::set_socket_reuseaddr(&socket, true)?;
        rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
        rustix::net::listen(&socket, backlog(connections).try_into().unwrap_or(i32::MAX))?;
        Ok(socket)
    };
    open_socket().map(TcpListener::from).map_err(|error| port_error(port, &error.into()))
}

fn port_error(port: u16, error: &io::Error) -> WorkloadError {
    WorkloadError::CannotRun(match port {
        0 => format!("no port on 127.0.0.1 can be had: {error}"),
        _ => format!(
            "port {port} on 127.0.0.1 cannot be had ({error}): give another --port, or none for a free one"
        ),
    })
}

/// Starts the embedded server.
fn fork_embedded(listener: TcpListener, plan: &ServerPlan) -> Result<ServerProcess, WorkloadError> {
    let spawn_error = |source: io::Error| WorkloadError::SingleProcess { what: "the web server", source };
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| spawn_error(error.into()))?;
    let pid = processes::fork(|| {
        let error = embedded::serve(listener.into(), plan.content, plan.workers, plan.stall);
        let _ = File::from(writer).write_all(error.to_string().as_bytes());
    });
    Ok(ServerProcess::Fork { pid: pid.map_err(spawn_error)?, ended: false, pipe: File::from(reader) })
}

/// Starts a program.
fn start_program(
    program: ServerProgram,
    plan: &ServerPlan,
    port: u16,
) -> Result<ServerProcess, WorkloadError> {
    // This check comes before anything is made.
    program.find()?;
    let cleanup = CleanupProcess::new()?;
    let directory = cleanup.make_directory(&std::env::temp_dir())?;
    let settings =
        Settings { directory: &directory, port, workers: plan.workers, connections: plan.connections };
    let file_error = |operation, name: &str| {
        let path = directory.join(name);
        move |source| WorkloadError::File { operation, path, source, option: TMPDIR }
    };
    let files = directory.join("files");
    fs::create_dir(&files).map_err(file_error("make the directory", "files"))?;
    plan.content.write_to(&files)?;
    // The user of the server passes through these directories and reads the file. The modes must
    // therefore not depend on the umask of this process.
    for (name, mode) in [("", 0o755), ("files", 0o755), ("files/file", 0o644)] {
        let path = directory.join(name);
        fs::set_permissions(path, Permissions::from_mode(mode))
            .map_err(file_error("give others access to", name))?;
    }
    let text = program.configuration(&settings)?;
    fs::write(directory.join("conf"), text).map_err(file_error("write to", "conf"))?;
    // Both programs report a failed start there, before they have opened their log.
    let log = directory.join("log");
    let log_file =
        File::options().create(true).append(true).open(&log).map_err(file_error("write to", "log"))?;
    let mut command = program.command(&directory)?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log_file).current_dir(&directory);
    command.arg0(program.command_name());
    let child = cleanup
        .spawn(&mut command)
        .map_err(|source| WorkloadError::SingleProcess { what: "the web server", source })?;
    Ok(ServerProcess::Program { child, log, _cleanup: cleanup })
}
