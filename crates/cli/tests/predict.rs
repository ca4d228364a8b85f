//! Tests of predictions on real studies: those committed in `studies/`, and those made here.

mod harness;

use std::path::{Path, PathBuf};

use harness::{Ran, World, report_skip, usable_cpus};
use serde_json::Value;

/// Path of a committed study of a part of a kernel build on 1 and 2 CPUs, traced.
fn build() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/2026-11-21-build/kernel-affinity.study")
}

fn predict(world: &World, study: &Path, options: &str) -> Ran {
    let mut words = vec!["predict", study.to_str().expect("a path of letters")];
    words.extend(options.split_whitespace());
    world.morecores(&words)
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.success().stdout).expect("JSON")
}

#[test]
fn a_study_predicts_other_machines() {
    let world = World::new();
    let ran = predict(&world, &build(), "--cpus 4,8 --price 2=0.1,8=0.3 --explain");
    ran.success().prints(&[
        "Predicted from 1 and 2 CPUs",
        "90% band",
        "measured",
        "cost of 1000 runs",
        "least",
        "models",
    ]);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 100), "{ran}");
    let prediction = json(&predict(&world, &build(), "--cpus 4,8 --json"));
    let points = prediction["points"].as_array().expect("points");
    assert_eq!(points.len(), 2);
    for point in points {
        let [low, high] = [0, 1].map(|end| point["band90"][end].as_f64().expect("a number"));
        let cpus = point["cpus"].as_f64().expect("a count");
        assert!(1.0 < low && low < high && high < 1.5 * cpus, "{point}");
    }
    // The view contains the prediction too.
    let view = json(&world.morecores(&["show", build().to_str().expect("letters"), "--json"]));
    assert_eq!(view["prediction"]["points"][0]["cpus"], 4);
}

#[test]
fn unusable_evidence_gives_one_clear_line() {
    let world = World::new();
    for (options, says) in [
        ("--cpus 2", "--cpus 2: 2 CPUs are measured; predict more than that"),
        ("--cpus 0", "write CPU counts from 1"),
        ("--cpus many", "--cpus `many`"),
        ("--from 3 --cpus 8", "--from 3: measured were 1, 2 CPUs"),
        ("--price 2:1", "--price `2:1`"),
    ] {
        let ran = predict(&world, &build(), options);
        ran.refused(2, &[says]);
    }
    predict(&world, Path::new("no-such.study"), "").refused(2, &["no-such.study"]);
}

#[test]
fn a_list_without_its_equals_sign_is_not_a_command() {
    World::new().morecores(&["run", "--predict", "4,8", "true"]).refused(2, &["--predict=4,8"]);
}

#[test]
fn a_tiny_cost_is_given_for_many_runs() {
    let ran = predict(&World::new(), &build(), "--cpus 4 --price 2=0.0000001,4=0.0000003");
    ran.success().prints(&["cost of 1000000 runs", "least"]);
}

#[test]
fn one_count_without_a_trace_supports_no_prediction() {
    let world = World::new();
    world.run("-q --cpus 1 --runs 6 --precision 0 --trace off", &["true"]).success();
    let ran = predict(&world, Path::new("study"), "--cpus 4");
    ran.refused(2, &["one CPU count without a trace supports no prediction", "run --predict=4"]);
    world.morecores(&["what-if", "study"]).refused(2, &["no trace to replay"]);
    World::new().run("-q --cpus 1 --predict --trace off", &["true"]).refused(2, &["--predict needs traces"]);
}

#[test]
fn an_untraced_study_is_predicted_by_closed_forms_with_a_message() {
    if usable_cpus() < 2 {
        return report_skip("predicted by closed forms", "there is one CPU");
    }
    let world = World::new();
    world.run("-q --cpus 1,2 --runs 6 --precision 0 --trace off", &["sleep", "0.01"]).success();
    let ran = predict(&world, Path::new("study"), "--cpus 4");
    ran.success().prints(&["formulas alone predict"]);
}

#[test]
fn gains_are_a_list() {
    let world = World::new();
    let study = build();
    let path = study.to_str().expect("letters");
    let ran = world.morecores(&["what-if", path, "--faster", "cc1=2x", "--without", "serial", "--cpus", "2"]);
    ran.success().prints(&["cc1=2x", "serial work", "CPUs gained"]);
    world.morecores(&["what-if", path, "--without", "nobody"]).refused(2, &["no lock or command", "cc1"]);
    world.morecores(&["what-if", path, "--faster", "cc1"]).refused(2, &["like ld=2x"]);
}

/// A study of a metric is told to leave out the metric, with traces and without.
#[test]
fn a_metric_has_no_gains() {
    let world = World::new();
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    for name in ["2026-11-21-pipe/pipe.study", "2026-11-21-suite/build-parallel.study"] {
        let study = studies.join(name);
        let ran = world.morecores(&["what-if", study.to_str().expect("letters")]);
        ran.refused(2, &["measures a metric", "measure the command again without --metric"]);
    }
}
