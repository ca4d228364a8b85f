//! Which CPUs are the server's and which the load's.
//!
//! The thread that asks is moved, and what it starts afterwards inherits that; it moves nothing that is there already.

use std::fs;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::WorkloadError;

/// CPUs of which some are the clients' unasked: with fewer, a side has but one, and each request wakes a CPU that
/// sleeps, which on a virtual machine costs more than to share.
const ENOUGH: usize = 4;

/// The CPUs of either side.
#[derive(Clone, Debug)]
pub(super) struct Cpus {
    all: CpuSet,
    server: CpuSet,
    clients: CpuSet,
    /// How many of the clients' own there are.
    own: usize,
}

impl Cpus {
    /// Divides those that this process may use: `own` of them are the clients' alone, all are everybody's for 0. Where
    /// nothing is said, clients have one each where there are as many CPUs as threads on both sides, and [`ENOUGH`].
    pub(super) fn divided(own: Option<usize>, workers: usize, clients: usize) -> Result<Self, WorkloadError> {
        let unknown =
            |error| WorkloadError::Unfit(format!("the CPUs of this process cannot be read: {error}"));
        let all = sched_getaffinity(None).map_err(unknown)?;
        let mut cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu)).collect();
        let enough = cpus.len() >= ENOUGH.max(workers + clients);
        let own = own.unwrap_or(if enough { clients } else { 0 });
        if own >= cpus.len() {
            return Err(WorkloadError::Unfit(format!(
                "--client-cpus {own} leaves the server none of the {} CPUs that may be used here: give less",
                cpus.len()
            )));
        }
        if own == 0 {
            return Ok(Self { all, server: all, clients: all, own });
        }
        // Siblings of a core side by side, so that a core is not the server's and the clients' at once where that can
        // be.
        cpus.sort_by_key(|cpu| (first_sibling(*cpu), *cpu));
        // The last ones, since the first often serve interrupts.
        let (server, clients) = cpus.split_at(cpus.len() - own);
        Ok(Self { all, server: set(server), clients: set(clients), own })
    }

    /// In words, after a count of client threads.
    pub(super) fn words(&self) -> String {
        match self.own {
            0 => "on the server's CPUs".to_owned(),
            1 => "on 1 CPU of their own".to_owned(),
            own => format!("on {own} CPUs of their own"),
        }
    }

    /// Moves the calling thread to the server's.
    pub(super) fn enter_server(&self) -> Result<Entered<'_>, WorkloadError> {
        self.enter(&self.server)
    }

    /// Moves the calling thread to the clients'.
    pub(super) fn enter_clients(&self) -> Result<Entered<'_>, WorkloadError> {
        self.enter(&self.clients)
    }

    fn enter(&self, set: &CpuSet) -> Result<Entered<'_>, WorkloadError> {
        if self.own > 0 {
            let refused =
                |error| WorkloadError::Unfit(format!("--client-cpus: the CPUs cannot be divided: {error}"));
            sched_setaffinity(None, set).map_err(refused)?;
        }
        Ok(Entered(self))
    }
}

/// Moves the thread back when it is dropped.
#[derive(Debug)]
pub(super) struct Entered<'a>(&'a Cpus);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if self.0.own > 0 {
            // They were allowed before.
            let _ = sched_setaffinity(None, &self.0.all);
        }
    }
}

fn set(cpus: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu));
    set
}

/// The first CPU of this CPU's core; itself where the kernel does not say
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
    use morecores_testkit::skipped;

    #[test]
    fn the_sides_share_no_cpu_and_leave_none_out() {
        const NAME: &str = "the_sides_share_no_cpu_and_leave_none_out";
        let all = sched_getaffinity(None).unwrap();
        if all.count() < 2 {
            return skipped(NAME, "needs two CPUs");
        }
        let cpus = Cpus::divided(Some(1), 1, 1).unwrap();
        let both =
            |a: &CpuSet, b: &CpuSet| (0..CpuSet::MAX_CPU).filter(|c| a.is_set(*c) && b.is_set(*c)).count();
        assert_eq!(both(&cpus.server, &cpus.clients), 0);
        assert_eq!((cpus.server.count() + cpus.clients.count(), cpus.clients.count()), (all.count(), 1));
        {
            let _there = cpus.enter_clients().unwrap();
            assert_eq!(sched_getaffinity(None).unwrap(), cpus.clients);
        }
        assert_eq!(sched_getaffinity(None).unwrap(), all);
    }

    #[test]
    fn clients_get_their_own_only_where_there_are_enough() {
        let count = sched_getaffinity(None).unwrap().count() as usize;
        let own = |workers, clients| Cpus::divided(None, workers, clients).unwrap().own;
        assert_eq!(own(count, 1), 0);
        assert_eq!(own(1, count), 0);
        assert_eq!(own(1, 0), 0);
        if count >= ENOUGH {
            assert_eq!(own(1, count - 1), count - 1);
        }
        let error = Cpus::divided(Some(count), 1, 1).unwrap_err();
        assert!(error.to_string().contains("leaves the server none"), "{error}");
    }
}
