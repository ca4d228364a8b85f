//! Text of `morecores doctor --report`, and its file.
//!
//! The text holds versions, the doctor's findings, some variables and the last log. A reader of a
//! bug tracker sees it, so names of hosts, users and homes are replaced. It is read by people
//! alone.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use morecores_study::Host;

use super::redaction::Redaction;
use crate::{log, terminal, tracer};

/// Variables that affect measurements, output or the last log. No other variable is in the report;
/// MAKEFLAGS, for one, may hold a password.
const VARIABLES: [&str; 16] = [
    log::VARIABLE,
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "TMPDIR",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LC_NUMERIC",
    "TERM",
    "NO_COLOR",
    "MAKELEVEL",
    "OMP_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "GOMAXPROCS",
    "LD_PRELOAD",
    "GLIBC_TUNABLES",
];

/// Largest part of a last log that is read, in bytes. morecores writes less than that.
const MOST_LOG: u64 = 1 << 20;

/// Place of a report.
#[derive(Debug)]
pub(super) enum ReportPlace {
    StandardOutput,
    File { path: PathBuf, file: File },
}

impl ReportPlace {
    /// Creates the file; `-` is standard output.
    ///
    /// # Errors
    /// The file exists, or cannot be created.
    pub(super) fn open(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::StandardOutput);
        }
        match File::options().write(true).create_new(true).open(path) {
            Ok(file) => Ok(Self::File { path: path.to_owned(), file }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(anyhow!(
                "{} exists and is not overwritten: remove it, or name another file with --report=FILE",
                path.display()
            )),
            Err(error) => Err(anyhow!(
                "cannot create {}: {error}; name another file with --report=FILE",
                path.display()
            )),
        }
    }

    /// Writes the report.
    ///
    /// # Errors
    /// A refusal by the system.
    pub(super) fn write(self, text: &str) -> Result<()> {
        match self {
            Self::StandardOutput => terminal::print(text),
            Self::File { path, mut file } => {
                file.write_all(text.as_bytes())
                    .with_context(|| format!("cannot write {}", path.display()))?;
                terminal::note(&format!(
                    "the report is in {}: read it before you send it, since it names the measured command",
                    path.display()
                ));
                Ok(())
            }
        }
    }

    /// Removes the file, which is still empty.
    pub(super) fn discard(self) {
        if let Self::File { path, .. } = self {
            let _ = fs::remove_file(path);
        }
    }
}

/// Text of a report with these findings of the doctor.
pub(super) fn text(host: &Host, findings: &str) -> String {
    let sections = [
        ("Versions", versions(host)),
        ("Findings of the doctor", findings.to_owned()),
        ("Environment", variables()),
        ("Last log", last_log()),
    ];
    let sections = sections.map(|(title, text)| format!("## {title}\n\n{}\n", text.trim_end()));
    let text = format!("# morecores report, {}\n\n{}", jiff::Timestamp::now(), sections.join("\n"));
    Redaction::from_this_process(host).apply(&text)
}

fn versions(host: &Host) -> String {
    let build = if cfg!(debug_assertions) { "debug build" } else { "release build" };
    let environment = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
    let user = if rustix::process::geteuid().is_root() { "root" } else { "an ordinary user" };
    let libbpf = tracer::libbpf_version().unwrap_or_else(|| "none: built without the tracer".to_owned());
    let rows = [
        ("morecores", format!("{}, {build}", env!("CARGO_PKG_VERSION"))),
        ("target", format!("{}-{}-{environment}", env::consts::ARCH, env::consts::OS)),
        ("kernel", format!("Linux {} {}", host.kernel, host.arch)),
        ("system", host.os.clone()),
        ("libbpf", libbpf),
        ("run by", user.to_owned()),
    ];
    rows.iter().map(|(name, value)| format!("{name:10} {value}\n")).collect()
}

fn variables() -> String {
    let set = VARIABLES.iter().filter_map(|name| Some((name, env::var_os(name)?)));
    let lines: String = set.map(|(name, value)| format!("{name}={}\n", value.to_string_lossy())).collect();
    if lines.is_empty() { format!("None of {} is set.\n", VARIABLES.join(", ")) } else { lines }
}

fn last_log() -> String {
    let Some(path) = log::last_log_file() else {
        return "There is none: neither XDG_STATE_HOME nor HOME names a directory.".to_owned();
    };
    let read = File::open(&path).and_then(|file| {
        let mut bytes = Vec::new();
        file.take(MOST_LOG).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    });
    match read {
        Ok(text) => format!("{}\n\n{text}", path.display()),
        Err(error) => format!(
            "There is none ({}: {error}). `morecores run`, `trace` and `locks` write it for the user who runs them.",
            path.display()
        ),
    }
}
