//! Tests of the answer of a study, as words, in JSON and as exit status.

mod harness;

use std::path::Path;

use harness::locks::lock_study;
use harness::studies::{build, with_runs};
use harness::{World, report_skip};
use morecores_study::{Bandwidth, Goal, InCell, Phase, QUOTA_AXIS, StopReason};
use serde_json::Value;

/// Statuses of `--exit-answer`.
const YES: i32 = 0;
const NO: i32 = 3;
const UNKNOWN: i32 = 4;

fn show(world: &World, study: &Path, options: &[&str]) -> harness::Ran {
    let mut arguments = vec!["show", study.to_str().expect("a path")];
    arguments.extend(options);
    world.morecores(&arguments)
}

/// Study whose runs on each CPU count take the time that `seconds` returns for count and index.
fn timed(world: &World, seconds: impl Fn(u64, u64) -> f64) -> std::path::PathBuf {
    with_runs(world, |run| {
        let number = |key: &str| run[key].as_u64().expect("a number");
        let cpus = number("cpus");
        let elapsed = (seconds(cpus, number("index")) * 1e9) as u64;
        run["elapsed_ns"] = elapsed.into();
        // The CPUs are busy nearly all the time.
        run["cpu"]["user_ns"] = (elapsed * cpus / 10 * 9).into();
        run["cpu"]["system_ns"] = 0.into();
    })
}

/// A sleep is as long on two CPUs as on one, within far less than a quarter.
#[test]
fn rounds_end_at_a_clear_no_unless_a_number_of_runs_is_asked_for() {
    let world = World::new();
    world.run("-q --cpus 1,2 --warmup 0", &["sleep", "0.05"]).success();
    let study = world.study();
    assert_eq!((study.header.plan.goal, study.runs.len()), (Goal::Answer, 12));
    assert_eq!(study.header.closing.expect("an end").reason, StopReason::Precise);
    for option in ["--runs 6", "--precision 5%"] {
        let world = World::new();
        world.run(&format!("-q --cpus 1,2 --warmup 0 {option}"), &["sleep", "0.01"]).success();
        assert_eq!(world.study().header.plan.goal, Goal::Precision, "{option}");
    }
}

/// Each value is a sleep of its own length, so that the order of the values is certain.
#[test]
fn of_several_n_the_best_is_named_with_its_lead() {
    let world = World::new();
    let command = ["sh", "-c", "sleep 0.$((2/{n}))1", "-j{n}"];
    let ran = world.run("--cpus 1 --n 1-2 --warmup 0 --trace off", &command);
    ran.success();
    let study = world.study();
    let found: Vec<(u32, u32)> = study.header.plan.points.iter().map(|point| (point.cpus, point.n)).collect();
    assert_eq!(found, [(1, 1), (1, 2)]);
    let shown = show(&world, &world.path("study"), &[]);
    assert!(shown.stdout.contains("Best is -j2: "), "{}", shown.stdout);
    assert!(shown.stdout.contains("ahead of -j1 (95% interval "), "{}", shown.stdout);
    let json: Value =
        serde_json::from_str(&show(&world, &world.path("study"), &["--json"]).stdout).expect("JSON");
    let ranking = &json["rankings"][0];
    assert_eq!((ranking["cpus"].as_u64(), ranking["best"].as_u64()), (Some(1), Some(2)));
    let [one, two] = [0, 1].map(|at| &ranking["values"][at]);
    assert_eq!((&one["may_be_best"], &two["may_be_best"]), (&Value::Bool(false), &Value::Bool(true)));
    let lead = one["lead"]["value"].as_f64().expect("a lead");
    assert!((1.2..3.0).contains(&lead), "0.21 s to 0.11 s: {lead}");
    assert_eq!(two["lead"]["value"].as_f64(), Some(1.0));
}

/// A search leaves out the values that are much slower after two rounds.
#[test]
fn a_search_for_the_best_n_makes_few_runs() {
    let world = World::new();
    // 0.62, 0.32, 0.22 and 0.17 s.
    let command = ["sh", "-c", "sleep 0.$((60/{n}+2))", "-j{n}"];
    world.run("--cpus 1 --n 1,2,3,4 --tune n --trace off", &command).success();
    let study = world.study();
    assert_eq!(study.header.plan.goal, Goal::Tune);
    assert_eq!(study.runs.iter().filter(|run| run.phase != Phase::Timed).count(), 1, "one warm-up run");
    let timed = world.timed_runs();
    assert!(timed.len() <= 12, "{} runs", timed.len());
    let json: Value =
        serde_json::from_str(&show(&world, &world.path("study"), &["--json"]).stdout).expect("JSON");
    let ranking = &json["rankings"][0];
    assert_eq!((ranking["best"].as_u64(), ranking["search"]["grid_runs"].as_u64()), (Some(4), Some(48)));
    let shown = show(&world, &world.path("study"), &[]).stdout;
    assert!(shown.contains("Best is -j4: with a probability of "), "{shown}");
    // The same decisions again: nothing is left to do.
    let again = world.morecores(&["run", "--resume", "-o", "study", "-q"]);
    again.success();
    assert_eq!(world.timed_runs().len(), timed.len());
}

/// The time is the same on one CPU and on two: with twice the work, that is ideal.
#[test]
fn work_that_grows_with_the_cpus_is_judged_by_the_work_done() {
    let world = World::new();
    let command = ["sh", "-c", "sleep 0.1 # {n}"];
    world.run("--weak --cpus 1,2 --runs 6 --warmup 0 --trace off", &command).success();
    let shown = show(&world, &world.path("study"), &[]).stdout;
    // Other programs may spoil the answer, but not the claim.
    assert!(shown.contains("times the work of 1"), "{shown}");
    let json: Value =
        serde_json::from_str(&show(&world, &world.path("study"), &["--json"]).stdout).expect("JSON");
    let number = |key: &str| json["points"][1][key].as_f64().expect("a number");
    let speedup = json["points"][1]["speedup"]["value"].as_f64().expect("a speedup");
    assert!((1.8..2.2).contains(&speedup), "{speedup}");
    assert!((number("efficiency") - speedup / 2.0).abs() < 1e-9);
    // Gustafson's fraction on two CPUs: (2 - S) / 1.
    assert!((number("serial_fraction") - (2.0 - speedup)).abs() < 1e-9);
    let study = world.path("study");
    let study = study.to_str().expect("a path");
    world.morecores(&["predict", study]).refused(2, &["supports no prediction", "measure without --weak"]);
}

/// A program with one thread needs one CPU. Half of one makes it twice as slow.
#[test]
fn of_several_quotas_the_smallest_that_is_enough_is_named() {
    const NAME: &str = "of_several_quotas_the_smallest_that_is_enough_is_named";
    let world = World::new();
    let work = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    let command = ["sh", "-c", work];
    let ran = world.run("--cpus 1 --limit quota --quota 300m,1 --runs 6 --warmup 0 --trace off", &command);
    if ran.status.code() == Some(2) && ran.stderr.contains("no cpu controller here") {
        return report_skip(NAME, ran.stderr.lines().next().unwrap_or_default());
    }
    ran.success();
    let study = world.study();
    let of_quota = |percent: u64| {
        let runs = study.runs.iter().filter(move |run| run.cell().number(QUOTA_AXIS) == Some(percent));
        runs.map(|run| run.tree.bandwidth.expect("the use of the quota")).collect::<Vec<_>>()
    };
    let (small, whole) = (of_quota(30), of_quota(100));
    assert_eq!((small.len(), whole.len()), (6, 6));
    assert!(small.iter().all(|used| used.periods > 0 && used.throttled_periods > 0), "{small:?}");
    let throttled = |used: &[Bandwidth]| used.iter().map(|used| used.throttled_ns.0).sum::<u64>();
    assert!(throttled(&small) > 10 * throttled(&whole), "{small:?} {whole:?}");
    let json: Value =
        serde_json::from_str(&show(&world, &world.path("study"), &["--json"]).stdout).expect("JSON");
    let quotas = &json["quota"]["quotas"];
    assert_eq!((&quotas[0]["suffices"], &quotas[1]["suffices"]), (&"too_small".into(), &"enough".into()));
    let lead = quotas[0]["lead"]["value"].as_f64().expect("a lead");
    assert!((1.5..6.0).contains(&lead), "3.3 times, less the first period: {lead}");
    let shown = show(&world, &world.path("study"), &[]).stdout;
    assert!(shown.contains("It needs the largest limit, 1 CPU: at 0.3 CPUs it is throttled for"), "{shown}");
    // Nothing is left of the cgroups, and a resumed study measures no more.
    world.morecores(&["run", "--resume", "-o", "study", "-q"]).success();
    assert_eq!(world.study().runs.len(), 12);
}

#[test]
fn the_answer_is_the_same_in_words_json_and_status() {
    let near = |middle: f64, index: u64| middle + index as f64 * 1e-3;
    let one_cpu = |cpus: u64| if cpus == 1 { 90.0 } else { 50.0 };
    for (seconds, lead, answer, status) in [
        (
            Box::new(move |cpus, index| near(one_cpu(cpus), index)) as Box<dyn Fn(u64, u64) -> f64>,
            "Yes:",
            "yes",
            YES,
        ),
        (Box::new(move |_, index| near(90.0, index)), "No", "no", NO),
        (
            Box::new(|_, index| 90.0 + 30.0 * (index * 7 % 5) as f64),
            "It cannot be told yet:",
            "unknown",
            UNKNOWN,
        ),
    ] {
        let world = World::new();
        let study = timed(&world, seconds);
        show(&world, &study, &[]).success().prints(&[lead]);
        show(&world, &study, &["--exit-answer"]).code(status).prints(&[lead]);
        let json = show(&world, &study, &["--json", "--exit-answer"]);
        let view: Value = serde_json::from_str(&json.code(status).stdout).expect("JSON");
        assert_eq!(view["verdict"]["answer"], answer, "{}", view["verdict"]);
        assert_eq!(view["verdict"]["worth"], 0.25);
    }
}

#[test]
fn another_bound_changes_the_answer() {
    let world = World::new();
    // 1.29 times: 0.29 of the second CPU.
    let study = timed(&world, |cpus, index| if cpus == 1 { 90.0 } else { 70.0 } + index as f64 * 1e-3);
    show(&world, &study, &["--exit-answer"]).code(YES);
    show(&world, &study, &["--exit-answer", "--worth", "0.5"]).code(NO).prints(&["from 1.50 times on"]);
}

#[test]
fn bad_bounds_are_refused_in_one_line() {
    let world = World::new();
    for worth in ["0", "x", "1.01", "-1"] {
        let option = format!("--worth={worth}");
        show(&world, &build(), &[&option]).refused(2, &["--worth", worth, "above 0 and up to 1"]);
    }
    show(&world, &build(), &["--exit-answer", "--hyperfine-json"]).refused(2, &["--hyperfine-json"]);
    let locks = lock_study(&world);
    for option in ["--exit-answer", "--worth=0.5"] {
        show(&world, &locks, &[option]).refused(2, &["study of locks"]);
    }
    let report = |study: &Path, worth| {
        let study = study.to_str().expect("a path of letters");
        world.morecores(&["report", study, "-o", "page.html", worth])
    };
    report(&locks, "--worth=0.5").refused(2, &["--worth", "study of locks"]);
    report(&build(), "--worth=2").refused(2, &["--worth `2`", "above 0 and up to 1"]);
    world.morecores(&["suite", "--worth", "0"]).refused(2, &["--worth `0`", "above 0 and up to 1"]);
}

#[test]
fn a_report_takes_another_bound() {
    let world = World::new();
    let study = timed(&world, |cpus, index| if cpus == 1 { 90.0 } else { 70.0 } + index as f64 * 1e-3);
    let study = study.to_str().expect("a path of letters");
    let page = |options: &[&str]| {
        world.morecores(&[&["report", study, "-o", "-"], options].concat()).success().stdout.clone()
    };
    assert!(!page(&[]).contains("from 1.50 times on"));
    assert!(page(&["--worth", "0.5"]).contains("from 1.50 times on"));
}

#[test]
fn a_measurement_keeps_its_bound_and_ends_with_its_answer() {
    let world = World::new();
    let ran = world.run("-q --trace off --cpus 1 --runs 6 --worth 0.4 --exit-answer", &["true"]);
    ran.code(UNKNOWN);
    assert_eq!(world.study().header.plan.worth, Some(0.4));
    World::new().run("--exit-answer", &["false"]).code(1);
}
