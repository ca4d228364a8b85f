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

use super::content::{Expected, NAME};
use super::latency::Latencies;
use super::response::{Progress, Response};
use crate::WorkloadError;
use crate::clock::{Span, now};

/// Size of one read: a complete response of 15 KiB, and at most half of the L2 cache of a current
/// core.
const BUFFER: Bytes = Bytes::from_kib(64);

/// Memory of one thread besides its connections: the buffer, the histogram (270 KiB), events and
/// bookkeeping.
pub(super) const THREAD_MEMORY: Bytes = Bytes::from_kib(1024);

/// Maximum number of events per call to the kernel.
const EVENTS: usize = 256;

/// Interval at which a waiting thread checks whether the others have failed.
const TICK: Duration = Duration::from_millis(200);

/// Time without any response after which the run is given up: far longer than any stall worth
/// measuring.
const PATIENCE: Nanos = Nanos(60_000_000_000);

/// Schedule of one thread's requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace {
    /// Due time of the first request, after the start.
    pub(super) first: Nanos,
    /// Interval between two requests, in nanoseconds. It is a fraction, so that a rate is kept
    /// exactly.
    pub(super) interval: f64,
}

impl Pace {
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
    pub(super) pace: Option<Pace>,
    /// Interval between compared bodies: the body of one response in `sample` is compared.
    pub(super) sample: u64,
    pub(super) expected: Expected,
}

/// Observations of one thread.
#[derive(Debug)]
pub(super) struct Seen {
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
    keeping: Vec<u8>,
    closing: Vec<u8>,
    epoll: OwnedFd,
    connections: Vec<Connection>,
    /// Connections without a request, the longest idle first, so that all take their turn.
    free: VecDeque<usize>,
    begun: Nanos,
    sent: u64,
    done: u64,
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
    carried: u32,
    /// Start of the latency of its current request.
    since: Nanos,
    state: State,
    response: Response,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
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
        let request = |closing: &str| {
            format!("GET /{NAME} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{closing}\r\n", plan.port).into_bytes()
        };
        let epoll =
            epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|e| trouble("be watched", e.into()))?;
        let mut client = Self {
            keeping: request(""),
            closing: request("Connection: close\r\n"),
            epoll,
            connections: Vec::with_capacity(plan.connections),
            free: (0..plan.connections).collect(),
            begun: Nanos::ZERO,
            sent: 0,
            done: 0,
            repeated: 0,
            latencies: Latencies::new()?,
            failed,
            plan,
        };
        for index in 0..client.plan.connections {
            let socket = Some(client.open(index)?);
            let response = Response::default();
            client.connections.push(Connection {
                socket,
                carried: 0,
                since: Nanos::ZERO,
                state: State::Free,
                response,
            });
        }
        Ok(client)
    }

    /// Makes all requests. Nagle's algorithm delays no request, since each request waits for the
    /// answer to the previous one.
    pub(super) fn run(mut self) -> Result<Seen, WorkloadError> {
        let (span, result) = Span::of(|| self.load());
        if result.is_err() {
            // The other threads end at their next check.
            self.failed.store(true, Ordering::Relaxed);
        }
        result.map(|()| Seen { span, latencies: self.latencies, repeated: self.repeated })
    }

    fn load(&mut self) -> Result<(), WorkloadError> {
        if self.plan.pace.is_some() {
            // The kernel may let a sleep last 50 us longer than requested (prctl(2),
            // PR_SET_TIMERSLACK).
            let _ = set_current_timer_slack(NonZeroU64::new(1));
        }
        self.begun = now();
        let mut buffer = Vec::with_capacity(BUFFER.0 as usize);
        let mut events = Vec::with_capacity(EVENTS);
        let mut heard = self.begun;
        self.send_all(self.begun)?;
        while self.done < self.plan.requests {
            self.wait(&mut events)?;
            let silence = events.is_empty();
            for event in events.drain(..) {
                self.receive(event.data.u64() as usize, &mut buffer)?;
            }
            let time = now();
            self.send_all(time)?;
            if self.failed.load(Ordering::Relaxed) {
                // The thread that set the flag reports the reason.
                return Ok(());
            }
            // In an open loop there may be no outstanding response.
            if !silence || self.sent == self.done {
                heard = time;
            } else if time.since(heard) > PATIENCE {
                return Err(failed(format!("no response for {} s", PATIENCE.as_secs_f64())));
            }
        }
        Ok(())
    }

    /// Sends the requests that are due, as far as connections are free.
    fn send_all(&mut self, time: Nanos) -> Result<(), WorkloadError> {
        while self.sent < self.plan.requests {
            let since = match self.next_due() {
                Some(due) if due > time => return Ok(()),
                Some(due) => due,
                None => time,
            };
            let Some(index) = self.free.pop_front() else {
                return Ok(());
            };
            self.send(index, since)?;
        }
        // A server with few processes may need the processes that wait on these connections, to
        // answer the others.
        for index in self.free.drain(..) {
            self.connections[index].socket = None;
        }
        Ok(())
    }

    /// Due time of the next request in an open loop.
    fn next_due(&self) -> Option<Nanos> {
        self.plan.pace.map(|pace| Nanos(self.begun.0 + pace.due(self.sent).0))
    }

    /// Sends the next request.
    fn send(&mut self, index: usize, since: Nanos) -> Result<(), WorkloadError> {
        let connection = &mut self.connections[index];
        connection.since = since;
        connection.response.begin(self.sent.is_multiple_of(self.plan.sample));
        self.sent += 1;
        self.ask(index)
    }

    /// Writes the request of this connection to its socket.
    fn ask(&mut self, index: usize) -> Result<(), WorkloadError> {
        let connection = &mut self.connections[index];
        connection.carried += 1;
        connection.state = State::Waiting;
        let last = self.plan.keep_alive.is_some_and(|most| connection.carried >= most);
        let request = if last { &self.closing } else { &self.keeping };
        let Some(socket) = &connection.socket else {
            return Ok(());
        };
        match rustix::net::send(socket, request, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(sent) if sent == request.len() => Ok(()),
            // A connection without a request has an empty send buffer.
            Ok(sent) => Err(failed(format!("{sent} of a request's {} bytes could be sent", request.len()))),
            // The error also appears as the end of the connection and is handled there.
            Err(Errno::PIPE | Errno::CONNRESET) if connection.carried > 1 => Ok(()),
            Err(error) => Err(trouble("be asked", error.into())),
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
                Ok((0, _)) | Err(Errno::CONNRESET | Errno::PIPE) => return self.closed(index),
                Ok((got, _)) if connection.state == State::Waiting => {
                    let progress = connection.response.take(buffer, &self.plan.expected)?;
                    if let Progress::Whole { stays } = progress {
                        self.finish(index, stays)?;
                        if stays {
                            return Ok(());
                        }
                        // The end often arrives with the rest.
                        continue;
                    }
                    // A partly filled buffer means that all available data was read.
                    if got < BUFFER.0 as usize {
                        return Ok(());
                    }
                }
                Ok((got, _)) => {
                    return Err(WorkloadError::Wrong {
                        what: "web, after the response".to_owned(),
                        expected: "nothing".to_owned(),
                        got: format!("{got} bytes"),
                    });
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(trouble("be heard", error.into())),
            }
        }
    }

    /// Handles a connection that the server has closed. The server may close a connection between
    /// two requests at any time. A request on its way at that time is repeated on a new connection
    /// (RFC 9112, section 9.3.1). Its latency counts from the first attempt.
    fn closed(&mut self, index: usize) -> Result<(), WorkloadError> {
        let connection = &mut self.connections[index];
        match connection.state {
            State::Ending => self.reopen(index),
            State::Free => {
                self.free.retain(|free| *free != index);
                self.reopen(index)
            }
            State::Waiting if connection.carried > 1 && connection.response.is_untouched() => {
                self.repeated += 1;
                self.renew(index)?;
                self.ask(index)
            }
            State::Waiting => Err(failed("a connection was closed before the response was whole".to_owned())),
        }
    }

    /// Handles a complete response.
    fn finish(&mut self, index: usize, stays: bool) -> Result<(), WorkloadError> {
        let time = now();
        let connection = &mut self.connections[index];
        self.done += 1;
        self.latencies.add(time.since(connection.since));
        if !stays {
            connection.state = State::Ending;
            return Ok(());
        }
        connection.state = State::Free;
        self.free.push_back(index);
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
        self.renew(index)?;
        self.free.push_back(index);
        self.send_all(now())
    }

    fn renew(&mut self, index: usize) -> Result<(), WorkloadError> {
        let socket = Some(self.open(index)?);
        let connection = &mut self.connections[index];
        (connection.socket, connection.carried, connection.state) = (socket, 0, State::Free);
        Ok(())
    }

    /// Opens a connection and watches it under its index. The connect may block; on loopback it
    /// returns at once unless the server's queue is full. Later calls request non-blocking
    /// operation themselves.
    fn open(&self, index: usize) -> Result<OwnedFd, WorkloadError> {
        let opened = || -> rustix::io::Result<OwnedFd> {
            let (family, flags) = (AddressFamily::INET, SocketFlags::CLOEXEC);
            let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
            let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.plan.port);
            rustix::net::connect(&socket, &address)?;
            let data = epoll::EventData::new_u64(index as u64);
            epoll::add(&self.epoll, &socket, data, epoll::EventFlags::IN)?;
            Ok(socket)
        };
        opened().map_err(|error| trouble("be connected to", error.into()))
    }

    /// Waits until a connection has an event, or until a request is due that has a free connection.
    fn wait(&self, events: &mut Vec<epoll::Event>) -> Result<(), WorkloadError> {
        let due = if self.free.is_empty() { None } else { self.next_due() };
        let until = due.filter(|_| self.sent < self.plan.requests);
        let patience = until.map_or(TICK, |due| Duration::from_nanos(due.since(now()).0).min(TICK));
        let mut patience = timespec(patience);
        if until.is_some() {
            // epoll_wait(2) counts in milliseconds. The epoll descriptor itself can be polled with
            // nanosecond resolution.
            let ready = poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&patience));
            if !ready.is_ok_and(|ready| ready > 0) {
                return Ok(());
            }
            patience = timespec(Duration::ZERO);
        }
        match epoll::wait(&self.epoll, spare_capacity(events), Some(&patience)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(trouble("be watched", error.into())),
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: duration.as_secs() as i64, tv_nsec: i64::from(duration.subsec_nanos()) }
}

/// Error of a server that is present but behaves incorrectly.
fn failed(reason: String) -> WorkloadError {
    WorkloadError::Failed { program: "the web server".to_owned(), reason }
}

fn trouble(what: &str, error: io::Error) -> WorkloadError {
    failed(format!("it cannot {what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_keeps_its_rate_exactly() {
        // Three threads make 7,000 requests per second in total, so request 6,999,999 is the last
        // one of 1,000 s.
        let interval = 3e9 / 7000.0;
        let pace = |thread: u64| Pace { first: Nanos((1e9 / 7000.0 * thread as f64) as u64), interval };
        let number = 6_999_999;
        let due = pace(number % 3).due(number / 3).as_secs_f64();
        assert!((due - number as f64 / 7000.0).abs() < 1e-8, "{due}");
        assert!(pace(0).due(1) > pace(2).due(0));
    }
}
