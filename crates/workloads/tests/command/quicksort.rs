//! `quicksort`.

use crate::{assert_refused, output, with_address_space_limit, word_after};

#[test]
fn every_input_gives_the_known_result_for_any_number_of_threads() {
    for (arguments, crc) in [
        ("--threads 1", "755bdc31"),
        ("--threads 2", "755bdc31"),
        ("--threads 3 --input few-distinct", "b6961d28"),
        ("--threads 2 --input sorted", "97fa8056"),
        ("--threads 2 --input reverse", "97fa8056"),
    ] {
        let line = output(&format!("quicksort --items 20000000 {arguments}"));
        assert_eq!(word_after(&line, "crc32"), crc, "{line}");
        assert!(
            line.ends_with("(in order, the same numbers, known value)\n") && line.lines().count() == 1,
            "{line}"
        );
    }
}

#[test]
fn few_numbers_are_sorted_by_any_number_of_threads() {
    // `zlib.crc32` of the numbers from 0 to 2, 8 bytes each, least significant byte first.
    for threads in [1, 2, 16] {
        let line = output(&format!("quicksort --items 3 --input reverse --threads {threads}"));
        assert_eq!(word_after(&line, "crc32"), "4f8c5ccc", "{line}");
        assert!(
            line.contains("3 numbers, reverse, seed 1, ") && line.contains(" million numbers/s, "),
            "{line}"
        );
    }
}

#[test]
fn bad_arguments_are_refused() {
    assert_refused(&[
        ("quicksort --threads 0", "0 is not in 1..=8192"),
        ("quicksort --items 0", "0 is not in"),
        ("quicksort --items 68719476736", "lower --items"),
        ("quicksort --items 68719476737", "is not in"),
        ("quicksort --input shuffled", "random, sorted, reverse, few-distinct"),
    ]);
}

#[test]
fn refused_memory_is_one_clear_line() {
    let assert = with_address_space_limit(100_000, "quicksort").assert().code(2).stdout("");
    let error = String::from_utf8_lossy(&assert.get_output().stderr);
    assert!(error.contains("610.4 MiB of memory were refused: lower --items"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}
