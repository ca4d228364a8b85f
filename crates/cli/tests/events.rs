//! `morecores events`: a traced run as tables.

mod harness;

use std::collections::{BTreeMap, BTreeSet};

use harness::World;
use harness::studies::build;
use serde_json::Value;

/// Rows of a table of the committed study of a build, each a map of its columns.
fn rows(world: &World, table: &str, options: &[&str]) -> Vec<BTreeMap<String, Value>> {
    let study = build();
    let line = [&["events", study.to_str().expect("a path of letters"), table, "--json"], options].concat();
    let printed = world.morecores(&line).success().stdout.clone();
    printed.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

fn number(row: &BTreeMap<String, Value>, column: &str) -> i64 {
    row[column].as_i64().unwrap_or_else(|| panic!("{column} in {row:?}"))
}

fn length(row: &BTreeMap<String, Value>) -> i64 {
    number(row, "to_ns") - number(row, "from_ns")
}

/// Shown trace of the committed study on the most CPUs.
fn trace_view(world: &World) -> Value {
    let study = build();
    let printed = world.morecores(&["show", "--json", study.to_str().expect("a path of letters")]);
    let view: Value = serde_json::from_str(&printed.success().stdout).expect("JSON");
    view["traces"].as_array().expect("traces").last().expect("a trace").clone()
}

#[test]
fn the_tables_add_up_to_the_figures_of_the_reports() {
    let world = World::new();
    let trace = trace_view(&world);
    let elapsed_ns = (trace["elapsed_s"].as_f64().expect("a number") * 1e9).round() as i64;
    let cpus = trace["cpus"].as_i64().expect("a number");

    let spans = rows(&world, "cpus", &[]);
    assert_eq!(spans.iter().map(length).sum::<i64>(), cpus * elapsed_ns);

    let path = rows(&world, "path", &[]);
    assert_eq!(path.iter().map(length).sum::<i64>(), elapsed_ns);
    let gap = path.windows(2).find(|pair| number(&pair[0], "to_ns") != number(&pair[1], "from_ns"));
    assert_eq!(gap, None);

    let components = trace["components"].as_object().expect("components");
    let mut idle: BTreeMap<String, f64> = BTreeMap::new();
    for row in rows(&world, "idle", &[]) {
        let cause = row["cause"].as_str().expect("a cause");
        *idle.entry(format!("idle_{cause}_s")).or_default() += number(&row, "idle_ns") as f64 / 1e9;
    }
    for (name, seconds) in components.iter().filter(|(name, _)| name.starts_with("idle_")) {
        let (here, there) = (idle.get(name).copied().unwrap_or(0.0), seconds.as_f64().unwrap_or(0.0));
        assert!((here - there).abs() <= 0.001 * there + 1e-5, "{name}: {here} instead of {there}");
    }

    let threads = rows(&world, "threads", &["--where", "of_command=1"]);
    let known: BTreeSet<i64> = threads.iter().map(|thread| number(thread, "thread")).collect();
    let states = rows(&world, "states", &[]);
    assert!(!states.is_empty() && states.iter().all(|state| known.contains(&number(state, "thread"))));
}

#[test]
fn conditions_select_rows() {
    let world = World::new();
    let all = rows(&world, "waits", &[]);
    let of_disk = rows(&world, "waits", &["--where", "cause=disk"]);
    let others = rows(&world, "waits", &["--where", "cause!=disk"]);
    assert_eq!(all.len(), of_disk.len() + others.len());
    assert!(!others.is_empty());
    let early = rows(&world, "waits", &["--where", "cause!=disk", "--where", "from_ns<100000000"]);
    assert!(!early.is_empty() && early.len() < others.len());
    assert!(early.iter().all(|row| number(row, "from_ns") < 100_000_000 && row["cause"] != "disk"));
}

#[test]
fn csv_has_a_header_and_a_trace_is_chosen_by_name() {
    let world = World::new();
    let study = build();
    let study = study.to_str().expect("a path of letters");
    let csv = world.morecores(&["events", study, "samples", "--csv"]).success().stdout.clone();
    assert_eq!(csv.lines().next(), Some("at_ns,cpu,thread,mode,spins"));
    let one = world.morecores(&["events", study, "cpus", "--trace", "1"]).success().stdout.clone();
    let cpus: Vec<&str> = one.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert!(!cpus.is_empty() && cpus.iter().all(|cpu| *cpu == cpus[0]), "a trace on one CPU");
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let world = World::new();
    let study = build();
    let study = study.to_str().expect("a path of letters");
    let refused = |options: &[&str], parts: &[&str]| {
        world.morecores(&[&["events", study], options].concat()).refused(2, parts);
    };
    refused(&["waits", "--trace", "64"], &["no trace \"64\"", "its traces are 1, "]);
    refused(&["waits", "--where", "reason=disk"], &["no column \"reason\"", "cause"]);
    refused(&["waits", "--where", "disk"], &["COLUMN SIGN VALUE"]);
    refused(&["waits", "--where", "cause<disk"], &["no number"]);
    world.morecores(&["events", "missing", "waits"]).refused(2, &["missing"]);
    world.run("-q --cpus 1 --runs 1 --warmup 0 --trace off", &["true"]).success();
    world.morecores(&["events", "study", "waits"]).refused(2, &["no trace", "--trace on"]);
}
