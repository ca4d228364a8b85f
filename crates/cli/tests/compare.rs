//! Tests of comparisons of real studies, committed in `studies/`, and of the exit status for
//! scripts.

mod harness;

use std::fs;
use std::path::{Path, PathBuf};

use harness::{Ran, World};
use serde_json::Value;

/// Path of a committed study of the suite.
fn study(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies").join(name)
}

/// Studies of a matrix product of 600 rows, and of a larger one.
fn products() -> [PathBuf; 2] {
    [study("2026-11-21-suite/matmul.study"), study("2026-11-22-suite/matmul.study")]
}

fn compare(world: &World, [base, new]: &[PathBuf; 2], options: &[&str]) -> Ran {
    let paths = [base, new].map(|path| path.to_str().expect("a path of letters"));
    world.morecores(&[&["compare"], &paths[..], options].concat())
}

#[test]
fn changes_are_reported_with_other_differences() {
    let world = World::new();
    let ran = compare(&world, &products(), &[]);
    let too_few = "Too few runs to tell: on 1 and 2 CPUs NEW takes";
    ran.success().prints(&[too_few, "a test of 3 ratios at once takes 8 runs", "The kernels differ"]);
    let place = |part| ran.stdout.find(part).unwrap_or_else(|| panic!("{part} is not there\n{ran}"));
    assert!(place("measure different commands") < place("Too few runs"), "the warning comes first\n{ran}");
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 100 || line.contains(".study")), "{ran}");
    let comparison = compare(&world, &products(), &["--json"]);
    let comparison: Value = serde_json::from_str(&comparison.success().stdout).expect("JSON");
    assert_eq!(comparison["schema"], "morecores.comparison/1");
    assert_eq!(comparison["points"][1]["difference"], "unknown");
    assert_eq!(comparison["sufficient_runs"], 8);
    let stack = &comparison["stack"][0];
    let grown =
        stack["grown"].as_object().expect("components").values().filter_map(Value::as_f64).sum::<f64>();
    let speedup = ["new_speedup", "base_speedup"].map(|key| stack[key].as_f64().expect("a number"));
    assert!((grown + speedup[0] - speedup[1]).abs() < 1e-9, "both stacks add up to the CPUs: {stack}");
}

/// The tuned product has 16 runs, the plain one 12.
#[test]
fn enough_runs_give_a_verdict() {
    let world = World::new();
    let both = ["matmul-tuned", "matmul"].map(|name| study(&format!("2026-11-22-suite/{name}.study")));
    compare(&world, &both, &[]).success().prints(&["Worse: on 1 CPU NEW takes", "times as long (interval"]);
}

/// A comparison of a study with itself shows no difference at any count, in any figure.
#[test]
fn a_study_does_not_differ_from_itself() {
    let world = World::new();
    let itself = [products()[1].clone(), products()[1].clone()];
    let options = ["--fail-if", "speedup@2 < 99%", "--fail-if", "user_s@2 < 100%"];
    let ran = compare(&world, &itself, &options);
    ran.success().prints(&[
        "No difference found: on 1 and 2 CPUs any difference is within the noise",
        "Changes of the losses on 2 CPUs: not known.",
        "is not known yet",
    ]);
}

#[test]
fn a_condition_that_holds_gives_status_3() {
    let world = World::new();
    let compared = |options: &[&str]| compare(&world, &products(), options);
    compared(&["--fail-if", "elapsed@1 > 150%", "--markdown"])
        .code(3)
        .prints(&["❌ elapsed@1 \\> 150% holds"]);
    compared(&["--fail-if", "elapsed@1 < 150%"]).success().prints(&["does not hold"]);
    compared(&["--fail-if", "minor_faults@2 > 100000000"]).success().prints(&["does not hold"]);
    // A decrease is not known: the ratio is 1.06, and its interval contains 1.
    compared(&["--fail-if", "speedup@2 < 100%"]).success().prints(&["is not known yet"]);
    compared(&["--fail-if", "speedup@2 < 100%", "--strict"]).code(3);
}

#[test]
fn studies_without_a_comparison_give_one_clear_line() {
    let world = World::new();
    let conditions = [
        ("speedup", "write a figure at a CPU count"),
        ("speedup@2 < much", "like 'speedup@2 < 95%'"),
        ("speedup@64 < 2", "has no figure speedup@64"),
        ("colour@2 < 2", "has no figure colour@2"),
        ("elapsed_s.max@2 > 105%", "is an extreme or a mean of the runs"),
        ("traces.waiting_ratio@2 > 0.5", "comes from one traced run"),
        ("failed_runs@2 > 0", "use a median of the runs, like elapsed_s@2"),
    ];
    for (condition, says) in conditions {
        let ran = compare(&world, &products(), &["--fail-if", condition]);
        ran.refused(2, &[says]);
    }
    compare(&world, &products(), &["--at-least", "much"]).refused(2, &["--at-least `much`"]);
    compare(&world, &[products()[0].clone(), world.path("none.study")], &[]).refused(2, &["none.study"]);

    // The studies have a newer schema and a damaged header.
    let newer = world.path("newer.study");
    fs::create_dir(&newer).expect("a directory");
    let head = fs::read_to_string(products()[0].join("study.json")).expect("a head");
    fs::write(newer.join("study.json"), head.replace("morecores.study/1", "morecores.study/9"))
        .expect("a file");
    fs::copy(products()[0].join("runs.jsonl"), newer.join("runs.jsonl")).expect("a copy");
    compare(&world, &[products()[0].clone(), newer.clone()], &[]).refused(2, &["morecores.study/9"]);
    fs::write(newer.join("study.json"), &head[..head.len() / 2]).expect("a file");
    compare(&world, &[products()[0].clone(), newer], &[]).refused(2, &["study.json"]);
}
