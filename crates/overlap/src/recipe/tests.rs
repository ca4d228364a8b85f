//! Command lines as they stand in makefiles, with the files that they read and write.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::{Environment, Executable, Files, Format, Invocation, Kind, Meaning, Weight, meaning};
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

    fn names(&self, folder: &Path) -> Vec<OsString> {
        let inner = self.0.keys().filter(|path| path.parent() == Some(folder));
        inner.filter_map(|path| path.file_name()).map(OsStr::to_owned).collect()
    }
}

fn disk() -> Disk {
    let files = [
        ("/b/a.c", "int a;"),
        ("/b/b.c", "int b;"),
        ("/b/blob.S", ".incbin \"image\""),
        ("/b/list", "-O2 x.o 'y z.o'"),
        ("/b/only-prints.sed", "s/a/b/g\np"),
        ("/b/writes.sed", "w other"),
        ("/b/prints.awk", "BEGIN { out = \"/dev/null\" }\nNR > 1 { print $1 >out }"),
        ("/b/libtool", LIBTOOL),
        ("/b/libdone.la", "dlopen=''\ndlpreopen=''\nlibdir='/usr/lib'\n"),
        ("/b/libpart.la", "dlopen=''\ndlpreopen=''\nlibdir=''\n"),
        ("/b/libplugins.la", "dlopen=''\ndlpreopen='x.la'\nlibdir='/usr/lib'\n"),
        // The list `libpending.la` itself is about to change.
        ("/b/.libs/libpending.lai", ""),
        ("/b/.libs/libold.a", ""),
        ("/b/.libs/libstale.so.1", ""),
    ];
    Disk(files.into_iter().map(|(name, text)| (name.into(), text.into())).collect())
}

/// The settings of a libtool script, as `configure` writes them on Debian.
const LIBTOOL: &str = r#"
build_libtool_libs=yes
build_old_libs=yes
LN_S="ln -s"
max_cmd_len=1572864
objext=o
libext=a
objdir=.libs
shrext_cmds=".so"
need_lib_prefix=no
need_version=no
version_type=linux
libname_spec="lib\$name"
library_names_spec="\$libname\$release\$shared_ext\$versuffix \$libname\$release\$shared_ext\$major \$libname\$shared_ext"
soname_spec="\$libname\$release\$shared_ext\$major"
deplibs_check_method="pass_all"
always_export_symbols=no
include_expsyms=""
old_archive_cmds="\$AR \$AR_FLAGS \$oldlib\$oldobjs~\$RANLIB \$tool_oldlib"
old_archive_from_new_cmds=""
allow_undefined_flag=""
module_cmds=""
module_expsym_cmds=""
prelink_cmds=""
postlink_cmds=""
compiler_needs_object="no"
whole_archive_flag_spec="\$wl--whole-archive\$convenience \$wl--no-whole-archive"
archive_cmds="\$CC -shared \$pic_flag \$libobjs \$deplibs \$compiler_flags \$wl-soname \$wl\$soname -o \$lib"
archive_expsym_cmds="echo \"{ global:\" > \$output_objdir/\$libname.ver~
            \$CC -shared -o \$lib"
"#;

fn line(text: &str) -> Option<Meaning> {
    let arguments = ["sh", "-c", text].map(str::to_owned).to_vec();
    let environment = Environment::new(|| Some(["PATH=/usr/bin", "CFLAGS=-O2"].map(str::to_owned).to_vec()));
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
        ("cp a.c out", "a.c", "out/a.c"),
        ("touch stamp", "stamp", "stamp"),
        ("ln -sf libx.so.1 libx.so", "libx.so.1", "libx.so?"),
        ("cd out && gcc -c ../a.c", "a.c", "out/a.o"),
        ("(cd out; gcc -c ../a.c); gcc -c b.c", "a.c b.c", "out/a.o b.o"),
        ("f=a; gcc $CFLAGS -c \"$f\".c -o ${f}.o", "a.c", "a.o"),
        ("mkdir -p new/deep && gcc -c a.c -o new/deep/a.o", "a.c", "new/ new/deep/ new/deep/a.o"),
        ("rmdir out", "", "out-"),
        ("(ranlib libx.a || true) >/dev/null 2>&1", "libx.a", "libx.a"),
        ("mkdir new && cp a.c new", "a.c", "new/ new/a.c"),
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
            ".libs/ .libs/p .libs/lt-p p",
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
        "gcc -E -MD a.c",
        "gcc -E -MD -o a.i a.c",
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
        "gcc -c a.c | unknown-program",
        "gcc -c a.c | (cd nope; cat)",
        "unknown-program && gcc -c a.c",
        "./wrap.sh gcc -c a.c",
        "PATH=/x gcc -c a.c",
        "for f in a b; do gcc -c $f.c; done",
        "rm -rf out",
        "cp -r out new",
        "ar x libx.a",
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
fn the_files_of_filters_are_known() {
    for (text, reads, writes) in [
        ("sed 's|@x@|1|' a.c > x.h", "a.c", "x.h"),
        ("sed -n -e 's/a/b/p' -e p -f only-prints.sed a.c b.c", "only-prints.sed a.c b.c", ""),
        ("sed -ne p -fonly-prints.sed -- a.c", "only-prints.sed a.c", ""),
        ("sed p <a.c >x.h", "a.c", "x.h"),
        ("sed p a.c | awk '{ print $1 }' | sort -u >x", "a.c", "x"),
        ("awk -F: -f prints.awk out=\"x.tf\" a.c 1>&2", "prints.awk a.c", "x.tf"),
        ("awk -v n=3 '{ print > \"list2\" }' a.c n=4 b.c", "a.c b.c", "list2"),
        ("grep -q -e int a.c && cp a.c x", "a.c a.c", "x"),
        ("grep -v -f list a.c", "list a.c", ""),
        ("{ sort -t : -k1; uniq; } < a.c > x", "a.c", "x"),
        ("head -n 3 a.c | cut -d: -f 1 | tail -1 | wc -l > x", "a.c", "x"),
        ("echo a | tr a b > x", "", "x"),
        ("(cd out && sed p ../a.c) | cat > x", "a.c", "x"),
        ("x=a; x=b | cat a.c; cat $x.c", "a.c a.c", ""),
        ("grep x </dev/null", "", ""),
        (
            "rm -f out/l.a; printf \"out/%s \" a.o b.o | xargs ar cDPrST out/l.a",
            "out/l.a out/a.o out/b.o",
            "out/l.a",
        ),
        ("echo x.o | xargs -r rm -f y.o", "", "y.o- x.o-"),
        ("printf %s '' | xargs -r rm", "", ""),
        ("rm -f y x.tf[12] z[ab]c", "", "y- x.tf1- x.tf2- zac- zbc-"),
        ("gcc -E a.c > x.i", "a.c", "x.i"),
        ("gcc -E -MD -MF x.d -o x.i a.c", "a.c", "x.d x.i"),
    ] {
        assert_eq!(effects(text), (reads.to_owned(), writes.to_owned()), "{text}");
    }
}

#[test]
fn filters_with_unclear_effects_are_not_understood() {
    for text in [
        "sed -i s/a/b/ a.c",
        "sed --in-place s/a/b/ a.c",
        "sed -n 'w x' a.c",
        "sed -f writes.sed a.c",
        "sed -f missing.sed a.c",
        "sed s/a/b/ > only-prints.sed; sed -f only-prints.sed a.c",
        "sed s/a/b/ a.c -i",
        "sed s/a/b/",
        "sed s/a/b/ -",
        "sed",
        "sed s/a/b/ | cat",
        "awk '{ system($0) }' a.c",
        "awk '{ print }'",
        "awk '{ print }' n=3",
        "awk -f missing.awk a.c",
        "awk --lint '{ print }' a.c",
        "AWKPATH=/x awk -f prints.awk a.c",
        "awk -f prints.awk out=/dev/tty a.c",
        "grep -r x .",
        "grep x",
        "sort -o x a.c",
        "uniq a.c b.c",
        "cut -f 1",
        "tr a b",
        "sed p a.c | tee log",
        "gcc -c a.c 2>&1 | cat > log",
        "tail -f a.c",
        "rm x.tf[12]",
        "rm -f *.tf[12]",
        "rm -f x.[a-z]",
        "cat x.tf[12]",
        "sed p a.c | (cd out; unknown-program)",
        "sed p <<END\nEND",
        "xargs rm",
        "cat a.c | xargs rm",
        "echo a b | sort | xargs rm",
        "echo \"a 'b c'\" | xargs rm",
        "echo a | xargs -n1 rm",
        "echo a | xargs unknown-program",
        "echo a > x | xargs rm",
    ] {
        assert_eq!(line(text), None, "{text}");
    }
}

/// A link by libtool with the usual beginning.
fn link(words: &str) -> String {
    format!("/bin/bash ./libtool --tag=CC --mode=link gcc -O2 {words}")
}

#[test]
fn the_files_of_libraries_that_libtool_links_are_known() {
    let objects = "a.lo .libs/a.o a.o libtool";
    for (words, reads, writes) in [
        (
            "-no-undefined -version-info 3:1:2 -o libx.la -rpath /usr/lib a.lo -lm",
            objects,
            ".libs/ .libs/libx.so.1.2.1 .libs/libx.so.1? .libs/libx.so? .libs/libx.a libx.la .libs/libx.lai \
             .libs/libx.la?",
        ),
        (
            "-version-number 16:39:0 -Wl,--version-script=x.vers -o out/libx16.la -rpath /usr/lib a.lo -R /x -R/y",
            "a.lo x.vers .libs/a.o a.o libtool",
            "out/.libs/ out/.libs/libx16.so.16.39.0 out/.libs/libx16.so.16? out/.libs/libx16.so? \
             out/.libs/libx16.a out/libx16.la out/.libs/libx16.lai out/.libs/libx16.la?",
        ),
        (
            "-o libx.la -rpath /usr/lib a.lo libdone.la libpending.la",
            "a.lo libdone.la libpending.la .libs/a.o a.o libtool",
            ".libs/ .libs/libx.so.0.0.0 .libs/libx.so.0? .libs/libx.so? .libs/libx.a libx.la .libs/libx.lai \
             .libs/libx.la?",
        ),
        ("-o libx.la a.lo", objects, ".libs/ .libs/libx.a libx.la .libs/libx.la?"),
        (
            "-static -o libx.la -rpath /usr/lib a.lo",
            objects,
            ".libs/ .libs/libx.a libx.la .libs/libx.lai .libs/libx.la?",
        ),
        (
            "-shared -release 2.1 -o libx.la -rpath /usr/lib a.lo libpart.la",
            "a.lo libpart.la .libs/a.o a.o libtool",
            ".libs/ .libs/libx-2.1.so .libs/libx.so? libx.la .libs/libx.lai .libs/libx.la?",
        ),
        (
            "-release 2.1 -version-info 4 -o libx.la -rpath /usr/lib a.lo",
            objects,
            ".libs/ .libs/libx-2.1.so.4.0.0 .libs/libx-2.1.so.4? .libs/libx.so? .libs/libx.a libx.la \
             .libs/libx.lai .libs/libx.la?",
        ),
        (
            "-module -avoid-version -o x.la -rpath /usr/lib a.lo",
            objects,
            ".libs/ .libs/x.so .libs/x.a x.la .libs/x.lai .libs/x.la?",
        ),
        (
            "-shared -export-symbols list -o libx.la -rpath /usr/lib a.lo",
            "a.lo .libs/a.o a.o list libtool",
            ".libs/ .libs/libx.ver .libs/libx.so.0.0.0 .libs/libx.so.0? .libs/libx.so? libx.la .libs/libx.lai \
             .libs/libx.la?",
        ),
        (
            "-shared -export-symbols-regex ^x -o libx.la -rpath /usr/lib a.lo",
            objects,
            ".libs/ .libs/libx.expT- .libs/libx.exp .libs/libx.ver .libs/libx.so.0.0.0 .libs/libx.so.0? \
             .libs/libx.so? libx.la .libs/libx.lai .libs/libx.la?",
        ),
    ] {
        assert_eq!(effects(&link(words)), (reads.to_owned(), writes.to_owned()), "{words}");
    }
}

#[test]
fn links_of_libraries_with_unclear_files_are_not_understood() {
    for words in [
        // Its objects would be unpacked into a folder.
        "-o libx.la -rpath /usr/lib a.lo libpart.la",
        "-o libx.la a.lo libpart.la",
        "-o libx.la a.lo libmissing.la",
        "-o libx.la -rpath /usr/lib a.lo libplugins.la",
        "-o libx.la -rpath /usr/lib a.lo -L. -lpart",
        "-o libx.la -rpath /usr/lib a.lo b.o",
        "-o libx.la -rpath /usr/lib a.lo b.a",
        "-o libx.la -rpath /usr/lib a.lo b.c",
        "-o libx.la -rpath /usr/lib a.lo out/a.lo",
        "-o libx.la -rpath /usr/lib",
        "-o libx.la -rpath lib a.lo",
        "-o x.la -rpath /usr/lib a.lo",
        "-o libold.la -rpath /usr/lib a.lo",
        "-o libstale.la -rpath /usr/lib a.lo",
        "-version-info 1:2:3 -o libx.la -rpath /usr/lib a.lo",
        "-version-info 1:2:3:4 -o libx.la -rpath /usr/lib a.lo",
        "-version-info x -o libx.la -rpath /usr/lib a.lo",
        "-all-static -o libx.la -rpath /usr/lib a.lo",
        "-dlopen self -o libx.la -rpath /usr/lib a.lo",
        "-weak libw.la -o libx.la -rpath /usr/lib a.lo",
        "-objectlist list -o libx.la -rpath /usr/lib",
        "-precious-files-regex x -o libx.la -rpath /usr/lib a.lo",
        "-shrext .dll -o libx.la -rpath /usr/lib a.lo",
        "-Wl,-Map,x.map -o libx.la -rpath /usr/lib a.lo",
        "@list -o libx.la -rpath /usr/lib a.lo",
    ] {
        assert_eq!(line(&link(words)), None, "{words}");
    }
    for text in [
        "/bin/bash ./libtool --tag=disable-static --mode=link gcc -o libx.la -rpath /usr/lib a.lo",
        "/bin/bash ./libtool --tag=CXX --mode=link g++ -export-symbols list -o libx.la -rpath /usr/lib a.lo",
        // A script whose settings are not known.
        "/bin/bash out/libtool --tag=CC --mode=link gcc -o libx.la -rpath /usr/lib a.lo",
        "cp a.c libtool; /bin/bash ./libtool --tag=CC --mode=link gcc -o libx.la -rpath /usr/lib a.lo",
    ] {
        assert_eq!(line(text), None, "{text}");
    }
}

#[test]
fn a_libtool_with_other_settings_is_not_understood() {
    let with = |from: &str, to: &str| {
        let mut disk = disk();
        assert!(LIBTOOL.contains(from));
        disk.0.insert("/b/libtool".into(), LIBTOOL.replace(from, to).into());
        let text = link("-o libx.la -rpath /usr/lib a.lo");
        let arguments = ["sh", "-c", &text].map(str::to_owned).to_vec();
        let environment = Environment::new(|| Some(vec!["PATH=/usr/bin".to_owned()]));
        meaning(
            &Invocation { program: "sh".to_owned(), arguments, environment, directory: "/b".into() },
            &disk,
        )
    };
    assert!(with("need_version=no", "need_version=no").is_some());
    for (from, to) in [
        ("version_type=linux", "version_type=sunos"),
        ("need_version=no", "need_version=yes"),
        ("shrext_cmds=\".so\"", "shrext_cmds=\".sl\""),
        ("build_old_libs=yes", "build_old_libs=`maybe`"),
        ("max_cmd_len=1572864", "max_cmd_len=100"),
        ("-o \\$lib\"", "-o \\$lib~\\$STRIP \\$lib\""),
        ("postlink_cmds=\"\"", "postlink_cmds=\"\\$SIGN\""),
    ] {
        assert_eq!(with(from, to), None, "{to}");
    }
    let writes = |meaning: Meaning| meaning.effects.writes.len();
    let both = with("need_version=no", "need_version=no").map(writes);
    // Without archives, and without shared libraries.
    assert_eq!(with("build_old_libs=yes", "build_old_libs=no").map(writes), both.map(|count| count - 1));
    assert_eq!(
        with("build_libtool_libs=yes", "build_libtool_libs=no").map(writes),
        both.map(|count| count - 3)
    );
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
