//! `counter`.

use crate::{assert_refused, output, word_after};

/// Value of a figure.
fn figure(line: &str, name: &str) -> f64 {
    let number = line.split_once(&format!(", {name} ")).and_then(|(_, rest)| rest.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no {name} in: {line}"))
}

#[test]
fn all_three_are_shown_in_one_line() {
    // `zlib.crc32((1_000_003).to_bytes(8, "little") * 3)`
    for threads in [1, 2, 7] {
        let line = output(&format!("counter --increments 1000003 --threads {threads}"));
        assert_eq!(line.lines().count(), 1);
        assert_eq!(word_after(&line, "crc32"), "5f4a64bd", "{line}");
        assert_eq!(figure(&line, "locked survived"), 100.0, "{line}");
        assert_eq!(figure(&line, "atomic survived"), 100.0, "{line}");
        let plain = figure(&line, "plain survived");
        assert!(if threads == 1 { plain == 100.0 } else { plain > 0.0 && plain <= 100.0 }, "{line}");
        for rate in ["plain rate", "locked rate", "atomic rate"] {
            assert!(figure(&line, rate) > 0.0, "{line}");
        }
    }
}

#[test]
fn one_kind_alone_is_the_rate() {
    let line = output("counter --kind atomic --increments 100000 --threads 2");
    assert!(line.starts_with("counter: atomic, 100000 increments each, 2 threads: "), "{line}");
    let rate: f64 = word_after(&line, "s,").parse().unwrap();
    assert!((rate / figure(&line, "atomic rate") - 1.0).abs() < 0.01, "{line}");
}

#[test]
fn the_locked_counter_has_the_requested_lock() {
    for lock in ["adaptive", "mcs", "pthread-spin"] {
        let line =
            output(&format!("counter --kind locked,atomic --lock {lock} --increments 1003 --threads 3"));
        assert!(
            line.starts_with(&format!("counter: locked by {lock}, atomic, 1003 increments each")),
            "{line}"
        );
        assert_eq!(figure(&line, "locked survived"), 100.0, "{line}");
    }
}

#[test]
fn bad_arguments_are_refused() {
    assert_refused(&[
        ("counter --threads 0", "0 is not in 1..=8192"),
        ("counter --increments 0", "0 is not in"),
        ("counter --lock spine", "there is no lock `spine`; there are: spin, spin-backoff"),
        ("counter --lock kernel", "a lock of the kernel guards nothing of a program's"),
        ("counter --kind careless", "plain, locked, atomic"),
        ("counter --kind plain,", "plain, locked, atomic"),
    ]);
}
