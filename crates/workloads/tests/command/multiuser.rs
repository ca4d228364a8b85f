//! `multiuser`.

use std::fs;
use std::process::Command;

use morecores_testkit::wait_until;

use crate::scratch::Scratch;
use crate::{assert_refused, output, word_after, work};

#[test]
fn the_work_of_a_user_does_not_depend_on_their_number_or_on_directories() {
    let line = output("multiuser --threads 3 --rounds 2");
    assert!(line.starts_with("multiuser: 3 users, 3 at a time, 2 rounds, 1 directory, seed 1: "), "{line}");
    assert!(line.ends_with("(everything that was done was looked at)\n"), "{line}");
    let [mean, max] = ["mean", "max"].map(|name| word_after(&line, name).parse::<f64>().unwrap());
    assert!(mean > 0.0 && mean <= max, "{line}");

    let (one, other) = (Scratch::new("users-here"), Scratch::new("users-there"));
    let directories = format!("--dir {} --dir {}", one.0.display(), other.0.display());
    let crc = |arguments: &str| word_after(&output(arguments), "crc32").to_owned();
    let again = format!("multiuser --threads 1 --users 3 --rounds 2 {directories}");
    assert_eq!(crc(&again), word_after(&line, "crc32"));
    assert!(one.is_empty() && other.is_empty());
    assert_ne!(crc("multiuser --threads 3 --rounds 2 --seed 2"), word_after(&line, "crc32"));
}

#[test]
fn a_wrong_tool_is_found() {
    let scratch = Scratch::new("wrong-tool");
    let path = scratch.program("uniq", "#!/bin/sh\nexec cat\n");
    let run = work("multiuser --rounds 1").env("PATH", path).assert().code(1).stdout("");
    let error = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(error.contains("WRONG RESULT: multiuser, lines at the end of a pipeline"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn killed_users_leave_nothing() {
    let scratch = Scratch::new("killed-users");
    let mut run = Command::new(env!("CARGO_BIN_EXE_morecores-work"))
        .args(["multiuser", "--threads", "3", "--rounds", "100000", "--dir"])
        .arg(&scratch.0)
        .spawn()
        .unwrap();
    let users = || {
        let homes = fs::read_dir(&scratch.0).expect("the directory").flatten().map(|home| home.path());
        homes.map(|home| fs::read_dir(home).into_iter().flatten().count()).sum::<usize>()
    };
    wait_until("all of them are there", || users() == 3);
    run.kill().unwrap();
    run.wait().unwrap();
    wait_until("everything is gone", || scratch.is_empty());
}

#[test]
fn an_impossible_run_is_one_clear_line() {
    assert_refused(&[
        ("multiuser --users 0", "is not in"),
        ("multiuser --rounds 0", "is not in"),
        ("multiuser --threads 4 --users 3", "4 threads cannot share 3 users: ask for at most --threads 3"),
        ("multiuser --dir /nowhere", "cannot make the directory /nowhere/"),
        ("multiuser --dir /nowhere", ": give --dir an existing directory"),
        ("multiuser --dir /dev/null", ": give --dir an existing directory"),
    ]);
    let run = work("multiuser").env("TMPDIR", "/nowhere").assert().code(2).stdout("");
    let error = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(error.contains(": set TMPDIR to an existing directory"), "{error}");
    let run = work("multiuser").env("PATH", "/nowhere").assert().code(2).stdout("");
    let error = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(error.contains("sh is not installed; install it with: apt-get install dash"), "{error}");
}
