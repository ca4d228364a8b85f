//! Tests of the command line built without its tracer: studies are made and shown as usual, and a
//! request for a trace gets a clear message.
#![cfg(not(feature = "trace"))]

mod harness;

use harness::World;

#[test]
fn without_a_tracer_timing_works_and_tracing_is_refused() {
    let world = World::new();
    let why = "built without its tracer";
    world.run("--cpus 1 --runs 1 --trace on", &["touch", "trace"]).refused(2, &["--trace on", why]);
    world.morecores(&["trace", "--", "touch", "trace"]).refused(2, &[why]);
    assert!(world.names().is_empty());
    world.run("--cpus 1 --runs 2 --warmup 0 --trace auto", &["true"]).success().says(&["not traced: ", why]);
    assert_eq!(world.study().runs.len(), 2);
    world.morecores(&["show", "study", "--json"]).success();
}
