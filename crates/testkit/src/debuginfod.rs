//! Server of debug files on the loopback interface, as debuginfod is one, and its client program.
//! The protocol is that of `debuginfod(8)`: `GET /buildid/BUILDID/debuginfo`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{env, thread};

use crate::{report_skip, write_script};

/// Response of the server to requests for one debug file.
#[derive(Clone, Debug)]
pub enum DebuginfodResponse {
    /// This file.
    File(Vec<u8>),
    /// This status of HTTP, without a file.
    Status(u16),
    /// Nothing: the connection stays open.
    Silence,
}

/// Server of debug files. It serves until the process ends.
#[derive(Debug)]
pub struct DebuginfodServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl DebuginfodServer {
    /// Starts a server with these responses by build identifier. It answers all other requests with
    /// status 404.
    ///
    /// # Panics
    /// Panics if the loopback interface has no free port.
    pub fn start(responses: BTreeMap<String, DebuginfodResponse>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&requests);
        thread::spawn(move || {
            let mut silent = Vec::new();
            for connection in listener.incoming().flatten() {
                let Some(path) = request_path(&connection) else { continue };
                noted.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
                let build_id = path.strip_prefix("/buildid/").and_then(|id| id.strip_suffix("/debuginfo"));
                match build_id.and_then(|id| responses.get(id)) {
                    Some(DebuginfodResponse::File(bytes)) => respond(&connection, 200, bytes),
                    Some(DebuginfodResponse::Status(status)) => respond(&connection, *status, b""),
                    Some(DebuginfodResponse::Silence) => silent.push(connection),
                    None => respond(&connection, 404, b""),
                }
            }
        });
        Self { address, requests }
    }

    /// Value of `DEBUGINFOD_URLS` for this server.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Paths of the requests so far.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Variables for a client of this server, with a cache in a folder. They override those of the
    /// user.
    pub fn client_variables(&self, folder: &Path) -> Vec<(&'static str, String)> {
        let folder = folder.to_string_lossy();
        vec![
            ("DEBUGINFOD_URLS", self.url()),
            ("DEBUGINFOD_CACHE_PATH", format!("{folder}/debuginfod-cache")),
            ("HOME", folder.to_string()),
            ("XDG_CACHE_HOME", format!("{folder}/cache")),
            ("no_proxy", "127.0.0.1".to_owned()),
        ]
    }

    /// Writes a script that runs the client with [`client_variables`](Self::client_variables), and
    /// returns its path.
    pub fn write_client(&self, client: &Path, folder: &Path) -> PathBuf {
        let variables = self.client_variables(folder).into_iter();
        let variables: Vec<String> = variables.map(|(name, value)| format!("{name}='{value}'")).collect();
        let script = folder.join("debuginfod-find");
        let text = format!("#!/bin/sh\n{} exec {} \"$@\"\n", variables.join(" "), client.display());
        write_script(&script, &text);
        script
    }
}

/// Path of the client program `debuginfod-find`; notes the test as skipped if there is none.
pub fn debuginfod_client(test: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let client =
        env::split_paths(&path).map(|folder| folder.join("debuginfod-find")).find(|file| file.exists());
    if client.is_none() {
        report_skip(test, "there is no debuginfod-find; install it with: tools/install-deps.sh check");
    }
    client
}

/// Path in the first line of a request, after all lines of its head.
fn request_path(connection: &TcpStream) -> Option<String> {
    let mut lines = BufReader::new(connection).lines().map_while(Result::ok);
    let first = lines.next()?;
    lines.find(String::is_empty)?;
    first.strip_prefix("GET ")?.split(' ').next().map(str::to_owned)
}

fn respond(mut connection: &TcpStream, status: u16, body: &[u8]) {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    // A client that has gone needs no response.
    let _ = connection.write_all(head.as_bytes()).and_then(|()| connection.write_all(body));
}
