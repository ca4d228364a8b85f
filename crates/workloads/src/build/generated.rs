//! A generated C project: files of functions, a main file, a `configure` script and a Makefile, as
//! in a small current project.
//!
//! The built program prints the value of each function for one word. The values are known in
//! advance.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use morecores_study::Bytes;

use super::environment::Environment;
use super::program::SourceFile;
use super::{BuildOutput, Project};
use crate::outcome::TMPDIR;
use crate::{Checksum, WorkloadError};

/// Argument of every file's function; any word would do.
const WORD: u64 = 0x0123_4567_89ab_cdef;

/// Headers that projects of this size use, so that the preprocessor has its usual share of the
/// work.
const UNITS_H: &str = "\
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include \"config.h\"

#ifdef HAVE_NOINLINE
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE
#endif
#ifdef HAVE_EXPECT
#define LIKELY(condition) __builtin_expect((condition), 1)
#else
#define LIKELY(condition) (condition)
#endif

static inline uint64_t rotate(uint64_t word, int bits)
{
    return word << bits | word >> (64 - bits);
}
";

/// Script that asks the compiler a series of questions, as autoconf's scripts do. It runs in the
/// build directory.
const CONFIGURE: &str = "\
#!/bin/sh
set -e
source=$(dirname \"$0\")
try() {
    echo \"$2\" >conftest.c
    if cc -c -o conftest.o conftest.c 2>conftest.log; then
        echo \"#define HAVE_$1 1\" >>config.h
    fi
}
: >config.h
try INTTYPES '#include <inttypes.h>'
try UNISTD '#include <unistd.h>'
try NOINLINE '__attribute__((noinline)) int f(int x) { return x; }'
try EXPECT 'int f(int x) { return __builtin_expect(x, 1); }'
try INT128 '__int128 x;'
try LONG_64 'int size[sizeof (long) == 8 ? 1 : -1];'
echo 'int main(void) { return 0; }' >conftest.c
cc -o conftest conftest.c
./conftest
rm -f conftest conftest.*
{ echo \"SOURCE = $source\"; cat \"$source/Makefile.in\"; } >Makefile
";

/// Part of the Makefile after the list of objects.
const MAKEFILE: &str = "
program: $(OBJECTS)
\tcc -o $@ $(OBJECTS)

objects: $(OBJECTS)

%.o: $(SOURCE)/%.c $(SOURCE)/units.h config.h
\tcc -O2 -I. -I$(SOURCE) -c -o $@ $<

.PHONY: objects
";

/// Files of a project, and their results.
pub(super) struct GeneratedProject {
    seed: u64,
    units: Vec<SourceFile>,
}

impl GeneratedProject {
    /// Project of `files` files for `seed`. The generator is ChaCha8, whose output is permanently
    /// defined. Each file draws from its own stream, so that more files leave the others unchanged.
    pub(super) fn new(files: u32, seed: u64) -> Self {
        let unit = |number| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(u64::from(number));
            SourceFile::new(&mut random)
        };
        Self { seed, units: (0..files).map(unit).collect() }
    }

    /// Writes the project into an existing directory.
    fn write(&self, directory: &Path) -> Result<(), WorkloadError> {
        let write = |name: &str, text: &str| {
            let path = directory.join(name);
            fs::write(&path, text).map_err(|source| WorkloadError::File {
                operation: "write to",
                path,
                source,
                option: TMPDIR,
            })
        };
        let (mut main, mut calls) = (String::from("#include \"units.h\"\n\n"), String::new());
        let mut objects = String::from("OBJECTS = main.o");
        for (number, unit) in self.units.iter().enumerate() {
            let name = unit_name(number);
            write(&format!("{name}.c"), &unit.to_c(&name))?;
            // Writing to a string cannot fail.
            let _ = writeln!(main, "uint64_t {name}(uint64_t word);");
            let _ =
                writeln!(calls, "    printf(\"{name} %016\" PRIx64 \"\\n\", {name}(UINT64_C({WORD:#x})));");
            let _ = write!(objects, " \\\n\t{name}.o");
        }
        let _ = write!(main, "\nint main(void)\n{{\n{calls}    return 0;\n}}\n");
        write("main.c", &main)?;
        write("units.h", UNITS_H)?;
        write("configure", CONFIGURE)?;
        write("Makefile.in", &(objects + "\n" + MAKEFILE))
    }

    /// Expected output of the finished program.
    fn expected_output(&self) -> String {
        let line = |(number, unit): (usize, &SourceFile)| {
            format!("{} {:016x}\n", unit_name(number), unit.value(WORD))
        };
        self.units.iter().enumerate().map(line).collect()
    }
}

impl Project for GeneratedProject {
    fn name(&self) -> String {
        let files = self.units.len();
        format!("generated project of {files} file{}, seed {}", if files == 1 { "" } else { "s" }, self.seed)
    }

    /// One job per object.
    fn max_jobs(&self) -> usize {
        self.units.len() + 1
    }

    /// Size that --help states: 100 KB per file, mostly for headers and objects.
    fn disk_space(&self) -> Bytes {
        Bytes::from_kib(100 * self.units.len() as u64)
    }

    fn prepare_source(&mut self, environment: &Environment) -> Result<(), WorkloadError> {
        self.write(&environment.source)
    }

    fn setup_commands(&self, environment: &Environment) -> Vec<Command> {
        let mut configure = Command::new("sh");
        configure.arg(environment.source.join("configure"));
        vec![configure]
    }

    fn parallel_command(&self, _: &Environment, jobs: usize) -> Command {
        let mut make = Command::new("make");
        make.arg("-s").arg(format!("-j{jobs}")).arg("objects");
        make
    }

    fn link_commands(&self, _: &Environment) -> Vec<Command> {
        let mut make = Command::new("make");
        make.args(["-s", "program"]);
        vec![make]
    }

    fn check_output(&self, environment: &Environment) -> Result<BuildOutput, WorkloadError> {
        let program_output = environment.output(&mut Command::new(environment.build.join("program")))?;
        let program_output = String::from_utf8_lossy(&program_output);
        let expected = self.expected_output();
        if program_output != expected {
            let nothing = "nothing";
            let lines =
                |text: &str| text.lines().map(str::to_owned).chain([nothing.to_owned()]).collect::<Vec<_>>();
            let (expected, got) = (lines(&expected), lines(&program_output));
            let (expected, got) =
                expected.into_iter().zip(got).find(|(expected, got)| expected != got).unwrap_or_default();
            return Err(WorkloadError::WrongResult {
                what: "build, a line of the program".to_owned(),
                expected,
                got,
            });
        }
        Ok(BuildOutput {
            objects: self.max_jobs(),
            checksum: Checksum(crc32fast::hash(program_output.as_bytes())),
            check_name: "the program prints what its source means",
        })
    }
}

/// Name of a file without its ending, and of its function.
fn unit_name(number: usize) -> String {
    format!("unit_{number:04}")
}
