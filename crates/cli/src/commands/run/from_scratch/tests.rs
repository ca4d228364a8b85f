//! Tests of the proposed lines, by build tool.

use super::*;

fn program(line: &str) -> Command {
    Command::Program { argv: line.split_whitespace().map(OsString::from).collect() }
}

fn undo_of(line: &str) -> Option<String> {
    undo_line(&program(line))
}

#[test]
fn each_build_tool_has_its_own_clean_command() {
    for (line, expected) in [
        ("make -j{n}", "make clean"),
        ("/usr/bin/make -j {n} all", "/usr/bin/make clean"),
        (
            "make -C src -fM.mk --directory=x O=out-{n} -j{n}",
            "make -C src -fM.mk --directory=x O=out-{n} clean",
        ),
        ("gmake -j{n}", "gmake clean"),
        ("env CC=clang nice make -j{n}", "make clean"),
        ("ninja -j{n} -C build all", "ninja -C build -t clean"),
        ("cargo build -j{n} --release", "cargo clean"),
        (
            "cargo +nightly test --manifest-path a/Cargo.toml -j{n}",
            "cargo +nightly clean --manifest-path a/Cargo.toml",
        ),
        ("cmake --build build -j{n}", "cmake --build build --target clean"),
        ("cmake -S . -B build", "cmake -E rm -rf build"),
        ("cmake -S . -Bbuild", "cmake -E rm -rf build"),
        ("go build -p {n} ./...", "go clean -cache"),
        ("bazel --output_base=/b build --jobs={n} //...", "bazel --output_base=/b clean"),
        ("npm ci", "rm -rf node_modules"),
        ("npm run build", "npm run clean"),
    ] {
        assert_eq!(undo_of(line).as_deref(), Some(expected), "{line}");
    }
    for line in ["./build.sh {n}", "cmake .", "env", "makepkg", "sort -o out big"] {
        assert_eq!(undo_of(line), None, "{line}");
    }
}

#[test]
fn a_shell_line_of_one_command_gets_a_clean_command() {
    let undo_of = |line: &str| undo_line(&Command::Shell { line: line.into() });
    assert_eq!(undo_of("make -j{n} O=x").as_deref(), Some("make O=x clean"));
    assert_eq!(undo_of("cd src && ninja").as_deref(), Some("cd src && ninja -t clean"));
    for line in ["make -j{n} | tail", "cd $X && make", "make a && make b", "make 'a b'", ""] {
        assert_eq!(undo_of(line), None, "{line}");
    }
}

fn rewritten(options: &str, study: Option<&str>, command: &str) -> String {
    let words: Vec<OsString> =
        options.split_whitespace().chain(command.split_whitespace()).map(OsString::from).collect();
    let command = command.split_whitespace().count();
    let rewritten = CommandLine { words: &words, command, study: study.map(Path::new), env: &[] };
    rewritten.with_prepare("make clean", Path::new("b-2.study"))
}

#[test]
fn the_proposed_line_is_the_typed_line_with_prepare() {
    assert_eq!(rewritten("--", None, "make -j{n}"), "morecores run --prepare 'make clean' -- make -j{n}");
    assert_eq!(
        rewritten("--cpus 1,2 --shell", None, "make"),
        "morecores run --prepare 'make clean' --cpus 1,2 --shell make"
    );
}

#[test]
fn a_named_study_gets_another_name() {
    for (options, expected) in [
        ("-o b.study --", "-o b-2.study --"),
        ("-qo b.study", "-qo b-2.study"),
        ("-ob.study --runs 3", "-ob-2.study --runs 3"),
        ("--out=b.study", "--out=b-2.study"),
        ("-w --out b.study --", "-w --out b-2.study --"),
    ] {
        let expected = format!("morecores run --prepare 'make clean' {expected} make b.study");
        assert_eq!(rewritten(options, Some("b.study"), "make b.study"), expected);
    }
    let existing = ["a/b-2.study", "a/b-3.study", "c-2"];
    let other = |study: &str| {
        unused_path(Path::new(study), |path| existing.iter().any(|name| path == Path::new(name)))
    };
    assert_eq!(other("a/b.study"), Path::new("a/b-4.study"));
    assert_eq!(other("c"), Path::new("c-3"));
}

#[test]
fn environment_variables_precede_the_line() {
    let env = [Variable { name: "MAKEFLAGS".into(), value: Some("-j{n}".into()) }];
    let words = ["make".into()];
    let rewritten = CommandLine { words: &words, command: 1, study: None, env: &env };
    assert_eq!(
        rewritten.with_prepare("make clean", Path::new("x")),
        "MAKEFLAGS=-j{n} morecores run --prepare 'make clean' make"
    );
}
