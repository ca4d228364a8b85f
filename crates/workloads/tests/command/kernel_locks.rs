//! `kernel-locks`.

use crate::scratch::Scratch;
use crate::{assert_refused, output, word_after, work};

/// Number of operations that is small enough for all locks together to take no time.
const OPERATIONS: &str = "--operations 600";

/// Checksum of the count 600 and the sum of the scattered `0..600`, by CPython's `zlib.crc32`.
const KNOWN_CHECKSUM: &str = "bc372acf";

#[test]
fn every_operation_is_done_once_for_any_workers() {
    for lock in ["file-offset", "page-fault", "pipe", "fork", "socket", "dentry"] {
        for by in ["--threads 1", "--threads 7", "--threads 4 --by processes"] {
            let line = output(&format!("kernel-locks --lock {lock} {OPERATIONS} {by}"));
            assert_eq!(word_after(&line, "crc32"), KNOWN_CHECKSUM, "{line}");
            assert!(line.ends_with("(every operation was done once)\n"), "{line}");
        }
    }
}

#[test]
fn more_threads_than_operations_are_allowed() {
    let line = output("kernel-locks --lock futex --operations 3 --threads 8");
    assert!(line.starts_with("kernel-locks: futex, 3 operations, 8 threads: "), "{line}");
}

#[test]
fn files_are_where_tmpdir_says_and_none_is_left() {
    let scratch = Scratch::new("kernel-locks");
    for lock in ["dentry", "file-offset"] {
        let run =
            work(&format!("kernel-locks --lock {lock} {OPERATIONS}")).env("TMPDIR", &scratch.0).assert();
        let line = String::from_utf8_lossy(&run.success().get_output().stdout).into_owned();
        let parameters = format!("{lock} in {}, 600 operations, 1 thread", scratch.0.display());
        assert!(line.contains(&parameters) && scratch.is_empty(), "{line}");
    }
    let gone = work("kernel-locks").env("TMPDIR", "/nowhere").assert().code(2).stdout("");
    let error = String::from_utf8_lossy(&gone.get_output().stderr).into_owned();
    assert!(error.contains("cannot make the directory") && error.lines().count() == 1, "{error}");
}

#[test]
fn bad_arguments_are_refused_before_anything_runs() {
    assert_refused(&[
        ("kernel-locks --lock inode", "dentry, file-offset, mmap, page-fault, futex, pipe, fork, socket"),
        ("kernel-locks --operations 0", "is not in"),
        ("kernel-locks --by machines", "threads, processes"),
        ("kernel-locks --lock file-offset --operations 4294967295 --threads 8192", "of memory"),
    ]);
}
