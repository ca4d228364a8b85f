//! The supervisor's end of the filter: receives the calls of the build and answers them.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

use libc::{seccomp_notif, seccomp_notif_resp};

use crate::filter::Filter;

/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP` of `linux/seccomp.h`, since Linux 6.6: the supervisor is
/// woken on the CPU of the caller.
const SYNC_WAKE_UP: u64 = 1;

/// Bytes beside a descriptor on its way through a socket.
pub(crate) type Note = [u8; 4];

/// Sends a descriptor through a socket. Allowed between `fork` and `exec`: it allocates nothing.
pub(crate) fn send_descriptor(socket: impl AsFd, descriptor: &OwnedFd) -> io::Result<()> {
    let descriptors = [descriptor.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(socket, &[IoSlice::new(&Note::default())], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Receives a descriptor, or a note of the other side in its place.
pub(crate) fn receive_descriptor(socket: impl AsFd) -> io::Result<Result<OwnedFd, Note>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut note = Note::default();
    let received = recvmsg(socket, &mut [IoSliceMut::new(&mut note)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let descriptor = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    match descriptor {
        Some(descriptor) => Ok(Ok(descriptor)),
        None if received.bytes == note.len() => Ok(Err(note)),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Lets a command show the calls of a filter. The descriptor that receives them comes through the
/// returned socket before the command has started.
#[allow(unsafe_code)]
pub(crate) fn show_calls(command: &mut Command, filter: Filter) -> io::Result<UnixStream> {
    let (own, other) = UnixStream::pair()?;
    // SAFETY: between fork and exec the closure makes system calls only; it allocates nothing.
    unsafe { command.pre_exec(move || send_descriptor(&other, &filter.install()?)) };
    Ok(own)
}

/// One system call of a process of the build, which waits for its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Notification {
    id: u64,
    /// Thread that calls. For a process with one thread this is the process.
    pub(crate) pid: i32,
    /// Number of the call.
    pub(crate) number: i64,
    /// Its arguments.
    pub(crate) arguments: [u64; 6],
    /// Address behind the instruction that calls.
    pub(crate) instruction: u64,
}

#[cfg(test)]
impl Notification {
    pub(crate) fn for_test(number: i64, arguments: [u64; 6]) -> Self {
        Self { id: 0, pid: 1, number, arguments, instruction: 0 }
    }
}

/// Answer to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The kernel performs the call.
    Continue,
    /// The call returns this value; an error is a negative number.
    Return(i64),
}

/// The receiving descriptor.
#[derive(Debug)]
pub(crate) struct Listener(OwnedFd);

impl Listener {
    #[allow(unsafe_code)]
    pub(crate) fn new(descriptor: OwnedFd) -> Self {
        // Older kernels refuse it, which only costs time.
        // SAFETY: the descriptor is open, and this request takes its argument by value.
        unsafe { libc::ioctl(descriptor.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP) };
        Self(descriptor)
    }

    /// Whether programs with the filter are left.
    pub(crate) fn is_in_use(&self) -> bool {
        let mut polled = [PollFd::new(&self.0, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        !(poll(&mut polled, Some(&now)).is_ok() && polled[0].revents().contains(PollFlags::HUP))
    }

    /// Waits for a call. Returns `false` once no program with the filter is left.
    pub(crate) fn wait(&self) -> io::Result<bool> {
        let mut polled = [PollFd::new(&self.0, PollFlags::IN)];
        match poll(&mut polled, None) {
            Ok(_) | Err(Errno::INTR) => Ok(!polled[0].revents().contains(PollFlags::HUP)),
            Err(error) => Err(error.into()),
        }
    }

    /// Next call; `None` if its process is gone or a signal interrupted it.
    #[allow(unsafe_code)]
    pub(crate) fn receive(&self) -> Option<Notification> {
        // SAFETY: all fields are integers. The kernel demands zeros.
        let mut call: seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptor is open and `call` is writable and of the size in the request.
        let result =
            unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call) };
        (result == 0).then(|| Notification {
            id: call.id,
            pid: call.pid as i32,
            number: i64::from(call.data.nr),
            arguments: call.data.args,
            instruction: call.data.instruction_pointer,
        })
    }

    /// Answers a call. A call whose process is gone, or that a signal has interrupted, needs none.
    #[allow(unsafe_code)]
    pub(crate) fn answer(&self, call: &Notification, answer: Answer) {
        // SAFETY: all fields are integers.
        let mut response: seccomp_notif_resp = unsafe { std::mem::zeroed() };
        response.id = call.id;
        match answer {
            Answer::Continue => response.flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
            Answer::Return(value) if value < 0 => response.error = value as i32,
            Answer::Return(value) => response.val = value,
        }
        // SAFETY: the descriptor is open and `response` is of the size in the request.
        let _ = unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut response) };
    }

    /// Whether the process still waits for the answer. What was read of its memory before is only
    /// then known to be its own.
    #[allow(unsafe_code)]
    pub(crate) fn is_valid(&self, call: &Notification) -> bool {
        // SAFETY: the descriptor is open and the id is readable.
        let result = unsafe {
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const call.id)
        };
        result == 0
    }
}

impl From<Listener> for OwnedFd {
    fn from(listener: Listener) -> Self {
        listener.0
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
