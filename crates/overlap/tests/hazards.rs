//! Hazards: makefiles with a missing dependency, and the same makefiles with it. What is found
//! names the file and both rules.

mod harness;

use std::fs;
use std::path::Path;
use std::process::Command;

use harness::{PROGRAM, skips};
use serde_json::Value;

/// Hazards of one build, each as kind, file, first target and other target.
fn hazards(files: &[(&str, &str)], goals: &[&str]) -> Vec<[String; 4]> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    let report = folder.path().join("report.json");
    let output = Command::new(PROGRAM)
        .args(["--jobs", "2", "--hazards", "--json"])
        .arg(&report)
        .args(["--", "make"])
        .args(goals)
        .current_dir(folder.path())
        .output()
        .expect("the build starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let report: Value = serde_json::from_slice(&fs::read(report).expect("a report")).expect("JSON");
    assert_eq!(report["hazards"]["unmatched"], 0, "{text}");
    let word = |value: &Value| value.as_str().expect("a word").to_owned();
    let found = report["hazards"]["found"].as_array().expect("a list");
    let all: Vec<[String; 4]> = found
        .iter()
        .flat_map(|hazard| {
            let file = word(&hazard["file"]);
            let root = folder.path().canonicalize().expect("a folder");
            let file =
                Path::new(&file).strip_prefix(root).expect("a file of the build").display().to_string();
            let others = hazard["others"].as_array().expect("a list");
            others.iter().map(move |other| {
                [
                    word(&hazard["kind"]),
                    file.clone(),
                    word(&hazard["first"]["target"]),
                    word(&other["target"]),
                ]
            })
        })
        .collect();
    assert_eq!(all.is_empty(), !text.contains("make -j may break"), "{text}");
    all
}

fn row(kind: &str, file: &str, first: &str, other: &str) -> [String; 4] {
    [kind, file, first, other].map(str::to_owned)
}

const SOURCES: [(&str, &str); 3] = [
    ("a.c", "#include \"config.h\"\nint main(void) { return CONFIG; }\n"),
    ("b.c", "int b(void) { return 1; }\n"),
    ("config.in", "#define CONFIG 0\n"),
];

/// A makefile in which the object needs a generated header.
fn with_header(dependency: &str) -> String {
    format!(
        "all: config.h prog\nprog: a.o b.o\n\t$(CC) -o $@ a.o b.o\n%.o: %.c\n\t$(CC) -c -o $@ $<\n\
         config.h: config.in\n\tsed s/x/y/ config.in > config.h\n{dependency}\n"
    )
}

#[test]
fn a_header_that_an_object_does_not_depend_on_is_found() {
    if skips("a_header_that_an_object_does_not_depend_on_is_found") {
        return;
    }
    let found = |dependency: &str| {
        let makefile = with_header(dependency);
        hazards(&[&SOURCES[..], &[("Makefile", &makefile)]].concat(), &[])
    };
    assert_eq!(found(""), [row("missing_dependency", "config.h", "config.h", "a.o")]);
    assert_eq!(found("a.o: config.h"), [] as [[String; 4]; 0]);
    assert_eq!(found("stamp: config.h\n\ttouch stamp\na.o: | stamp"), [] as [[String; 4]; 0]);
    assert_eq!(found(".NOTPARALLEL:"), [] as [[String; 4]; 0]);
}

#[test]
fn a_temporary_file_of_two_rules_and_a_folder_of_another_rule_are_found() {
    let name = "a_temporary_file_of_two_rules_and_a_folder_of_another_rule_are_found";
    if skips(name) {
        return;
    }
    let makefile = "all: one two out/b.o\none two: config.in\n\tcp config.in same.tmp; cp same.tmp $@\n\
                    out:\n\tmkdir out\nall: out/b.o\nout/b.o: b.c\n\t$(CC) -c -o $@ b.c\n";
    let files = [&SOURCES[..], &[("Makefile", makefile)]].concat();
    let found = hazards(&files, &["one", "two", "out", "all"]);
    assert_eq!(
        found,
        [row("two_writers", "same.tmp", "one", "two"), row("missing_dependency", "out", "out", "out/b.o"),]
    );
    let makefile =
        makefile.replace("\t$(CC)", "\tmkdir -p out; $(CC)").replace("\tmkdir out", "\tmkdir -p out");
    let makefile = makefile.replace("same.tmp", "$@.tmp");
    let files = [&SOURCES[..], &[("Makefile", &makefile)]].concat();
    assert_eq!(hazards(&files, &["one", "two", "out", "all"]), [] as [[String; 4]; 0]);
}

#[test]
fn a_library_of_another_directory_is_found_where_the_makefile_calls_make() {
    let name = "a_library_of_another_directory_is_found_where_the_makefile_calls_make";
    if skips(name) {
        return;
    }
    let library = "libb.a: b.o\n\tar rc libb.a b.o\n";
    let source = ("lib/b.c", SOURCES[1].1);
    let found = |call: &str, prerequisite: &str| {
        let top = format!(
            "all: lib prog\nlib:\n\t{call} -C lib\nprog: main.c {prerequisite}\n\t$(CC) -o $@ main.c lib/libb.a\n\
             .PHONY: all lib\n"
        );
        let main = ("main.c", "int b(void);\nint main(void) { return b() - 1; }\n");
        hazards(&[main, source, ("Makefile", &top), ("lib/Makefile", library)], &[])
    };
    let expected = [row("missing_dependency", "lib/libb.a", "lib", "prog")];
    assert_eq!(found("$(MAKE)", ""), expected);
    assert_eq!(found("make", ""), expected);
    assert_eq!(found("$(MAKE)", "lib"), [] as [[String; 4]; 0]);
}

#[test]
fn hazards_after_a_failure_are_those_of_the_serial_build() {
    let name = "hazards_after_a_failure_are_those_of_the_serial_build";
    if skips(name) {
        return;
    }
    // The failing compilation ends one target, and make goes on with the rest.
    let makefile = "all: config.h bad.o a.o\nconfig.h: config.in\n\tcp config.in config.h\n\
                    bad.o: bad.c\n\t-$(CC) -c bad.c\na.o: a.c\n\t$(CC) -c a.c\n";
    let files = [&SOURCES[..], &[("bad.c", "int broken(\n"), ("Makefile", makefile)]].concat();
    let found = hazards(&files, &[]);
    assert_eq!(found, [row("missing_dependency", "config.h", "config.h", "a.o")]);
}
