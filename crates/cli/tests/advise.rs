//! `morecores advise`: from a study to steps.

mod harness;

use harness::World;
use harness::studies::build;
use serde_json::Value;

#[test]
fn a_study_without_stacks_has_obstacles_and_gains() {
    let world = World::new();
    let study = build();
    let path = study.to_str().expect("a path of letters");
    world.morecores(&["advise", path]).success().prints(&[
        "1. Is the work in several threads?",
        "2. What stands in the way",
        "3. What each change would save, by replay of the traces",
        "serial work",
        "4. Work to divide",
        "no stacks of samples",
    ]);
    let printed = world.morecores(&["advise", "--json", path]);
    let advice: Value = serde_json::from_str(&printed.success().stdout).expect("JSON");
    assert!(advice["serial_work"].is_null());
    assert!(advice["parallel_share"].as_f64().expect("a number") > 0.1, "{advice:#}");
    assert!(advice["gains"].as_array().expect("a list").iter().any(|gain| gain["kind"] == "serial"));
}

#[test]
fn a_study_without_a_trace_says_what_to_do() {
    let world = World::new();
    world.run("-q --cpus 1 --runs 1 --warmup 0 --trace off", &["true"]).success();
    world.morecores(&["advise", "study"]).refused(2, &["no traced run on two or more CPUs", "--trace on"]);
    world.morecores(&["advise", "missing"]).refused(2, &["missing"]);
}
