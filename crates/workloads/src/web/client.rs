//! One thread of load: many connections, one outstanding request each, by epoll.
//!
//! A closed loop sends the next request as soon as a connection is free, and so finds the server's peak rate. It cannot
//! find its latency: while the server stalls, it asks for nothing, and the requests that a user would have made
//! meanwhile are missing from its figures (coordinated omission: Gil Tene, "How NOT to Measure Latency"). The open loop
//! has a schedule of its own, and counts each latency from the time at which the request was to be sent, whether or
//! not a connection was free then.
//!
//! Every response is checked; what is wrong with one ends the load.

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

/// What is read at once: a response of 15 KiB whole, and no more than half of a core's L2 cache of today.
const BUFFER: Bytes = Bytes::from_kib(64);

/// Memory of one thread beside its connections: the buffer, the histogram (270 KiB), events and bookkeeping.
pub(super) const THREAD_MEMORY: Bytes = Bytes::from_kib(1024);

/// Events taken from the kernel at once.
const EVENTS: usize = 256;

/// How often a thread that waits looks whether the others have failed.
const TICK: Duration = Duration::from_millis(200);

/// How long a server may say nothing at all before the run is given up: far beyond a stall that is worth measuring.
const PATIENCE: Nanos = Nanos(60_000_000_000);

/// Requests of one thread that fall due one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace {
    /// When the first one is due, after the start.
    pub(super) first: Nanos,
    /// From one to the next, in nanoseconds: not whole ones, so that a rate is kept exactly.
    pub(super) interval: f64,
}

impl Pace {
    /// When request `number`, counted from 0, is due after the start.
    fn due(&self, number: u64) -> Nanos {
        Nanos(self.first.0 + (number as f64 * self.interval) as u64)
    }
}

/// What one thread is to do.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) port: u16,
    pub(super) connections: usize,
    pub(super) requests: u64,
    /// Requests that a connection carries before it is closed; without one, it stays open.
    pub(super) keep_alive: Option<u32>,
    /// The open loop's schedule; without one, the loop is closed.
    pub(super) pace: Option<Pace>,
    /// The body of one response in so many is compared.
    pub(super) sample: u64,
    pub(super) expected: Expected,
}

/// What one thread saw.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) span: Span,
    pub(super) latencies: Latencies,
    /// Requests that were made again.
    pub(super) repeated: u64,
}

/// A thread's load, its connections open.
#[derive(Debug)]
pub(super) struct Client<'a> {
    plan: Plan,
    /// The requests' bytes: one that keeps the connection, and one that has it closed.
    keeping: Vec<u8>,
    closing: Vec<u8>,
    epoll: OwnedFd,
    connections: Vec<Connection>,
    /// Connections without a request, the one that has been so longest first: all take their turn.
    free: VecDeque<usize>,
    begun: Nanos,
    sent: u64,
    done: u64,
    /// Requests that were made again, since the server closed the connection as they were on their way.
    repeated: u64,
    latencies: Latencies,
    /// Whether a thread has failed.
    failed: &'a AtomicBool,
}

#[derive(Debug)]
struct Connection {
    /// None where it is closed for good.
    socket: Option<OwnedFd>,
    /// Requests it has carried.
    carried: u32,
    /// From when the latency of its request counts.
    since: Nanos,
    state: State,
    response: Response,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    /// A request is out.
    Waiting,
    /// Its last response was whole, and the server closes. It goes first, so that it and not the client keeps the port
    /// busy for a minute (TIME_WAIT, RFC 9293, section 3.6): there are only some 28,000 of them.
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

    /// Makes all requests. Nagle's algorithm holds none back, since each waits for the answer to the one before.
    pub(super) fn run(mut self) -> Result<Seen, WorkloadError> {
        let (span, result) = Span::of(|| self.load());
        if result.is_err() {
            // The others end at their next look.
            self.failed.store(true, Ordering::Relaxed);
        }
        result.map(|()| Seen { span, latencies: self.latencies, repeated: self.repeated })
    }

    fn load(&mut self) -> Result<(), WorkloadError> {
        if self.plan.pace.is_some() {
            // The kernel may let a sleeper sleep 50 us longer than asked (prctl(2), PR_SET_TIMERSLACK).
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
                // The thread that set it says why.
                return Ok(());
            }
            // In an open loop there may be nothing to hear.
            if !silence || self.sent == self.done {
                heard = time;
            } else if time.since(heard) > PATIENCE {
                return Err(failed(format!("no response for {} s", PATIENCE.as_secs_f64())));
            }
        }
        Ok(())
    }

    /// Sends what is due, as long as there are connections for it.
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
        // A server of few processes may need those that wait on these connections to answer the others.
        for index in self.free.drain(..) {
            self.connections[index].socket = None;
        }
        Ok(())
    }

    /// When the next request of an open loop is due.
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

    /// Puts the request that is this connection's out.
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
            // A connection without a request has all of its buffer free.
            Ok(sent) => Err(failed(format!("{sent} of a request's {} bytes could be sent", request.len()))),
            // It comes as the connection's end, too, and is seen to there.
            Err(Errno::PIPE | Errno::CONNRESET) if connection.carried > 1 => Ok(()),
            Err(error) => Err(trouble("be asked", error.into())),
        }
    }

    /// Takes what a connection has received.
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
                        // The end has often come with the rest.
                        continue;
                    }
                    // What does not fill the buffer was all that was there.
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

    /// The server has closed a connection. It may do so between two requests at any time; a request that was on its way
    /// then is made again on a new connection (RFC 9112, section 9.3.1), and its latency counts from the first time.
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

    /// A response was whole.
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
        // At once, and not after the other events: the server is to have work.
        self.send_all(time)
    }

    /// Puts a new connection into the place of one that has ended, if there is still need.
    fn reopen(&mut self, index: usize) -> Result<(), WorkloadError> {
        if self.sent == self.plan.requests {
            // Closed here too: the server may wait for that before it serves another.
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

    /// Opens a connection, watched under its index. Waits for it, which on loopback is no wait unless the server's
    /// queue is full; later calls say for themselves that they do not wait.
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

    /// Waits until a connection has something, or a request is due that has a connection.
    fn wait(&self, events: &mut Vec<epoll::Event>) -> Result<(), WorkloadError> {
        let due = if self.free.is_empty() { None } else { self.next_due() };
        let until = due.filter(|_| self.sent < self.plan.requests);
        let patience = until.map_or(TICK, |due| Duration::from_nanos(due.since(now()).0).min(TICK));
        let mut patience = timespec(patience);
        if until.is_some() {
            // epoll_wait(2) counts in milliseconds; an epoll can be polled itself, to the nanosecond.
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

/// The server is there and does not do as it should.
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
        // Three threads at 7,000 requests a second together: request 6,999,999 is the last one of 1,000 s.
        let interval = 3e9 / 7000.0;
        let pace = |thread: u64| Pace { first: Nanos((1e9 / 7000.0 * thread as f64) as u64), interval };
        let number = 6_999_999;
        let due = pace(number % 3).due(number / 3).as_secs_f64();
        assert!((due - number as f64 / 7000.0).abs() < 1e-8, "{due}");
        assert!(pace(0).due(1) > pace(2).due(0));
    }
}
