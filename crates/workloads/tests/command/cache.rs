//! `cache`.

use crate::{assert_refused, output, word_after};

#[test]
fn every_placement_and_number_of_threads_walks_the_same_way() {
    let run = |arguments: &str| output(&format!("cache --sizes 4KiB,256KiB,1MiB --loads 20000 {arguments}"));
    let first = run("--threads 1");
    for arguments in ["--threads 2", "--threads 5 --placement free", "--threads 2 --placement migrating"] {
        let line = run(arguments);
        assert_eq!(word_after(&line, "crc32"), word_after(&first, "crc32"), "{line}");
        for size in ["4KiB", "256KiB", "1MiB"] {
            assert!(word_after(&line, size).parse::<f64>().unwrap() > 0.0, "{line}");
        }
        assert!(
            line.contains(" ns, ") && line.contains(" million loads/s, ") && line.lines().count() == 1,
            "{line}"
        );
    }
    assert_ne!(word_after(&run("--seed 2"), "crc32"), word_after(&first, "crc32"));
}

#[test]
fn only_migrating_threads_are_moved() {
    let line = output("cache --sizes 16KiB --loads 20000000 --placement migrating --every 1");
    let moves: u64 = word_after(&line, "moves").trim_end_matches(',').parse().unwrap();
    // Twenty million dependent loads take many milliseconds on any machine.
    assert_eq!(moves > 0, crate::two_cpus().len() > 1, "{line}");
    assert!(line.starts_with("cache: migrating every 1 ms, "), "{line}");
    assert!(!output("cache --sizes 16KiB --loads 1000").contains("moves"));
}

#[test]
fn bad_arguments_are_refused() {
    assert_refused(&[
        ("cache --threads 0", "0 is not in 1..=8192"),
        ("cache --sizes 3KiB", "a power of two from 1KiB to 64GiB"),
        ("cache --sizes 16KiB,", "a power of two from 1KiB to 64GiB"),
        ("cache --loads 0", "0 is not in"),
        ("cache --placement everywhere", "pinned, free, migrating"),
        ("cache --every 0", "0 is not in"),
        ("cache --sizes 64GiB --threads 8192", "lower --threads or --sizes"),
    ]);
}
