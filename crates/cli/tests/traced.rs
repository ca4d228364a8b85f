//! Tests of tracing on the command line: of a study after its timed runs, and of a single run.
//!
//! Other tests check the content of traces. These tests check that a trace is made, kept and shown,
//! or refused in one line.
#![cfg(feature = "trace")]

mod harness;

use std::collections::BTreeSet;
use std::fs;

use harness::{Ran, World, report_skip, start, usable_cpus, wait_until};
use morecores_study::{Exit, Phase, StopReason, Study, TraceMode};
use serde_json::Value;

/// Work that is long enough for a few events.
const WORK: [&str; 3] = ["sh", "-c", "i=0; while [ $i -lt 20 ]; do /bin/true; i=$((i+1)); done"];

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}\n{ran}"))
}

/// Whether a full trace is possible here. The reason is noted if not.
fn can_trace(world: &World, test: &str) -> bool {
    let ran = world.morecores(&["trace", "--json", "--", "true"]);
    if ran.status.success() && json(&ran)["source"] == "bpf" {
        return true;
    }
    report_skip(test, ran.stderr.lines().next().unwrap_or("no full trace here"));
    false
}

#[test]
fn each_count_is_traced_in_rounds_after_the_timed_runs() {
    const NAME: &str = "each_count_is_traced_in_rounds_after_the_timed_runs";
    let world = World::new();
    if !can_trace(&world, NAME) {
        return;
    }
    let cpus = if usable_cpus() > 1 { "1,2" } else { "1" };
    let options = format!("--cpus {cpus} --runs 2 --warmup 1 --precision 0 --trace on");
    let ran = world.run(&options, &["sh", "-c", "echo ran >>ran; /bin/true"]);
    ran.success();
    let counts: Vec<u64> = cpus.split(',').map(|n| n.parse().expect("a number")).collect();
    let runs = fs::read_to_string(world.path("ran")).expect("runs").lines().count();
    // There are three rounds, and a slow traced run is repeated at most twice.
    let attempts = runs - counts.len() * (1 + 2);
    let rounds = counts.len() * 3;
    assert!((rounds..=rounds * 3).contains(&attempts), "{attempts} traced runs\n{ran}");

    let study = world.study();
    assert_eq!(study.runs.len(), counts.len() * 3);
    assert!(study.runs.iter().all(|run| run.phase != Phase::Traced));
    let view = world.shown("--json");
    let traces = view["traces"].as_array().expect("traces");
    let traced: Vec<u64> = traces.iter().map(|trace| trace["cpus"].as_u64().expect("cpus")).collect();
    assert_eq!(traced, counts);
    for trace in traces {
        assert_eq!(trace["source"], "bpf");
        assert!(trace["events"].as_u64().expect("events") > 4, "{trace}");
        assert!(trace["overhead"].is_f64(), "{trace}");
        assert_eq!(trace["runs"], 3);
        assert!(trace["components_ci95"]["user_work"].is_array(), "{trace}");
    }
    // The resumed study lacks nothing: no run is made.
    world.morecores(&["run", "-q", "--resume", "-o", "study"]).success();
    assert_eq!(fs::read_to_string(world.path("ran")).expect("runs").lines().count(), runs);
}

#[test]
fn a_resumed_study_gets_missing_traces_and_requested_syscalls() {
    const NAME: &str = "a_resumed_study_gets_missing_traces_and_requested_syscalls";
    let world = World::new();
    if !can_trace(&world, NAME) {
        return;
    }
    world.run("-q --cpus 1 --runs 2 --warmup 0 --precision 0 --trace off", &WORK).success();
    assert_eq!(world.shown("--json")["traces"], Value::Array(vec![]));
    assert!(!world.path("study/traces").exists(), "nothing was traced");
    let resume = |options: &[&str]| world.morecores(&[&["run", "--resume", "-o", "study"], options].concat());
    // The study's own plan excludes traces.
    resume(&["--syscalls"]).refused(2, &["--syscalls needs a trace", "--trace auto"]);
    resume(&["-q", "--trace", "on", "--syscalls"]).success();
    let view = world.shown("--json");
    assert_eq!(view["traces"][0]["source"], "bpf_with_system_calls", "{}", view["traces"]);
    assert_eq!(world.study().runs.len(), 2, "no timed run was made again");
}

#[test]
fn an_explicit_option_of_a_resumed_study_applies_even_if_it_equals_the_default() {
    const NAME: &str = "an_explicit_option_of_a_resumed_study_applies_even_if_it_equals_the_default";
    let world = World::new();
    if !can_trace(&world, NAME) {
        return;
    }
    world.run("-q --cpus 1 --runs 2 --warmup 0 --precision 0 --trace off", &WORK).success();
    let resume = |options: &[&str]| world.morecores(&[&["run", "--resume", "-o", "study"], options].concat());
    resume(&["-q"]).success();
    let plan = world.study().header.plan;
    assert_eq!((plan.trace, plan.stop.precision), (TraceMode::Off, None), "nothing was said");
    resume(&["-q", "--trace", "auto", "--precision", "1%"]).success();
    let study = world.study();
    assert_eq!((study.header.plan.trace, study.header.plan.stop.precision), (TraceMode::Auto, Some(0.01)));
    assert_eq!(study.traces.len(), 3);
    // The option has nothing left to do.
    resume(&["--syscalls"]).success().says(&["--syscalls applies to the missing traces"]);
    assert_eq!(world.study().traces, study.traces);
}

#[test]
fn a_failed_study_is_not_traced() {
    let world = World::new();
    let ran = world.run("--cpus 1 --runs 3 --warmup 0 --trace auto", &["sh", "-c", "echo ran >>ran; exit 3"]);
    ran.code(1);
    assert_eq!(fs::read_to_string(world.path("ran")).expect("runs").lines().count(), 1, "{ran}");
    assert!(!world.path("study/traces").exists());
}

#[test]
fn success_statuses_also_apply_to_traced_runs() {
    const NAME: &str = "success_statuses_also_apply_to_traced_runs";
    let world = World::new();
    if !can_trace(&world, NAME) {
        return;
    }
    let options = "-q --cpus 1 --runs 1 --warmup 0 --precision 0 --trace on --success 0,1";
    world.run(options, &["false"]).success();
    assert_eq!(world.study().traces[0].run.exit, Exit::Code(1));

    let ran = world.morecores(&["trace", "--json", "--success", "0,1", "--", "false"]);
    ran.success();
    let ran = world.morecores(&["trace", "--json", "--", "false"]);
    ran.code(1).says(&["exited with status 1", "--success 0,1"]);
}

#[test]
fn a_single_trace_leaves_no_study() {
    const NAME: &str = "a_single_trace_leaves_no_study";
    let world = World::new();
    if !can_trace(&world, NAME) {
        return;
    }
    fs::create_dir(world.path("tmp")).expect("mkdir");
    let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
    command.env("TMPDIR", world.path("tmp"));
    command.args(["trace", "--json", "--cpus", "1", "-n", "3", "--", "sh", "-c", "test {n} = 3; /bin/true"]);
    let ran = Ran::start_and_wait(command);
    let trace = json(ran.success());
    assert_eq!((&trace["cpus"], &trace["n"]), (&1.into(), &3.into()), "{ran}");
    assert_eq!(trace["overhead"], Value::Null, "there is nothing to compare with");
    let components = trace["components"].as_object().expect("components");
    assert!(components.contains_key("user_work_s") && components.contains_key("unexplained_s"));
    let commands = trace["commands"].as_array().expect("commands");
    let names: BTreeSet<_> = commands.iter().filter_map(|command| command["name"].as_str()).collect();
    assert!(names.contains("true"), "{names:?}");
    assert_eq!(ran.stderr, "");
    assert_eq!(world.names(), ["tmp".to_owned()].into());
    assert_eq!(fs::read_dir(world.path("tmp")).expect("tmp").count(), 0);

    let shown = world.morecores(&["trace", "--", "true"]);
    assert!(shown.success().stdout.contains("true"), "{shown}");
}

#[test]
fn a_kept_trace_is_a_study_that_can_be_shown() {
    const NAME: &str = "a_kept_trace_is_a_study_that_can_be_shown";
    let world = World::new();
    if !can_trace(&world, NAME) {
        return;
    }
    let arguments = ["trace", "--json", "-o", "study", "--", "/bin/true"];
    let trace = json(world.morecores(&arguments).success());
    let view = world.shown("--json");
    assert_eq!(view["traces"], Value::Array(vec![trace]));
    assert_eq!(view["points"], Value::Array(vec![]));
    world.morecores(&["show", "study"]).success().prints(&["traced run on", "commands on"]);
    let markdown = world.morecores(&["show", "study", "--markdown"]);
    // The report omits a component below one hundredth, and on a busy machine the work itself may
    // be that small.
    markdown.success().prints(&["Where the CPUs went", "of the CPUs' time"]);
    assert!(!markdown.stdout.contains("no run succeeded"), "{markdown}");
    world.morecores(&arguments).refused(2, &["study exists", "-o"]);
    let study = world.study();
    assert_eq!((study.runs.len(), study.traces.len()), (0, 1));
    assert_eq!(study.header.closing.map(|closing| closing.reason), Some(StopReason::RunsExhausted));

    for entry in fs::read_dir(world.path("study/traces")).expect("traces") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "zst") {
            fs::write(path, "{").expect("written");
        }
    }
    world.morecores(&["show", "study"]).success().says(&[".json.zst: ", "shown without this trace"]);
}

#[test]
fn a_kept_trace_survives_a_failed_resume() {
    const NAME: &str = "a_kept_trace_survives_a_failed_resume";
    let world = World::new();
    if !can_trace(&world, NAME) {
        return;
    }
    fs::write(world.path("in.txt"), "in").expect("written");
    world.morecores(&["trace", "--input", "in.txt", "-o", "study", "--", "cat"]).success();
    fs::remove_file(world.path("in.txt")).expect("removed");
    world.morecores(&["run", "--resume", "-o", "study"]).code(2).says(&["in.txt"]);
    assert_eq!(world.study().traces.len(), 1);
}

#[test]
fn a_failed_command_is_reported_and_its_trace_is_shown() {
    const NAME: &str = "a_failed_command_is_reported_and_its_trace_is_shown";
    let world = World::new();
    if !can_trace(&world, NAME) {
        return;
    }
    let ran =
        world.morecores(&["trace", "--json", "--cpus", "1", "--", "sh", "-c", "echo no such luck; exit 3"]);
    ran.code(1).says(&["  | no such luck", "the command exited with status 3 at 1 CPU"]);
    assert!(json(&ran)["events"].as_u64() > Some(0), "{ran}");
    let ran = world.morecores(&["trace", "--json", "--timeout", "200ms", "--", "sleep", "60"]);
    ran.code(1).says(&["ran past --timeout"]);
    assert!(json(&ran)["elapsed_s"].as_f64() < Some(60.0), "it was not ended: {ran}");
}

#[test]
fn a_stopped_trace_is_shown_and_survivors_are_ended() {
    const NAME: &str = "a_stopped_trace_is_shown_and_survivors_are_ended";
    let world = World::new();
    if !can_trace(&world, NAME) {
        return;
    }
    let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
    command.args(["trace", "--json", "--", "sh", "-c", "setsid sleep 60 & touch begun; wait"]);
    let started = start(command);
    wait_until("the command runs", || world.path("begun").exists());
    started.signal("TERM");
    let ran = started.wait();
    ran.code(128 + 15);
    assert!(json(&ran)["events"].as_u64() > Some(0), "{ran}");
    assert_eq!(world.processes(), []);
}

#[test]
fn survivors_of_a_traced_command_are_named() {
    let world = World::new();
    if !can_trace(&world, "survivors_of_a_traced_command_are_named") {
        return;
    }
    let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
    command.args(["trace", "--json", "--shell", "--", "setsid sleep 60 & sleep 0.1"]);
    let ran = start(command).wait();
    ran.code(0);
    assert!(ran.stderr.contains("outlived the command and were ended; --keep leaves them: sleep"), "{ran}");
    assert_eq!(world.processes(), []);
}

#[test]
fn a_server_that_exits_cleanly_on_a_signal_counts_as_stopped() {
    const NAME: &str = "a_server_that_exits_cleanly_on_a_signal_counts_as_stopped";
    let world = World::new();
    if !can_trace(&world, NAME) {
        return;
    }
    let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
    let server = "trap 'exit 0' TERM; touch begun; while ! test -e enough; do sleep 0.01; done";
    command.args(["trace", "--json", "-o", "study", "--", "sh", "-c", server]);
    let started = start(command);
    wait_until("the command runs", || world.path("begun").exists());
    started.signal("TERM");
    let ran = started.wait();
    ran.code(128 + 15).says(&["the trace ends there"]);
    assert!(json(&ran)["events"].as_u64() > Some(0), "{ran}");
    world.morecores(&["show", "study"]).success().says(&["the trace ends there"]);
    let study = world.study();
    assert_eq!(study.traces[0].run.exit, Exit::Code(0));
    assert_eq!(study.header.closing.map(|closing| closing.reason), Some(StopReason::Interrupted));

    // The trace does not cover a whole run, so the resumed study makes it again.
    fs::write(world.path("enough"), "").expect("written");
    world.morecores(&["run", "-q", "--resume", "-o", "study"]).success();
    let again = world.study();
    assert_eq!(again.traces.len(), 1);
    assert!(again.traces[0].run.started_at_ns > study.traces[0].run.started_at_ns);
    assert_eq!(again.header.closing.map(|closing| closing.reason), Some(StopReason::RunsExhausted));
}

#[test]
fn an_ordinary_user_gets_a_perf_trace_and_the_command_that_enables_more() {
    const NAME: &str = "an_ordinary_user_gets_a_perf_trace_and_the_command_that_enables_more";
    let world = World::new();
    let user = match world.ordinary_user() {
        Ok(user) => user,
        Err(reason) => return report_skip(NAME, &reason),
    };
    let run = ["run", "-o", "study", "--max-time", "0", "--cpus", "1", "--runs", "1", "--warmup", "0"];
    // `--trace on` demands a full trace or none.
    let refused = user.morecores(&[&run[..], &["--trace", "on", "--", "touch", "trace"]].concat());
    refused.refused(2, &["--trace on", "CAP_BPF"]);
    assert!(!user.home.join("study").exists() && !user.home.join("trace").exists(), "{refused}");

    let ran = user.morecores(&[&run[..], &["--", "/bin/true"]].concat());
    ran.success();
    assert_eq!(ran.stderr.lines().count(), 1, "one line\n{ran}");
    assert_eq!(Study::read(&user.home.join("study")).expect("a study").runs.len(), 1);
    let view = json(user.morecores(&["show", "study", "--json"]).success());
    let Some(trace) = view["traces"].get(0) else {
        ran.says(&["not traced: "]);
        return report_skip(NAME, &ran.stderr);
    };
    assert_eq!(trace["source"], "perf");
    assert!(!trace["untraced"].as_array().expect("what is missing").is_empty(), "{trace}");
    ran.says(&["not why they waited", "sudo setcap cap_bpf,cap_perfmon"]);
    let one = user.morecores(&["trace", "--json", "--", "/bin/true"]);
    assert_eq!(json(one.success())["source"], "perf");
}

#[test]
fn contradictory_options_are_refused_before_anything_runs() {
    let world = World::new();
    let refused = |options: &[&str], parts: &[&str]| {
        let ran = world.morecores(&[&["trace"], options, &["--", "touch", "trace"]].concat());
        ran.refused(2, parts);
        assert!(world.names().is_empty(), "{ran}");
    };
    refused(&["--cpus", "1-9999"], &["--cpus"]);
    refused(&["--cpus", "0"], &["counts begin at 1"]);
    refused(&["-n", "0"], &["-n 0"]);
    refused(&["--timeout", "soon"], &["--timeout"]);
    refused(&["--cpu-list", "0,0"], &["--cpu-list"]);
    refused(&["-o", "no/such/directory"], &["no/such/directory"]);
    if usable_cpus() > 1 {
        refused(&["--cpus", "1,2"], &["one CPU count"]);
    }
    world.morecores(&["trace"]).refused(2, &["no command given: morecores trace -- COMMAND"]);
    world.morecores(&["trace", "--", "no-such-command"]).refused(127, &["command not found"]);
    assert!(world.names().is_empty());
}

#[test]
fn prepare_runs_before_a_single_trace_and_outside_it() {
    let world = World::new();
    let arguments =
        ["trace", "--json", "--cpus", "1", "-n", "3", "--prepare", "seq {n} >ready", "--", "cat", "ready"];
    let ran = world.morecores(&arguments);
    if ran.status.code() == Some(2) {
        report_skip("prepare_runs_before_a_single_trace_and_outside_it", ran.stderr.trim());
        return;
    }
    ran.success();
    assert_eq!(fs::read_to_string(world.path("ready")).expect("prepared"), "1\n2\n3\n");
    assert!(ran.stdout.contains("\"cat\"") && !ran.stdout.contains("\"seq\""), "{ran}");
    world
        .morecores(&["trace", "--prepare", "exit 3", "--", "true"])
        .code(2)
        .says(&["--prepare `exit 3` failed"]);
}
