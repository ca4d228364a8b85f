//! Tests of `morecores serve`: its answers, who gets them, and the files that it never serves.

mod harness;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use harness::World;
use harness::browser::{play, root};
use harness::search::search;
use morecores_study::lock::{LockCell, LockStudyWriter};
use morecores_study::{Closing, Nanos, StopReason};
use morecores_testkit::{lock_header, lock_plan, lock_time};

/// Server in a directory, ended on drop.
struct Serving {
    child: Child,
    port: u16,
}

impl Serving {
    fn new(world: &World, directory: &Path) -> Self {
        let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
        command.arg("serve").arg(directory).args(["--port", "0"]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("morecores");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let port = line.strip_prefix("http://localhost:").and_then(|rest| rest.split('/').next());
        let port = port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("no address: {line}"));
        Self { child, port }
    }

    /// Whole answer to one request.
    fn ask(&self, method: &str, path: &str, host: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
            .expect("a request");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, path: &str) -> String {
        self.ask("GET", path, &format!("localhost:{}", self.port))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // The server may have ended by itself; its test will have noticed that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-r").arg(from).arg(to).status();
    assert!(copied.is_ok_and(|status| status.success()));
}

fn suite() -> std::path::PathBuf {
    root().join("studies/2026-11-21-suite")
}

#[test]
fn a_directory_is_listed_opened_and_compared() {
    let world = World::new();
    let directory = world.path("studies");
    fs::create_dir(&directory).expect("a directory");
    copy(&suite().join("matmul.study"), &directory.join("matmul.study"));
    copy(&root().join("studies/2026-11-22-suite/matmul.study"), &directory.join("later.study"));
    let serving = Serving::new(&world, &directory);
    let list = serving.get("/");
    assert!(
        list.starts_with("HTTP/1.1 200") && list.contains("\"name\":\"matmul.study\""),
        "{}",
        &list[..300]
    );
    assert!(!list.contains("Refresh:"), "all of them have ended");
    let study = serving.get("/study/matmul.study");
    assert!(study.starts_with("HTTP/1.1 200") && study.contains("morecores.view/1"));
    let compared = serving.get("/compare?base=matmul.study&new=later.study");
    assert!(compared.contains("\"answer\":{"), "{}", &compared[..300]);
    play(
        "a_directory_is_listed_opened_and_compared",
        "served",
        &format!("http://localhost:{}/", serving.port),
    );
}

/// A study of locks is listed with the line that made it. It can be opened and followed while it is
/// made, but not compared.
#[test]
fn studies_of_locks_are_served_too() {
    let world = World::new();
    let directory = world.path("studies");
    fs::create_dir(&directory).expect("a directory");
    copy(&suite().join("matmul.study"), &directory.join("matmul.study"));
    let path = directory.join("locks.study");
    let mut writer = LockStudyWriter::create(&path, lock_header(lock_plan())).expect("a study");
    writer.append(&lock_time(0, LockCell::Switch, 1_500.0)).expect("room");
    let serving = Serving::new(&world, &directory);
    let list = serving.get("/");
    for part in [
        "\"command\":\"morecores locks --lock adaptive,std --threads 1,2 --hold 0,1us --think 0 --runs 6\"",
        "\"name\":\"locks.study\"",
        "\"state\":\"measuring\"",
        "\"name\":\"matmul.study\"",
    ] {
        assert!(list.contains(part), "{part}");
    }
    let open = serving.get("/study/locks.study");
    assert!(open.contains("morecores.locks-view/1") && open.contains("Refresh: 5"), "{}", &open[..300]);
    writer
        .close(Closing {
            ended_at_ns: Nanos(2),
            reason: StopReason::RunsExhausted,
            other_programs: Vec::new(),
            quiet: None,
        })
        .expect("an end");
    assert!(!serving.get("/study/locks.study").contains("Refresh:"));
    let compared = serving.get("/compare?base=locks.study&new=matmul.study");
    assert!(compared.starts_with("HTTP/1.1 404") && compared.contains("is a study of locks"), "{compared}");
    // A study whose cells are a link to another place is treated as absent.
    fs::remove_file(path.join("runs.jsonl")).expect("its cells");
    symlink("/etc/passwd", path.join("runs.jsonl")).expect("a link");
    assert!(serving.get("/study/locks.study").starts_with("HTTP/1.1 404"));
}

#[test]
fn searches_are_served_too() {
    let world = World::new();
    let directory = world.path("studies");
    fs::create_dir(&directory).expect("a directory");
    let path = search(&world, "studies/server.shake", "server");
    let serving = Serving::new(&world, &directory);
    let list = serving.get("/");
    for part in [
        "\"name\":\"server.shake\"",
        "\"command\":\"morecores shake -- server --selftest\"",
        "\"state\":\"ended\"",
        "\"comparable\":false",
    ] {
        assert!(list.contains(part), "{part}");
    }
    let open = serving.get("/study/server.shake");
    assert!(open.contains("It is not thread-safe") && !open.contains("Refresh:"), "{}", &open[..300]);
    let compared = serving.get("/compare?base=server.shake&new=server.shake");
    assert!(compared.starts_with("HTTP/1.1 404"), "{}", &compared[..300]);
    // Without findings it was killed. With those of another place it is treated as absent.
    fs::remove_file(path.join("findings.json")).expect("its findings");
    assert!(serving.get("/").contains("\"state\":\"killed\""));
    assert!(serving.get("/study/server.shake").contains("it has no findings yet"));
    symlink("/etc/passwd", path.join("findings.json")).expect("a link");
    assert!(!serving.get("/").contains("server.shake"));
}

#[test]
fn requests_under_another_host_name_are_refused() {
    let world = World::new();
    let serving = Serving::new(&world, &suite());
    for host in ["evil.example", "localhost", "localhost:1"] {
        assert!(serving.ask("GET", "/", host).starts_with("HTTP/1.1 403"), "{host}");
    }
    let own = format!("127.0.0.1:{}", serving.port);
    assert!(serving.ask("GET", "/", &own).starts_with("HTTP/1.1 200"));
    assert!(serving.ask("POST", "/", &own).starts_with("HTTP/1.1 405"));
    // The server listens on loopback alone, at no other address of this machine.
    let listens = fs::read_to_string("/proc/net/tcp").expect("sockets");
    let port = format!(":{:04X} ", serving.port);
    assert!(
        listens.lines().filter(|l| l.contains(" 0A ") && l.contains(&port)).all(|l| l.contains("0100007F:"))
    );
}

#[test]
fn nothing_outside_the_directory_is_served() {
    let world = World::new();
    let (inside, outside) = (world.path("inside"), world.path("outside.study"));
    fs::create_dir(&inside).expect("a directory");
    copy(&suite().join("matmul.study"), &outside);
    copy(&suite().join("matmul.study"), &inside.join("own.study"));
    // One entry is a link to a study elsewhere; one study has runs that link elsewhere.
    symlink(&outside, inside.join("link.study")).expect("a link");
    copy(&outside, &inside.join("half.study"));
    fs::remove_file(inside.join("half.study/runs.jsonl")).expect("its runs");
    symlink("/etc/passwd", inside.join("half.study/runs.jsonl")).expect("a link");
    let serving = Serving::new(&world, &inside);
    let list = serving.get("/");
    assert!(
        list.contains("own.study") && !list.contains("link.study") && !list.contains("half.study"),
        "{list}"
    );
    let paths = [
        "/study/link.study",
        "/study/half.study",
        "/study/../outside.study",
        "/study/..%2Foutside.study",
        "/study/%2Fetc",
        "/study/",
        "/study/own.study/study.json",
        "/../outside.study/study.json",
        "/compare?base=own.study&new=..%2Foutside.study",
        "/etc/passwd",
    ];
    for path in paths {
        let answer = serving.get(path);
        assert!(answer.starts_with("HTTP/1.1 404") && !answer.contains("root:"), "{path}: {answer}");
    }
}

/// The page of a study in progress reloads. An unreadable study is listed as unreadable.
#[test]
fn the_page_of_a_study_in_progress_reloads() {
    let world = World::new();
    let directory = world.path("studies");
    fs::create_dir(&directory).expect("a directory");
    copy(&suite().join("matmul.study"), &directory.join("now.study"));
    let head = directory.join("now.study/study.json");
    let text = fs::read_to_string(&head).expect("a head");
    let mut json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    json.as_object_mut().expect("an object").remove("closing");
    fs::write(&head, json.to_string()).expect("a head");
    fs::create_dir(directory.join("bad.study")).expect("a directory");
    fs::write(directory.join("bad.study/study.json"), "{").expect("a file");
    let serving = Serving::new(&world, &directory);
    // No process appends to the study: it was killed, and nothing changes.
    let list = serving.get("/");
    assert!(list.contains("\"state\":\"killed\"") && !list.contains("Refresh:"), "{}", &list[..400]);
    let writer = fs::File::open(directory.join("now.study/runs.jsonl")).expect("the runs");
    writer.lock().expect("a lock");
    let list = serving.get("/");
    assert!(list.contains("Refresh: 5") && list.contains("\"state\":\"measuring\""), "{}", &list[..400]);
    assert!(list.contains("\"state\":\"unreadable\""));
    assert!(serving.get("/study/now.study").contains("Refresh: 5"));
    assert!(serving.get("/study/bad.study").starts_with("HTTP/1.1 404"));
    let open = serving.get("/study/now.study");
    assert!(open.contains("\"prediction\":null"), "nothing is predicted while it is measured");
    fs::write(&head, text).expect("a head");
    drop(writer);
    assert!(!serving.get("/study/now.study").contains("Refresh:"));
}

#[test]
fn an_impossible_server_gives_one_clear_line() {
    let world = World::new();
    let serving = Serving::new(&world, &suite());
    let port = serving.port.to_string();
    world.morecores(&["serve", ".", "--port", port.as_str()]).refused(2, &["choose another port"]);
    world.morecores(&["serve", "none"]).refused(2, &["cannot read none"]);
    fs::write(world.path("file"), "").expect("a file");
    world.morecores(&["serve", "file"]).refused(2, &["file is not a directory"]);
}
