//! `pipe`.

use crate::{assert_refused, output, word_after};

/// CRC-32 of the complements of the first words of the questions, by Python's `zlib.crc32`.
const KNOWN_CHECKSUMS: [(&str, &str); 3] =
    [("--size 1", "873b7923"), ("", "41a9be09"), ("--size 100000", "41a9be09")];

#[test]
fn any_number_of_pairs_gives_the_known_answers() {
    for (size, crc) in KNOWN_CHECKSUMS {
        for pairs in ["--threads 1", "--pairs 3"] {
            let line = output(&format!("pipe {size} {pairs} --operations 500"));
            assert_eq!(word_after(&line, "crc32"), crc, "{size}: {line}");
        }
    }
}

#[test]
fn numbers_are_next_to_their_units() {
    let line = output("pipe --threads 2 --operations 100");
    assert!(line.starts_with("pipe: 2 pairs of processes, 100 operations each, messages of 8 B: "), "{line}");
    let seconds: f64 = word_after(&line, "B:").parse().unwrap();
    let rate: f64 = word_after(&line, "s,").parse().unwrap();
    let trip: f64 = word_after(&line, "back").parse().unwrap();
    // The three figures come from one measurement, printed to four digits.
    assert!((rate * trip / 1e6 / 2.0 - 1.0).abs() < 0.01, "{line}");
    assert!((trip * 100.0 / 1e6 - seconds).abs() <= 0.0001 + 0.001 * seconds, "{line}");
    assert!(line.contains(" operations/s, there and back ") && line.contains(" us, crc32 "), "{line}");
}

#[test]
fn bad_arguments_are_refused() {
    assert_refused(&[
        ("pipe --pairs 0", "0 is not in 1..=8192"),
        ("pipe --size 0", "0 is not in"),
        ("pipe --size 1048577", "is not in 1..=1048576"),
        ("pipe --operations 0", "0 is not in"),
    ]);
}
