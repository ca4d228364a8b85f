//! `morecores-work` from the user's view: output, exit status, and one clear line for every
//! impossible request.

mod build;
mod cache;
mod count;
mod counter;
mod kernel_locks;
mod keysearch;
mod killed;
mod matmul;
mod multiuser;
mod pipe;
mod quicksort;
mod raytrace;
mod scratch;
mod soften;
mod web;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use assert_cmd::Command;
use morecores_study::CpuSet;
use morecores_testkit::report_skip;
use scratch::Scratch;

fn work(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_morecores-work"));
    command.args(arguments.split_whitespace());
    command
}

/// Standard output of a run that must succeed.
fn output(arguments: &str) -> String {
    let assert = work(arguments).assert().success().stderr("");
    String::from_utf8_lossy(&assert.get_output().stdout).into_owned()
}

/// The word after `word` in `text`.
fn word_after<'a>(text: &'a str, word: &str) -> &'a str {
    let mut words = text.split_whitespace();
    words.find(|w| *w == word).and_then(|_| words.next()).unwrap_or_else(|| panic!("no {word} in: {text}"))
}

/// Up to two usable CPUs.
fn two_cpus() -> CpuSet {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc/self/status");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("CPUs");
    list.parse::<CpuSet>().expect("a list of CPUs").iter().take(2).collect()
}

/// Checks that each of these is refused with exit status 2 and with the reason on standard error.
fn assert_refused(cases: &[(&str, &str)]) {
    for (arguments, reason) in cases {
        let assert = work(arguments).assert().code(2).stdout("");
        let error = String::from_utf8_lossy(&assert.get_output().stderr);
        assert!(error.contains(reason), "{arguments}: {error}");
    }
}

#[test]
fn an_unknown_workload_is_refused() {
    assert_refused(&[("", "Usage"), ("sofen", "similar")]);
    assert_refused(&[("", "`morecores work list`"), ("nosuch", "`morecores work list`")]);
}

#[test]
fn the_list_names_every_workload() {
    let list = output("list");
    let soften = list.lines().find_map(|line| line.strip_prefix("soften ")).map(str::trim_start);
    assert!(soften.is_some_and(|about| about.starts_with("Soften a true-colour bitmap")), "{list}");
    let softens = list.lines().find_map(|line| line.strip_prefix("soften "));
    assert!(softens.is_some_and(|about| about.trim().starts_with("Soften a true-colour bitmap")), "{list}");
}

/// Command that runs `morecores-work` under an address-space limit in KiB, set by a shell.
fn with_address_space_limit(kib: u32, arguments: &str) -> Command {
    let mut command = Command::new("sh");
    let binary = env!("CARGO_BIN_EXE_morecores-work");
    command.args(["-c", &format!("ulimit -v {kib} && exec '{binary}' {arguments}")]);
    command
}

#[test]
fn too_little_address_space_is_one_clear_line() {
    let assert =
        with_address_space_limit(1_000_000, "soften --threads 900 --passes 10").assert().code(2).stdout("");
    let error = String::from_utf8_lossy(&assert.get_output().stderr);
    assert!(error.contains("58 GiB of address space and the limit is 976.6 MiB"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

/// Output of a run under a limit of `count` processes; `None` if the limit cannot be set, which is
/// reported under `test`. Root has no such limit, and the processes of a user count together. The
/// run therefore gets a separate user: Debian assigns the numbers from 60000 to 64999 to no user.
fn run_with_process_limit(count: u32, test: &str, arguments: &str) -> Option<std::process::Output> {
    static USERS: AtomicU32 = AtomicU32::new(0);
    let user = 60_000 + (16 * std::process::id() + USERS.fetch_add(1, Relaxed)) % 5_000;
    let output = std::process::Command::new("setpriv")
        .args([&format!("--reuid={user}"), "--regid=65534", "--clear-groups", "prlimit"])
        .arg(format!("--nproc={count}"))
        .arg(env!("CARGO_BIN_EXE_morecores-work"))
        .args(arguments.split_whitespace())
        .output();
    let missing = match output {
        Ok(output) if output.stderr.starts_with(b"setpriv:") => "becoming another user needs root",
        Ok(output) if output.status.code() == Some(126) => "another user cannot reach the binary",
        Ok(output) => return Some(output),
        Err(_) => "there is no setpriv (Debian package util-linux)",
    };
    report_skip(test, missing);
    None
}

#[test]
fn a_refused_thread_is_one_clear_line() {
    const NAME: &str = "a_refused_thread_is_one_clear_line";
    for arguments in ["soften --threads 64", "web --server embedded --threads 64"] {
        let Some(output) = run_with_process_limit(5, NAME, arguments) else { return };
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {error}");
        assert!(error.contains("of 64 could not be started") && error.contains("lower --threads"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn refused_memory_is_one_clear_line() {
    let assert =
        with_address_space_limit(100_000, "soften --width 8192 --height 8192").assert().code(2).stdout("");
    let error = String::from_utf8_lossy(&assert.get_output().stderr);
    assert!(error.contains("192 MiB of memory were refused"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn a_full_disk_is_one_clear_line() {
    const NAME: &str = "a_full_disk_is_one_clear_line";
    let scratch = Scratch::new("full-disk");
    // The file system disappears with the namespace in which it is mounted.
    let on_small_disk = |arguments: &str| {
        let binary = env!("CARGO_BIN_EXE_morecores-work");
        let script = format!("mount -t tmpfs -o size=64k none \"$TMPDIR\" && exec '{binary}' {arguments}");
        let mut command = std::process::Command::new("unshare");
        command.args(["-m", "sh", "-c", &script]).env("TMPDIR", &scratch.0).output()
    };
    match on_small_disk("list") {
        Ok(output) if output.status.success() => {}
        _ => return report_skip(NAME, "mounting a small file system needs root, unshare and mount"),
    }
    for arguments in ["kernel-locks --lock file-offset", "build --files 200", "multiuser --threads 2"] {
        let output = on_small_disk(arguments).expect("unshare");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {error}");
        assert!(
            error.contains("No space left on device") && error.lines().count() == 1,
            "{arguments}: {error}"
        );
        assert!(error.contains("free some, or set TMPDIR to another disk"), "{arguments}: {error}");
    }
    let output = on_small_disk("multiuser --threads 2 --dir \"$TMPDIR\"").expect("unshare");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("free some, or give --dir another disk"), "{error}");
}

#[test]
fn a_cleanup_process_that_cannot_be_started_does_not_blame_the_threads() {
    const NAME: &str = "a_cleanup_process_that_cannot_be_started_does_not_blame_the_threads";
    for arguments in ["multiuser --threads 1", "build"] {
        let Some(output) = run_with_process_limit(1, NAME, arguments) else { return };
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {error}");
        assert!(error.contains("clears up could not be started") && error.contains("pids.max"), "{error}");
        assert!(!error.contains("--threads"), "{error}");
    }
}

#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_morecores-work"))
        .args(["soften", "--passes", "1"])
        .stdout(full)
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
}
