//! State of the system around a trace, from /proc and /sys: present CPUs, existing threads, and
//! names of interrupts. Reads no event of the trace.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use morecores_study::CpuSet;
use morecores_study::trace::{KnownThread, Tid, UntracedFact};
use procfs::process::StatFlags;

/// CPUs that are present, online or not: a CPU that is offline now may be online at the beginning
/// of the run.
pub(super) fn present_cpus() -> io::Result<CpuSet> {
    let text = fs::read_to_string("/sys/devices/system/cpu/present")?;
    text.trim()
        .parse()
        .map_err(|_| io::Error::other(format!("/sys/devices/system/cpu/present says `{}`", text.trim())))
}

/// Inode of the first pid namespace: `PROC_PID_INIT_INO` of include/linux/proc_ns.h.
const FIRST_PID_NAMESPACE: u64 = 0xefff_fffc;

/// All existing threads. If the threads' numbers in the events cannot be determined, the list is
/// empty and a reason is given.
pub(super) fn known_threads() -> (Vec<KnownThread>, Option<UntracedFact>) {
    let unknown = |why: String| {
        let what = "names of threads that existed before the trace, until they change".to_owned();
        (Vec::new(), Some(UntracedFact { what, why }))
    };
    match fs::metadata("/proc/self/ns/pid").map(|namespace| namespace.ino()) {
        Ok(FIRST_PID_NAMESPACE) => match list_threads() {
            Ok(known) => (known, None),
            Err(error) => unknown(error.to_string()),
        },
        Ok(_) => unknown(
            "morecores runs in the pid namespace of a container, where threads have other numbers".to_owned(),
        ),
        Err(error) => unknown(format!("cannot read /proc/self/ns/pid: {error}")),
    }
}

/// All threads that /proc lists.
fn list_threads() -> procfs::ProcResult<Vec<KnownThread>> {
    let mut known = Vec::new();
    for process in procfs::process::all_processes()?.flatten() {
        for task in process.tasks().into_iter().flatten().flatten() {
            let Ok(stat) = task.stat() else { continue };
            let flags = StatFlags::from_bits_truncate(stat.flags);
            known.push(KnownThread {
                tid: Tid(task.tid.cast_unsigned()),
                process: Tid(process.pid.cast_unsigned()),
                name: stat.comm,
                kernel: flags.contains(StatFlags::PF_KTHREAD),
            });
        }
    }
    Ok(known)
}

/// Names of the devices' interrupts.
pub(super) fn interrupt_names() -> io::Result<BTreeMap<u32, String>> {
    Ok(parse_interrupts(&fs::read_to_string("/proc/interrupts")?))
}

/// Parses lines such as `36: 570133 490624 PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0`, below a
/// line of the CPUs' names. `procfs` does not read this file.
fn parse_interrupts(text: &str) -> BTreeMap<u32, String> {
    let mut lines = text.lines();
    let cpus = lines.next().map_or(0, |line| line.split_ascii_whitespace().count());
    let interrupt = |line: &str| {
        let (number, rest) = line.split_once(':')?;
        let name = rest.split_ascii_whitespace().skip(cpus).last()?;
        Some((number.trim().parse().ok()?, name.to_owned()))
    };
    lines.filter_map(interrupt).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_have_names() {
        let text = "           CPU0       CPU1\n 36:     570133     490624 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n\
                    LOC:    1758221    1443389   Local timer interrupts\n";
        assert_eq!(parse_interrupts(text), BTreeMap::from([(36, "virtio1-req.0".to_owned())]));
    }

    #[test]
    fn the_threads_of_the_tracer_are_known() {
        let known = list_threads().expect("/proc");
        let own = Tid(std::process::id());
        assert!(known.iter().any(|thread| thread.process == own && !thread.kernel));
    }
}
