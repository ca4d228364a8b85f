//! Generic netlink messages: a header, and attributes that may hold attributes.
//!
//! Written out here because there is so little of it: the crates for netlink know the kernel's routing, not taskstats,
//! and would be a hundred times the code. Formats: include/uapi/linux/netlink.h, genetlink.h. Nothing here does I/O.

/// `NLMSG_HDRLEN` and `GENL_HDRLEN` together.
pub(super) const HEADER: usize = 20;
/// `NLA_HDRLEN`.
const ATTRIBUTE_HEADER: usize = 4;
/// `NLA_TYPE_MASK`: the two bits above are flags.
const TYPE: u16 = 0x3fff;
/// `NLMSG_ERROR`: the kernel's answer to what it refuses, and to what asked for an answer.
const ERROR: u16 = 2;
/// `NLM_F_REQUEST | NLM_F_ACK`.
const REQUEST: u16 = 1 | 4;

/// A message as received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message<'a> {
    /// An answer: 0, or a negated error number.
    Status(i32),
    /// A command of a family, with its attributes.
    Command { family: u16, command: u8, attributes: &'a [u8] },
}

/// A request with one attribute, a text with the zero byte that netlink's strings end in. The kernel answers it.
pub(super) fn request(family: u16, command: u8, attribute: u16, text: &str) -> Vec<u8> {
    let value = [text.as_bytes(), &[0]].concat();
    let attribute_length = ATTRIBUTE_HEADER + value.len();
    let length = HEADER + attribute_length.next_multiple_of(4);
    let mut bytes = Vec::with_capacity(length);
    bytes.extend((length as u32).to_ne_bytes());
    bytes.extend(family.to_ne_bytes());
    bytes.extend(REQUEST.to_ne_bytes());
    // Sequence and port: one request at a time is under way, and the kernel fills in the port.
    bytes.extend([0; 8]);
    // Version 1 of the family's protocol; the two bytes behind it are reserved.
    bytes.extend([command, 1, 0, 0]);
    bytes.extend((attribute_length as u16).to_ne_bytes());
    bytes.extend(attribute.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(length, 0);
    bytes
}

/// The message at the front of a datagram; the kernel puts one in each. None where it is cut short.
pub(super) fn parse(datagram: &[u8]) -> Option<Message<'_>> {
    let length = u32_at(datagram, 0)? as usize;
    let message = datagram.get(..length)?;
    match u16_at(message, 4)? {
        ERROR => Some(Message::Status(u32_at(message, 16)?.cast_signed())),
        family => {
            let attributes = message.get(HEADER..)?;
            Some(Message::Command { family, command: *message.get(16)?, attributes })
        }
    }
}

/// The attributes in `bytes` with their types; ends at one that is cut short.
pub(super) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(rest, 0)?);
        let kind = u16_at(rest, 2)? & TYPE;
        let value = rest.get(ATTRIBUTE_HEADER..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The value of the first attribute of that type.
pub(super) fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(found, _)| *found == kind).map(|(_, value)| value)
}

/// The number of 16 bits at an offset, in the machine's byte order as everything in netlink.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The number of 32 bits at an offset.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The number of 64 bits at an offset.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_reads_back_and_is_padded() {
        let bytes = request(27, 1, 3, "0-63");
        assert_eq!(bytes.len(), HEADER + 12);
        let Some(Message::Command { family: 27, command: 1, attributes: inside }) = parse(&bytes) else {
            panic!("{bytes:?}")
        };
        assert_eq!(attributes(inside).collect::<Vec<_>>(), [(3, &b"0-63\0"[..])]);
        assert_eq!((attribute(inside, 3).map(<[u8]>::len), attribute(inside, 4)), (Some(5), None));
    }

    #[test]
    fn what_is_cut_short_is_nothing() {
        let whole = request(27, 1, 3, "0-63");
        for cut in 0..whole.len() {
            assert_eq!(parse(&whole[..cut]), None);
            assert!(attributes(&whole[HEADER..][..cut.min(8)]).next().is_none());
        }
        // A length of zero must not go round for ever.
        assert_eq!(attributes(&[0; 64]).count(), 0);
    }

    #[test]
    fn refusals_are_negative() {
        let mut bytes = vec![0; 36];
        bytes[..4].copy_from_slice(&36u32.to_ne_bytes());
        bytes[4..6].copy_from_slice(&ERROR.to_ne_bytes());
        bytes[16..20].copy_from_slice(&(-1i32).to_ne_bytes());
        assert_eq!(parse(&bytes), Some(Message::Status(-1)));
    }
}
