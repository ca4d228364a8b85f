//! Programs that extend morecores.

mod harness;

use harness::locks::{LABORATORY, TINY};
use harness::{Ran, World};

#[test]
fn a_program_on_path_runs_by_name_and_is_listed() {
    let world = World::new();
    world.script("morecores-echo", "#!/bin/sh\necho \"it got $*\"; exit 7\n");
    world.script("morecores-topology", "#!/bin/sh\nexit 7\n");
    let path = format!("{}:{}", world.path("").display(), std::env::var("PATH").unwrap_or_default());
    let run = |arguments: &[&str]| {
        let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
        command.args(arguments).env("PATH", &path);
        Ran::start_and_wait(command)
    };
    run(&["echo", "a b", "--json"]).code(7).prints(&["it got a b --json"]);
    run(&["help", "echo"]).code(7).prints(&["it got --help"]);
    run(&["--help"]).success().prints(&["(morecores NAME runs morecores-NAME): ", "echo", "Examples:"]);
    // A command of morecores itself always wins.
    run(&["topology"]).success();
}

#[test]
fn the_workloads_are_a_program_in_the_directory_of_morecores() {
    let world = World::new();
    world.install("#!/bin/sh\necho \"worked $*\"\n");
    for before in [&[][..], &["-v"], &["-vv", "--verbose"]] {
        let words = [before, &["work", "soften", "--threads", "2"]].concat();
        Ran::start_and_wait(world.installed_command(&words)).success().prints(&["worked soften --threads 2"]);
    }
}

#[test]
fn an_unknown_name_is_refused_with_the_searched_places() {
    let world = World::new();
    world
        .morecores(&["no-such-name"])
        .code(2)
        .says(&["there is no program morecores-no-such-name beside morecores or on PATH"]);
}

#[test]
fn a_path_or_a_misspelt_command_gets_no_tip_about_programs() {
    let world = World::new();
    for word in ["./no-such-file", "shows"] {
        let ran = world.morecores(&[word]);
        ran.code(2);
        assert!(!ran.stderr.contains("no program"), "{ran}");
    }
    world.morecores(&["locks", "--resume", "a.study"]).code(2).says(&["--resume -o a.study"]);
}

#[test]
fn lock_programs_have_the_help_and_errors_of_morecores() {
    let world = World::new();
    for (name, program) in [
        ("locks", env!("CARGO_BIN_EXE_morecores-locks")),
        ("tune-spin", env!("CARGO_BIN_EXE_morecores-tune-spin")),
    ] {
        let by_itself = |arguments: &[&str]| {
            let mut command = world.command(program);
            command.args(arguments);
            Ran::start_and_wait(command)
        };
        for (arguments, status) in [(&["--help"][..], 0), (&["-h"], 0), (&["--no-such-option"], 2)] {
            let through = world.morecores(&[&[name], arguments].concat());
            let by_itself = by_itself(arguments);
            through.code(status);
            by_itself.code(status);
            assert_eq!((&through.stdout, &through.stderr), (&by_itself.stdout, &by_itself.stderr));
        }
        assert!(by_itself(&["--help"]).stdout.contains(&format!("Usage: morecores {name} [OPTIONS]")));
    }
    // The options before the name reach the program.
    world.install(LABORATORY);
    let ran = Ran::start_and_wait(world.installed_command(&[&["-v"], TINY.as_slice()].concat()));
    ran.success().says(&["info: the laboratory is"]);
}
