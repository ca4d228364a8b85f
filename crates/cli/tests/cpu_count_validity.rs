//! Tests of a study whose command did not keep to its CPU counts. The study gets no verdict, but
//! advice on the option that helps.

mod harness;

use harness::World;
use harness::studies::with_runs;
#[cfg(feature = "trace")]
use harness::{report_skip, usable_cpus};

#[test]
fn a_command_that_left_its_cpus_has_no_verdict() {
    let world = World::new();
    let study = with_runs(&world, |run| {
        if run["cpus"] == 1 {
            run["cpu"]["user_ns"] = run["elapsed_ns"].clone();
            run["cpu"]["system_ns"] = run["elapsed_ns"].clone();
        }
    });
    let shown = world.morecores(&["show", &study.to_string_lossy()]);
    shown.success().prints(&[
        "It cannot be told yet: the command did not stay on its CPUs.",
        "at least 100%",
        "--limit cpuset",
    ]);
    assert!(!shown.stdout.contains("Yes"), "{shown}");
}

/// The command runs as many counting shells as the machine has CPUs, not as many as it may use. On
/// one CPU all of them are ready at once.
#[cfg(feature = "trace")]
#[test]
fn a_command_that_counts_all_cpus_has_no_baseline() {
    const NAME: &str = "a_command_that_counts_all_cpus_has_no_baseline";
    let world = World::new();
    if usable_cpus() < 2 {
        return report_skip(NAME, "it takes two CPUs");
    }
    let traced = world.morecores(&["trace", "--json", "--", "true"]);
    if !traced.stdout.contains("\"source\": \"bpf\"") {
        return report_skip(NAME, "no full trace here");
    }
    let line = "for i in $(seq $(getconf _NPROCESSORS_ONLN)); do \
                (j=0; while [ $j -lt 100000 ]; do j=$((j+1)); done) & done; wait";
    let ran = world.run("--cpus 1,2 --runs 2 --warmup 0 --precision 0 --trace on", &["sh", "-c", line]);
    ran.success().prints(&[
        "It cannot be told yet: 1 CPU is no baseline.",
        "one for each CPU of the machine",
        "--limit hotplug",
    ]);
    let warnings = world.shown("--json")["warnings"].clone();
    let crowded = warnings.as_array().expect("warnings").iter().find(|w| w["kind"] == "crowded_base");
    assert_eq!(crowded.expect("a warning")["machine_sized"], true, "{warnings}");
}
