//! Servers that are separate programs: Debian's Apache and nginx, with a configuration for this run
//! alone.
//!
//! All files that they write are below the run's directory. They run in the foreground. They leave
//! no shared memory and no semaphores, because the locks that Apache needs are in anonymous memory.
//! The exception is the last resort, a SIGKILL by the clean-up process.

use std::env;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::geteuid;

use super::content::FILE_NAME;
use crate::WorkloadError;

/// Debian's directory of daemons, which is not on every user's PATH.
const SBIN: &str = "/usr/sbin";

/// Directory of the modules in Debian's packages of Apache.
const APACHE_MODULES: &str = "/usr/lib/apache2/modules";

/// Spare threads in each process of Apache's event MPM, besides the threads for the connections
/// (`ThreadsPerChild` of Debian's mpm_event.conf).
const SPARE_THREADS: usize = 25;

/// User and group without any files (Debian policy, section 9.2.2). Apache serves as this user when
/// root starts it, since Apache refuses to serve as root.
const NOBODY_ID: u32 = 65_534;

/// Server that is a program of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerProgram {
    ApachePrefork,
    ApacheEvent,
    Nginx,
}

/// Settings of a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings<'a> {
    /// Directory of this run. The file is in `files` below it.
    pub(super) directory: &'a Path,
    pub(super) port: u16,
    pub(super) workers: usize,
    pub(super) connections: usize,
}

impl ServerProgram {
    /// Name of the program as a command.
    pub(super) const fn command_name(self) -> &'static str {
        match self {
            Self::ApachePrefork | Self::ApacheEvent => "apache2",
            Self::Nginx => "nginx",
        }
    }

    /// Whether the program is installed.
    pub(super) fn is_installed(self) -> bool {
        self.find().is_ok()
    }

    /// Path of the program.
    pub(super) fn find(self) -> Result<PathBuf, WorkloadError> {
        let path = env::var_os("PATH").unwrap_or_default();
        let places = env::split_paths(&path).chain([PathBuf::from(SBIN)]);
        let found = places.map(|place| place.join(self.command_name())).find(|file| file.is_file());
        // The MPMs are modules of the Apache package.
        let module = match self {
            Self::ApachePrefork => Some("mod_mpm_prefork.so"),
            Self::ApacheEvent => Some("mod_mpm_event.so"),
            Self::Nginx => None,
        };
        let is_complete = module.is_none_or(|module| Path::new(APACHE_MODULES).join(module).is_file());
        found.filter(|_| is_complete).ok_or_else(|| WorkloadError::NotInstalled {
            program: self.command_name().to_owned(),
            package: match self {
                Self::ApachePrefork | Self::ApacheEvent => "apache2-bin",
                Self::Nginx => "nginx",
            },
        })
    }

    /// Command that runs the program in the foreground, with the configuration in the run's
    /// directory.
    pub(super) fn command(self, directory: &Path) -> Result<Command, WorkloadError> {
        let mut command = Command::new(self.find()?);
        match self {
            Self::ApachePrefork | Self::ApacheEvent => {
                command.args(["-D", "FOREGROUND", "-f"]).arg(directory.join("conf"));
            }
            Self::Nginx => {
                command.arg("-p").arg(directory).arg("-c").arg(directory.join("conf"));
                command.arg("-e").arg(directory.join("log"));
            }
        }
        Ok(command)
    }

    /// Configuration of the program. All other settings keep the program's defaults.
    pub(super) fn configuration(self, settings: &Settings) -> Result<String, WorkloadError> {
        let directory =
            settings.directory.to_str().filter(|path| !path.contains(['"', '\\', '$', '\n', '%']));
        let Some(directory) = directory else {
            return Err(WorkloadError::CannotRun(format!(
                "{} cannot stand in a configuration: set TMPDIR to a plainer path",
                settings.directory.display()
            )));
        };
        Ok(match self {
            Self::ApachePrefork | Self::ApacheEvent => self.apache_configuration(settings, directory),
            Self::Nginx => nginx_configuration(settings, directory),
        })
    }

    /// Configuration of Apache. It loads only the MPM and the module that access control requires.
    /// The directory has Debian's settings, without a search for `.htaccess` at every request.
    fn apache_configuration(self, settings: &Settings, directory: &str) -> String {
        let Settings { port, workers, connections, .. } = *settings;
        let (mpm, sizes) = match self {
            // The number of processes is constant; no spare processes are made or ended.
            Self::ApachePrefork => (
                "prefork",
                format!(
                    "ServerLimit {workers}\nStartServers {workers}\nMinSpareServers 1\nMaxSpareServers {}\n\
                     MaxRequestWorkers {workers}\n",
                    workers + 1
                ),
            ),
            // A process with all its threads busy accepts no connection, so its existing
            // connections would exclude the others. Every connection therefore has a thread, with
            // Debian's 25 spare threads per process.
            _ => {
                let threads = connections.div_ceil(workers) + SPARE_THREADS;
                let all = threads * workers;
                (
                    "event",
                    format!(
                        "ServerLimit {workers}\nStartServers {workers}\nThreadLimit {threads}\n\
                         ThreadsPerChild {threads}\nMinSpareThreads 1\nMaxSpareThreads {all}\nMaxRequestWorkers {all}\n"
                    ),
                )
            }
        };
        let mut text = format!(
            "LoadModule mpm_{mpm}_module {APACHE_MODULES}/mod_mpm_{mpm}.so\n\
             LoadModule authz_core_module {APACHE_MODULES}/mod_authz_core.so\n\
             ServerRoot \"{directory}\"\nDefaultRuntimeDir \"{directory}\"\nPidFile \"{directory}/pid\"\n\
             ErrorLog \"{directory}/log\"\nLogLevel error\nMutex pthread default\n\
             Listen 127.0.0.1:{port}\nListenBacklog {}\nServerName 127.0.0.1\n\
             DocumentRoot \"{directory}/files\"\n\
             <Directory \"/\">\nOptions FollowSymLinks\nAllowOverride None\n</Directory>\n\
             {sizes}MaxConnectionsPerChild 0\n\
             KeepAlive On\nMaxKeepAliveRequests 0\nKeepAliveTimeout {IDLE_SECONDS}\n",
            backlog(connections)
        );
        if geteuid().is_root() {
            let _ = write!(text, "User #{NOBODY_ID}\nGroup #{NOBODY_ID}\n");
        }
        text
    }
}

/// Seconds for which a server lets a connection wait for its next request: longer than any stall.
const IDLE_SECONDS: u32 = 60;

/// Length of the queue of connections to be accepted: all connections, and at least Apache's
/// default.
pub(super) fn backlog(connections: usize) -> usize {
    connections.max(511)
}

fn nginx_configuration(settings: &Settings, directory: &str) -> String {
    let Settings { port, workers, connections, .. } = *settings;
    // Unlike Apache, nginx does not refuse to serve as root, and then it needs no access permission
    // for the directory.
    let user = if geteuid().is_root() { "user root;\n" } else { "" };
    // Each worker must have room for all connections, twice: nginx closes connections that wait for
    // a request if less than a sixteenth is left. The worker inherits its limit of open files from
    // this process.
    let room = 2 * connections + 32;
    // Each of several workers listens on its own socket: from a common queue, the first woken
    // worker takes nearly all.
    let reuseport = if workers > 1 { " reuseport" } else { "" };
    let mut places = String::new();
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        let _ = writeln!(places, "  {kind}_temp_path \"{directory}/{kind}\";");
    }
    format!(
        "daemon off;\n{user}pid \"{directory}/pid\";\nerror_log \"{directory}/log\" error;\n\
         worker_processes {workers};\n\
         events {{ worker_connections {room}; }}\n\
         http {{\n{places}  access_log off;\n  sendfile on;\n  tcp_nopush on;\n\
         \x20 keepalive_timeout {IDLE_SECONDS}s;\n  keepalive_requests 1000000000;\n\
         \x20 server {{\n    listen 127.0.0.1:{port} backlog={}{reuseport};\n    \
         location = /{FILE_NAME} {{ root \"{directory}/files\"; }}\n  }}\n}}\n",
        backlog(connections)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_would_end_a_configuration_is_refused() {
        let settings = |directory| Settings { directory, port: 8080, workers: 2, connections: 64 };
        for program in [ServerProgram::ApachePrefork, ServerProgram::ApacheEvent, ServerProgram::Nginx] {
            let text = program.configuration(&settings(Path::new("/tmp/a b"))).unwrap();
            assert!(text.contains("127.0.0.1:8080") && text.contains("\"/tmp/a b/"), "{text}");
            let error = program.configuration(&settings(Path::new("/tmp/a\"b"))).unwrap_err();
            assert!(error.to_string().contains("set TMPDIR"), "{error}");
        }
    }
}
