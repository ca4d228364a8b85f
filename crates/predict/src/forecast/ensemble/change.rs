//! Effect of a change to the program, by the draws of an ensemble.

use rayon::prelude::*;

use super::Ensemble;
use crate::forecast::band::draws::Draw;
use crate::replay::{Machine, Program, ReplayResult, replay};

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
        self.replays_by_draw(cpus, draws, |draw| {
            replay(&self.program_with_locks, &draw.machine(self.compared.program, cpus))
        })
    }

    /// Replays of the changed program on `cpus` CPUs, for the first `draws` draws.
    pub(in crate::forecast) fn changed_replays(
        &self,
        change: &Change<'_>,
        cpus: u32,
        draws: u64,
    ) -> Vec<ReplayResult> {
        self.replays_by_draw(cpus, draws, |draw| {
            let growth = |lock: &usize| draw.hold_growth.get(*lock).copied().unwrap_or(0.0);
            let hold_growth = change.locks.iter().map(growth).collect();
            let machine = Machine { hold_growth, ..draw.machine(self.compared.program, cpus) };
            replay(change.program, &machine)
        })
    }

    fn replays_by_draw(
        &self,
        cpus: u32,
        draws: u64,
        replay: impl Fn(&Draw) -> ReplayResult + Sync,
    ) -> Vec<ReplayResult> {
        let ranges = self.draw_ranges(cpus);
        (0..draws).into_par_iter().map(|number| replay(&ranges.draw(number))).collect()
    }
}
