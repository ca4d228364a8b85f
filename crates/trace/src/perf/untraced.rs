//! Descriptions of the information that context-switch records lack.

use morecores_study::CpuSet;
use morecores_study::trace::Untraced;

const RECORDS: &str =
    "context-switch records of perf events, all that is to be had without privilege, do not tell it";

/// Information that such a trace lacks. `late_cpus` are CPUs that came online after the trace
/// began.
pub(super) fn list_untraced(late_cpus: &CpuSet) -> Vec<Untraced> {
    let mut list: Vec<Untraced> = [
        ("who woke whom, and so why a thread waited or for how long it was runnable", RECORDS),
        ("waits for kernel locks", RECORDS),
        ("system calls", RECORDS),
        ("interrupts, and time that a hypervisor took: both look like work of the thread they hit", RECORDS),
        (
            "other processes: where no thread of the command ran, its CPU may have been idle or somebody else's",
            "an ordinary user is given records of own processes only",
        ),
        ("the time that each thread used", "the kernel tells it to the process's parent alone"),
        (
            "the last moments of each thread, most often with the freeing of its process's memory",
            "the kernel takes a thread's perf events off it before that",
        ),
        (
            "programs that gain privileges when they start (sudo, for one), and their descendants",
            "the kernel takes an ordinary user's perf events off them",
        ),
    ]
    .map(|(what, why)| Untraced { what: what.to_owned(), why: why.to_owned() })
    .into();
    if !late_cpus.is_empty() {
        let what = format!("what ran on CPU {late_cpus}");
        list.push(Untraced { what, why: "it came online after the trace had begun".to_owned() });
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_came_late_is_named() {
        let always = list_untraced(&CpuSet::new());
        let late = list_untraced(&"3-4".parse().unwrap());
        assert_eq!(late[..always.len()], always[..]);
        assert_eq!(late[always.len()].what, "what ran on CPU 3-4");
    }
}
