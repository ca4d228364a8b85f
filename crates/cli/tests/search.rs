//! Searches of `morecores shake` by `morecores show` and on the report page.

mod harness;

use std::fs;

use harness::World;
use harness::browser::play;
use harness::search::search;
use harness::studies::EVIL;
use serde_json::Value;

#[test]
fn a_search_is_shown_in_words() {
    let world = World::new();
    search(&world, "server.shake", "server");
    world.morecores(&["show", "server.shake"]).success().prints(&[
        "It is not thread-safe",
        "1 CPU, threads held",
        "3 of 30 (",
        "The first failure was in run 17 (8.5 s): no end, all threads asleep (deadlock).",
        "thread 2 waits for `table`, which thread 1 holds",
        "thread 2 in server",
        "before `inc dword ptr [counter]` in `server`, server.c:12",
        "120 runs in 61 s; 30 of 40 sites held, of 300 candidates; runs with holds took 1.03 times as long; seed 7",
    ]);
}

#[test]
fn a_search_is_shown_as_json() {
    let world = World::new();
    let path = search(&world, "server.shake", "server");
    let kept: Value =
        serde_json::from_slice(&fs::read(path.join("findings.json")).expect("findings")).expect("JSON");
    let ran = world.morecores(&["show", "--json", "server.shake"]);
    let shown: Value = serde_json::from_str(&ran.success().stdout).expect("JSON");
    assert_eq!(shown, kept);
    assert_eq!(shown["tallies"]["one-cpu-holds"]["failures"]["no end, all threads asleep (deadlock)"], 3);
}

#[test]
fn options_of_studies_are_refused_for_a_search() {
    let world = World::new();
    search(&world, "server.shake", "server");
    for option in ["--csv", "--openmetrics", "--exit-answer", "--by=function"] {
        let name = option.split('=').next().expect("a name");
        world.morecores(&["show", option, "server.shake"]).refused(2, &[name, "search of `morecores shake`"]);
    }
    world.morecores(&["report", "--worth", "0.5", "server.shake"]).refused(2, &["--worth is for studies"]);
    world
        .morecores(&["report", "--plot", "speedup.svg", "server.shake"])
        .refused(2, &["--plot draws studies of commands"]);
}

#[test]
fn a_search_that_has_not_ended_has_no_findings() {
    let world = World::new();
    let path = search(&world, "server.shake", "server");
    fs::remove_file(path.join("findings.json")).expect("removed");
    world.morecores(&["show", "server.shake"]).refused(2, &["it has no findings yet"]);
}

fn page(world: &World) -> String {
    world.morecores(&["report", "-o", "page.html", "server.shake"]).success();
    world.path("page.html").to_string_lossy().into_owned()
}

#[test]
fn a_search_has_a_page() {
    let world = World::new();
    search(&world, "server.shake", "server");
    play("a_search_has_a_page", "search", &page(&world));
}

/// Every text that comes from the program contains markup and script.
#[test]
fn a_hostile_search_runs_no_script_on_the_page() {
    let world = World::new();
    search(&world, "server.shake", EVIL);
    play("a_hostile_search_runs_no_script_on_the_page", "hostile", &page(&world));
}
