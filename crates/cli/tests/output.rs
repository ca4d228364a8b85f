//! Tests of output: only the report on standard output, formats for programs, and documents
//! generated from the definitions.

mod harness;

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

use harness::{Ran, World, report_skip, usable_cpus};
use serde_json::Value;

/// Finished study on every CPU count up to two.
fn finished() -> World {
    let world = World::new();
    world.run(&format!("-q --cpus {} --runs 6 --precision 0", cpus()), &["true"]).success();
    world
}

fn cpus() -> &'static str {
    if usable_cpus() > 1 { "1,2" } else { "1" }
}

/// Asserts that the output has no escape, carriage return, bell or other control character for
/// terminals.
#[track_caller]
fn is_plain(ran: &Ran) {
    let plain = |text: &str| !text.chars().any(|c| c.is_control() && c != '\n');
    assert!(plain(&ran.stdout) && plain(&ran.stderr), "{ran:#}");
}

#[test]
fn into_a_pipe_only_the_report_is_written() {
    let world = World::new();
    let ran = world.run(
        &format!("--cpus {} --runs 6 --precision 0", cpus()),
        &["sh", "-c", "echo babble; echo babble >&2"],
    );
    ran.success().prints(&["CPUs", "elapsed", "speedup", "study: study"]);
    assert_eq!(ran.stderr, "", "no progress\n{ran}");
    // The word is one with which no warning ends a line.
    assert!(!ran.stdout.contains("babble\n"), "{ran}");
    is_plain(&ran);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 100), "{ran}");
    let shown = world.morecores(&["show", "study"]);
    assert_eq!(shown.stdout, ran.stdout, "show says the same as run");
}

#[test]
fn quiet_prints_nothing() {
    let ran = World::new().run("-q --cpus 1 --runs 2", &["echo", "noise"]);
    assert_eq!((ran.success().stdout.as_str(), ran.stderr.as_str()), ("", ""));
}

/// Output on a terminal of 60 columns, which `script` (util-linux) makes. None without `script`.
fn on_a_terminal(world: &World, arguments: &str, no_color: bool) -> Option<String> {
    let line = format!("stty cols 60; exec {} {arguments}", env!("CARGO_BIN_EXE_morecores"));
    let mut command = world.command("script");
    command.args(["-q", "-e", "-c", &line, "/dev/null"]).env("TERM", "xterm").stdout(Stdio::piped());
    if no_color {
        command.env("NO_COLOR", "1");
    }
    let output = command.output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    Some(String::from_utf8_lossy(&output.stdout).replace('\r', ""))
}

#[test]
fn terminal_output_has_colour_and_the_terminal_width_unless_no_color_is_set() {
    const NAME: &str = "terminal_output_has_colour_and_the_terminal_width_unless_no_color_is_set";
    let world = finished();
    let (Some(coloured), Some(plain)) =
        (on_a_terminal(&world, "show study", false), on_a_terminal(&world, "show study", true))
    else {
        return report_skip(NAME, "there is no `script` (Debian package bsdutils)");
    };
    assert!(coloured.contains("\u{1b}["), "{coloured}");
    assert!(!plain.contains('\u{1b}'), "{plain}");
    // Only prose can be wrapped; the table is as wide as its columns.
    let prose = |line: &&str| line.starts_with("warning:") || line.starts_with("  ");
    assert!(plain.lines().filter(prose).all(|line| line.chars().count() <= 60), "{plain}");
    let json = on_a_terminal(&world, "show study --json", false).expect("as before");
    assert!(serde_json::from_str::<Value>(&json).is_ok(), "{json}");
}

#[test]
fn progress_is_shown_on_a_terminal_unless_quiet() {
    const NAME: &str = "progress_is_shown_on_a_terminal_unless_quiet";
    let world = World::new();
    let options = "--cpus 1 --runs 1 --warmup 0 -- sleep 1.2";
    let Some(loud) = on_a_terminal(&world, &format!("run -o loud {options}"), false) else {
        return report_skip(NAME, "there is no `script` (Debian package bsdutils)");
    };
    assert!(loud.contains("so far"), "{loud}");
    let quiet = on_a_terminal(&world, &format!("run -q -o quiet {options}"), false);
    assert_eq!(quiet.as_deref(), Some(""));
}

#[track_caller]
fn has_keys(value: &Value, keys: &[&str]) {
    let object = value.as_object().unwrap_or_else(|| panic!("no object: {value}"));
    for key in keys {
        assert!(object.contains_key(*key), "no `{key}` in {value:#}");
    }
}

#[test]
fn json_has_the_documented_keys() {
    let world = finished();
    let view = world.shown("--json");
    assert_eq!(view["schema"], "morecores.view/1");
    has_keys(&view, &["schema", "command", "host", "points", "traces", "stack", "prediction", "warnings"]);
    assert_eq!(view["command"], serde_json::json!(["true"]));
    let points = view["points"].as_array().expect("points");
    assert_eq!(points.len(), cpus().split(',').count());
    for point in points {
        has_keys(
            point,
            &[
                "cpus",
                "runs",
                "elapsed_s",
                "user_s",
                "system_s",
                "max_rss_bytes",
                "minor_faults",
                "major_faults",
                "voluntary_switches",
                "involuntary_switches",
                "steal_s",
                "speedup",
                "efficiency",
                "serial_fraction",
                "kernel_ratio",
                "kernel_ratio_estimator",
                "limit",
            ],
        );
        assert_eq!(point["runs"], 6);
        for summary in ["elapsed_s", "user_s", "system_s"] {
            has_keys(&point[summary], &["median", "mean", "min", "max", "ci95"]);
        }
        has_keys(&point["speedup"], &["value", "ci95"]);
        let elapsed = &point["elapsed_s"];
        let (low, high) = (elapsed["ci95"][0].as_f64(), elapsed["ci95"][1].as_f64());
        // Six runs: the interval is from the least to the greatest (docs/methods/measure.md).
        assert_eq!((low, high), (elapsed["min"].as_f64(), elapsed["max"].as_f64()));
        assert!(elapsed["median"].as_f64().is_some_and(|median| median > 0.0));
    }
    assert_eq!(points[0]["speedup"]["value"], 1.0);
    let shown = world.morecores(&["show", "study", "--json"]);
    assert!(shown.stdout.ends_with("}\n") && !shown.stdout.ends_with("\n\n"));
}

#[test]
fn csv_and_markdown_have_one_row_for_each_count() {
    let world = finished();
    let rows = cpus().split(',').count();
    let csv = world.morecores(&["show", "study", "--csv"]);
    let lines: Vec<Vec<&str>> = csv.success().stdout.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 1 + rows, "{csv}");
    assert_eq!((lines[0][0], lines[1][0]), ("cpus", "1"), "{csv}");
    assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{csv}");

    let markdown = world.morecores(&["show", "study", "--markdown"]);
    let table: Vec<&str> = markdown.success().stdout.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(table.len(), 2 + rows, "{markdown}");
    let cells = |line: &&str| line.matches('|').count();
    assert_eq!(table.iter().map(cells).collect::<BTreeSet<_>>().len(), 1, "{markdown}");
    is_plain(&markdown);
}

#[test]
fn scripts_for_hyperfine_find_their_keys() {
    let export = finished().shown("--hyperfine-json");
    let results = export["results"].as_array().expect("results");
    assert_eq!(results.len(), cpus().split(',').count());
    for result in results {
        has_keys(
            result,
            &["command", "mean", "stddev", "median", "user", "system", "min", "max", "times", "exit_codes"],
        );
        assert_eq!(result["times"].as_array().map(Vec::len), Some(6));
        // plot_whisker.py and similar scripts read a number for every time.
        let times: Vec<f64> =
            result["times"].as_array().expect("times").iter().filter_map(Value::as_f64).collect();
        let mean = times.iter().sum::<f64>() / 6.0;
        assert!((result["mean"].as_f64().expect("a mean") - mean).abs() < 1e-12);
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let world = finished();
    let binary = env!("CARGO_BIN_EXE_morecores");
    let mut command = world.command("bash");
    command.args(["-c", &format!("set -o pipefail; {binary} show study --json | head -n 1")]);
    let ran = Ran::start_and_wait(command);
    assert_eq!((ran.success().stdout.as_str(), ran.stderr.as_str()), ("{\n", ""), "{ran}");
}

#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let world = finished();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let mut command = Command::new(env!("CARGO_BIN_EXE_morecores"));
    let output = command.args(["show"]).arg(world.path("study")).stdout(full).stderr(Stdio::piped()).output();
    let output = output.expect("morecores");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1);
}

#[test]
fn help_has_examples_and_keeps_the_n() {
    let world = World::new();
    let help = world.morecores(&["run", "--help"]);
    help.success().prints(&["Examples:", "make -j{n}", "{{n}}", "Exit status:"]);
    is_plain(&help);
    world.morecores(&["--help"]).success().prints(&["morecores run -- xz -kf -T{n} big.tar"]);
    world.morecores(&["--version"]).success().prints(&[env!("CARGO_PKG_VERSION")]);
}

#[test]
fn manual_and_completions_contain_the_same_options() {
    let world = World::new();
    world.morecores(&["generate", "man", "man"]).success();
    let page = fs::read_to_string(world.path("man/morecores-run.1")).expect("a page");
    for part in [".TH", "thread\\-env", "{n}", "hotplug"] {
        assert!(page.contains(part), "no `{part}` in the page");
    }
    let pages: BTreeSet<_> =
        fs::read_dir(world.path("man")).expect("pages").map(|e| e.expect("a page").file_name()).collect();
    for name in ["morecores.1", "morecores-show.1", "morecores-topology.1"] {
        assert!(pages.contains(std::ffi::OsStr::new(name)), "{pages:?}");
    }
    world.morecores(&["generate", "completions", "completions"]).success();
    let bash = fs::read_to_string(world.path("completions/morecores.bash")).expect("bash's");
    assert!(bash.contains("--thread-env") && bash.contains("hotplug"));
    let syntax = Command::new("bash").arg("-n").arg(world.path("completions/morecores.bash")).status();
    assert!(syntax.is_ok_and(|status| status.success()));
    assert!(fs::read_dir(world.path("completions")).expect("completions").count() >= 4);
}

#[test]
fn a_trailing_slash_of_the_study_changes_nothing() {
    let world = World::new();
    world
        .morecores(&["run", "-q", "--trace", "off", "--cpus", "1", "--runs", "1", "-o", "out/", "--", "true"])
        .success();
    assert_eq!(world.names(), ["out".to_owned()].into());
    world.morecores(&["show", "out/", "--csv"]).success();
}
