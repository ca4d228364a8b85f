//! Priority of the tracer itself, for one run of a program with real-time priorities.
//!
//! A breakpoint stops a thread until the tracer has seen it. Meanwhile a thread of lower priority
//! could run on the only CPU, which the program may rely on never to happen. With the highest
//! priority on the same CPU, the tracer is next after each stop. On several CPUs, the threads of
//! the program could keep the tracer from all of them.

use std::io;

use nix::libc;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Highest priority of SCHED_FIFO on Linux (sched(7)).
const HIGHEST: i32 = 99;

/// The highest priority on the CPUs of the program, until it is dropped.
#[derive(Debug)]
pub(super) struct OwnPriority {
    cpus_before: CpuSet,
    policy_before: i32,
    priority_before: i32,
}

impl OwnPriority {
    /// Gives this thread the highest priority on `cpus`. Its children do not inherit it.
    ///
    /// # Errors
    /// The process may not have such a priority.
    #[allow(unsafe_code)]
    pub(super) fn highest(cpus: &[usize]) -> io::Result<Self> {
        let cpus_before = sched_getaffinity(None)?;
        let mut parameter = libc::sched_param { sched_priority: 0 };
        // SAFETY: the call writes one parameter.
        let got = unsafe { libc::sched_getparam(0, &raw mut parameter) };
        // SAFETY: the call has no memory.
        let policy_before = unsafe { libc::sched_getscheduler(0) };
        if got < 0 || policy_before < 0 {
            return Err(io::Error::last_os_error());
        }
        set_policy(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, HIGHEST)?;
        let own = Self { cpus_before, policy_before, priority_before: parameter.sched_priority };
        let mut set = CpuSet::new();
        for cpu in cpus {
            set.set(*cpu);
        }
        sched_setaffinity(None, &set)?;
        Ok(own)
    }
}

impl Drop for OwnPriority {
    fn drop(&mut self) {
        // It had these before, and may have them again.
        let _ = set_policy(self.policy_before, self.priority_before);
        let _ = sched_setaffinity(None, &self.cpus_before);
    }
}

#[allow(unsafe_code)]
fn set_policy(policy: i32, priority: i32) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: the call reads one parameter.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(unsafe_code)]
    fn everything_is_put_back() {
        let cpus = sched_getaffinity(None).unwrap();
        let last = (0..CpuSet::MAX_CPU).rfind(|cpu| cpus.is_set(*cpu)).unwrap();
        // SAFETY: the call has no memory.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let before = policy();
        let Ok(own) = OwnPriority::highest(&[last]) else {
            let reason = "it needs the right to real-time priorities";
            return morecores_testkit::report_skip("everything_is_put_back", reason);
        };
        assert_eq!(policy() & !libc::SCHED_RESET_ON_FORK, libc::SCHED_FIFO);
        assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
        drop(own);
        assert_eq!((policy(), sched_getaffinity(None).unwrap() == cpus), (before, true));
    }
}
