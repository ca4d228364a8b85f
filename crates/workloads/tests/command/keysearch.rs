//! `keysearch`.

use crate::{assert_refused, output, word_after};

#[test]
fn the_scalar_default_gives_the_known_result_on_any_core_and_threads() {
    for arguments in
        ["--core scalar --threads 2", "--core simd --bits 24 --threads 3", "--bits 24 --threads 1"]
    {
        let line = output(&format!("keysearch {arguments}"));
        assert_eq!(word_after(&line, "crc32"), "e8d88e21", "{arguments}");
        assert!(line.ends_with("(the key was found, known value)\n") && line.lines().count() == 1, "{line}");
    }
}

#[test]
fn any_number_of_threads_finds_the_key_of_any_seed() {
    let crc = |arguments: &str| {
        let line = output(&format!("keysearch --bits 20 {arguments}"));
        assert!(line.ends_with("(the key was found)\n"), "{line}");
        word_after(&line, "crc32").to_owned()
    };
    let expected = crc("--seed 5");
    for arguments in ["--threads 2", "--threads 16", "--threads 2 --core scalar"] {
        assert_eq!(crc(&format!("--seed 5 {arguments}")), expected, "{arguments}");
    }
    assert_ne!(crc("--seed 6"), expected);
}

#[test]
fn the_line_says_what_was_searched() {
    let line = output("keysearch --bits 16 --core simd");
    assert!(line.starts_with("keysearch: 16 bits, simd core, seed 1, 1 thread: "), "{line}");
    let words: Vec<_> = line.split_whitespace().collect();
    let unit = words.iter().position(|w| *w == "megakeys/s,").unwrap();
    assert!(words[unit - 1].parse::<f64>().unwrap() > 0.0, "{line}");
}

#[test]
fn bad_arguments_are_refused_before_anything_runs() {
    assert_refused(&[
        ("keysearch --threads 0", "0 is not in 1..=8192"),
        ("keysearch --bits 15", "15 is not in 16..=40"),
        ("keysearch --bits 41", "41 is not in 16..=40"),
        ("keysearch --core fast", "auto, simd, scalar"),
        ("keysearch --threads 20 --bits 20", "ask for at most --threads 16"),
    ]);
}
