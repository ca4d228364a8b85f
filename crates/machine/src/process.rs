//! Facts about processes and threads by number, and signals to them.
//!
//! This module has no policy: callers decide which process to examine or end, and when.

use std::fs;
use std::io;
use std::mem::size_of_val;

use morecores_study::{CpuId, CpuSet};
use procfs::FromRead as _;
use procfs::process::Stat;
use rustix::process::{Pid, Signal};

/// Start of a process or thread, in clock ticks since boot; absent if the number is unused.
pub fn start_time(task: u32) -> Option<u64> {
    read_stat(task).map(|stat| stat.starttime)
}

/// Parent of a process; absent if the number is unused.
pub fn parent(process: u32) -> Option<u32> {
    read_stat(process).map(|stat| stat.ppid.cast_unsigned())
}

/// Name of a process, as in `ps -o comm`.
pub fn command_name(process: u32) -> Option<String> {
    read_stat(process).map(|stat| stat.comm)
}

/// CPU on which a thread ran last; 0 is the calling thread. Absent if the number is unused.
pub fn last_cpu(task: u32) -> Option<CpuId> {
    if task == 0 {
        return Some(CpuId(rustix::thread::sched_getcpu() as u32));
    }
    read_stat(task)?.processor.map(|cpu| CpuId(cpu.cast_unsigned()))
}

fn read_stat(task: u32) -> Option<Stat> {
    Stat::from_file(format!("/proc/{task}/stat")).ok()
}

/// Statistics of all processes of this PID namespace, including zombies.
pub(crate) fn all_stats() -> impl Iterator<Item = Stat> {
    procfs::process::all_processes().into_iter().flatten().flatten().filter_map(|process| process.stat().ok())
}

/// Whether `task` is a thread of this process.
pub fn is_our_thread(task: u32) -> bool {
    fs::exists(format!("/proc/self/task/{task}")).unwrap_or(false)
}

/// Ends a process at once; does nothing if the process does not exist.
pub fn kill(process: u32) {
    if let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// Entry of the process table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessEntry {
    /// Process number.
    pub pid: u32,
    /// Number of the parent process.
    pub parent: u32,
    /// Whether the process still runs code: false for a zombie.
    pub is_living: bool,
}

/// Process table: all processes of this PID namespace, including zombies.
pub fn process_table() -> Vec<ProcessEntry> {
    let entry = |stat: Stat| ProcessEntry {
        pid: stat.pid.cast_unsigned(),
        parent: stat.ppid.cast_unsigned(),
        // A first thread that has ended is a zombie while the other threads continue.
        is_living: !matches!(stat.state, 'Z' | 'X') || stat.num_threads > 1,
    };
    all_stats().map(entry).collect()
}

/// Living processes of a table below `process`, parents before children. The `excluded` processes
/// and all processes below them are left out.
pub fn descendants_in(table: &[ProcessEntry], process: u32, excluded: &[u32]) -> Vec<u32> {
    let children = |parent: u32| {
        table
            .iter()
            .filter(move |entry| entry.is_living && entry.parent == parent && !excluded.contains(&entry.pid))
    };
    let mut found: Vec<u32> = children(process).map(|entry| entry.pid).collect();
    let mut next = 0;
    while next < found.len() {
        found.extend(children(found[next]).map(|entry| entry.pid));
        next += 1;
    }
    found
}

/// All living descendants of `process`, parents before children, without zombies.
pub fn descendants(process: u32) -> Vec<u32> {
    descendants_in(&process_table(), process, &[])
}

/// CPUs that a thread may use; 0 is the calling thread.
///
/// # Errors
/// The thread does not exist.
pub fn affinity(task: u32) -> io::Result<CpuSet> {
    // The mask has room for 8192 CPUs, the most that Linux supports. A shorter mask fails with
    // EINVAL on a larger machine.
    let mut mask = [0 as libc::c_ulong; 8192 / libc::c_ulong::BITS as usize];
    // SAFETY: the kernel writes at most the given size at the pointer, an array of that size.
    #[allow(unsafe_code)]
    let result =
        unsafe { libc::sched_getaffinity(task as libc::pid_t, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let bits = libc::c_ulong::BITS;
    let is_set = |cpu: &u32| mask[(cpu / bits) as usize] >> (cpu % bits) & 1 == 1;
    Ok((0..mask.len() as u32 * bits).filter(is_set).map(CpuId).collect())
}

/// Sets the CPUs that a thread may use; 0 is the calling thread.
///
/// # Errors
/// The thread does not exist, or it may use none of the CPUs.
pub fn set_affinity(task: u32, cpus: &CpuSet) -> io::Result<()> {
    let mask = affinity_mask(cpus);
    let size = size_of_val(mask.as_slice());
    // SAFETY: the kernel reads `size` bytes at the pointer, a slice of that size.
    #[allow(unsafe_code)]
    let result = unsafe { libc::sched_setaffinity(task as libc::pid_t, size, mask.as_ptr().cast()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// CPU mask of any length for `sched_setaffinity(2)`; `cpu_set_t` ends at 1024 CPUs.
pub fn affinity_mask(cpus: &CpuSet) -> Vec<libc::c_ulong> {
    const BITS: usize = libc::c_ulong::BITS as usize;
    let words = cpus.iter().next_back().map_or(0, |last| last.0 as usize / BITS + 1);
    let mut mask = vec![0; words];
    for cpu in cpus.iter() {
        mask[cpu.0 as usize / BITS] |= 1 << (cpu.0 as usize % BITS);
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_distinguished_from_a_later_one_with_its_number() {
        let ours = std::process::id();
        assert!(start_time(ours).is_some_and(|t| t > 0));
        assert_eq!(start_time(u32::MAX), None);
        assert!(is_our_thread(ours) && !is_our_thread(1));
        assert_eq!(
            parent(ours),
            rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().cast_unsigned())
        );
    }

    #[test]
    fn a_name_that_is_not_utf_8_does_not_hide_the_process() {
        let child = std::process::Command::new("bash")
            .args(["-c", r"printf 'a\xff) b' >/proc/$$/comm; echo; sleep 60; :"])
            .stdout(std::process::Stdio::piped())
            .spawn();
        let mut child = child.unwrap();
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let pid = child.id();
        assert_eq!(command_name(pid).as_deref(), Some("a\u{fffd}) b"));
        assert_eq!(parent(pid), Some(std::process::id()));
        assert!(start_time(pid).is_some());
        for process in descendants(pid).into_iter().chain([pid]) {
            kill(process);
        }
        child.wait().unwrap();
    }

    #[test]
    fn affinity_reads_back_as_set() {
        let before = affinity(0).unwrap();
        let one: CpuSet = before.first().into_iter().collect();
        set_affinity(0, &one).unwrap();
        assert_eq!(affinity(0).unwrap(), one);
        set_affinity(0, &before).unwrap();
        assert_eq!(affinity(0).unwrap(), before);
        assert!(set_affinity(0, &CpuSet::new()).is_err());
    }

    #[test]
    fn descendants_of_a_spared_process_are_spared() {
        let entry = |pid, parent| ProcessEntry { pid, parent, is_living: true };
        // Server 10 has a worker 11 with a helper 12; command 20 has a child 21; process 30 is
        // unrelated.
        let table = [entry(12, 11), entry(11, 10), entry(10, 1), entry(20, 1), entry(21, 20), entry(30, 2)];
        assert_eq!(descendants_in(&table, 1, &[]), [10, 20, 11, 21, 12]);
        assert_eq!(descendants_in(&table, 1, &[10]), [20, 21]);
        assert_eq!(descendants_in(&table, 1, &[10, 21]), [20]);
        let dead = ProcessEntry { is_living: false, ..entry(22, 20) };
        assert_eq!(descendants_in(&[table.as_slice(), &[dead]].concat(), 20, &[]), [21]);
    }

    #[test]
    fn descendants_are_found() {
        let mut child = std::process::Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn().unwrap();
        let ours = std::process::id();
        morecores_testkit::wait_until("a child of a child is there", || {
            descendants(ours).iter().any(|&pid| command_name(pid).as_deref() == Some("sleep"))
        });
        for pid in descendants(child.id()) {
            kill(pid);
        }
        kill(child.id());
        child.wait().unwrap();
    }
}
