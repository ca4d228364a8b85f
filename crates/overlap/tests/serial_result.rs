//! Builds under `morecores-overlap` beside the same builds in series: status, text, files,
//! contents, modes, link targets and the order of the times of change must be equal.

mod comparison;
mod harness;

use comparison::{Build, BuildResult, MAKEFILE, broken_sources, directories, file, sources, words};
use harness::skips;

/// Compares one run in series with one run under overlap. Notes the running test as skipped where
/// overlap is forbidden.
fn compare(build: &Build) {
    compare_by(build, BuildResult::differences);
}

/// Compares one run in series with one run under overlap in some of their properties.
fn compare_by(build: &Build, differences: fn(&BuildResult, &BuildResult) -> Vec<String>) {
    if skips() {
        return;
    }
    let serial = build.run_without_overlap();
    let result = build.run_with_overlap(3);
    let name = build.name;
    let deferred = result.deferred().unwrap_or_else(|| panic!("{name}: no summary\n{result}"));
    assert!(deferred >= build.deferred, "{name}: only {deferred} commands deferred\n{result}");
    let differences = differences(&result, &serial);
    assert!(differences.is_empty(), "{name}: {differences:#?}\n{result}");
}

#[test]
fn a_makefile_builds_the_same_program_and_has_nothing_to_do_afterwards() {
    let mut files = sources(6);
    files.push(file("Makefile", MAKEFILE));
    compare(&Build { name: "makefile", files: files.clone(), command: words(&["make"]), deferred: 8 });
    let twice = words(&["sh", "-c", "make && make && make -q && echo nothing to do"]);
    compare(&Build { name: "twice", files, command: twice, deferred: 8 });
}

#[test]
fn a_library_is_archived_from_finished_objects() {
    let mut files = sources(4);
    let makefile = "\
all: prog
%.o: %.c
\t$(CC) -c $<
liba.a: a0.o a1.o a2.o a3.o
\trm -f $@
\tar rc $@ a0.o a1.o a2.o a3.o
\tranlib $@
\t@test -s $@
prog: main.o liba.a
\t$(CC) -o $@ main.o -L. -la
\tln -sf prog link
\t@if test -f link; then echo linked; else echo no link; fi
";
    files.push(file("Makefile", makefile));
    compare(&Build { name: "library", files, command: words(&["make"]), deferred: 8 });
}

#[test]
fn a_promise_that_does_not_come_true_is_taken_back() {
    // The first rule leaves no file, and the condition of the third is false.
    let makefile = "\
all: a.o b.o c.o d.o
\techo all of $^ and $?
a.o: a.c
\tgcc -fsyntax-only -c -o $@ a.c
b.o: b.c
\tgcc -c b.c
c.o: c.c b.o
\tif test -f no; then gcc -c c.c; fi
d.o: d.c c.o
\tgcc -c d.c || rm -f d.o
";
    let mut files: Vec<_> = ["a", "b", "c", "d"]
        .iter()
        .map(|name| file(&format!("{name}.c"), &format!("int {name};\n")))
        .collect();
    files.push(file("c.o", "an old object\n"));
    files.push(file("Makefile", makefile));
    compare(&Build { name: "promise", files: files.clone(), command: words(&["make"]), deferred: 4 });
    let twice = words(&["sh", "-c", "make; make"]);
    compare(&Build { name: "promise-twice", files, command: twice, deferred: 4 });
}

#[test]
fn a_promised_link_has_the_time_of_its_target_or_is_taken_back() {
    // The names of the last two are there already: a file, and a link to another file.
    let makefile = "\
all: one.txt two.txt three.txt four.txt
one.o two.o three.o four.o: a0.c
\tgcc -c -o $@ a0.c
one: one.o
\t[ -e one ] || ln -s one.o one
two: two.o
\tln -sf one two
three: three.o
\t[ -e three ] || ln -s three.o three
four: four.o
\t[ -e four ] || ln -s four.o four
%.txt: %
\tgcc -c -o $@.o a0.c
\techo $? > $@
";
    let mut files = sources(1);
    files.push(file("three", "old\n"));
    files.push(file("Makefile", makefile));
    let line = "ln -s Makefile four; touch -d 2001-01-01 three Makefile; make; make";
    compare(&Build { name: "promised-link", files, command: words(&["sh", "-c", line]), deferred: 8 });
}

#[test]
fn a_header_that_is_generated_between_compilations_is_seen_by_the_later_ones() {
    let mut files = sources(3);
    files.push(file("b.c", "#include \"gen.h\"\nint value(void) { return VALUE; }\n"));
    // No rule says that b.o needs gen.h: `make -j` breaks here.
    let makefile = "\
prog: a0.o a1.o a2.o gen.h b.o main.o
\t$(CC) -o $@ a0.o a1.o a2.o b.o main.o
gen.h: a0.o
\techo '#define VALUE 7' > $@
%.o: %.c
\t$(CC) -c $<
";
    files.push(file("Makefile", makefile));
    compare(&Build { name: "header", files, command: words(&["make"]), deferred: 6 });
}

#[test]
fn a_source_that_is_edited_between_two_compilations_is_compiled_in_both_forms() {
    let mut files = sources(2);
    let script = "#!/bin/sh
set -e
gcc -c a0.c -o one.o
sed -i 's/+ 0/+ 1000/' a0.c
gcc -c a0.c -o two.o
mv a0.c b.c
gcc -c b.c
gcc -c a1.c
rm a1.c
";
    files.push(file("build.sh", script));
    compare(&Build { name: "edit", files, command: words(&["./build.sh"]), deferred: 4 });
}

#[test]
fn a_list_of_objects_is_complete() {
    let mut files = sources(4);
    let script = "#!/bin/bash
for source in a*.c; do gcc -c $source; done
echo *.o
ls *.o > list
gcc -c main.c
gcc -o prog main.o $(ls a*.o)
[ prog -nt main.o ] && echo newer
[ a3.o -nt a0.o ] && echo later
wc -l < list
";
    files.push(file("build.sh", script));
    compare(&Build { name: "list", files, command: words(&["./build.sh"]), deferred: 6 });
}

#[test]
fn times_that_a_script_compares_are_in_the_serial_order() {
    let mut files = sources(3);
    let script = "#!/bin/sh
gcc -c a0.c; gcc -c a1.c; gcc -c a2.c
for pair in 'a0.o a1.o' 'a1.o a2.o'; do
  set -- $pair
  test $2 -nt $1 && echo $2 is newer
done
sleep 0.02
touch mark
test mark -nt a2.o && echo mark is newer
";
    files.push(file("build.sh", script));
    compare(&Build { name: "times", files, command: words(&["./build.sh"]), deferred: 3 });
}

#[test]
fn response_files_and_standard_input_are_read_when_the_serial_build_reads_them() {
    let mut files = sources(2);
    let script = "#!/bin/bash
echo '-O2 -DX=1' > flags
gcc @flags -c a0.c
echo '-O0 -g' > flags
gcc @flags -c a1.c
gcc -x c -c -o in.o - <<END
int input(void) { return 5; }
END
echo 'int piped(void) { return 6; }' | gcc -x c -c -o piped.o -
gcc -c main.c
gcc -o prog main.o a0.o a1.o in.o piped.o
";
    files.push(file("build.sh", script));
    compare(&Build { name: "response", files, command: words(&["bash", "build.sh"]), deferred: 4 });
}

#[test]
fn what_compilers_print_stands_where_the_serial_build_prints_it() {
    let mut files = sources(4);
    files.push(file("w.c", "int w(int x) { int unused; return x; }\n"));
    let script = "#!/bin/sh
for i in 0 1 2 3; do echo compiling $i; gcc -Wall -c a$i.c; echo done $i; gcc -Wall -c w.c -o w$i.o; done
echo end >&2
";
    files.push(file("build.sh", script));
    compare(&Build { name: "text", files: files.clone(), command: words(&["./build.sh"]), deferred: 8 });
    let merged = words(&["sh", "-c", "./build.sh 2>&1"]);
    compare(&Build { name: "merged", files, command: merged, deferred: 0 });
}

#[test]
fn a_failure_ends_make_as_in_series() {
    for (broken, name) in [(0, "make-first"), (2, "make-middle"), (4, "make-last")] {
        let mut files = broken_sources(5, broken);
        files.push(file("Makefile", MAKEFILE));
        compare(&Build { name, files, command: words(&["make"]), deferred: broken + 1 });
    }
}

#[test]
fn a_failure_lets_make_go_on_where_it_would_in_series() {
    for (broken, name) in [(0, "keep-first"), (2, "keep-middle"), (4, "keep-last")] {
        let mut files = broken_sources(5, broken);
        files.push(file("Makefile", MAKEFILE));
        compare(&Build { name, files: files.clone(), command: words(&["make", "-k"]), deferred: 6 });
        let line = "make && echo OK; make -k || echo failed $?";
        compare(&Build { name, files, command: words(&["sh", "-c", line]), deferred: 6 });
    }
}

#[test]
fn a_failure_takes_the_branch_of_a_script_that_it_takes_in_series() {
    for shell in ["dash", "bash"] {
        for broken in [0, 2, 4] {
            let mut files = broken_sources(5, broken);
            let script = "set -u
mkdir -p out
for i in 0 1 2 3 4; do
  gcc -c a$i.c -o out/a$i.o || echo \"$i failed with $?\"
done
mkdir more
if gcc -c a2.c; then echo yes; else echo no; touch absent; fi
gcc -c a0.c && gcc -c a1.c && gcc -c a2.c && echo all
set -e
gcc -c a4.c
gcc -c a3.c
gcc -c a1.c -o more/a1.o
echo end
";
            files.push(file("build.sh", script));
            let name = "branches";
            compare(&Build { name, files, command: words(&[shell, "build.sh"]), deferred: 8 });
        }
    }
}

#[test]
fn the_end_of_a_make_in_a_directory_is_taken_back_if_one_of_its_commands_fails() {
    for broken in 0..9 {
        for command in [
            words(&["make"]),
            words(&["make", "-k"]),
            words(&["sh", "-c", "make && echo OK; make -k z || echo failed $?"]),
            words(&["bash", "-c", "for d in x y z; do make -C $d || echo $d failed; done; echo end $?"]),
        ] {
            let name = "directories";
            compare(&Build { name, files: directories(broken), command, deferred: 1 });
        }
    }
}

#[test]
fn numbers_and_locks_of_shells_around_a_make_are_those_of_the_serial_build() {
    let functions: String = (0..300).map(|n| format!("int s{n}(int x) {{ return x * {n}; }}\n")).collect();
    let makefile = "%.o: %.c\n\tgcc -O1 -c $<\n";
    let mut files = vec![
        file("a/bad.c", &format!("{functions}int bad(\n")),
        file("a/good.c", &functions),
        file("b/good.c", &functions),
    ];
    files.extend(["a/Makefile", "b/Makefile"].map(|name| file(name, makefile)));
    for (name, script) in [
        (
            "number",
            "trap 'echo fatal; exit 7' TERM; export TOP=$$; ( make -C a bad.o || kill -s TERM $TOP ); \
             echo not reached; touch end",
        ),
        (
            "locks",
            "( flock -n 9 || { echo locked; exit 1; }; make -C a good.o; : ) 9<lock; \
             ( flock -n 9 || { echo locked; exit 1; }; make -C b good.o; : ) 9<lock",
        ),
    ] {
        let mut files = files.clone();
        files.push(file("lock", ""));
        files.push(file("top.sh", script));
        let command = words(&["bash", "-c", "sh top.sh; echo end $?"]);
        compare(&Build { name, files, command, deferred: 1 });
    }
}

#[test]
fn a_signal_to_the_number_of_a_script_reaches_it_after_a_failure() {
    for shell in ["dash", "bash"] {
        for (name, script) in [
            (
                "signal-itself",
                "trap 'echo caught; exit 3' TERM\ngcc -c a1.c || kill $$\ngcc -c a2.c\necho after\n",
            ),
            ("signal-killed", "gcc -c a0.c; gcc -c a1.c || kill -9 $$\ngcc -c a2.c\necho after\n"),
            (
                "signal-child",
                "trap 'echo caught' TERM\ngcc -c a1.c || sh -c \"kill $$\"\ngcc -c a2.c\necho after\n",
            ),
            ("signal-parent", "gcc -c a1.c || kill -INT $PPID\necho after\n"),
            ("signal-early", "gcc -c a0.c; gcc -c a1.c; kill $PPID\n"),
        ] {
            for broken in [0, 1, 2] {
                let mut files = broken_sources(3, broken);
                files.push(file("build.sh", script));
                files.push(file("outer.sh", &format!("{shell} build.sh; echo $?; touch end\n")));
                let command = words(&["sh", "-c", "sh outer.sh; echo end $?"]);
                compare(&Build { name, files, command, deferred: 1 });
            }
        }
    }
}

#[test]
fn a_program_that_leaves_the_tree_of_the_build_does_not_survive_what_undoes_its_start() {
    let daemon = "(sh -c 'sleep 0.3; echo $0 >> log' $1 > /dev/null 2>&1 &)\n";
    let script = "sh daemon.sh kept; gcc -c long.c; sh daemon.sh undone; gcc -c a0.c; sleep 0.6; cat log\n";
    let functions: String = (0..600).map(|n| format!("int s{n}(int x) {{ return x * {n}; }}\n")).collect();
    for (name, script) in
        [("stray-failure", format!("set -e\n{script}")), ("stray-success", script.to_owned())]
    {
        let mut files = sources(1);
        files.push(file("long.c", &format!("{functions}int bad(\n")));
        files.push(file("daemon.sh", daemon));
        files.push(file("build.sh", &script));
        let command = words(&["sh", "-c", "sh build.sh; echo $?; sleep 0.6"]);
        compare(&Build { name, files, command, deferred: 1 });
    }
}

#[test]
fn outputs_of_before_a_failure_come_back() {
    let mut files = broken_sources(4, 1);
    files.push(file("a2.o", "an old object\n"));
    files.push(file("script.sh", "gcc -c a0.c\ngcc -c a1.c || exit 3\ngcc -c a2.c\ngcc -c a3.c\n"));
    compare(&Build { name: "before", files, command: words(&["sh", "script.sh"]), deferred: 2 });
}

#[test]
fn a_loop_over_a_list_goes_on_after_a_failure() {
    let mut files = broken_sources(5, 1);
    files.push(file("list", "a0\na1\na2\na3\na4\n"));
    let body = "do gcc -c $f.c || echo failed $f; done";
    let from_file = format!("while read f; {body} < list");
    let from_pipe = format!("cat list | while read f; {body}");
    let script = format!("echo '{body}' > /dev/null; for f in $(cat list); {body}");
    for (name, line) in [("loop-file", from_file), ("loop-pipe", from_pipe), ("loop-words", script)] {
        for shell in ["dash", "bash"] {
            let mut files = files.clone();
            files.push(file("build.sh", &format!("{line}\necho end\n")));
            compare(&Build { name, files, command: words(&[shell, "build.sh"]), deferred: 1 });
        }
    }
}

#[test]
fn conditions_links_and_moves_are_those_of_the_serial_build() {
    for (name, script) in [
        (
            "condition",
            "sh -c '[ -d nope ] && cd nope; gcc -c a0.c'\nls\nsh -c '[ -f a0.c ] && OUT=x.o || OUT=y.o; gcc -c a1.c -o $OUT'\nls\n",
        ),
        ("exit", "gcc -c a0.c\nsh -c 'test -f a0.o && exit 0; gcc -c a1.c'\nls\n"),
        ("link", "gcc -c a0.c\nln -s a0.o link.o\ngcc -c a0.c\nar rcD lib.a link.o\nls lib.a\n"),
        (
            "through",
            "echo old > real.txt; ln -s real.txt cur.txt\ngcc -S a0.c -o new.txt\ncp new.txt cur.txt\nwc -l < real.txt\n",
        ),
        (
            "parent",
            "mkdir -p deep/sub; ln -s deep/sub s\ngcc -c a0.c -o s/../a0.o\nls . deep\n(cd s && gcc -c ../../a1.c -o ../a1.o)\nls . deep\n",
        ),
        (
            "moves",
            "sh -c 'gcc -O2 -MD -MF a.Tpo -c a0.c -o a.o && mv -f a.Tpo a.Po'\ngcc -c a1.c -o t.o\nmv t.o u.o\nls\n",
        ),
        (
            "temporary",
            "t=$(mktemp); gcc -c a0.c; echo 'int a;' > $t; cp $t one.c; echo 'int b;' > $t; cp $t two.c\ngcc -c one.c; gcc -c two.c; rm $t\n",
        ),
        (
            "directory",
            "sh -c 'mkdir -p out && cp a0.c out'\ngcc -c a1.c\nsh -c 'mkdir -p out2 && cp a0.c out2'\nls out out2\n",
        ),
        (
            "headers",
            "gcc -c a0.c\ngcc -x c-header a1.c -o all.h.gch\nls; rm all.h.gch\ngcc -c --output z.o a0.c\nls\n",
        ),
        (
            "absent",
            "gcc -c a0.c\nrm -f x.h\nsh -c 'rm -f y.o; gcc -c a1.c'\ngcc -c a0.c -o y.o\nrm -f a0.o\nrm -f a0.o z\nls\n",
        ),
        (
            "link-above",
            "mkdir dir; gcc -c a0.c; gcc -c a1.c; gcc -c a0.c -o x.o\nln -s dir b\ncp a0.c b/x.h\ncat dir/x.h\nls b\n",
        ),
        (
            "link-above-object",
            "mkdir dir; gcc -c a0.c; gcc -c a1.c; gcc -c a0.c -o x.o\nln -s dir b\ngcc -c a1.c -o b/y.o\nls dir\nmkdir -p b/sub\nls b\n",
        ),
        (
            "link-behind",
            "echo text > a.txt; gcc -c a0.c; gcc -c a1.c; gcc -c a0.c -o x.o\nln -s a.txt b\ncp a0.c b\ncat a.txt\ngcc -S a1.c -o b\ncat a.txt\nls -l b | wc -l\n",
        ),
        (
            "link-in-link",
            "mkdir dir; gcc -c a0.c; gcc -c a1.c; gcc -c a0.c -o x.o\nln -s dir b\nln -s x.o b\nls dir b; ln -s a0.c b/one; cat dir/one\n",
        ),
        (
            "made-later",
            "sh -c 'gcc -c bad.c -o x.o && mkdir -p out && cp a0.c out' || { sleep 0.1; ls; exit 4; }\nsh -c 'mkdir -p out && gcc -c a1.c -o out/b.o'\n",
        ),
        (
            "made-by-both",
            "sh -c 'mkdir -p out && gcc -c bad.c -o out/a.o' || { sleep 0.1; ls -d out; exit 4; }\nsh -c 'mkdir -p out && gcc -c a1.c -o out/b.o'\nsh -c 'mkdir -p out && gcc -c a1.c -o out/c.o'\n",
        ),
        (
            "replaced",
            "echo mine > precious.o\ngcc -c a1.c -o x.o\ngcc -c bad.c || echo failed\nln -sf precious.o x.o\ncat precious.o\n",
        ),
    ] {
        let mut files = sources(2);
        files.push(file("bad.c", "int bad(void) { return undeclared; }\n"));
        files.push(file("build.sh", script));
        compare(&Build { name, files, command: words(&["sh", "build.sh"]), deferred: 1 });
    }
}

#[test]
fn two_parts_of_a_build_at_the_same_time_do_not_undo_each_other() {
    let mut files: Vec<_> =
        broken_sources(3, 0).into_iter().map(|(name, text)| (format!("a/{name}"), text)).collect();
    files.extend(sources(3).into_iter().map(|(name, text)| (format!("b/{name}"), text)));
    files.push(file("a/Makefile", MAKEFILE));
    files.push(file("b/Makefile", MAKEFILE));
    let line = "make -s -C a >a.log 2>&1 & make -s -C b >b.log 2>&1; wait; ls b";
    let build = Build { name: "parts", files, command: words(&["sh", "-c", line]), deferred: 0 };
    // The parts are parallel, so the order of their times varies from run to run.
    compare_by(&build, BuildResult::file_differences);
}

/// A makefile with filters between compilations, as Automake and libpng write them. `EXTRA` is a
/// line of the rule of `list.h`.
const FILTERS: &str = "\
OBJECTS = a0.o a1.o a2.o a3.o main.o
.SECONDARY:
all: prog names.h
table.h: table.in upper.sed
\trm -f $@ $@.t[12]
\tsed -f upper.sed -e 's|@count@|4|' table.in > $@.t1
\tawk -f number.awk out=$@.t2 $@.t1 1>&2
\trm -f $@.t1
\tmv $@.t2 $@
list.h: table.h
\tgrep -v '^#' table.h | sort | sed 's/^/\\/\\/ /' > $@.t
EXTRA
\tcp $@.t $@
\trm -f $@.t
names.h: prog
\tsed -n 's/.*int \\([a-z0-9]*\\).*/\\1/p' a0.c a1.c main.c > $@
\t@grep -q f1 $@ && echo found
\ttouch names.stamp
%.i: %.c table.h
\tgcc -E $< > $@
%.o: %.c
%.o: %.i list.h
\tgcc -O1 -c -o $@ $<
prog: $(OBJECTS)
\tgcc -o $@ $(OBJECTS)
";

/// Files of a build with filters.
fn filtered_sources(extra: &str) -> Vec<(String, String)> {
    let mut files = sources(4);
    files.push(file("table.in", "// name@count@\n#define COUNT @count@\n// last\n"));
    files.push(file("upper.sed", "# Comments in capitals.\ns|^// name|// NAME|\n"));
    files.push(file("number.awk", "BEGIN { out = \"/dev/null\" }\n{ print (NR > 2) }\n{ print $0 >out }\n"));
    files.push(file("Makefile", &FILTERS.replace("EXTRA", extra)));
    files.push(file("a1.c", "#include \"table.h\"\nint f1(int x) { return x + COUNT; }\n"));
    files
}

#[test]
fn filters_between_compilations_print_what_they_print_in_series() {
    if skips() {
        return;
    }
    let files = filtered_sources("\ttest -s $@.t");
    compare(&Build { name: "filters", files: files.clone(), command: words(&["make"]), deferred: 14 });
    let twice = words(&["sh", "-c", "make && touch table.in && make && make -q && echo nothing to do"]);
    compare(&Build { name: "filters-twice", files, command: twice, deferred: 14 });
}

#[test]
fn a_filter_that_fails_takes_back_what_came_later() {
    if skips() {
        return;
    }
    for (name, extra) in [
        ("filters-grep", "\tgrep absent $@.t"),
        ("filters-sed", "\tsed 's/a/b/' missing > $@.u"),
        ("filters-awk", "\tawk 'NR > 1 { exit 3 } { print }' table.in"),
        ("filters-writes", "\tsed 'w $@.copy' $@.t"),
    ] {
        for command in [words(&["make"]), words(&["make", "-k"])] {
            compare(&Build { name, files: filtered_sources(extra), command, deferred: 2 });
        }
    }
}

#[test]
fn a_script_with_filters_has_the_serial_result() {
    if skips() {
        return;
    }
    let mut files = sources(3);
    let script = "#!/bin/sh
gcc -c a0.c
sed s/f0/g0/ a0.c > g0.c; gcc -c g0.c
awk '{ print > \"copy.c\" }' a1.c; gcc -c copy.c
sed -i s/f2/g2/ a2.c; gcc -c a2.c
sort a0.c a1.c | uniq -c | tr -d ' ' | head -n 1
echo one two | cut -d ' ' -f 2 | tee word
count=$(grep -c int a0.c a2.c | wc -l); echo $count
gcc -E main.c | tail -n 1
nm copy.o | grep -q f1 && echo has f1
grep absent main.c || echo absent
";
    files.push(file("build.sh", script));
    compare(&Build { name: "filter-script", files, command: words(&["./build.sh"]), deferred: 4 });
}

/// A libtool script of this machine, such as that of Debian's package `libtool-bin`.
fn libtool_script() -> Option<String> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).find_map(|folder| std::fs::read_to_string(folder.join("libtool")).ok())
}

/// A makefile that links libraries of each kind by libtool.
const LIBTOOL: &str = "\
SHELL = /bin/bash
LINK = $(SHELL) ./libtool --tag=CC --mode=link gcc -O1
all: prog plugin.la static.stamp
%.lo: %.c
\t$(SHELL) ./libtool --tag=CC --mode=compile gcc -O1 -c -o $@ $<
libpart.la: a0.lo a1.lo
\t$(LINK) -o $@ a0.lo a1.lo
libone.la: a2.lo a3.lo one.vers
\t$(LINK) -no-undefined -version-info 3:1:2 -Wl,--version-script=one.vers -o $@ -rpath /usr/lib a2.lo a3.lo -lm
libtwo.la: a4.lo libone.la libpart.la
\t$(LINK) -shared -release 1.2 -export-symbols-regex '^f' -o $@ -rpath /usr/lib a4.lo libone.la libpart.la
libboth.la: a5.lo libpart.la
\t$(LINK) -version-number 2:1 -o $@ -rpath /usr/lib a5.lo libpart.la
plugin.la: a5.lo
\t$(LINK) -module -avoid-version -o $@ -rpath /usr/lib/x a5.lo
static.stamp: a5.lo
\t$(LINK) -static -o libstatic.la -rpath /usr/lib a5.lo
\ttouch $@
one.vers: names
\tsed 's/.*/{ global: &; };/' names > $@
prog: main.lo libone.la libtwo.la libpart.la libboth.la
\t$(LINK) -o $@ main.lo libboth.la libtwo.la libone.la libpart.la
";

/// Files of a build with libraries; `None` without a libtool here.
fn library_sources(test: &str) -> Option<Vec<(String, String)>> {
    let Some(script) = libtool_script() else {
        morecores_testkit::report_skip(test, "no libtool is in PATH");
        return None;
    };
    let mut files = sources(6);
    files.push(file("main.c", "int f2(int); int f4(int);\nint main(void) { return f2(0) + f4(1) - 7; }\n"));
    files.push(file("libtool", &script));
    files.push(file("names", "f*\n"));
    files.push(file("Makefile", LIBTOOL));
    Some(files)
}

#[test]
fn libraries_that_libtool_links_are_those_of_the_serial_build() {
    let test = "libraries_that_libtool_links_are_those_of_the_serial_build";
    if skips() {
        return;
    }
    let Some(files) = library_sources(test) else { return };
    compare(&Build { name: "libtool", files: files.clone(), command: words(&["make"]), deferred: 12 });
    let line = "make && touch a2.c && make && ./prog && make -q && echo nothing to do";
    compare(&Build { name: "libtool-twice", files, command: words(&["sh", "-c", line]), deferred: 12 });
}

#[test]
fn a_failure_among_links_of_libtool_leaves_what_the_serial_build_leaves() {
    let test = "a_failure_among_links_of_libtool_leaves_what_the_serial_build_leaves";
    if skips() {
        return;
    }
    let Some(files) = library_sources(test) else { return };
    for (name, broken, text) in [
        ("libtool-compile", "a2.c", "int broken(void) { return undeclared; }\n"),
        ("libtool-link", "names", "f*; broken { \n"),
        ("libtool-last", "main.c", "int absent(void); int main(void) { return absent(); }\n"),
    ] {
        let mut files = files.clone();
        files.push(file(broken, text));
        for command in [words(&["make"]), words(&["make", "-k"])] {
            compare(&Build { name, files: files.clone(), command, deferred: 2 });
        }
    }
}
