//! `morecores export`: a traced run in the formats of other programs.

mod harness;

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use harness::World;
use harness::studies::build;
use morecores_testkit::report_skip;
use serde_json::Value;

/// Shown trace of the committed study on the most CPUs.
fn trace_view(world: &World) -> Value {
    let study = build();
    let printed = world.morecores(&["show", "--json", study.to_str().expect("a path of letters")]);
    let view: Value = serde_json::from_str(&printed.success().stdout).expect("JSON");
    view["traces"].as_array().expect("traces").last().expect("a trace").clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

/// The counters of the CPUs add up to the components of the report, and the critical path to the
/// elapsed time.
#[test]
fn a_chrome_trace_has_threads_arrows_and_results() {
    let world = World::new();
    let study = build();
    let study = study.to_str().expect("a path of letters");
    world.morecores(&["export", study, "--to", "chrome-trace", "-o", "a.json"]).success();
    let text = fs::read_to_string(world.path("a.json")).expect("a file");
    let events: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let trace = trace_view(&world);
    let elapsed_s = number(&trace["elapsed_s"]);
    let of_phase = |phase: &'static str| events.iter().filter(move |event| event["ph"] == phase);

    // Spans of a track do not overlap: each ends before the next one begins, and in this order.
    let mut open: BTreeMap<String, Option<&Value>> = BTreeMap::new();
    let (mut path_us, mut last_us) = (0.0, BTreeMap::new());
    for event in events.iter().filter(|event| event["ph"] == "B" || event["ph"] == "E") {
        let track = format!("{} {}", event["pid"], event["tid"]);
        let ts = number(&event["ts"]);
        let before = last_us.insert(track.clone(), ts).unwrap_or_default();
        assert!(ts >= before, "{event} is earlier than {before}");
        let begin = open.insert(track.clone(), (event["ph"] == "B").then_some(event)).flatten();
        assert_eq!(begin.is_some(), event["ph"] == "E", "{event}");
        if let Some(begin) = begin.filter(|_| track == "0 1") {
            path_us += ts - number(&begin["ts"]);
        }
    }
    assert!((path_us / 1e6 - elapsed_s).abs() < 1e-6, "{path_us}");
    assert!(of_phase("B").any(|event| event["name"] == "running"));

    let begins: Vec<&Value> = of_phase("s").map(|event| &event["id"]).collect();
    let ends: Vec<&Value> = of_phase("f").map(|event| &event["id"]).collect();
    assert!(!begins.is_empty());
    assert_eq!(begins, ends);

    let counters: Vec<&Value> = of_phase("C").collect();
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    let end_us = elapsed_s * 1e6;
    for (index, counter) in counters.iter().enumerate() {
        let until = counters.get(index + 1).map_or(end_us, |next| number(&next["ts"]));
        let seconds = (until - number(&counter["ts"])) / 1e6;
        for (name, cpus) in counter["args"].as_object().expect("counters") {
            *sums.entry(name.clone()).or_default() += number(cpus) * seconds;
        }
    }
    assert_components(&trace, |name| sums.get(name).copied());
}

/// Checks the CPU-seconds of components that a viewer's tracks show.
fn assert_components(trace: &Value, shown: impl Fn(&str) -> Option<f64>) {
    let component = |name: &str| number(&trace["components"][name]);
    let expected = [
        ("idle: too little parallel work", component("idle_too_little_work_s")),
        ("idle: scheduling", component("idle_scheduling_s")),
        ("idle: disk", component("idle_disk_s")),
        ("other processes", component("other_processes_s")),
    ];
    let whole = number(&trace["cpus"]) * number(&trace["elapsed_s"]);
    for (name, seconds) in expected {
        let found = shown(name).unwrap_or(0.0);
        assert!((found - seconds).abs() <= 0.001 * whole, "{name}: {found} instead of {seconds}");
    }
}

/// Reads a trace with Perfetto's own definitions: the lengths of the tracks of results, the values
/// of each counter over time, and the time of the threads by state from the scheduler's events, in
/// seconds. A thread runs from a switch to it until the next switch of the CPU, waits if it left as
/// a sleeper, and is ready from its wake-up on, as Perfetto draws it.
const READ_PERFETTO: &str = r"
import collections, json, sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

trace = Trace()
trace.ParseFromString(open(sys.argv[1], 'rb').read())
names, threads, lengths = {}, {}, collections.Counter()
last = max(packet.timestamp for packet in trace.packet)
sums, values, events = collections.Counter(), {}, []
for packet in trace.packet:
    if packet.HasField('track_descriptor'):
        track = packet.track_descriptor
        names[track.uuid] = track.name
        if track.HasField('thread'):
            assert track.thread.tid not in threads
            threads[track.thread.tid] = track.thread.thread_name
    if packet.HasField('track_event'):
        event, at = packet.track_event, packet.timestamp
        name = names[event.track_uuid]
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            lengths[name] -= at
        if event.type == TrackEvent.TYPE_SLICE_END:
            lengths[name] += at
        if event.type == TrackEvent.TYPE_COUNTER:
            since, value = values.get(name, (at, 0.0))
            sums[name] += value * (at - since) / 1e9
            values[name] = (at, event.double_counter_value)
    if packet.HasField('ftrace_events'):
        cpu, sched = packet.ftrace_events.cpu, packet.ftrace_events.compact_sched
        assert all(index < len(sched.intern_table) for index in sched.switch_next_comm_index)
        at = 0
        for step, *event in zip(sched.switch_timestamp, sched.switch_prev_state, sched.switch_next_pid, strict=True):
            at += step
            events.append((at, 1, cpu, event))
        at = 0
        for step, *event in zip(sched.waking_timestamp, sched.waking_pid, sched.waking_common_flags, strict=True):
            at += step
            events.append((at, 0, cpu, event))

running, state, wakers = {}, {}, 0
times = collections.Counter()
def enter(thread, new, at):
    if thread in threads:
        old, since = state.get(thread, (None, at))
        times[old] += at - since
        state[thread] = (new, at)
for at, is_switch, cpu, event in sorted(events):
    if is_switch:
        prev_state, after = event
        before = running.get(cpu)
        if before is not None:
            enter(before, {0: 'ready', 16: 'ended'}.get(prev_state, 'waiting'), at)
        running[cpu] = after
        enter(after, 'running', at)
    else:
        woken, flags = event
        wakers += flags == 0 and woken in state and running.get(cpu) in threads
        if state.get(woken, ('waiting',))[0] == 'waiting':
            enter(woken, 'ready', at)
for old, since in state.values():
    times[old] += last - since
seconds = lambda found: {str(name): ns / 1e9 for name, ns in found.items()}
print(json.dumps({'lengths': seconds(lengths), 'times': seconds(times), 'wakers': wakers, 'sums': sums, 'ends': last / 1e9}))
";

#[test]
fn perfetto_reads_its_format() {
    const NAME: &str = "perfetto_reads_its_format";
    let has_package = Command::new("python3").args(["-c", "import perfetto.protos"]).output();
    if !has_package.is_ok_and(|output| output.status.success()) {
        return report_skip(NAME, "Python's package perfetto is not installed");
    }
    let world = World::new();
    let study = build();
    let study = study.to_str().expect("a path of letters");
    world.morecores(&["export", study, "--to", "perfetto", "-o", "a.trace"]).success();
    let read = Command::new("python3").args(["-c", READ_PERFETTO]).arg(world.path("a.trace")).output();
    let read = read.expect("python3");
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let read: Value = serde_json::from_slice(&read.stdout).expect("JSON");
    let trace = trace_view(&world);
    let elapsed_s = number(&trace["elapsed_s"]);
    assert!((number(&read["lengths"]["critical path"]) - elapsed_s).abs() < 1e-6, "{read:#}");
    assert!((number(&read["ends"]) - elapsed_s).abs() < 1e-6, "{read:#}");
    let phases = trace["serial_phases"].as_array().expect("phases");
    let serial_s: f64 = phases.iter().map(|phase| number(&phase["duration_s"])).sum();
    assert!((number(&read["lengths"]["serial phases"]) - serial_s).abs() < 1e-6, "{serial_s} {read:#}");
    assert_components(&trace, |name| read["sums"][name].as_f64());

    // The same times and wakers as in the tables.
    let states = rows(&world, &["events", study, "states", "--json"]);
    let of_state = |wanted: &[&str]| -> f64 {
        let chosen = states.iter().filter(|row| wanted.contains(&row["state"].as_str().expect("a state")));
        chosen.map(|row| (number(&row["to_ns"]) - number(&row["from_ns"])) / 1e9).sum()
    };
    for (state, expected) in [
        ("running", of_state(&["running"])),
        ("ready", of_state(&["ready", "held"])),
        ("waiting", of_state(&["blocked"])),
    ] {
        let found = number(&read["times"][state]);
        assert!((found - expected).abs() <= 1e-3 * expected + 1e-6, "{state}: {found}, {expected}: {read:#}");
    }
    let waits = rows(&world, &["events", study, "waits", "--json"]);
    let woken = waits.iter().filter(|row| row["waker"].is_u64()).count();
    assert_eq!(read["wakers"], woken, "{read:#}");
}

/// Rows of a table as lines of JSON.
fn rows(world: &World, arguments: &[&str]) -> Vec<Value> {
    let printed = world.morecores(arguments).success().stdout.clone();
    printed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The profile has the markers of the critical path, and counters that add up to the components.
#[test]
fn a_firefox_profile_has_markers_and_counters() {
    let world = World::new();
    let study = build();
    let study = study.to_str().expect("a path of letters");
    world.morecores(&["export", study, "--to", "firefox", "-o", "a.json"]).success();
    let text = fs::read_to_string(world.path("a.json")).expect("a file");
    let profile: Value = serde_json::from_str(&text).expect("JSON");
    assert!(profile["meta"]["preprocessedProfileVersion"].is_u64(), "{}", profile["meta"]);
    let trace = trace_view(&world);
    let elapsed_s = number(&trace["elapsed_s"]);
    let list = |value: &Value| -> Vec<f64> {
        value.as_array().expect("a list").iter().map(|one| one.as_f64().unwrap_or(0.0)).collect()
    };
    let threads = profile["threads"].as_array().expect("threads");
    let path = threads.iter().find(|thread| thread["name"] == "critical path").expect("a path");
    let [starts, ends] = ["startTime", "endTime"].map(|key| list(&path["markers"][key]));
    let path_ms = ends.iter().sum::<f64>() - starts.iter().sum::<f64>();
    assert!((path_ms / 1e3 - elapsed_s).abs() < 1e-6, "{path_ms}");
    assert!(threads.len() > 10 && threads.iter().any(|thread| thread["processName"] == "cc1"));

    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for counter in profile["counters"].as_array().expect("counters") {
        let [changes, steps] = ["count", "timeDeltas"].map(|key| list(&counter["samples"][key]));
        let (mut now_ms, mut cpus, mut sum) = (0.0, 0.0, 0.0);
        for (change, step) in changes.iter().zip(&steps) {
            sum += cpus * step;
            (now_ms, cpus) = (now_ms + step, cpus + change);
        }
        sum += cpus * (elapsed_s * 1e3 - now_ms);
        sums.insert(counter["name"].as_str().expect("a name").to_owned(), sum / 1e3);
    }
    assert_components(&trace, |name| sums.get(name).copied());
}

/// Each format of a trace tells that events were lost, also if only the kernel counted them.
#[test]
fn a_lossy_trace_is_marked_in_every_export() {
    let world = World::new();
    let study = world.path("lossy.study");
    fs::create_dir_all(study.join("traces")).expect("a folder");
    for name in ["study.json", "runs.jsonl", "traces/2.json", "traces/2.events"] {
        fs::copy(build().join(name), study.join(name)).expect("a copy");
    }
    let header = fs::read_to_string(study.join("traces/2.json")).expect("a header");
    assert!(header.contains(r#""missed":0"#), "{header}");
    fs::write(study.join("traces/2.json"), header.replace(r#""missed":0"#, r#""missed":7"#))
        .expect("written");
    for (format, mark) in [
        ("chrome-trace", "lost 7 events"),
        ("perfetto", "lost 7 events"),
        ("firefox", "lost 7 events"),
        ("talp", r#""lostEvents": 7"#),
    ] {
        let ran = world.morecores(&["export", "lossy.study", "--to", format, "-o", format]);
        ran.success().says(&["the trace lost 7 events"]);
        let written = fs::read(world.path(format)).expect("a file");
        assert!(String::from_utf8_lossy(&written).contains(mark), "{format}");
    }
}

/// The efficiency in TALP's document is that of the report.
#[test]
fn talp_has_the_parallel_efficiency() {
    let world = World::new();
    let study = build();
    let study = study.to_str().expect("a path of letters");
    let printed = world.morecores(&["export", study, "--to", "talp", "-o", "-"]).success().stdout.clone();
    let document: Value = serde_json::from_str(&printed).expect("JSON");
    let global = &document["Application"]["Global"];
    let trace = trace_view(&world);
    let useful_s = number(&trace["efficiency_times"]["useful_s"]);
    let efficiency = useful_s / number(&trace["elapsed_s"]) / number(&trace["cpus"]);
    assert!((number(&global["parallelEfficiency"]) - efficiency).abs() < 1e-9, "{document:#}");
    assert!((number(&global["usefulTime"]) / 1e9 - useful_s).abs() < 1e-6, "{document:#}");
    assert!(document["timestamp"].as_str().is_some_and(|time| time.starts_with("20")), "{document:#}");
}

#[test]
fn a_trace_without_functions_has_no_stacks() {
    let world = World::new();
    let study = build();
    let study = study.to_str().expect("a path of letters");
    for format in ["folded", "pprof"] {
        world.morecores(&["export", study, "--to", format, "-o", "a"]).refused(2, &["no functions", format]);
        assert!(!world.path("a").exists());
        assert_eq!(fs::read_dir(world.path(".")).expect("a folder").count(), 0, "nothing is left");
    }
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let world = World::new();
    let study = build();
    let study = study.to_str().expect("a path of letters");
    fs::write(world.path("a.json"), "mine").expect("a file");
    let line = ["export", study, "--to", "chrome-trace", "-o", "a.json"];
    world.morecores(&line).refused(2, &["a.json exists", "--force"]);
    assert_eq!(fs::read_to_string(world.path("a.json")).expect("a file"), "mine");
    world.morecores(&[&line[..], &["--force"]].concat()).success();
    // A device is no file that could be lost, and stays one.
    world.morecores(&["export", study, "--to", "chrome-trace", "-o", "/dev/null"]).success();
    assert!(!fs::metadata("/dev/null").expect("a device").is_file());
    world
        .morecores(&["export", study, "--to", "chrome-trace", "-o", "none/a"])
        .refused(2, &["cannot write none/a"]);
    assert!(world.morecores(&["export", study, "--to", "svg"]).stderr.contains("chrome-trace"));
    world.morecores(&[&line[..], &["--force", "--trace", "64"]].concat()).refused(2, &["no trace \"64\""]);
    world.run("-q --cpus 1 --runs 1 --warmup 0 --trace off", &["true"]).success();
    world.morecores(&["export", "study", "--to", "folded"]).refused(2, &["no trace", "--trace on"]);
}

/// A traced run with functions: the folded lines hold the CPU time of the calls, and pprof reads
/// the same times.
#[test]
fn stacks_have_the_cpu_time_of_the_run() {
    const NAME: &str = "stacks_have_the_cpu_time_of_the_run";
    let world = World::new();
    let spin = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    world.morecores(&["trace", "--cpus", "1", "-o", "study", "--", "sh", "-c", spin]).success();
    let printed = world.morecores(&["show", "--json", "study"]);
    let view: Value = serde_json::from_str(&printed.success().stdout).expect("JSON");
    let functions = view["traces"][0]["functions"].as_array().expect("functions");
    if functions.is_empty() {
        return report_skip(NAME, "no functions are traced here");
    }
    let is_work = |time: &&Value| time["component"] == "user_work" || time["component"] == "kernel_work";
    let times = functions.iter().flat_map(|function| function["times"].as_array().expect("times"));
    let work_s: f64 = times.filter(is_work).map(|time| number(&time["seconds"])).sum();
    let folded = world.morecores(&["export", "study", "--to", "folded", "-o", "-"]).success().stdout.clone();
    let mut folded_us = 0.0;
    for line in folded.lines() {
        let (stack, microseconds) = line.rsplit_once(' ').expect("a count");
        assert!(stack.starts_with("sh;"), "{line}");
        folded_us += microseconds.parse::<f64>().expect("a number");
    }
    // The report leaves out functions with less than a thousandth.
    assert!((folded_us / 1e6 - work_s).abs() <= 0.02 * work_s + 0.006, "{folded_us} and {work_s}");

    world.morecores(&["export", "study", "--to", "pprof"]).success();
    let read = Command::new("go")
        .args(["tool", "pprof", "-top", "-unit=us"])
        .arg(world.path("study-1.pb.gz"))
        .output();
    let Ok(read) = read else {
        return report_skip(NAME, "go is not installed: pprof did not read the profile");
    };
    let text = String::from_utf8_lossy(&read.stdout);
    assert!(read.status.success() && text.contains("Type: cpu"), "{text}");
    let total = text.split("Total samples = ").nth(1).and_then(|rest| rest.split("us").next());
    let total: f64 = total.and_then(|total| total.trim().parse().ok()).unwrap_or_else(|| panic!("{text}"));
    assert!((total - folded_us).abs() <= 0.01 * folded_us, "{total} and {folded_us}");
}
