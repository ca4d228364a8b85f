//! Check whether other processes use the machine: a truth by construction holds only if the program
//! has its CPUs to itself.

use std::thread::sleep;
use std::time::{Duration, Instant};

use morecores_study::Nanos;
use procfs::{CpuTime, CurrentSI, KernelStats};

use crate::clock::user_ticks;

/// Length of the observation.
const WATCH_TIME: Duration = Duration::from_secs(2);

/// Number of busy CPUs that is too many. A machine's own services take a tenth of a CPU now and
/// then.
const MAX_BUSY_CPUS: f64 = 0.1;

/// Observes the machine, and reports its load in one line.
pub fn check_quiet() -> String {
    let (before, begun) = (busy_time(), Instant::now());
    sleep(WATCH_TIME);
    match before.zip(busy_time()) {
        Some((before, after)) => {
            quiet_text(after.since(before).as_secs_f64() / begun.elapsed().as_secs_f64())
        }
        None => "before: /proc/stat cannot be read, so nobody knows how quiet the machine was".to_owned(),
    }
}

fn quiet_text(busy: f64) -> String {
    let verdict = if busy > MAX_BUSY_CPUS { "NOT quiet: repeat on a quiet machine" } else { "quiet" };
    format!("before: {busy:.2} CPUs busy or stolen: {verdict}")
}

/// CPU time since boot that was not idle.
fn busy_time() -> Option<Nanos> {
    Some(user_ticks(busy_ticks(&KernelStats::current().ok()?.total)))
}

/// Ticks that were not idle, including stolen ones; guest time is part of user time.
fn busy_ticks(all: &CpuTime) -> u64 {
    let rest = [all.irq, all.softirq, all.steal].into_iter().flatten().sum::<u64>();
    all.user + all.nice + all.system + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use procfs::{ExplicitSystemInfo, FromBufReadSI};

    #[test]
    fn a_busy_machine_is_reported() {
        assert_eq!(quiet_text(0.05), "before: 0.05 CPUs busy or stolen: quiet");
        assert!(quiet_text(1.3).contains("NOT quiet"));
    }

    #[test]
    fn every_process_on_a_cpu_is_seen() {
        // Fields: user, nice, system, idle, iowait, irq, softirq, steal, and guests, whose time is
        // user time.
        let text = "cpu  1 20 300 9 9 4000 50000 600000 7 8\nintr 0\nctxt 0\nbtime 0\nprocesses 0\nprocs_running 0\n\
                    procs_blocked 0\nsoftirq 0\n";
        let info = ExplicitSystemInfo {
            boot_time_secs: 0,
            ticks_per_second: 100,
            page_size: 4096,
            is_little_endian: true,
        };
        let stats = KernelStats::from_buf_read(text.as_bytes(), &info).unwrap();
        assert_eq!(busy_ticks(&stats.total), 654_321);
        assert!(busy_time().is_some());
    }
}
