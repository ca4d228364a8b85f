//! Tests of `morecores locks` and `tune-spin`: refusals, and studies that are kept, shown and
//! resumed. A study of locks is never taken for one of a command.
//!
//! The laboratory's own tests check its measurements; here a script may replace it.

mod harness;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use harness::locks::{LABORATORY, TINY};
use harness::{Ran, World, report_skip, start, usable_cpus, wait_until};
use morecores_study::StopReason;
use morecores_study::lock::{LockCell, LockStudy};

fn installed(world: &World, arguments: &[&str]) -> Ran {
    Ran::start_and_wait(world.installed_command(arguments))
}

/// World with a tiny study, made with the script.
fn with_study() -> World {
    let world = World::new();
    world.install(LABORATORY);
    let ran = installed(&world, &[TINY.as_slice(), &["-q"]].concat());
    ran.success();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    world
}

fn study(world: &World) -> LockStudy {
    LockStudy::read(&world.path("study")).expect("a study of locks")
}

fn lines(world: &World, file: &str) -> usize {
    fs::read_to_string(world.path(file)).unwrap_or_default().lines().count()
}

#[test]
fn impossible_measurements_are_refused_before_anything_changes() {
    for (options, parts) in [
        (["--lock", "spine"], ["there is no lock `spine`", "adaptive"]),
        (["--threads", "0"], ["--threads", "begin at 1"]),
        (["--threads", "9000"], ["--threads: 9000", "at most 8192"]),
        (["--hold", "1s"], ["--hold: `1s`", "at most 100ms"]),
        (["--hold", "5"], ["--hold: `5`", "100ns"]),
        (["--think", "soon"], ["--think: `soon`", "100ns"]),
        (["--runs", "0"], ["--runs 0", "at least 1"]),
        (["-o", "no/such/directory"], ["no/such/directory", "cannot create"]),
    ] {
        let world = World::new();
        world.install(LABORATORY);
        installed(&world, &[["locks"].as_slice(), &options].concat()).refused(2, &parts);
        assert_eq!(world.names(), ["bin".to_owned()].into(), "{options:?}");
    }
    let world = World::new();
    world.install(LABORATORY);
    installed(&world, &["locks", "--resume", "-o", "nowhere"]).refused(2, &["nowhere", "no study"]);
    installed(&world, &["locks", "--resume"]).code(2);
    let world = with_study();
    let before = fs::read(world.path("study/study.json")).expect("a head");
    installed(&world, &TINY).refused(2, &["study exists", "--resume"]);
    installed(&world, &["locks", "--hyperfine-json"]).refused(2, &["--hyperfine-json"]);
    assert_eq!(fs::read(world.path("study/study.json")).expect("a head"), before);
}

#[test]
fn without_the_cell_program_a_message_says_so_and_nothing_is_left() {
    let world = World::new();
    world.install("");
    let remove = |program: &str| fs::remove_file(world.path("bin").join(program)).expect("a program");
    remove("morecores-lock-cell");
    let without = |arguments: &[&str]| {
        let mut command = world.installed_command(arguments);
        command.env("PATH", "/nowhere");
        Ran::start_and_wait(command)
    };
    without(&TINY).refused(2, &["morecores-lock-cell", "installed together"]);
    remove("morecores-locks");
    without(&TINY).refused(2, &["morecores-locks", "installed together"]);
    remove("morecores-tune-spin");
    without(&["tune-spin"]).refused(2, &["morecores-tune-spin", "installed together"]);
    assert_eq!(world.names(), ["bin".to_owned()].into());
}

#[test]
fn a_study_of_locks_is_kept_and_can_be_shown_again() {
    let world = World::new();
    world.install(LABORATORY);
    let ran = installed(&world, &TINY);
    ran.success().prints(&["study: study"]);
    let made = study(&world);
    assert_eq!(made.runs.len(), made.header.plan.experiment().cells_of_round(0).len());
    assert_eq!(made.runs.len(), lines(&world, "asked"), "every cell was measured once");
    let closing = made.header.closing.expect("an end");
    assert_eq!(closing.reason, StopReason::RunsExhausted);
    let wide = installed(&world, &["show", "study", "--wide"]).success().stdout.clone();
    assert!(wide.len() > ran.stdout.len());
    let shown = installed(&world, &["show", "study"]);
    assert_eq!(shown.success().stdout, ran.stdout);
    let json = installed(&world, &["show", "study", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.success().stdout).expect("JSON");
    assert_eq!(json["schema"], "morecores.locks-view/1");
    assert_eq!(json["plan"]["locks"], serde_json::json!(["std"]));
    for format in ["--csv", "--markdown"] {
        assert!(!installed(&world, &["show", "study", format]).success().stdout.is_empty(), "{format}");
    }
    installed(&world, &["show", "study", "--hyperfine-json"]).refused(2, &["--hyperfine-json"]);
}

#[test]
fn a_busy_machine_gets_the_warning_of_run() {
    let world = with_study();
    let closing = study(&world).header.closing.expect("an end");
    assert!(closing.quiet.is_some(), "nobody looked before the first cell");

    // The closing record is changed as if another program had been active.
    let path = world.path("study/study.json");
    let mut head: serde_json::Value =
        serde_json::from_slice(&fs::read(&path).expect("a head")).expect("JSON");
    head["closing"]["quiet"] =
        serde_json::json!({"watched_ns": 500_000_000, "busy_ns": 750_000_000, "steal_ns": 0});
    fs::write(&path, head.to_string()).expect("room");
    let warning = "Other programs kept 1.50 of";
    for format in [["--wide"], ["--markdown"]] {
        let ran = installed(&world, &[["show", "study"].as_slice(), &format].concat());
        ran.success().prints(&[warning, "while nothing was measured", "Stop them and repeat."]);
    }
    let json = installed(&world, &["show", "study", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.success().stdout).expect("JSON");
    let kinds = json["warnings"].as_array().expect("a list").iter().map(|warning| &warning["kind"]);
    assert!(kinds.into_iter().any(|kind| kind == "not_quiet"), "{}", json["warnings"]);
    installed(&world, &["report", "study", "-o", "page.html"]).success();
    assert!(fs::read_to_string(world.path("page.html")).expect("a page").contains(warning));
}

#[test]
fn on_one_cpu_cells_for_two_are_left_out_with_a_message() {
    let world = World::new();
    world.install(LABORATORY);
    let mut command = world.command("taskset");
    let cpu = first_cpu();
    command.args(["-c", &cpu]).arg(world.path("bin/morecores")).args(TINY);
    let ran = Ran::start_and_wait(command);
    ran.success().says(&["only one CPU is usable", "not measured"]);
    let pairs = |cell: &LockCell| {
        matches!(cell, LockCell::Handoff { .. } | LockCell::Preempted { .. } | LockCell::Line { .. })
    };
    let made = study(&world);
    assert!(!made.runs.is_empty() && !made.runs.iter().any(|run| pairs(&run.cell)));
    assert_eq!(made.header.plan.cpus.to_string(), cpu);
}

/// First CPU that this process may use.
fn first_cpu() -> String {
    let status = fs::read_to_string("/proc/self/status").expect("our status");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("our CPUs");
    list.trim().split(['-', ',']).next().expect("a CPU").to_owned()
}

#[test]
fn a_resumed_study_measures_nothing_twice() {
    let world = with_study();
    let first = study(&world).runs;
    // The file looks as if the process had been killed in the middle of a line.
    let file = world.path("study/runs.jsonl");
    let whole = fs::read(&file).expect("cells");
    fs::write(&file, &whole[..whole.len() - 10]).expect("cut");
    fs::remove_file(world.path("asked")).expect("the script's notes");
    installed(&world, &["locks", "-q", "--resume", "-o", "study"]).success();
    let again = study(&world);
    assert_eq!((lines(&world, "asked"), again.damaged_lines), (1, 1), "the cell whose line was cut");
    let cells = |runs: &[morecores_study::lock::LockRun]| {
        runs.iter().map(|run| (run.round, run.cell)).collect::<BTreeSet<_>>()
    };
    assert_eq!(cells(&again.runs), cells(&first));

    installed(&world, &["locks", "-q", "--resume", "-o", "study", "--runs", "3"]).success();
    let more = study(&world);
    assert_eq!(more.header.plan.rounds, 3);
    let all: usize = (0..3).map(|round| more.header.plan.experiment().cells_of_round(round).len()).sum();
    assert_eq!((more.runs.len(), cells(&more.runs).len()), (all, all));
}

#[test]
fn a_study_survives_kill_9_between_any_two_cells() {
    let world = World::new();
    world.install(LABORATORY);
    let whole = morecores_testkit::lock_plan().experiment().cells_of_round(0).len();
    let plan =
        ["locks", "-q", "--lock", "adaptive,std", "--threads", "1,2", "--hold", "0,1us", "--think", "0"];
    for wanted in [0, 1, whole / 2, whole + 1] {
        let mut command = world.command(&world.path("bin/morecores").to_string_lossy());
        command.args(plan).args(["--runs", "3", "-o", "study"]);
        let running = start(command);
        wait_until("cells are kept", || {
            world.path("study/study.json").exists() && lines(&world, "study/runs.jsonl") >= wanted
        });
        running.signal("KILL");
        assert_eq!(running.wait().status.code(), None, "it was still running");
        let before = study(&world);
        assert!(before.header.closing.is_none() && before.runs.len() >= wanted && before.damaged_lines <= 1);
        installed(&world, &["show", "study"]).success();
        installed(&world, &["locks", "-q", "--resume", "-o", "study"]).success();
        let after = study(&world);
        assert_eq!(after.runs[..before.runs.len()], before.runs[..], "what was kept stays");
        let cells: BTreeSet<_> = after.runs.iter().map(|run| (run.round, run.cell)).collect();
        let all: usize = (0..3).map(|round| after.header.plan.experiment().cells_of_round(round).len()).sum();
        assert_eq!((after.runs.len(), cells.len()), (all, all), "all is there, and nothing twice");
        fs::remove_dir_all(world.path("study")).expect("the study");
    }
    wait_until("what it started has ended", || world.processes().is_empty());
}

#[test]
fn a_failed_cell_is_reported_and_the_others_are_kept() {
    let world = World::new();
    world.install(&LABORATORY.replace("case $1 in", "case $1 in\n*free*) echo 'no room' >&2; exit 2 ;;"));
    let ran = installed(&world, &TINY);
    ran.code(1).says(&["std when it is free could not be measured: no room (exit status 2)"]);
    let made = study(&world);
    assert_eq!(made.runs.len() + 1, made.header.plan.experiment().cells_of_round(0).len());
    assert_eq!(made.header.closing.expect("an end").reason, StopReason::RunFailed);
}

#[test]
fn a_signal_ends_the_study_and_shows_its_cells() {
    let world = World::new();
    world.install(&LABORATORY.replace("case $1 in", "case $1 in\n*contest*) sleep 60 ;;"));
    let mut command = world.installed_command(&TINY);
    command.args(["--seed", "1"]);
    let running = start(command);
    let in_contest = || fs::read_to_string(world.path("asked")).is_ok_and(|asked| asked.contains("contest"));
    wait_until("a contest goes on", in_contest);
    running.signal("INT");
    let ran = running.wait();
    ran.code(130).prints(&["study: study"]).says(&["morecores locks --resume -o study"]);
    let made = study(&world);
    assert_eq!(made.header.closing.expect("an end").reason, StopReason::Interrupted);
    assert_eq!(made.runs.len() + 1, lines(&world, "asked"), "all but the one that was cut short");
    wait_until("what it started has ended", || world.processes().is_empty());
}

#[test]
fn subcommands_for_commands_refuse_a_study_of_locks() {
    let world = with_study();
    let clear = "study is a study of locks, not of a command: see it with morecores show study";
    for arguments in [
        ["compare", "study", "study"].as_slice(),
        &["predict", "study"],
        &["what-if", "study"],
        &["show", "study", "--by", "function"],
        &["run", "--resume", "-o", "study"],
    ] {
        installed(&world, arguments).refused(2, &[clear]);
    }
    installed(&world, &["report", "study", "--plot", "speedup.svg"]).refused(2, &["--plot", "of locks"]);
    world.run("-q --cpus 1 --runs 1 --warmup 0", &["true"]).refused(2, &["study exists"]);
    let other = World::new();
    other.run("-q --cpus 1 --runs 1 --warmup 0", &["true"]).success();
    other
        .morecores(&["locks", "--resume", "-o", "study"])
        .refused(2, &["study is a study of a command, not of locks"]);
}

#[test]
fn a_page_shows_a_study_of_locks_with_others() {
    let world = with_study();
    let other = harness::studies::build().to_string_lossy().into_owned();
    installed(&world, &["report", "study", &other, "-o", "both.html"]).success().says(&["wrote both.html"]);
    let html = fs::read_to_string(world.path("both.html")).expect("the page");
    assert!(
        html.contains("\"schema\":\"morecores.locks-view/1\"")
            && html.contains("\"schema\":\"morecores.view/1\"")
    );
    assert!(html.contains("morecores locks --lock std --threads 1 --hold 0 --think 0 --runs 1"));
}

/// This test uses the real laboratory, if it is built.
#[test]
fn the_laboratory_measures_the_requested_cells() {
    const NAME: &str = "the_laboratory_measures_the_requested_cells";
    let cell = Path::new(env!("CARGO_BIN_EXE_morecores")).with_file_name("morecores-lock-cell");
    if !cell.exists() {
        return report_skip(NAME, "morecores-lock-cell is not built: cargo build -p morecores-lock-cell");
    }
    let world = World::new();
    world.morecores(&TINY).success().prints(&["study: study"]);
    let made = study(&world);
    assert_eq!(made.runs.len(), made.header.plan.experiment().cells_of_round(0).len());
    assert_eq!(made.header.plan.cpus.len(), usable_cpus());

    let tuned = world.morecores(&["tune-spin", "--json"]);
    let tuned: morecores_view::locks::SpinTuning =
        serde_json::from_str(&tuned.success().stdout).expect("JSON");
    assert_eq!(tuned.cpus as usize, usable_cpus());
    assert!(tuned.spins > 0 || tuned.cpus == 1);
    let tuning = world.morecores(&["tune-spin"]);
    tuning.success().prints(&["A sleep and a wake-up: ", "spin"]);
}
