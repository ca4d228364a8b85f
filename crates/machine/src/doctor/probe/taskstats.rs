//! Asks generic netlink whether the kernel has the family TASKSTATS (`Documentation/accounting/taskstats.rst`).

use std::time::Duration;

use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};

/// Of `include/uapi/linux/netlink.h` and `genetlink.h`.
const GENL_ID_CTRL: u16 = 16;
const NLM_F_REQUEST: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;

/// `TASKSTATS_GENL_NAME`, with its zero.
const NAME: &[u8; 10] = b"TASKSTATS\0";

/// Whether there is such a family.
pub(in crate::doctor) fn family() -> Result<(), Errno> {
    let socket =
        socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(netlink::GENERIC))?;
    // The kernel answers at once; a sandbox that swallows the question must not hang us.
    set_socket_timeout(&socket, Timeout::Recv, Some(Duration::from_millis(200)))?;
    sendto(&socket, &question(), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0; 4096];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    answered(&answer[..length])
}

/// `struct nlmsghdr`, `struct genlmsghdr` and one attribute, padded to four bytes.
fn question() -> Vec<u8> {
    let mut message = Vec::with_capacity(36);
    message.extend(36_u32.to_ne_bytes());
    message.extend(GENL_ID_CTRL.to_ne_bytes());
    message.extend(NLM_F_REQUEST.to_ne_bytes());
    // Sequence and port: one question, one answer.
    message.extend([0; 8]);
    message.extend([CTRL_CMD_GETFAMILY, 1, 0, 0]);
    message.extend((4 + NAME.len() as u16).to_ne_bytes());
    message.extend(CTRL_ATTR_FAMILY_NAME.to_ne_bytes());
    message.extend(NAME);
    message.extend([0; 2]);
    message
}

/// An answer is an error with its number, or the family.
fn answered(message: &[u8]) -> Result<(), Errno> {
    let kind = message.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    match kind {
        Some(NLMSG_ERROR) => {
            let number = message.get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
            Err(number.map_or(Errno::IO, |number| Errno::from_raw_os_error(-number)))
        }
        Some(_) => Ok(()),
        None => Err(Errno::IO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_is_as_long_as_it_says() {
        let question = question();
        assert_eq!(question.len(), 36);
        assert_eq!(question[..4], 36_u32.to_ne_bytes());
    }

    #[test]
    fn an_error_is_told_from_a_family() {
        let mut message = vec![0; 20];
        message[4..6].copy_from_slice(&NLMSG_ERROR.to_ne_bytes());
        message[16..].copy_from_slice(&(-2_i32).to_ne_bytes());
        assert_eq!(answered(&message), Err(Errno::NOENT));
        message[4..6].copy_from_slice(&GENL_ID_CTRL.to_ne_bytes());
        assert_eq!(answered(&message), Ok(()));
        assert_eq!(answered(&[]), Err(Errno::IO));
    }
}
