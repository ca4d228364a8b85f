//! Descriptions of the information that the records of perf events lack.

use morecores_study::CpuSet;
use morecores_study::trace::UntracedFact;

use super::samples::Sampling;

const RECORDS: &str = "the perf events of an ordinary user do not show it";

const WAITS: &str = "waits begin in the kernel, and an ordinary user gets events of user mode only";
const USER_MODE: &str = "an ordinary user gets samples of user mode only";
const CLOCKS: &str = "each thread has its own clock, which begins with the thread";

/// Least memory of a stack below which the trace names the limit, in bytes. A choice: the stacks of
/// most programs take less.
const USUAL_STACK_BYTES: u32 = 16 << 10;

/// Information that a trace with these samples lacks. `late_cpus` are CPUs that came online after
/// the trace began.
pub(super) fn list_untraced(sampling: Sampling, late_cpus: &CpuSet) -> Vec<UntracedFact> {
    let mut list: Vec<UntracedFact> = [
        ("the functions in which threads wait, and their callers", WAITS),
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
    let fact = |what: String, why: &str| UntracedFact { what, why: why.to_owned() };
    match sampling {
        Sampling::Off => list.push(fact(
            "the functions that the threads ran".to_owned(),
            "this kernel does not copy registers and stack memory of a thread",
        )),
        Sampling::Stacks { bytes } => {
            list.push(fact("the functions of work in the kernel".to_owned(), USER_MODE));
            list.push(fact(
                "the functions of threads that ran for less than 5 ms on a CPU".to_owned(),
                CLOCKS,
            ));
            if bytes < USUAL_STACK_BYTES {
                let what = format!("the callers beyond the first {} KiB of a stack", bytes / 1024);
                list.push(fact(what, "the memory for buffers is limited (kernel.perf_event_mlock_kb)"));
            }
        }
    }
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
        let always = list_untraced(Sampling::Off, &CpuSet::new());
        let late = list_untraced(Sampling::Off, &"3-4".parse().unwrap());
        assert_eq!(late[..always.len()], always[..]);
        assert_eq!(late[always.len()].what, "the threads on CPU 3-4");
    }
}
