//! Marks for the whole system: every start of a marked program is restricted, nothing else is, and
//! nothing waits for an enforcement that is stopped.

mod harness;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use harness::{Ran, Started, World, is_root, report_skip, signal, start, usable_cpus};
use morecores_testkit::CProgram;
use serde_json::Value;

/// Runs `morecores` with a list of marks of this test.
fn morecores(world: &World, arguments: &[&str]) -> Ran {
    Ran::start_and_wait(command(world, arguments))
}

fn command(world: &World, arguments: &[&str]) -> Command {
    let mut command = world.command(env!("CARGO_BIN_EXE_morecores"));
    command.args(arguments).env("XDG_STATE_HOME", world.path("state"));
    command
}

/// CPUs that a program finds. A start that hangs fails here.
fn cpus(world: &World, program: &[&str]) -> usize {
    let mut command = world.command("timeout");
    command.args(["--signal=KILL", "20"]).args(program);
    let ran = Ran::start_and_wait(command);
    ran.success();
    ran.stdout.trim().parse().expect("a number")
}

/// A folder with a marked program that prints its CPUs.
fn world() -> (World, String) {
    let world = World::new();
    let program = world.path("old-server").display().to_string();
    fs::copy("/usr/bin/nproc", &program).expect("a copy");
    morecores(&world, &["mark", "--cpus", "1", &program]);
    (world, program)
}

/// The enforcement once it restricts the program; `None` if that cannot be here.
fn enforce(test: &str, world: &World, program: &str) -> Option<Started> {
    enforce_by(test, world, program, &["mark", "--enforce"])
}

/// The same by a command with other options.
fn enforce_by(test: &str, world: &World, program: &str, words: &[&str]) -> Option<Started> {
    if usable_cpus() < 2 || !is_root() {
        report_skip(test, "it needs root and 2 CPUs");
        return None;
    }
    let mut enforcement = start(command(world, words));
    for _ in 0..200 {
        if cpus(world, &[program]) == 1 {
            return Some(enforcement);
        }
        if enforcement.has_ended() {
            report_skip(test, enforcement.wait().stderr.trim_end());
            return None;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("the mark is not enforced: {}", enforcement.wait());
}

/// Ends the enforcement, as a service manager does.
fn end(enforcement: Started) -> Ran {
    enforcement.signal("TERM");
    let ran = enforcement.wait();
    ran.success();
    ran
}

/// Waits until a program finds this number of CPUs.
fn wait_for_cpus(world: &World, program: &[&str], expected: usize) {
    for _ in 0..200 {
        if cpus(world, program) == expected {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("{program:?} finds {} CPUs, not {expected}", cpus(world, program));
}

#[test]
fn a_marked_program_is_restricted_whoever_starts_it_and_others_are_not() {
    let test = "a_marked_program_is_restricted_whoever_starts_it_and_others_are_not";
    let (world, program) = world();
    let script = world.script("script", "#!/bin/sh\nnproc\n");
    let shell = world.path("own-shell").display().to_string();
    fs::copy("/bin/sh", &shell).expect("a copy");
    let by_shell = world.script("by-own-shell", &format!("#!{shell}\nnproc\n"));
    morecores(&world, &["mark", "--cpus", "1", &script, &shell]);
    let Some(enforcement) = enforce(test, &world, &program) else { return };
    let all = usable_cpus();
    assert_eq!(cpus(&world, &[&script]), 1);
    // The children of a marked program inherit its CPUs.
    assert_eq!(cpus(&world, &["sh", "-c", &format!("{script} & wait")]), 1);
    assert_eq!(cpus(&world, &[&shell, "-c", "nproc"]), 1);
    // A script has a mark of its own; that of its interpreter does not count.
    assert_eq!(cpus(&world, &[&by_shell]), all);
    assert_eq!(cpus(&world, &["nproc"]), all);
    assert_eq!(cpus(&world, &["sh", "-c", "./old-server > /dev/null; nproc"]), all);
    // A mark never widens the CPUs of its starter.
    assert_eq!(cpus(&world, &["taskset", "-c", "1", &program]), 1);
    morecores(&world, &["mark", "--clear", &script]).success();
    wait_for_cpus(&world, &[&script], all);
    let ran = end(enforcement);
    ran.says(&["enforcing the marks of 3 programs"]);
    assert_eq!(cpus(&world, &[&program]), all);
}

#[test]
fn a_replaced_program_is_marked_and_restricted_again() {
    let test = "a_replaced_program_is_marked_and_restricted_again";
    let (world, program) = world();
    let Some(enforcement) = enforce(test, &world, &program) else { return };
    fs::copy("/usr/bin/nproc", world.path("new")).expect("a copy");
    fs::rename(world.path("new"), &program).expect("the program");
    wait_for_cpus(&world, &[&program], 1);
    let shown = morecores(&world, &["mark", &program]);
    shown.success().prints(&["old-server: 1 CPU"]);
    assert!(!shown.stdout.contains("replaced"), "{shown}");
    end(enforcement);
}

#[test]
fn no_start_waits_for_an_enforcement_that_is_stopped_or_killed() {
    let test = "no_start_waits_for_an_enforcement_that_is_stopped_or_killed";
    let (world, program) = world();
    let Some(enforcement) = enforce(test, &world, &program) else { return };
    let worker = || -> u32 {
        let pid = enforcement.pid();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("its children");
        children.split_whitespace().next().expect("the worker").parse().expect("a number")
    };
    for name in ["STOP", "KILL"] {
        let before = worker();
        signal(before, name);
        cpus(&world, &[&program]);
        // Another worker begins, and the mark counts again.
        wait_for_cpus(&world, &[&program], 1);
        assert_ne!(worker(), before);
    }
    let last = worker();
    enforcement.signal("KILL");
    enforcement.wait();
    // The worker does not outlive its watchdog.
    wait_for_cpus(&world, &[&program], usable_cpus());
    assert!(!fs::exists(format!("/proc/{last}/fd/0")).expect("an answer"));
}

#[test]
fn a_program_widens_its_affinity_and_does_not_leave_its_cpuset() {
    let test = "a_program_widens_its_affinity_and_does_not_leave_its_cpuset";
    let (world, program) = world();
    let script = world.script("escape", "#!/bin/sh\ntaskset -pc 0-1 $$ > /dev/null\nnproc\n");
    morecores(&world, &["mark", "--cpus", "1", &script]);
    let Some(enforcement) = enforce(test, &world, &program) else { return };
    assert_eq!(cpus(&world, &[&script]), 2);
    end(enforcement);
    let by_cpuset = ["mark", "--enforce", "--cpuset"];
    let Some(enforcement) = enforce_by(test, &world, &program, &by_cpuset) else { return };
    assert_eq!(cpus(&world, &[&script]), 1);
    end(enforcement);
    // Nothing is left, and a program after the enforcement has all CPUs.
    assert_eq!(cpus(&world, &[&script]), 2);
    let own = fs::read_to_string("/proc/self/cgroup").expect("the own cgroups");
    let own = own.lines().find_map(|line| line.split_once(":cpuset:")).expect("a cpuset").1;
    let parent = format!("/sys/fs/cgroup/cpuset{}/morecores-marks", own.trim_end_matches('/'));
    assert!(!fs::exists(&parent).expect("an answer"), "{parent}");
}

/// CPUs on which each of 20 starts of a program executed it, by a trace of the shell that starts
/// it. `None` without a trace of every switch.
fn traced_cpus(test: &str, world: &World, program: &str) -> Option<Vec<BTreeSet<i64>>> {
    let study = format!("{program}.study");
    let starts = format!("for turn in 1 2 3 4 5 6 7 8 9 10; do {program}; {program}; done");
    let traced = morecores(world, &["trace", "-o", &study, "--", "sh", "-c", &starts]);
    let printed = morecores(world, &["events", &study, "states", "--where", "state=running", "--json"]);
    if !printed.status.success() {
        report_skip(test, traced.stderr.lines().next().unwrap_or("no full trace here"));
        return None;
    }
    let mut states: BTreeMap<i64, Vec<Value>> = BTreeMap::new();
    for row in printed.stdout.lines() {
        let row: Value = serde_json::from_str(row).expect("a row");
        states.entry(row["thread"].as_i64().expect("a thread")).or_default().push(row);
    }
    let name = Path::new(program).file_name().expect("a name").to_string_lossy();
    let is_own = |state: &Value| state["command"] == *name;
    let own = states.values().filter(|states| states.iter().any(is_own)).map(|states| {
        // The program begins within the last state that began with the shell.
        let first = states.iter().position(is_own).unwrap_or(0).saturating_sub(1);
        states[first..].iter().map(|state| state["cpu"].as_i64().expect("a CPU")).collect()
    });
    Some(own.collect())
}

#[test]
fn a_marked_program_executes_no_instruction_elsewhere() {
    let test = "a_marked_program_executes_no_instruction_elsewhere";
    let (world, program) = world();
    // It uses every CPU that it may use.
    let wanderer = CProgram::compile(
        "wanderer",
        r#"
#define _GNU_SOURCE
#include <sched.h>
#include <unistd.h>
int main(void) {
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all)) return 1;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all)) continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (sched_setaffinity(0, sizeof one, &one)) return 1;
        for (volatile int step = 0; step < 100000; step++) { }
        // A state of the trace ends here, and the next one has this program's name.
        usleep(100);
    }
    return 0;
}
"#,
    );
    let [free, marked] = ["free", "marked"].map(|name| world.path(name).display().to_string());
    for path in [&free, &marked] {
        fs::copy(wanderer.path(), path).expect("a copy");
    }
    morecores(&world, &["mark", "--cpus", "1", &marked]).success();
    let Some(enforcement) = enforce(test, &world, &program) else { return };
    let (of_free, of_marked) = (traced_cpus(test, &world, &free), traced_cpus(test, &world, &marked));
    end(enforcement);
    let (Some(of_free), Some(of_marked)) = (of_free, of_marked) else { return };
    assert_eq!((of_free.len(), of_marked.len()), (20, 20));
    assert!(of_marked.iter().all(|cpus| cpus.len() == 1), "{of_marked:?}");
    assert!(of_free.iter().all(|cpus| cpus.len() == usable_cpus()), "{of_free:?}");
}

#[test]
fn an_ordinary_user_is_told_to_use_launch() {
    let test = "an_ordinary_user_is_told_to_use_launch";
    let world = World::new();
    let user = match world.ordinary_user() {
        Ok(user) => user,
        Err(reason) => return report_skip(test, &reason),
    };
    user.morecores(&["mark", "--enforce"]).refused(2, &["only root can enforce marks", "morecores launch"]);
}
