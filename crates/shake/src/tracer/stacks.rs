//! Stacks of all threads of a process that is about to end. The threads are stopped and never go
//! on.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use morecores_findings::CodePlace;
use morecores_study::trace::{CodeAddress, Module};
use morecores_symbols::{MappedFiles, Unwinder, UserRegisters};
use nix::sys::ptrace;
use nix::unistd::Pid;
use procfs::process::Process;

use crate::code::CodeMap;
use crate::tracee;

/// Time that a thread gets to stop. One in an uninterruptible sleep does not.
const STOP_TIME: Duration = Duration::from_millis(100);
/// Time between two looks at it.
const STOP_PAUSE: Duration = Duration::from_micros(100);

/// Stack of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThreadStack {
    /// Number of the thread in its process, from 1, in the order of creation.
    pub(crate) thread: usize,
    /// Code of each frame, the innermost first.
    pub(crate) frames: Vec<CodePlace>,
}

/// Whether a signal ends a process: it neither catches nor ignores it.
pub(super) fn is_fatal(process: Pid, signal: i32) -> bool {
    let status = Process::new(process.as_raw()).and_then(|process| process.status());
    status.is_ok_and(|status| (status.sigcgt | status.sigign) >> (signal - 1) & 1 == 0)
}

/// Stops the threads of a process and reads their stacks. `stopped` is one that has stopped
/// already. `original` returns the address in the program of an instruction that is executed
/// elsewhere.
pub(super) fn read(process: Pid, stopped: Option<Pid>, original: impl Fn(u64) -> u64) -> Vec<ThreadStack> {
    let Ok(tasks) = Process::new(process.as_raw()).and_then(|process| process.tasks()) else {
        return Vec::new();
    };
    let mut threads: Vec<Pid> = tasks.flatten().map(|task| Pid::from_raw(task.tid)).collect();
    threads.sort();
    for thread in threads.iter().filter(|thread| Some(**thread) != stopped) {
        stop(*thread);
    }
    let (Ok(map), Ok(memory)) = (CodeMap::read(process), File::open(format!("/proc/{process}/mem"))) else {
        return Vec::new();
    };
    let path = |index: usize| map.mappings()[index].file.display().to_string();
    let modules: Vec<Module> =
        (0..map.mappings().len()).map(|index| Module { path: path(index), build_id: None }).collect();
    let located = HashMap::new();
    let files = MappedFiles { modules: &modules, located: &located };
    let mut unwinder = Unwinder::new();
    let mut stacks = Vec::new();
    for (index, thread) in threads.into_iter().enumerate() {
        let Ok(registers) = ptrace::getregs(thread) else { continue };
        let (ip, sp, bp) = (original(registers.rip), registers.rsp, registers.rbp);
        let locate = |address| map.locate(address);
        let read = |address| {
            let mut bytes = [0; 8];
            memory.read_exact_at(&mut bytes, address).ok()?;
            Some(u64::from_ne_bytes(bytes))
        };
        let stack = unwinder.unwind(UserRegisters { ip, sp, bp }, &files, locate, read);
        let place = |code: &CodeAddress| CodePlace {
            file: map.mappings()[code.module as usize].file.clone(),
            offset: code.offset,
        };
        stacks.push(ThreadStack { thread: index + 1, frames: stack.frames.iter().map(place).collect() });
    }
    stacks
}

/// Stops a thread, which may be held or in a stop already.
fn stop(thread: Pid) {
    let deadline = Instant::now() + STOP_TIME;
    let _ = ptrace::interrupt(thread);
    // The registers of a thread can be read as soon as it has stopped.
    while ptrace::getregs(thread).is_err() && Instant::now() < deadline {
        if !matches!(tracee::poll_thread(thread), Ok(None)) {
            return;
        }
        std::thread::sleep(STOP_PAUSE);
    }
}
