//! One thread of load: many connections with one outstanding request each, by epoll.
//!
//! A closed loop sends the next request as soon as a connection is free, and so finds the server's
//! peak rate. A closed loop cannot find the latency. It sends nothing while the server stalls, so
//! the requests that a user would have made in that time are missing from its figures (coordinated
//! omission: Gil Tene, "How NOT to Measure Latency"). The open loop follows its own schedule. It
//! counts each latency from the scheduled time of the request, even if no connection was free at
//! that time.
//!
//! Every response is checked, and any error in a response ends the load.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use morecores_study::{Bytes, Nanos};
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::thread::set_current_timer_slack;

use super::content::{ExpectedBody, FILE_NAME};
use super::latency::Latencies;
use super::response_check::{Progress, ResponseCheck};
use crate::WorkloadError;
use crate::clock::{Span, monotonic};

/// Size of one read: a complete response of 15 KiB, and at most half of the L2 cache of a current
/// core.
const READ_SIZE: Bytes = Bytes::from_kib(64);

/// Memory of one thread besides its connections: the buffer, the histogram (270 KiB), events and
/// bookkeeping.
pub(super) const THREAD_MEMORY: Bytes = Bytes::from_kib(1024);

/// Maximum number of events per call to the kernel.
const MAX_EVENTS: usize = 256;

/// Interval at which a waiting thread checks whether the others have failed.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Time without any response after which the run is given up: far longer than any stall worth
/// measuring.
const RESPONSE_TIMEOUT: Nanos = Nanos(60_000_000_000);

/// Schedule of one thread's requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Schedule {
    /// Due time of the first request, after the start.
    pub(super) first: Nanos,
    /// Interval between two requests, in nanoseconds. It is a fraction, so that a rate is kept
    /// exactly.
    pub(super) interval: f64,
}

impl Schedule {
    /// Due time of request `number` after the start. Numbers count from 0.
    fn due(&self, number: u64) -> Nanos {
        Nanos(self.first.0 + (number as f64 * self.interval) as u64)
    }
}

/// Task of one thread.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) port: u16,
    pub(super) connections: usize,
    pub(super) requests: u64,
    /// Requests per connection before it is closed; `None` keeps the connection open.
    pub(super) keep_alive: Option<u32>,
    /// Schedule of the open loop; `None` makes the loop closed.
    pub(super) schedule: Option<Schedule>,
    /// Interval between compared bodies: the body of one response in `compare_interval` is
    /// compared.
    pub(super) compare_interval: u64,
    pub(super) expected: ExpectedBody,
}

/// Observations of one thread.
#[derive(Debug)]
pub(super) struct LoadResult {
    pub(super) span: Span,
    pub(super) latencies: Latencies,
    /// Repeated requests.
    pub(super) repeated: u64,
}

/// One thread's load, with its connections open.
#[derive(Debug)]
pub(super) struct Client<'a> {
    plan: Plan,
    /// Bytes of the request in two forms: one keeps the connection open, one has the server close
    /// it.
    keep_request: Vec<u8>,
    close_request: Vec<u8>,
    epoll: OwnedFd,
    connections: Vec<Connection>,
    /// Connections without a request, the longest idle first, so that all take their turn.
    idle: VecDeque<usize>,
    start: Nanos,
    sent: u64,
    completed: u64,
    /// Requests that were repeated because the server closed the connection while they were on
    /// their way.
    repeated: u64,
    latencies: Latencies,
    /// Whether a thread has failed.
    failed: &'a AtomicBool,
}

#[derive(Debug)]
struct Connection {
    /// Socket; `None` if the connection is closed for good.
    socket: Option<OwnedFd>,
    /// Requests that the connection has carried.
    requests_sent: u32,
    /// Start of the latency of its current request.
    latency_start: Nanos,
    state: State,
    response: ResponseCheck,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// A request is outstanding.
    Waiting,
    /// The last response is complete, and the server closes the connection. The server closes
    /// first, so that the server and not the client keeps the port in use for a minute (TIME_WAIT,
    /// RFC 9293, section 3.6). There are only about 28,000 ports.
    Ending,
}

impl<'a> Client<'a> {
    /// Opens the connections.
    pub(super) fn connect(plan: Plan, failed: &'a AtomicBool) -> Result<Self, WorkloadError> {
        let request = |header: &str| {
            format!("GET /{FILE_NAME} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{header}\r\n", plan.port).into_bytes()
        };
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|e| connection_error("be watched", e.into()))?;
        let mut client = Self {
            keep_request: request(""),
            close_request: request("Connection: close\r\n"),
            epoll,
            connections: Vec::with_capacity(plan.connections),
            idle: (0..plan.connections).collect(),
            start: Nanos::ZERO,
            sent: 0,
            completed: 0,
            repeated: 0,
            latencies: Latencies::new()?,
            failed,
            plan,
        };
        for index in 0..client.plan.connections {
            let socket = Some(client.open(index)?);
            let response = ResponseCheck::default();
            client.connections.push(Connection {
                socket,
                requests_sent: 0,
                latency_start: Nanos::ZERO,
                state: State::Idle,
                response,
            });
        }
        Ok(client)
    }

    /// Makes all requests. Nagle's algorithm delays no request, since each request waits for the
    /// answer to the previous one.
    pub(super) fn run(mut self) -> Result<LoadResult, WorkloadError> {
        let (span, result) = Span::measure(|| self.load());
        if result.is_err() {
            // The other threads end at their next check.
            self.failed.store(true, Ordering::Relaxed);
        }
        result.map(|()| LoadResult { span, latencies: self.latencies, repeated: self.repeated })
    }

    fn load(&mut self) -> Result<(), WorkloadError> {
        if self.plan.schedule.is_some() {
            // The kernel may let a sleep last 50 us longer than requested (prctl(2),
            // PR_SET_TIMERSLACK).
            let _ = set_current_timer_slack(NonZeroU64::new(1));
        }
        self.start = monotonic();
        let mut buffer = Vec::with_capacity(READ_SIZE.0 as usize);
        let mut events = Vec::with_capacity(MAX_EVENTS);
        let mut last_response = self.start;
        self.send_all(self.start)?;
        while self.completed < self.plan.requests {
            self.wait(&mut events)?;
            let is_silent = events.is_empty();
            for event in events.drain(..) {
                self.receive(event.data.u64() as usize, &mut buffer)?;
            }
            let time = monotonic();
            self.send_all(time)?;
            if self.failed.load(Ordering::Relaxed) {
                // The thread that set the flag reports the reason.
                return Ok(());
            }
            // In an open loop there may be no outstanding response.
            if !is_silent || self.sent == self.completed {
                last_response = time;
            } else if time.since(last_response) > RESPONSE_TIMEOUT {
                return Err(server_error(format!("no response for {} s", RESPONSE_TIMEOUT.as_secs_f64())));
            }
        }
        Ok(())
    }

    /// Sends the requests that are due, as far as connections are free.
    fn send_all(&mut self, time: Nanos) -> Result<(), WorkloadError> {
        while self.sent < self.plan.requests {
            let latency_start = match self.next_due() {
                Some(due) if due > time => return Ok(()),
                Some(due) => due,
                None => time,
            };
            let Some(index) = self.idle.pop_front() else {
                return Ok(());
            };
            self.send(index, latency_start)?;
        }
        // A server with few processes may need the processes that wait on these connections, to
        // answer the others.
        for index in self.idle.drain(..) {
            self.connections[index].socket = None;
        }
        Ok(())
    }

    /// Due time of the next request in an open loop.
    fn next_due(&self) -> Option<Nanos> {
        self.plan.schedule.map(|schedule| Nanos(self.start.0 + schedule.due(self.sent).0))
    }

    /// Sends the next request.
    fn send(&mut self, index: usize, latency_start: Nanos) -> Result<(), WorkloadError> {
        let connection = &mut self.connections[index];
        connection.latency_start = latency_start;
        connection.response.reset(self.sent.is_multiple_of(self.plan.compare_interval));
        self.sent += 1;
        self.write_request(index)
    }

    /// Writes the request of this connection to its socket.
    fn write_request(&mut self, index: usize) -> Result<(), WorkloadError> {
        let connection = &mut self.connections[index];
        connection.requests_sent += 1;
        connection.state = State::Waiting;
        let last = self.plan.keep_alive.is_some_and(|limit| connection.requests_sent >= limit);
        let request = if last { &self.close_request } else { &self.keep_request };
        let Some(socket) = &connection.socket else {
            return Ok(());
        };
        match rustix::net::send(socket, request, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(sent) if sent == request.len() => Ok(()),
            // A connection without a request has an empty send buffer.
            Ok(sent) => {
                Err(server_error(format!("{sent} of a request's {} bytes could be sent", request.len())))
            }
            // The error also appears as the end of the connection and is handled there.
            Err(Errno::PIPE | Errno::CONNRESET) if connection.requests_sent > 1 => Ok(()),
            Err(error) => Err(connection_error("be asked", error.into())),
        }
    }

    /// Reads the data that a connection has received.
    fn receive(&mut self, index: usize, buffer: &mut Vec<u8>) -> Result<(), WorkloadError> {
        loop {
            let connection = &mut self.connections[index];
            let Some(socket) = &connection.socket else {
                return Ok(());
            };
            buffer.clear();
            match rustix::net::recv(socket, spare_capacity(buffer), RecvFlags::DONTWAIT) {
                Ok((0, _)) | Err(Errno::CONNRESET | Errno::PIPE) => return self.handle_close(index),
                Ok((got, _)) if connection.state == State::Waiting => {
                    let progress = connection.response.check_bytes(buffer, &self.plan.expected)?;
                    if let Progress::Complete { keeps_open } = progress {
                        self.handle_response(index, keeps_open)?;
                        if keeps_open {
                            return Ok(());
                        }
                        // The end often arrives with the rest.
                        continue;
                    }
                    // A partly filled buffer means that all available data was read.
                    if got < READ_SIZE.0 as usize {
                        return Ok(());
                    }
                }
                Ok((got, _)) => {
                    return Err(WorkloadError::WrongResult {
                        what: "web, after the response".to_owned(),
                        expected: "nothing".to_owned(),
                        got: format!("{got} bytes"),
                    });
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(connection_error("be heard", error.into())),
            }
        }
    }

    /// Handles a connection that the server has closed. The server may close a connection between
    /// two requests at any time. A request on its way at that time is repeated on a new connection
    /// (RFC 9112, section 9.3.1). Its latency counts from the first attempt.
    fn handle_close(&mut self, index: usize) -> Result<(), WorkloadError> {
        let connection = &mut self.connections[index];
        match connection.state {
            State::Ending => self.reopen(index),
            State::Idle => {
                self.idle.retain(|idle| *idle != index);
                self.reopen(index)
            }
            State::Waiting if connection.requests_sent > 1 && connection.response.is_untouched() => {
                self.repeated += 1;
                self.reconnect(index)?;
                self.write_request(index)
            }
            State::Waiting => {
                Err(server_error("a connection was closed before the response was whole".to_owned()))
            }
        }
    }

    /// Handles a complete response.
    fn handle_response(&mut self, index: usize, keeps_open: bool) -> Result<(), WorkloadError> {
        let time = monotonic();
        let connection = &mut self.connections[index];
        self.completed += 1;
        self.latencies.add(time.since(connection.latency_start));
        if !keeps_open {
            connection.state = State::Ending;
            return Ok(());
        }
        connection.state = State::Idle;
        self.idle.push_back(index);
        // The next requests are sent at once, before the other events, so that the server always
        // has work.
        self.send_all(time)
    }

    /// Replaces an ended connection with a new one if more requests are to be sent.
    fn reopen(&mut self, index: usize) -> Result<(), WorkloadError> {
        if self.sent == self.plan.requests {
            // The client also closes its side: the server may wait for that before it serves
            // another connection.
            self.connections[index].socket = None;
            return Ok(());
        }
        self.reconnect(index)?;
        self.idle.push_back(index);
        self.send_all(monotonic())
    }

    fn reconnect(&mut self, index: usize) -> Result<(), WorkloadError> {
        let socket = Some(self.open(index)?);
        let connection = &mut self.connections[index];
        (connection.socket, connection.requests_sent, connection.state) = (socket, 0, State::Idle);
        Ok(())
    }

    /// Opens a connection and watches it under its index. The connect may block; on loopback it
    /// returns at once unless the server's queue is full. Later calls request non-blocking
    /// operation themselves.
    fn open(&self, index: usize) -> Result<OwnedFd, WorkloadError> {
        let open_socket = || -> rustix::io::Result<OwnedFd> {
            let (family, flags) = (AddressFamily::INET, SocketFlags::CLOEXEC);
            let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
            let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.plan.port);
            rustix::net::connect(&socket, &address)?;
            let data = epoll::EventData::new_u64(index as u64);
            epoll::add(&self.epoll, &socket, data, epoll::EventFlags::IN)?;
            Ok(socket)
        };
        open_socket().map_err(|error| connection_error("be connected to", error.into()))
    }

    /// Waits until a connection has an event, or until a request is due that has a free connection.
    fn wait(&self, events: &mut Vec<epoll::Event>) -> Result<(), WorkloadError> {
        let due = if self.idle.is_empty() { None } else { self.next_due() };
        let until = due.filter(|_| self.sent < self.plan.requests);
        let timeout = until
            .map_or(CHECK_INTERVAL, |due| Duration::from_nanos(due.since(monotonic()).0).min(CHECK_INTERVAL));
        let mut timeout = timespec(timeout);
        if until.is_some() {
            // epoll_wait(2) counts in milliseconds. The epoll descriptor itself can be polled with
            // nanosecond resolution.
            let ready = poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&timeout));
            if !ready.is_ok_and(|ready| ready > 0) {
                return Ok(());
            }
            timeout = timespec(Duration::ZERO);
        }
        match epoll::wait(&self.epoll, spare_capacity(events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(connection_error("be watched", error.into())),
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: duration.as_secs() as i64, tv_nsec: i64::from(duration.subsec_nanos()) }
}

/// Error of a server that is present but behaves incorrectly.
fn server_error(reason: String) -> WorkloadError {
    WorkloadError::ProgramFailed { program: "the web server".to_owned(), reason }
}

fn connection_error(what: &str, error: io::Error) -> WorkloadError {
    server_error(format!("it cannot {what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_keeps_its_rate_exactly() {
        // Three threads make 7,000 requests per second in total, so request 6,999,999 is the last
        // one of 1,000 s.
        let interval = 3e9 / 7000.0;
        let schedule =
            |thread: u64| Schedule { first: Nanos((1e9 / 7000.0 * thread as f64) as u64), interval };
        let number = 6_999_999;
        let due = schedule(number % 3).due(number / 3).as_secs_f64();
        assert!((due - number as f64 / 7000.0).abs() < 1e-8, "{due}");
        assert!(schedule(0).due(1) > schedule(2).due(0));
    }
}
