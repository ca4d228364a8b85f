//! `web`.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use morecores_testkit::{TestGroup, report_skip, skips_group, wait_until};
use rustix::process::{Pid, Signal, geteuid};

use crate::{assert_refused, output, word_after, work};

/// Each server, its program, and the package of the program.
const SERVERS: [(&str, Option<(&str, &str)>); 4] = [
    ("embedded", None),
    ("nginx", Some(("/usr/sbin/nginx", "nginx"))),
    ("apache-event", Some(("/usr/sbin/apache2", "apache2-bin"))),
    ("apache-prefork", Some(("/usr/sbin/apache2", "apache2-bin"))),
];

/// The installed servers. A missing server must report its package. morecores' own server is always
/// present.
fn installed_servers(test: &str) -> Vec<&'static str> {
    if skips_group(test, TestGroup::Servers) {
        return vec!["embedded"];
    }
    let mut missing = Vec::new();
    for (server, needs) in SERVERS {
        if let Some((program, package)) = needs
            && !Path::new(program).is_file()
        {
            let advice = format!("install it with: apt-get install {package}");
            assert_refused(&[(&format!("web --server {server}"), &advice)]);
            missing.push(server);
        }
    }
    if !missing.is_empty() {
        report_skip(test, &format!("in part: not installed: {}", missing.join(", ")));
    }
    SERVERS.iter().map(|(server, _)| *server).filter(|server| !missing.contains(server)).collect()
}

/// The number after `name` in a result.
fn figure(line: &str, name: &str) -> f64 {
    word_after(line, name).trim_end_matches(',').parse().unwrap()
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

fn is_answering(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// A directory for `$TMPDIR` that every user may enter. It must be empty when it is dropped, and is
/// then removed.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("web-test-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        Self(path)
    }

    fn is_empty(&self) -> bool {
        fs::read_dir(&self.0).unwrap().next().is_none()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let empty = self.is_empty();
        let _ = fs::remove_dir_all(&self.0);
        assert!(empty || thread::panicking(), "something was left behind in {}", self.0.display());
    }
}

/// A server for other clients, ended when the value is dropped.
struct TestServer(Child, u16);

impl TestServer {
    fn start(arguments: &str) -> Self {
        let port = free_port();
        let mut command = Command::new(env!("CARGO_BIN_EXE_morecores-work"));
        command.args(["web", "--clients", "0", "--port", &port.to_string()]);
        let child = command.args(arguments.split_whitespace()).spawn().unwrap();
        wait_until("a server for others answers", || is_answering(port));
        Self(child, port)
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn every_server_gives_the_same_file_for_every_number_of_threads() {
    let scratch = Scratch::new("servers");
    let servers = installed_servers("every_server_gives_the_same_file_for_every_number_of_threads");
    let mut checksums = Vec::new();
    for server in servers {
        for more in [
            "--threads 1",
            "--threads 2",
            "--threads 2 --clients 3 --keep-alive 7",
            "--rate 2000",
            // Each connection is accepted before its first request.
            "--connections 300",
        ] {
            let arguments = format!("web --server {server} --requests 1000 --compare 1 {more}");
            let assert = work(&arguments).env("TMPDIR", &scratch.0).assert().success().stderr("");
            let line = String::from_utf8_lossy(&assert.get_output().stdout).into_owned();
            assert!(line.starts_with(&format!("web: {server}, 15 KiB, 1000 requests")), "{line}");
            checksums.push(word_after(&line, "crc32").to_owned());
            assert!(scratch.is_empty(), "{arguments}");
        }
    }
    // The reference is `zlib.crc32` of the file that curl received from nginx.
    assert!(checksums.iter().all(|checksum| checksum == "76070b28"), "{checksums:?}");
}

#[test]
fn a_server_is_found_and_numbers_are_next_to_their_units() {
    let line = output("web --threads 2 --requests 5000");
    let words: Vec<_> = line.split_whitespace().collect();
    let unit = words.iter().position(|word| *word == "requests/s,").unwrap();
    assert!(words[unit - 1].parse::<f64>().unwrap() > 0.0, "{line}");
    let percentiles = ["p50", "p90", "p99", "p99.9", "max"].map(|name| figure(&line, name));
    assert!(percentiles.is_sorted() && percentiles[0] > 0.0, "{line}");
    assert!(line.contains("closed loop") && line.lines().count() == 1, "{line}");
}

#[test]
fn large_files_and_odd_shares_come_whole() {
    for arguments in [
        "--server embedded --file 5000 --requests 50 --connections 3 --compare 1",
        "--server embedded --requests 101 --connections 7 --clients 3 --threads 3 --keep-alive 1",
        "--server embedded --requests 1 --connections 1",
        // There are more connections than requests.
        "--server embedded --requests 10 --connections 300 --keep-alive 2",
    ] {
        output(&format!("web {arguments}"));
    }
}

#[test]
fn an_open_loop_sees_a_stall() {
    // The requests take three periods of 400 ms with a stall of 200 ms each. A request that is due
    // t before the end of a stall takes at least t. The share that takes longer than t is therefore
    // at least (200 ms - t) / 400 ms: 10% take 160 ms, 1% 196 ms. A slow machine only makes them
    // longer.
    let open = output("web --server embedded --stall 400,200 --connections 8 --rate 1000 --requests 1200");
    let (p90, p99, max) = (figure(&open, "p90"), figure(&open, "p99"), figure(&open, "max"));
    assert!(p90 >= 155.0 && p99 >= 190.0 && max >= 198.0, "{open}");
}

#[test]
fn a_port_in_use_is_one_clear_line() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    for server in installed_servers("a_port_in_use_is_one_clear_line") {
        let assert = work(&format!("web --server {server} --port {port}")).assert().code(2).stdout("");
        let error = String::from_utf8_lossy(&assert.get_output().stderr);
        assert!(error.contains(&format!("port {port} on 127.0.0.1 cannot be had")), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn a_server_that_cannot_enter_tmpdir_is_one_clear_line() {
    const NAME: &str = "a_server_that_cannot_enter_tmpdir_is_one_clear_line";
    if !geteuid().is_root() {
        return report_skip(NAME, "needs root, whose Apache serves as another user");
    }
    if !installed_servers(NAME).contains(&"apache-event") {
        return;
    }
    let scratch = Scratch::new("closed");
    fs::set_permissions(&scratch.0, PermissionsExt::from_mode(0o700)).unwrap();
    let assert = work("web --server apache-event").env("TMPDIR", &scratch.0).assert().code(2).stdout("");
    let error = String::from_utf8_lossy(&assert.get_output().stderr);
    assert!(error.contains("set TMPDIR to a directory that everybody may enter"), "{error}");
}

#[test]
fn nothing_is_left_when_it_is_interrupted_or_killed() {
    let servers = installed_servers("nothing_is_left_when_it_is_interrupted_or_killed");
    // The servers run concurrently, since orphans disappear only when the process that adopts them
    // checks.
    thread::scope(|scope| {
        for server in servers {
            for signal in [Signal::INT, Signal::KILL] {
                scope.spawn(move || check_end_by(server, signal));
            }
        }
    });
}

/// Ends a run of this server by that signal, and waits until nothing of the run is left.
fn check_end_by(server: &str, signal: Signal) {
    let scratch = Scratch::new(&format!("{server}-{}", signal.as_raw()));
    let (mut child, port) = start_server(server, &scratch);
    rustix::process::kill_process(Pid::from_child(&child), signal).unwrap();
    child.wait().unwrap();
    wait_until("the server is gone", || !is_answering(port) && scratch.is_empty());
}

/// Starts a server, with its port. Another test may take a free port first: the program then ends,
/// and is started again.
fn start_server(server: &str, scratch: &Scratch) -> (Child, u16) {
    for _ in 0..5 {
        let port = free_port();
        let mut command = Command::new(env!("CARGO_BIN_EXE_morecores-work"));
        command.args(["web", "--server", server, "--requests", "4000000000", "--threads", "2"]);
        command.args(["--port", &port.to_string()]).env("TMPDIR", &scratch.0).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut has_ended = false;
        wait_until("the server answers or ends", || {
            has_ended = child.try_wait().unwrap().is_some();
            has_ended || is_answering(port)
        });
        if !has_ended {
            return (child, port);
        }
    }
    panic!("{server} ended five times before it answered");
}

/// Answers connections for ever. The first `right` of all requests get another server's answer, the
/// others that answer with its last byte changed. Each connection is closed without notice after
/// `each` answers.
fn start_imitation(port: u16, each: usize, right: usize) -> u16 {
    let ask = |request: &[u8]| {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.write_all(request).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        // Only this answer should close the connection.
        String::from_utf8_lossy(&answer).find("Connection: close\r\n").map(|at| answer.drain(at..at + 19));
        answer
    };
    let good = ask(b"GET /file HTTP/1.1\r\nConnection: close\r\n\r\n");
    let mut bad = good.clone();
    *bad.last_mut().unwrap() ^= 1;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut served = 0;
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            for _ in 0..each {
                // A request is small, so it arrives in one piece.
                if stream.read(&mut [0; 4096]).unwrap_or(0) == 0 {
                    break;
                }
                served += 1;
                let _ = stream.write_all(if served <= right { &good } else { &bad });
            }
        }
    });
    port
}

#[test]
fn a_wrong_body_is_reported() {
    let server = TestServer::start("--server embedded");
    let port = start_imitation(server.1, usize::MAX, 50);
    let arguments = format!("web --server none --port {port} --requests 200 --connections 1 --compare 1");
    let assert = work(&arguments).assert().code(1).stdout("");
    let error = String::from_utf8_lossy(&assert.get_output().stderr);
    assert!(error.contains("WRONG RESULT: web, crc32 of the body: expected 76070b28"), "{error}");
}

#[test]
fn a_request_on_a_closing_connection_is_repeated() {
    let server = TestServer::start("--server embedded");
    let port = start_imitation(server.1, 3, usize::MAX);
    let arguments = format!("web --server none --port {port} --requests 100 --connections 1 --compare 1");
    // Every third response is followed by a request that the server does not read, unless the
    // client sees the close first. The test runs without and with time between requests.
    for pace in ["", " --rate 500"] {
        let line = output(&format!("{arguments}{pace}"));
        assert!(figure(&line, "repeated") <= 33.0, "{line}");
    }
}

#[test]
fn another_file_is_another_server_and_no_wrong_result() {
    let server = TestServer::start("--server embedded --seed 2");
    assert_refused(&[(
        &format!("web --server none --port {}", server.1),
        "start it with the same --file and --seed",
    )]);
}

#[test]
fn unfitting_arguments_are_refused_before_anything_is_started() {
    assert_refused(&[
        ("web --threads 0", "0 is not in 1..=8192"),
        ("web --file 0", "0 is not in"),
        ("web --connections 0", "0 is not in"),
        ("web --connections 1000000", "is not in"),
        ("web --requests 0", "0 is not in"),
        ("web --rate 0", "0 is not in"),
        ("web --server iis", "apache-prefork"),
        ("web --clients 3 --connections 2", "give fewer --clients or more --connections"),
        ("web --client-cpus 8192", "leaves the server none"),
        ("web --server nginx --stall 100,10", "--server embedded"),
        ("web --server embedded --stall 10,100", "a stall must be shorter"),
        ("web --server none", "needs the --port"),
        ("web --clients 0", "needs a --port"),
        (
            "web --server embedded --file 1048576 --connections 4000",
            "lower --connections, --file or --threads",
        ),
    ]);
}
