//! `soften`.

use crate::{assert_refused, output, word_after};

#[test]
fn the_default_run_gives_the_known_result() {
    let line = output("soften --threads 2");
    assert_eq!(word_after(&line, "crc32"), "a287f25d");
    assert!(line.ends_with("(known value)\n") && line.lines().count() == 1, "{line}");
}

#[test]
fn any_number_of_threads_and_either_order_give_the_known_result() {
    for arguments in ["--threads 1", "--threads 3", "--threads 16", "--threads 2 --order column"] {
        let line = output(&format!("soften --passes 300 {arguments}"));
        assert_eq!(word_after(&line, "crc32"), "0f5613e2", "{arguments}");
    }
}

#[test]
fn the_rate_precedes_its_unit() {
    let line = output("soften --passes 20 --seed 7 --check all-passes --width 100");
    let words: Vec<_> = line.split_whitespace().collect();
    let unit = words.iter().position(|w| *w == "megapixels/s,").unwrap();
    assert!(words[unit - 1].parse::<f64>().unwrap() > 0.0, "{line}");
    assert!(line.ends_with("(all passes computed again)\n"), "{line}");
}

#[test]
fn bad_arguments_are_refused_before_anything_runs() {
    assert_refused(&[
        ("soften --threads 0", "0 is not in 1..=8192"),
        ("soften --threads two", "invalid"),
        ("soften --width 0", "0 is not in"),
        ("soften --width 1000000000", "is not in"),
        ("soften --passes 0", "0 is not in"),
        ("soften --order diagonal", "row, column"),
        ("soften --seed -1", "unexpected argument"),
        ("soften --threads 20 --height 10", "ask for at most --threads 10"),
        ("soften --width 131072 --height 131072", "lower --width or --height"),
    ]);
}
