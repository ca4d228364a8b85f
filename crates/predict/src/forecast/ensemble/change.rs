//! Effect of a change to the program, by the draws of an ensemble.

use super::Ensemble;
use crate::replay::{Machine, Program, ReplayResult, replay_on_each};

/// Changed program.
pub(in crate::forecast) struct Change<'p> {
    /// Program with the change.
    pub(in crate::forecast) program: &'p Program,
    /// Indices of the remaining locks among the locks of the unchanged program.
    pub(in crate::forecast) locks: &'p [usize],
}

impl Ensemble<'_> {
    /// Program with its locks, without a change.
    pub(in crate::forecast) const fn unchanged(&self) -> &Program {
        &self.program_with_locks
    }

    /// Replays of the program without a change on `cpus` CPUs, for the first `draws` draws.
    pub(in crate::forecast) fn replays(&self, cpus: u32, draws: u64) -> Vec<ReplayResult> {
        replay_on_each(&self.program_with_locks, &self.machines(cpus, draws))
    }

    /// Replays of the changed program on `cpus` CPUs, for the first `draws` draws.
    pub(in crate::forecast) fn changed_replays(
        &self,
        change: &Change<'_>,
        cpus: u32,
        draws: u64,
    ) -> Vec<ReplayResult> {
        let with_remaining_locks = |machine: Machine| {
            let growth = |lock: &usize| machine.hold_growth.get(*lock).copied().unwrap_or(0.0);
            Machine { hold_growth: change.locks.iter().map(growth).collect(), ..machine }
        };
        let machines: Vec<Machine> =
            self.machines(cpus, draws).into_iter().map(with_remaining_locks).collect();
        replay_on_each(change.program, &machines)
    }

    /// Machine of each of the first `draws` draws.
    fn machines(&self, cpus: u32, draws: u64) -> Vec<Machine> {
        let ranges = self.draw_ranges(cpus);
        (0..draws).map(|number| ranges.draw(number).machine(self.compared.program, cpus)).collect()
    }
}
