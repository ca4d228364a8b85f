//! `matmul`.

use crate::{assert_refused, output, word_after};

#[test]
fn both_kernels_give_the_known_result() {
    for arguments in ["--threads 2", "--threads 2 --kernel tuned --repeat 3"] {
        let line = output(&format!("matmul {arguments}"));
        assert_eq!(word_after(&line, "crc32"), "8f38e431");
        assert!(
            line.ends_with("(Freivalds' check and known value)\n") && line.lines().count() == 1,
            "{line}"
        );
    }
}

#[test]
fn kernels_threads_and_processes_give_the_same_result() {
    let crc = |arguments: &str| {
        let line = output(&format!("matmul --size 101 --repeat 3 {arguments}"));
        assert!(line.ends_with("(Freivalds' check)\n"), "{line}");
        word_after(&line, "crc32").to_owned()
    };
    let expected = crc("--seed 9");
    for threads in [2, 3, 12, 101] {
        for arguments in ["--kernel classic", "--kernel tuned", "--kernel tuned --by threads"] {
            let arguments = format!("--seed 9 {arguments} --threads {threads}");
            assert_eq!(crc(&arguments), expected, "{arguments}");
        }
    }
    assert_eq!(crc("--seed 9 --by threads --threads 5"), expected);
    assert_ne!(crc("--seed 10 --threads 2"), expected);
}

#[test]
fn the_line_says_what_was_computed() {
    let line = output("matmul --size 40 --repeat 2 --kernel tuned --threads 2 --by threads");
    assert!(line.starts_with("matmul: 40x40 2 times, tuned kernel, seed 1, 2 threads: "), "{line}");
    let words: Vec<_> = line.split_whitespace().collect();
    let unit = words.iter().position(|w| *w == "Mflop/s,").unwrap();
    assert!(words[unit - 1].parse::<f64>().unwrap() > 0.0, "{line}");
}

#[test]
fn bad_arguments_are_refused_before_anything_runs() {
    assert_refused(&[
        ("matmul --threads 0", "0 is not in 1..=8192"),
        ("matmul --size 0", "0 is not in"),
        ("matmul --size 65537", "is not in"),
        ("matmul --repeat 0", "0 is not in"),
        ("matmul --kernel fast", "classic, tuned"),
        ("matmul --by fibres", "threads, processes"),
        ("matmul --threads 20 --size 10", "ask for at most --threads 10"),
        ("matmul --size 65536 --kernel tuned --threads 8192", "lower --size or --threads"),
    ]);
}
