//! Incremental check of a response: status, length, and on request the body's checksum.
//!
//! This module knows no socket. The caller passes the received bytes, in pieces of any size.

use crc32fast::Hasher;

use super::content::ExpectedBody;
use crate::{Checksum, WorkloadError};

/// Maximum length of a head, in bytes: eight times the heads of the servers here. A longer head is
/// invalid.
const MAX_HEAD: usize = 4096;

/// Maximum number of header fields: three times the number that the servers here send.
const MAX_FIELDS: usize = 32;

/// Received part of a response.
#[derive(Debug, Default)]
pub(super) struct ResponseCheck {
    /// Incomplete head.
    head: Vec<u8>,
    /// Missing bytes of the body, once the head is complete.
    remaining: Option<u64>,
    /// Whether the server keeps the connection open afterwards.
    keeps_open: bool,
    /// Hasher of the body, if the body is compared.
    hasher: Option<Hasher>,
}

/// Progress of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// More bytes are expected.
    Partial,
    /// The response is complete and correct.
    Complete {
        /// Whether the server keeps the connection open.
        keeps_open: bool,
    },
}

/// Content of the head.
struct Head {
    /// Bytes before the body.
    len: usize,
    body: u64,
    keeps_open: bool,
}

impl ResponseCheck {
    /// Prepares for the next response. `compare` requests the check of the body's checksum in
    /// addition to its length.
    pub(super) fn reset(&mut self, compare: bool) {
        self.head.clear();
        self.remaining = None;
        self.hasher = compare.then(Hasher::new);
    }

    /// Whether no byte of the response has arrived.
    pub(super) fn is_untouched(&self) -> bool {
        self.head.is_empty() && self.remaining.is_none()
    }

    /// Processes the next bytes.
    pub(super) fn check_bytes(
        &mut self,
        bytes: &[u8],
        expected: &ExpectedBody,
    ) -> Result<Progress, WorkloadError> {
        let body = match self.remaining {
            Some(_) => bytes,
            None => match self.check_head(bytes, expected)? {
                Some(body) => body,
                None => return Ok(Progress::Partial),
            },
        };
        let remaining = self.remaining.unwrap_or_default();
        let Some(rest) = remaining.checked_sub(body.len() as u64) else {
            let all = expected.len - remaining + body.len() as u64;
            return Err(wrong_result(
                "length of the body",
                format!("{} bytes", expected.len),
                format!("{all} bytes"),
            ));
        };
        if let Some(hasher) = &mut self.hasher {
            hasher.update(body);
        }
        self.remaining = Some(rest);
        if rest > 0 {
            return Ok(Progress::Partial);
        }
        if let Some(hasher) = self.hasher.take() {
            let got = Checksum(hasher.finalize());
            if got != expected.checksum {
                return Err(wrong_result(
                    "crc32 of the body",
                    expected.checksum.to_string(),
                    got.to_string(),
                ));
            }
        }
        Ok(Progress::Complete { keeps_open: self.keeps_open })
    }

    /// Processes the head and returns the bytes of `bytes` after it; `None` while the head is
    /// incomplete.
    fn check_head<'a>(
        &mut self,
        bytes: &'a [u8],
        expected: &ExpectedBody,
    ) -> Result<Option<&'a [u8]>, WorkloadError> {
        // The usual head arrives in one piece and is parsed in place.
        let before = self.head.len();
        if before > 0 {
            self.head.extend_from_slice(bytes);
        }
        let text = if before > 0 { &self.head } else { bytes };
        let Some(head) = parse_head(text, expected)? else {
            if text.len() > MAX_HEAD {
                return Err(wrong_result(
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
        self.remaining = Some(head.body);
        self.keeps_open = head.keeps_open;
        // No earlier piece held the end of the head, since the end would have been found then.
        Ok(Some(&bytes[head.len - before..]))
    }
}

/// Parses the head at the start of `text`; `None` if it is incomplete.
fn parse_head(text: &[u8], expected: &ExpectedBody) -> Result<Option<Head>, WorkloadError> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    let len = match response.parse(text) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => {
            return Err(wrong_result("head of a response", "HTTP/1.1".to_owned(), error.to_string()));
        }
    };
    if response.code != Some(200) {
        let got = response.code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        return Err(wrong_result("status of a response", "200".to_owned(), got));
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
            return Err(wrong_result("content-length of a response", format!("{} bytes", expected.len), got));
        }
    };
    // HTTP/1.0 closes the connection unless the header says otherwise; HTTP/1.1 keeps it (RFC 9112,
    // section 9.3).
    let keeps_open = match field("connection") {
        Some(word) if word.eq_ignore_ascii_case("close") => false,
        Some(word) if word.eq_ignore_ascii_case("keep-alive") => true,
        _ => response.version == Some(1),
    };
    Ok(Some(Head { len, body, keeps_open }))
}

fn wrong_result(what: &str, expected: String, got: String) -> WorkloadError {
    WorkloadError::WrongResult { what: format!("web, {what}"), expected, got }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"0123456789";
    /// `zlib.crc32(b"0123456789")`.
    const EXPECTED: ExpectedBody = ExpectedBody { len: 10, checksum: Checksum(0xa684_c7c6) };

    fn response(head: &str) -> Vec<u8> {
        [head.replace('\n', "\r\n").as_bytes(), b"\r\n", BODY].concat()
    }

    /// Result of `text` in pieces of `size` bytes.
    fn check_in_pieces(text: &[u8], size: usize) -> Result<Progress, WorkloadError> {
        let mut response = ResponseCheck::default();
        response.reset(true);
        let mut progress = Progress::Partial;
        for piece in text.chunks(size) {
            assert_eq!(progress, Progress::Partial, "whole before its end");
            progress = response.check_bytes(piece, &EXPECTED)?;
        }
        Ok(progress)
    }

    #[test]
    fn a_response_is_complete_at_its_last_byte_in_pieces_of_any_size() {
        let text = response("HTTP/1.1 200 OK\nServer: x\nCONTENT-length: 10\n");
        for size in 1..=text.len() {
            assert_eq!(
                check_in_pieces(&text, size).unwrap(),
                Progress::Complete { keeps_open: true },
                "pieces of {size}"
            );
        }
        assert_eq!(check_in_pieces(&text[..text.len() - 1], 7).unwrap(), Progress::Partial);
    }

    #[test]
    fn the_server_says_whether_the_connection_stays() {
        for (head, keeps_open) in [
            ("HTTP/1.1 200 OK\nContent-Length: 10\nConnection: close\n", false),
            ("HTTP/1.1 200 OK\nContent-Length: 10\nConnection: Keep-Alive\n", true),
            ("HTTP/1.0 200 OK\nContent-Length: 10\n", false),
            ("HTTP/1.0 200 OK\nContent-Length: 10\nConnection: keep-alive\n", true),
        ] {
            assert_eq!(
                check_in_pieces(&response(head), 1000).unwrap(),
                Progress::Complete { keeps_open },
                "{head}"
            );
        }
    }

    #[test]
    fn every_wrong_response_is_found() {
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
            let error = check_in_pieces(&text, text.len()).unwrap_err();
            assert_eq!(error.exit_status(), 1);
            assert!(error.to_string().contains(reason), "{error}");
        }
    }
}
