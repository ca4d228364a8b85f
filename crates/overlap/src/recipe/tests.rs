//! Command lines as they stand in makefiles, with the files that they read and write.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::{Executable, Files, Format, Invocation, Kind, Meaning, Weight, meaning};
use crate::effects::{Search, State};

/// A disk of a few files. Every program is in `/usr/bin`.
struct Disk(HashMap<PathBuf, Vec<u8>>);

const DIRECTORIES: &[&str] = &["/", "/b", "/b/out"];

impl Files for Disk {
    fn kind(&self, path: &Path) -> Option<Kind> {
        Some(if DIRECTORIES.iter().any(|known| path == Path::new(known)) {
            Kind::Directory
        } else if self.0.contains_key(path) {
            Kind::File
        } else {
            Kind::Missing
        })
    }

    fn program(&self, name: &str, _: &Path, _: &str) -> Option<Executable> {
        let name = Path::new(name).file_name()?.to_str()?.to_owned();
        let is_script = name.ends_with(".sh") || name == "check-local-export";
        Some(Executable { name, format: if is_script { Format::Script } else { Format::Elf } })
    }

    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        self.0.get(path).cloned()
    }
}

fn disk() -> Disk {
    let files = [
        ("/b/a.c", "int a;"),
        ("/b/b.c", "int b;"),
        ("/b/blob.S", ".incbin \"image\""),
        ("/b/list", "-O2 x.o 'y z.o'"),
    ];
    Disk(files.into_iter().map(|(name, text)| (name.into(), text.into())).collect())
}

fn line(text: &str) -> Option<Meaning> {
    let arguments = ["sh", "-c", text].map(str::to_owned).to_vec();
    let environment = vec!["PATH=/usr/bin".to_owned(), "CFLAGS=-O2".to_owned()];
    meaning(&Invocation { program: "sh".to_owned(), arguments, environment, directory: "/b".into() }, &disk())
}

/// Reads and writes of a line, without `/b/`; an absent file has a minus, a possible or copied one
/// a question mark, a directory a slash.
fn effects(text: &str) -> (String, String) {
    let effects = line(text).unwrap_or_else(|| panic!("not understood: {text}")).effects;
    let name = |path: &Path| path.strip_prefix("/b").unwrap_or(path).display().to_string();
    let reads: Vec<String> = effects.reads.iter().map(|path| name(path)).collect();
    let writes: Vec<String> = effects
        .writes
        .iter()
        .map(|write| {
            let sign = match write.after {
                State::Binary { .. } | State::Text { .. } => "",
                State::Other => "?",
                State::Absent => "-",
                State::Directory { .. } => "/",
            };
            name(&write.path) + sign
        })
        .collect();
    (reads.join(" "), writes.join(" "))
}

#[test]
fn the_files_of_usual_lines_are_known() {
    for (text, reads, writes) in [
        ("gcc -c a.c", "a.c", "a.o"),
        ("cc -O2 -Iinclude -DX=1 -o out/a.o -c a.c", "a.c", "out/a.o"),
        ("gcc -c a.c b.c", "a.c b.c", "a.o b.o"),
        ("gcc -MD -c -o out/a.o a.c", "a.c", "out/a.d out/a.o"),
        ("gcc -MT a.o -MD -MP -MF .deps/a.Tpo -c -o a.o a.c", "a.c", ".deps/a.Tpo a.o"),
        ("gcc -MD -MF a.Tpo -c -o a.o a.c && mv -f a.Tpo a.Po", "a.c a.Tpo", "a.Po a.o a.Tpo-"),
        ("gcc -Wp,-MMD,.a.o.d -c -o a.o a.c", "a.c", ".a.o.d a.o"),
        ("gcc -S a.c", "a.c", "a.s"),
        ("gcc -o p a.o b.o -lm", "a.o b.o", "p"),
        ("gcc a.o", "a.o", "a.out"),
        ("gcc -shared -Wl,-soname,libx.so.1 -o libx.so.1 a.o", "a.o libx.so.1", "libx.so.1"),
        ("gcc @list -o p", "x.o y z.o list", "p"),
        ("ar rc libx.a a.o b.o", "libx.a a.o b.o", "libx.a"),
        ("rm -f libx.a; ar cr libx.a a.o; ranlib libx.a", "libx.a a.o libx.a", "libx.a"),
        ("ld -r -o all.o a.o b.o -T script", "a.o b.o script", "all.o"),
        ("as -o a.o a.s", "a.s", "a.o"),
        ("as -oa.o a.s", "a.s", "a.o"),
        ("ld -oall.o -r a.o b.o", "a.o b.o", "all.o"),
        ("cp a.c out", "a.c", "out/a.c?"),
        ("ln -sf libx.so.1 libx.so", "libx.so.1", "libx.so?"),
        ("cd out && gcc -c ../a.c", "a.c", "out/a.o"),
        ("(cd out; gcc -c ../a.c); gcc -c b.c", "a.c b.c", "out/a.o b.o"),
        ("f=a; gcc $CFLAGS -c \"$f\".c -o ${f}.o", "a.c", "a.o"),
        ("mkdir -p new/deep && gcc -c a.c -o new/deep/a.o", "a.c", "new/ new/deep/ new/deep/a.o"),
        ("rmdir out", "", "out-"),
        ("(ranlib libx.a || true) >/dev/null 2>&1", "libx.a", "libx.a"),
        ("mkdir new && cp a.c new", "a.c", "new/ new/a.c?"),
        ("gcc -c -o a.o `test -f 'a.c' || echo './'`a.c", "a.c", "a.o"),
        ("gcc -c -o d.o `test -f 'd.c' || echo '../src/'`d.c", "/src/d.c", "d.o"),
        (
            "depbase=`echo sub/a.lo | sed 's|[^/]*$|.deps/&|;s|\\.lo$||'`; gcc -MD -MF $depbase.Tpo -c -o a.o a.c",
            "a.c",
            "sub/.deps/a.Tpo a.o",
        ),
        ("test -f a.o || gcc -c a.c", "a.o a.c", "a.o"),
        ("if [ -f a.c ]; then gcc -c a.c; else rm -f a.o; fi", "a.c a.c", "a.o-"),
        (
            "set -e; exec >/dev/null; trap 'rm -f a.o; trap - HUP; kill -s HUP $$' HUP; gcc -Wp,-MMD,.a.o.d -c -o a.o \
             a.c; scripts/basic/fixdep .a.o.d a.o 'gcc -c' > .a.o.cmd; rm -f .a.o.d",
            "a.c .a.o.d",
            "a.o .a.o.cmd .a.o.d-",
        ),
        (
            "/bin/bash ./libtool --tag=CC --mode=compile gcc -MD -MF .deps/a.Tpo -c -o a.lo a.c && mv -f .deps/a.Tpo \
             .deps/a.Plo",
            "a.c libtool .deps/a.Tpo",
            ".deps/a.Plo .libs/ .libs/a.o a.o a.lo .deps/a.Tpo-",
        ),
        (
            "/bin/bash ./libtool --tag=CC --mode=link gcc -O2 -o p a.o libx.la -lm",
            "a.o libx.la libtool",
            "p .libs/ .libs/p .libs/lt-p",
        ),
        ("scripts/check-local-export a.o", "a.o", ""),
        ("gcc -c a.c > log 2>&1", "a.c", "log a.o"),
    ] {
        assert_eq!(effects(text), (reads.to_owned(), writes.to_owned()), "{text}");
    }
}

#[test]
fn a_line_with_a_part_that_is_not_understood_is_not_understood() {
    for text in [
        "gcc --version",
        "gcc -E a.c",
        "gcc -M a.c",
        "gcc -save-temps -c a.c",
        "gcc -fplugin=x.so -c a.c",
        "gcc -x c -c -o a.o -",
        "gcc -c a.c -o /dev/stdout",
        "gcc -c *.c",
        "gcc -c $(ls)",
        "gcc -c `cat list`",
        "trap 'rm -f a.o' EXIT; gcc -c a.c",
        "gcc -c a.c &",
        "gcc -c a.c | cat",
        "unknown-program && gcc -c a.c",
        "./wrap.sh gcc -c a.c",
        "PATH=/x gcc -c a.c",
        "for f in a b; do gcc -c $f.c; done",
        "rm -rf out",
        "cp -r out new",
        "ar x libx.a",
        "/bin/bash ./libtool --tag=CC --mode=link gcc -o libx.la a.lo -rpath /usr/lib",
        "exec gcc -c a.c",
        "gcc --compile a.c",
        "gcc -c all.h",
        "gcc -x c-header a.c -o all.gch",
        "gcc -c a.f90",
        "gcc -c -Xassembler --MD -Xassembler dep a.c",
        "gcc -c -Wa,-o,x.o a.c",
        "gcc -o p a.o -l:x.o",
        "[ -d nope ] && cd nope; gcc -c a.c",
        "[ -f a.c ] && OUT=x.o || OUT=y.o; gcc -c a.c -o $OUT",
        "cd nope; gcc -c a.c",
        "cp -p a.c b.c",
        "ln a.o b.o",
        "gcc -o tool a.o && ./tool",
        "cp a.c list2 && gcc @list2 -o p",
        "gcc -c `echo a.c | sed 's/a/b/'`",
    ] {
        assert_eq!(line(text), None, "{text}");
    }
}

#[test]
fn a_source_that_embeds_files_may_read_any() {
    let search = |text| line(text).expect("an understood line").effects.search;
    assert_eq!(search("gcc -c a.c"), Search::HEADERS);
    assert!(search("gcc -c blob.S").anything);
    // The content of a source that is not there yet is unknown.
    assert!(search("gcc -c generated.c").anything);
    assert_eq!(search("gcc -o p a.o"), Search::LIBRARIES);
}

#[test]
fn only_compilers_linkers_and_archivers_are_worth_a_deferral_of_their_own() {
    let weight = |text| line(text).expect("an understood line").weight;
    assert_eq!(weight("rm -f a.o"), Weight::Light);
    assert_eq!(weight("test -f a.o && echo there"), Weight::Light);
    assert_eq!(weight("echo CC a.o; gcc -c a.c"), Weight::Heavy);
}
