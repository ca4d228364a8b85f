//! Failure of a run, and its text, by which files name it.

use std::fmt;
use std::str::FromStr;

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

/// Failure of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Failure {
    /// Exit status other than 0.
    Status(i32),
    /// Number of the signal that ended the program.
    Signal(i32),
    /// All threads slept until the time limit.
    Deadlock,
    /// Threads ran until the time limit.
    Livelock,
    /// The check of the user failed with this status.
    Check(i32),
    /// Standard output differs from that of every run on one CPU.
    Output,
    /// A message of a sanitizer.
    Message(String),
}

impl Failure {
    /// Exit status of a check that the shell could not run: 126 where a command cannot be executed,
    /// 127 where it is not found (POSIX, Shell Command Language, 2.8.2).
    #[must_use]
    pub const fn unrunnable_check(&self) -> Option<i32> {
        match *self {
            Self::Check(status @ (126 | 127)) => Some(status),
            _ => None,
        }
    }
}

const STATUS: &str = "exit status ";
const SIGNAL: &str = "signal ";
const DEADLOCK: &str = "no end, all threads asleep (deadlock)";
const LIVELOCK: &str = "no end, threads running (livelock)";
const CHECK: &str = "check failed with status ";
const OUTPUT: &str = "other output than on one CPU";
const MESSAGE: &str = "message ";

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "{STATUS}{status}"),
            Self::Signal(number) => match Signal::try_from(*number) {
                Ok(signal) => write!(f, "{signal}"),
                // Its names know no real-time signal.
                Err(_) => write!(f, "{SIGNAL}{number}"),
            },
            Self::Deadlock => f.write_str(DEADLOCK),
            Self::Livelock => f.write_str(LIVELOCK),
            Self::Check(status) => write!(f, "{CHECK}{status}"),
            Self::Output => f.write_str(OUTPUT),
            Self::Message(text) => write!(f, "{MESSAGE}`{text}`"),
        }
    }
}

/// Text that names no failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no failure that this version knows")]
pub struct UnknownFailure(String);

/// Reads the text of a failure.
impl FromStr for Failure {
    type Err = UnknownFailure;

    fn from_str(text: &str) -> Result<Self, UnknownFailure> {
        let number = |start: &str| text.strip_prefix(start)?.parse().ok();
        let quoted = || text.strip_prefix(MESSAGE)?.strip_prefix('`')?.strip_suffix('`');
        let fixed = match text {
            DEADLOCK => Some(Self::Deadlock),
            LIVELOCK => Some(Self::Livelock),
            OUTPUT => Some(Self::Output),
            _ => None,
        };
        fixed
            .or_else(|| number(STATUS).map(Self::Status))
            .or_else(|| number(CHECK).map(Self::Check))
            .or_else(|| number(SIGNAL).map(Self::Signal))
            .or_else(|| text.parse::<Signal>().ok().map(|signal| Self::Signal(signal as i32)))
            .or_else(|| quoted().map(|text| Self::Message(text.to_owned())))
            .ok_or_else(|| UnknownFailure(text.to_owned()))
    }
}

impl From<Failure> for String {
    fn from(failure: Failure) -> Self {
        failure.to_string()
    }
}

impl TryFrom<String> for Failure {
    type Error = UnknownFailure;

    fn try_from(text: String) -> Result<Self, UnknownFailure> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_their_names() {
        assert_eq!(Failure::Signal(11).to_string(), "SIGSEGV");
        assert_eq!(Failure::Signal(34).to_string(), "signal 34");
    }

    #[test]
    fn each_failure_is_read_back_from_its_text() {
        let failures = [
            Failure::Status(3),
            Failure::Signal(11),
            Failure::Signal(34),
            Failure::Deadlock,
            Failure::Livelock,
            Failure::Check(-1),
            Failure::Output,
            Failure::Message("runtime error:".to_owned()),
        ];
        for failure in failures {
            let json = serde_json::to_string(&failure).unwrap();
            assert_eq!(serde_json::from_str::<Failure>(&json).unwrap(), failure, "{json}");
        }
        assert!("nothing".parse::<Failure>().is_err());
    }
}
