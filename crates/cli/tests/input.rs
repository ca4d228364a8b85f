//! Tests of the command's standard input: every run reads equal input, whatever its source.

mod harness;

use std::fs;

use harness::{Ran, World, report_skip};
use morecores_study::{Bytes, InputContent};

/// Arguments of a study of `wc -c` on one CPU, with its output as the metric.
const COUNT: &str =
    "run -o study --trace off --max-time 0 --cpus 1 --warmup 1 --precision 0 --metric '([0-9]+)'";

/// Runs a line of bash in which `morecores` is the program under test.
fn bash(world: &World, line: &str) -> Ran {
    let mut command = world.command("bash");
    let binary = env!("CARGO_BIN_EXE_morecores");
    command.args(["-c", &format!("set -o pipefail; morecores() {{ '{binary}' \"$@\"; }}; {line}")]);
    Ran::start_and_wait(command)
}

/// Byte count of each run, warm-ups included.
fn counted(world: &World) -> Vec<Option<f64>> {
    world.study().runs.iter().map(|run| run.metric).collect()
}

#[test]
fn every_run_reads_the_content_of_the_pipe() {
    for line in [
        "seq 20000 | morecores {COUNT} --runs 3 --input - -- wc -c",
        "seq 20000 | morecores {COUNT} --runs 3 --input /dev/stdin -- wc -c",
        "morecores {COUNT} --runs 3 --input <(seq 20000) -- wc -c",
        "mkfifo in; seq 20000 >in & morecores {COUNT} --runs 3 --input in -- wc -c",
    ] {
        let world = World::new();
        let ran = bash(&world, &line.replace("{COUNT}", COUNT));
        ran.success().says(&["can be read only once", "106.3 KiB"]);
        assert_eq!(counted(&world), [Some(108_894.0); 4], "{line}");
        let input = world.study().header.plan.input;
        assert_eq!(input.content.map(|content| content.bytes), Some(Bytes(108_894)), "{line}");
    }
}

#[test]
fn a_file_is_not_copied_and_standard_input_is_read_from_its_offset() {
    let world = World::new();
    fs::write(world.path("in"), "first\nsecond\n").expect("write");
    bash(&world, &format!("morecores {COUNT} --runs 2 --input in -- wc -c")).success();
    assert_eq!(counted(&world), [Some(13.0); 3]);
    assert_eq!(world.study().header.plan.input.content, None);
    fs::remove_dir_all(world.path("study")).expect("the study");
    // The shell's `read` leaves the position after the line that it has read.
    let ran = bash(&world, &format!("{{ read line; morecores {COUNT} --runs 2 --input - -- wc -c; }} <in"));
    assert_eq!(ran.success().stderr, "", "{ran}");
    assert_eq!(counted(&world), [Some(7.0); 3]);
    // Standard input may differ now from the study's own.
    let resume = "morecores run -q --resume -o study --runs 3";
    bash(&world, &format!("{resume} <in")).refused(2, &["came through -", "--input"]);
    bash(&world, &format!("{resume} --input in")).refused(2, &["13 bytes", "the study's had 7 bytes"]);
    bash(&world, &format!("tail -n 1 in | {resume} --input -")).success();
    assert_eq!(counted(&world), [Some(7.0); 4]);
}

#[test]
fn input_that_changes_between_runs_ends_the_study_with_a_message() {
    for (spoil, parts) in
        [(": >in", ["0 bytes now", "had 5"]), ("rm in", ["--input in is gone", "earlier run"])]
    {
        let world = World::new();
        fs::write(world.path("in"), "12345").expect("write");
        let ran = world.run(
            "--input in --cpus 1 --warmup 0 --runs 3 --precision 0",
            &["sh", "-c", &format!("cat >>seen; {spoil}")],
        );
        ran.code(2).says(&parts);
        assert_eq!(fs::read_to_string(world.path("seen")).expect("seen"), "12345", "one run was made");
    }
}

#[test]
fn input_that_prepare_writes_for_each_run_may_change() {
    let world = World::new();
    fs::write(world.path("in"), "").expect("write");
    let options = "run -o study --trace off --cpus 1 --warmup 0 --runs 3 --precision 0 --input in";
    bash(
        &world,
        &format!("morecores {options} --prepare 'echo x >>more; cp more in' -- sh -c 'wc -c >>seen'"),
    )
    .success();
    assert_eq!(fs::read_to_string(world.path("seen")).expect("seen"), "2\n4\n6\n");
}

#[test]
fn input_over_the_limit_is_refused_before_any_change() {
    let world = World::new();
    let line =
        |limit: &str| format!("seq 20000 | morecores run -o study --input - --input-limit {limit} -- cat");
    let ran = bash(&world, &line("64K"));
    ran.refused(2, &["--input -", "more than 64 KiB", "--input-limit"]);
    bash(&world, &line("lots")).refused(2, &["--input-limit `lots`", "64K, 512M or 2G"]);
    world.morecores(&["run", "--input", ".", "--", "cat"]).refused(2, &["--input .", "directory"]);
    assert!(world.names().is_empty(), "{:?}", world.names());
}

#[test]
fn a_study_without_its_input_resumes_only_with_equal_input() {
    let world = World::new();
    bash(&world, &format!("printf 12345 | morecores {COUNT} -q --runs 2 --input - -- wc -c")).success();
    // CRC-32 of 12345, as `printf 12345 | gzip -c | tail -c 8 | od -An -tx4` prints it.
    let kept = Some(InputContent { bytes: Bytes(5), crc32: 0xcbf5_3a1c });
    assert_eq!(world.study().header.plan.input.content, kept);
    let resume = "morecores run -q --resume -o study --runs 4";
    bash(&world, resume).refused(2, &["came through -", "again with --input"]);
    let wrong = bash(&world, &format!("printf 12354 | {resume} --input -"));
    wrong.refused(2, &["--input - is not the input of the study", "cbf53a1c"]);
    assert_eq!(counted(&world).len(), 3);
    fs::write(world.path("file"), "12345").expect("write");
    bash(&world, &format!("{resume} --input file")).success();
    assert_eq!(counted(&world), [Some(5.0); 5]);
}

#[test]
fn a_study_does_not_resume_with_another_file() {
    let world = World::new();
    for name in ["in", "other"] {
        fs::write(world.path(name), "12345").expect("write");
    }
    bash(&world, &format!("morecores {COUNT} -q --runs 2 --input in -- wc -c")).success();
    let resume = "morecores run -q --resume -o study --runs 3";
    bash(&world, &format!("{resume} --input other")).refused(2, &["the study is in, not other"]);
    bash(&world, resume).success();
    assert_eq!(counted(&world), [Some(5.0); 4]);
}

#[test]
fn a_single_traced_run_reads_the_pipe_itself() {
    const NAME: &str = "a_single_traced_run_reads_the_pipe_itself";
    let world = World::new();
    let ran = bash(&world, "seq 20000 | morecores trace --json --input - -- sh -c 'wc -c >seen'");
    if ran.status.code() == Some(2) {
        return report_skip(NAME, ran.stderr.lines().next().unwrap_or("nothing can be traced here"));
    }
    ran.success();
    assert_eq!(fs::read_to_string(world.path("seen")).expect("seen"), "108894\n");
}
