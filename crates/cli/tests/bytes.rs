//! Tests that arguments, paths and outputs are bytes: other encodings than UTF-8 are measured, kept
//! and found again.

mod harness;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;

use harness::{Ran, World, report_skip};
use morecores_study::Study;

/// Latin-1 for `é`, which is not UTF-8.
const ODD: &[u8] = b"caf\xe9";

fn odd() -> OsString {
    OsString::from_vec(ODD.to_vec())
}

/// Runs `morecores` with these arguments, text or not.
fn morecores<S: AsRef<OsStr>>(world: &World, arguments: impl IntoIterator<Item = S>) -> Ran {
    let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
    command.args(arguments);
    Ran::start_and_wait(command)
}

/// Words of a text, followed by other words.
fn words<'a>(text: &'a str, others: &[&'a OsStr]) -> Vec<&'a OsStr> {
    text.split_whitespace().map(OsStr::new).chain(others.iter().copied()).collect()
}

const RUN: &str = "run -q --trace off --cpus 1 --warmup 0 --runs 2 --precision 0";

#[test]
fn an_argument_that_is_not_utf_8_reaches_every_run_also_of_a_resumed_study() {
    let world = World::new();
    let script = world.script("keep", "#!/bin/sh\nprintf '%s\\n' \"$1\" >>seen\n");
    morecores(&world, words(&format!("{RUN} -o study -- {script}"), &[&odd()])).success();
    morecores(&world, ["run", "-q", "--resume", "-o", "study", "--runs", "3"]).success();
    assert_eq!(fs::read(world.path("seen")).expect("seen"), [ODD, b"\n"].concat().repeat(3));
    assert_eq!(world.study().header.subject.argv()[1], odd());
    let text = fs::read_to_string(world.path("study/study.json")).expect("JSON");
    let header: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(header["subject"]["argv"][1], "caf\u{fffd}");
    assert_eq!(header["subject"]["argv_hex"][1], "636166e9");
    let export = world.shown("--hyperfine-json");
    assert_eq!(export["results"][0]["command"], format!(r"{script} $'caf\351'"));
    // The study accepts its own command again and refuses another one.
    let again = "run -q --resume -o study --runs 4 --";
    morecores(&world, words(&format!("{again} {script}"), &[&odd()])).success();
    morecores(&world, words(&format!("{again} {script}"), &[OsStr::new("caf\u{fffd}")]))
        .refused(2, &["another command"]);
}

#[test]
fn a_shell_line_and_the_commands_around_the_runs_may_hold_any_bytes() {
    let world = World::new();
    let line = |text: &str| [text.as_bytes(), b" ", ODD].concat();
    let [setup, prepare, cleanup, shell] =
        ["echo >>setup", "echo >>prepare", "echo >>cleanup", "echo >>shell"]
            .map(line)
            .map(OsString::from_vec);
    let mut arguments = words(RUN, &words("-o study --setup", &[&setup]));
    arguments.extend([OsStr::new("--prepare"), &prepare, OsStr::new("--cleanup"), &cleanup]);
    arguments.extend(words("--shell --", &[&shell]));
    morecores(&world, arguments).success();
    for (file, times) in [("setup", 1), ("prepare", 2), ("cleanup", 1), ("shell", 2)] {
        assert_eq!(
            fs::read(world.path(file)).expect("a file"),
            [ODD, b"\n"].concat().repeat(times),
            "{file}"
        );
    }
    let hooks = world.study().header.plan.hooks;
    assert_eq!([hooks.setup, hooks.prepare, hooks.cleanup], [setup, prepare, cleanup].map(Some));
}

#[test]
fn programs_inputs_and_studies_are_found_at_any_path() {
    let world = World::new();
    let dir = world.path("").join(odd());
    fs::create_dir(&dir).expect("mkdir");
    fs::write(dir.join("in"), "12345").expect("write");
    // The program is `cat` under another name: no other program is available everywhere.
    std::os::unix::fs::symlink("/bin/cat", dir.join(odd())).expect("a link");
    let (input, program, study) = (dir.join("in"), dir.join(odd()), dir.join("s.study"));
    let mut arguments =
        words(RUN, &[OsStr::new("--input"), input.as_os_str(), OsStr::new("-o"), study.as_os_str()]);
    arguments.extend([OsStr::new("--"), program.as_os_str()]);
    morecores(&world, arguments).success();
    let kept = Study::read(&study).expect("a study");
    assert_eq!(kept.header.plan.input.path.as_deref(), Some(input.as_path()));
    assert_eq!(kept.runs.len(), 2);
    let study = study.as_os_str();
    for line in ["show --json", "show", "compare", "report -o page.html"] {
        let both = [study, study];
        let count = if line == "compare" { 2 } else { 1 };
        let ran = morecores(&world, words(line, &both[..count]));
        ran.success();
    }
    morecores(&world, words("run -q --resume --runs 3 -o", &[study])).success();
    assert_eq!(Study::read(study.as_ref()).expect("a study").runs.len(), 3);
}

#[test]
fn output_and_names_of_a_command_may_be_any_bytes() {
    let world = World::new();
    let loud = r"printf '\377\376 7\n'; printf '\200' >&2";
    let ran = world.run("--cpus 1 --warmup 0 --runs 2 --precision 0 --metric ([0-9]+)", &["sh", "-c", loud]);
    ran.success();
    assert!(world.study().runs.iter().all(|run| run.metric == Some(7.0)), "{ran}");
    fs::remove_dir_all(world.path("study")).expect("the study");

    let failing = r"printf 'last words \377\n'; exit 3";
    world.run("--cpus 1 --runs 1", &["sh", "-c", failing]).code(1).says(&["last words \u{fffd}"]);
    fs::remove_dir_all(world.path("study")).expect("the study");

    // A process with a non-UTF-8 name outlives the command. The command ends once the process has
    // that name.
    let staying = r"mkfifo named never
        (printf 'st\xe4y' >/proc/$BASHPID/comm; echo >named; exec >/dev/null 2>&1; read line <>never) & read line <named";
    let run = world.one_run("", &["bash", "-c", staying]);
    assert_eq!(run.survivors, ["st\u{fffd}y"]);
}

#[test]
fn a_traced_command_may_have_any_arguments_and_name() {
    const NAME: &str = "a_traced_command_may_have_any_arguments_and_name";
    let world = World::new();
    let program = world.path("").join(odd());
    std::os::unix::fs::symlink("/bin/sh", &program).expect("a link");
    let line = OsString::from_vec([b"printf %s \"$0\" >seen; : ", ODD].concat());
    let ran = morecores(
        &world,
        words("trace --json -o t.study --", &[program.as_os_str(), OsStr::new("-c"), &line, &odd()]),
    );
    if ran.status.code() == Some(2) {
        return report_skip(NAME, ran.stderr.lines().next().unwrap_or("nothing can be traced here"));
    }
    ran.success();
    assert_eq!(fs::read(world.path("seen")).expect("seen"), ODD);
    assert_eq!(Study::read(&world.path("t.study")).expect("a study").header.subject.argv()[2], line);
    let view: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let commands = view["commands"].as_array().expect("commands");
    assert!(commands.iter().any(|command| command["name"] == "caf\u{fffd}"), "{commands:?}");
}
