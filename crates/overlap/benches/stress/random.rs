//! Random builds: trees of directories, each with a makefile and a script that call those below in
//! many ways. Some sources do not compile. A seed gives the same build every time.

use std::fmt::Write;

use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::comparison::{Build, file, words};

/// Levels of directories below the first.
const DEPTH: usize = 2;

/// Probability that a source does not compile.
const BROKEN: f64 = 0.12;

/// Numbers of functions of a source, which compile in a moment to some tenths of a second.
const SIZES: [usize; 3] = [5, 40, 150];

/// Ways to call the build of a directory `D`, in a makefile or a script; `MAKE` is make.
const CALLS: &[&str] = &[
    "MAKE -C D",
    "MAKE -C D",
    "cd D && MAKE",
    "(cd D; sh run.sh)",
    "MAKE -k -C D || echo failed",
    "MAKE -C D 2>&1",
    "MAKE -C D | cat",
    "for i in 1 2; do MAKE -C D || break; done",
    "if MAKE -C D; then echo built; else echo no > D/no; fi",
    "! MAKE -C D",
    "MAKE -C D; echo $?",
    "(MAKE -C D) & wait; echo waited",
    "bash -c \"cd D && bash run.sh; echo status $?\"",
    "{ MAKE -C D && touch D/stamp; }; test -f D/s0.o && echo there",
];

/// A thing that a directory builds.
#[derive(Debug, Clone, Copy)]
enum Item {
    Source(usize),
    Directory(usize),
}

/// The build of a seed.
pub(crate) fn random_tree(seed: u64) -> Build {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut files = Vec::new();
    add_directory(&mut random, "", DEPTH, &mut files);
    let commands: [&[&str]; 4] = [&["make"], &["make", "-k"], &["sh", "run.sh"], &["bash", "run.sh"]];
    let command = words(pick(&mut random, &commands));
    Build { name: "random", files, command, deferred: 0 }
}

fn pick<T: Copy>(random: &mut ChaCha8Rng, from: &[T]) -> T {
    *from.choose(random).expect("something to choose from")
}

fn add_directory(random: &mut ChaCha8Rng, path: &str, depth: usize, files: &mut Vec<(String, String)>) {
    let sources = random.random_range(1..=3);
    let directories = if depth == 0 { 0 } else { random.random_range(1..=3) };
    for number in 0..sources {
        files.push((format!("{path}s{number}.c"), source(random)));
    }
    for number in 0..directories {
        add_directory(random, &format!("{path}d{number}/"), depth - 1, files);
    }
    let mut items: Vec<Item> = (0..sources).map(Item::Source).collect();
    items.extend((0..directories).map(Item::Directory));
    items.shuffle(random);
    let (makefile, script) = if random.random() {
        let script = pick(random, &["exec make \"$@\"\n", "make\n"]);
        (makefile(random, &items), script.to_owned())
    } else {
        let shell = pick(random, &["sh", "bash", "dash"]);
        (format!("all:\n\t{shell} ./run.sh\n\t@echo end\n"), script(random, &items))
    };
    files.push(file(&format!("{path}Makefile"), &makefile));
    files.push(file(&format!("{path}run.sh"), &script));
}

fn source(random: &mut ChaCha8Rng) -> String {
    let functions = 0..pick(random, &SIZES);
    let mut text: String = functions
        .map(|number| format!("int f{number}(int x) {{ return x * {number} + (x >> 3) % 7; }}\n"))
        .collect();
    if random.random_bool(BROKEN) {
        text.push_str("int bad( {\n");
    }
    text
}

fn makefile(random: &mut ChaCha8Rng, items: &[Item]) -> String {
    let target = |item: &Item| match item {
        Item::Source(number) => format!("s{number}.o"),
        Item::Directory(number) => format!("sub{number}"),
    };
    let targets = |items: &mut dyn Iterator<Item = &Item>| items.map(target).collect::<Vec<_>>().join(" ");
    let objects = targets(&mut items.iter().filter(|item| matches!(item, Item::Source(_))));
    let library = if random.random_bool(0.4) { " lib.a" } else { "" };
    let mut text =
        format!("all: {}{library}\nlib.a: {objects}\n\tar rcs $@ $^\n", targets(&mut items.iter()));
    for item in items {
        let line = match item {
            Item::Source(number) => {
                let after = pick(random, &["", " || echo failed", " && echo compiled", "; test -f $@"]);
                let before = pick(random, &["", "", "@", "-"]);
                format!(" s{number}.c\n\t{before}gcc -O1 -c s{number}.c{after}")
            }
            Item::Directory(number) => {
                let before = pick(random, &["", "", "-"]);
                format!("\n\t{before}{}", call(random, *number).replace('$', "$$").replace("MAKE", "$(MAKE)"))
            }
        };
        writeln!(text, "{}:{line}", target(item)).expect("a text grows");
    }
    text
}

fn script(random: &mut ChaCha8Rng, items: &[Item]) -> String {
    let traps = [
        "",
        "",
        "set -e\n",
        "trap 'echo exit $?; rm -f tmp' EXIT\n",
        "set -e\ntrap 'echo end $?; touch end' EXIT\n",
    ];
    let mut text = pick(random, &traps).to_owned();
    for item in items {
        let line = match item {
            Item::Source(number) => {
                let after = pick(random, &["", " || echo failed", " || exit 4", " || kill $$"]);
                format!("gcc -O1 -c s{number}.c{after}")
            }
            Item::Directory(number) => call(random, *number).replace("MAKE", "make"),
        };
        writeln!(text, "{line}").expect("a text grows");
    }
    text.push_str(pick(random, &["", "", "", "exit 0\n", "exit 5\n"]));
    text
}

fn call(random: &mut ChaCha8Rng, directory: usize) -> String {
    pick(random, CALLS).replace('D', &format!("d{directory}"))
}
