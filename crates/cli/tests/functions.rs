//! Functions that hold the losses of a real program, from the run to the words.
#![cfg(feature = "trace")]

mod harness;

use std::fs;

use harness::browser::play;
use harness::{World, report_skip, usable_cpus};
use morecores_testkit::CProgram;
use serde_json::Value;

/// Computes alone in one function for 150 ms of CPU time, and for 300 ms in another, which its
/// threads share.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static double used(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

__attribute__((noinline)) static double parse_input(double seconds)
{
	volatile double sum = 0;

	for (double until = used() + seconds; used() < until;)
		for (int i = 0; i < 100000; i++)
			sum += i;
	return sum;
}

__attribute__((noinline)) static void *add_up(void *seconds)
{
	volatile double sum = 0;

	for (double until = used() + *(double *)seconds; used() < until;)
		for (int i = 0; i < 100000; i++)
			sum *= i;
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	double each = 0.3 / threads, sum = parse_input(0.15);
	pthread_t ids[16];

	for (int i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, add_up, &each);
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return sum < 0;
}
"#;

/// Lets the kernel write zeros for 300 ms of CPU time.
const READS_ZEROS: &str = r#"
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

static char buffer[1 << 20];

int main(void)
{
	int zero = open("/dev/zero", O_RDONLY);

	while (clock() < 300000)
		if (read(zero, buffer, sizeof(buffer)) < 0)
			return 1;
	return 0;
}
"#;

/// Copies a function into anonymous memory, writes the map of it for perf, and runs it for 300 ms
/// of CPU time. Its first argument names a file that gets the path of the map.
const GENERATES: &str = r#"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline, aligned(64))) static void loop(volatile long *count)
{
	for (int i = 0; i < 100000; i++)
		*count += i;
}

int main(int argc, char **argv)
{
	char path[64];
	long count = 0;
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(code + 64, (void *)loop, 256);
	__builtin___clear_cache(code, code + 4096);
	mprotect(code, 4096, PROT_READ | PROT_EXEC);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	FILE *map = fopen(path, "w"), *told = fopen(argv[1], "w");
	fprintf(told, "%s", path);
	fprintf(map, "%lx %x py::sum of /a b.py\n", (long)(code + 64), 256);
	fclose(told);
	fclose(map);
	while (clock() < 300000)
		((void (*)(volatile long *))(code + 64))(&count);
	return 0;
}
"#;

/// View of a traced run of this command, if it has functions.
fn traced_functions(test: &str, world: &World, command: &[&str]) -> Option<Value> {
    let ran = world.morecores(&[&["trace", "--json", "--"], command].concat());
    let view: Value = serde_json::from_str(&ran.success().stdout).unwrap_or_else(|e| panic!("{e}\n{ran}"));
    let untraced = view["untraced"].as_array().expect("a list");
    let missing = ["the functions that the threads ran", "the names of the kernel's functions"];
    let why = untraced.iter().find(|fact| missing.iter().any(|what| fact["what"] == *what));
    if view["source"] != "bpf" || why.is_some() {
        report_skip(test, why.and_then(|fact| fact["why"].as_str()).unwrap_or("no full trace here"));
        return None;
    }
    Some(view)
}

/// Seconds of a component that a function or a call holds; zero without one.
fn seconds(row: &Value, component: &str) -> f64 {
    let times = row["times"].as_array().expect("times");
    let time = times.iter().find(|time| time["component"] == component);
    time.map_or(0.0, |time| time["seconds"].as_f64().expect("a number"))
}

#[test]
fn functions_of_the_kernel_are_named() {
    const NAME: &str = "functions_of_the_kernel_are_named";
    let (world, program) = (World::new(), CProgram::compile("zeros", READS_ZEROS));
    let path = program.path().to_str().expect("a path of letters");
    let Some(view) = traced_functions(NAME, &world, &[path]) else { return };
    let rows = view["functions"].as_array().expect("functions");
    let in_kernel = |row: &&Value| row["module"] == "[kernel]" && row["function"] != "[kernel]";
    let first = rows.iter().find(in_kernel).unwrap_or_else(|| panic!("{rows:#?}"));
    // The function that writes the zeros is inlined in some kernels.
    let name = first["function"].as_str().expect("a name");
    assert!(["clear_user", "rep_stos", "zero"].iter().any(|part| name.contains(part)), "{rows:#?}");
    assert!(seconds(first, "kernel_work") > 0.1, "{rows:#?}");
}

#[test]
fn generated_functions_have_the_names_of_their_map() {
    const NAME: &str = "generated_functions_have_the_names_of_their_map";
    let (world, program) = (World::new(), CProgram::compile("generates", GENERATES));
    let (path, told) = (program.path().to_str().expect("a path of letters"), world.path("map"));
    let view = traced_functions(NAME, &world, &[path, told.to_str().expect("a path of letters")]);
    fs::remove_file(fs::read_to_string(&told).expect("a path")).expect("a map");
    let Some(view) = view else { return };
    let rows = view["functions"].as_array().expect("functions");
    assert_eq!(rows[0]["function"], "py::sum of /a b.py", "{rows:#?}");
    assert_eq!(rows[0]["module"], "//anon", "{rows:#?}");
    assert!(seconds(&rows[0], "user_work") > 0.1, "{rows:#?}");
}

/// Another program takes the place of the running one. Its functions, which lie at the same places,
/// never ran.
#[test]
fn a_program_that_was_replaced_gives_no_wrong_names() {
    const NAME: &str = "a_program_that_was_replaced_gives_no_wrong_names";
    let (world, program) = (World::new(), CProgram::compile("stages", PROGRAM));
    // Names alone make no other build-id.
    let other = [("add_up", "adding"), ("parse_input", "parse_other"), ("sum *= i", "sum -= i")];
    let other = other.iter().fold(PROGRAM.to_owned(), |text, (from, to)| text.replace(from, to));
    let other = CProgram::compile("stages", &other);
    let path = |program: &CProgram| program.path().to_str().expect("a path of letters").to_owned();
    let replace = "cp \"$1\" running && cp \"$2\" other && { ./running 1 & mv other running; wait; }";
    let Some(view) =
        traced_functions(NAME, &world, &["sh", "-c", replace, "sh", &path(&program), &path(&other)])
    else {
        return;
    };
    let rows = view["functions"].as_array().expect("functions");
    let of_program = |row: &&Value| row["module"].as_str().is_some_and(|module| module.ends_with("/running"));
    let user_s: f64 = rows.iter().filter(of_program).map(|row| seconds(row, "user_work")).sum();
    assert!(user_s > 0.2, "{rows:#?}");
    let calls = view["call_tree"].as_array().expect("calls");
    let is_wrong = |row: &&Value| ["adding", "parse_other"].iter().any(|name| row["function"] == *name);
    assert_eq!(rows.iter().chain(calls).find(is_wrong), None);
}

/// The program lies in a file system that only its own mount namespace has, and only while it runs.
#[test]
fn files_of_other_mount_namespaces_have_functions() {
    const NAME: &str = "files_of_other_mount_namespaces_have_functions";
    let (world, program) = (World::new(), CProgram::compile("stages", PROGRAM));
    let path = program.path().to_str().expect("a path of letters");
    let hidden = world.path("hidden");
    fs::create_dir(&hidden).expect("a directory");
    let hidden = hidden.to_str().expect("a path of letters");
    let mount = "mount -t tmpfs none \"$1\" && cp \"$2\" \"$1/stages\" && \"$1/stages\" 1";
    let command = ["unshare", "--mount", "sh", "-c", mount, "sh", hidden, path];
    let mounted = world.command("unshare").args(["--mount", "mount", "-t", "tmpfs", "none", hidden]).output();
    if !mounted.is_ok_and(|ran| ran.status.success()) {
        return report_skip(NAME, "no file system can be mounted here");
    }
    let Some(view) = traced_functions(NAME, &world, &command) else { return };
    assert!(fs::read_dir(hidden).expect("a directory").next().is_none());
    let rows = view["functions"].as_array().expect("functions");
    let add_up = rows.iter().find(|row| row["function"] == "add_up").unwrap_or_else(|| panic!("{rows:#?}"));
    assert_eq!(add_up["module"], format!("{hidden}/stages"), "{rows:#?}");
}

#[test]
fn the_serial_function_is_named() {
    const NAME: &str = "the_serial_function_is_named";
    if usable_cpus() < 2 {
        return report_skip(NAME, "two CPUs are needed");
    }
    let (world, program) = (World::new(), CProgram::compile("stages", PROGRAM));
    let path = program.path().to_str().expect("a path of letters");
    world.run("-q --cpus 1,2 --runs 6 --precision 0 --traced-runs 2", &[path, "{n}"]).success();
    let view = world.shown("--json");
    let trace = &view["traces"][1];
    let untraced = trace["untraced"].as_array().expect("a list");
    if trace["source"] != "bpf" || untraced.iter().any(|fact| fact["what"].to_string().contains("functions"))
    {
        return report_skip(NAME, "no functions are traced here");
    }
    // Another program on the second CPU takes the idle time that the test looks for.
    let cpus_s = 2.0 * trace["elapsed_s"].as_f64().expect("a number");
    let others =
        ["other_processes_s", "steal_s"].map(|part| trace["components"][part].as_f64().unwrap_or(0.0));
    if others.iter().sum::<f64>() > 0.1 * cpus_s {
        return report_skip(NAME, "other programs took more than a tenth of the CPUs' time");
    }
    let functions = view["stack"][0]["functions"].as_array().expect("functions");
    let of_loss = |loss: &str| functions.iter().find(|function| function["loss"] == loss);
    let serial = of_loss("idle_too_little_work").unwrap_or_else(|| panic!("{functions:#?}"));
    assert_eq!(
        (&serial["function"], &serial["command"]),
        (&Value::from("parse_input"), &Value::from("stages"))
    );
    let lost = &view["stack"][0]["losses"]["idle_too_little_work"];
    let [lost, held] = [lost, &serial["lost_cpus"]].map(|value| value.as_f64().expect("a number"));
    assert!(held > 0.7 * lost && held < 1.1 * lost, "{held} of {lost}: {functions:#?}");
    world.morecores(&["show", "study"]).success().prints(&["functions that hold the losses", "parse_input"]);
    let by_function = world.morecores(&["show", "study", "--by", "function"]);
    by_function.success().prints(&[
        "functions that hold the losses",
        "calls that hold the losses",
        "parse_input",
    ]);
    let calls = view["stack"][0]["calls"].as_array().expect("calls");
    let call =
        calls.iter().find(|call| call["function"] == "parse_input").unwrap_or_else(|| panic!("{calls:#?}"));
    let caller = call["caller"].as_u64().expect("a caller") as usize;
    assert_eq!(calls[caller]["function"], "main", "{calls:#?}");
    world.morecores(&["report", "-o", "page.html", "study"]).success();
    play(NAME, "callsOfLoss", &world.path("page.html").to_string_lossy());
    // The run's own functions, with the time that each took.
    let own = trace["functions"].as_array().expect("functions");
    let time = |name: &str| {
        let row = own.iter().find(|row| row["function"] == name).unwrap_or_else(|| panic!("{own:#?}"));
        seconds(row, "user_work")
    };
    assert!(time("add_up") > 1.4 * time("parse_input"), "{own:#?}");
}
