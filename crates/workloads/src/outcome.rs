//! Result of one run of a workload: its result line, or the error that prevented one.
//!
//! Nothing here is specific to one workload, and nothing here prints.

use std::fmt;
use std::io;
use std::path::PathBuf;

use morecores_study::{Bytes, Nanos};

use crate::shortage;

/// CRC-32 (IEEE 802.3) of a workload's result bytes, equal to `zlib.crc32` in any language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum(pub u32);

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// Work per second of the parallel part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Number of `unit`.
    pub value: f64,
    /// Unit with its denominator, such as `megapixels/s`.
    pub unit: &'static str,
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} {}", self.value, self.unit)
    }
}

/// An additional figure of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Label before the number, such as `p99`.
    pub name: &'static str,
    /// Value of the figure.
    pub value: f64,
    /// Unit, such as `ms`; empty for a plain number.
    pub unit: &'static str,
}

impl fmt::Display for Figure {
    /// Writes four significant digits, and all digits of the integer part of a larger number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, value, unit } = self;
        let whole = if *value == 0.0 { 1 } else { value.abs().log10().floor() as i32 + 1 };
        let decimals = if value.fract() == 0.0 { 0 } else { (4 - whole).clamp(0, 9) as usize };
        write!(f, "{name} {value:.decimals$}")?;
        if unit.is_empty() { Ok(()) } else { write!(f, " {unit}") }
    }
}

/// A run with a result that was checked and found correct.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The workload's name on the command line.
    pub name: &'static str,
    /// Every parameter that affects the result or the speed, in words.
    pub parameters: String,
    /// Time from the first thread's start of work to the last thread's end. It excludes the
    /// creation of threads and input, and the check of the result.
    pub parallel_time: Nanos,
    /// Work divided by `parallel_time`.
    pub rate: Rate,
    /// Additional figures: latencies, surviving counts, parts of the time.
    pub figures: Vec<Figure>,
    /// Checksum of the result, equal for every number of threads.
    pub checksum: Checksum,
    /// Reference against which the result was checked, in words.
    pub check_name: &'static str,
}

impl fmt::Display for Outcome {
    /// Writes one line. Each number stands next to its unit, so that `--metric '([0-9.]+)
    /// megapixels/s'` reads the number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, parameters, rate, figures, checksum, check_name, .. } = self;
        let seconds = self.parallel_time.as_secs_f64();
        write!(f, "{name}: {parameters}: {seconds:.4} s, {rate}")?;
        for figure in figures {
            write!(f, ", {figure}")?;
        }
        write!(f, ", crc32 {checksum} ({check_name})")
    }
}

/// Reason for a run without a result.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The number of threads exceeds the number of indivisible parts.
    #[error("{threads} threads cannot share {parts} {what}: ask for at most --threads {parts}")]
    TooManyThreads {
        /// Requested threads.
        threads: usize,
        /// Indivisible parts of the work.
        parts: usize,
        /// Name of a part, in the plural.
        what: &'static str,
    },
    /// The input and the working memory do not fit.
    #[error("{needed} of memory are needed and {available} are available: lower {arguments}")]
    NotEnoughMemory {
        /// Memory that this run needs at its peak.
        needed: Bytes,
        /// Memory available to a new process without swapping.
        available: Bytes,
        /// Arguments that determine the memory.
        arguments: &'static str,
    },
    /// The system refused memory that seemed available, because of a limit of the process or of its
    /// cgroup.
    #[error("{needed} of memory were refused: lower {arguments}, or raise `ulimit -v`")]
    MemoryRefused {
        /// Size of the refused allocation.
        needed: Bytes,
        /// Arguments that determine the size.
        arguments: &'static str,
    },
    /// The limit of the address space has no room for the threads.
    #[error(
        "{threads} threads may take {needed} of address space and the limit is {limit}: lower --threads, or raise \
         `ulimit -v`"
    )]
    AddressSpace {
        /// Requested threads.
        threads: usize,
        /// Upper bound of the address space that the threads' stacks and heaps take.
        needed: Bytes,
        /// `RLIMIT_AS`.
        limit: Bytes,
    },
    /// The system refused a thread.
    #[error(
        "thread {number} of {wanted} could not be started ({source}): lower --threads, or raise `ulimit -u` or \
         the cgroup's pids.max"
    )]
    Thread {
        /// Number of the refused thread, from 1.
        number: usize,
        /// Number of threads to be started.
        wanted: usize,
        /// The system's reason.
        source: io::Error,
    },
    /// The system refused a process.
    #[error(
        "process {number} of {wanted} could not be started ({source}): lower --threads, or raise `ulimit -u` or \
         the cgroup's pids.max"
    )]
    Process {
        /// Number of the refused process, from 1.
        number: usize,
        /// Number of processes to be started.
        wanted: usize,
        /// The system's reason.
        source: io::Error,
    },
    /// The system refused a process that every run needs once, independently of the number of
    /// threads.
    #[error("{what} could not be started ({source}): raise `ulimit -u` or the cgroup's pids.max")]
    SingleProcess {
        /// Purpose of the process, in words.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// A process that did a piece of the work failed.
    #[error("{message}")]
    ChildFailed {
        /// Error message of that process.
        message: String,
        /// Whether the process found a wrong result.
        is_wrong_result: bool,
    },
    /// A file operation failed.
    #[error("cannot {operation} {}: {source}{}", path.display(), file_advice(source, option))]
    File {
        /// Attempted operation, as words before the path, such as `write to`.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
        /// Option or variable that named the directory.
        option: &'static str,
    },
    /// A program that the workload runs is not installed.
    #[error("{program} is not installed; install it with: apt-get install {package}")]
    NotInstalled {
        /// Name of the program.
        program: String,
        /// Debian's package.
        package: &'static str,
    },
    /// A program that the workload runs failed.
    #[error("{program} failed: {reason}{}", shortage::advice(reason))]
    ProgramFailed {
        /// Name of the program.
        program: String,
        /// Exit status, and the last message of the program.
        reason: String,
    },
    /// Arguments that do not fit together or do not fit this machine.
    #[error("{0}")]
    CannotRun(String),
    /// The result is wrong: the program, the compiler or the machine computes incorrectly.
    #[error(
        "WRONG RESULT: {what}: expected {expected}, got {got}; this machine or this build cannot be trusted"
    )]
    WrongResult {
        /// Compared quantity.
        what: String,
        /// Value that the check expects.
        expected: String,
        /// Value that the run produced.
        got: String,
    },
}

impl WorkloadError {
    /// Replaces the name of the option or variable that named the directory.
    pub(crate) fn with_option(mut self, name: &'static str) -> Self {
        if let Self::File { option, .. } = &mut self {
            *option = name;
        }
        self
    }

    /// Exit status for this error: 1 for a wrong result, 2 for a run that could not be made.
    pub const fn exit_status(&self) -> u8 {
        if self.is_wrong_result() { 1 } else { 2 }
    }

    /// Whether a result was wrong, in this process or in a process that it started.
    pub(crate) const fn is_wrong_result(&self) -> bool {
        match self {
            Self::WrongResult { .. } => true,
            Self::ChildFailed { is_wrong_result, .. } => *is_wrong_result,
            Self::Process { .. }
            | Self::SingleProcess { .. }
            | Self::File { .. }
            | Self::NotInstalled { .. }
            | Self::ProgramFailed { .. }
            | Self::CannotRun(_)
            | Self::TooManyThreads { .. }
            | Self::NotEnoughMemory { .. }
            | Self::MemoryRefused { .. }
            | Self::AddressSpace { .. }
            | Self::Thread { .. } => false,
        }
    }
}

/// Environment variable that names the directory of temporary files.
pub(crate) const TMPDIR: &str = "TMPDIR";

/// Advice on a file error, to follow its reason. `option` names the source of the directory.
fn file_advice(source: &io::Error, option: &str) -> String {
    let set = |what: &str| {
        let is_option = option.starts_with('-');
        if is_option { format!("give {option} {what}") } else { format!("set {option} to {what}") }
    };
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!(": free some, or {}", set("another disk"))
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            format!(": {}", set("a directory that you may write to"))
        }
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            format!(": {}", set("an existing directory"))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_one_line_with_numbers_next_to_their_units() {
        let outcome = Outcome {
            name: "soften",
            parameters: "2 threads".to_owned(),
            parallel_time: Nanos::from_millis(1250),
            rate: Rate { value: 5521.26, unit: "megapixels/s" },
            figures: Vec::new(),
            checksum: Checksum(0xbeef),
            check_name: "known value",
        };
        assert_eq!(
            outcome.to_string(),
            "soften: 2 threads: 1.2500 s, 5521.3 megapixels/s, crc32 0000beef (known value)"
        );
    }

    #[test]
    fn figures_have_four_digits_and_large_ones_all_of_theirs() {
        let format_figure = |value, unit| Figure { name: "p99", value, unit }.to_string();
        assert_eq!(format_figure(1.234_56, "ms"), "p99 1.235 ms");
        assert_eq!(format_figure(0.012_345_6, "ms"), "p99 0.01235 ms");
        assert_eq!(format_figure(123_456.7, "us"), "p99 123457 us");
        assert_eq!(format_figure(20_000_000.0, ""), "p99 20000000");
        assert_eq!(format_figure(0.0, "%"), "p99 0 %");
    }

    #[test]
    fn a_file_error_names_the_option_of_its_directory() {
        let error = |kind: io::ErrorKind| WorkloadError::File {
            operation: "write to",
            path: "/tmp/x".into(),
            source: kind.into(),
            option: TMPDIR,
        };
        for (kind, by_variable, by_option) in [
            (
                io::ErrorKind::StorageFull,
                ": free some, or set TMPDIR to another disk",
                ": free some, or give --dir another disk",
            ),
            (
                io::ErrorKind::PermissionDenied,
                ": set TMPDIR to a directory that you may write to",
                ": give --dir a directory that you may write to",
            ),
            (
                io::ErrorKind::NotFound,
                ": set TMPDIR to an existing directory",
                ": give --dir an existing directory",
            ),
        ] {
            assert_eq!(error(kind).exit_status(), 2);
            assert!(error(kind).to_string().ends_with(by_variable), "{}", error(kind));
            let error = error(kind).with_option("--dir");
            assert!(error.to_string().ends_with(by_option), "{error}");
        }
    }
}
