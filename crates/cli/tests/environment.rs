//! Tests of the command's environment: `{n}` in it, variables set for the command, and an outer
//! make that is hidden from it.

mod harness;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use harness::{Ran, World, report_skip};
use morecores_study::Variable;

/// Options of a study on 1 CPU, where `{n}` is 1. Its command prints a variable in each run.
const RUN: [&str; 14] = [
    "run",
    "-o",
    "study",
    "--max-time",
    "0",
    "--trace",
    "off",
    "--cpus",
    "1",
    "--warmup",
    "0",
    "--runs",
    "2",
    "--precision",
];

/// Runs `morecores run` with these options, for a shell line that appends the value of `$V` to
/// `seen`.
fn run(world: &World, options: &[&str], set: impl FnOnce(&mut Command)) -> Ran {
    let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
    command.args(RUN).arg("0").args(options).args(["--", "sh", "-c", "echo \"${V-unset}\" >>seen"]);
    set(&mut command);
    Ran::start_and_wait(command)
}

fn command_output(world: &World) -> String {
    fs::read_to_string(world.path("seen")).expect("seen")
}

#[test]
fn n_in_the_environment_becomes_the_cpu_count_and_a_message_says_so() {
    let world = World::new();
    let ran = run(&world, &["--expect-n"], |command| {
        command
            .env("V", "{n} threads")
            .env("PS1", "{{n}}")
            .env("SUDO_COMMAND", "morecores run -- make -j{n}");
    });
    ran.success()
        .says(&["{n} becomes the CPU count also in the environment variables V"])
        .prints(&["V='{n} threads' sh -c"]);
    assert_eq!(ran.stderr.lines().count(), 1, "{ran}");
    assert_eq!(command_output(&world), "1 threads\n1 threads\n");
    let expected = Variable { name: "V".into(), value: Some("{n} threads".into()) };
    assert_eq!(world.study().header.plan.env, [expected]);
    // A resumed study keeps its own environment, whatever the environment is now.
    let resume = ["run", "-q", "--resume", "-o", "study", "--runs", "3"];
    world.morecores(&resume).success();
    assert_eq!(command_output(&world), "1 threads\n".repeat(3));
    let export = world.shown("--hyperfine-json");
    let line = export["results"][0]["command"].as_str().expect("a command");
    assert!(line.starts_with("env 'V=1 threads' sh -c "), "{line}");
}

#[test]
fn a_variable_is_set_or_passed_on_unchanged() {
    let world = World::new();
    let ran = run(&world, &["--env", "V={n}+{{n}}", "--env", "W=w"], |command| {
        command.env("V", "old");
    });
    assert_eq!(ran.success().stderr, "", "{ran}");
    assert_eq!(command_output(&world), "1+{n}\n1+{n}\n");
    let world = World::new();
    let ran = run(&world, &["--env", "V"], |command| {
        command.env("V", "{n}>");
    });
    assert_eq!(ran.success().stderr, "", "{ran}");
    assert_eq!(command_output(&world), "{n}>\n{n}>\n");
}

#[test]
fn hooks_get_the_variables_too() {
    let world = World::new();
    let options =
        ["--env", "V={n}", "--prepare", "echo \"prepare $V\" >>seen", "--setup", "echo \"setup $V\" >>seen"];
    run(&world, &options, |_| ()).success();
    assert_eq!(command_output(&world), "setup {n}\nprepare 1\n1\nprepare 1\n1\n");
}

#[test]
fn a_variable_may_hold_any_bytes() {
    let world = World::new();
    let value = OsStr::from_bytes(b"caf\xe9 {n}");
    run(&world, &[], |command| {
        command.env("V", value);
    })
    .success();
    assert_eq!(fs::read(world.path("seen")).expect("seen"), b"caf\xe9 1\n".repeat(2));
    assert_eq!(world.study().header.plan.env[0].value.as_deref(), Some(value));
}

#[test]
fn a_variable_without_a_name_or_a_value_is_refused() {
    for (options, part) in [
        (&["--env", "=8"][..], "--env `=8` has no name"),
        (&["--env", ""], "--env `` has no name"),
        (&["--env", "NO_SUCH_VARIABLE"], "--env NO_SUCH_VARIABLE: the variable is not set"),
        (&["--env", "V=1", "--env", "V=2"], "--env V is given twice"),
    ] {
        let world = World::new();
        run(&world, options, |_| ()).refused(2, &[part]);
        world.morecores(&[&["trace"], options, &["--", "true"]].concat()).refused(2, &[part]);
        assert!(world.names().is_empty(), "{:?}", world.names());
    }
}

#[test]
fn a_program_is_searched_on_the_path_of_its_environment() {
    let world = World::new();
    fs::create_dir(world.path("bin")).expect("mkdir");
    world.script("bin/only-here", "#!/bin/sh\necho found >>seen\n");
    let path = format!("PATH={}:/usr/bin:/bin", world.path("bin").display());
    world.run("-q --cpus 1 --runs 1 --warmup 0", &["only-here"]).refused(127, &["only-here"]);
    let mut arguments = RUN.to_vec();
    arguments.extend(["0", "-q", "--env", &path, "--", "only-here"]);
    world.morecores(&arguments).success();
    assert_eq!(command_output(&world), "found\nfound\n");
}

#[test]
fn variables_of_an_outer_make_do_not_reach_the_command_and_a_message_says_so() {
    let world = World::new();
    let set = |command: &mut Command| {
        command
            .env("MAKEFLAGS", " -j8 --jobserver-auth=fifo:/nowhere")
            .env("MAKELEVEL", "1")
            .env("MFLAGS", "");
        command.env("CARGO_MAKEFLAGS", "-j --jobserver-fds=8,9").env("GNUMAKEFLAGS", "-k");
    };
    let options = ["--shell", "--prepare", "env >prepared"];
    let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
    command.args(RUN).arg("0").args(options).args(["--", "env >made"]);
    set(&mut command);
    let ran = Ran::start_and_wait(command);
    ran.success()
        .says(&["does not get MAKEFLAGS, GNUMAKEFLAGS, CARGO_MAKEFLAGS, MAKELEVEL", "--env MAKEFLAGS"]);
    assert_eq!(ran.stderr.lines().count(), 1, "{ran}");
    for file in ["prepared", "made"] {
        let variables = fs::read_to_string(world.path(file)).expect("variables");
        let left = |line: &&str| line.contains("MAKE") || line.starts_with("MFLAGS");
        assert_eq!(variables.lines().find(left), None, "{file}");
    }
    let world = World::new();
    let ran = run(&world, &["--env", "MAKEFLAGS", "--env", "V=x"], set);
    ran.success().says(&["does not get GNUMAKEFLAGS, CARGO_MAKEFLAGS, MAKELEVEL of"]);
}

#[test]
fn the_pipe_of_an_outer_job_server_does_not_reach_the_command() {
    for (options, pipe) in [("", false), ("--env MAKEFLAGS", true)] {
        let world = World::new();
        let morecores = env!("CARGO_BIN_EXE_morecores");
        let run = format!("run -q -o study --trace off --cpus 1 --warmup 0 --runs 1 {options} --shell --");
        // Descriptors 8 and 9 are a job server as make opens it: a pipe with a token. Descriptor 7
        // is not a pipe, and 6 does not belong to a job server: both stay open.
        let line = format!(
            "mkfifo jobs; exec 8<>jobs 9>&8 7</dev/null 6<>jobs; export MAKEFLAGS='-j --jobserver-auth=8,9 -- A=b'
             {morecores} {run} 'ls /proc/self/fd >fds'"
        );
        let mut command = world.command("bash");
        command.args(["-c", &line]);
        Ran::start_and_wait(command).success();
        let listed = fs::read_to_string(world.path("fds")).expect("descriptors");
        let open = |number: &str| listed.lines().any(|line| line == number);
        assert_eq!(["6", "7", "8", "9"].map(open), [true, true, pipe, pipe], "{options}: {listed}");
    }
}

#[test]
fn a_traced_command_gets_the_same_environment() {
    const NAME: &str = "a_traced_command_gets_the_same_environment";
    let world = World::new();
    let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
    command.args(["trace", "--json", "-n", "3", "--env", "W={n}", "--", "sh", "-c"]);
    command.arg("echo \"$V $W ${MAKELEVEL-none}\" >seen").env("V", "{n}").env("MAKELEVEL", "1");
    let ran = Ran::start_and_wait(command);
    if ran.status.code() == Some(2) {
        return report_skip(NAME, ran.stderr.lines().next().unwrap_or("nothing can be traced here"));
    }
    ran.success()
        .says(&["{n} becomes the CPU count also in the environment variables V", "does not get MAKELEVEL"]);
    assert_eq!(command_output(&world), "3 3 none\n");
}
