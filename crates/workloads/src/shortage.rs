//! Shortages of the machine or of a limit, recognised in the messages of other programs, with
//! advice on each.
//!
//! Each program words a shortage differently. This module holds all of these wordings.

/// The scarce resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shortage {
    /// A limit of processes or threads.
    Processes,
    /// Room on a disk: bytes or files.
    Disk,
}

/// Messages for `EAGAIN` of fork(2) and clone(2). The sources are strerror(3), dash ("Cannot
/// fork"), bash and make ("fork:" and strerror's message), Apache's AH02324, and Boost's threads,
/// which POV-Ray uses.
const PROCESSES: [&str; 4] =
    ["Resource temporarily unavailable", "Cannot fork", "resource shortage", "thread_resource_error"];

/// Messages for `ENOSPC` and `EDQUOT` by strerror(3). Apache's message gives no reason for the
/// failed write of its first file.
const DISK: [&str; 3] = ["No space left on device", "Disk quota exceeded", "could not log pid to file"];

impl Shortage {
    /// Shortage that a program's message reports.
    pub(crate) fn from_message(message: &str) -> Option<Self> {
        let contains_any = |words: &[&str]| words.iter().any(|word| message.contains(word));
        if contains_any(&PROCESSES) {
            return Some(Self::Processes);
        }
        contains_any(&DISK).then_some(Self::Disk)
    }

    /// Advice, to follow the reason.
    pub(crate) const fn advice(self) -> &'static str {
        match self {
            Self::Processes => ": raise `ulimit -u` or the cgroup's pids.max, or lower --threads",
            Self::Disk => ": free some, or set TMPDIR to another disk",
        }
    }
}

/// Advice on the shortage that a program's message reports; empty if it reports none.
pub(crate) fn advice(message: &str) -> &'static str {
    Shortage::from_message(message).map_or("", Shortage::advice)
}

/// First line that reports a shortage. The lines after it are mostly its consequences.
pub(crate) fn find_line<'a>(mut lines: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    lines.find(|line| Shortage::from_message(line).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WorkloadError;

    #[test]
    fn a_process_limit_is_recognised_with_advice_for_any_program() {
        for (program, reason) in [
            ("POV-Ray", "Resource temporarily unavailable (os error 11)"),
            (
                "POV-Ray",
                "signal: 6 (SIGABRT): terminate called after throwing 'boost::thread_resource_error'",
            ),
            ("sh", "/tmp/x/configure: 3: Cannot fork"),
            ("the web server (apache-event)", "AH02324: A resource shortage or other unrecoverable failure"),
            ("the web server (nginx)", "fork() failed (11: Resource temporarily unavailable)"),
        ] {
            let error =
                WorkloadError::ProgramFailed { program: program.to_owned(), reason: reason.to_owned() };
            let text = error.to_string();
            assert!(
                text.ends_with(": raise `ulimit -u` or the cgroup's pids.max, or lower --threads"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_full_disk_is_recognised_with_advice_for_any_program() {
        for reason in [
            "tar: x.c: Cannot write: No space left on device",
            "apache2: could not log pid to file /tmp/x/pid",
            "write error: Disk quota exceeded",
        ] {
            let error = WorkloadError::ProgramFailed { program: "it".to_owned(), reason: reason.to_owned() };
            assert!(error.to_string().ends_with(": free some, or set TMPDIR to another disk"), "{error}");
        }
        let other = WorkloadError::ProgramFailed {
            program: "make".to_owned(),
            reason: "x.c:1: error: no".to_owned(),
        };
        assert_eq!(other.to_string(), "make failed: x.c:1: error: no");
    }

    #[test]
    fn the_cause_is_found_before_its_consequence() {
        let message =
            "starting\nfork() failed (11: Resource temporarily unavailable)\nsendmsg() failed (9: Bad file)";
        assert_eq!(find_line(message.lines()), message.lines().nth(1));
        assert_eq!(find_line("starting\nended".lines()), None);
    }
}
