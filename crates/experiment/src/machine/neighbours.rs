//! Who else works on the machine: the CPU time of every process outside the command's tree, before and after.
//!
//! Looked at twice in a study, never around single runs: it reads a file for each process.

use std::collections::HashMap;

use morecores_record::{Nanos, Neighbour};

/// How many of the busiest are kept.
const BUSIEST: usize = 5;
/// CPU time below which a process is not worth a word: five of the kernel's ticks.
const WORTH_NAMING: Nanos = Nanos::from_millis(50);

/// A process, told from a later one of the same number by when it started.
type Identity = (i32, u64);

/// The CPU time of every process at one instant.
#[derive(Debug, Default)]
pub struct Neighbourhood(HashMap<Identity, Process>);

#[derive(Debug)]
struct Process {
    name: String,
    cpu: Nanos,
}

impl Neighbourhood {
    /// Looks at every process but this one.
    pub fn look() -> Self {
        let tick = Nanos(1_000_000_000 / procfs::ticks_per_second().max(1));
        let ours = std::process::id();
        let stats =
            procfs::process::all_processes().into_iter().flatten().flatten().filter_map(|p| p.stat().ok());
        let others = stats.filter(|stat| stat.pid.cast_unsigned() != ours);
        let process = |stat: procfs::process::Stat| {
            let cpu = Nanos((stat.utime + stat.stime) * tick.0);
            ((stat.pid, stat.starttime), Process { name: stat.comm, cpu })
        };
        Self(others.map(process).collect())
    }

    /// The processes that were there both times and worked meanwhile, busiest first. None of them can have been
    /// part of a tree that came and went in between.
    pub fn busiest_since(&self, earlier: &Self) -> Vec<Neighbour> {
        let worked = self.0.iter().filter_map(|(identity, now)| {
            let cpu_ns = now.cpu.since(earlier.0.get(identity)?.cpu);
            (cpu_ns >= WORTH_NAMING).then(|| Neighbour { name: now.name.clone(), cpu_ns })
        });
        let mut worked: Vec<_> = worked.collect();
        worked.sort_by(|a, b| b.cpu_ns.cmp(&a.cpu_ns).then_with(|| a.name.cmp(&b.name)));
        worked.truncate(BUSIEST);
        worked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_work_of_the_same_process_counts() {
        let look = |list: &[(i32, u64, u64)]| {
            let process = |ms| Process { name: "p".into(), cpu: Nanos::from_millis(ms) };
            Neighbourhood(list.iter().map(|&(pid, start, ms)| ((pid, start), process(ms))).collect())
        };
        let before = look(&[(1, 5, 100), (2, 6, 100), (3, 7, 100)]);
        let after = look(&[(1, 5, 400), (2, 9, 900), (3, 7, 120), (4, 8, 700)]);
        let busiest = after.busiest_since(&before);
        assert_eq!(busiest, [Neighbour { name: "p".into(), cpu_ns: Nanos::from_millis(300) }]);
    }
}
