//! Tests of signals. Signals ignored from the start end nothing. All others end morecores at any
//! moment, with a line on what has been kept.

mod harness;

use std::fs::{self, File};
use std::io::{ErrorKind, PipeReader, Write, pipe};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use harness::locks::{LABORATORY, TINY};
use harness::studies::build;
use harness::{Ran, Started, World, left_by, report_skip, signal, start, start_with, wait_until};
use morecores_study::lock::LockStudy;
use morecores_study::{StopReason, Study};
use rustix::io::ioctl_fionbio;

/// Number of SIGINT on every Linux (signal(7)).
const SIGINT: i32 = 2;
const MORECORES: &str = env!("CARGO_BIN_EXE_morecores");

/// Command that starts `program` with these arguments and the signal `ignored` ignored, as nohup
/// does for HUP.
fn ignoring(world: &World, ignored: &str, program: &str, arguments: &[&str]) -> Command {
    let mut command = world.command("sh");
    command.args(["-c", &format!("trap '' {ignored}; exec \"$@\""), "sh", program]).args(arguments);
    command
}

/// Full pipe as standard output, and its other end, which must stay open.
fn full_pipe() -> (PipeReader, Stdio) {
    let (reader, mut writer) = pipe().expect("a pipe");
    ioctl_fionbio(&writer, true).expect("a pipe that refuses");
    // One byte is the least that a pipe accepts.
    for size in [4096, 1] {
        while writer.write(&vec![b'.'; size]).is_ok() {}
    }
    let refused = writer.write(b".").expect_err("a full pipe");
    assert_eq!(refused.kind(), ErrorKind::WouldBlock);
    ioctl_fionbio(&writer, false).expect("a pipe that waits");
    (reader, writer.into())
}

/// Interrupts a program that writes its report to a full pipe.
fn interrupted(mut started: Started) -> Ran {
    started.signal("INT");
    wait_until("it ends", || started.has_ended());
    started.wait()
}

#[test]
fn an_ignored_signal_ends_neither_study_nor_command() {
    for name in ["HUP", "INT", "QUIT", "TERM"] {
        let world = World::new();
        let line = format!("kill -s {name} $PPID; kill -s {name} $$; sleep 0.2; echo alive");
        let mut command = ignoring(&world, name, MORECORES, &["run", "-q", "--trace", "off", "--cpus", "1"]);
        command.args(["--warmup", "0", "--runs", "1", "--output", "inherit", "--", "sh", "-c", &line]);
        let ran = Ran::start_and_wait(command);
        ran.success();
        assert_eq!(ran.stdout, "alive\n", "{ran}");
    }
}

/// Workload whose first run waits until `hold` receives a line.
const HELD: &str = "#!/bin/sh\necho >begun\nif [ -p hold ]; then read -r line <hold; fi\n";

#[test]
fn an_ignored_hangup_does_not_end_a_suite() {
    let world = World::new();
    world.install(HELD);
    let made = Command::new("mkfifo").arg(world.path("hold")).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    // The FIFO is also open for reading, so that opening it does not block.
    let mut hold = File::options().read(true).write(true).open(world.path("hold")).expect("a FIFO");
    let program = world.path("bin/morecores").to_string_lossy().into_owned();
    let started = start(ignoring(&world, "HUP", &program, &["suite", "soften", "-o", "mine"]));
    wait_until("a run has begun", || world.path("begun").exists());
    // A terminal that closes sends the signal to each process.
    for (pid, _) in world.processes() {
        signal(pid, "HUP");
    }
    fs::remove_file(world.path("hold")).expect("the FIFO");
    hold.write_all(b"go\n").expect("room");
    let ran = started.wait();
    ran.success().prints(&["studies: mine"]);
    let study = Study::read(&world.path("mine/soften.study")).expect("a study");
    assert!(study.runs.len() > 6, "{ran}");
}

#[test]
fn an_ignored_hangup_does_not_end_locks() {
    let world = World::new();
    world.install(&LABORATORY.replace("case $1 in", "kill -s HUP $PPID\ncase $1 in"));
    let program = world.path("bin/morecores").to_string_lossy().into_owned();
    Ran::start_and_wait(ignoring(&world, "HUP", &program, &TINY)).success();
}

#[test]
fn a_hangup_ends_a_study_and_every_change_is_undone() {
    let world = World::new();
    let line = ["sh", "-c", "echo >started; exec sleep 600"];
    let run = world.run_command("-q --cpus 1", &line);
    // Tests may themselves run under nohup, so the default action is set again.
    let mut command = world.command("env");
    command.arg("--default-signal=HUP").arg(run.get_program()).args(run.get_args());
    let study = start(command);
    wait_until("the command runs", || world.path("started").exists());
    study.signal("HUP");
    let ran = study.wait();
    ran.code(129).says(&["stopped; continue with: morecores run --resume -o study"]);
    assert_eq!(world.study().header.closing.map(|closing| closing.reason), Some(StopReason::Interrupted));
    assert_eq!((world.processes(), left_by(ran.pid)), (vec![], Default::default()), "{ran}");
}

#[test]
fn an_interrupt_during_the_report_ends_run_and_names_the_study() {
    let world = World::new();
    let (_reader, stdout) = full_pipe();
    let started = start_with(world.run_command("--cpus 1 --runs 1 --warmup 0", &["true"]), stdout);
    let is_closed = || Study::read(&world.path("study")).is_ok_and(|study| study.header.closing.is_some());
    wait_until("everything is measured", is_closed);
    let ran = interrupted(started);
    ran.code(130).says(&["stopped before the report", "morecores show study"]);
    assert_eq!(left_by(ran.pid), Default::default());
    assert_eq!(world.study().header.closing.map(|closing| closing.reason), Some(StopReason::RunsExhausted));
    world.morecores(&["show", "study"]).success();
}

#[test]
fn an_interrupt_during_the_report_ends_locks_and_names_the_study() {
    let world = World::new();
    world.install(LABORATORY);
    let (_reader, stdout) = full_pipe();
    let started = start_with(world.installed_command(&TINY), stdout);
    let is_closed =
        || LockStudy::read(&world.path("study")).is_ok_and(|study| study.header.closing.is_some());
    wait_until("everything is measured", is_closed);
    interrupted(started).code(130).says(&["stopped before the report", "morecores show study"]);
}

#[test]
fn an_interrupt_during_the_report_of_a_trace_leaves_no_files() {
    const NAME: &str = "an_interrupt_during_the_report_of_a_trace_leaves_no_files";
    let world = World::new();
    fs::create_dir(world.path("tmp")).expect("a directory");
    let (_reader, stdout) = full_pipe();
    let mut command = world.command(MORECORES);
    command.args(["trace", "--", "true"]).env("TMPDIR", world.path("tmp"));
    let mut started = start_with(command, stdout);
    let entries = || fs::read_dir(world.path("tmp")).expect("the directory").flatten();
    let is_closed = || {
        let mut studies = entries().map(|entry| entry.path().join("trace.study"));
        studies.any(|path| Study::read(&path).is_ok_and(|study| study.header.closing.is_some()))
    };
    wait_until("the run is traced", || is_closed() || started.has_ended());
    if started.has_ended() {
        let ran = started.wait();
        ran.code(2);
        return report_skip(NAME, ran.stderr.lines().next().unwrap_or("nothing can be traced here"));
    }
    interrupted(started)
        .code(130)
        .says(&["stopped before the report; the trace is not kept: -o NAME keeps it"]);
    assert_eq!(entries().count(), 0);
}

#[test]
fn an_interrupt_between_the_studies_of_a_suite_says_how_to_continue() {
    let world = World::new();
    // An empty directory occupies the path of the study: `morecores run --resume` fails at once.
    fs::create_dir_all(world.path("mine/soften.study")).expect("a directory");
    let (_reader, stdout) = full_pipe();
    let mut command = world.command("sh");
    command.args(["-c", "exec \"$0\" suite soften --resume -o mine 2>said", MORECORES]);
    let mut started = start_with(command, stdout);
    let command_output = || fs::read_to_string(world.path("said")).unwrap_or_default();
    // The first line is the command; the second is its message about the directory.
    wait_until("the run has failed", || command_output().lines().count() > 1 && world.processes().len() == 1);
    // The first signal may still belong to that process, which has ended but has not been waited
    // for. The suite then shows its results, and the next signal ends that.
    wait_until("it ends", || {
        started.signal("INT");
        started.has_ended()
    });
    started.wait().code(130);
    assert!(
        command_output().contains("stopped; continue with: morecores suite --resume -o mine"),
        "{}",
        command_output()
    );
}

#[test]
fn an_interrupt_ends_commands_that_only_show_a_study_like_any_program() {
    let study = build().to_string_lossy().into_owned();
    for arguments in [
        ["show", &study].as_slice(),
        &["predict", &study],
        &["what-if", &study],
        &["report", &study, "-o", "-"],
        &["serve", ".", "--port", "0"],
    ] {
        let world = World::new();
        let (_reader, stdout) = full_pipe();
        let mut command = world.command(MORECORES);
        command.args(arguments);
        let started = start_with(command, stdout);
        // The other subcommands compute for a long time.
        if ["show", "serve"].contains(&arguments[0]) {
            let stat = format!("/proc/{}/stat", started.pid());
            let sleeps = || fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") S "));
            wait_until("it waits for its reader", sleeps);
        }
        let ran = interrupted(started);
        assert_eq!(ran.status.signal(), Some(SIGINT), "{ran}");
        assert_eq!(ran.stderr, "", "{ran}");
    }
}
