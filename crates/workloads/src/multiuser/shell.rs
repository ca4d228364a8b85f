//! Process activities: children, a shell script, a pipeline of small tools, signals.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, WaitOptions, waitpid};

use super::user::expect_equal;
use crate::outcome::TMPDIR;
use crate::{WorkloadError, processes, programs};

/// Programs that the activities run, with Debian's packages.
pub(super) const PROGRAMS: [programs::RequiredProgram; 6] = [
    ("sh", "dash"),
    ("cat", "coreutils"),
    ("sort", "coreutils"),
    ("uniq", "coreutils"),
    ("wc", "coreutils"),
    ("grep", "grep"),
];

/// Sequential child processes: the source names the creation of processes as one activity of many.
const CHILDREN: u64 = 4;

/// Iterations of the script's loop: some milliseconds of a shell.
const LOOP_ITERATIONS: u64 = 500;

/// Lines of the pipeline's input: some pages, so that the tools have to wait for each other.
const PIPELINE_LINES: usize = 2000;

/// Makes processes that each write a number to a pipe and end.
pub(super) fn children(_: &Path, random: &mut ChaCha8Rng) -> Result<u64, WorkloadError> {
    let number = random.next_u64();
    for child in 0..CHILDREN {
        let process_error =
            |source| WorkloadError::Process { number: child as usize + 1, wanted: CHILDREN as usize, source };
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| process_error(error.into()))?;
        let sent = number.wrapping_mul(child + 1);
        let pid = processes::fork(|| {
            // The parent detects a failed write by the missing number.
            let _ = rustix::io::write(&writer, &sent.to_ne_bytes());
        })
        .map_err(process_error)?;
        drop(writer);
        let mut received = Vec::new();
        let _ = File::from(reader).read_to_end(&mut received);
        let _ = waitpid(Some(pid), WaitOptions::empty());
        expect_equal("what a child said", &sent.to_ne_bytes().to_vec(), &received)?;
    }
    Ok(number)
}

/// Runs a script that computes.
pub(super) fn script(home: &Path, random: &mut ChaCha8Rng) -> Result<u64, WorkloadError> {
    // 65521 is the largest prime below 2^16, as in Adler-32: products stay small in every shell.
    let start = random.next_u64() % 65521;
    let text = format!(
        "s={start}; i=0; while [ $i -lt {LOOP_ITERATIONS} ]; do s=$(((s * 31 + i) % 65521)); i=$((i + 1)); done; echo $s"
    );
    let expected = (0..LOOP_ITERATIONS).fold(start, |s, i| (s * 31 + i) % 65521);
    let output = shell(home, &text)?;
    expect_equal("what a script computed", &format!("{expected}\n"), &to_text(&output.stdout))?;
    Ok(expected)
}

/// Runs five tools that each read the output of the previous one.
pub(super) fn pipeline(home: &Path, random: &mut ChaCha8Rng) -> Result<u64, WorkloadError> {
    let numbers: Vec<u32> = (0..PIPELINE_LINES).map(|_| random.next_u32() % 10_000).collect();
    let lines = numbers.iter().fold(String::new(), |mut lines, number| {
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{number}");
        lines
    });
    let path = home.join("numbers");
    let file_error = |operation| {
        let path = path.clone();
        move |source| WorkloadError::File { operation, path, source, option: TMPDIR }
    };
    fs::write(&path, lines).map_err(file_error("write to"))?;
    let output = shell(home, "cat numbers numbers | sort -n | uniq | grep -v 7 | wc -l")?;
    fs::remove_file(&path).map_err(file_error("remove"))?;
    let different: BTreeSet<_> = numbers.iter().filter(|number| !number.to_string().contains('7')).collect();
    expect_equal(
        "lines at the end of a pipeline",
        &different.len().to_string(),
        &to_text(&output.stdout).trim().to_owned(),
    )?;
    Ok(different.len() as u64)
}

/// Sends a signal that is caught, and one that ends a process.
pub(super) fn signals(home: &Path, random: &mut ChaCha8Rng) -> Result<u64, WorkloadError> {
    let status = 1 + random.next_u32() % 100;
    let mut caught = Command::new("sh");
    caught.args(["-c", &format!("trap 'echo caught; exit {status}' USR1; kill -s USR1 $$; exit 0")]);
    let caught = process_result(caught.current_dir(home).output())?;
    let expected = (Some(status as i32), "caught\n".to_owned());
    expect_equal("a signal that was caught", &expected, &(caught.status.code(), to_text(&caught.stdout)))?;

    // `cat` ends only on the signal: it would otherwise wait for input for ever.
    let started = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut cat = process_result(started)?;
    let pid = rustix::process::Pid::from_child(&cat);
    let mut echo = [0; 1];
    let echoed = match (&mut cat.stdin, &mut cat.stdout) {
        (Some(stdin), Some(stdout)) => stdin.write_all(b"x").and_then(|()| stdout.read_exact(&mut echo)),
        _ => Ok(()),
    };
    let killed = rustix::process::kill_process(pid, Signal::TERM);
    let ended = process_result(cat.wait())?;
    process_result(echoed)?;
    process_result(killed.map_err(Into::into))?;
    expect_equal("the signal that a process ended by", &Some(Signal::TERM.as_raw()), &ended.signal())?;
    Ok(u64::from(status))
}

/// Output of a shell script that must succeed.
fn shell(home: &Path, script: &str) -> Result<Output, WorkloadError> {
    let output = process_result(
        Command::new("sh").args(["-c", script]).env("LC_ALL", "C").current_dir(home).output(),
    )?;
    if output.status.success() {
        return Ok(output);
    }
    let received = to_text(&output.stderr);
    let reason = received.lines().next().map_or_else(|| output.status.to_string(), str::to_owned);
    Err(WorkloadError::ProgramFailed { program: "sh".to_owned(), reason })
}

/// Result of starting a program, with a failure as an error of this workload.
fn process_result<T>(result: std::io::Result<T>) -> Result<T, WorkloadError> {
    result.map_err(|source| WorkloadError::Process { number: 1, wanted: 1, source })
}

fn to_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
