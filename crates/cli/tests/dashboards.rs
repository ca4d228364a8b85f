//! `morecores show` in the formats of dashboards.

mod harness;

use harness::World;
use harness::studies::build;
use serde_json::Value;

fn printed(world: &World, format: &str) -> String {
    let study = build();
    world.morecores(&["show", format, study.to_str().expect("a path of letters")]).success().stdout.clone()
}

fn view(world: &World) -> Value {
    serde_json::from_str(&printed(world, "--json")).expect("JSON")
}

#[test]
fn bencher_gets_each_count_with_its_intervals() {
    let world = World::new();
    let metrics: Value = serde_json::from_str(&printed(&world, "--bencher")).expect("JSON");
    let benchmarks = metrics.as_object().expect("benchmarks");
    let view = view(&world);
    let points = view["points"].as_array().expect("points");
    assert_eq!(benchmarks.len(), points.len());
    let (name, two) = benchmarks.iter().find(|(name, _)| name.contains("on 2 CPUs")).expect("2 CPUs");
    let point = points.iter().find(|point| point["cpus"] == 2).expect("2 CPUs");
    let [median, low, high] =
        [&point["elapsed_s"]["median"], &point["elapsed_s"]["ci95"][0], &point["elapsed_s"]["ci95"][1]]
            .map(|value| value.as_f64().map(|seconds| seconds * 1e9));
    let latency = &two["latency"];
    assert_eq!(
        [&latency["value"], &latency["lower_value"], &latency["upper_value"]].map(Value::as_f64),
        [median, low, high],
        "{name}"
    );
    assert_eq!(two["speedup"]["value"], point["speedup"]["value"]);
}

#[test]
fn github_benchmark_gets_a_list() {
    let world = World::new();
    let list: Value = serde_json::from_str(&printed(&world, "--github-benchmark")).expect("JSON");
    for entry in list.as_array().expect("a list") {
        let is_text = |key: &str| entry[key].is_string();
        assert!(is_text("name") && is_text("unit") && entry["value"].is_f64() && is_text("extra"), "{entry}");
    }
    assert_eq!(list[0]["unit"], "s");
}

#[test]
fn openmetrics_has_a_family_for_each_figure_and_an_end() {
    let world = World::new();
    let text = printed(&world, "--openmetrics");
    assert!(text.ends_with("# EOF\n"), "{text}");
    for family in
        ["morecores_elapsed_seconds", "morecores_elapsed_ci95_low_seconds", "morecores_speedup_ratio"]
    {
        assert!(text.contains(&format!("# TYPE {family} gauge")), "{text}");
    }
    assert!(text.contains("cpus=\"2\""), "{text}");
}

#[test]
fn a_study_without_timed_runs_or_of_locks_is_refused() {
    let world = World::new();
    world.morecores(&["show", "missing", "--bencher"]).refused(2, &["missing"]);
    world.run("-q --cpus 1 --runs 1 --warmup 0 --trace off", &["false"]);
    for format in ["--bencher", "--github-benchmark", "--openmetrics"] {
        world.morecores(&["show", "study", format]).refused(2, &["no timed run that succeeded"]);
    }
    assert!(
        world.morecores(&["show", "missing", "--bencher", "--json"]).stderr.contains("cannot be used with")
    );
    world.morecores(&["locks", "--bencher"]).refused(2, &["--bencher", "study of locks"]);
}
