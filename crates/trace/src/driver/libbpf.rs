//! Version and messages of libbpf. Its complaints about a failed load become an error of this
//! crate, and all of its messages become diagnostics. Prints nothing.

use std::sync::Mutex;

use libbpf_rs::{Error, ErrorKind, PrintLevel, libbpf_sys, set_print};
use tracing::{Level, debug, trace};

use crate::TraceError;

/// Number of lines that a message of libbpf has at most among the diagnostics. A verifier's log
/// holds the reason in its last lines, and may have a million of them.
const MOST_LINES: usize = 40;

/// Version of libbpf that this program is linked with.
pub fn libbpf_version() -> String {
    // SAFETY: both functions have no argument and return a constant.
    #[allow(unsafe_code)]
    let (major, minor) = unsafe { (libbpf_sys::libbpf_major_version(), libbpf_sys::libbpf_minor_version()) };
    format!("{major}.{minor}")
}

/// Converts libbpf's load error into an error of this crate, together with the complaints collected
/// so far.
pub(super) fn refusal(error: &Error) -> TraceError {
    let messages = MESSAGES.lock().map(|mut text| std::mem::take(&mut *text)).unwrap_or_default();
    match (verifier_reason(&messages), error.kind()) {
        // The verifier also rejects programs with the error number for missing privilege.
        (Some(reason), _) => TraceError::Load(reason),
        (None, ErrorKind::PermissionDenied) => TraceError::Refused,
        (None, _) => TraceError::Load(format!("{error}: {}", messages.trim().replace('\n', "; "))),
    }
}

/// Name of the rejected program and the reason, taken from the kernel's log: its last line except
/// the statistics.
fn verifier_reason(messages: &str) -> Option<String> {
    let (before, log) = messages.split_once("-- BEGIN PROG LOAD LOG --")?;
    let program = before.rsplit("prog '").next()?.split('\'').next()?;
    let lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    let reason = lines.take_while(|line| !line.starts_with("processed ")).last()?;
    Some(format!("{program}: {reason}"))
}

/// libbpf's complaints since the last refusal. Without this, libbpf would print them.
static MESSAGES: Mutex<String> = Mutex::new(String::new());

/// Makes libbpf's complaints collect here, and its messages become diagnostics if anybody reads
/// them: those about its progress, hundreds for each load, only at the level of traces.
pub(super) fn collect_messages() {
    let least = if tracing::enabled!(Level::TRACE) {
        PrintLevel::Debug
    } else if tracing::enabled!(Level::DEBUG) {
        PrintLevel::Info
    } else {
        PrintLevel::Warn
    };
    set_print(Some((least, receive)));
}

/// Receives a message of libbpf.
fn receive(level: PrintLevel, text: String) {
    for line in last_lines(&text) {
        match level {
            PrintLevel::Debug => trace!("{line}"),
            PrintLevel::Info | PrintLevel::Warn => debug!("{line}"),
        }
    }
    if let (PrintLevel::Warn, Ok(mut messages)) = (level, MESSAGES.lock()) {
        messages.push_str(&text);
    }
}

/// Last lines of a message, without empty ones.
fn last_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.split_off(lines.len().saturating_sub(MOST_LINES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_of_a_rejected_program_is_the_end_of_its_log() {
        let log = "libbpf: prog 'on_waking': BPF program load failed: -EACCES\n\
                   libbpf: prog 'on_waking': -- BEGIN PROG LOAD LOG --\n0: R1=ctx(off=0,imm=0) R10=fp0\n\
                   17: R3 invalid mem access 'scalar'\nprocessed 17 insns (limit 1000000)\n-- END PROG LOAD LOG --\n";
        assert_eq!(verifier_reason(log).as_deref(), Some("on_waking: 17: R3 invalid mem access 'scalar'"));
        assert_eq!(verifier_reason("libbpf: failed to find valid kernel BTF"), None);
    }

    #[test]
    fn the_end_of_a_long_message_becomes_diagnostics() {
        assert_eq!(last_lines("libbpf: a\n\n  b\n"), ["libbpf: a", "  b"]);
        let long: String = (0..1_000).map(|line| format!("{line}\n")).collect();
        let lines = last_lines(&long);
        assert_eq!((lines.len(), lines[MOST_LINES - 1]), (MOST_LINES, "999"));
    }

    #[test]
    fn libbpf_has_a_version() {
        let version = libbpf_version();
        assert!(version.split_once('.').is_some_and(|(major, _)| major.parse::<u32>().is_ok()), "{version}");
    }
}
