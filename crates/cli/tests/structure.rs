//! `morecores show --by`: the critical path, the threads, and the efficiencies.

mod harness;

#[cfg(feature = "trace")]
use std::fs;

use harness::World;
use harness::studies::build;
#[cfg(feature = "trace")]
use harness::{report_skip, usable_cpus};
#[cfg(feature = "trace")]
use morecores_testkit::CProgram;
use serde_json::Value;

#[test]
fn each_division_has_its_report() {
    let world = World::new();
    let study = build();
    let study = study.to_str().expect("a path of letters");
    let show = |by: &str| world.morecores(&["show", study, "--by", by]).success().stdout.clone();
    let path = show("path");
    assert!(path.contains("critical path on 2 CPUs") && path.contains("gain at"), "{path}");
    let threads = show("thread");
    assert!(threads.contains("threads on 2 CPUs, by criticality"), "{threads}");
    let efficiency = show("efficiency");
    for factor in
        ["global", "parallel efficiency", "load balance", "serialisation", "transfer", "computation"]
    {
        assert!(efficiency.contains(factor), "{efficiency}");
    }
    let wide = world.morecores(&["show", study, "--wide"]).success().stdout.clone();
    for title in ["critical path on 2 CPUs", "by criticality", "efficiencies by the traced runs"] {
        assert!(wide.contains(title), "{wide}");
    }
}

/// The parts of the path are the elapsed time, the criticality is the time in which anything ran,
/// and the factors multiply to the measured efficiency.
#[test]
fn the_figures_add_up() {
    let world = World::new();
    let study = build();
    let printed = world.morecores(&["show", "--json", study.to_str().expect("a path of letters")]);
    let view: Value = serde_json::from_str(&printed.success().stdout).expect("JSON");
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{value}"));
    for trace in view["traces"].as_array().expect("traces") {
        let elapsed_s = number(&trace["elapsed_s"]);
        let sum = |rows: &Value, key: &str| -> f64 {
            rows.as_array().expect("rows").iter().map(|row| number(&row[key])).sum()
        };
        let parts = &trace["critical_path"]["parts"];
        assert!((sum(parts, "time_s") - elapsed_s).abs() < 1e-9 * elapsed_s, "{parts:#}");
        let nothing_ran = number(&trace["parallelism"]["running"][0]);
        let critical_s = sum(&trace["threads"], "criticality_s");
        assert!((critical_s - (1.0 - nothing_ran) * elapsed_s).abs() < 1e-6 * elapsed_s, "{critical_s}");
        let running_s: f64 = parts
            .as_array()
            .expect("parts")
            .iter()
            .filter(|part| part["activity"] == "running")
            .map(|part| number(&part["time_s"]))
            .sum();
        assert!((sum(&trace["threads"], "path_s") - running_s).abs() < 1e-9 * elapsed_s);
    }
    let rows = view["efficiencies"].as_array().expect("efficiencies");
    let value = |row: &Value, key: &str| number(&row[key]["value"]);
    for row in rows {
        let product = value(row, "load_balance") * value(row, "serialisation") * value(row, "transfer");
        assert!((product - value(row, "parallel")).abs() < 1e-12, "{row:#}");
    }
    let (base, two) = (&rows[0], &rows[1]);
    let global = value(two, "parallel") * value(two, "computation_scaling");
    assert!((global - value(two, "global")).abs() < 1e-12);
    let point = view["points"].as_array().expect("points").iter().find(|point| point["cpus"] == 2);
    let efficiency = number(&point.expect("2 CPUs")["efficiency"]);
    assert!((global / value(base, "parallel") - efficiency).abs() < 1e-12, "{global}");
}

#[test]
fn a_study_without_a_trace_says_what_to_do() {
    let world = World::new();
    world.run("-q --cpus 1 --runs 1 --warmup 0 --trace off", &["true"]).success();
    for by in ["function", "path", "thread", "efficiency"] {
        world.morecores(&["show", "study", "--by", by]).refused(2, &["study has no trace", "--trace on"]);
    }
    let both = world.morecores(&["show", "study", "--by", "path", "--bencher"]);
    assert!(both.stderr.contains("cannot be used with"), "{}", both.stderr);
}

/// No replay gains more from a faster command than the bound of its part of the path.
#[test]
fn what_if_gains_no_more_than_the_bound() {
    let world = World::new();
    let study = build();
    let study = study.to_str().expect("a path of letters");
    let read = |line: &[&str]| -> Value {
        serde_json::from_str(&world.morecores(line).success().stdout).expect("JSON")
    };
    let (view, gains) = (read(&["show", "--json", study]), read(&["what-if", "--json", study]));
    let trace = view["traces"].as_array().expect("traces").iter().find(|trace| trace["cpus"] == 2);
    let parts = trace.expect("2 CPUs")["critical_path"]["parts"].as_array().expect("parts");
    let mut compared = 0;
    for gain in gains.as_array().expect("gains").iter().filter(|gain| gain["kind"] == "command") {
        let command = gain["change"].as_str().and_then(|change| change.split('=').next()).expect("a command");
        let part = parts.iter().find(|part| part["command"] == command && part["activity"] == "running");
        let Some(bound) = part.and_then(|part| part["gain_bound_s"].as_f64()) else { continue };
        let point = gain["points"].as_array().expect("points").iter().find(|point| point["cpus"] == 2);
        let saved = point.and_then(|point| point["saved_s"].as_f64()).expect("a number");
        // The prediction is of the timed runs, the path of a traced run.
        let scale = view["points"][1]["elapsed_s"]["median"].as_f64().expect("a number")
            / trace.expect("2 CPUs")["elapsed_s"].as_f64().expect("a number");
        assert!(saved <= bound * scale.max(1.0), "{command}: {saved} and {bound}");
        compared += 1;
    }
    assert!(compared >= 1, "{gains:#}");
}

/// Two threads compute for 0.3 s and 0.2 s of CPU time, and say how long each did.
#[cfg(feature = "trace")]
const UNEQUAL: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static double used(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static void *compute(void *argument)
{
	double *seconds = argument;
	volatile double sum = 0;

	for (double until = *seconds; used() < until;)
		for (int i = 0; i < 100000; i++)
			sum += i;
	*seconds = used();
	return NULL;
}

int main(int argc, char **argv)
{
	double seconds[2] = { 0.3, 0.2 };
	pthread_t ids[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&ids[i], NULL, compute, &seconds[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(ids[i], NULL);
	FILE *own = fopen(argv[argc - 1], "w");
	fprintf(own, "%f %f %f", seconds[0], seconds[1], used());
	return fclose(own);
}
"#;

/// The load balance is that of a program which times its own threads.
#[cfg(feature = "trace")]
#[test]
fn load_balance_is_that_of_the_threads_own_clocks() {
    const NAME: &str = "load_balance_is_that_of_the_threads_own_clocks";
    if usable_cpus() < 2 {
        return report_skip(NAME, "two CPUs are needed");
    }
    let world = World::new();
    let program = CProgram::compile("unequal", UNEQUAL);
    let path = program.path().to_str().expect("a path of letters");
    world.morecores(&["trace", "--cpus", "2", "-o", "study", "--", path, "own"]).success();
    let own: Vec<f64> = fs::read_to_string(world.path("own"))
        .expect("the program's own times")
        .split(' ')
        .map(|seconds| seconds.parse().expect("a number"))
        .collect();
    let sum: f64 = own.iter().sum();
    let expected = sum / 2.0 / own.iter().copied().fold(sum / 2.0, f64::max);
    let shown = world.morecores(&["show", "--json", "study"]);
    let view: Value = serde_json::from_str(&shown.success().stdout).expect("JSON");
    let times = &view["traces"][0]["efficiency_times"];
    let [useful, longest] =
        ["useful_s", "longest_useful_s"].map(|key| times[key].as_f64().expect("a number"));
    let found = useful / 2.0 / longest;
    assert!((found - expected).abs() < 0.01, "{found} instead of {expected}: {own:?} and {times:#}");
}
