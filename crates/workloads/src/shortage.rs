//! What the machine or a limit has too little of: found in what other programs say, with what to do about it.
//!
//! Programs name it each in their own words; all of these words are here, and nowhere else.

/// What there is too little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shortage {
    /// A limit of processes or threads.
    Processes,
    /// Room on a disk: bytes, or files.
    Disk,
}

/// How `EAGAIN` of fork(2) and clone(2) is told of: by strerror(3), by dash ("Cannot fork"), by bash and make ("fork:"
/// with the former), by Apache's AH02324, by Boost's threads, which POV-Ray uses.
const PROCESSES: [&str; 4] =
    ["Resource temporarily unavailable", "Cannot fork", "resource shortage", "thread_resource_error"];

/// `ENOSPC` and `EDQUOT`, by strerror(3), and Apache where it does not say why it cannot write its first file.
const DISK: [&str; 3] = ["No space left on device", "Disk quota exceeded", "could not log pid to file"];

impl Shortage {
    /// What a program's words tell of.
    pub(crate) fn told(said: &str) -> Option<Self> {
        let tells = |words: &[&str]| words.iter().any(|word| said.contains(word));
        if tells(&PROCESSES) {
            return Some(Self::Processes);
        }
        tells(&DISK).then_some(Self::Disk)
    }

    /// What to do, after the reason.
    pub(crate) const fn advice(self) -> &'static str {
        match self {
            Self::Processes => ": raise `ulimit -u` or the cgroup's pids.max, or lower --threads",
            Self::Disk => ": free some, or set TMPDIR to another disk",
        }
    }
}

/// What to do about the trouble that a program's words tell of; nothing where they do not.
pub(crate) fn advice(said: &str) -> &'static str {
    Shortage::told(said).map_or("", Shortage::advice)
}

/// The first line that tells of one: what follows it is mostly its consequence.
pub(crate) fn line<'a>(mut lines: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    lines.find(|line| Shortage::told(line).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WorkloadError;

    #[test]
    fn a_limit_of_processes_says_what_to_do_whoever_tells_of_it() {
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
            let error = WorkloadError::Failed { program: program.to_owned(), reason: reason.to_owned() };
            let text = error.to_string();
            assert!(
                text.ends_with(": raise `ulimit -u` or the cgroup's pids.max, or lower --threads"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_full_disk_says_what_to_do_whoever_tells_of_it() {
        for reason in [
            "tar: x.c: Cannot write: No space left on device",
            "apache2: could not log pid to file /tmp/x/pid",
            "write error: Disk quota exceeded",
        ] {
            let error = WorkloadError::Failed { program: "it".to_owned(), reason: reason.to_owned() };
            assert!(error.to_string().ends_with(": free some, or set TMPDIR to another disk"), "{error}");
        }
        let other =
            WorkloadError::Failed { program: "make".to_owned(), reason: "x.c:1: error: no".to_owned() };
        assert_eq!(other.to_string(), "make failed: x.c:1: error: no");
    }

    #[test]
    fn the_cause_is_found_before_its_consequence() {
        let said =
            "starting\nfork() failed (11: Resource temporarily unavailable)\nsendmsg() failed (9: Bad file)";
        assert_eq!(line(said.lines()), said.lines().nth(1));
        assert_eq!(line("starting\nended".lines()), None);
    }
}
