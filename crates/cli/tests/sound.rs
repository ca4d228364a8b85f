//! A study whose CPU counts are not what they say gets no verdict, and the option that helps.

mod harness;

use harness::World;
use harness::studies::with_runs;

#[test]
fn a_command_that_left_its_cpus_gets_no_verdict() {
    let world = World::new();
    let study = with_runs(&world, |run| {
        if run["cpus"] == 1 {
            run["cpu"]["user_ns"] = run["elapsed_ns"].clone();
            run["cpu"]["system_ns"] = run["elapsed_ns"].clone();
        }
    });
    let shown = world.morecores(&["show", &study.to_string_lossy()]);
    shown.success().prints(&[
        "Not known: the command did not keep to the CPUs",
        "at least 100%",
        "--limit cpuset",
    ]);
    assert!(!shown.stdout.contains("Yes"), "{shown}");
}
