//! Registry of the exam of predictions: complete entries, and halves that nobody chose.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

#[path = "../benches/exam/registry.rs"]
#[allow(dead_code, reason = "the bench uses the rest")]
mod registry;

use std::collections::BTreeSet;

use registry::{Half, exam_folder, read_registry};

/// Classes that the registry's first lines define.
const CLASSES: [&str; 7] = ["one thread", "processes", "threads", "OpenMP", "MPI", "server", "fixed time"];

#[test]
fn entries_have_a_name_of_their_own_a_known_class_and_packages() {
    let programs = read_registry();
    assert!(programs.len() >= 60, "{} commands", programs.len());
    let names: BTreeSet<&str> = programs.iter().map(|program| program.name.as_str()).collect();
    assert_eq!(names.len(), programs.len());
    for program in &programs {
        assert!(CLASSES.contains(&program.class.as_str()), "{}: {}", program.name, program.class);
        assert!(!program.package.is_empty(), "{}", program.name);
    }
}

#[test]
fn scripts_of_the_commands_exist() {
    for program in read_registry() {
        for word in program.resolve(&program.command).split([' ', '"']) {
            if let Some(script) = word.strip_prefix(&*exam_folder().to_string_lossy()) {
                assert!(
                    exam_folder().join(script.trim_start_matches('/')).is_file(),
                    "{}: {word}",
                    program.name
                );
            }
        }
    }
}

/// Each half needs programs of the frequent classes, or no factor could be chosen and examined.
#[test]
fn both_halves_hold_every_frequent_class() {
    let programs = read_registry();
    for class in ["processes", "threads", "OpenMP", "server"] {
        for half in [Half::Tuning, Half::Scoring] {
            let found = programs.iter().filter(|program| program.class == class && program.half() == half);
            assert!(found.count() >= 2, "{class}: {half:?}");
        }
    }
}
