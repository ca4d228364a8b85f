//! Generic netlink messages: a header, and attributes that may hold attributes.
//!
//! The code is written out because it is so short. The existing netlink crates cover the kernel's
//! routing and not taskstats, and would be a hundred times as long. Formats:
//! include/uapi/linux/netlink.h, genetlink.h. This module does no I/O.

/// Sum of `NLMSG_HDRLEN` and `GENL_HDRLEN`.
pub(super) const HEADER: usize = 20;
/// `NLA_HDRLEN`.
const ATTRIBUTE_HEADER: usize = 4;
/// `NLA_TYPE_MASK`: the two bits above are flags.
const TYPE: u16 = 0x3fff;
/// `NLMSG_ERROR`: the kernel's answer to a request that it refuses, and to a request for an
/// acknowledgement.
const ERROR: u16 = 2;
/// `NLM_F_REQUEST | NLM_F_ACK`.
const REQUEST: u16 = 1 | 4;

/// A received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message<'a> {
    /// An answer: 0, or a negated error number.
    Status(i32),
    /// A command of a family, with its attributes.
    Command { family: u16, command: u8, attributes: &'a [u8] },
}

/// Request with one attribute: a text, with the zero byte that ends netlink's strings. The kernel
/// acknowledges it.
pub(super) fn request(family: u16, command: u8, attribute: u16, text: &str) -> Vec<u8> {
    let value = [text.as_bytes(), &[0]].concat();
    let attribute_length = ATTRIBUTE_HEADER + value.len();
    let length = HEADER + attribute_length.next_multiple_of(4);
    let mut bytes = Vec::with_capacity(length);
    bytes.extend((length as u32).to_ne_bytes());
    bytes.extend(family.to_ne_bytes());
    bytes.extend(REQUEST.to_ne_bytes());
    // Sequence and port are zero: only one request is in progress at a time, and the kernel fills
    // in the port.
    bytes.extend([0; 8]);
    // The family's protocol has version 1; the following two bytes are reserved.
    bytes.extend([command, 1, 0, 0]);
    bytes.extend((attribute_length as u16).to_ne_bytes());
    bytes.extend(attribute.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(length, 0);
    bytes
}

/// Parses the message at the front of a datagram; the kernel puts one in each. `None` if the
/// message is truncated.
pub(super) fn parse(datagram: &[u8]) -> Option<Message<'_>> {
    let length = read_u32(datagram, 0)? as usize;
    let message = datagram.get(..length)?;
    match read_u16(message, 4)? {
        ERROR => Some(Message::Status(read_u32(message, 16)?.cast_signed())),
        family => {
            let attributes = message.get(HEADER..)?;
            Some(Message::Command { family, command: *message.get(16)?, attributes })
        }
    }
}

/// Attributes in `bytes` with their types; the iteration ends at a truncated attribute.
pub(super) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = usize::from(read_u16(rest, 0)?);
        let kind = read_u16(rest, 2)? & TYPE;
        let value = rest.get(ATTRIBUTE_HEADER..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// Value of the first attribute of the given type.
pub(super) fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(found, _)| *found == kind).map(|(_, value)| value)
}

/// 16-bit number at an offset, in the machine's byte order like all numbers in netlink.
pub(super) fn read_u16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// 32-bit number at an offset.
pub(super) fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// 64-bit number at an offset.
pub(super) fn read_u64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_padded_and_parses_again() {
        let bytes = request(27, 1, 3, "0-63");
        assert_eq!(bytes.len(), HEADER + 12);
        let Some(Message::Command { family: 27, command: 1, attributes: inside }) = parse(&bytes) else {
            panic!("{bytes:?}")
        };
        assert_eq!(attributes(inside).collect::<Vec<_>>(), [(3, &b"0-63\0"[..])]);
        assert_eq!((attribute(inside, 3).map(<[u8]>::len), attribute(inside, 4)), (Some(5), None));
    }

    #[test]
    fn a_truncated_message_is_ignored() {
        let whole = request(27, 1, 3, "0-63");
        for cut in 0..whole.len() {
            assert_eq!(parse(&whole[..cut]), None);
            assert!(attributes(&whole[HEADER..][..cut.min(8)]).next().is_none());
        }
        // A length of zero must not cause an endless loop.
        assert_eq!(attributes(&[0; 64]).count(), 0);
    }

    #[test]
    fn a_refusal_has_a_negative_error_number() {
        let mut bytes = vec![0; 36];
        bytes[..4].copy_from_slice(&36u32.to_ne_bytes());
        bytes[4..6].copy_from_slice(&ERROR.to_ne_bytes());
        bytes[16..20].copy_from_slice(&(-1i32).to_ne_bytes());
        assert_eq!(parse(&bytes), Some(Message::Status(-1)));
    }
}
