//! Ensemble of replays of one program, one for each draw of the quantities that a single replay
//! takes as certain. The `draws` of the band decide what differs between them.

mod change;
mod lower_limits;

use std::sync::OnceLock;

use morecores_study::CpuKind;
use morecores_view::ModelName;

use super::band::capacity::CapacityRange;
use super::band::distribution::DrawnTime;
use super::band::draws::{DRAWS, Draw, DrawRanges};
use super::band::memory_knee::MemoryKnee;
use super::band::{ModelForecast, OwnError};
use super::compared_program::ComparedProgram;
use super::evidence::{Evidence, MeasuredPoint};
pub(super) use change::Change;
pub(super) use lower_limits::DrawnLimits;

use super::locked_program::{HoldGrowth, LockedProgram, hold_growth};
use super::sharing::UnseenSharing;
use super::traced_program::TracedProgram;
use crate::demand::LockUse;
use crate::replay::{Inflation, Machine, Program, ReplayResult, Shape, replay_on_each};

/// Replays of one program with drawn parameters.
pub(super) struct Ensemble<'e> {
    compared: ComparedProgram<'e>,
    /// Measured point at the traced count.
    measured: MeasuredPoint,
    /// Locks with their shares.
    pub(super) locks: Vec<LockUse>,
    /// Program with its locks.
    program_with_locks: Program,
    /// Known growth of each lock's hold time with more CPUs.
    hold_growth: Vec<Option<HoldGrowth>>,
    /// Pairs of the mean number of busy CPUs and the CPU time relative to one CPU.
    inflation: Vec<(f64, f64)>,
    /// Largest measured count.
    largest: u32,
    /// Kind of each CPU of the measured machine.
    kinds: &'e [CpuKind],
    /// Bandwidth of the measured machine's memory, if it is known.
    memory: Option<MemoryKnee>,
    /// Elapsed time in seconds of the replays on the traced CPUs, one for each draw. Every target
    /// is compared with them, so they are made once.
    traced_elapsed: OnceLock<Vec<f64>>,
}

/// Result of the replays at one CPU count.
pub(super) struct ReplayForecast {
    /// Elapsed time in seconds, in each replay.
    pub(super) draws: Vec<DrawnTime>,
    /// Forced waits per thread in one replay: the maximum over all replays.
    pub(super) forced_waits: f64,
}

impl ReplayForecast {
    /// Forecast of the model. `sharing` is what the measured counts do not show.
    pub(super) fn into_forecast(
        self,
        own_error: OwnError,
        sharing: Option<UnseenSharing>,
    ) -> Option<ModelForecast> {
        ModelForecast::from_draws(ModelName::Replay, &self.draws, own_error, sharing, self.forced_waits)
    }
}

impl<'e> Ensemble<'e> {
    /// Prepares the replays of a program and fits the slowdown to the `known` points. `None`
    /// without a measured point at the traced count.
    pub(super) fn new(
        evidence: &'e Evidence,
        compared: ComparedProgram<'e>,
        known: &[MeasuredPoint],
    ) -> Option<Self> {
        let measured = compared.measured?;
        let inflation = measured_inflation(evidence.is_time, known);
        let likely = Inflation::fit(Shape::Logarithmic, &inflation);
        let LockedProgram { locks, program: program_with_locks } =
            LockedProgram::calibrate(compared.program, compared.dedicated, likely);
        let hold_growth = hold_growth(evidence, compared.program, likely);
        let largest = known.iter().map(|point| point.cpus).max().unwrap_or(1);
        let kinds = &evidence.cpu_kinds;
        let memory = MemoryKnee::new(&evidence.memory_speed, known);
        Some(Self {
            compared,
            measured,
            locks,
            program_with_locks,
            hold_growth,
            inflation,
            largest,
            kinds,
            memory,
            traced_elapsed: OnceLock::new(),
        })
    }

    /// Traced program.
    pub(super) const fn program(&self) -> &'e TracedProgram {
        self.compared.program
    }

    /// Relative standard error of the measured time that scales the replays.
    pub(super) const fn measured_error(&self) -> f64 {
        self.measured.error
    }

    /// Ranges of the draws for a machine with `cpus` CPUs.
    fn draw_ranges(&self, cpus: u32) -> DrawRanges<'_> {
        DrawRanges {
            inflation: &self.inflation,
            kernel: self.measured.kernel,
            hold_growth: &self.hold_growth,
            capacity: CapacityRange::for_target(self.largest, self.kinds, self.memory.as_ref(), cpus),
        }
    }

    /// Elapsed time in seconds of the replays on the traced CPUs, one for each draw.
    fn traced_elapsed(&self) -> &[f64] {
        self.traced_elapsed.get_or_init(|| {
            let replays = self.replays(self.compared.program.cpus, DRAWS);
            replays.iter().map(|replayed| replayed.elapsed.as_secs_f64()).collect()
        })
    }

    /// Elapsed time on `cpus` CPUs, scaled from the measured point at the traced count.
    pub(super) fn elapsed(&self, cpus: u32) -> ReplayForecast {
        let ComparedProgram { program: traced, elapsed_ratio, oversubscription_cost, .. } = self.compared;
        let oversubscription = oversubscription_cost.ln();
        let ranges = self.draw_ranges(cpus);
        let scale = (self.measured.elapsed * elapsed_ratio).ln();
        let drawn: Vec<Draw> = (0..DRAWS).map(|number| ranges.draw(number)).collect();
        let machines: Vec<Machine> = drawn.iter().map(|draw| draw.machine(traced, cpus)).collect();
        let replays = replay_on_each(&self.program_with_locks, &machines);
        let drawn_time = |((draw, replayed), traced_elapsed): ((&Draw, &ReplayResult), &f64)| {
            let ratio = replayed.elapsed.as_secs_f64() / traced_elapsed;
            let log_ratio = ratio.ln() - draw.vanishing_share * oversubscription;
            let before_knee = !draw.capacity.has_assumed_knee_below(cpus);
            DrawnTime { weight: 1.0, log_elapsed: scale + log_ratio, before_knee }
        };
        let draws = drawn.iter().zip(&replays).zip(self.traced_elapsed()).map(drawn_time).collect();
        let most_forced = replays.iter().map(|replayed| replayed.forced_waits).max().unwrap_or(0);
        let threads = self.program_with_locks.threads.len().max(1) as f64;
        ReplayForecast { draws, forced_waits: f64::from(most_forced) / threads }
    }
}

/// Growth of CPU time with the number of busy CPUs, relative to one CPU; empty when it is unknown.
fn measured_inflation(is_time: bool, known: &[MeasuredPoint]) -> Vec<(f64, f64)> {
    let Some((first, work)) = known.first().and_then(|first| Some((first, first.work?))) else {
        return Vec::new();
    };
    if first.cpus != 1 || !is_time {
        return Vec::new();
    }
    known[1..].iter().filter_map(|point| Some((point.work? / point.elapsed, point.work? / work))).collect()
}
