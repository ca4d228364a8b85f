//! `web`: a web server and its load, like the WWW server of source 003.
//!
//! This module holds the arguments, the order of events and the figures of the run. The server is
//! in `web/server`, the load in `web/client`.

mod client;
mod connection;
mod content;
mod cpus;
mod embedded;
mod latency;
mod program;
mod response_check;
mod server;
mod stall;

use std::fs;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use morecores_study::{Bytes, Nanos};
use rustix::process::{Resource, getrlimit, setrlimit};

pub use server::ServerKind;

use crate::clock::Span;
use crate::outcome::{Figure, Outcome, Rate};
use crate::team::{self, Threads};
use crate::{WorkloadError, memory};
use client::{Client, LoadResult, Schedule};
use content::Content;
use cpus::CpuSplit;
use latency::Latencies;
use server::Server;
use stall::Stall;

/// Arguments that determine the memory.
const MEMORY_ARGUMENTS: &str = "--connections, --file or --threads";

/// Largest number of client threads, equal to that of server threads.
const MAX_CLIENTS: i64 = 8192;

/// Largest number of connections. Linux has 28,232 ports for connections by default
/// (`ip_local_port_range`).
const MAX_CONNECTIONS: i64 = 20_000;

/// Largest file in KiB: 1 GiB, which the embedded server holds in memory.
const MAX_FILE: i64 = 1024 * 1024;

/// Largest request rate per second in an open loop: one request per microsecond, far beyond any
/// server here.
const MAX_RATE: i64 = 1_000_000;

/// Upper bound of the kernel's memory for both ends of a connection: the default send and receive
/// limits of a socket (`tcp_wmem` and `tcp_rmem`: 4 and 6 MiB).
const SOCKET_MEMORY: Bytes = Bytes::from_kib(10 * 1024);

/// Upper bound of the memory of a server process or thread. A process of Apache shares most of its
/// memory with the others.
const WORKER_MEMORY: Bytes = Bytes::from_kib(4 * 1024);

/// Upper bound of the memory that waits for one connection's next request: a thread of Apache.
const WAITER_MEMORY: Bytes = Bytes::from_kib(128);

/// Open files besides the connections: libraries, logs, pipes, and an epoll and an eventfd for each
/// thread.
const EXTRA_FILES: u64 = 64;

/// Arguments of `web`. `--help` says how much memory they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
#[command(after_help = "\
Memory: for each connection 128 KiB and the kernel's buffers, at most twice the file and 10 MiB; 4 MiB for each \
thread or process of the server; 1 MiB for each client; twice the file.
The file and the server's logs are in $TMPDIR during the run. Apache serves as `nobody` if root starts it; this user \
must be able to enter $TMPDIR.")]
pub struct Args {
    #[command(flatten)]
    threads: Threads,
    /// Server; its kind determines the meaning of --threads N
    #[arg(long, value_enum, default_value_t = ServerKind::Auto)]
    server: ServerKind,
    /// Port of the server on 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Size of the served file, in KiB
    #[arg(long, value_name = "KIB", default_value = "15")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MAX_FILE))]
    file: u32,
    /// Connections at a time, each with one outstanding request
    #[arg(long, value_name = "COUNT", default_value = "64")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MAX_CONNECTIONS))]
    connections: u32,
    /// Requests of a connection before a new one replaces it [default: 1 with apache-prefork, else
    /// all]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    keep_alive: Option<u32>,
    /// Total number of requests [default: those of 3 seconds with --rate; else 100000, or 20000 if
    /// connections are not kept, and fewer for files of more than 64 KiB]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    requests: Option<u32>,
    /// Requests per second, even if the server does not keep up [default: as many as it answers]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=MAX_RATE))]
    rate: Option<u32>,
    /// Threads that generate the load; 0 serves another load generator until the workload is ended
    /// [default: as many as --threads]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(0..=MAX_CLIENTS))]
    clients: Option<u16>,
    /// CPUs for the load alone; 0 shares all CPUs [default: one for each client, if there are at
    /// least 4 CPUs and one for each thread of both sides]
    #[arg(long, value_name = "COUNT")]
    client_cpus: Option<u16>,
    /// Compare the body of one response in COUNT; status and length of every response are checked
    #[arg(long, value_name = "COUNT", default_value = "16", value_parser = clap::value_parser!(u32).range(1..))]
    compare: u32,
    /// Stall the embedded server for the last LASTS of every EVERY milliseconds, to test what a
    /// load generator sees
    #[arg(long, value_name = "EVERY,LASTS")]
    stall: Option<Stall>,
    /// Start value of the random file
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

impl Args {
    fn clients(&self) -> usize {
        self.clients.map_or(self.threads.count(), usize::from)
    }

    fn connections(&self) -> usize {
        self.connections as usize
    }

    fn file(&self) -> Bytes {
        Bytes::from_kib(u64::from(self.file))
    }

    /// Requests per connection; `None` means all.
    fn keep_alive(&self, kind: ServerKind) -> Option<u32> {
        // The default of 1 is that of 1999, and a process of Apache prefork serves no other
        // connection while it has one.
        self.keep_alive.or((kind == ServerKind::ApachePrefork).then_some(1))
    }

    /// Total number of requests; the default takes 1 to 5 s on one current CPU.
    fn requests(&self, kind: ServerKind) -> u64 {
        let default = match (self.rate, self.keep_alive(kind)) {
            (Some(rate), _) => 3 * u64::from(rate),
            (None, Some(few)) if few < 10 => 20_000,
            (None, _) => 100_000,
        };
        // A larger file costs additional time for copying.
        let larger = if self.rate.is_some() { 1 } else { 1 + u64::from(self.file) / 64 };
        self.requests.map_or(default.div_ceil(larger), u64::from)
    }

    /// Peak memory.
    fn memory(&self) -> Bytes {
        let socket = SOCKET_MEMORY.0.min(2 * self.file().0);
        Bytes(
            2 * self.file().0
                + self.connections() as u64 * (socket + WAITER_MEMORY.0)
                + self.threads.count() as u64 * WORKER_MEMORY.0
                + self.clients() as u64 * client::THREAD_MEMORY.0,
        )
    }

    /// Refuses arguments that do not fit together, before anything is made.
    fn check(&self, kind: ServerKind) -> Result<(), WorkloadError> {
        let cannot_run = |reason: String| Err(WorkloadError::CannotRun(reason));
        if self.clients() > self.connections() {
            return cannot_run(format!(
                "{} clients cannot share {} connections: give fewer --clients or more --connections",
                self.clients(),
                self.connections
            ));
        }
        if self.stall.is_some() && kind != ServerKind::Embedded {
            return cannot_run("--stall is the embedded server's alone: give --server embedded".to_owned());
        }
        if kind == ServerKind::None && (self.port.is_none() || self.clients() == 0) {
            return cannot_run(
                "--server none needs the --port of a server, and --clients that ask it".to_owned(),
            );
        }
        if self.clients() == 0 && self.port.is_none() {
            return cannot_run("--clients 0 needs a --port, for others to find the server".to_owned());
        }
        let waiting = fs::read_to_string("/proc/sys/net/core/somaxconn").ok();
        if let Some(most) = waiting.and_then(|text| text.trim().parse::<u32>().ok())
            && most < self.connections
        {
            return cannot_run(format!(
                "this machine lets {most} connections wait (net.core.somaxconn): give at most --connections {most}"
            ));
        }
        memory::require(self.memory(), MEMORY_ARGUMENTS)
    }

    /// Open files of the server or of the load. nginx opens the file once for each answer that it
    /// sends.
    fn files(&self) -> u64 {
        2 * self.connections() as u64 + 3 * (self.threads.count() + self.clients()) as u64 + EXTRA_FILES
    }

    /// Every parameter that affects the result or the speed, in words.
    fn parameters(&self, kind: ServerKind, cpus: &CpuSplit) -> String {
        let connection_use = match self.keep_alive(kind) {
            None => "kept".to_owned(),
            Some(1) => "one a request".to_owned(),
            Some(count) => format!("{count} requests each"),
        };
        let schedule =
            self.rate.map_or("closed loop".to_owned(), |rate| format!("open loop of {rate} a second"));
        let clients = match self.clients() {
            1 => "1 client".to_owned(),
            count => format!("{count} clients"),
        };
        let stall = self.stall.map_or_else(String::new, |stall| format!(", stalls {stall}"));
        format!(
            "{}, {} KiB, {} requests, {} connections {connection_use}, {schedule}, {clients} {}, 1 body in {} compared{stall}, \
             seed {}, {}",
            kind.name(),
            self.file,
            self.requests(kind),
            self.connections,
            cpus.description(),
            self.compare,
            self.seed,
            self.threads
        )
    }
}

/// Raises this process's limit of open files to `needed`, or as far as permitted. Child processes
/// inherit the limit.
fn raise_file_limit(needed: u64) -> Result<(), WorkloadError> {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if let Some(most) = limit.maximum.filter(|most| *most < needed) {
        return Err(WorkloadError::CannotRun(format!(
            "{needed} open files are needed and {most} are allowed: lower --connections, or raise `ulimit -n`"
        )));
    }
    limit.current = Some(needed);
    setrlimit(Resource::Nofile, limit)
        .map_err(|error| WorkloadError::CannotRun(format!("{needed} open files are needed: {error}")))
}

/// Runs the server and the load, and checks every response.
///
/// # Errors
/// Arguments that do not fit, a missing or failed server, a port in use, or a wrong response.
pub fn run(args: &Args) -> Result<Outcome, WorkloadError> {
    let kind = args.server.resolve();
    args.check(kind)?;
    raise_file_limit(args.files())?;
    let content = Content::random(args.file().0 as usize, args.seed)?;
    let cpus = CpuSplit::divide(args.client_cpus.map(usize::from), args.threads.count(), args.clients())?;

    let mut server = {
        let _affinity = cpus.enter_server()?;
        start_server(args, kind, &content)?
    };
    if args.clients() == 0 {
        return Err(serve_until_end(&mut server));
    }
    let results = {
        let _affinity = cpus.enter_clients()?;
        run_load(args, kind, &content, server.port()).map_err(|error| match error {
            // A server that has ended knows the reason better.
            WorkloadError::ProgramFailed { .. } => server.exit_error().unwrap_or(error),
            error => error,
        })?
    };
    drop(server);

    let mut latencies = Latencies::new()?;
    results.iter().for_each(|result| latencies.merge(&result.latencies));
    let repeated = results.iter().map(|result| result.repeated).sum::<u64>() as f64;
    let mut figures = latencies.figures();
    figures.push(Figure { name: "repeated", value: repeated, unit: "" });
    let parallel_time = Span::elapsed_time(results.iter().map(|result| result.span));
    Ok(Outcome {
        name: "web",
        parameters: args.parameters(kind, &cpus),
        parallel_time,
        rate: Rate {
            value: latencies.count() as f64 / parallel_time.max(Nanos(1)).as_secs_f64(),
            unit: "requests/s",
        },
        figures,
        checksum: content.expected().checksum,
        check_name: "as received, every status and length",
    })
}

fn start_server(args: &Args, kind: ServerKind, content: &Content) -> Result<Server, WorkloadError> {
    if let (ServerKind::None, Some(port)) = (kind, args.port) {
        return Server::connect_external(port, content);
    }
    Server::start(&server::ServerPlan {
        kind,
        workers: args.threads.count(),
        connections: args.connections(),
        port: args.port,
        content,
        stall: args.stall,
    })
}

/// Serves other load generators until this process or the server ends.
fn serve_until_end(server: &mut Server) -> WorkloadError {
    loop {
        if let Some(error) = server.exit_error() {
            return error;
        }
        // The interval is short enough for a person who waits for the reason.
        thread::sleep(Duration::from_millis(500));
    }
}

/// Opens the connections and then makes all requests.
fn run_load(
    args: &Args,
    kind: ServerKind,
    content: &Content,
    port: u16,
) -> Result<Vec<LoadResult>, WorkloadError> {
    let failed = AtomicBool::new(false);
    let clients = args.clients();
    let share = |all: u64, index: usize| team::range_length(all, index, clients);
    let client = |index: usize| {
        // Requests are dealt out in turn.
        let schedule = args.rate.map(f64::from).map(|rate| Schedule {
            first: Nanos((index as f64 * 1e9 / rate) as u64),
            interval: clients as f64 * 1e9 / rate,
        });
        let plan = client::Plan {
            port,
            connections: share(u64::from(args.connections), index) as usize,
            requests: share(args.requests(kind), index),
            keep_alive: args.keep_alive(kind),
            schedule,
            compare_interval: u64::from(args.compare),
            expected: content.expected(),
        };
        Client::connect(plan, &failed)
    };
    let clients = (0..clients).map(client).collect::<Result<Vec<_>, _>>()?;
    let work = clients.into_iter().map(|client| move || client.run()).collect();
    team::run("web-client", work)?.into_iter().collect()
}
