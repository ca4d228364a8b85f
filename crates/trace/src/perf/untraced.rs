//! Descriptions of the information that context-switch records lack.

use morecores_study::CpuSet;
use morecores_study::trace::UntracedFact;

const RECORDS: &str = "context switches, the only events without privilege, do not show it";

/// Information that such a trace lacks. `late_cpus` are CPUs that came online after the trace
/// began.
pub(super) fn list_untraced(late_cpus: &CpuSet) -> Vec<UntracedFact> {
    let mut list: Vec<UntracedFact> = [
        ("wake-ups, and so the reason of each wait and the time that a thread was runnable", RECORDS),
        ("waits for kernel locks", RECORDS),
        ("system calls", RECORDS),
        ("interrupts and time taken by a hypervisor: both look like work of the interrupted thread", RECORDS),
        (
            "other processes: a CPU without a thread of the command may have been idle or used by them",
            "an ordinary user gets records of own processes only",
        ),
        ("the time that each thread used", "the kernel reports it only to the parent of the process"),
        (
            "the last moments of each thread, in which the memory of its process is usually freed",
            "the kernel removes the perf events of a thread before that",
        ),
        (
            "programs that gain privileges when they start, such as sudo, and their descendants",
            "the kernel removes an ordinary user's perf events from them",
        ),
    ]
    .map(|(what, why)| UntracedFact { what: what.to_owned(), why: why.to_owned() })
    .into();
    if !late_cpus.is_empty() {
        let what = format!("the threads on CPU {late_cpus}");
        list.push(UntracedFact { what, why: "it came online after the trace had begun".to_owned() });
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_came_online_late_is_named() {
        let always = list_untraced(&CpuSet::new());
        let late = list_untraced(&"3-4".parse().unwrap());
        assert_eq!(late[..always.len()], always[..]);
        assert_eq!(late[always.len()].what, "the threads on CPU 3-4");
    }
}
