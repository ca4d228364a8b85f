//! The kernel's own accounts of a program's inactivity: idle time of CPUs, and waiting time of
//! threads for a CPU.
//!
//! Neither account comes from a tracepoint, so a tracer that misreads tracepoints is not confirmed
//! by its own mistake. The accounts bound a truth that no clock of the program sees whole: while a
//! thread waits, a CPU may work for other processes.

use std::fs;
use std::io;
use std::path::Path;

use morecores_study::Nanos;
use procfs::ProcResult;
use procfs::process::{Process, Schedstat};
use rustix::thread::{CpuSet, gettid, sched_getaffinity};

use crate::AccuracyError;
use crate::clock::user_ticks;

/// Clock of the idle time of the CPUs that this thread may use, from a start on.
///
/// `/proc/stat` is exact to its unit of 10 ms: if idle CPUs have no ticks (`CONFIG_NO_HZ_IDLE`),
/// the kernel measures idle time with its clock and excludes interrupts (`get_idle_time` in
/// fs/proc/stat.c, `tick_nohz_stop_idle`).
#[derive(Clone, Copy, Debug)]
pub struct IdleClock {
    cpus: CpuSet,
    idle_at_start: Nanos,
}

impl IdleClock {
    /// Starts the clock.
    pub fn start() -> Result<Self, AccuracyError> {
        let cpus = sched_getaffinity(None).map_err(AccuracyError::system("read own affinity"))?;
        Ok(Self { cpus, idle_at_start: read_idle_time(&cpus)? })
    }

    /// Idle time of these CPUs since the start, summed over the CPUs.
    pub fn elapsed(&self) -> Result<Nanos, AccuracyError> {
        Ok(read_idle_time(&self.cpus)?.since(self.idle_at_start))
    }
}

fn read_idle_time(cpus: &CpuSet) -> Result<Nanos, AccuracyError> {
    let ticks = idle_ticks(&read_text("/proc/stat")?, |cpu| cpu < CpuSet::MAX_CPU && cpus.is_set(cpu));
    Ok(user_ticks(ticks))
}

/// Sum of the fields `idle` and `iowait` of these CPUs. Lines are matched by CPU number, because
/// procfs leaves offline CPUs out of the list.
fn idle_ticks(stat: &str, is_wanted: impl Fn(usize) -> bool) -> u64 {
    let cpu = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
        // The first line is the sum and has no number.
        let number = line.strip_prefix("cpu")?.split(' ').next()?.parse().ok()?;
        is_wanted(number)
            .then(|| words.by_ref().skip(4).take(2).filter_map(|word| word.parse::<u64>().ok()).sum::<u64>())
    };
    stat.lines().filter_map(cpu).sum()
}

/// The scheduler's account of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedAccount {
    /// CPU time, as recent as the last switch or tick.
    pub ran: Nanos,
    /// Time that the thread was runnable and did not run.
    pub waited: Nanos,
}

impl SchedAccount {
    /// Reads the account of a process's first thread, even after its end until another process has
    /// waited for it.
    pub fn read_process(pid: u32) -> Result<Self, AccuracyError> {
        let account = Process::new(pid as i32).and_then(|process| process.schedstat());
        Self::from_schedstat(&format!("/proc/{pid}/schedstat"), account)
    }

    /// Reads the account of the calling thread.
    pub fn read_thread() -> Result<Self, AccuracyError> {
        let task = gettid().as_raw_nonzero().get();
        let thread = Process::myself().and_then(|process| process.task_from_tid(task));
        Self::from_schedstat("/proc/thread-self/schedstat", thread.and_then(|thread| thread.schedstat()))
    }

    /// Takes the two times (Documentation/scheduler/sched-stats.rst). The file needs
    /// `CONFIG_SCHED_INFO`, which either of `CONFIG_TASK_DELAY_ACCT` and `CONFIG_SCHEDSTATS`
    /// selects, so the latter is not required.
    fn from_schedstat(path: &str, schedstat: ProcResult<Schedstat>) -> Result<Self, AccuracyError> {
        let failed = |error| AccuracyError::File {
            what: "read",
            path: Path::new(path).to_owned(),
            error: io::Error::other(error),
        };
        let Schedstat { sum_exec_runtime, run_delay, .. } = schedstat.map_err(failed)?;
        Ok(Self { ran: Nanos(sum_exec_runtime), waited: Nanos(run_delay) })
    }
}

fn read_text(path: &str) -> Result<String, AccuracyError> {
    let failed = |error| AccuracyError::File { what: "read", path: Path::new(path).to_owned(), error };
    fs::read_to_string(path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_that_of_the_requested_cpus() {
        let stat =
            "cpu  9 9 9 900 90 9 9 9 0 0\ncpu0 1 1 1 100 10 1 1 1 0 0\ncpu2 2 2 2 800 80 1 1 1 0 0\nintr 7\n";
        assert_eq!(idle_ticks(stat, |cpu| cpu == 0), 110);
        assert_eq!(idle_ticks(stat, |cpu| cpu == 2), 880);
        assert_eq!(idle_ticks(stat, |_| true), 990);
    }

    #[test]
    fn idle_cpus_never_exceed_all_cpus() {
        let begun = crate::clock::monotonic();
        let clock = IdleClock::start().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(200));
        let cpus = (0..CpuSet::MAX_CPU).filter(|cpu| clock.cpus.is_set(*cpu)).count() as f64;
        let idle = clock.elapsed().unwrap().as_secs_f64();
        // Tolerance of one unit of 10 ms at each end.
        let whole = crate::clock::monotonic().since(begun).as_secs_f64() + 0.02;
        assert!(idle <= cpus * whole, "{idle} of {cpus} CPUs in {whole} s");
    }

    #[test]
    fn accounts_are_those_of_the_scheduler() {
        assert!(SchedAccount::read_process(std::process::id()).unwrap().ran > Nanos::ZERO);
        crate::clock::burn(Nanos::from_millis(10));
        let burnt = SchedAccount::read_thread().unwrap();
        // The account of the thread does not contain the other threads of the tests.
        assert!(burnt.ran > Nanos::ZERO && burnt.ran <= crate::clock::thread_cpu());
        let missing = SchedAccount::read_process(i32::MAX as u32).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read /proc/2147483647/schedstat: "), "{missing}");
    }
}
