//! Names of functions by debug files of a server, from the option to the report.
#![cfg(feature = "trace")]

mod harness;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use harness::{Ran, World, report_skip, start, wait_until};
use morecores_testkit::{DebuginfodResponse, DebuginfodServer, debuginfod_client};
use serde_json::Value;

/// Computes for 300 ms of CPU time in a function that no symbol of a stripped file names.
const PROGRAM: &str = r#"
#include <time.h>

__attribute__((noinline)) static double crunch(void)
{
	volatile double sum = 0;

	while (clock() < 300000)
		for (int i = 0; i < 100000; i++)
			sum += i;
	return sum;
}

int main(void)
{
	return crunch() < 0;
}
"#;

/// Stripped program and its debug file.
struct Program {
    stripped: String,
    debug: Vec<u8>,
    build_id: String,
}

impl Program {
    fn compile(world: &World) -> Self {
        let [source, whole, stripped, debug] =
            ["crunch.c", "whole", "crunch", "crunch.debug"].map(|name| world.path(name));
        fs::write(&source, PROGRAM).expect("written");
        let run = |program: &str, arguments: &[&Path]| {
            let output = Command::new(program).args(arguments).output().expect("a program");
            assert!(output.status.success(), "{program}: {output:?}");
            String::from_utf8(output.stdout).expect("text")
        };
        let options = ["-O1", "-g", "-Wl,--build-id=sha1", "-o"].map(Path::new);
        run("cc", &[&options[..], &[&whole, &source]].concat());
        run("strip", &[Path::new("-o"), &stripped, &whole]);
        run("objcopy", &[Path::new("--only-keep-debug"), &whole, &debug]);
        let notes = run("readelf", &[Path::new("-n"), &stripped]);
        let build_id = notes.lines().find_map(|line| line.trim().strip_prefix("Build ID: "));
        Self {
            stripped: stripped.to_string_lossy().into_owned(),
            debug: fs::read(debug).expect("a debug file"),
            build_id: build_id.expect("an identifier").to_owned(),
        }
    }

    /// Server with this response for the debug file.
    fn server(&self, response: DebuginfodResponse) -> DebuginfodServer {
        DebuginfodServer::start(BTreeMap::from([(self.build_id.clone(), response)]))
    }

    /// Traces the program as JSON with these options, for a client of the server.
    fn trace(&self, world: &World, server: &DebuginfodServer, options: &[&str]) -> Value {
        let arguments = [&["trace", "--json"], options, &["--", &self.stripped]].concat();
        let ran = morecores(world, server, &arguments);
        serde_json::from_str(&ran.success().stdout).unwrap_or_else(|e| panic!("{e}\n{ran}"))
    }
}

fn morecores(world: &World, server: &DebuginfodServer, arguments: &[&str]) -> Ran {
    let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
    command.args(arguments).envs(server.client_variables(&world.path("")));
    Ran::start_and_wait(command)
}

/// Row of the program's function with the most CPU time in a view of a trace; none without
/// functions.
fn first_row(view: &Value) -> Option<&Value> {
    let is_of_program = |row: &&Value| row["module"].as_str().is_some_and(|path| path.ends_with("/crunch"));
    view["functions"].as_array()?.iter().find(is_of_program)
}

fn first_function(view: &Value) -> Option<&str> {
    first_row(view)?["function"].as_str()
}

/// Reason why some functions have no names.
fn missing_names(view: &Value) -> Option<&str> {
    let facts = view["untraced"].as_array().expect("a list");
    facts.iter().find(|fact| fact["what"] == "the names of some functions")?["why"].as_str()
}

#[test]
fn the_option_alone_asks_the_server_for_names() {
    const NAME: &str = "the_option_alone_asks_the_server_for_names";
    if debuginfod_client(NAME).is_none() {
        return;
    }
    let world = World::new();
    let program = Program::compile(&world);
    let server = program.server(DebuginfodResponse::File(program.debug.clone()));
    let without = program.trace(&world, &server, &[]);
    let Some(function) = first_function(&without) else {
        return report_skip(NAME, "no functions in a trace here");
    };
    assert!(function.starts_with("crunch+0x"), "{function}");
    assert_eq!(server.requests(), [""; 0]);
    let with = program.trace(&world, &server, &["--debuginfod"]);
    assert_eq!(first_function(&with), Some("crunch"), "{with:#}");
    assert!(server.requests().contains(&format!("/buildid/{}/debuginfo", program.build_id)));
    let source = first_row(&with).map(|row| row["source"].to_string());
    assert!(source.is_some_and(|source| source.contains("crunch.c")), "{with:#}");
}

/// The user's signal ends the traced command, and a kill of what is left of the command follows
/// after two seconds.
#[test]
fn the_trace_of_an_interrupted_server_has_names() {
    const NAME: &str = "the_trace_of_an_interrupted_server_has_names";
    let world = World::new();
    let program = Program::compile(&world);
    let client = world.path("client");
    fs::create_dir(&client).expect("a directory");
    let debug = world.path("crunch.debug");
    world.script("client/debuginfod-find", &format!("#!/bin/sh\nsleep 3\necho '{}'\n", debug.display()));
    let path = format!("{}:{}", client.display(), std::env::var("PATH").expect("a path"));
    let line = format!("'{}'; echo >ready; exec sleep 1000", program.stripped);
    let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
    command.args(["trace", "--json", "--debuginfod", "--shell", "--", &line]);
    command.env("PATH", path).env("DEBUGINFOD_URLS", "http://127.0.0.1:1/");
    let traced = start(command);
    wait_until("the program has computed", || world.path("ready").exists());
    traced.signal("INT");
    let ran = traced.wait();
    ran.code(130);
    let view: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}\n{ran}"));
    let Some(function) = first_function(&view) else {
        return report_skip(NAME, "no functions in a trace here");
    };
    assert_eq!(function, "crunch", "{ran}");
}

#[test]
fn a_failing_server_costs_the_names_alone() {
    const NAME: &str = "a_failing_server_costs_the_names_alone";
    if debuginfod_client(NAME).is_none() {
        return;
    }
    let world = World::new();
    let program = Program::compile(&world);
    for (response, reason) in [
        (DebuginfodResponse::Status(500), "debuginfod-find: "),
        (DebuginfodResponse::File(b"<html>".to_vec()), "remove this file"),
    ] {
        // The client has no debug file of an earlier server.
        fs::remove_dir_all(world.path("debuginfod-cache")).ok();
        let server = program.server(response);
        let view = program.trace(&world, &server, &["--debuginfod"]);
        let Some(function) = first_function(&view) else {
            return report_skip(NAME, "no functions in a trace here");
        };
        assert!(function.starts_with("crunch+0x"), "{function}");
        let why = missing_names(&view).unwrap_or_else(|| panic!("{view:#}"));
        assert!(why.contains("no debug file of /") && why.contains("/crunch"), "{why}");
        assert!(why.contains(reason), "{why}");
    }
}

#[test]
fn a_study_asks_once_for_each_file() {
    const NAME: &str = "a_study_asks_once_for_each_file";
    if debuginfod_client(NAME).is_none() {
        return;
    }
    let world = World::new();
    let program = Program::compile(&world);
    let server = program.server(DebuginfodResponse::Status(404));
    let options =
        "run -q -o study --max-time 0 --runs 1 --warmup 0 --keep-disturbed --cpus 1 --traced-runs 2";
    let options: Vec<&str> =
        options.split_whitespace().chain(["--debuginfod", "--", &program.stripped]).collect();
    morecores(&world, &server, &options).success();
    let study = world.study();
    if study.traces.iter().all(|trace| trace.facts.functions.is_empty()) {
        return report_skip(NAME, "no functions in a trace here");
    }
    assert_eq!(study.traces.len(), 2);
    for trace in &study.traces {
        let is_about_names = |what: &str| what == "the names of some functions";
        let fact = trace.facts.untraced.iter().find(|fact| is_about_names(&fact.what));
        assert!(fact.is_some_and(|fact| fact.why.contains("debuginfod-find")), "{:?}", trace.facts.untraced);
    }
    let resumed = ["run", "--resume", "-o", "study", "--debuginfod"];
    morecores(&world, &server, &resumed).success().says(&["--debuginfod applies to the missing traces"]);
    let path = format!("/buildid/{}/debuginfo", program.build_id);
    assert_eq!(server.requests().iter().filter(|request| **request == path).count(), 1);
}

#[test]
fn a_missing_client_is_one_line_before_anything_runs() {
    let world = World::new();
    let empty: PathBuf = world.path("empty");
    fs::create_dir(&empty).expect("a directory");
    for arguments in [["trace", "-o", "study"], ["run", "-o", "study"]] {
        let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
        command.args(arguments).args(["--debuginfod", "--", "/bin/sh", "-c", "echo ran >ran"]);
        command.env("PATH", &empty).env("DEBUGINFOD_URLS", "http://127.0.0.1:1/");
        let ran = Ran::start_and_wait(command);
        ran.refused(2, &["--debuginfod needs debuginfod-find", "install the package debuginfod"]);
        let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
        command.args(arguments).args(["--debuginfod", "--", "/bin/sh", "-c", "echo ran >ran"]);
        command.env("DEBUGINFOD_URLS", " ");
        Ran::start_and_wait(command).refused(2, &["DEBUGINFOD_URLS is not set"]);
        assert!(!world.path("ran").exists() && !world.path("study").exists());
    }
}

#[test]
fn a_study_without_traces_needs_no_names() {
    let world = World::new();
    let client = world.script("debuginfod-find", "#!/bin/sh\nexit 1\n");
    let folder = Path::new(&client).parent().expect("a folder").to_owned();
    let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
    command.args(["run", "-o", "study", "--trace", "off", "--debuginfod", "--", "/bin/true"]);
    command.env("PATH", folder).env("DEBUGINFOD_URLS", "http://127.0.0.1:1/");
    Ran::start_and_wait(command).refused(2, &["--debuginfod needs a trace", "--trace off"]);
    assert!(!world.path("study").exists());
}
