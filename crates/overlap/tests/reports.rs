//! Reports about a build: hazards of makefiles with and without a missing dependency, estimates,
//! the record and the timeline.

mod harness;

use std::fs;
use std::path::Path;
use std::process::Command;

use harness::{PROGRAM, skips};
use serde_json::Value;

/// The record of a build by make that ends with success.
fn record(folder: &Path, options: &[&str]) -> Value {
    let path = folder.join("report.json");
    let mut command = Command::new(PROGRAM);
    command.args(options).arg("--json").arg(&path).args(["--", "make"]).current_dir(folder);
    let output = command.output().expect("the build starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&fs::read(path).expect("a report")).expect("JSON")
}

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
    if skips() {
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
    if skips() {
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
    if skips() {
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
    if skips() {
        return;
    }
    // The failing compilation ends one target, and make goes on with the rest.
    let makefile = "all: config.h bad.o a.o\nconfig.h: config.in\n\tcp config.in config.h\n\
                    bad.o: bad.c\n\t-$(CC) -c bad.c\na.o: a.c\n\t$(CC) -c a.c\n";
    let files = [&SOURCES[..], &[("bad.c", "int broken(\n"), ("Makefile", makefile)]].concat();
    let found = hazards(&files, &[]);
    assert_eq!(found, [row("missing_dependency", "config.h", "config.h", "a.o")]);
}

#[test]
fn the_dry_run_changes_no_file() {
    if skips() {
        return;
    }
    // Both would be made in the dry run: by a line that calls make, and as a makefile.
    let top = "include conf.mk\nall: lib.stamp prog\nlib.stamp:\n\t$(MAKE) -C lib && touch lib.stamp\n\
               prog: main.c\n\t$(CC) $(FLAGS) -o $@ main.c lib/libb.a\n\
               conf.mk: Makefile\n\techo \"FLAGS = -DM='\\\"$$MAKE\\\"'\" > conf.mk\n";
    let main = ("main.c", "int b(void);\nint main(void) { return b() - 1 + (M[0] == ':'); }\n");
    let files = [
        main,
        ("Makefile", top),
        ("lib/Makefile", "libb.a: b.o\n\tar rc libb.a b.o\n"),
        ("lib/b.c", SOURCES[1].1),
    ];
    // Without the library or with a wrong name of make the build would fail.
    assert_eq!(hazards(&files, &[]), [row("missing_dependency", "lib/libb.a", "lib.stamp", "prog")]);
}

#[test]
fn headers_of_a_rule_with_two_targets_are_no_hazard() {
    if skips() {
        return;
    }
    let makefile = "main.o: main.c p.h\n\t$(CC) -c main.c\n%.c %.h: %.y config.h\n\tcp config.h $*.h; cp $< $*.c\n\
                    config.h: config.in\n\tcp config.in config.h\n";
    let main = ("main.c", "#include \"p.h\"\n#include \"config.h\"\nint main(void) { return CONFIG; }\n");
    let files = [main, ("p.y", "int p;\n"), SOURCES[2], ("Makefile", makefile)];
    assert_eq!(hazards(&files, &[]), [] as [[String; 4]; 0]);
}

#[test]
fn an_estimate_is_near_the_sum_of_its_parts() {
    if skips() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for index in 0..8 {
        let functions: String = (0..400)
            .map(|n| format!("int f{index}_{n}(int x) {{ return x * {n} + x % {}; }}\n", n + 2))
            .collect();
        fs::write(folder.path().join(format!("a{index}.c")), functions).expect("a source");
    }
    let makefile = "OBJECTS = $(patsubst %.c,%.o,$(sort $(wildcard *.c)))\nlib.a: $(OBJECTS)\n\tar rc lib.a $(OBJECTS)\n\
                    %.o: %.c\n\t$(CC) -O2 -c $<\n";
    fs::write(folder.path().join("Makefile"), makefile).expect("a makefile");
    let report = folder.path().join("report.json");
    let trace = folder.path().join("trace.json");
    let output = Command::new(PROGRAM)
        .args(["--estimate", "--json"])
        .arg(&report)
        .arg("--trace")
        .arg(&trace)
        .args(["--", "make"])
        .current_dir(folder.path())
        .output()
        .expect("the build starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let read =
        |path: &Path| -> Value { serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON") };
    let report = read(&report);
    let speedup = |index: usize| report["estimates"][index]["speedup"].as_f64().expect("a number");
    // Eight compilations of about one length, and little else.
    assert!((1.2..=2.0).contains(&speedup(0)), "{text}");
    assert!((speedup(0)..=4.0).contains(&speedup(1)), "{text}");
    assert!((speedup(1)..=8.0).contains(&speedup(2)), "{text}");
    assert!(text.contains("estimated from this run in series: 2 CPUs"), "{text}");
    // In series no command runs beside another.
    let commands = report["commands"].as_array().expect("a list");
    assert_eq!(commands.len(), 9);
    let time = |command: &Value, name: &str| command[name].as_f64().expect("a number");
    assert!(commands.windows(2).all(|pair| time(&pair[0], "ended_s") <= time(&pair[1], "started_s")));
    let events = read(&trace);
    let spans = events["traceEvents"].as_array().expect("a list").iter().filter(|event| event["ph"] == "X");
    assert_eq!(spans.count(), 10);
}

#[test]
fn a_compilation_starts_before_a_list_that_it_may_include_and_waits_if_it_does() {
    if skips() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    let slow: String = (0..1500).map(|n| format!("int s{n}(int x) {{ return x * {n} / 7; }}\n")).collect();
    write("slow.c", &slow);
    write("list.in", "int listed = 42; // take\nint listed = 1; // leave\n");
    write("list.txt", "int listed = 7;\n");
    write("apart.c", "int apart(void) { return 1; }\n");
    write("include.c", "#include \"list.txt\"\nint main(void) { return listed; }\n");
    // The list may be what the first compilation includes, so it waits for that.
    let script = "gcc -O2 -c slow.c\ngrep take list.in > list.txt\ngcc -c apart.c\ngcc -c include.c\n\
                  gcc -o prog include.o\n";
    write("Makefile", &format!("all:\n\t{}", script.trim_end().replace('\n', "\n\t")));
    let report = record(folder.path(), &["--jobs", "2"]);
    let status = Command::new(folder.path().join("prog")).status().expect("the program starts");
    assert_eq!(status.code(), Some(42));
    let time = |command: usize, name: &str| report["commands"][command][name].as_f64().expect("a number");
    let [slow, list, apart, include] = [0, 1, 2, 3];
    assert!(time(list, "started_s") >= time(slow, "ended_s"), "{report:#}");
    assert!(time(apart, "ended_s") <= time(list, "started_s"), "{report:#}");
    assert!(time(include, "started_s") <= time(list, "started_s"), "{report:#}");
    assert!(time(include, "ended_s") >= time(list, "ended_s"), "{report:#}");
}

#[test]
fn an_estimate_counts_a_possible_header_only_where_a_compilation_looks_at_it() {
    if skips() {
        return;
    }
    let speedup = |second: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
        let functions: String =
            (0..1500).map(|n| format!("int s{n}(int x) {{ return x * {n} / 7; }}\n")).collect();
        write("first.c", &functions);
        write("second.c", &format!("{second}\n{functions}"));
        write("list.in", "int listed = 42; // take\n");
        // The first compilation may include the list, which therefore waits for its end.
        write(
            "Makefile",
            "all:\n\tgcc -O2 -c first.c\n\tgrep take list.in > list.txt\n\tgcc -O2 -c second.c\n",
        );
        record(folder.path(), &["--estimate"])["estimates"][1]["speedup"].as_f64().expect("a number")
    };
    let (apart, including) = (speedup("int apart;"), speedup("#include \"list.txt\""));
    assert!(apart > 1.4, "{apart}");
    assert!(including < 1.2, "{including}");
}

#[test]
fn a_make_in_a_directory_ends_before_its_commands_and_the_build_goes_on() {
    if skips() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let functions: String =
        (0..500).map(|n| format!("int s{n}(int x) {{ return x * {n} / 7; }}\n")).collect();
    for directory in ["x", "y"] {
        let directory = folder.path().join(directory);
        fs::create_dir(&directory).expect("a folder");
        fs::write(directory.join("slow.c"), &functions).expect("a source");
        fs::write(directory.join("Makefile"), "all:\n\tgcc -O2 -c slow.c\n").expect("a makefile");
    }
    fs::write(folder.path().join("Makefile"), "all:\n\t$(MAKE) -C x\n\tcd y && $(MAKE)\n")
        .expect("a makefile");
    let report = record(folder.path(), &["--jobs", "2"]);
    let time = |command: usize, name: &str| report["commands"][command][name].as_f64().expect("a number");
    assert!(time(1, "deferred_s") < time(0, "ended_s"), "{report:#}");
    // Only the first make waits.
    let waits = report["waits"].as_array().expect("a list");
    let ends = waits.iter().filter(|wait| wait["reason"] == "exit");
    assert_eq!(ends.count(), 1, "{report:#}");
    let report = record(folder.path(), &["--estimate"]);
    let speedup = report["estimates"][0]["speedup"].as_f64().expect("a number");
    assert!(speedup > 1.4, "{report:#}");
}

#[test]
fn a_removal_of_nothing_is_not_deferred_and_a_link_waits_for_no_program_of_another() {
    if skips() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let main = "int main(void) { return 0; }\n";
    let rules: String = ["one", "two"]
        .map(|name| {
            fs::write(folder.path().join(format!("{name}.c")), main).expect("a source");
            format!("{name}: {name}.c\n\tgcc -c {name}.c\n\trm -f {name}\n\tgcc -o {name} {name}.o -lm\n")
        })
        .concat();
    fs::write(folder.path().join("Makefile"), format!("all: one two\n{rules}")).expect("a makefile");
    let report = record(folder.path(), &["--jobs", "2"]);
    let commands = report["commands"].as_array().expect("a list");
    let texts: Vec<&str> = commands.iter().filter_map(|command| command["command"].as_str()).collect();
    let expected = ["gcc -c one.c", "gcc -o one one.o -lm", "gcc -c two.c", "gcc -o two two.o -lm"];
    assert_eq!(texts, expected);
    assert!(!commands[3]["after"].as_array().expect("a list").contains(&1.into()), "{report:#}");
}

#[test]
fn make_does_not_wait_for_a_link_to_a_pending_library() {
    if skips() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let functions: String =
        (0..500).map(|n| format!("int s{n}(int x) {{ return x * {n} / 7; }}\n")).collect();
    fs::write(folder.path().join("slow.c"), functions).expect("a source");
    let makefile = "\
all: lib/liba.so slow.o
lib/liba.so: slow.c
\tmkdir -p lib
\tgcc -O2 -shared -fPIC -o lib/liba.so.1 slow.c
\t[ -e lib/liba.so ] || ln -s liba.so.1 lib/liba.so
slow.o: slow.c lib/liba.so
\tgcc -O2 -c slow.c
";
    fs::write(folder.path().join("Makefile"), makefile).expect("a makefile");
    let report = record(folder.path(), &["--jobs", "2"]);
    let waits = report["waits"].as_array().expect("a list");
    assert!(waits.iter().all(|wait| wait["reason"] == "exit"), "{report:#}");
    assert_eq!(report["commands"].as_array().map(Vec::len), Some(3), "{report:#}");
    let again = Command::new("make").arg("-q").current_dir(folder.path()).status().expect("make starts");
    assert!(again.success(), "make has nothing to do");
}
