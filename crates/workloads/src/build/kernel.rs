//! A part of the Linux kernel, built by its own Makefiles. The configuration is the smallest
//! possible one. The configuration and the names are equal in every run.
//!
//! Nothing is written into a source tree that the user gives.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use morecores_study::Bytes;

use super::environment::Environment;
use super::{BuildOutput, Project};
use crate::outcome::TMPDIR;
use crate::{Checksum, WorkloadError, programs};

/// Default targets: long enough to be measured, and without a link step, which vmlinux has.
/// tools/kernel-part.sh builds these targets too.
const TARGETS: [&str; 3] = ["mm/", "lib/", "kernel/sched/"];

/// Directory of the archives in Debian's linux-source packages.
const ARCHIVES: &str = "/usr/src";

/// Files that the default targets and vmlinux of a tinyconfig do not need: nine tenths of all
/// files. Kconfig reads all its own files, of every architecture and driver.
const EXCLUDED_FILES: [&str; 10] = [
    "*/Documentation/[!K]*",
    "*/arch/[!x]*.[chS]",
    "*/arch/[!x]*/boot",
    "*/drivers/*.[chS]",
    "*/sound/*.[ch]",
    "*/fs/*.c",
    "*/net/*.c",
    "*/samples/*.c",
    "*/tools/testing",
    "*/tools/perf",
];

/// Programs that the kernel's build calls, with Debian's packages: for the parsers of its
/// configuration and for the constants of its timers.
const PROGRAMS: [programs::RequiredProgram; 3] = [("flex", "flex"), ("bison", "bison"), ("bc", "bc")];

/// Settings that make the kernel identical at every time and place of its build
/// (Documentation/kbuild/reproducible-builds.rst).
const REPRODUCIBLE_SETTINGS: [(&str, &str); 3] = [
    ("KBUILD_BUILD_TIMESTAMP", "1999-01-01"),
    ("KBUILD_BUILD_USER", "morecores"),
    ("KBUILD_BUILD_HOST", "morecores"),
];

/// A kernel source and its targets.
pub(super) struct Kernel {
    origin: Origin,
    targets: Vec<String>,
}

enum Origin {
    /// A tree of the user.
    Tree(PathBuf),
    /// An archive to unpack.
    Archive(PathBuf),
}

impl Kernel {
    /// The source in a directory.
    pub(super) fn from_directory(path: &Path, targets: &[String]) -> Result<Self, WorkloadError> {
        let path = fs::canonicalize(path).map_err(|source| WorkloadError::File {
            operation: "find the kernel source in",
            path: path.to_owned(),
            source,
            option: "--source",
        })?;
        if !path.join("Kbuild").is_file() || !path.join("scripts/kconfig").is_dir() {
            let text =
                format!("{} is no Linux kernel source: it has no Kbuild and scripts/kconfig", path.display());
            return Err(WorkloadError::CannotRun(text));
        }
        // The programs are checked last, so that a typing error does not lead to advice on
        // packages.
        programs::require(&PROGRAMS)?;
        Ok(Self::with_targets(Origin::Tree(path), targets))
    }

    /// The newest of Debian's installed archives.
    pub(super) fn from_debian(targets: &[String]) -> Result<Self, WorkloadError> {
        programs::require(&PROGRAMS)?;
        programs::require(&[("tar", "tar"), ("xz", "xz-utils")])?;
        let newest =
            newest_archive(fs::read_dir(ARCHIVES).into_iter().flatten().flatten().map(|entry| entry.path()));
        let archive = newest.ok_or_else(|| WorkloadError::NotInstalled {
            program: format!("{ARCHIVES}/linux-source-*.tar.xz"),
            package: "linux-source",
        })?;
        Ok(Self::with_targets(Origin::Archive(archive), targets))
    }

    fn with_targets(origin: Origin, targets: &[String]) -> Self {
        let has_targets = !targets.is_empty();
        let targets = if has_targets {
            targets.to_vec()
        } else {
            TARGETS.iter().map(|&target| target.to_owned()).collect()
        };
        Self { origin, targets }
    }

    fn make(&self, environment: &Environment) -> Command {
        let source = match &self.origin {
            Origin::Tree(path) => path,
            Origin::Archive(_) => &environment.source,
        };
        let mut make = Command::new("make");
        make.arg("-s")
            .arg("-C")
            .arg(source)
            .arg(format!("O={}", environment.build.display()))
            .envs(REPRODUCIBLE_SETTINGS);
        make
    }
}

impl Project for Kernel {
    fn name(&self) -> String {
        let source = match &self.origin {
            Origin::Tree(path) | Origin::Archive(path) => path.file_name().unwrap_or(path.as_os_str()),
        };
        format!("{} of {}", self.targets.join(" "), source.to_string_lossy())
    }

    /// The figures are measured with Linux 6.1 and rounded up.
    fn disk_space(&self) -> Bytes {
        let mib = if matches!(self.origin, Origin::Archive(_)) { 200 } else { 50 };
        Bytes::from_kib(mib * 1024)
    }

    fn prepare_source(&mut self, environment: &Environment) -> Result<(), WorkloadError> {
        let Origin::Archive(archive) = &self.origin else { return Ok(()) };
        let mut tar = Command::new("tar");
        tar.arg("-xJf").arg(archive).arg("-C").arg(&environment.source).arg("--strip-components=1");
        tar.args(EXCLUDED_FILES.iter().map(|pattern| format!("--exclude={pattern}")));
        environment.run(&mut tar)
    }

    fn setup_commands(&self, environment: &Environment) -> Vec<Command> {
        let step = |target| {
            let mut make = self.make(environment);
            make.arg(target);
            make
        };
        vec![step("tinyconfig"), step("prepare")]
    }

    fn parallel_command(&self, environment: &Environment, jobs: usize) -> Command {
        let mut make = self.make(environment);
        make.arg(format!("-j{jobs}")).args(&self.targets);
        make
    }

    /// Directories need no link, and the Makefile links vmlinux itself.
    fn link_commands(&self, _: &Environment) -> Vec<Command> {
        Vec::new()
    }

    /// Checks that every object is an ELF file. The objects are identical for every number of jobs.
    fn check_output(&self, environment: &Environment) -> Result<BuildOutput, WorkloadError> {
        let mut paths = Vec::new();
        collect_objects(&environment.build, &mut paths)?;
        paths.sort();
        let mut crc = crc32fast::Hasher::new();
        for path in &paths {
            let bytes = fs::read(path).map_err(file_error("read", path))?;
            // Magic number of ELF (elf(5)).
            if !bytes.starts_with(b"\x7fELF") {
                return Err(WorkloadError::WrongResult {
                    what: format!("build, the object {}", path.display()),
                    expected: "an ELF file".to_owned(),
                    got: format!("{} bytes of something else", bytes.len()),
                });
            }
            crc.update(&bytes);
        }
        if paths.is_empty() {
            let reason = format!("{} made no object", self.targets.join(" "));
            return Err(WorkloadError::ProgramFailed { program: "make".to_owned(), reason });
        }
        Ok(BuildOutput {
            objects: paths.len(),
            checksum: Checksum(crc.finalize()),
            check_name: "every object is an ELF file",
        })
    }
}

/// Kernel archive with the newest version.
fn newest_archive(paths: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let version = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?;
        let version = name.strip_prefix("linux-source-")?.strip_suffix(".tar.xz")?;
        version.split('.').map(|number| number.parse::<u32>().ok()).collect::<Option<Vec<_>>>()
    };
    paths.filter(|path| version(path).is_some()).max_by_key(version)
}

/// Collects the kernel's object files below a directory, without those of programs that the build
/// itself runs.
fn collect_objects(directory: &Path, objects: &mut Vec<PathBuf>) -> Result<(), WorkloadError> {
    for entry in fs::read_dir(directory).map_err(file_error("list", directory))? {
        let entry = entry.map_err(file_error("list", directory))?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(file_error("list", directory))?);
        let belongs_to_build = ["scripts", "tools", "source"].iter().any(|name| path.ends_with(name));
        if kind.is_dir() && !belongs_to_build {
            collect_objects(&path, objects)?;
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "o") {
            objects.push(path);
        }
    }
    Ok(())
}

fn file_error(operation: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> WorkloadError + use<> {
    let path = path.to_owned();
    move |source| WorkloadError::File { operation, path, source, option: TMPDIR }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_archive_is_that_of_the_highest_version() {
        let names =
            ["linux-source-6.1.tar.xz", "linux-source-6.12.tar.xz", "linux-source-6.9.tar.xz", "gtest"];
        let paths = || names.iter().map(|name| Path::new("/usr/src").join(name));
        assert_eq!(newest_archive(paths()), Some(PathBuf::from("/usr/src/linux-source-6.12.tar.xz")));
        assert_eq!(newest_archive(paths().skip(3)), None);
    }
}
