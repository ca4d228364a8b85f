//! Builds, and the comparison of their results: status, text, files, contents, modes, link targets
//! and the order of the times of change. Tests and a bench share it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// A build: files, and the command that builds them.
pub(crate) struct Build {
    /// Name of its folder.
    pub(crate) name: &'static str,
    pub(crate) files: Vec<(String, String)>,
    pub(crate) command: Vec<String>,
    /// Fewest commands that must be deferred, so that the comparison compares something.
    pub(crate) deferred: usize,
}

/// Result of one run of a build.
pub(crate) struct BuildResult {
    status: Option<i32>,
    stdout: String,
    stderr: String,
    tree: Tree,
    /// Lines of `morecores-overlap` itself.
    summary: String,
}

/// Properties of each file: kind with mode, content or target, time of change in nanoseconds.
type Tree = BTreeMap<PathBuf, (u32, Vec<u8>, i128)>;

/// Times closer than this may come in either order in series too, in nanoseconds: two ticks of the
/// clock that files get their times from.
const TICKS: i128 = 8_000_000;

/// Age of the sources: like in a checkout, they are older than everything that is built.
const SOURCE_TIME: Duration = Duration::from_secs(1_600_000_000);

impl Build {
    /// Runs the build as it is, which is in series unless its command says otherwise.
    pub(crate) fn run_without_overlap(&self) -> BuildResult {
        self.run(Command::new("env"))
    }

    /// Runs the build under `morecores-overlap` with a number of jobs.
    pub(crate) fn run_with_overlap(&self, jobs: usize) -> BuildResult {
        let mut overlap = Command::new(env!("CARGO_BIN_EXE_morecores-overlap"));
        overlap.args(["--jobs", &jobs.to_string(), "--"]);
        self.run(overlap)
    }

    /// Writes the sources, runs the build as the arguments of a command, and collects its result.
    fn run(&self, mut command: Command) -> BuildResult {
        let folder = std::env::temp_dir().join(format!("morecores-overlap-test-{}", std::process::id()));
        let folder = folder.join(self.name);
        let _ = fs::remove_dir_all(&folder);
        for (name, text) in &self.files {
            write_source(&folder.join(name), text);
        }
        // A make around this program must not show in the build.
        for variable in ["MAKEFLAGS", "MAKELEVEL", "MFLAGS"] {
            command.env_remove(variable);
        }
        let output = command.args(&self.command).current_dir(&folder).output().expect("the build starts");
        let mut tree = Tree::new();
        collect(&folder, &folder, &mut tree);
        let _ = fs::remove_dir_all(&folder);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let (own, others): (Vec<&str>, Vec<&str>) =
            stderr.lines().partition(|line| line.starts_with("overlap: "));
        BuildResult {
            // As shells tell it.
            status: output.status.code().or_else(|| Some(128 + output.status.signal()?)),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: others.join("\n"),
            tree,
            summary: own.join("\n"),
        }
    }
}

fn write_source(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
    if text.starts_with("#!") {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("its mode");
    }
    let time = fs::FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + SOURCE_TIME);
    fs::File::options().write(true).open(path).and_then(|file| file.set_times(time)).expect("its time");
}

fn collect(root: &Path, folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let found = path.symlink_metadata().expect("a file");
        let time = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
        let content = if found.is_dir() {
            collect(root, &path, tree);
            Vec::new()
        } else if found.is_symlink() {
            fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
        } else {
            fs::read(&path).expect("a file")
        };
        tree.insert(
            path.strip_prefix(root).expect("below the root").to_owned(),
            (found.mode(), content, time),
        );
    }
}

impl BuildResult {
    /// Number of deferred commands by the summary; `None` without overlap.
    pub(crate) fn deferred(&self) -> Option<usize> {
        self.summary.split(" commands deferred").next()?.rsplit(' ').next()?.parse().ok()
    }

    /// Everything in which the result is not that of a serial run, one text each.
    pub(crate) fn differences(&self, serial: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        for (name, text, expected) in [
            ("standard output", &self.stdout, &serial.stdout),
            ("standard error", &self.stderr, &serial.stderr),
        ] {
            if text != expected {
                differences.push(format!("{name}: {text:?} instead of {expected:?}"));
            }
        }
        differences.extend(self.file_differences(serial));
        differences.extend(self.order_differences(serial));
        differences
    }

    /// Differences in the status and in the files, leaving out text and times.
    pub(crate) fn file_differences(&self, serial: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        if self.status != serial.status {
            differences.push(format!("status: {:?} instead of {:?}", self.status, serial.status));
        }
        for (path, (mode, content, _)) in &serial.tree {
            let path_name = path.display();
            let Some((own_mode, own_content, _)) = self.tree.get(path) else {
                differences.push(format!("{path_name}: missing"));
                continue;
            };
            if own_mode != mode {
                differences.push(format!("{path_name}: mode {own_mode:o} instead of {mode:o}"));
            }
            if own_content != content {
                let equal = own_content.iter().zip(content).take_while(|(own, other)| own == other).count();
                let (length, expected) = (own_content.len(), content.len());
                differences.push(format!(
                    "{path_name}: content differs from byte {equal} on: {length} bytes instead of {expected}"
                ));
            }
        }
        let additional = self.tree.keys().filter(|path| !serial.tree.contains_key(*path));
        differences.extend(additional.map(|path| format!("{}: only in this run", path.display())));
        differences
    }

    /// Pairs of files whose times of change have another order. Equal times are no other order: two
    /// commands that one serial build runs within a tick of the clock are further apart in another.
    fn order_differences(&self, serial: &Self) -> Vec<String> {
        let files = |tree: &Tree| {
            let is_folder = |mode: u32| mode & libc::S_IFMT == libc::S_IFDIR;
            let files = tree.iter().filter(|(_, (mode, ..))| !is_folder(*mode));
            files.map(|(path, (.., time))| (path.clone(), *time)).collect::<BTreeMap<_, _>>()
        };
        let (own, files) = (files(&self.tree), files(&serial.tree));
        let mut differences = Vec::new();
        for (first, first_time) in &files {
            for (second, second_time) in &files {
                if first_time + TICKS < *second_time
                    && let (Some(first_own), Some(second_own)) = (own.get(first), own.get(second))
                    && first_own > second_own
                {
                    differences.push(format!(
                        "{} must be older than {}, by {} ns; it is newer by {} ns",
                        first.display(),
                        second.display(),
                        second_time - first_time,
                        first_own - second_own
                    ));
                }
            }
        }
        differences
    }
}

impl fmt::Display for BuildResult {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "status: {:?}\n{}", self.status, self.summary)?;
        writeln!(formatter, "standard output:\n{}\nstandard error:\n{}\nfiles:", self.stdout, self.stderr)?;
        for (path, (mode, content, time)) in &self.tree {
            writeln!(formatter, "{time} {mode:o} {:8} {}", content.len(), path.display())?;
        }
        Ok(())
    }
}

/// A file of a build.
pub(crate) fn file(name: &str, text: &str) -> (String, String) {
    (name.to_owned(), text.to_owned())
}

/// A command of a build.
pub(crate) fn words(line: &[&str]) -> Vec<String> {
    line.iter().map(|word| (*word).to_owned()).collect()
}

/// Sources `a0.c` to `a(count-1).c`, each with one function, and a `main.c` that calls none.
pub(crate) fn sources(count: usize) -> Vec<(String, String)> {
    let mut files: Vec<_> = (0..count)
        .map(|index| {
            file(&format!("a{index}.c"), &format!("int f{index}(int x) {{ return x + {index}; }}\n"))
        })
        .collect();
    files.push(file("main.c", "int main(void) { return 0; }\n"));
    files
}

/// Sources of which one does not compile.
pub(crate) fn broken_sources(count: usize, broken: usize) -> Vec<(String, String)> {
    let mut files = sources(count);
    files[broken].1 = "int broken(void) { return undeclared; }\n".to_owned();
    files
}

/// A makefile that links all sources into one program.
pub(crate) const MAKEFILE: &str = "\
OBJECTS = $(patsubst %.c,%.o,$(sort $(wildcard *.c)))
prog: $(OBJECTS)
\t$(CC) -o $@ $(OBJECTS)
%.o: %.c
\t$(CC) -O1 -c -o $@ $<
";

/// Three directories with a makefile each and one below another. The object with this number does
/// not compile.
pub(crate) fn directories(broken: usize) -> Vec<(String, String)> {
    let makefile = "\
all: liba.a
OBJECTS = $(patsubst %.c,%.o,$(wildcard *.c))
liba.a: sub $(OBJECTS)
\trm -f $@; ar rc $@ $(OBJECTS)
%.o: %.c
\tgcc -O1 -c $<
sub:
\t@if test -d deep; then cd deep && $(MAKE); fi
.PHONY: all sub
";
    let top = "\
all: prog
prog: x y z main.o
\tgcc -o $@ main.o x/liba.a y/liba.a z/liba.a y/deep/liba.a
\t@echo linked
x z:
\t$(MAKE) -C $@
y: x
\tcd y && $(MAKE)
\t@echo y is done
main.o: main.c
\tgcc -c main.c
.PHONY: all x y z
";
    let mut files = vec![file("Makefile", top), file("main.c", "int main(void) { return 0; }\n")];
    for (directory, first) in [("x", 0), ("y/deep", 2), ("y", 4), ("z", 6)] {
        files.push(file(&format!("{directory}/Makefile"), makefile));
        for number in [first, first + 1] {
            let value = if number == broken { "undeclared" } else { "1" };
            let text = format!("int f{number}(void) {{ return {value}; }}\n");
            files.push(file(&format!("{directory}/f{number}.c"), &text));
        }
    }
    files
}
