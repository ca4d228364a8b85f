//! The embedded server's side of one connection: requests in, responses out. This module knows no
//! other connection and never waits.

use std::io::IoSlice;
use std::os::fd::OwnedFd;

use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags};

use super::content::{Content, FILE_NAME};

/// Maximum length of a request's head, in bytes: nginx's default (`large_client_header_buffers`).
const MAX_REQUEST: usize = 8192;

/// Maximum number of header fields in a request: more than any browser sends.
const MAX_FIELDS: usize = 64;

/// All possible responses, made once. Most kinds have two forms: one keeps the connection open, one
/// closes it.
#[derive(Debug)]
pub(super) struct ResponseSet<'a> {
    ok: [Vec<u8>; 2],
    not_found: [Vec<u8>; 2],
    bad_request: Vec<u8>,
    body: &'a [u8],
}

/// A response that is being sent.
#[derive(Clone, Copy, Debug)]
struct Response<'a> {
    head: &'a [u8],
    body: &'a [u8],
    closes: bool,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection<'a> {
    pub(super) socket: OwnedFd,
    /// Received requests that are not answered yet; the first of them may be incomplete.
    input: Vec<u8>,
    /// Response that is being sent, and the number of its bytes already sent.
    output: Option<(Response<'a>, usize)>,
}

/// Next state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionState {
    /// The connection waits for the other side.
    Waiting,
    /// The connection must be closed.
    Closed,
}

impl<'a> ResponseSet<'a> {
    pub(super) fn new(content: &'a Content) -> Self {
        let head = |status: &str, len: usize, closing: &str| {
            format!("HTTP/1.1 {status}\r\nServer: morecores-work\r\nContent-Length: {len}\r\n{closing}\r\n")
                .into_bytes()
        };
        let both = |status, len| ["", "Connection: close\r\n"].map(|closing| head(status, len, closing));
        let [_, bad_request] = both("400 Bad Request", 0);
        let body = content.bytes();
        Self { ok: both("200 OK", body.len()), not_found: both("404 Not Found", 0), bad_request, body }
    }

    /// Response to the first request in `input`, and the length of that request; `None` if the
    /// request is incomplete.
    fn respond_to(&'a self, input: &[u8]) -> Option<(Response<'a>, usize)> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut request = httparse::Request::new(&mut fields);
        let bad_request = Response { head: &self.bad_request, body: &[], closes: true };
        let len = match request.parse(input) {
            Ok(httparse::Status::Complete(len)) => len,
            Ok(httparse::Status::Partial) if input.len() <= MAX_REQUEST => return None,
            Ok(httparse::Status::Partial) | Err(_) => return Some((bad_request, input.len())),
        };
        let field = |name: &str| request.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        if request.method != Some("GET") || field("content-length").or(field("transfer-encoding")).is_some() {
            // An unexpected body would be mistaken for the next request.
            return Some((bad_request, len));
        }
        let keeps_open = match field("connection") {
            Some(word) => word.value.eq_ignore_ascii_case(b"keep-alive"),
            None => request.version == Some(1),
        };
        let form = usize::from(!keeps_open);
        let is_file = request.path.and_then(|path| path.strip_prefix('/')) == Some(FILE_NAME);
        let response = if is_file {
            Response { head: &self.ok[form], body: self.body, closes: !keeps_open }
        } else {
            Response { head: &self.not_found[form], body: &[], closes: !keeps_open }
        };
        Some((response, len))
    }
}

impl<'a> Connection<'a> {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self { socket, input: Vec::new(), output: None }
    }

    /// Does all work that is possible without waiting. The caller calls it whenever the socket has
    /// become readable or writable.
    pub(super) fn advance(
        &mut self,
        responses: &'a ResponseSet<'a>,
        buffer: &mut Vec<u8>,
    ) -> ConnectionState {
        let mut is_drained = false;
        loop {
            if let Some((response, sent)) = self.output {
                match write(&self.socket, &response, sent) {
                    Ok(written) if sent + written < response.len() => {
                        self.output = Some((response, sent + written))
                    }
                    Ok(_) if response.closes => return ConnectionState::Closed,
                    Ok(_) => self.output = None,
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) => return ConnectionState::Waiting,
                    // A disconnected client is not an error of the server.
                    Err(_) => return ConnectionState::Closed,
                }
            } else if let Some((response, len)) = responses.respond_to(&self.input) {
                self.input.drain(..len);
                self.output = Some((response, 0));
            } else if is_drained {
                return ConnectionState::Waiting;
            } else {
                buffer.clear();
                match rustix::net::recv(&self.socket, spare_capacity(buffer), RecvFlags::DONTWAIT) {
                    Ok((0, _)) => return ConnectionState::Closed,
                    Ok((got, _)) => {
                        self.input.extend_from_slice(buffer);
                        // A partly filled buffer means that all available data was read. A new
                        // event reports more data.
                        is_drained = got < buffer.capacity();
                    }
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) => return ConnectionState::Waiting,
                    Err(_) => return ConnectionState::Closed,
                }
            }
        }
    }
}

impl Response<'_> {
    fn len(&self) -> usize {
        self.head.len() + self.body.len()
    }
}

/// Sends the rest of a response, head and body in one call.
fn write(socket: &OwnedFd, response: &Response<'_>, sent: usize) -> Result<usize, Errno> {
    let head = response.head.get(sent..).unwrap_or_default();
    let body = &response.body[sent.saturating_sub(response.head.len())..];
    let mut ancillary = SendAncillaryBuffer::default();
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    rustix::net::sendmsg(socket, &[IoSlice::new(head), IoSlice::new(body)], &mut ancillary, flags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    /// Response to `requests`, sent in pieces of `size` bytes, and whether the connection was
    /// closed.
    fn exchange(content: &Content, requests: &str, size: usize) -> (Vec<u8>, bool) {
        let responses = ResponseSet::new(content);
        let (mut client, server) = UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        let mut connection = Connection::new(server.into());
        let (mut received, mut next) = (Vec::new(), ConnectionState::Waiting);
        let mut receive = |client: &mut UnixStream| {
            let before = received.len();
            let _ = client.read_to_end(&mut received);
            received.len() > before
        };
        for piece in requests.replace('\n', "\r\n").as_bytes().chunks(size) {
            client.write_all(piece).unwrap();
            next = connection.advance(&responses, &mut Vec::with_capacity(64));
            while receive(&mut client) && next == ConnectionState::Waiting {
                next = connection.advance(&responses, &mut Vec::with_capacity(64));
            }
            if next == ConnectionState::Closed {
                break;
            }
        }
        (received, next == ConnectionState::Closed)
    }

    #[test]
    fn requests_are_answered_in_pieces_of_any_size() {
        // The responses exceed the capacity of a socket's buffer.
        let content = Content::random(1_000_000, 1).unwrap();
        let requests = "GET /file HTTP/1.1\nHost: x\n\n".repeat(3);
        for size in [1, 7, 1000] {
            let (received, closed) = exchange(&content, &requests, size);
            let whole = received.len() / 3;
            assert!(!closed && received.starts_with(b"HTTP/1.1 200 OK\r\n"));
            assert_eq!(received[whole - 1_000_000..whole], *content.bytes(), "pieces of {size}");
            assert_eq!(received, received[..whole].repeat(3));
        }
    }

    #[test]
    fn the_request_decides_status_and_closing() {
        let content = Content::random(10, 1).unwrap();
        for (request, status, closes) in [
            ("GET /file HTTP/1.1\n\n", "200 OK", false),
            ("GET /file HTTP/1.1\nConnection: close\n\n", "200 OK", true),
            ("GET /file HTTP/1.0\n\n", "200 OK", true),
            ("GET /file HTTP/1.0\nConnection: Keep-Alive\n\n", "200 OK", false),
            ("GET /other HTTP/1.1\n\n", "404 Not Found", false),
            ("POST /file HTTP/1.1\n\n", "400 Bad Request", true),
            ("GET /file HTTP/1.1\nContent-Length: 3\n\nGET", "400 Bad Request", true),
            ("no request at all\n\n", "400 Bad Request", true),
            (&"x".repeat(10_000), "400 Bad Request", true),
        ] {
            let (received, closed) = exchange(&content, request, 100_000);
            let text = String::from_utf8_lossy(&received);
            assert!(text.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request}: {text}");
            assert_eq!((closed, text.contains("Connection: close")), (closes, closes), "{request}: {text}");
        }
    }
}
