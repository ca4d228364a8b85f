//! Programs that extend morecores.

mod harness;

use harness::{Ran, World};

#[test]
fn a_program_on_path_is_run_by_its_name_and_listed() {
    let world = World::new();
    world.script("morecores-echo", "#!/bin/sh\necho \"it got $*\"; exit 7\n");
    world.script("morecores-topology", "#!/bin/sh\nexit 7\n");
    let path = format!("{}:{}", world.path("").display(), std::env::var("PATH").unwrap_or_default());
    let run = |arguments: &[&str]| {
        let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
        command.args(arguments).env("PATH", &path);
        Ran::of(command)
    };
    run(&["echo", "a b", "--json"]).code(7).prints(&["it got a b --json"]);
    run(&["help", "echo"]).code(7).prints(&["it got --help"]);
    run(&["--help"]).success().prints(&["(morecores NAME runs morecores-NAME): ", "echo", "Examples:"]);
    // A command of morecores itself always wins.
    run(&["topology"]).success();
}

#[test]
fn the_workloads_are_a_program_beside_morecores() {
    let world = World::new();
    world.install("#!/bin/sh\necho \"worked $*\"\n");
    Ran::of(world.installed_command(&["work", "soften", "--threads", "2"]))
        .success()
        .prints(&["worked soften --threads 2"]);
}

#[test]
fn an_unknown_name_is_refused_with_the_place_where_it_was_looked_for() {
    let world = World::new();
    world
        .morecores(&["no-such-name"])
        .code(2)
        .says(&["no program morecores-no-such-name is beside morecores or on PATH"]);
}
