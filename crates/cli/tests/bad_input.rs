//! Tests that impossible requests are refused in one clear line before anything runs, and leave
//! nothing behind.
//!
//! The test of an offline CPU is in `put_back`, the only test that may take one offline.

mod harness;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use harness::studies::with_runs;
use harness::{Ran, World, is_root, report_skip, start, usable_cpus, wait_until};
use morecores_study::Exit;

/// Command that would leave a file behind if it ran.
const TRACE: [&str; 2] = ["touch", "trace"];

#[track_caller]
fn refused(arguments: &[&str], status: i32, parts: &[&str]) {
    let world = World::new();
    world.morecores(arguments).refused(status, parts);
    assert!(world.names().is_empty(), "{arguments:?} left {:?}", world.names());
}

#[test]
fn impossible_measurements_are_refused_before_anything_runs() {
    let one_more = (usable_cpus() + 1).to_string();
    for (options, parts) in [
        (vec!["--cpus", "0"], vec!["--cpus", "counts begin at 1"]),
        (vec!["--cpus", "two"], vec!["--cpus", "two"]),
        (vec!["--cpus", "2-1"], vec!["--cpus", "2-1"]),
        (vec!["--cpus", ""], vec!["--cpus"]),
        (vec!["--cpus", &one_more], vec!["--cpus", &one_more, "allowed are"]),
        (
            vec!["--cpus", "1,4096,8192"],
            vec!["cannot measure 8192 CPUs", "to predict larger machines: --cpus 1 --predict=4096,8192"],
        ),
        (vec!["--cpu-list", "0,9999"], vec!["--cpu-list", "9999"]),
        (vec!["--cpu-list", "0", "--cpus", "2"], vec!["--cpus"]),
        (vec!["--cpu-list", "0,0"], vec!["--cpu-list", "0"]),
        (vec!["--expect-n"], vec!["--expect-n", "{n}"]),
        (vec!["--n", "1-3"], vec!["--n was given", "put {n} where the command takes"]),
        (vec!["--n", "1", "--tune", "n"], vec!["--tune n has only one value", "--n 1-8"]),
        (vec!["--weak"], vec!["--weak was given", "put {n} where the command takes"]),
        (vec!["--limit", "quota"], vec!["--limit quota needs the limits to measure", "--quota 0.5,1,2"]),
        (vec!["--quota", "1"], vec!["--quota needs --limit quota, not --limit affinity"]),
        (vec!["--limit", "quota", "--quota", "0"], vec!["--quota `0`", "from 0.01 in steps of 0.01"]),
        (vec!["--limit", "quota", "--quota", "1,half"], vec!["--quota `half`", "like 500m,1000m"]),
        (vec!["--limit", "quota", "--quota", "5000"], vec!["--quota 5000 limits nothing on"]),
        (vec!["--n", "0"], vec!["--n `0`", "values of n from 1 to 65536"]),
        (vec!["--n", "3-1"], vec!["--n `3-1`"]),
        (vec!["--n", "1-1024,2001-3024,4001-5024,6001-7024,8001"], vec!["4097 combinations", "at most 4096"]),
        (vec!["--runs", "0"], vec!["--runs 0"]),
        (vec!["--runs", "3", "--min-runs", "4"], vec!["--min-runs 4"]),
        (vec!["--precision", "much"], vec!["--precision"]),
        (vec!["--precision", "100%"], vec!["--precision"]),
        (vec!["--worth", "0"], vec!["--worth `0`", "above 0 and up to 1"]),
        (vec!["--worth", "x"], vec!["--worth `x`", "like 0.25"]),
        (vec!["--worth", "1.5"], vec!["--worth `1.5`"]),
        (vec!["--success", "x"], vec!["--success x", "0 to 255", "--success 0,1"]),
        (vec!["--success", "0,256"], vec!["--success 0,256"]),
        (vec!["--success", ""], vec!["--success"]),
        (vec!["--timeout", "soon"], vec!["--timeout"]),
        (vec!["--max-time", "soon"], vec!["--max-time", "90s"]),
        (vec!["--metric", "("], vec!["--metric", "unclosed group"]),
        (vec!["--metric", "x", "--output", "null"], vec!["--metric"]),
        (vec!["--metric", "a=x", "--metric", "a=y"], vec!["--metric a", "twice"]),
        (vec!["--metric", "a=x", "--metric", "y"], vec!["--metric y", "needs a name"]),
        (vec!["--metric", "a=x", "--unit", "s", "--unit", "ms"], vec!["--unit ms"]),
        (vec!["--input", "nowhere"], vec!["--input", "nowhere"]),
        (vec!["--trace", "off", "--syscalls"], vec!["--syscalls"]),
        (vec!["--trace", "off", "--locks", "exact"], vec!["--locks exact needs a trace"]),
        (vec!["--debuginfod"], vec!["--debuginfod", "DEBUGINFOD_URLS is not set"]),
        (vec!["-o", "no/such/directory"], vec!["no/such/directory"]),
    ] {
        let mut arguments = vec!["run"];
        arguments.extend(options);
        arguments.push("--");
        arguments.extend(TRACE);
        refused(&arguments, 2, &parts);
    }
    refused(&["run"], 2, &["no command given"]);
    refused(&["run", "--"], 2, &["no command given"]);
    refused(&["show", "nowhere"], 2, &["nowhere", "no study"]);
    refused(&["run", "--resume", "-o", "nowhere"], 2, &["nowhere", "no study"]);
    refused(&["topology", "--from", "nowhere"], 2, &["nowhere"]);
}

/// clap prints the expected values in several lines, so these errors are not one line.
#[test]
fn wrong_options_are_named_and_nothing_runs() {
    for (arguments, part) in [
        (vec!["run", "--bogus"], "--bogus"),
        (vec!["run", "--run", "3"], "--run"),
        (vec!["run", "-x"], "-x"),
        (vec!["run", "--precision", "-1"], "-1"),
        (vec!["run", "--locks", "all"], "contended, exact"),
        (vec!["run", "--limit", "prison"], "affinity, cpuset, hotplug"),
        (vec!["run", "--runs", "many"], "many"),
        (vec!["run", "--resume"], "--out"),
        (vec!["run", "--unit", "s"], "--metric"),
        (vec!["run", "--cpu-list", "0", "--placement", "spread"], "--placement"),
        (vec!["show", "a", "--json", "--csv"], "--csv"),
        (vec!["run", "-n", "4"], "--cpus LIST chooses the CPU counts, --runs N the number of runs"),
        (vec!["run", "-p", "4"], "--cpus LIST chooses the CPU counts, --prepare LINE"),
        (vec!["run", "-j4"], "morecores run -- make -j{n}"),
        (vec!["run", "--time"], "--max-time TIME bounds the whole study"),
        (vec!["run", "--plot", "speedup.svg"], "morecores report STUDY --plot speedup.svg"),
        (vec!["show", "a", "--plot", "speedup.svg"], "morecores report STUDY --plot speedup.svg"),
        (vec!["measure"], "measure"),
        (vec!["touch", "-j2", "trace"], "to measure a command: morecores run -- touch -j{n} trace"),
    ] {
        let world = World::new();
        let mut arguments = arguments;
        if arguments[0] == "run" {
            arguments.push("--");
            arguments.extend(TRACE);
        }
        let ran = world.morecores(&arguments);
        ran.code(2).says(&[part]);
        assert!(!ran.stderr.contains("as a value"), "an option of ours is no value\n{ran}");
        assert!(ran.stdout.is_empty() && world.names().is_empty(), "{ran}");
    }
}

#[test]
fn options_after_the_command_belong_to_the_command() {
    let world = World::new();
    let options = [
        "run", "-q", "--trace", "off", "--output", "inherit", "-o", "study", "--cpus", "1", "--runs", "1",
        "--warmup", "0",
    ];
    let ran = world.morecores(&[options.as_slice(), &["echo", "--runs", "-q", "--", "-x"]].concat());
    assert_eq!(ran.success().stdout, "--runs -q -- -x\n", "{ran}");
}

#[test]
fn a_missing_or_unexecutable_command_gets_the_shells_exit_status() {
    refused(&["run", "--", "no-such-command"], 127, &["no-such-command: command not found"]);
    refused(&["run", "--", "./no-such-command"], 127, &["./no-such-command: command not found"]);
    refused(&["run", "--", ""], 127, &["command not found"]);
    refused(&["run", "--", "sleep 0.2 | cat"], 127, &["sleep 0.2 | cat: command not found", "--shell"]);
    let plain = World::new().morecores(&["run", "--", "no-such-command"]);
    assert!(!plain.stderr.contains("--shell"), "{plain}");
    refused(&["run", "--", "/etc/passwd"], 126, &["/etc/passwd", "executable"]);
    refused(&["run", "--", "/"], 126, &["/"]);

    let world = World::new();
    let script = world.script("lost", "#!/no/such/interpreter\n");
    world.morecores(&["run", "-q", "-o", "study", "--", &script]).refused(127, &[&script, "interpreter"]);
    assert!(!world.path("study").exists());
}

#[test]
fn an_existing_study_stays_unchanged() {
    let world = World::new();
    fs::create_dir(world.path("study")).expect("mkdir");
    fs::write(world.path("study/precious"), "x").expect("write");
    world.run("", &TRACE).refused(2, &["study exists", "--resume"]);
    assert_eq!(world.names(), ["study".to_owned()].into());
    assert!(world.path("study/precious").exists());

    let world = World::new();
    fs::write(world.path("study"), "a file").expect("write");
    let ran = world.run("", &TRACE);
    ran.refused(2, &["study exists: name another with -o"]);
    assert!(!ran.stderr.contains("--resume"), "{ran}");
    world.morecores(&["show", "study"]).refused(2, &["study is a file"]);
    world.morecores(&["show", "nosuch"]).refused(2, &["there is no study nosuch"]);
}

/// Checks that a study whose runs all claim the same round is shown by its medians, with one line
/// that says so, and that runs without a round are damaged lines.
#[test]
fn a_study_without_rounds_says_so_in_one_line() {
    let world = World::new();
    let study = with_runs(&world, |run| run["round"] = 0.into());
    let study = study.to_str().expect("a path of letters");
    let shown = world.morecores(&["show", study]);
    shown.success().prints(&["compares two medians, because no round has exactly one run of this count"]);
    let flat = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(flat.matches("compares two medians").count(), 1, "{shown}");
    let view: serde_json::Value =
        serde_json::from_str(&world.morecores(&["show", study, "--json"]).success().stdout).expect("JSON");
    assert!(view["points"][1]["speedup"]["ci95"].is_array(), "{view}");
    for command in
        [vec!["compare", study, study], vec!["predict", study], vec!["report", study, "-o", "page.html"]]
    {
        world.morecores(&command).success();
    }
    fs::remove_dir_all(study).expect("remove");
    with_runs(&world, |run| drop(run.as_object_mut().expect("an object").remove("round")));
    world.morecores(&["show", study]).success().prints(&["damaged lines of runs.jsonl are in no figure"]);
    world.morecores(&["compare", study, study]).refused(2, &["no run succeeded"]);
}

/// Finished study of six runs on one CPU.
fn finished() -> World {
    let world = World::new();
    world.run("-q --cpus 1 --runs 6 --warmup 0 --precision 0", &["true"]).success();
    world
}

#[test]
fn a_newer_schema_is_refused_and_unknown_fields_are_kept() {
    let world = finished();
    let file = world.path("study/study.json");
    let mut header: serde_json::Value =
        serde_json::from_slice(&fs::read(&file).expect("header")).expect("JSON");
    header["from_the_future"] = "kept".into();
    fs::write(&file, header.to_string()).expect("write");
    world.morecores(&["run", "-q", "--resume", "-o", "study", "--runs", "7"]).success();
    assert!(fs::read_to_string(&file).expect("header").contains("from_the_future"));

    header["schema"] = "morecores.study/3".into();
    fs::write(&file, header.to_string()).expect("write");
    let parts = ["morecores.study/3", "morecores.study/2", "newer morecores"];
    world.morecores(&["show", "study"]).refused(2, &parts);
    world.morecores(&["run", "--resume", "-o", "study"]).refused(2, &parts);
    for text in ["", "{", "[]", "{\"schema\":7}"] {
        fs::write(&file, text).expect("write");
        world.morecores(&["show", "study"]).refused(2, &["study.json"]);
    }
}

#[test]
fn damaged_lines_are_counted_and_the_others_are_used() {
    let world = finished();
    let file = world.path("study/runs.jsonl");
    let text = fs::read_to_string(&file).expect("runs");
    let mut lines: Vec<&str> = text.lines().collect();
    lines[1] = "{\"index\":1,\"round\":";
    lines[3] = "\u{0}\u{0}\u{0}";
    fs::write(&file, lines.join("\n") + "\n").expect("write");
    let shown = world.morecores(&["show", "study", "--wide"]);
    shown.success().prints(&["4 runs", "2 damaged lines of runs.jsonl are in no figure."]);
    let view = world.shown("--json");
    assert_eq!(view["points"][0]["runs"], 4);
    let damaged =
        view["warnings"].as_array().expect("warnings").iter().find(|w| w["kind"] == "damaged_lines");
    assert!(damaged.is_some_and(|warning| warning["count"] == 2), "{view:#}");

    // These bytes are not text.
    fs::write(&file, [0xff, 0xfe, b'\n']).expect("write");
    world.morecores(&["show", "study"]).success();
}

#[test]
fn a_failing_command_shows_its_last_lines_and_how_it_ended() {
    let world = World::new();
    let ran = world.run("--cpus 1", &["sh", "-c", "seq 30; echo 'the reason' >&2; exit 7"]);
    ran.code(1).says(&[
        "  | 30\n",
        "  | the reason\n",
        "exited with status 7 at 1 CPU (run 1)",
        "--success 0,7",
        "--ignore-failure",
        "the measurements are kept in study",
    ]);
    assert!(!ran.stderr.contains("  | 15\n"), "the last lines only\n{ran}");
    assert_eq!(world.study().runs.len(), 1, "it is stopped");
    assert_eq!(world.study().runs[0].exit, Exit::Code(7));

    let ran = World::new().run("-q --cpus 1", &["false"]);
    ran.code(1).says(&["the measurements are kept in study"]);

    let ran = World::new().run("--cpus 1", &["sh", "-c", "kill -SEGV $$"]);
    ran.code(1).says(&["was ended by signal 11 at 1 CPU"]);
}

#[test]
fn ignored_failures_are_counted() {
    let world = World::new();
    // Every third run fails.
    let line = "n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) >n; [ $((n % 3)) -lt 2 ]";
    let ran =
        world.run("--ignore-failure --wide --cpus 1 --runs 9 --warmup 0 --precision 0", &["sh", "-c", line]);
    ran.success();
    let point = &world.shown("--json")["points"][0];
    assert_eq!((&point["runs"], &point["failed_runs"]), (&6.into(), &3.into()), "{point:#}");
    ran.prints(&[
        "Some runs failed and are in no figure: 3 at 1 CPU (3 exited with status 1)",
        "--success 0,1 counts them",
    ]);
}

#[test]
fn success_statuses_count_and_signals_never_do() {
    let options = "-q --cpus 1 --runs 4 --warmup 0 --precision 0";
    let world = World::new();
    world.run(&format!("{options} --success 0,1"), &["false"]).success();
    assert_eq!(world.shown("--json")["points"][0]["runs"], 4);

    let ran = World::new().run(&format!("{options} --success 0,1"), &["sh", "-c", "exit 2"]);
    ran.code(1).says(&["exited with status 2", "--success 0,1,2 counts such runs", "--ignore-failure"]);

    let ran = World::new().run(&format!("{options} --success 0,15,143"), &["sh", "-c", "kill $$"]);
    ran.code(1).says(&["was ended by signal 15"]);
    assert!(!ran.stderr.contains("--success"), "{ran}");

    // A resumed study may declare more exit statuses a success.
    let world = World::new();
    world.run(options, &["false"]).code(1);
    world
        .morecores(&["run", "-q", "--trace", "off", "--resume", "-o", "study", "--success", "0,1"])
        .success();
    assert_eq!(world.shown("--json")["points"][0]["runs"], 4);
}

#[test]
fn a_run_without_its_metric_is_a_failed_run() {
    let line = "n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) >n; [ $((n % 3)) -lt 2 ] && echo ops 5; true";
    let options = "--cpus 1 --runs 9 --warmup 0 --precision 0 --metric ops.([0-9]+)";
    let ran = World::new().run(options, &["sh", "-c", line]);
    ran.code(1).says(&["matched nothing", "(run 3)", "--ignore-failure"]);

    let world = World::new();
    let ran = world.run(&format!("{options} --wide --ignore-failure"), &["sh", "-c", line]);
    ran.success().prints(&[
        "Some runs failed and are in no figure: 3 at 1 CPU (3 printed no figure that can be read)",
    ]);
    let point = &world.shown("--json")["points"][0];
    assert_eq!((&point["runs"], &point["failed_runs"]), (&6.into(), &3.into()), "{point:#}");
}

#[test]
fn a_study_with_only_failed_runs_is_shown() {
    let world = World::new();
    world.run("-q --ignore-failure --cpus 1 --runs 2 --precision 0", &["false"]).success();
    world.morecores(&["show", "study"]).success();
    world.shown("--json");
    world.shown("--hyperfine-json");
}

#[test]
fn losses_by_function_need_a_trace_with_functions() {
    let world = World::new();
    world.run("-q --cpus 1 --runs 2 --precision 0 --trace off", &["true"]).success();
    let no_functions = "study has no trace that shows functions: `morecores run --trace on` makes one";
    world.morecores(&["show", "study", "--by", "function"]).refused(2, &[no_functions]);
    world.morecores(&["show", "study", "--by", "line"]).code(2).says(&["--by", "function"]);
    world.morecores(&["show", "study", "--by", "function", "--json"]).code(2).says(&["--json"]);
}

#[test]
fn a_run_beyond_its_time_limit_is_ended_with_all_its_processes() {
    let world = World::new();
    // The command ignores SIGTERM, so that the run takes every step of ending it.
    let line = "trap '' TERM; sleep 60 & while :; do sleep 1; done";
    let ran = world.run("--timeout 0.2 --cpus 1 --runs 1 --warmup 0", &["sh", "-c", line]);
    ran.code(1).says(&["ran past --timeout and was ended at 1 CPU"]);
    let run = world.study().runs.pop().expect("a run");
    assert_eq!(run.exit, Exit::TimedOut);
    assert!(run.elapsed_ns.as_secs_f64() >= 0.2);
    assert_eq!(world.processes(), []);
    let fast = World::new().run("-q --timeout 30s --cpus 1 --runs 2 --warmup 0", &["true"]);
    fast.success();
}

#[test]
fn a_failing_hook_stops_the_study_and_is_named() {
    for hook in ["--setup", "--prepare", "--cleanup"] {
        let world = World::new();
        let mut command = world.run_command("-q --cpus 1 --runs 1 --warmup 0 --precision 0", &[]);
        // `run_command` ended with `--`, after which only the command may stand.
        command = rebuild(&command, hook, "echo the reason; exit 3");
        let ran = Ran::start_and_wait(command);
        ran.code(2).says(&[hook, "exit 3", "the reason"]);
        assert_eq!(world.path("trace").exists(), hook == "--cleanup", "{ran}");
        assert_eq!(
            world.path("study").exists(),
            hook == "--cleanup",
            "an empty study is in nobody's way\n{ran}"
        );
    }
}

#[test]
fn an_interrupt_during_a_hook_interrupts_the_study() {
    let hooks = ["--setup", "--prepare"].map(|hook| {
        let world = World::new();
        let command = world.run_command("-q --cpus 1 --runs 1 --warmup 0", &[]);
        let study = start(rebuild(&command, hook, "echo >started; sleep 600"));
        wait_until("the hook runs", || world.path("started").exists());
        study.signal("INT");
        (hook, world, study)
    });
    for (hook, world, study) in hooks {
        let ran = study.wait();
        ran.code(130).says(&["stopped", "--resume"]);
        assert_eq!(ran.stderr.lines().count(), 1, "{hook} is not blamed\n{ran}");
        assert!(!world.path("trace").exists() && world.processes().is_empty(), "{ran}");
    }
}

/// Command with one more option, whose value contains spaces.
fn rebuild(command: &Command, option: &str, value: &str) -> Command {
    let mut with = Command::new(command.get_program());
    with.current_dir(command.get_current_dir().expect("a directory"));
    with.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    with.args(command.get_args().take_while(|argument| *argument != "--"));
    with.args([option, value, "--"]).args(TRACE);
    with
}

/// File system of 64 KiB, unmounted on drop.
struct SmallDisk<'a> {
    world: &'a World,
}

impl<'a> SmallDisk<'a> {
    fn new(world: &'a World, name: &str) -> Option<Self> {
        fs::create_dir(world.path("disk")).expect("mkdir");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "none"])
            .arg(world.path("disk"))
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            report_skip(name, "mounting a small file system needs root");
        }
        mounted.then_some(Self { world })
    }

    fn fill(&self) {
        let full = fs::write(self.world.path("disk/ballast"), vec![0; 1 << 17]);
        assert!(full.is_err(), "it is not full");
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.world.path("disk")).status();
    }
}

#[test]
fn a_full_disk_is_reported_and_nothing_is_left_on_it() {
    let world = World::new();
    let Some(disk) = SmallDisk::new(&world, "a_full_disk_is_reported_and_nothing_is_left_on_it") else {
        return;
    };
    disk.fill();
    let ran = world.morecores(&["run", "-o", "disk/study", "--", "touch", "trace"]);
    ran.refused(2, &["disk/study", "No space left"]);
    assert!(!world.path("disk/study").exists() && !world.path("trace").exists(), "{ran}");
}

#[test]
fn a_disk_that_fills_during_a_study_keeps_the_recorded_runs() {
    let world = World::new();
    let Some(disk) = SmallDisk::new(&world, "a_disk_that_fills_during_a_study_keeps_the_recorded_runs")
    else {
        return;
    };
    let options = [
        "run",
        "-q",
        "--trace",
        "off",
        "-o",
        "disk/study",
        "--cpus",
        "1",
        "--runs",
        "100000",
        "--precision",
        "0",
        "--",
    ];
    let ran = world.morecores(&[options.as_slice(), &["true"]].concat());
    ran.refused(2, &["cannot append a run to disk/study/runs.jsonl", "No space left"]);
    let study = morecores_study::Study::read(&world.path("disk/study")).expect("a study");
    assert!(
        study.runs.len() > 5 && study.damaged_lines == 0,
        "{} runs, {}",
        study.runs.len(),
        study.damaged_lines
    );
    world.morecores(&["show", "disk/study"]).success();

    // With free space again, the study resumes at its last run.
    let copied =
        Command::new("cp").args(["-r"]).arg(world.path("disk/study")).arg(world.path("room")).status();
    assert!(copied.is_ok_and(|status| status.success()));
    let rounds = (study.runs.len() + 3).to_string();
    world.morecores(&["run", "-q", "--resume", "-o", "room", "--runs", &rounds]).success();
    let after = morecores_study::Study::read(&world.path("room")).expect("a study");
    assert_eq!(after.runs[..study.runs.len()], study.runs[..]);
    assert!(after.runs.len() > study.runs.len() && after.header.closing.is_some());
    drop(disk);
}

#[test]
fn an_unwritable_directory_is_named() {
    const NAME: &str = "an_unwritable_directory_is_named";
    let world = World::new();
    let user = match world.ordinary_user() {
        Ok(user) => user,
        Err(reason) => return report_skip(NAME, &reason),
    };
    let closed = world.path("closed");
    fs::create_dir(&closed).expect("mkdir");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).expect("chmod");
    let study = closed.join("study");
    let ran = user.morecores(&["run", "-o", &study.to_string_lossy(), "--", "true"]);
    ran.refused(2, &["cannot create", &study.to_string_lossy(), "Permission denied"]);
    assert_eq!(fs::read_dir(&closed).expect("it").count(), 0);
    if is_root() {
        // A user must not resume the study of another user.
        world.run("-q --cpus 1 --runs 1 --warmup 0", &["true"]).success();
        let theirs = world.path("study");
        user.morecores(&["run", "--resume", "-o", &theirs.to_string_lossy()])
            .refused(2, &["Permission denied"]);
        user.morecores(&["show", &theirs.to_string_lossy()]).success();
    }
}
