//! Result of one run: whether it failed, and how. Pure.

use morecores_findings::Failure;

use crate::tracer::End;

/// Texts of tools that find faults in a running program. Some let it end with success.
const MESSAGES: [&str; 4] =
    ["ERROR: AddressSanitizer", "WARNING: ThreadSanitizer", "WARNING: MemorySanitizer", "runtime error:"];

/// Facts of a run from which its failure follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) end: End,
    pub(crate) stdout: &'a [u8],
    pub(crate) stderr: &'a [u8],
    /// Output of every run on one CPU, if it was always the same.
    pub(crate) expected_stdout: Option<&'a [u8]>,
}

/// Failure of a run by its end and its output.
pub(crate) fn failure(facts: Facts<'_>) -> Option<Failure> {
    match facts.end {
        End::Exited(0) => {}
        End::Exited(status) => return Some(Failure::Status(status)),
        End::Signalled(signal) => return Some(Failure::Signal(signal)),
        End::Deadlock => return Some(Failure::Deadlock),
        End::Livelock => return Some(Failure::Livelock),
    }
    let stderr = String::from_utf8_lossy(facts.stderr);
    if let Some(message) = MESSAGES.iter().find(|message| stderr.contains(*message)) {
        return Some(Failure::Message((*message).to_owned()));
    }
    facts.expected_stdout.is_some_and(|expected| expected != facts.stdout).then_some(Failure::Output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_follows_from_its_fact() {
        let failure = |end, stdout: &str, stderr: &str, expected: Option<&str>| {
            let expected_stdout = expected.map(str::as_bytes);
            super::failure(Facts {
                end,
                stdout: stdout.as_bytes(),
                stderr: stderr.as_bytes(),
                expected_stdout,
            })
        };
        let well = End::Exited(0);
        assert_eq!(failure(well, "a", "", None), None);
        assert_eq!(failure(well, "a", "", Some("a")), None);
        assert_eq!(failure(well, "a", "", Some("b")), Some(Failure::Output));
        assert_eq!(failure(End::Exited(2), "a", "", Some("b")), Some(Failure::Status(2)));
        assert_eq!(failure(End::Signalled(11), "a", "", None), Some(Failure::Signal(11)));
        assert_eq!(failure(End::Deadlock, "", "", None), Some(Failure::Deadlock));
        assert_eq!(failure(End::Livelock, "", "", None), Some(Failure::Livelock));
        let found = failure(well, "a", "==1==WARNING: ThreadSanitizer: data race", None);
        assert!(matches!(found, Some(Failure::Message(_))), "{found:?}");
    }
}
