//! Tests of `morecores suite`: its studies are made by lines that any user could type, and are
//! kept, resumed and shown again.

mod harness;

use harness::{World, report_skip, start, wait_until};
use morecores_study::Study;

/// Whether the program with the workloads was built beside this one. `cargo test -p` builds only
/// the given packages.
fn has_workloads(test: &str) -> bool {
    let is_installed =
        std::path::Path::new(env!("CARGO_BIN_EXE_morecores")).with_file_name("morecores-work").exists();
    if !is_installed {
        report_skip(test, "morecores-work is not built: cargo build --workspace");
    }
    is_installed
}

#[test]
fn bad_input_is_refused_in_one_line_and_creates_nothing() {
    let world = World::new();
    world.morecores(&["suite", "sofen"]).refused(2, &["no benchmark 'sofen'", "suite --list"]);
    world.morecores(&["suite", "--resume", "-o", "nowhere"]).refused(2, &["no suite at nowhere"]);
    world.morecores(&["suite", "--show", "nowhere"]).refused(2, &["no directory nowhere"]);
    world.morecores(&["suite", "--resume"]).code(2);
    std::fs::create_dir(world.path("there")).unwrap();
    world.morecores(&["suite", "--show", "there"]).refused(2, &["there has no study of any benchmark"]);
    world.morecores(&["suite", "-o", "there"]).refused(2, &["there exists", "--resume"]);
    assert_eq!(world.names(), ["there".to_owned()].into());
}

#[test]
fn the_list_names_each_benchmark() {
    let ran = World::new().morecores(&["suite", "--list"]);
    ran.success().prints(&["soften", "the softening of a true-colour bitmap"]);
}

#[test]
fn an_impossible_study_is_reported_below_the_table_with_status_1() {
    let world = World::new();
    // An empty directory occupies the path of the study: `morecores run --resume` finds no study in
    // it.
    std::fs::create_dir_all(world.path("mine/soften.study")).unwrap();
    let ran = world.morecores(&["suite", "soften", "--resume", "-o", "mine"]);
    ran.code(1).prints(&[
        "1.78",
        "soften: not measured: `morecores run` ended with exit status 2",
        "soften: no speedup: `morecores run` ended with exit status 2.",
    ]);
}

#[test]
fn an_interrupted_suite_is_resumed_and_shown_again() {
    if !has_workloads("an_interrupted_suite_is_resumed_and_shown_again") {
        return;
    }
    let world = World::new();
    let study = || Study::read(&world.path("mine/soften.study"));
    let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
    command.args(["suite", "soften", "-o", "mine"]);
    let started = start(command);
    wait_until("a run is kept", || study().is_ok_and(|study| !study.runs.is_empty()));
    started.signal("INT");
    let stopped = started.wait();
    stopped.code(130).says(&[
        "morecores run --runs 6",
        "-o mine/soften.study -- morecores-work soften --threads {n}",
        "stopped; continue with: morecores suite --resume -o mine",
    ]);
    wait_until("nothing is left", || world.processes().is_empty());
    let kept = study().unwrap();
    assert_eq!(kept.header.subject.words()[0], "morecores-work", "no path of this machine");

    let made = world.morecores(&["suite", "soften", "--resume", "-o", "mine"]);
    // The output contains published and measured results.
    made.success().prints(&[
        "row by row",
        "1.78",
        "now: ",
        "Summary: speedups then and now",
        "1.78 on 2",
        "speedup over 1 CPU",
        "studies: mine",
        "To show one: morecores show mine/soften.study",
    ]);
    assert_eq!(study().unwrap().runs[..kept.runs.len()], kept.runs[..]);
    let again = world.morecores(&["suite", "soften", "--resume", "-o", "mine"]);
    assert_eq!((again.success().stdout.as_str(), again.stderr.as_str()), (made.stdout.as_str(), ""));
    let shown = world.morecores(&["suite", "soften", "--show", "mine"]);
    assert_eq!(shown.success().stdout, made.stdout);
    let markdown = world.morecores(&["suite", "soften", "--show", "mine", "--markdown"]);
    markdown.success().prints(&["## soften", "| 2 | 9 | 1.78 |"]);
    let json = world.morecores(&["suite", "soften", "--show", "mine", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.success().stdout).unwrap();
    assert_eq!(json["benchmarks"][0]["parts"][0]["view"]["schema"], "morecores.view/1");
    assert_eq!(json["summary"][0]["then"]["speedup"], 1.7778);
}
