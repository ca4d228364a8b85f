//! Probes: only an attempt reveals whether the kernel allows an operation.
//!
//! Every probe undoes its changes before it returns.

pub(super) mod bpf;
pub(super) mod groups;
pub(super) mod perf;

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;

use morecores_study::trace::{Need, TRACEPOINTS, Tracepoint};

use super::facts::Tracefs;

/// Mount point of tracefs (`Documentation/trace/ftrace.rst`).
pub(super) const TRACEFS: &str = "/sys/kernel/tracing";

/// File that describes the kernel's own types.
pub(super) const BTF: &str = "/sys/kernel/btf/vmlinux";

/// Whether tracefs can be read. The directory exists, and is empty, if tracefs is not mounted.
pub(super) fn tracefs() -> Tracefs {
    match fs::read_dir(TRACEFS).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Tracefs::NotMounted,
        Ok(false) => Tracefs::Readable,
        Err(error) if error.kind() == ErrorKind::NotFound => Tracefs::Absent,
        Err(_) => Tracefs::Closed,
    }
}

/// Tracepoints that a trace of a command uses on this architecture.
pub(super) fn needed_tracepoints() -> impl Iterator<Item = &'static Tracepoint> {
    TRACEPOINTS.iter().filter(|tracepoint| tracepoint.need != Need::X86Timer || cfg!(target_arch = "x86_64"))
}

/// Tracepoints that the kernel lacks, according to tracefs or, without it, BTF. `None` if neither
/// can be read.
pub(super) fn missing_tracepoints(tracefs: Tracefs) -> Option<Vec<String>> {
    let missing = |exists: &dyn Fn(&str, &str) -> bool| {
        let missing = needed_tracepoints().filter(|tracepoint| !exists(tracepoint.group, tracepoint.name));
        missing.map(|tracepoint| format!("{}:{}", tracepoint.group, tracepoint.name)).collect()
    };
    if tracefs == Tracefs::Readable {
        return Some(missing(&|group, name| {
            fs::exists(format!("{TRACEFS}/events/{group}/{name}")).unwrap_or(false)
        }));
    }
    let btf = fs::read(BTF).ok()?;
    let names = tracepoints_in_btf(&btf);
    Some(missing(&|_, name| names.contains(name.as_bytes())))
}

/// Names of all tracepoints in BTF. Each tracepoint has a type `btf_trace_NAME`
/// (`include/trace/bpf_probe.h`), and BTF keeps its names as zero-terminated strings.
fn tracepoints_in_btf(btf: &[u8]) -> BTreeSet<&[u8]> {
    btf.split(|byte| *byte == 0).filter_map(|name| name.strip_prefix(b"btf_trace_")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracepoints_are_recognised_by_their_types() {
        let btf = b"\x9f\xeb\x01\0int\0btf_trace_sched_switch\0btf_trace_x\0xbtf_trace_y\0";
        let names: Vec<&[u8]> = tracepoints_in_btf(btf).into_iter().collect();
        assert_eq!(names, [&b"sched_switch"[..], b"x"]);
    }
}
