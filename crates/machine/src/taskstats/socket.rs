//! Netlink socket to which the kernel sends exit records.
//!
//! This module only requests and receives the records; it does not select among them.

use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::netlink::{GENERIC, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use super::message::{Message, attribute, parse, read_u16, request};
use super::record::ExitRecord;

/// `GENL_ID_CTRL`, the family that knows the numbers of the others, with `CTRL_CMD_GETFAMILY`,
/// `CTRL_CMD_NEWFAMILY`, `CTRL_ATTR_FAMILY_ID` and `CTRL_ATTR_FAMILY_NAME`.
const CONTROL: u16 = 16;
const GET_FAMILY: u8 = 3;
const NEW_FAMILY: u8 = 1;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// `TASKSTATS_CMD_GET`, `TASKSTATS_CMD_NEW`, and the attributes that start and stop the records.
const GET: u8 = 1;
const NEW: u8 = 2;
const REGISTER_CPUMASK: u16 = 3;
const DEREGISTER_CPUMASK: u16 = 4;

/// Longest wait for an answer of the kernel. The answer comes within microseconds if the family
/// exists at all.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);

/// Longest wait for the answer to [`probe`], which nothing depends on.
const PROBE_TIMEOUT: Duration = Duration::from_millis(200);

/// Buffer size in bytes, larger than any record: two structures of 416 bytes in version 13.
const MAX_DATAGRAM: usize = 8192;

/// Reason for which exit records are not available.
#[derive(Debug, thiserror::Error)]
pub enum TaskstatsError {
    /// A system call failed.
    #[error("cannot {action}: {error}")]
    Io {
        /// Attempted action.
        action: &'static str,
        /// Reason given by the system.
        error: io::Error,
    },
    /// The kernel has no taskstats.
    #[error("the kernel has no taskstats (CONFIG_TASKSTATS), or this is a network namespace of a container")]
    NoFamily,
    /// The kernel refuses to send exit records.
    #[error("the kernel sends exit records only to root outside of containers (CAP_NET_ADMIN): {0}")]
    Refused(io::Error),
}

/// Asks whether the kernel has the family of taskstats.
///
/// # Errors
/// `ENOENT` without this family; `EAGAIN` without an answer, as in a sandbox that drops the
/// question.
pub fn probe() -> Result<(), Errno> {
    let errno = |error| match error {
        TaskstatsError::Io { error, .. } if error.kind() == io::ErrorKind::TimedOut => Errno::AGAIN,
        TaskstatsError::Io { error, .. } | TaskstatsError::Refused(error) => {
            Errno::from_io_error(&error).unwrap_or(Errno::IO)
        }
        TaskstatsError::NoFamily => Errno::NOENT,
    };
    let socket = netlink_socket(PROBE_TIMEOUT).map_err(errno)?;
    resolve_family(&socket).map(|_| ()).map_err(errno)
}

/// Error that records were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordsLost;

/// Receives the records; stops them when dropped.
#[derive(Debug)]
pub(super) struct Listener {
    socket: OwnedFd,
    family: u16,
    cpus: String,
}

impl Listener {
    /// Requests the records of every CPU that can ever be online; twice `buffer_bytes` bytes may
    /// wait.
    pub(super) fn open(buffer_bytes: usize) -> Result<Self, TaskstatsError> {
        let socket = netlink_socket(REPLY_TIMEOUT)?;
        let family = resolve_family(&socket)?;
        let possible = "/sys/devices/system/cpu/possible";
        let cpus = fs::read_to_string(possible)
            .map_err(|error| TaskstatsError::Io { action: "read the list of possible CPUs", error })?;
        sockopt::set_socket_recv_buffer_size_force(&socket, buffer_bytes)
            .map_err(|error| TaskstatsError::Refused(error.into()))?;
        let listener = Self { socket, family, cpus: cpus.trim().to_owned() };
        listener.request_exits(REGISTER_CPUMASK)?;
        Ok(listener)
    }

    /// Sends a request and receives its answer, together with any records that precede it.
    fn request_exits(&self, attribute: u16) -> Result<(), TaskstatsError> {
        send(&self.socket, &request(self.family, GET, attribute, &self.cpus))?;
        loop {
            // The answer comes at once, among the first records, so the buffer cannot overflow
            // before it.
            let refusal = match receive(&self.socket, RecvFlags::empty(), |message| match message {
                Some(Message::Status(status)) => Some(status),
                _ => None,
            }) {
                Err(Errno::INTR) | Ok(None) => continue,
                Err(error) => return Err(io_error("ask for exit records")(error)),
                Ok(Some(status)) => io::Error::from_raw_os_error(-status),
            };
            return if refusal.raw_os_error() == Some(0) {
                Ok(())
            } else {
                Err(TaskstatsError::Refused(refusal))
            };
        }
    }

    /// Receives all waiting records.
    pub(super) fn drain(&self, mut keep: impl FnMut(ExitRecord)) -> Result<(), RecordsLost> {
        let mut complete = Ok(());
        loop {
            let read = receive(&self.socket, RecvFlags::DONTWAIT, |message| match message {
                Some(Message::Command { family, command: NEW, attributes }) if family == self.family => {
                    ExitRecord::parse(attributes).map(&mut keep)
                }
                // A late answer, which is ignored.
                Some(_) => Some(()),
                None => None,
            });
            match read {
                Ok(Some(())) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return complete,
                // The kernel reports an overflow once, whatever the number of lost records; the
                // records in the buffer follow.
                Err(Errno::NOBUFS) | Ok(None) => complete = Err(RecordsLost),
                Err(_) => return Err(RecordsLost),
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Closing the socket would stop the records too, but only at the next exit on each CPU.
        let _ = send(&self.socket, &request(self.family, GET, DEREGISTER_CPUMASK, &self.cpus));
    }
}

/// Creates a netlink socket on which no wait for the kernel's answer exceeds `timeout`.
fn netlink_socket(timeout: Duration) -> Result<OwnedFd, TaskstatsError> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(GENERIC))
        .map_err(io_error("make a netlink socket"))?;
    rustix::net::bind(&socket, &SocketAddrNetlink::new(0, 0)).map_err(io_error("bind a netlink socket"))?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(timeout))
        .map_err(io_error("bound the wait for a netlink answer"))?;
    Ok(socket)
}

/// Number of the taskstats family on this boot.
fn resolve_family(socket: &OwnedFd) -> Result<u16, TaskstatsError> {
    send(socket, &request(CONTROL, GET_FAMILY, FAMILY_NAME, "TASKSTATS"))?;
    let found = receive(socket, RecvFlags::empty(), |message| match message {
        Some(Message::Command { command: NEW_FAMILY, attributes, .. }) => {
            read_u16(attribute(attributes, FAMILY_ID)?, 0)
        }
        _ => None,
    });
    let family =
        found.map_err(io_error("ask for the family of taskstats"))?.ok_or(TaskstatsError::NoFamily)?;
    // This call receives the acknowledgement that follows the answer.
    receive(socket, RecvFlags::empty(), |_| ()).map_err(io_error("ask for the family of taskstats"))?;
    Ok(family)
}

fn send(socket: &OwnedFd, message: &[u8]) -> Result<(), TaskstatsError> {
    let kernel = SocketAddrNetlink::new(0, 0);
    rustix::net::sendto(socket, message, SendFlags::empty(), &kernel)
        .map(|_| ())
        .map_err(io_error("send a netlink request"))
}

/// Receives one message and passes it to `look`.
fn receive<T>(
    socket: &OwnedFd,
    flags: RecvFlags,
    use_message: impl FnOnce(Option<Message<'_>>) -> T,
) -> Result<T, Errno> {
    let mut buffer = [MaybeUninit::<u8>::uninit(); MAX_DATAGRAM];
    let ((datagram, _), _) = rustix::net::recv(socket, &mut buffer[..], flags)?;
    Ok(use_message(parse(datagram)))
}

fn io_error(action: &'static str) -> impl FnOnce(Errno) -> TaskstatsError {
    move |error| {
        let error = match error {
            Errno::AGAIN => io::Error::new(io::ErrorKind::TimedOut, "the kernel does not answer"),
            error => error.into(),
        };
        TaskstatsError::Io { action, error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No request was sent, so no answer ever comes.
    #[test]
    fn a_silent_kernel_is_not_waited_for() {
        let socket = netlink_socket(Duration::from_millis(1)).unwrap();
        let received = receive(&socket, RecvFlags::empty(), |_| ());
        assert_eq!(received, Err(Errno::AGAIN));
        let error = io_error("ask for exit records")(Errno::AGAIN);
        assert!(matches!(error, TaskstatsError::Io { error, .. } if error.kind() == io::ErrorKind::TimedOut));
    }
}
