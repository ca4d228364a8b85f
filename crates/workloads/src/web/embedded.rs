//! The embedded server: one file from memory to many connections, by threads with an epoll each.
//!
//! It serves what this workload needs of HTTP/1.1 (RFC 9112): GET of one file, on connections that stay or are closed.
//! What process it runs in, and when it ends, is the caller's business.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use morecores_study::{Bytes, Nanos};
use rustix::buffer::spare_capacity;
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, sockopt};

use super::answer::{Answers, Connection, Next};
use super::content::Content;
use super::stall::Stall;
use crate::clock::now;
use crate::{WorkloadError, team};

/// Events taken from the kernel at once.
const EVENTS: usize = 256;

/// What is read at once: many times a request.
const BUFFER: Bytes = Bytes::from_kib(16);

/// What an event is about where it is not a connection, whose number is its index.
const LISTENER: u64 = u64::MAX;
const DESK: u64 = u64::MAX - 1;

/// One thread of the server.
struct Worker<'a> {
    epoll: OwnedFd,
    /// New connections for this thread.
    arrivals: Receiver<OwnedFd>,
    /// Readable when there are some.
    bell: Arc<OwnedFd>,
    /// The first thread alone: it accepts, and hands the connections round, so that each thread has as many as the
    /// others (with a listening socket each, chance would decide).
    door: Option<Door>,
    connections: Vec<Option<Connection<'a>>>,
    free: Vec<usize>,
    answers: &'a Answers<'a>,
    stall: Option<Stall>,
    begun: Nanos,
}

/// Where connections come in.
struct Door {
    listener: OwnedFd,
    desks: Vec<(Sender<OwnedFd>, Arc<OwnedFd>)>,
    accepted: usize,
}

/// Serves until the process ends; comes back only with the reason why it cannot. `listener` is not to block.
pub(super) fn serve(
    listener: OwnedFd,
    content: &Content,
    workers: usize,
    stall: Option<Stall>,
) -> WorkloadError {
    let answers = Answers::new(content);
    let ends =
        workers_of(listener, &answers, workers, stall).map_err(|error| trouble(&error)).and_then(|workers| {
            team::run("web-server", workers.into_iter().map(|worker| move || worker.run()).collect())
        });
    match ends {
        Err(error) => error,
        Ok(ends) => trouble(ends.first().unwrap_or(&Errno::INVAL)),
    }
}

fn trouble(error: &Errno) -> WorkloadError {
    WorkloadError::Failed { program: "the embedded web server".to_owned(), reason: error.to_string() }
}

/// The threads, not yet started.
fn workers_of<'a>(
    listener: OwnedFd,
    answers: &'a Answers<'a>,
    count: usize,
    stall: Option<Stall>,
) -> Result<Vec<Worker<'a>>, Errno> {
    let begun = now();
    let (mut workers, mut desks) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for _ in 0..count {
        let (sender, arrivals) = channel();
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &bell, epoll::EventData::new_u64(DESK), epoll::EventFlags::IN)?;
        desks.push((sender, Arc::clone(&bell)));
        let (connections, free) = (Vec::new(), Vec::new());
        workers.push(Worker { epoll, arrivals, bell, door: None, connections, free, answers, stall, begun });
    }
    if let Some(first) = workers.first_mut() {
        epoll::add(&first.epoll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
        first.door = Some(Door { listener, desks, accepted: 0 });
    }
    Ok(workers)
}

impl Worker<'_> {
    /// Its life; the reason why it ended.
    fn run(mut self) -> Errno {
        let mut events = Vec::with_capacity(EVENTS);
        let mut buffer = Vec::with_capacity(BUFFER.0 as usize);
        loop {
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return error,
            }
            if let Some(stall) = self.stall {
                stall.pass(self.begun);
            }
            for event in events.drain(..) {
                let done = match event.data.u64() {
                    LISTENER => self.accept(&mut buffer),
                    DESK => self.welcome(&mut buffer),
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

    /// Lets in all who wait at the door.
    fn accept(&mut self, buffer: &mut Vec<u8>) -> Result<(), Errno> {
        while let Some(door) = &mut self.door {
            match accept_with(&door.listener, SocketFlags::CLOEXEC) {
                Ok(socket) => {
                    let number = door.accepted % door.desks.len();
                    door.accepted += 1;
                    let (desk, bell) = &door.desks[number];
                    if number == 0 {
                        self.open(socket, buffer)?;
                    } else if desk.send(socket).is_ok() {
                        rustix::io::write(bell, &1_u64.to_ne_bytes())?;
                    }
                }
                Err(Errno::AGAIN) => return Ok(()),
                // The other side has gone again.
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes the connections that were handed over.
    fn welcome(&mut self, buffer: &mut Vec<u8>) -> Result<(), Errno> {
        // The bell is silent before the desk is cleared: who comes afterwards rings again.
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        while let Ok(socket) = self.arrivals.try_recv() {
            self.open(socket, buffer)?;
        }
        Ok(())
    }

    fn open(&mut self, socket: OwnedFd, buffer: &mut Vec<u8>) -> Result<(), Errno> {
        // The end of a long answer is not to wait for an acknowledgement of its beginning.
        sockopt::set_tcp_nodelay(&socket, true)?;
        let index = self.free.pop().unwrap_or(self.connections.len());
        // Told of changes alone: an answer that has to wait needs no further call to be told of room.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
        epoll::add(&self.epoll, &socket, epoll::EventData::new_u64(index as u64), flags)?;
        let connection = Some(Connection::new(socket));
        match self.connections.get_mut(index) {
            Some(place) => *place = connection,
            None => self.connections.push(connection),
        }
        // The request is often there already.
        self.advance(index, buffer);
        Ok(())
    }

    fn advance(&mut self, index: usize, buffer: &mut Vec<u8>) {
        if let Some(connection) = &mut self.connections[index]
            && connection.advance(self.answers, buffer) == Next::Ends
        {
            // Closed by that, and with that no longer watched. An event of it that is still to come this time finds
            // nothing, or its successor, which bears being called once too often.
            self.connections[index] = None;
            self.free.push(index);
        }
    }
}
