//! A command that shows studies reads each of their files once, and so decodes each trace once. The
//! kernel counts: inotify reports each opening of a file.

mod harness;

use std::collections::BTreeMap;
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use harness::browser::root;
use harness::{World, report_skip};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

/// Openings of the files of studies since the beginning of the watch.
struct Openings {
    inotify: OwnedFd,
    /// Watched file by watch descriptor.
    files: BTreeMap<i32, PathBuf>,
}

impl Openings {
    /// Watches the files of these studies. The reason as an error if this is impossible here.
    fn watch(studies: &[PathBuf]) -> Result<Self, String> {
        let inotify = inotify::init(CreateFlags::NONBLOCK).map_err(|error| format!("inotify: {error}"))?;
        let mut files = BTreeMap::new();
        for path in studies.iter().flat_map(|study| files_below(study)) {
            // Without the end of each use, the kernel would unite two openings in a row.
            let wanted = WatchFlags::OPEN | WatchFlags::CLOSE_NOWRITE;
            let watch = inotify::add_watch(&inotify, &path, wanted);
            files.insert(watch.map_err(|error| format!("inotify: {error}"))?, path);
        }
        assert!(!files.is_empty(), "no file of {studies:?} is watched");
        Ok(Self { inotify, files })
    }

    /// Files and the number of openings of each.
    fn counts(&self) -> BTreeMap<&Path, u32> {
        let mut counts: BTreeMap<&Path, u32> = self.files.values().map(|path| (path.as_path(), 0)).collect();
        let mut buffer = [MaybeUninit::uninit(); 64 * 1024];
        let mut events = inotify::Reader::new(&self.inotify, &mut buffer);
        // The command has ended, so that no further event comes after the last one.
        while let Ok(event) = events.next() {
            assert!(!event.events().contains(ReadFlags::QUEUE_OVERFLOW), "too many events");
            let file = self.files.get(&event.wd()).filter(|_| event.events().contains(ReadFlags::OPEN));
            if let Some(file) = file {
                *counts.entry(file.as_path()).or_default() += 1;
            }
        }
        counts
    }
}

/// Files below a directory, at any depth.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// Copies a committed study with small traces.
fn copy(world: &World, from: &str, to: &str) -> PathBuf {
    let (from, to) = (root().join("studies").join(from), world.path(to));
    fs::create_dir_all(to.parent().expect("a directory")).expect("mkdir");
    let copied = Command::new("cp").arg("-r").arg(from).arg(&to).status();
    assert!(copied.is_ok_and(|status| status.success()));
    to
}

/// Checks that `morecores` with each of these command lines opens each file of the studies once.
fn assert_read_once(test: &str, world: &World, studies: &[PathBuf], lines: &[&[&str]]) {
    for line in lines {
        let openings = match Openings::watch(studies) {
            Ok(openings) => openings,
            Err(reason) => return report_skip(test, &reason),
        };
        // Studies that the suite lacks make its exit status another one.
        let ran = world.morecores(line);
        let counts = openings.counts();
        assert!(counts.values().all(|count| *count == 1), "{line:?}: {counts:#?}\n{ran}");
    }
}

#[test]
fn a_study_of_a_command_is_read_once() {
    let world = World::new();
    let base = copy(&world, "2026-11-22-suite/build.study", "base");
    let new = copy(&world, "2026-11-22-suite/build-parallel.study", "new");
    let test = "a_study_of_a_command_is_read_once";
    let lines: [&[&str]; 5] = [
        &["show", "base"],
        &["show", "base", "--json"],
        &["predict", "base"],
        &["what-if", "base"],
        &["report", "base", "-o", "page.html"],
    ];
    assert_read_once(test, &world, std::slice::from_ref(&base), &lines);
    let lines: [&[&str]; 2] = [&["compare", "base", "new"], &["report", "base", "new", "-o", "page.html"]];
    assert_read_once(test, &world, &[base, new], &lines);
}

#[test]
fn the_studies_of_a_suite_are_read_once() {
    let world = World::new();
    let studies = ["build", "matmul"]
        .map(|name| copy(&world, &format!("2026-11-22-suite/{name}.study"), &format!("suite/{name}.study")));
    let lines: [&[&str]; 3] = [
        &["report", "suite", "-o", "page.html"],
        &["report", "suite", "--plot", "suite.svg"],
        &["suite", "--show", "suite"],
    ];
    assert_read_once("the_studies_of_a_suite_are_read_once", &world, &studies, &lines);
}

#[test]
fn a_study_of_locks_is_read_once() {
    let world = World::new();
    let study = copy(&world, "2026-11-25-locks/locks.study", "locks.study");
    let lines: [&[&str]; 2] = [&["show", "locks.study"], &["report", "locks.study", "-o", "page.html"]];
    assert_read_once("a_study_of_locks_is_read_once", &world, &[study], &lines);
}
