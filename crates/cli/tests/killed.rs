//! Tests of `kill -9` at any moment. The measured runs stay readable, the study can be resumed, and
//! the next start clears the leftovers from the system.

mod harness;

use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use harness::{World, is_root, left_by, report_skip, start, wait_until};
use morecores_study::Study;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const TRIALS: u64 = 20;
/// Lock held by each test here: any start of morecores repairs the leftovers of another test's
/// killed process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Run of a few milliseconds with a child that outlives the run unless the run ends it.
const COMMAND: [&str; 3] = ["sh", "-c", "sleep 60 & sleep 0.003; kill $!"];

fn lines(file: &Path) -> usize {
    fs::read(file).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count()
}

/// Starts a study, kills it at a random moment and returns its process ID.
fn kill_a_study(world: &World, random: &mut ChaCha8Rng) -> u32 {
    let study = start(world.run_command("-q --runs 100000 --precision 0 --warmup 1", &COMMAND));
    // Half of the kills may fall into the start, before anything is recorded. The others fall into
    // the runs.
    if random.random_bool(0.5) {
        let wanted = random.random_range(1..12);
        wait_until("runs are recorded", || lines(&world.path("study/runs.jsonl")) >= wanted);
        sleep(Duration::from_micros(random.random_range(0..8_000)));
    } else {
        sleep(Duration::from_micros(random.random_range(0..60_000)));
    }
    let pid = study.pid();
    study.signal("KILL");
    assert_eq!(study.wait().status.code(), None, "it was still running");
    pid
}

/// Study as the kill left it; none if the kill preceded the study.
fn what_was_left(world: &World) -> Option<Study> {
    let recorded = lines(&world.path("study/runs.jsonl"));
    if !world.path("study/study.json").exists() {
        assert_eq!(recorded, 0, "runs without a study");
        return None;
    }
    let study = world.study();
    assert!(study.damaged_lines <= 1, "{} lines are damaged", study.damaged_lines);
    assert_eq!(study.runs.len(), recorded, "every whole line is a run");
    assert_consecutive(&study);
    assert!(study.header.closing.is_none());
    Some(study)
}

fn assert_consecutive(study: &Study) {
    for (index, run) in study.runs.iter().enumerate() {
        assert_eq!(run.index as usize, index);
    }
}

#[test]
fn a_study_survives_kill_9_at_random_moments() {
    let _alone = alone();
    let mut random = ChaCha8Rng::seed_from_u64(20_261_121);
    let mut with_runs = 0;
    for trial in 0..TRIALS {
        let world = World::new();
        let pid = kill_a_study(&world, &mut random);
        let Some(before) = what_was_left(&world) else { continue };
        with_runs += usize::from(!before.runs.is_empty());

        let held_by_a_cgroup = left_by(pid).iter().any(|left| left.is_dir());
        // The number is two complete rounds more than there can be by now.
        let rounds = before.runs.iter().map(|run| run.round + 1).max().unwrap_or(0) + 2;
        let resumed =
            world.morecores(&["run", "-q", "--resume", "-o", "study", "--runs", &rounds.to_string()]);
        resumed.success();
        let after = world.study();
        assert_eq!(
            after.runs[..before.runs.len()],
            before.runs[..],
            "trial {trial}: what was recorded stays"
        );
        assert_consecutive(&after);
        assert!(after.header.closing.is_some(), "trial {trial}: the study is closed\n{resumed}");
        let points = after.header.plan.points.len();
        let timed = after.runs.iter().filter(|run| run.phase == morecores_study::Phase::Timed).count();
        assert_eq!(
            timed,
            rounds as usize * points,
            "trial {trial}: every round is complete, none was repeated"
        );
        let shown = world.morecores(&["show", "study"]);
        shown.success();

        if held_by_a_cgroup {
            assert_eq!(world.processes(), [], "trial {trial}: the children are ended\n{resumed}");
        }
        assert_eq!(left_by(pid), Default::default(), "trial {trial}: all is cleared away\n{resumed}");
    }
    assert!(with_runs >= 3, "only {with_runs} of {TRIALS} trials were killed among their runs");
}

/// A kill most likely falls between two whole lines, so this test cuts lines by hand.
#[test]
fn a_line_cut_anywhere_loses_only_that_run() {
    let _alone = alone();
    let world = World::new();
    world.run("-q --runs 2 --warmup 0 --cpus 1 --precision 0", &["true"]).success();
    let file = world.path("study/runs.jsonl");
    let whole = fs::read(&file).expect("runs");
    let first = whole.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
    for cut in [first + 1, first + 40, whole.len() - 2] {
        fs::write(&file, &whole[..cut]).expect("cut");
        let study = world.study();
        assert_eq!((study.runs.len(), study.damaged_lines), (1, 1), "cut at {cut}");
        world.morecores(&["run", "-q", "--resume", "-o", "study"]).success();
        let study = world.study();
        assert_eq!((study.runs.len(), study.damaged_lines), (2, 1), "cut at {cut}, gone on with");
        assert_consecutive(&study);
        let shown = world.morecores(&["show", "study", "--wide"]);
        shown.success().prints(&["1 damaged line of runs.jsonl is in no figure."]);
    }
    // The line lacks only its newline: nothing is lost.
    fs::write(&file, &whole[..whole.len() - 1]).expect("cut");
    world.morecores(&["run", "-q", "--resume", "-o", "study", "--runs", "3"]).success();
    let study = world.study();
    assert_eq!((study.runs.len(), study.damaged_lines), (3, 0));
}

#[test]
fn the_command_dies_with_morecores_and_the_next_start_ends_its_processes() {
    let _alone = alone();
    const NAME: &str = "the_command_dies_with_morecores_and_the_next_start_ends_its_processes";
    let world = World::new();
    // The command has a child, and another child that has left the session.
    let line = "sleep 61 & setsid sleep 62 & exec sleep 63";
    let study = start(world.run_command("-q", &["sh", "-c", line]));
    let has = |seconds: &str| {
        let command_line = |pid: u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        world.processes().iter().any(|(pid, _)| command_line(*pid) == format!("sleep\0{seconds}\0"))
    };
    wait_until("the command and its children run", || ["61", "62", "63"].into_iter().all(has));
    let pid = study.pid();
    study.signal("KILL");
    study.wait();
    wait_until("the main process has ended", || !has("63"));
    if !is_root() || left_by(pid).is_empty() {
        return report_skip(NAME, "no cgroup to hold the command's tree (root has one)");
    }
    assert!(has("61") && has("62"), "the kernel ends only the main process: {:?}", world.processes());

    let next = world.morecores(&[
        "run", "-q", "--trace", "off", "--runs", "1", "--warmup", "0", "-o", "next", "--", "true",
    ]);
    next.success()
        .says(&[&format!("undid a change that process {pid} left when it was killed: remove the cgroup")]);
    assert_eq!(world.processes(), [], "{next}");
    assert_eq!(left_by(pid), Default::default(), "{next}");
}
