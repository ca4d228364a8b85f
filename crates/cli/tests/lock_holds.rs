//! The exact account of locks on the command line: all holds of a program's locks, by name and
//! function.
#![cfg(feature = "trace")]

mod harness;

use std::fs;
use std::process::Command;

use harness::{World, report_skip};
use morecores_testkit::CProgram;
use serde_json::Value;

/// Takes one lock 300 times from two functions, and another one never.
const PROGRAM: &str = r"
#include <pthread.h>
#include <time.h>

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;

#define OUT_OF_LINE __attribute__((noinline, noclone))

OUT_OF_LINE static int look_up(int item)
{
	pthread_mutex_lock(&cache_lock);
	item += 1;
	pthread_mutex_unlock(&cache_lock);
	return item;
}

OUT_OF_LINE static int rebuild(int item)
{
	struct timespec length = { 0, 1000000 };

	pthread_mutex_lock(&cache_lock);
	nanosleep(&length, 0);
	pthread_mutex_unlock(&cache_lock);
	return item;
}

int main(int argc, char **argv)
{
	int item = 0;

	for (int i = 0; i < 200; i++)
		item = look_up(item);
	for (int i = 0; i < 100; i++)
		item = rebuild(item);
	if (argc > 5)
		pthread_mutex_lock(&idle_lock);
	return item != 200 || !argv;
}
";

fn trace_of(world: &World, test: &str, program: &str) -> Option<Value> {
    let ran = world.morecores(&["trace", "--locks", "exact", "--json", "-o", "study", "--", program]);
    if ran.status.code() == Some(2) {
        report_skip(test, ran.stderr.trim());
        return None;
    }
    ran.success();
    Some(serde_json::from_str(&ran.stdout).expect("JSON"))
}

#[test]
fn all_holds_of_a_lock_have_its_name_and_its_functions() {
    const NAME: &str = "all_holds_of_a_lock_have_its_name_and_its_functions";
    let (world, program) = (World::new(), CProgram::compile("holds", PROGRAM));
    let Some(view) = trace_of(&world, NAME, &program.path().to_string_lossy()) else { return };
    let holds = view["lock_holds"].as_array().expect("counted holds");
    let row = |name: &str| holds.iter().find(|row| row["name"] == name);
    assert!(row("idle_lock").is_none());
    let cache = row("cache_lock").unwrap_or_else(|| panic!("{holds:#?}"));
    assert_eq!(
        (&cache["holds"], &cache["mode"], &cache["command"]),
        (&300.into(), &"mutex".into(), &"holds".into())
    );
    let held = cache["held_s"].as_f64().expect("seconds");
    let elapsed = view["elapsed_s"].as_f64().expect("seconds");
    assert!((0.1..elapsed).contains(&held), "{cache}");
    let sites: Vec<(&str, f64)> = cache["sites"]
        .as_array()
        .expect("sites")
        .iter()
        .map(|site| (site["function"].as_str().expect("a name"), site["count"].as_f64().expect("a count")))
        .collect();
    assert_eq!(sites, [("rebuild", 100.0), ("look_up", 200.0)]);
    // No thread waited, so the usual account has no row.
    assert!(view["user_locks"].as_array().expect("rows").is_empty());
    let text = world.morecores(&["show", "study", "--wide"]);
    text.success();
    assert!(
        text.stdout.contains("all holds of the command's locks") && text.stdout.contains("cache_lock"),
        "{text}"
    );
    let plain = world.morecores(&["trace", "--json", "--", "true"]);
    let plain: Value = serde_json::from_str(&plain.success().stdout).expect("JSON");
    assert!(plain["lock_holds"].is_null());
}

#[test]
fn files_whose_locks_are_not_counted_are_named() {
    const NAME: &str = "files_whose_locks_are_not_counted_are_named";
    let world = World::new();
    fs::write(world.path("locks.c"), PROGRAM).expect("written");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-static", "-pthread", "-o"]).arg(world.path("fixed")).arg(world.path("locks.c"));
    if !cc.status().expect("a C compiler").success() {
        return report_skip(NAME, "there is no static C library");
    }
    let Some(view) = trace_of(&world, NAME, "./fixed") else { return };
    let names: Vec<&str> =
        view["lock_holds"].as_array().expect("rows").iter().filter_map(|row| row["name"].as_str()).collect();
    assert!(names.contains(&"cache_lock"), "{names:?}");
    fs::remove_dir_all(world.path("study")).expect("removed");
    fs::write(world.path("script"), "#!/bin/sh\n./fixed\n").expect("written");
    let ran = world.morecores(&["trace", "--locks", "exact", "--json", "--", "sh", "script"]);
    let view: Value = serde_json::from_str(&ran.success().stdout).expect("JSON");
    let untraced = view["untraced"].to_string();
    assert!(untraced.contains("the holds of locks in ") && untraced.contains("/fixed"), "{untraced}");
}

#[test]
fn programs_without_locks_are_refused_before_they_run() {
    const NAME: &str = "programs_without_locks_are_refused_before_they_run";
    let world = World::new();
    let source = "void _start(void) { __builtin_trap(); }\n";
    fs::write(world.path("bare.c"), source).expect("written");
    let mut cc = Command::new("cc");
    cc.args(["-nostdlib", "-static", "-o"]).arg(world.path("bare")).arg(world.path("bare.c"));
    assert!(cc.status().expect("a C compiler").success());
    let before = world.names();
    for command in ["trace", "run"] {
        let ran = world.morecores(&[command, "--locks", "exact", "-o", "study", "--", "./bare"]);
        if ran.stderr.contains("CAP_BPF") {
            return report_skip(NAME, ran.stderr.trim());
        }
        ran.refused(2, &["--locks exact", "pthread", "leave it out"]);
        assert_eq!(world.names(), before, "{ran}");
    }
}
