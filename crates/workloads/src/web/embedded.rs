//! The embedded server: one file from memory to many connections, by threads with one epoll each.
//!
//! The server implements the part of HTTP/1.1 (RFC 9112) that this workload needs: GET of one file,
//! on connections that stay open or are closed. The caller decides on its process and on its end.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use morecores_study::{Bytes, Nanos};
use rustix::buffer::spare_capacity;
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, sockopt};

use super::connection::{Connection, ConnectionState, ResponseSet};
use super::content::Content;
use super::stall::Stall;
use crate::clock::monotonic;
use crate::{WorkloadError, team};

/// Maximum number of events per call to the kernel.
const MAX_EVENTS: usize = 256;

/// Size of one read: many times the size of a request.
const READ_SIZE: Bytes = Bytes::from_kib(16);

/// Event data of the descriptors that are not connections. A connection's event data is its index.
const LISTENER: u64 = u64::MAX;
const ARRIVALS: u64 = u64::MAX - 1;

/// One thread of the server.
struct Worker<'a> {
    epoll: OwnedFd,
    /// New connections for this thread.
    arrivals: Receiver<OwnedFd>,
    /// Event descriptor that is readable when there are new connections.
    arrival_event: Arc<OwnedFd>,
    /// Listening socket, only in the first thread. The first thread accepts and distributes the
    /// connections, so that all threads have equally many. With one listening socket per thread,
    /// chance would decide.
    acceptor: Option<Acceptor>,
    connections: Vec<Option<Connection<'a>>>,
    free_slots: Vec<usize>,
    responses: &'a ResponseSet<'a>,
    stall: Option<Stall>,
    server_start: Nanos,
}

/// Listening socket and the threads that receive the connections.
struct Acceptor {
    listener: OwnedFd,
    queues: Vec<(Sender<OwnedFd>, Arc<OwnedFd>)>,
    accepted: usize,
}

/// Serves until the process ends; returns only with an error. `listener` must be non-blocking.
pub(super) fn serve(
    listener: OwnedFd,
    content: &Content,
    workers: usize,
    stall: Option<Stall>,
) -> WorkloadError {
    let responses = ResponseSet::new(content);
    let results = make_workers(listener, &responses, workers, stall)
        .map_err(|error| server_error(&error))
        .and_then(|workers| {
            team::run("web-server", workers.into_iter().map(|worker| move || worker.run()).collect())
        });
    match results {
        Err(error) => error,
        Ok(results) => server_error(results.first().unwrap_or(&Errno::INVAL)),
    }
}

fn server_error(error: &Errno) -> WorkloadError {
    WorkloadError::ProgramFailed { program: "the embedded web server".to_owned(), reason: error.to_string() }
}

/// The threads, not started yet.
fn make_workers<'a>(
    listener: OwnedFd,
    responses: &'a ResponseSet<'a>,
    count: usize,
    stall: Option<Stall>,
) -> Result<Vec<Worker<'a>>, Errno> {
    let server_start = monotonic();
    let (mut workers, mut queues) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for _ in 0..count {
        let (sender, arrivals) = channel();
        let arrival_event = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &arrival_event, epoll::EventData::new_u64(ARRIVALS), epoll::EventFlags::IN)?;
        queues.push((sender, Arc::clone(&arrival_event)));
        let (connections, free_slots) = (Vec::new(), Vec::new());
        workers.push(Worker {
            epoll,
            arrivals,
            arrival_event,
            acceptor: None,
            connections,
            free_slots,
            responses,
            stall,
            server_start,
        });
    }
    if let Some(first) = workers.first_mut() {
        epoll::add(&first.epoll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
        first.acceptor = Some(Acceptor { listener, queues, accepted: 0 });
    }
    Ok(workers)
}

impl Worker<'_> {
    /// Main function of the thread; returns the reason of its end.
    fn run(mut self) -> Errno {
        let mut events = Vec::with_capacity(MAX_EVENTS);
        let mut buffer = Vec::with_capacity(READ_SIZE.0 as usize);
        loop {
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return error,
            }
            if let Some(stall) = self.stall {
                stall.sleep_until_end(self.server_start);
            }
            for event in events.drain(..) {
                let done = match event.data.u64() {
                    LISTENER => self.accept(&mut buffer),
                    ARRIVALS => self.receive_arrivals(&mut buffer),
                    index => {
                        self.advance(index as usize, &mut buffer);
                        Ok(())
                    }
                };
                if let Err(error) = done {
                    return error;
                }
            }
        }
    }

    /// Accepts all waiting connections.
    fn accept(&mut self, buffer: &mut Vec<u8>) -> Result<(), Errno> {
        while let Some(acceptor) = &mut self.acceptor {
            match accept_with(&acceptor.listener, SocketFlags::CLOEXEC) {
                Ok(socket) => {
                    let number = acceptor.accepted % acceptor.queues.len();
                    acceptor.accepted += 1;
                    let (sender, arrival_event) = &acceptor.queues[number];
                    if number == 0 {
                        self.open(socket, buffer)?;
                    } else if sender.send(socket).is_ok() {
                        rustix::io::write(arrival_event, &1_u64.to_ne_bytes())?;
                    }
                }
                Err(Errno::AGAIN) => return Ok(()),
                // The other side has already disconnected.
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes the connections that were handed to this thread.
    fn receive_arrivals(&mut self, buffer: &mut Vec<u8>) -> Result<(), Errno> {
        // The event descriptor is reset before the queue is emptied, so that a later connection
        // signals again.
        let _ = rustix::io::read(&self.arrival_event, &mut [0; 8]);
        while let Ok(socket) = self.arrivals.try_recv() {
            self.open(socket, buffer)?;
        }
        Ok(())
    }

    fn open(&mut self, socket: OwnedFd, buffer: &mut Vec<u8>) -> Result<(), Errno> {
        // The end of a long answer must not wait for an acknowledgement of its beginning.
        sockopt::set_tcp_nodelay(&socket, true)?;
        let index = self.free_slots.pop().unwrap_or(self.connections.len());
        // Edge-triggered events report changes only: an answer that has to wait needs no further
        // call to learn of free space.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
        epoll::add(&self.epoll, &socket, epoll::EventData::new_u64(index as u64), flags)?;
        let connection = Some(Connection::new(socket));
        match self.connections.get_mut(index) {
            Some(slot) => *slot = connection,
            None => self.connections.push(connection),
        }
        // The request has often arrived already.
        self.advance(index, buffer);
        Ok(())
    }

    fn advance(&mut self, index: usize, buffer: &mut Vec<u8>) {
        if let Some(connection) = &mut self.connections[index]
            && connection.advance(self.responses, buffer) == ConnectionState::Closed
        {
            // The assignment closes the connection, which also ends its watch. A pending event of
            // this batch finds nothing, or finds the successor, for which an additional call is
            // harmless.
            self.connections[index] = None;
            self.free_slots.push(index);
        }
    }
}
