//! The builds whose results must be those of the serial run every time.

use crate::comparison::{Build, MAKEFILE, broken_sources, directories, file, sources, words};
use crate::random::random_tree;

/// A row of the table: a build, or some of one kind that take turns.
pub(crate) struct Row {
    pub(crate) title: &'static str,
    pub(crate) builds: Vec<Build>,
}

/// All rows, in the order of the table.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = makefiles();
    rows.extend(scripts());
    rows.extend(failures());
    rows.push(Row { title: "random trees", builds: (0..RANDOM_TREES).map(random_tree).collect() });
    rows
}

/// Number of random trees, which take turns.
const RANDOM_TREES: u64 = 50;

/// Functions of a source whose compilation takes several times as long as that of the others. A
/// command that does not wait for it starts too early.
const LONG: usize = 150;

/// A source that needs some time to compile.
fn long_source() -> (String, String) {
    let function = |index| {
        format!(
            "int long{index}(int x)\n{{ int s = 0; for (int j = 0; j < x; j++) \
             {{ s += j * {index}; if (s > 100) s ^= x; }} return s; }}\n"
        )
    };
    ("long.c".to_owned(), (0..LONG).map(function).collect())
}

/// A row with one build.
fn row(
    title: &'static str,
    name: &'static str,
    files: Vec<(String, String)>,
    command: &[&str],
    deferred: usize,
) -> Row {
    Row { title, builds: vec![Build { name, files, command: words(command), deferred }] }
}

fn makefiles() -> Vec<Row> {
    let with_makefile = |mut files: Vec<(String, String)>, makefile: &str| {
        files.push(file("Makefile", makefile));
        files
    };
    let with_long = |count| {
        let mut files = sources(count);
        files.push(long_source());
        files
    };
    let generated = |prerequisites: &str| {
        let mut files = sources(3);
        files.push(file("b.c", "#include \"table.h\"\nint b(void) { return VALUE; }\n"));
        files.push(file(
            "c.c",
            "#include \"config.h\"\n#include \"table.h\"\nint c(void) { return SIZE + VALUE; }\n",
        ));
        files.push(file("config.in", "#define NUMBER 9\nint size_is = NUMBER;\n#pragma SIZE NUMBER\n"));
        files.push(long_source());
        let table = "#include <stdio.h>\nint main(void) { puts(\"#define VALUE 7\"); return 0; }\n";
        files.push(file("table.c", table));
        with_makefile(files, &format!("{HEADER_MAKEFILE}{prerequisites}"))
    };
    let mut library = with_long(4);
    library.retain(|(name, _)| name != "main.c");
    library
        .push(file("main.c", "int f0(int);\nint long9(int);\nint main(void) { return f0(0) + long9(0); }\n"));
    vec![
        row("makefile", "makefile", with_makefile(sources(11), MAKEFILE), &["make"], 13),
        row("missing dependency: generated headers", "header", generated(""), &["make"], 7),
        row(
            "missing dependency: link of *.o",
            "wildcard",
            with_makefile(with_long(6), WILDCARD_MAKEFILE),
            &["make"],
            8,
        ),
        row(
            "missing dependency: -l of a library",
            "library",
            with_makefile(library, LIBRARY_MAKEFILE),
            &["make"],
            8,
        ),
        row("missing dependency: recursion, include", "recursion", recursive_files(), &["make"], 5),
        row(
            "missing dependency: directory",
            "directory",
            with_makefile(with_long(4), DIRECTORY_MAKEFILE),
            &["make"],
            6,
        ),
        row(
            "missing dependency: time stamps",
            "times",
            with_makefile(with_long(2), TIMES_MAKEFILE),
            &["make"],
            3,
        ),
        row(
            "generated headers, right dependencies",
            "prerequisites",
            generated("b.o c.o: table.h config.h\n"),
            &["make"],
            7,
        ),
    ]
}

/// Headers from a compiled program and from the preprocessor, first among the prerequisites.
const HEADER_MAKEFILE: &str = "\
OBJECTS = b.o c.o a0.o a1.o main.o
prog: table.h config.h $(OBJECTS)
\t$(CC) -o $@ $(OBJECTS)
table: table.c long.c
\t$(CC) -O2 -o $@ table.c long.c
table.h: table
\t./table > $@
config.h: config.in
\t$(CC) -E -P -x c -o config.i config.in
\tsed -n 's/#pragma SIZE NUMBER/#define SIZE 9/p' config.i > $@
%.o: %.c
\t$(CC) -c $<
";

/// The link takes every object that is there, and names one of them.
const WILDCARD_MAKEFILE: &str = "\
all: objects prog
objects: a0.o a1.o a2.o a3.o a4.o a5.o long.o
prog: main.o
\t$(CC) -o $@ *.o
%.o: %.c
\t$(CC) -O2 -c $<
.PHONY: all objects
";

/// The link finds the library by itself.
const LIBRARY_MAKEFILE: &str = "\
all: library prog
library: liba.a
liba.a: a0.o a1.o a2.o a3.o long.o
\trm -f $@
\tar rc $@ $^
\tranlib $@
prog: main.o
\t$(CC) -o $@ main.o -L. -la
%.o: %.c
\t$(CC) -O2 -c $<
.PHONY: all library
";

/// The objects lie in a directory that another rule makes.
const DIRECTORY_MAKEFILE: &str = "\
all: out out/a0.o out/a1.o out/a2.o out/a3.o
\tls out
out: long.o
\tmkdir $@
out/%.o: %.c
\t$(CC) -O2 -c -o $@ $<
%.o: %.c
\t$(CC) -O2 -c $<
";

/// A recipe looks at an object that is no prerequisite.
const TIMES_MAKEFILE: &str = "\
all: long.o a0.o a1.o report
report: a1.o
\tif test a1.o -nt long.o; then echo newer > $@; else echo older > $@; fi
\t@if [ long.o -nt a0.o ]; then echo long.o is newer; else echo long.o is older; fi
%.o: %.c
\t$(CC) -O2 -c $<
";

/// Two directories: the second includes a makefile and links a library of the first.
fn recursive_files() -> Vec<(String, String)> {
    let top = "\
all: lib app
lib:
\t$(MAKE) -C lib
app:
\t$(MAKE) -C app
.PHONY: all lib app
";
    let library = "\
all: libx.a flags.mk
libx.a: a0.o a1.o long.o
\trm -f $@; printf '%s ' $^ | xargs ar rc $@
flags.mk: libx.a
\techo CFLAGS = -DSIZE=7 > $@
%.o: %.c
\t$(CC) -O2 -c $<
";
    let program = "\
include ../lib/flags.mk
prog: main.o
\t$(CC) -o $@ main.o ../lib/libx.a
";
    let mut files: Vec<_> = sources(2)
        .into_iter()
        .filter(|(name, _)| name != "main.c")
        .chain([long_source()])
        .map(|(name, text)| (format!("lib/{name}"), text))
        .collect();
    files.push(file("app/main.c", "int f0(int);\nint main(void) { return f0(SIZE); }\n"));
    files.extend([file("Makefile", top), file("lib/Makefile", library), file("app/Makefile", program)]);
    files
}

fn scripts() -> Vec<Row> {
    let with_script = |mut files: Vec<(String, String)>, script: &str| {
        files.push(file("build.sh", script));
        files
    };
    let edit = "#!/bin/sh
set -e
for i in 1 2 3; do
  gcc -O1 -c a0.c -o before$i.o
  sed -i \"s/+ .*;/+ ${i}000;/\" a0.c
  gcc -O1 -c a0.c -o after$i.o
done
mv a0.c b.c
gcc -c b.c
gcc -c a1.c
rm a1.c
";
    let list = "#!/bin/bash
for source in a*.c long.c; do gcc -O1 -c $source; done
echo *.o
ls *.o > list
gcc -c main.c
gcc -o prog *.o
[ prog -nt main.o ] && echo newer
wc -l < list
";
    let times = "#!/bin/sh
gcc -c long.c; gcc -c a1.c; gcc -c a2.c
for pair in 'long.o a1.o' 'a1.o a2.o'; do
  set -- $pair
  test $2 -nt $1 && echo $2 is newer
done
sleep 0.02
touch mark
test mark -nt a2.o && echo mark is newer
";
    let response = "#!/bin/bash
echo '-O2 -DX=1' > flags
gcc @flags -c a0.c
echo '-O0 -g' > flags
gcc @flags -c a1.c
gcc -x c -c -o in.o - <<END
int input(void) { return 5; }
END
echo 'int piped(void) { return 6; }' | gcc -x c -c -o piped.o -
while read source object; do gcc -O1 -c $source -o $object || echo failed; done < list
gcc -c main.c
gcc -o prog main.o a0.o a1.o in.o piped.o two.o three.o
";
    let mut response_files = sources(4);
    response_files.push(file("list", "a2.c two.o\na3.c three.o\n"));
    let mut long = sources(6);
    long.push(long_source());
    vec![
        row("script: edit between compilations", "edit", with_script(sources(2), edit), &["./build.sh"], 7),
        row("script: gcc *.o", "list", with_script(long.clone(), list), &["./build.sh"], 8),
        row("script: test -nt", "stamps", with_script(long, times), &["./build.sh"], 3),
        row(
            "script: response files, standard input",
            "response",
            with_script(response_files, response),
            &["bash", "build.sh"],
            4,
        ),
    ]
}

/// Builds of which the first, the middle or the last command fails.
fn failures() -> Vec<Row> {
    let failing = |title, [first, middle, last]: [&'static str; 3], command: &[&str], script: &str| {
        let builds = [(0, first), (2, middle), (4, last)].into_iter().map(|(broken, name)| {
            let mut files = broken_sources(5, broken);
            files.push(file("Makefile", MAKEFILE));
            files.push(file("build.sh", script));
            Build { name, files, command: words(command), deferred: 1 }
        });
        Row { title, builds: builds.collect() }
    };
    let branches = "set -u
mkdir -p out
for i in 0 1 2 3 4; do
  gcc -c a$i.c -o out/a$i.o || echo \"$i failed with $?\"
done
if gcc -c a2.c; then echo yes; else echo no; touch absent; fi
gcc -c a0.c && gcc -c a1.c && gcc -c a2.c && echo all
set -e
gcc -c a4.c
gcc -c a3.c
echo end
";
    let line = "make && echo OK || echo failed $?";
    let in_directories =
        [(1, "dirs-1"), (3, "dirs-3"), (4, "dirs-4"), (6, "dirs-6")].map(|(broken, name)| Build {
            name,
            files: directories(broken),
            command: words(&["make", "-k"]),
            deferred: 1,
        });
    vec![
        Row { title: "failure: make -k in directories", builds: in_directories.into() },
        failing("failure: make", ["make-0", "make-2", "make-4"], &["make"], ""),
        failing("failure: make -k", ["keep-0", "keep-2", "keep-4"], &["make", "-k"], ""),
        failing("failure: make && echo", ["and-0", "and-2", "and-4"], &["sh", "-c", line], ""),
        failing("failure: dash, || and if", ["dash-0", "dash-2", "dash-4"], &["dash", "build.sh"], branches),
        failing("failure: bash, || and if", ["bash-0", "bash-2", "bash-4"], &["bash", "build.sh"], branches),
    ]
}
