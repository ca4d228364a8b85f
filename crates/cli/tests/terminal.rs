//! Tests that a command that uses the terminal gets it, and that a stopped command does not block
//! the study for ever.
//!
//! `script` (util-linux) makes the terminal; its output is a user's view of the terminal.

mod harness;

use std::process::Command;

use harness::{Ran, World, report_skip};
use morecores_study::Exit;

/// Runs a shell line in a separate terminal, with the output of `typed` as its keyboard input. None
/// without `script`.
fn in_terminal(world: &World, line: &str, typed: &str) -> Option<Ran> {
    Command::new("script").arg("--version").output().ok()?;
    let script = world.script("line", &format!("#!/bin/sh\nm={}\n{line}\n", env!("CARGO_BIN_EXE_morecores")));
    let mut command = world.command("sh");
    // `timeout` ends a study that hangs, and the test then fails because of the status.
    let whole = format!(
        "{{ {typed}; while [ ! -e over ]; do sleep 0.01; done; }} | \
         {{ timeout --foreground -k 1 60 script -qec {script} /dev/null; s=$?; >over; exit $s; }}"
    );
    command.args(["-c", &whole]);
    Some(Ran::start_and_wait(command))
}

/// Options of `$m run` for every test here.
const RUN: &str = "$m run -q --trace off --cpus 1 --warmup 0 --precision 0 -o study";

/// Shell line that works if the terminal belongs to the shell again, and hangs otherwise.
const USE_TERMINAL: &str = "stty sane </dev/tty && echo 'it is back'";

#[test]
fn the_command_owns_the_terminal_during_each_run() {
    let name = "the_command_owns_the_terminal_during_each_run";
    let world = World::new();
    let line = format!("{RUN} --runs 3 -- sh -c 'stty sane </dev/tty; echo done' && {USE_TERMINAL}");
    let Some(ran) = in_terminal(&world, &line, "true") else { return report_skip(name, "no `script`") };
    ran.success().prints(&["it is back"]);
    assert_eq!(world.timed_runs().len(), 3);
}

#[test]
fn a_command_reads_typed_input() {
    let world = World::new();
    let line = format!("{RUN} --runs 2 --output inherit -- sh -c 'read -r x </dev/tty; echo \"read $x\"'");
    let Some(ran) = in_terminal(&world, &line, "printf 'one\\ntwo\\n'") else {
        return report_skip("a_command_reads_typed_input", "no `script`");
    };
    ran.success().prints(&["read one", "read two"]);
}

#[test]
fn the_terminal_returns_to_morecores_after_a_kill() {
    let name = "the_terminal_returns_to_morecores_after_a_kill";
    let world = World::new();
    let command = "trap \"\" TERM; stty raw </dev/tty; while :; do sleep 60; done";
    let line = format!(
        "{RUN} --runs 1 --timeout 300ms -- sh -c '{command}'; echo \"status $?\"; \
         stty -a </dev/tty | grep -- ' icanon'; {USE_TERMINAL}"
    );
    let Some(ran) = in_terminal(&world, &line, "true") else { return report_skip(name, "no `script`") };
    ran.success().prints(&["status 1", "icanon", "it is back"]);
    assert_eq!(world.timed_runs()[0].exit, Exit::TimedOut, "{ran}");
}

#[test]
fn ctrl_c_stops_the_study_even_if_the_command_has_the_terminal() {
    let name = "ctrl_c_stops_the_study_even_if_the_command_has_the_terminal";
    for before in ["", "stty sane </dev/tty; "] {
        let world = World::new();
        let command = format!("{before}>ready; sleep 60");
        let line = format!("{RUN} --runs 2 -- sh -c '{command}'");
        let typed = "while [ ! -e ready ]; do sleep 0.01; done; printf '\\003'";
        let Some(ran) = in_terminal(&world, &line, typed) else { return report_skip(name, "no `script`") };
        ran.code(130).prints(&["stopped; continue with: morecores run --resume"]);
        assert_eq!(world.study().runs.len(), 0, "{ran}");
    }
}

#[test]
fn a_command_that_stops_itself_is_ended_and_the_signal_is_named() {
    let world = World::new();
    world
        .run("-q --cpus 1 --warmup 0 --runs 2", &["sh", "-c", "kill -STOP $$"])
        .code(1)
        .says(&["the command was stopped by SIGSTOP and ended after 2 s at 1 CPU (run 1)", "SIGCONT"]);
    assert_eq!(world.study().runs[0].exit, Exit::Stopped(19));
    assert_eq!(world.processes(), []);
}

#[test]
fn a_continued_command_succeeds() {
    let run = World::new().one_run("", &["sh", "-c", "(sleep 0.1; kill -CONT $$) & kill -STOP $$; wait"]);
    assert_eq!(run.exit, Exit::Code(0));
}

#[test]
fn a_study_in_the_background_reports_terminal_access_by_its_command() {
    let name = "a_study_in_the_background_reports_terminal_access_by_its_command";
    let world = World::new();
    // With job control, a background job has its own process group.
    let line = format!("set -m; {RUN} --runs 1 -- sh -c 'read -r x </dev/tty' & wait $!; echo \"status $?\"");
    let Some(ran) = in_terminal(&world, &line, "true") else { return report_skip(name, "no `script`") };
    ran.prints(&["was stopped by SIGTTIN and ended after 2 s at 1 CPU (run 1)", "--input", "status 1"]);
}

#[test]
fn events_appear_above_the_progress_line() {
    let name = "events_appear_above_the_progress_line";
    let world = World::new();
    let line = "TERM=xterm $m run -vv --trace off --cpus 1 --warmup 0 --runs 2 --precision 0 -o study \
                --prepare true -- sleep 1.2";
    let Some(ran) = in_terminal(&world, line, "true") else { return report_skip(name, "no `script`") };
    ran.success();
    assert!(ran.stdout.contains("round 1 of 2"), "the progress line is there\n{ran}");
    let events: Vec<usize> = ran.stdout.match_indices("morecores: ").map(|(at, _)| at).collect();
    assert!(events.len() > 3, "{ran}");
    for at in events {
        let before = &ran.stdout[..at];
        let start = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        // Only control sequences may precede it on its line: `ESC [ parameters letter`.
        let others = before[start..].split('\x1b').map(|part| {
            part.strip_prefix('[').map_or(part, |rest| rest.trim_start_matches(|c: char| !c.is_alphabetic()))
        });
        let is_alone = others.enumerate().all(|(index, part)| part.chars().count() <= index.min(1));
        assert!(is_alone, "{:?}", &ran.stdout[start..at + 40]);
    }
}
