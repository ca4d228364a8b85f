//! Registry of the exam's commands, and their halves.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

/// Part of the registry that a command belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// Constants may be chosen by these commands.
    Tuning,
    /// Nothing may be chosen by these commands.
    Scoring,
}

/// Command of the exam.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Program {
    pub(crate) name: String,
    /// Interaction of the program's parts: the list at the top of the registry.
    pub(crate) class: String,
    /// Debian packages that the command needs.
    pub(crate) package: Vec<String>,
    pub(crate) command: String,
    pub(crate) prepare: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Registry {
    program: Vec<Program>,
}

impl Program {
    /// Half of the command, by a hash of its name (FNV-1a, 64 bits): the same for all time, and not
    /// chosen by anybody.
    pub(crate) fn half(&self) -> Half {
        let hash = self.name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        if hash.is_multiple_of(2) { Half::Tuning } else { Half::Scoring }
    }

    /// First package of the command that is not installed.
    pub(crate) fn missing_package(&self) -> Option<&str> {
        let is_installed = |package: &String| {
            let mut query = Command::new("dpkg-query");
            query.args(["-W", "-f", "${db:Status-Status}", package]).stderr(Stdio::null());
            query.output().is_ok_and(|output| output.stdout.starts_with(b"installed"))
        };
        self.package.iter().find(|package| !is_installed(package)).map(String::as_str)
    }

    /// Line of the registry with its placeholder replaced.
    pub(crate) fn resolve(&self, line: &str) -> String {
        line.replace("EXAM", &exam_folder().to_string_lossy())
    }
}

pub(crate) fn exam_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../predict/exam").canonicalize().unwrap()
}

/// Commands of the registry, in its order.
pub(crate) fn read_registry() -> Vec<Program> {
    let text = std::fs::read_to_string(exam_folder().join("programs.toml")).unwrap();
    let registry: Registry = toml::from_str(&text).unwrap();
    registry.program
}
