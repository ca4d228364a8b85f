//! libbpf's complaints about a failed load, as an error of this crate. Prints nothing.

use std::sync::Mutex;

use libbpf_rs::{Error, ErrorKind, PrintLevel, set_print};

use crate::TraceError;

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

/// Makes libbpf collect its complaints.
pub(super) fn collect_messages() {
    let keep = |_, text: String| {
        if let Ok(mut messages) = MESSAGES.lock() {
            messages.push_str(&text);
        }
    };
    set_print(Some((PrintLevel::Warn, keep)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejected_program_s_reason_is_the_end_of_its_log() {
        let log = "libbpf: prog 'on_waking': BPF program load failed: -EACCES\n\
                   libbpf: prog 'on_waking': -- BEGIN PROG LOAD LOG --\n0: R1=ctx(off=0,imm=0) R10=fp0\n\
                   17: R3 invalid mem access 'scalar'\nprocessed 17 insns (limit 1000000)\n-- END PROG LOAD LOG --\n";
        assert_eq!(verifier_reason(log).as_deref(), Some("on_waking: 17: R3 invalid mem access 'scalar'"));
        assert_eq!(verifier_reason("libbpf: failed to find valid kernel BTF"), None);
    }
}
