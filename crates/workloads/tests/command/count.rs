//! `count`.

use crate::{assert_refused, output, run_with_process_limit, word_after};

#[test]
fn any_counters_give_the_same_result() {
    // `zlib.crc32((30_000_001).to_bytes(8, "little"))`
    for arguments in ["", "--threads 3", "--threads 2 --fork", "--threads 7 --by threads"] {
        let line = output(&format!("count --total 30000001 {arguments}"));
        assert_eq!(word_after(&line, "crc32"), "0cc1b9f7", "{line}");
        assert!(line.contains("30000001 counts by ") && line.lines().count() == 1, "{line}");
    }
}

#[test]
fn four_processes_that_fork_one_more_each_are_eight_that_count() {
    let line = output("count --threads 4 --fork --each 100000");
    assert!(
        line.starts_with("count: 800000 counts by 8 processes, half of them forked by the others: "),
        "{line}"
    );
    assert!(word_after(&line, "s,").parse::<f64>().unwrap() > 0.0, "{line}");
    assert!(line.contains(" million counts/s, "), "{line}");
}

#[test]
fn bad_arguments_are_refused() {
    assert_refused(&[
        ("count --threads 0", "0 is not in 1..=8192"),
        ("count --total 0", "0 is not in"),
        ("count --total 5 --each 5", "cannot be used with"),
        ("count --by threads --fork", "--fork needs --by processes"),
        ("count --threads 2 --each 18446744073709551615", "lower --each"),
    ]);
}

/// Counters wait for each other at the start: the existing ones must not wait for a refused one.
#[test]
fn refused_counters_are_one_clear_line() {
    const NAME: &str = "refused_counters_are_one_clear_line";
    for by in ["processes", "threads", "processes --fork"] {
        let Some(output) = run_with_process_limit(5, NAME, &format!("count --threads 64 --by {by}")) else {
            return;
        };
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{by}: {error}");
        assert!(error.contains("could not be started") && error.contains("lower --threads"), "{by}: {error}");
        assert_eq!(error.lines().count(), 1, "{by}: {error}");
    }
}
