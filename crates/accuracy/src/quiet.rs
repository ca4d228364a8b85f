//! Whether anybody else uses the machine: a truth by construction holds where the program has its CPUs to itself.

use std::thread::sleep;
use std::time::{Duration, Instant};

use procfs::{CurrentSI, KernelStats};

/// How long is looked.
const WATCHED: Duration = Duration::from_secs(2);

/// Busy CPUs that are too many. A tenth of a CPU is what a machine's own services take now and then.
const BUSY: f64 = 0.1;

/// Looks, and says in one line how busy the machine is.
pub fn look() -> String {
    let (before, begun) = (busy_s(), Instant::now());
    sleep(WATCHED);
    match before.zip(busy_s()) {
        Some((before, after)) => words((after - before) / begun.elapsed().as_secs_f64()),
        None => "before: /proc/stat cannot be read, so nobody knows how quiet the machine was".to_owned(),
    }
}

fn words(busy: f64) -> String {
    let verdict = if busy > BUSY { "NOT quiet: repeat on a quiet machine" } else { "quiet" };
    format!("before: {busy:.2} CPUs busy or stolen: {verdict}")
}

/// CPU time since boot that was not idle, stolen time included, in seconds; guest time is part of user time.
fn busy_s() -> Option<f64> {
    let all = KernelStats::current().ok()?.total;
    let rest = [all.irq, all.softirq, all.steal].into_iter().flatten().sum::<u64>();
    Some((all.user + all.nice + all.system + rest) as f64 / procfs::ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_called_so() {
        assert_eq!(words(0.05), "before: 0.05 CPUs busy or stolen: quiet");
        assert!(words(1.3).contains("NOT quiet"));
    }

    #[test]
    fn own_work_is_seen() {
        let before = busy_s().unwrap();
        // Twenty of the 10 ms in which the kernel counts.
        crate::clock::burn(morecores_record::Nanos::from_millis(200));
        let seen = busy_s().unwrap() - before;
        assert!(seen > 0.1, "{seen}");
    }
}
