//! CPUs and CPU time of the laboratory's threads.

use std::mem::MaybeUninit;

use morecores_study::{CpuId, CpuSet, Nanos};
use rustix::thread::{sched_getaffinity, sched_setaffinity};

use morecores_workloads::WorkloadError;
use morecores_workloads::clock::thread_cpu;

/// CPUs that this process may use.
pub(super) fn usable_cpus() -> Result<CpuSet, WorkloadError> {
    let mask = sched_getaffinity(None).map_err(|error| {
        WorkloadError::CannotRun(format!("the CPUs that may be used could not be read: {error}"))
    })?;
    let numbers = 0..rustix::thread::CpuSet::MAX_CPU;
    Ok(numbers.filter(|cpu| mask.is_set(*cpu)).map(|cpu| CpuId(cpu as u32)).collect())
}

/// List of these CPUs, after the check that this process may use them all and that there are at
/// least `min_count`.
pub(super) fn check_cpus(cpus: &CpuSet, min_count: usize) -> Result<Vec<CpuId>, WorkloadError> {
    let usable_cpus = usable_cpus()?;
    if let Some(cpu) = cpus.difference(&usable_cpus).first() {
        return Err(WorkloadError::CannotRun(format!(
            "CPU {cpu} may not be used here: take some of {usable_cpus}"
        )));
    }
    if cpus.len() < min_count {
        return Err(WorkloadError::CannotRun(format!(
            "this takes {min_count} CPU{} and --cpus has {}: name more",
            if min_count == 1 { "" } else { "s" },
            cpus.len()
        )));
    }
    Ok(cpus.iter().collect())
}

/// Pins the calling thread to a checked CPU.
pub(super) fn pin(cpu: CpuId) -> Result<(), WorkloadError> {
    let mut mask = rustix::thread::CpuSet::new();
    mask.set(cpu.0 as usize);
    sched_setaffinity(None, &mask).map_err(|error| {
        WorkloadError::CannotRun(format!(
            "no thread may run on CPU {cpu} any more ({error}): the CPUs were changed meanwhile, run it again"
        ))
    })
}

/// CPU time of a thread, split into user and system time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ThreadCpuTime {
    /// Time in user mode.
    pub(super) user: Nanos,
    /// Time in the kernel.
    pub(super) system: Nanos,
}

impl ThreadCpuTime {
    /// CPU time that the calling thread uses for `work`. The total is the scheduler's own figure,
    /// in nanoseconds. The split follows `getrusage`. On most kernels `getrusage` samples the
    /// thread's mode at the timer's ticks, so the split is correct only on average over many
    /// windows.
    pub(super) fn measure<T>(work: impl FnOnce() -> T) -> (Self, T) {
        let (parts, before) = (rusage_parts(), thread_cpu());
        let result = work();
        let (total, after) = (thread_cpu().since(before), self::rusage_parts());
        let [user, system] = [0, 1].map(|part| after[part].since(parts[part]).0);
        (Self::split(total, user, system), result)
    }

    fn split(total: Nanos, user: u64, system: u64) -> Self {
        let both = u128::from(user) + u128::from(system);
        let system = (u128::from(total.0) * u128::from(system)).checked_div(both).unwrap_or(0) as u64;
        Self { user: Nanos(total.0 - system), system: Nanos(system) }
    }
}

/// User and system time of the calling thread, as `getrusage` splits them.
fn rusage_parts() -> [Nanos; 2] {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory of the right size, and zeros are valid there; the kernel
    // writes no more than this size.
    #[allow(unsafe_code)]
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let nanos = |time: libc::timeval| Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000);
    [nanos(usage.ru_utime), nanos(usage.ru_stime)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_shares_of_the_whole() {
        let cpu_time = |user, system| ThreadCpuTime { user: Nanos(user), system: Nanos(system) };
        assert_eq!(ThreadCpuTime::split(Nanos(1000), 30, 10), cpu_time(750, 250));
        assert_eq!(ThreadCpuTime::split(Nanos(1000), 0, 10), cpu_time(0, 1000));
        // No tick fell into the time.
        assert_eq!(ThreadCpuTime::split(Nanos(7), 0, 0), cpu_time(7, 0));
    }

    /// Computes and calls the kernel until this thread has used the given CPU time.
    fn work(duration: Nanos) {
        let zeros = std::fs::File::open("/dev/zero").expect("every Linux has it");
        let mut buffer = vec![0_u8; 1 << 16];
        let begun = thread_cpu();
        while thread_cpu().since(begun) < duration {
            std::io::Read::read_exact(&mut &zeros, &mut buffer).expect("it has no end");
            std::hint::black_box(buffer.iter().map(|byte| u64::from(*byte)).sum::<u64>());
        }
    }

    #[test]
    fn the_cpu_time_is_that_of_the_clock_of_the_thread() {
        let duration = Nanos::from_millis(10);
        let around = thread_cpu();
        let (cpu_time, within) = ThreadCpuTime::measure(|| {
            let begun = thread_cpu();
            work(duration);
            thread_cpu().since(begun)
        });
        let around = thread_cpu().since(around);
        let sum = cpu_time.user + cpu_time.system;
        assert!(duration <= within && within <= sum && sum <= around, "{within:?} {cpu_time:?} {around:?}");
    }

    #[test]
    fn user_and_system_time_are_those_of_the_kernels_other_account() {
        // Fields 14 and 15 of proc_pid_stat(5), in complete ticks. Both only grow.
        let stat = || -> [u64; 2] {
            let text = std::fs::read_to_string("/proc/thread-self/stat").expect("proc(5)");
            let fields: Vec<&str> = text.rsplit(')').next().expect("a name").split_whitespace().collect();
            [11, 12].map(|field| fields[field].parse().expect("a number"))
        };
        let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let ticks = |parts: [Nanos; 2]| parts.map(|part| part.0 / tick);
        for _ in 0..10 {
            work(Nanos::from_millis(5));
            let (before, shown, after) = (ticks(rusage_parts()), stat(), ticks(rusage_parts()));
            for part in 0..2 {
                let possible = before[part]..=after[part];
                assert!(possible.contains(&shown[part]), "{before:?} {shown:?} {after:?}");
            }
        }
    }

    #[test]
    fn unusable_or_too_few_cpus_are_refused() {
        let error =
            |cpus: &str, min_count| check_cpus(&cpus.parse().unwrap(), min_count).unwrap_err().to_string();
        assert!(error("8191", 1).contains("CPU 8191 may not be used here"));
        let first = usable_cpus().unwrap().first().unwrap().to_string();
        assert_eq!(error(&first, 2), "this takes 2 CPUs and --cpus has 1: name more");
        assert_eq!(error("", 1), "this takes 1 CPU and --cpus has 0: name more");
        check_cpus(&first.parse().unwrap(), 1).unwrap();
    }
}
