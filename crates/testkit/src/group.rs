//! Groups of tests that need more programs than the build of morecores does. `make test` installs
//! their packages if it can, and `make test SKIP=NAME` leaves a group out.

use crate::report_skip;

/// Variable in which `tools/test.sh` lists the skipped groups, separated by commas.
const SKIPPED_GROUPS: &str = "MORECORES_LEFT_OUT";

/// Group of tests that need the same programs. The group of the same name in `tools/packages` lists
/// their packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestGroup {
    /// Opens the report page in a browser.
    Browser,
    /// Asks real web servers.
    Servers,
    /// Runs POV-Ray.
    Raytrace,
    /// Builds a source tree with the shape of a Linux kernel.
    KernelBuild,
    /// Checks the lock library for C as its users do.
    CLibrary,
    /// Searches programs for failures that depend on the order of threads.
    Shake,
}

impl TestGroup {
    /// All groups, in the order of `tools/test.sh`.
    pub const ALL: [Self; 6] =
        [Self::Browser, Self::Servers, Self::Raytrace, Self::KernelBuild, Self::CLibrary, Self::Shake];

    /// Returns the name of the group in `tools/packages` and after `SKIP=`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Browser => "browser",
            Self::Servers => "servers",
            Self::Raytrace => "raytrace",
            Self::KernelBuild => "kernel-build",
            Self::CLibrary => "c-library",
            Self::Shake => "shake",
        }
    }

    /// Returns the message of a test that lacks a program of the group.
    pub fn missing_program(self, program: &str) -> String {
        format!("there is no {program}; install it with: tools/install-deps.sh {}", self.name())
    }
}

/// Returns whether this group was left out of the tests; notes it under `test` if so.
pub fn skips_group(test: &str, group: TestGroup) -> bool {
    let skipped_groups = std::env::var(SKIPPED_GROUPS).unwrap_or_default();
    let is_skipped = is_among(&skipped_groups, group);
    if is_skipped {
        report_skip(test, &format!("left out by SKIP={}", group.name()));
    }
    is_skipped
}

fn is_among(skipped_groups: &str, group: TestGroup) -> bool {
    skipped_groups.split(',').any(|name| name == group.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_match_the_scripts_and_packages() {
        let names = TestGroup::ALL.map(TestGroup::name);
        let script = include_str!("../../../tools/test.sh");
        assert!(script.contains(&format!("groups=({})", names.join(" "))), "{names:?}");
        let packages = include_str!("../../../tools/packages");
        for name in names {
            assert!(packages.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}");
        }
    }

    #[test]
    fn an_unknown_group_is_refused_before_anything_runs() {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/test.sh");
        let ran = std::process::Command::new(script).env("SKIP", "servers,brows").output().expect("bash");
        assert_eq!(ran.status.code(), Some(2), "{ran:?}");
        assert_eq!(
            String::from_utf8_lossy(&ran.stderr),
            format!(
                "test: SKIP=brows: there is no such group of tests; there are: {}\n",
                TestGroup::ALL.map(TestGroup::name).join(" ")
            )
        );
        assert!(ran.stdout.is_empty(), "{ran:?}");
    }

    #[test]
    fn a_group_is_left_out_by_its_whole_name() {
        let named =
            |list| TestGroup::ALL.into_iter().filter(|group| is_among(list, *group)).collect::<Vec<_>>();
        assert_eq!(named("browser,c-library"), [TestGroup::Browser, TestGroup::CLibrary]);
        assert_eq!(named(""), []);
        assert_eq!(named("build,kernel,brows"), []);
    }
}
