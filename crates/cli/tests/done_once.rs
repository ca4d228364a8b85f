//! Tests of commands that do their work only once, such as a build. Later runs must not be measured
//! as if they did the work again.

mod harness;

use std::fs;

use harness::{Ran, World};
use morecores_study::{Nanos, StopReason};

/// Makes a study of a warm-up run and one timed run on one CPU. Its record is changed to 2.4 s for
/// the first run and 2 ms for the second.
fn study_of_a_build(world: &World, options: &str) {
    let make = world.script("make", "#!/bin/sh\nexit 0\n");
    world.run(&format!("-q --cpus 1 --warmup 1 --runs 1 {options}"), &[&make, "-j{n}"]).success();
    let path = world.path("study/runs.jsonl");
    let lines = fs::read_to_string(&path).expect("runs");
    let took = |(line, [elapsed, user]): (&str, [u64; 2])| {
        let mut run: serde_json::Value = serde_json::from_str(line).expect("a run");
        run["elapsed_ns"] = Nanos::from_millis(elapsed).0.into();
        run["cpu"]["user_ns"] = Nanos::from_millis(user).0.into();
        run["cpu"]["system_ns"] = 0.into();
        format!("{run}\n")
    };
    let text: String = lines.lines().zip([[2400, 2000], [2, 1]]).map(took).collect();
    fs::write(path, text).expect("runs");
}

fn resume(world: &World, options: &[&str]) -> Ran {
    world.morecores(&[&["run", "--resume", "-o", "study"], options].concat())
}

#[test]
fn a_done_once_command_gets_the_line_that_measures_all_of_it_and_can_be_measured_anyway() {
    let world = World::new();
    study_of_a_build(&world, "");
    let ran = resume(&world, &["--runs", "2"]);
    ran.code(1).says(&[
        "the first run left the second almost nothing to do: its first run took 2.40 s, the next 2.00 ms. Stopped; the runs are kept in study",
        "/make clean' -- ",
        "/make -j{n}\n",
        "morecores run --resume --incremental -o study\n",
    ]);
    assert_eq!(ran.stdout, "", "{ran}");
    let study = world.study();
    assert_eq!(
        (study.runs.len(), study.header.closing.map(|c| c.reason)),
        (2, Some(StopReason::AlreadyDone))
    );

    let shown = world.morecores(&["show", "study"]);
    shown
        .success()
        .prints(&["It cannot be told yet: the first run left the later runs almost nothing to do."]);
    assert!(!shown.stdout.contains("Give --cpus"), "{shown}");

    resume(&world, &["--incremental", "-q"]).success();
    let study = world.study();
    assert_eq!(study.runs.len(), 3);
    assert!(study.header.plan.incremental);
}

#[test]
fn a_prepare_line_without_effect_is_named() {
    let world = World::new();
    study_of_a_build(&world, "--prepare true");
    let ran = resume(&world, &[]);
    ran.code(1).says(&["--prepare 'true' does not undo the first run"]);
    assert!(!ran.stderr.contains("run --prepare"), "{ran}");
}
