//! Marks of programs for a number of CPUs: written, shown, lost, renewed, and honoured by `launch`.

mod harness;

use std::fs;

use harness::{Ran, World, report_skip, usable_cpus};

/// A script that prints the CPUs that it may use.
const SHOW_CPUS: &str = "#!/bin/sh\nnproc\nexit 7\n";

/// Runs `morecores` with a list of marks of this test.
fn morecores(world: &World, arguments: &[&str]) -> Ran {
    let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
    command.args(arguments).env("XDG_STATE_HOME", world.path("state"));
    Ran::start_and_wait(command)
}

/// A folder with the script; `None` if its file system has no attributes.
fn world(test: &str) -> Option<(World, String)> {
    let world = World::new();
    let program = world.script("old-server", SHOW_CPUS);
    let marked = morecores(&world, &["mark", "--cpus", "1", &program]);
    if marked.stderr.contains("keeps no extended attributes") {
        report_skip(test, marked.stderr.trim_end());
        return None;
    }
    marked.success().prints(&["old-server: 1 CPU"]);
    Some((world, program))
}

#[test]
fn a_marked_program_starts_on_as_many_cpus_as_its_mark_allows() {
    let Some((world, program)) = world("a_marked_program_starts_on_as_many_cpus_as_its_mark_allows") else {
        return;
    };
    let launched = morecores(&world, &["launch", &program]);
    launched.code(7).prints(&["1"]);
    assert_eq!(launched.stderr, "");
    // The program's own words are not options of morecores.
    morecores(&world, &["launch", &program, "--help", "-v"]).code(7).prints(&["1"]);
    morecores(&world, &["mark", "--clear", &program]).success().prints(&["old-server: no mark"]);
    let launched = morecores(&world, &["launch", &program]);
    launched.code(7).says(&["old-server has no mark", "morecores mark --cpus 1"]);
    launched.prints(&[&usable_cpus().to_string()]);
}

#[test]
fn a_replaced_program_is_marked_again() {
    let Some((world, program)) = world("a_replaced_program_is_marked_again") else { return };
    let replace = || {
        fs::remove_file(&program).expect("the script");
        world.script("old-server", SHOW_CPUS);
    };
    replace();
    for list in [&["mark"][..], &["mark", &program]] {
        morecores(&world, list).success().prints(&["old-server: 1 CPU; its file was replaced", "--renew"]);
    }
    morecores(&world, &["mark", "--renew"]).success().prints(&["old-server: 1 CPU"]);
    morecores(&world, &["mark", &program, "--json"])
        .success()
        .prints(&["\"cpus\": 1", "\"state\": \"marked\""]);
    replace();
    let launched = morecores(&world, &["launch", &program]);
    launched.code(7).says(&["was replaced since it was marked; it is marked again"]).prints(&["1"]);
    assert_eq!(morecores(&world, &["launch", &program]).stderr, "");
    fs::remove_file(&program).expect("the script");
    morecores(&world, &["mark"]).success().prints(&["the file is gone"]);
    // The entry of a program that is gone can be removed.
    morecores(&world, &["mark", "--clear", &program]).success();
    morecores(&world, &["mark"]).success().says(&["no program is marked"]);
}

#[test]
fn a_measurement_beyond_the_mark_warns() {
    if usable_cpus() < 2 {
        return report_skip("a_measurement_beyond_the_mark_warns", "it needs 2 CPUs");
    }
    let Some((world, program)) = world("a_measurement_beyond_the_mark_warns") else { return };
    let warning = "old-server is marked for 1 CPU: it may fail on more";
    for (command, cpus, warns) in [("run", "1,2", true), ("run", "1", false), ("trace", "2", true)] {
        let options =
            if command == "run" { &["--trace", "off", "--runs", "1", "--min-runs", "1"][..] } else { &[] };
        let words = [&[command, "--cpus", cpus, "--success", "7"], options, &["--", &program]].concat();
        let ran = morecores(&world, &words);
        ran.success();
        assert_eq!(ran.stderr.contains(warning), warns, "{ran}");
    }
}

#[test]
fn a_mistake_about_marks_is_told_in_one_line() {
    let Some((world, program)) = world("a_mistake_about_marks_is_told_in_one_line") else { return };
    morecores(&world, &["mark", "--cpus", "0", &program]).code(2);
    morecores(&world, &["mark", "--cpus", "1"]).code(2).says(&["PROGRAM"]);
    morecores(&world, &["mark", "--cpus", "1", "no-such-program"])
        .refused(127, &["no-such-program", "not found"]);
    morecores(&world, &["launch", "./no-such-program"]).refused(127, &["no-such-program", "not found"]);
}

#[test]
fn a_file_system_without_attributes_is_told_and_no_other_program_is_marked() {
    let test = "a_file_system_without_attributes_is_told_and_no_other_program_is_marked";
    let Some((world, program)) = world(test) else { return };
    morecores(&world, &["mark", "--clear", &program]).success();
    fs::create_dir(world.path("plain")).expect("a folder");
    // The file system is this test's own.
    let script = "mount -t ramfs none plain && cp /bin/true plain/program && exec \"$@\"";
    let mut command = world.command("unshare");
    command.args(["-m", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_morecores")]);
    command.args(["mark", "--cpus", "1", &program, "plain/program"]);
    command.env("XDG_STATE_HOME", world.path("state"));
    let ran = Ran::start_and_wait(command);
    if ran.stderr.starts_with("unshare") || ran.stderr.starts_with("mount") {
        return report_skip(test, ran.stderr.trim_end());
    }
    ran.refused(2, &["plain/program: its file system keeps no extended attributes", "taskset -c 0"]);
    morecores(&world, &["mark"]).success().says(&["no program is marked"]);
    morecores(&world, &["mark", &program]).success().prints(&["old-server: no mark"]);
}
