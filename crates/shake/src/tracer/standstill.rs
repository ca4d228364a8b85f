//! Programs that stand still: whether every thread waits forever, and for which locks.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;

use nix::libc;
use nix::unistd::Pid;
use procfs::process::{ProcState, Process, Syscall, Task};

use super::stops::Activity;
use crate::code::{CodeMap, CodeMapping};

/// Bits of a futex operation that tell its kind (futex(2)).
const FUTEX_COMMAND: u64 = 0x7f;
/// Kinds of waiting. `FUTEX_LOCK_PI2` is 13.
const FUTEX_WAITS: [u64; 4] =
    [libc::FUTEX_WAIT as u64, libc::FUTEX_WAIT_BITSET as u64, libc::FUTEX_LOCK_PI as u64, 13];
/// Offset of the owner's thread identifier in a mutex of glibc, in bytes.
const MUTEX_OWNER: u64 = 8;

/// Thread that waits for a lock or a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LockWait {
    /// Number of the thread in its process, from 1, in the order of creation.
    pub(crate) thread: usize,
    /// Address of the futex.
    pub(crate) address: u64,
    /// Number of the thread that holds the lock, if it is a mutex of glibc.
    pub(crate) owner: Option<usize>,
    /// Code of the files of the process, which tells in which file the futex is.
    pub(crate) code: Vec<CodeMapping>,
}

/// Whether every thread of these processes sleeps in a wait for a futex that has no time limit.
/// Nothing but a signal or another program can end that.
pub(super) fn is_deadlock(processes: &BTreeSet<Pid>) -> bool {
    !processes.is_empty()
        && processes.iter().all(|process| {
            let tasks = living_tasks(*process);
            !tasks.is_empty() && tasks.iter().all(|task| endless_futex(task).is_some())
        })
}

/// Whether every thread of these processes sleeps.
pub(super) fn is_asleep(processes: &BTreeSet<Pid>) -> bool {
    let sleeps = |task: &Task| {
        task.stat().and_then(|stat| stat.state()).is_ok_and(|state| state == ProcState::Sleeping)
    };
    processes.iter().all(|process| living_tasks(*process).iter().all(sleeps))
}

/// CPU times of these processes, to see whether they stand still.
pub(super) fn times(processes: &BTreeSet<Pid>) -> Vec<(u64, u64)> {
    processes.iter().map(|process| Activity::read(*process, None).times).collect()
}

/// Waits of the threads of these processes for futexes.
pub(super) fn lock_waits(processes: &BTreeSet<Pid>) -> Vec<LockWait> {
    let mut waits = Vec::new();
    for process in processes {
        let mut tasks = living_tasks(*process);
        tasks.sort_by_key(|task| task.tid);
        let number = |tid: i32| tasks.iter().position(|task| task.tid == tid).map(|index| index + 1);
        let code = CodeMap::read(*process).map(|map| map.mappings().to_vec()).unwrap_or_default();
        let memory = File::open(format!("/proc/{process}/mem"));
        for task in &tasks {
            let (Some(address), Some(thread)) = (endless_futex(task), number(task.tid)) else { continue };
            let mut owner = [0; 4];
            let read = memory
                .as_ref()
                .is_ok_and(|memory| memory.read_exact_at(&mut owner, address + MUTEX_OWNER).is_ok());
            let owner = read.then(|| number(i32::from_ne_bytes(owner))).flatten();
            let owner = owner.filter(|owner| *owner != thread);
            waits.push(LockWait { thread, address, owner, code: code.clone() });
        }
    }
    waits
}

fn living_tasks(process: Pid) -> Vec<Task> {
    let tasks = Process::new(process.as_raw()).and_then(|process| process.tasks());
    let is_alive = |task: &Task| {
        task.stat()
            .and_then(|stat| stat.state())
            .is_ok_and(|state| !matches!(state, ProcState::Zombie | ProcState::Dead))
    };
    tasks.map(|tasks| tasks.flatten().filter(is_alive).collect()).unwrap_or_default()
}

/// Address of the futex for which a thread waits without a time limit.
fn endless_futex(task: &Task) -> Option<u64> {
    match task.syscall().ok()? {
        Syscall::Blocked { syscall_number: libc::SYS_futex, argument_registers, .. } => {
            let [address, operation, _, limit, ..] = argument_registers;
            (FUTEX_WAITS.contains(&(operation & FUTEX_COMMAND)) && limit == 0).then_some(address)
        }
        _ => None,
    }
}
