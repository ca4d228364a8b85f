//! Tests without privilege: everything works that can, and each missing ability is named.

mod harness;

use std::fs;
use std::os::unix::fs::chown;

use harness::{NOBODY, OrdinaryUser, World, is_root, report_skip, usable_cpus};
use morecores_study::{CpuEstimator, Study};
use morecores_testkit::CProgram;

/// User without privilege. The reason is noted if there can be none.
fn user<'a>(world: &'a World, name: &str) -> Option<OrdinaryUser<'a>> {
    world.ordinary_user().map_err(|reason| report_skip(name, &reason)).ok()
}

#[test]
fn a_study_by_affinity_needs_no_privilege_and_names_its_estimator() {
    const NAME: &str = "a_study_by_affinity_needs_no_privilege_and_names_its_estimator";
    let world = World::new();
    let Some(user) = user(&world, NAME) else { return };
    let cpus = if usable_cpus() > 1 { "1,2" } else { "1" };
    let line = "i=0; while [ $i -lt 20 ]; do /bin/true; i=$((i+1)); done";
    let arguments = [
        "run",
        "--wide",
        "--max-time",
        "0",
        "--trace",
        "off",
        "-o",
        "study",
        "--cpus",
        cpus,
        "--runs",
        "6",
        "--precision",
        "0",
        "--",
    ];
    let ran = user.morecores(&[arguments.as_slice(), &["sh", "-c", line]].concat());
    ran.success().prints(&["getrusage"]);
    assert_eq!(ran.stderr, "", "{ran}");

    let study = Study::read(&user.home.join("study")).expect("a study");
    assert!(study.runs.iter().all(|run| run.limit == morecores_study::Limit::Affinity));
    if study.runs[0].cpu.estimator != CpuEstimator::Getrusage {
        return report_skip(NAME, "a cgroup was delegated to this user; the part with getrusage did not run");
    }
    let shown = user.morecores(&["show", "study", "--json"]);
    let view: serde_json::Value = serde_json::from_str(&shown.success().stdout).expect("JSON");
    assert_eq!(view["points"][0]["kernel_ratio_estimator"], "getrusage");
    let kinds: Vec<_> = view["warnings"].as_array().expect("warnings").iter().map(|w| &w["kind"]).collect();
    assert!(
        kinds.iter().any(|kind| kind.as_str().is_some_and(|kind| kind.contains("getrusage"))),
        "{kinds:?}"
    );
    // The report for people shows the estimator beside the figure, and its weakness.
    ran.prints(&["User, system and kernel ratio by getrusage.", "come from getrusage alone"]);
}

#[test]
fn an_action_that_needs_root_is_refused_in_one_line_with_advice() {
    const NAME: &str = "an_action_that_needs_root_is_refused_in_one_line_with_advice";
    let world = World::new();
    let Some(user) = user(&world, NAME) else { return };
    for (options, parts) in [
        (["--limit", "hotplug"].as_slice(), ["--limit hotplug needs root", "--limit affinity"].as_slice()),
        (&["--cold"], &["--cold needs root", "sudo"]),
        (&["--limit", "cpuset"], &["cgroup"]),
        (&["--limit", "quota", "--quota", "1"], &["cgroup"]),
    ] {
        let ran = user.morecores(&[&["run", "-o", "study"], options, &["--", "touch", "trace"]].concat());
        if ["cpuset", "quota"].contains(&options.get(1).copied().unwrap_or_default()) && ran.status.success()
        {
            report_skip(NAME, "a cgroup was delegated to this user; that part did not run");
            continue;
        }
        ran.refused(2, parts);
        assert!(!user.home.join("study").exists() && !user.home.join("trace").exists(), "{ran}");
    }
}

#[test]
fn the_machine_and_studies_can_be_shown() {
    const NAME: &str = "the_machine_and_studies_can_be_shown";
    let world = World::new();
    let Some(user) = user(&world, NAME) else { return };
    world.run("-q --cpus 1 --runs 2 --warmup 0 --precision 0", &["true"]).success();
    let study = world.path("study");
    user.morecores(&["show", &study.to_string_lossy()]).success().prints(&["CPUs", "elapsed"]);

    let as_json =
        |ran: &harness::Ran| -> serde_json::Value { serde_json::from_str(&ran.stdout).expect("JSON") };
    let theirs = user.morecores(&["topology", "--json"]);
    let ours = world.morecores(&["topology", "--json"]);
    assert_eq!(as_json(theirs.success()), as_json(ours.success()), "privilege makes no difference");
    user.morecores(&["topology"]).success().prints(&["CPU"]);
}

#[test]
fn survivors_are_ended_even_without_a_cgroup() {
    const NAME: &str = "survivors_are_ended_even_without_a_cgroup";
    let world = World::new();
    let Some(user) = user(&world, NAME) else { return };
    let arguments =
        ["run", "--trace", "off", "-q", "-o", "study", "--cpus", "1", "--runs", "1", "--warmup", "0", "--"];
    let ran = user.morecores(&[arguments.as_slice(), &["sh", "-c", "setsid sleep 60 & true"]].concat());
    ran.success();
    let study = Study::read(&user.home.join("study")).expect("a study");
    assert_eq!(study.runs[0].survivors, ["sleep"]);
    assert_eq!(world.processes(), []);
}

/// Any user can create the directory of the journals first, because its parent is writable for all.
/// morecores undoes the changes that a journal lists.
#[test]
fn a_journal_of_another_user_is_ignored() {
    const NAME: &str = "a_journal_of_another_user_is_ignored";
    let world = World::new();
    let Some(user) = user(&world, NAME) else { return };
    if !is_root() {
        return report_skip(NAME, "only root can be another user");
    }
    let (shared, precious) = (world.path("shared"), user.home.join("precious"));
    let theirs = shared.join(format!("morecores-{NOBODY}"));
    fs::create_dir_all(&theirs).expect("mkdir");
    fs::create_dir(&precious).expect("mkdir");
    let ours = NOBODY.parse().ok();
    chown(&precious, ours, ours).expect("chown");
    let change = serde_json::json!({ "kind": "cgroup_created", "dir": precious, "keep": false });
    let journal = serde_json::json!({ "pid": 1, "start_time": u64::MAX, "changes": [change] });
    fs::write(theirs.join("1.json"), journal.to_string()).expect("write");
    chown(&theirs, Some(12_345), None).expect("chown");

    let shared = shared.to_string_lossy().into_owned();
    let ran = user.morecores_with(&[("TMPDIR", &shared)], &["topology"]);
    ran.success().says(&["belongs to user 12345", "XDG_RUNTIME_DIR"]);
    assert!(precious.exists() && theirs.join("1.json").exists(), "{ran}");
}

/// Computes in one function alone, and then in two threads at once.
const STAGES: &str = r#"
#include <pthread.h>

#define OUT_OF_LINE __attribute__((noinline, noclone))

OUT_OF_LINE static void parse_input(volatile double *sum)
{
	for (int i = 0; i < 60000000; i++)
		*sum += i;
}

OUT_OF_LINE static void *add_up(void *unused)
{
	volatile double sum = 0;

	for (int i = 0; i < 60000000; i++)
		sum *= i;
	return unused;
}

int main(void)
{
	pthread_t thread;
	volatile double sum = 0;

	parse_input(&sum);
	pthread_create(&thread, NULL, add_up, NULL);
	add_up(NULL);
	pthread_join(thread, NULL);
	return sum < 0;
}
"#;

#[test]
fn functions_need_no_privilege() {
    const NAME: &str = "functions_need_no_privilege";
    let world = World::new();
    let Some(user) = user(&world, NAME) else { return };
    let program = user.home.join("stages");
    fs::copy(CProgram::compile("stages", STAGES).path(), &program).expect("a copy");
    let path = program.to_str().expect("a path of letters");
    let ran = user.morecores(&["trace", "-o", "study", "--json", "--", path]);
    if !ran.status.success() && ran.stderr.contains("perf events") {
        return report_skip(NAME, ran.stderr.trim());
    }
    let view: serde_json::Value = serde_json::from_str(&ran.success().stdout).expect("JSON");
    if view["source"] != "perf" {
        return report_skip(NAME, "this user may load BPF programs");
    }
    let untraced = view["untraced"].as_array().expect("a list");
    let is_missing = |what: &str| untraced.iter().any(|fact| fact["what"] == what);
    if is_missing("the functions that the threads ran") {
        return report_skip(NAME, "the kernel copies no registers and stack memory");
    }
    assert!(is_missing("the functions of work in the kernel"), "{untraced:#?}");
    let rows = view["functions"].as_array().expect("functions");
    let seconds = |row: &serde_json::Value, component: &str| {
        let times = row["times"].as_array().expect("times");
        times
            .iter()
            .filter(|time| time["component"] == component)
            .filter_map(|time| time["seconds"].as_f64())
            .sum()
    };
    let work = |is_counted: &dyn Fn(&serde_json::Value) -> bool| -> f64 {
        rows.iter().filter(|row| is_counted(row)).map(|row| -> f64 { seconds(row, "user_work") }).sum()
    };
    let (named, all) =
        (work(&|row| row["function"] == "parse_input" || row["function"] == "add_up"), work(&|_| true));
    assert!(all > 0.0 && named > 0.9 * all, "{named} of {all} s: {rows:#?}");
    assert!(work(&|row| row["module"] == "[kernel]") == 0.0, "{rows:#?}");
    // The samples are of user mode only and do not show the ratio.
    let estimator = view["kernel_ratio_estimator"].as_str().expect("a name");
    assert!(!estimator.contains("sample"), "{estimator}");
    let calls = view["call_tree"].as_array().expect("calls");
    let call =
        calls.iter().find(|call| call["function"] == "parse_input").unwrap_or_else(|| panic!("{calls:#?}"));
    let caller = call["caller"].as_u64().expect("a caller") as usize;
    assert_eq!(calls[caller]["function"], "main", "{calls:#?}");
    user.morecores(&["show", "--wide", "study"]).success().prints(&["functions on", "parse_input", "add_up"]);
}
