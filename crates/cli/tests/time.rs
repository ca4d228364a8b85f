//! Tests of the time for a study: limited by default, with a message, and limited in all its parts
//! by the user.

mod harness;

use harness::World;
use morecores_study::{Nanos, StopReason};

const QUICK: &str = "--cpus 1 --warmup 0 --runs 1";

#[test]
fn the_default_limit_of_five_minutes_applies_and_is_reported() {
    let world = World::new();
    let stop = |options: &str| {
        let line = format!("run -o study --trace off {QUICK} {options} -- true");
        let ran = world.morecores(&line.split_whitespace().collect::<Vec<_>>());
        ran.success();
        let stop = world.study().header.plan.stop;
        std::fs::remove_dir_all(world.path("study")).expect("the study");
        let is_said = ran.stderr.contains("measures for 5 min at most");
        (stop.max_time, stop.budget, is_said)
    };
    let five_minutes = Some(Nanos::from_millis(300_000));
    assert_eq!(stop(""), (None, five_minutes, true));
    assert_eq!(stop("-q"), (None, five_minutes, false));
    assert_eq!(stop("--max-time 5m"), (five_minutes, None, false));
    assert_eq!(stop("--max-time 0"), (None, None, false));
}

#[test]
fn the_time_limit_ends_the_current_run_and_the_study_can_be_resumed() {
    let world = World::new();
    let ran = world.run("--cpus 1 --max-time 300ms", &["sleep", "600"]);
    ran.code(1)
        .says(&["the time limit (300 ms) ended the study. Continue with: morecores run --resume -o study\n"]);
    ran.prints(&["It cannot be told yet: the time limit ended", "Ended after 300 ms, --max-time."]);
    let study = world.study();
    assert_eq!(study.header.closing.map(|closing| closing.reason), Some(StopReason::TimeExhausted));
    assert_eq!(study.runs, []);
    assert_eq!(world.processes(), []);

    // The limit of the first command line holds until a new one replaces it.
    let arguments = ["run", "--resume", "-o", "study", "--max-time", "400ms", "-q"];
    world.morecores(&arguments).code(1);
    let stop = world.study().header.plan.stop;
    assert_eq!((stop.max_time, stop.budget), (Some(Nanos::from_millis(400)), None));
}

#[test]
fn prepare_counts_towards_the_limit_and_cleanup_always_runs() {
    let world = World::new();
    let options = "--cpus 1 --max-time 300ms --cleanup echo>cleaned --prepare";
    let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
    command.args(["run", "-o", "study", "--trace", "off"]).args(options.split_whitespace());
    command.args(["sleep 600", "--", "true"]);
    harness::Ran::start_and_wait(command).code(1).says(&["the time limit (300 ms) ended the study"]);
    assert!(world.path("cleaned").exists());
    assert_eq!(world.processes(), []);
}

#[test]
fn a_build_that_used_all_the_time_causes_a_warning() {
    let world = World::new();
    let make = world.script("make", "#!/bin/sh\nsleep 600\n");
    let ran = world.run("--cpus 1 --max-time 300ms", &[&make, "-j{n}"]);
    ran.code(1)
        .says(&["a build is done only once; to measure all its work in each run: morecores run --prepare '"]);
}
