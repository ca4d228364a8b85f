//! Incremental check of a response: status, length, and on request the body's checksum.
//!
//! This module knows no socket. The caller passes the received bytes, in pieces of any size.

use crc32fast::Hasher;

use super::content::Expected;
use crate::{Checksum, WorkloadError};

/// Maximum length of a head, in bytes: eight times the heads of the servers here. A longer head is
/// invalid.
const MAX_HEAD: usize = 4096;

/// Maximum number of header fields: three times the number that the servers here send.
const MAX_FIELDS: usize = 32;

/// Received part of a response.
#[derive(Debug, Default)]
pub(super) struct Response {
    /// Incomplete head.
    head: Vec<u8>,
    /// Missing bytes of the body, once the head is complete.
    left: Option<u64>,
    /// Whether the server keeps the connection open afterwards.
    stays: bool,
    /// Hasher of the body, if the body is compared.
    hasher: Option<Hasher>,
}

/// Progress of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// More bytes are expected.
    Partial,
    /// The response is complete and correct.
    Whole {
        /// Whether the server keeps the connection open.
        stays: bool,
    },
}

/// Content of the head.
struct Head {
    /// Bytes before the body.
    len: usize,
    body: u64,
    stays: bool,
}

impl Response {
    /// Prepares for the next response. `compare` requests the check of the body's checksum in
    /// addition to its length.
    pub(super) fn begin(&mut self, compare: bool) {
        self.head.clear();
        self.left = None;
        self.hasher = compare.then(Hasher::new);
    }

    /// Whether no byte of the response has arrived.
    pub(super) fn is_untouched(&self) -> bool {
        self.head.is_empty() && self.left.is_none()
    }

    /// Processes the next bytes.
    pub(super) fn take(&mut self, bytes: &[u8], expected: &Expected) -> Result<Progress, WorkloadError> {
        let body = match self.left {
            Some(_) => bytes,
            None => match self.take_head(bytes, expected)? {
                Some(body) => body,
                None => return Ok(Progress::Partial),
            },
        };
        let left = self.left.unwrap_or_default();
        let Some(rest) = left.checked_sub(body.len() as u64) else {
            let all = expected.len - left + body.len() as u64;
            return Err(wrong(
                "length of the body",
                format!("{} bytes", expected.len),
                format!("{all} bytes"),
            ));
        };
        if let Some(hasher) = &mut self.hasher {
            hasher.update(body);
        }
        self.left = Some(rest);
        if rest > 0 {
            return Ok(Progress::Partial);
        }
        if let Some(hasher) = self.hasher.take() {
            let got = Checksum(hasher.finalize());
            if got != expected.checksum {
                return Err(wrong("crc32 of the body", expected.checksum.to_string(), got.to_string()));
            }
        }
        Ok(Progress::Whole { stays: self.stays })
    }

    /// Processes the head and returns the bytes of `bytes` after it; `None` while the head is
    /// incomplete.
    fn take_head<'a>(
        &mut self,
        bytes: &'a [u8],
        expected: &Expected,
    ) -> Result<Option<&'a [u8]>, WorkloadError> {
        // The usual head arrives in one piece and is parsed in place.
        let before = self.head.len();
        if before > 0 {
            self.head.extend_from_slice(bytes);
        }
        let text = if before > 0 { &self.head } else { bytes };
        let Some(head) = read_head(text, expected)? else {
            if text.len() > MAX_HEAD {
                return Err(wrong(
                    "head of a response",
                    "an end".to_owned(),
                    format!("{} bytes", text.len()),
                ));
            }
            if before == 0 {
                self.head.extend_from_slice(bytes);
            }
            return Ok(None);
        };
        self.left = Some(head.body);
        self.stays = head.stays;
        // No earlier piece held the end of the head, since the end would have been found then.
        Ok(Some(&bytes[head.len - before..]))
    }
}

/// Parses the head at the start of `text`; `None` if it is incomplete.
fn read_head(text: &[u8], expected: &Expected) -> Result<Option<Head>, WorkloadError> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    let len = match response.parse(text) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(wrong("head of a response", "HTTP/1.1".to_owned(), error.to_string())),
    };
    if response.code != Some(200) {
        let got = response.code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        return Err(wrong("status of a response", "200".to_owned(), got));
    }
    let field = |name: &str| {
        let found = response.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        found.map(|field| String::from_utf8_lossy(field.value))
    };
    let length = field("content-length");
    let body = match length.as_deref().map(str::trim).map(str::parse) {
        Some(Ok(body)) if body == expected.len => body,
        _ => {
            let got = length.map_or_else(|| "none".to_owned(), |length| format!("{length} bytes"));
            return Err(wrong("content-length of a response", format!("{} bytes", expected.len), got));
        }
    };
    // HTTP/1.0 closes the connection unless the header says otherwise; HTTP/1.1 keeps it (RFC 9112,
    // section 9.3).
    let stays = match field("connection") {
        Some(word) if word.eq_ignore_ascii_case("close") => false,
        Some(word) if word.eq_ignore_ascii_case("keep-alive") => true,
        _ => response.version == Some(1),
    };
    Ok(Some(Head { len, body, stays }))
}

fn wrong(what: &str, expected: String, got: String) -> WorkloadError {
    WorkloadError::Wrong { what: format!("web, {what}"), expected, got }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"0123456789";
    /// `zlib.crc32(b"0123456789")`.
    const EXPECTED: Expected = Expected { len: 10, checksum: Checksum(0xa684_c7c6) };

    fn response(head: &str) -> Vec<u8> {
        [head.replace('\n', "\r\n").as_bytes(), b"\r\n", BODY].concat()
    }

    /// Result of `text` in pieces of `size` bytes.
    fn fed(text: &[u8], size: usize) -> Result<Progress, WorkloadError> {
        let mut response = Response::default();
        response.begin(true);
        let mut progress = Progress::Partial;
        for piece in text.chunks(size) {
            assert_eq!(progress, Progress::Partial, "whole before its end");
            progress = response.take(piece, &EXPECTED)?;
        }
        Ok(progress)
    }

    #[test]
    fn a_response_is_whole_at_its_last_byte_however_it_comes() {
        let text = response("HTTP/1.1 200 OK\nServer: x\nCONTENT-length: 10\n");
        for size in 1..=text.len() {
            assert_eq!(fed(&text, size).unwrap(), Progress::Whole { stays: true }, "pieces of {size}");
        }
        assert_eq!(fed(&text[..text.len() - 1], 7).unwrap(), Progress::Partial);
    }

    #[test]
    fn the_server_says_whether_the_connection_stays() {
        for (head, stays) in [
            ("HTTP/1.1 200 OK\nContent-Length: 10\nConnection: close\n", false),
            ("HTTP/1.1 200 OK\nContent-Length: 10\nConnection: Keep-Alive\n", true),
            ("HTTP/1.0 200 OK\nContent-Length: 10\n", false),
            ("HTTP/1.0 200 OK\nContent-Length: 10\nConnection: keep-alive\n", true),
        ] {
            assert_eq!(fed(&response(head), 1000).unwrap(), Progress::Whole { stays }, "{head}");
        }
    }

    #[test]
    fn everything_wrong_is_found() {
        let mut damaged = response("HTTP/1.1 200 OK\nContent-Length: 10\n");
        *damaged.last_mut().unwrap() = b'8';
        let longer = [response("HTTP/1.1 200 OK\nContent-Length: 10\n").as_slice(), b"x"].concat();
        for (text, reason) in [
            (damaged, "crc32 of the body: expected a684c7c6"),
            (longer, "length of the body: expected 10 bytes, got 11 bytes"),
            (
                response("HTTP/1.1 404 Not Found\nContent-Length: 10\n"),
                "status of a response: expected 200, got 404",
            ),
            (response("HTTP/1.1 200 OK\nContent-Length: 11\n"), "expected 10 bytes, got 11 bytes"),
            (response("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n"), "expected 10 bytes, got none"),
            (b"220 mail.example.org ready\r\n".to_vec(), "head of a response: expected HTTP/1.1"),
            (vec![b' '; 2 * MAX_HEAD], "head of a response"),
        ] {
            let error = fed(&text, text.len()).unwrap_err();
            assert_eq!(error.exit_status(), 1);
            assert!(error.to_string().contains(reason), "{error}");
        }
    }
}
