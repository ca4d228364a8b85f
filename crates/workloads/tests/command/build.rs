//! `build`. A Makefile with the kernel's targets stands in for the kernel.

use std::path::Path;
use std::process::Command;

use morecores_testkit::{TestGroup, report_skip, skips_group, wait_until};

use crate::scratch::{Scratch, walk};
use crate::{assert_refused, output, word_after, work};

/// Whether the build tools are installed; reports the reason if they are not.
fn can_build(test: &str) -> bool {
    let there = |program| Command::new(program).arg("--version").output().is_ok();
    let can = ["make", "cc"].into_iter().all(there);
    if !can {
        report_skip(test, "there is no make or no cc (Debian packages make and gcc)");
    }
    can
}

#[test]
fn the_output_of_the_program_depends_on_the_project_alone() {
    if !can_build("the_output_of_the_program_depends_on_the_project_alone") {
        return;
    }
    let line = output("build --files 3 --threads 1");
    assert!(line.contains("generated project of 3 files, seed 1, warm cache, 1 job: "), "{line}");
    assert!(line.ends_with("(the program prints what its source means)\n"), "{line}");
    for name in ["serial", "parallel", "set-up", "link"] {
        assert!(word_after(&line, name).parse::<f64>().unwrap() > 0.0, "{line}");
    }
    let crc = |arguments| word_after(&output(arguments), "crc32").to_owned();
    assert_eq!(crc("build --files 3 --threads 4"), word_after(&line, "crc32"));
    assert_ne!(crc("build --files 3 --threads 4 --seed 2"), word_after(&line, "crc32"));
}

#[test]
fn a_serial_make_builds_the_same_project_with_its_compilations_beside_it() {
    const NAME: &str = "a_serial_make_builds_the_same_project_with_its_compilations_beside_it";
    if !can_build(NAME) {
        return;
    }
    let overlap = Path::new(env!("CARGO_BIN_EXE_morecores-work")).with_file_name("morecores-overlap");
    match Command::new(&overlap).args(["--quiet", "--", "true"]).output() {
        Err(_) => return report_skip(NAME, "morecores-overlap is not built: cargo build --workspace"),
        Ok(run) if !run.status.success() => {
            return report_skip(NAME, String::from_utf8_lossy(&run.stderr).trim_end());
        }
        Ok(_) => {}
    }
    let line = output("build --by overlap --files 3 --threads 2");
    assert!(line.contains(" 2 jobs beside a serial make: "), "{line}");
    assert_eq!(word_after(&line, "crc32"), word_after(&output("build --files 3"), "crc32"));
}

#[test]
fn a_wrong_compiler_is_found() {
    if !can_build("a_wrong_compiler_is_found") {
        return;
    }
    let scratch = Scratch::new("wrong-compiler");
    // This compiler makes one of the files subtract instead of add.
    let path = scratch.program(
        "cc",
        "#!/bin/sh\nPATH=${PATH#*:}\nfor last; do :; done\ncase $last in */unit_0001.c)\n\
         sed 's/ += / -= /' \"$last\" >wrong.c; exec cc -I. -I\"${last%/*}\" -c -o unit_0001.o wrong.c ;;\nesac\n\
         exec cc \"$@\"\n",
    );
    let run = work("build --files 2").env("PATH", path).assert().code(1).stdout("");
    let error = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(error.contains("WRONG RESULT: build, a line of the program: expected unit_0001"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

/// Targets of the kernel's Makefile that a run needs, and three ways to end.
const MAKEFILE: &str = "
tinyconfig prepare:
\techo $@ >>$(O)/order
mm/:
\ttest \"$$(cat $(O)/order | tr '\\n' ' ')\" = 'tinyconfig prepare '
\tmkdir -p $(O)/mm $(O)/scripts
\techo 'int x;' >$(O)/x.c && cd $(O) && cc -c -o mm/x.o x.c
\techo a program of the build >$(O)/scripts/x.o
text:
\techo no object >$(O)/x.o
nothing:
failure:
\techo x.c:1: error: no >&2; false
.PHONY: mm/ text nothing failure
";

#[test]
fn a_kernel_is_configured_prepared_and_built_outside_its_source() {
    const NAME: &str = "a_kernel_is_configured_prepared_and_built_outside_its_source";
    if skips_group(NAME, TestGroup::KernelBuild) || !can_build(NAME) {
        return;
    }
    let is_missing = |name: &&&str| Command::new(name).arg("--version").output().is_err();
    if let Some(missing) = ["flex", "bison", "bc"].iter().find(is_missing) {
        return report_skip(NAME, &TestGroup::KernelBuild.missing_program(missing));
    }
    let scratch = Scratch::new("kernel");
    scratch.write("kernel/Kbuild", "");
    scratch.write("kernel/scripts/kconfig/Makefile", "");
    scratch.write("kernel/Makefile", MAKEFILE);
    let source = scratch.0.join("kernel");
    let build = |target: &str| {
        work(&format!("build --source {} --target {target} --threads 2", source.display())).assert()
    };
    let listed = || walk(&source);
    let before = listed();
    let line = String::from_utf8_lossy(&build("mm/").success().get_output().stdout).into_owned();
    assert!(line.starts_with("build: mm/ of kernel, warm cache, 2 jobs: "), "{line}");
    assert!(line.ends_with("(every object is an ELF file)\n") && !line.contains("link"), "{line}");
    assert_eq!(listed(), before, "the source is as it was");
    for (target, status, reason) in [
        ("text", 1, "WRONG RESULT: build, the object "),
        ("nothing", 2, "make failed: nothing made no object"),
        ("failure", 2, "make failed: x.c:1: error: no"),
    ] {
        let error = build(target).code(status).get_output().stderr.clone();
        let error = String::from_utf8_lossy(&error).into_owned();
        assert!(error.contains(reason) && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn a_build_that_is_killed_leaves_nothing() {
    if !can_build("a_build_that_is_killed_leaves_nothing") {
        return;
    }
    let scratch = Scratch::new("killed");
    let mut run = Command::new(env!("CARGO_BIN_EXE_morecores-work"))
        .args(["build", "--files", "100", "--threads", "2"])
        .env("TMPDIR", &scratch.0)
        .spawn()
        .unwrap();
    wait_until("it compiles", || walk(&scratch.0).iter().any(|path| path.ends_with("build/unit_0000.o")));
    run.kill().unwrap();
    run.wait().unwrap();
    wait_until("everything is gone", || scratch.is_empty());
}

#[test]
fn an_impossible_build_is_refused_before_anything_runs() {
    assert_refused(&[
        ("build --files 0", "is not in"),
        ("build --cache hot", "warm, cold"),
        ("build --target vmlinux", "--target is a kernel's"),
        ("build --source /nowhere", "kernel source"),
    ]);
    let run = work("build --cache cold").env("TMPDIR", "/dev/shm").assert().code(2).stdout("");
    let error = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(error.contains("set TMPDIR to a directory on a disk"), "{error}");
    let run = work("build").env("PATH", "/nowhere").assert().code(2).stdout("");
    let error = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(error.contains("make is not installed; install it with: apt-get install make"), "{error}");
}
