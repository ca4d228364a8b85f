//! Tests of a server that a hook starts. Neither the server nor a process that it starts during the
//! runs belongs to the command.

mod harness;

use std::fs;

use harness::{Ran, World, report_skip, wait_until};

/// Script of a server. For each line read it starts a helper that stays, and a second one as a
/// daemon, whose parent ends at once.
const SERVER: &str = "\
mkfifo requests answers
while read -r request <requests; do
    sleep 60 & echo $! >>helpers
    sh -c 'setsid sleep 60 & echo $! >>helpers'
    echo served >answers
done";

/// Shell line that starts the server in the background, for a hook.
fn start_server(world: &World) -> String {
    let server = world.script("server", &format!("#!/bin/sh\n{SERVER}\n"));
    format!("setsid {server} >/dev/null 2>&1 & while [ ! -p answers ]; do sleep 0.01; done")
}

/// Client that sends a request to the server and reads its answer.
const CLIENT: [&str; 3] = ["sh", "-c", "echo x >requests; read -r answer <answers; [ \"$answer\" = served ]"];

/// Makes this number of runs on one CPU with these options.
fn run(world: &World, runs: &str, options: &[&str], measured: &[&str]) -> Ran {
    let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
    command.args([
        "run",
        "-q",
        "--trace",
        "off",
        "--cpus",
        "1",
        "--warmup",
        "0",
        "--precision",
        "0",
        "-o",
        "study",
    ]);
    command.args(["--runs", runs]).args(options).arg("--").args(measured);
    Ran::start_and_wait(command)
}

/// Process IDs of the helpers, as the server recorded them.
fn helpers(world: &World) -> Vec<u32> {
    let text = fs::read_to_string(world.path("helpers")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

fn living(world: &World) -> Vec<u32> {
    world.processes().into_iter().map(|(pid, _)| pid).collect()
}

#[test]
fn processes_that_a_server_starts_during_a_run_outlive_the_run() {
    let world = World::new();
    let options = ["--setup", &start_server(&world)];
    run(&world, "3", &options, &CLIENT).success();
    let (helpers, living) = (helpers(&world), living(&world));
    assert_eq!(helpers.len(), 6, "two for each of three runs: {helpers:?}");
    assert!(helpers.iter().all(|pid| living.contains(pid)), "{helpers:?} of {:?}", world.processes());
    for run in world.study().runs {
        assert_eq!(run.survivors, [] as [&str; 0]);
    }
}

#[test]
fn a_server_survives_a_run_that_times_out() {
    let world = World::new();
    let line = "echo x >requests; read -r answer <answers; trap '' TERM; while :; do sleep 60; done";
    let options = ["--setup", &start_server(&world), "--timeout", "300ms", "--ignore-failure"];
    let ran = run(&world, "1", &options, &["sh", "-c", line]);
    let (helpers, living) = (helpers(&world), living(&world));
    assert_eq!(helpers.len(), 2, "{ran}");
    assert!(helpers.iter().all(|pid| living.contains(pid)), "{helpers:?} of {:?}", world.processes());
    assert_eq!(world.study().runs[0].exit, morecores_study::Exit::TimedOut, "{ran}");
}

#[test]
fn a_hook_is_in_no_cgroup_of_morecores() {
    let world = World::new();
    let options = ["--prepare", "cat /proc/self/cgroup >hook"];
    run(&world, "1", &options, &["sh", "-c", "cat /proc/self/cgroup >command"]).success();
    let text = |name| fs::read_to_string(world.path(name)).expect("what was written");
    if !text("command").contains("/morecores-") {
        return report_skip(
            "a_hook_is_in_no_cgroup_of_morecores",
            "no cgroup to hold the command's tree (root has one)",
        );
    }
    assert_eq!(text("hook"), fs::read_to_string("/proc/self/cgroup").expect("ours"));
}

#[test]
fn a_hook_without_survivors_leaves_no_process_of_morecores() {
    let world = World::new();
    run(&world, "1", &["--setup", "true", "--prepare", "sleep 60 &"], &["true"]).success();
    let names = || world.processes().into_iter().map(|(_, name)| name).collect::<Vec<_>>();
    wait_until("only what the hook left is there", || names() == ["sleep"]);
}
