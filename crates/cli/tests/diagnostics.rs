//! Tests of the diagnostics: nothing by default, events for those who ask, the last log, and the
//! report for a bug tracker.

mod harness;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use harness::{Ran, World, left_by, report_skip};

/// Options of a study of one run.
const ONE: &str = "-q --cpus 1 --warmup 0 --runs 1";

/// The command with the default diagnostics, and the world's directory of states.
fn by_default(world: &World, mut command: Command) -> Command {
    command.env_remove("MORECORES_LOG").env("XDG_STATE_HOME", world.path("state"));
    command
}

/// Runs `morecores ARGUMENTS…` with the default diagnostics.
fn morecores(world: &World, arguments: &[&str]) -> Ran {
    let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
    command.args(arguments);
    Ran::start_and_wait(by_default(world, command))
}

/// Makes a study with these options, the default diagnostics and these variables.
fn study(world: &World, options: &str, variables: &[(&str, &str)]) -> Ran {
    let mut command = by_default(world, world.run_command(&format!("{ONE} {options}"), &["true"]));
    command.envs(variables.iter().copied());
    let ran = Ran::start_and_wait(command);
    ran.success();
    fs::remove_dir_all(world.path("study")).expect("the study");
    ran
}

fn last_log(world: &World) -> PathBuf {
    world.path("state/morecores/last.log")
}

/// Whether a text tells the cgroup, or why there is none.
fn tells_cgroup(text: &str) -> bool {
    ["the command runs in the version", "no cgroup counts the command"].iter().any(|part| text.contains(part))
}

#[test]
fn events_are_kept_but_not_printed_by_default() {
    let world = World::new();
    let ran = study(&world, "--prepare true", &[]);
    assert_eq!(ran.stderr, "", "{ran}");
    let log = fs::read_to_string(last_log(&world)).expect("a last log");
    let heading: Vec<&str> = log.lines().take(2).collect();
    assert!(heading[0].starts_with(concat!("morecores ", env!("CARGO_PKG_VERSION"), ", Linux ")), "{log}");
    assert!(heading[1].contains("run -o study"), "{log}");
    for part in [
        "info  morecores_measure::executor: CPU count 1: CPUs ",
        ", limited by affinity",
        "debug morecores_measure::executor::hooks: --prepare `true`: exit status: 0, 0.",
        "info  morecores_measure::account: user and system time by ",
    ] {
        assert!(log.contains(part), "`{part}` is not in\n{log}");
    }
    assert!(tells_cgroup(&log), "{log}");
    let mode = |path: PathBuf| path.metadata().expect("metadata").permissions().mode() & 0o777;
    assert_eq!((mode(last_log(&world)), mode(world.path("state/morecores"))), (0o600, 0o700));
}

#[test]
fn each_v_logs_more_and_every_event_is_one_line() {
    let world = World::new();
    let once = study(&world, "-v", &[]);
    once.says(&["morecores: info: CPU count 1: CPUs ", "limited by affinity", "user and system time by "]);
    assert!(tells_cgroup(&once.stderr) && !once.stderr.contains(": debug: "), "{once}");
    let twice = study(&world, "-vv --prepare true", &[]);
    twice
        .says(&["morecores: info: CPU count 1: CPUs ", "morecores: debug: --prepare `true`: exit status: 0"]);
    for ran in [&once, &twice] {
        let is_event =
            |line: &str| line.starts_with("morecores: info: ") || line.starts_with("morecores: debug: ");
        assert!(ran.stderr.lines().all(is_event), "{ran}");
    }
    assert!(twice.stderr.lines().count() > once.stderr.lines().count(), "{once}\n{twice}");
    // The option may also precede the subcommand.
    morecores(&world, &["-v", "topology"]).success();
}

#[test]
fn the_variable_selects_crates_and_the_option_takes_precedence() {
    let world = World::new();
    let measure = study(&world, "", &[("MORECORES_LOG", "morecores_measure=debug")]);
    measure.says(&["CPU count 1"]);
    assert!(!measure.stderr.contains("the command runs in"), "the other crates are off\n{measure}");
    let both = study(&world, "-v", &[("MORECORES_LOG", "morecores_trace=debug")]);
    both.says(&["CPU count 1"]);
}

#[test]
fn an_invalid_log_variable_is_refused() {
    let world = World::new();
    for value in ["x", "debug,y=info", "morecores_machine=loud"] {
        let mut command = by_default(&world, world.run_command(ONE, &["touch", "trace"]));
        command.env("MORECORES_LOG", value);
        let part = value.rsplit(',').next().unwrap_or_default();
        let ran = Ran::start_and_wait(command);
        ran.refused(
            2,
            &[&format!("MORECORES_LOG={value}: `{part}` is neither a level"), "morecores_machine"],
        );
        assert!(world.names().is_empty(), "{ran}");
    }
}

#[test]
fn no_log_is_kept_if_it_is_off_or_nothing_was_done() {
    let world = World::new();
    study(&world, "", &[("MORECORES_LOG", "off")]);
    assert!(!world.path("state").exists());
    study(&world, "", &[]);
    let before = fs::read_to_string(last_log(&world)).expect("a last log");
    morecores(&world, &["run", "--cpus", "0", "--", "true"]).code(2);
    morecores(&world, &["topology"]).success();
    assert_eq!(
        fs::read_to_string(last_log(&world)).expect("a last log"),
        before,
        "a refusal replaces no log"
    );
}

#[test]
fn an_unwritable_log_does_not_affect_the_measurement() {
    let world = World::new();
    fs::write(world.path("state"), "a file").expect("write");
    let ran = study(&world, "", &[]);
    assert_eq!(ran.stderr, "", "{ran}");
    study(&world, "-v", &[]).says(&["cannot write ", "state/morecores/last.log"]);
}

#[test]
fn notes_reach_the_log_even_after_a_signal() {
    let world = World::new();
    let command = by_default(&world, world.run_command(ONE, &["sh", "-c", ">started; exec sleep 60"]));
    let study = harness::start(command);
    harness::wait_until("the command runs", || world.path("started").exists());
    study.signal("TERM");
    study.wait().code(143).says(&["stopped; continue with"]);
    let log = fs::read_to_string(last_log(&world)).expect("a last log");
    assert!(log.contains(" note  morecores: stopped; continue with: morecores run --resume"), "{log}");
}

#[test]
fn changes_to_the_system_are_logged_with_their_undoing() {
    const NAME: &str = "changes_to_the_system_are_logged_with_their_undoing";
    let world = World::new();
    let ran = study(&world, "-vv", &[]);
    if !ran.stderr.contains("the command runs in the version") {
        return report_skip(NAME, "no cgroup for the command (root has one)");
    }
    ran.says(&["to undo at the end: remove the cgroup ", "undid a change: remove the cgroup "]);
    assert_eq!(left_by(ran.pid), Default::default(), "{ran}");
}

#[test]
fn the_log_of_an_ordinary_user_is_in_the_home_directory() {
    const NAME: &str = "the_log_of_an_ordinary_user_is_in_the_home_directory";
    let world = World::new();
    let user = match world.ordinary_user() {
        Ok(user) => user,
        Err(reason) => return report_skip(NAME, &reason),
    };
    let home = user.home.to_string_lossy().into_owned();
    let variables = [("HOME", home.as_str()), ("MORECORES_LOG", "")];
    let arguments = "run -q --trace off --cpus 1 --warmup 0 --runs 1 -o study -- true";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let ran = user.morecores_with(&variables, &arguments);
    ran.success();
    let log = fs::read_to_string(user.home.join(".local/state/morecores/last.log")).expect("a last log");
    assert!(log.contains("CPU count 1"), "{log}");
}

#[test]
fn the_log_names_the_source_of_a_trace_or_the_reason_for_none() {
    const NAME: &str = "the_log_names_the_source_of_a_trace_or_the_reason_for_none";
    let world = World::new();
    let ran = morecores(&world, &["trace", "-v", "--cpus", "1", "--", "true"]);
    if ran.stderr.contains("without its tracer") {
        return report_skip(NAME, "built without the tracer");
    }
    let parts = ["info: traces come from ", "info: no BPF programs: "];
    assert!(parts.iter().any(|part| ran.stderr.contains(part)), "{ran}");
    let log = fs::read_to_string(last_log(&world)).expect("a last log");
    assert!(log.contains("morecores_trace"), "{log}");
}

#[test]
fn a_report_holds_versions_findings_and_the_last_log() {
    let world = World::new();
    study(&world, "--prepare true", &[]);
    let ran = morecores(&world, &["doctor", "--quick", "--report"]);
    ran.success().says(&["the report is in morecores-report.txt: read it before you send it"]);
    assert_eq!(ran.stdout, "", "{ran}");
    let report = fs::read_to_string(world.path("morecores-report.txt")).expect("a report");
    for part in [
        "# morecores report, ",
        "## Versions",
        "kernel     Linux ",
        "libbpf     ",
        "## Findings of the doctor",
        "Measuring",
        "## Environment",
        "XDG_STATE_HOME=",
        "## Last log",
        "--prepare `true`: exit status: 0",
    ] {
        assert!(report.contains(part), "`{part}` is not in\n{report}");
    }

    let again = morecores(&world, &["doctor", "--quick", "--report"]);
    again.refused(2, &["morecores-report.txt exists and is not overwritten", "--report=FILE"]);
    assert_eq!(fs::read_to_string(world.path("morecores-report.txt")).expect("a report"), report);
    morecores(&world, &["doctor", "--quick", "--report=no/such/directory"])
        .refused(2, &["cannot create no/such/directory"]);
    morecores(&world, &["doctor", "--quick", "--report=other"]).success().says(&["the report is in other"]);
}

#[test]
fn a_report_names_no_host_no_user_and_no_home() {
    let world = World::new();
    let kernel_name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    fs::create_dir_all(world.path("state/morecores")).expect("mkdir");
    let log =
        format!("{kernel_name} build17.example.org BUILD17 quentina /srv/quentina/work /home/otto/x: kept\n");
    fs::write(last_log(&world), log).expect("write");
    let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
    command.args(["doctor", "--quick", "--report=-"]);
    let mut command = by_default(&world, command);
    command.envs([
        ("HOSTNAME", "build17.example.org"),
        ("USER", "quentina"),
        ("HOME", "/srv/quentina"),
        ("LD_PRELOAD", ""),
        ("TMPDIR", "/srv/quentina/tmp"),
    ]);
    let ran = Ran::start_and_wait(command);
    ran.success();
    assert_eq!(ran.stderr, "", "{ran}");
    for name in ["build17", "BUILD17", "quentina", "otto"] {
        assert!(!ran.stdout.contains(name), "{name} is in\n{ran}");
    }
    ran.prints(&["HOST HOST USER ~/work /home/USER/x: kept", "TMPDIR=~/tmp"]);
    if kernel_name != "localhost" {
        assert!(!ran.stdout.split(|c: char| !c.is_alphanumeric()).any(|word| word == kernel_name), "{ran}");
    }
}
