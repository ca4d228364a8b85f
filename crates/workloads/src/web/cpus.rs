//! Division of the CPUs between the server and the load.
//!
//! The calling thread is moved, and its later children inherit the affinity. Existing threads and
//! processes are not moved.

use std::fs;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::WorkloadError;

/// Minimum number of CPUs at which the clients get their own by default. With fewer, one side has
/// only one CPU, and each request wakes a sleeping CPU. On a virtual machine that costs more than
/// sharing.
const MIN_CPUS_TO_DIVIDE: usize = 4;

/// CPUs of both sides.
#[derive(Clone, Debug)]
pub(super) struct CpuSplit {
    all: CpuSet,
    server: CpuSet,
    clients: CpuSet,
    /// Number of CPUs that belong to the clients alone.
    own_count: usize,
}

impl CpuSplit {
    /// Divides the CPUs that this process may use. `own_count` of them belong to the clients alone;
    /// with 0 both sides share all. Without a number, each client gets one CPU if there are at
    /// least as many CPUs as threads on both sides, and at least [`MIN_CPUS_TO_DIVIDE`].
    pub(super) fn divide(
        own_count: Option<usize>,
        workers: usize,
        clients: usize,
    ) -> Result<Self, WorkloadError> {
        let read_error =
            |error| WorkloadError::CannotRun(format!("the CPUs of this process cannot be read: {error}"));
        let all = sched_getaffinity(None).map_err(read_error)?;
        let mut cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu)).collect();
        let enough = cpus.len() >= MIN_CPUS_TO_DIVIDE.max(workers + clients);
        let own_count = own_count.unwrap_or(if enough { clients } else { 0 });
        if own_count >= cpus.len() {
            return Err(WorkloadError::CannotRun(format!(
                "--client-cpus {own_count} leaves the server none of the {} CPUs that may be used here: give less",
                cpus.len()
            )));
        }
        if own_count == 0 {
            return Ok(Self { all, server: all, clients: all, own_count });
        }
        // Siblings of a core are adjacent, so that the two sides share a core only where that is
        // unavoidable.
        cpus.sort_by_key(|cpu| (first_sibling(*cpu), *cpu));
        // The clients get the last CPUs, since the first ones often serve interrupts.
        let (server, clients) = cpus.split_at(cpus.len() - own_count);
        Ok(Self { all, server: cpu_set(server), clients: cpu_set(clients), own_count })
    }

    /// Description in words, to follow a count of client threads.
    pub(super) fn description(&self) -> String {
        match self.own_count {
            0 => "on the server's CPUs".to_owned(),
            1 => "on 1 CPU of their own".to_owned(),
            own_count => format!("on {own_count} CPUs of their own"),
        }
    }

    /// Moves the calling thread to the server's CPUs.
    pub(super) fn enter_server(&self) -> Result<AffinityGuard<'_>, WorkloadError> {
        self.enter(&self.server)
    }

    /// Moves the calling thread to the clients' CPUs.
    pub(super) fn enter_clients(&self) -> Result<AffinityGuard<'_>, WorkloadError> {
        self.enter(&self.clients)
    }

    fn enter(&self, set: &CpuSet) -> Result<AffinityGuard<'_>, WorkloadError> {
        if self.own_count > 0 {
            let move_error = |error| {
                WorkloadError::CannotRun(format!("--client-cpus: the CPUs cannot be divided: {error}"))
            };
            sched_setaffinity(None, set).map_err(move_error)?;
        }
        Ok(AffinityGuard(self))
    }
}

/// Guard that moves the thread back when it is dropped.
#[derive(Debug)]
pub(super) struct AffinityGuard<'a>(&'a CpuSplit);

impl Drop for AffinityGuard<'_> {
    fn drop(&mut self) {
        if self.0.own_count > 0 {
            // These CPUs were allowed before.
            let _ = sched_setaffinity(None, &self.0.all);
        }
    }
}

fn cpu_set(cpus: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu));
    set
}

/// First CPU of this CPU's core; the CPU itself if the kernel does not report the core
/// (Documentation/ABI/stable/sysfs-devices-system-cpu).
fn first_sibling(cpu: usize) -> usize {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    let list = fs::read_to_string(path).unwrap_or_default();
    let first = list.split(|c: char| !c.is_ascii_digit()).next();
    first.and_then(|number| number.parse().ok()).unwrap_or(cpu)
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_testkit::report_skip;

    #[test]
    fn the_sides_share_no_cpu_and_leave_none_out() {
        const NAME: &str = "the_sides_share_no_cpu_and_leave_none_out";
        let all = sched_getaffinity(None).unwrap();
        if all.count() < 2 {
            return report_skip(NAME, "needs two CPUs");
        }
        let cpus = CpuSplit::divide(Some(1), 1, 1).unwrap();
        let both =
            |a: &CpuSet, b: &CpuSet| (0..CpuSet::MAX_CPU).filter(|c| a.is_set(*c) && b.is_set(*c)).count();
        assert_eq!(both(&cpus.server, &cpus.clients), 0);
        assert_eq!((cpus.server.count() + cpus.clients.count(), cpus.clients.count()), (all.count(), 1));
        {
            let _affinity = cpus.enter_clients().unwrap();
            assert_eq!(sched_getaffinity(None).unwrap(), cpus.clients);
        }
        assert_eq!(sched_getaffinity(None).unwrap(), all);
    }

    #[test]
    fn clients_get_their_own_only_where_there_are_enough() {
        let count = sched_getaffinity(None).unwrap().count() as usize;
        let own_count = |workers, clients| CpuSplit::divide(None, workers, clients).unwrap().own_count;
        assert_eq!(own_count(count, 1), 0);
        assert_eq!(own_count(1, count), 0);
        assert_eq!(own_count(1, 0), 0);
        if count >= MIN_CPUS_TO_DIVIDE {
            assert_eq!(own_count(1, count - 1), count - 1);
        }
        let error = CpuSplit::divide(Some(count), 1, 1).unwrap_err();
        assert!(error.to_string().contains("leaves the server none"), "{error}");
    }
}
