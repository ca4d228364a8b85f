//! Gain from removing an obstacle: the replays of the prediction, with and without it.

use std::collections::BTreeMap;

use morecores_study::Nanos;
use morecores_view::{Gain, GainKind, GainPoint};

use super::band::limit_error_factor;
use super::ensemble::{Change, Ensemble};
use super::evidence::{Evidence, MeasuredPoint, point_at, program_for};
use super::forecast;
use super::limits::LowerLimits;
use super::locked_program::LockedProgram;
use super::model_set::ModelSet;
use super::quantiles::Quantiles;
use super::traced_program::TracedProgram;
use crate::replay::{Program, ReplayResult, Step};

/// Hypothetical change to a program.
#[derive(Clone, Debug, PartialEq)]
pub enum WhatIfChange {
    /// Locks whose name contains this text are free, and commands with this name take no time.
    RemoveNamed(String),
    /// The disk serves every request at once.
    RemoveDisk,
    /// Serial work is divided among all CPUs.
    RemoveSerial,
    /// A command runs faster.
    SpeedUp {
        /// Name of the command.
        command: String,
        /// Factor of the speedup.
        factor: f64,
    },
}

/// Reason for the absence of an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhatIfError {
    /// No lock or command in the trace has this name.
    #[error("the trace has no lock or command `{name}`; it has {known}")]
    Unknown {
        /// Requested name.
        name: String,
        /// Available names.
        known: String,
    },
    /// No trace describes the program for this number of CPUs.
    #[error("there is no trace of the command for {0} CPUs: `morecores run --predict={0}` makes one")]
    Untraced(u32),
    /// The study measures a metric of the command; a replay only gives elapsed time.
    #[error(
        "what-if estimates elapsed times, but the study measures a metric: measure the command again without --metric"
    )]
    NotTime,
    /// No traced run has a measured count.
    #[error("no traced run has a measured CPU count, so there is nothing to compare with")]
    NoMeasuredTrace,
    /// A measurement refutes the replay.
    #[error(
        "the replay of the traces contradicts the measured times, so it supports no estimate of a gain: see \
         `morecores predict --explain`"
    )]
    Contradicted,
}

/// Number of commands to try without a request: those with the most CPU time.
const MAX_COMMANDS: usize = 5;

/// Speedup to try for a command.
const TRIAL_SPEEDUP: f64 = 2.0;

/// Saved time over elapsed time below which a change is not listed.
const MIN_SAVED_SHARE: f64 = 0.005;

/// Number of draws for each gain. Each draw replays the program once for each change, so that all
/// draws of a prediction would take too long. With 20 replays the 5% and 95% quantiles are the
/// second smallest and second largest values.
const GAIN_DRAWS: u64 = 20;

/// Changes to replay with all draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filter {
    /// Those that save a notable time in the first draw.
    Notable,
    /// All.
    Everything,
}

/// Smallest share of the elapsed time that remains after any change.
const MIN_LEFT_SHARE: f64 = 0.001;

/// Gain from each of `changes`. Without changes, the gain from every change found, largest first.
///
/// The counts are `cpus`, or by default the largest measured count and every larger count with a
/// trace. The default adds twice the largest count if the command does not receive the CPU count.
///
/// # Errors
/// Returns an error if the study measures a metric, or if the traces do not contain a requested
/// name or count.
pub fn what_if(
    evidence: &Evidence,
    changes: &[WhatIfChange],
    cpus: Option<&[u32]>,
) -> Result<Vec<Gain>, WhatIfError> {
    if !evidence.is_time {
        return Err(WhatIfError::NotTime);
    }
    let base = *evidence.points.first().ok_or(WhatIfError::NoMeasuredTrace)?;
    let largest = evidence.points.last().map_or(1, |point| point.cpus);
    let own = program_for(evidence, largest, largest).ok_or(WhatIfError::NoMeasuredTrace)?;
    let counts: Vec<u32> = match cpus {
        Some(cpus) => cpus.to_vec(),
        None => {
            let more = evidence
                .programs
                .iter()
                .map(|program| program.n)
                .filter(|n| *n > largest && evidence.receives_n);
            let mut all: Vec<u32> = std::iter::once(largest).chain(more).collect();
            if !evidence.receives_n {
                all.push(2 * largest);
            }
            all.sort_unstable();
            all.dedup();
            all
        }
    };
    let models = ModelSet::fit(evidence).ok_or(WhatIfError::NoMeasuredTrace)?;
    let mut scenarios = Vec::new();
    for &count in &counts {
        if models.program(count).is_none() {
            return Err(WhatIfError::Untraced(count));
        }
        let elapsed = expected_elapsed(evidence, count).ok_or(WhatIfError::NoMeasuredTrace)?;
        scenarios.push(Scenario::new(&models, count, elapsed)?);
    }
    let (changed, filter) = if changes.is_empty() {
        (possible_changes(own), Filter::Notable)
    } else {
        (changes.to_vec(), Filter::Everything)
    };
    let mut gains = Vec::new();
    for change in &changed {
        if let WhatIfChange::RemoveNamed(name) | WhatIfChange::SpeedUp { command: name, .. } = change {
            check_name(own, name, matches!(change, WhatIfChange::RemoveNamed(_)))?;
        }
        let points = scenarios.iter().map(|scenario| scenario.gain(change, base, filter)).collect();
        gains.push(Gain { change: change.label(), kind: gain_kind(own, change), points });
    }
    if changes.is_empty() {
        gains
            .retain(|gain| gain.points.iter().any(|point| point.saved_s > MIN_SAVED_SHARE * point.elapsed_s));
        gains.sort_by(|a, b| saved_at_largest(b).total_cmp(&saved_at_largest(a)));
    }
    Ok(gains)
}

/// Elapsed time at a count without changes: the measured time, otherwise the predicted time, even
/// one too uncertain to report.
fn expected_elapsed(evidence: &Evidence, cpus: u32) -> Option<f64> {
    if let Some(measured) = point_at(&evidence.points, cpus) {
        return Some(measured.elapsed);
    }
    let point = forecast(evidence, &[cpus])?.points.pop()?;
    let middle = |[least, most]: [f64; 2]| (least * most).sqrt();
    point.elapsed_s.or_else(|| point.elapsed_band90_s.map(middle))
}

/// Kind of the object that `change` changes in `program`. A name shared by a lock and a command
/// means the lock.
fn gain_kind(program: &TracedProgram, change: &WhatIfChange) -> GainKind {
    match change {
        WhatIfChange::RemoveDisk => GainKind::Disk,
        WhatIfChange::RemoveSerial => GainKind::Serial,
        WhatIfChange::RemoveNamed(name)
            if program.lock_names.iter().any(|lock| lock.contains(name.as_str())) =>
        {
            GainKind::Lock
        }
        WhatIfChange::RemoveNamed(_) | WhatIfChange::SpeedUp { .. } => GainKind::Command,
    }
}

/// Time saved at the largest count.
fn saved_at_largest(gain: &Gain) -> f64 {
    gain.points.last().map_or(0.0, |point| point.saved_s)
}

/// All possible changes: each lock, the commands with the most CPU time, the disk, the serial work.
fn possible_changes(program: &TracedProgram) -> Vec<WhatIfChange> {
    let mut changes = vec![WhatIfChange::RemoveDisk, WhatIfChange::RemoveSerial];
    changes.extend(program.lock_names.iter().map(|name| WhatIfChange::RemoveNamed(name.clone())));
    let faster = |command: String| WhatIfChange::SpeedUp { command, factor: TRIAL_SPEEDUP };
    changes.extend(busiest_commands(program).into_iter().take(MAX_COMMANDS).map(faster));
    changes
}

/// Commands, most CPU time first.
fn busiest_commands(program: &TracedProgram) -> Vec<String> {
    let mut work: BTreeMap<&str, Nanos> = BTreeMap::new();
    for (command, script) in program.commands.iter().zip(&program.demands.program.threads) {
        *work.entry(command).or_default() += script.iter().map(Step::work).sum::<Nanos>();
    }
    for shared in &program.demands.program.shared_work {
        let Some(command) = shared.members.first().and_then(|member| program.commands.get(*member as usize))
        else {
            continue;
        };
        *work.entry(command).or_default() += shared.pieces.iter().flatten().map(Step::work).sum::<Nanos>();
    }
    let mut all: Vec<_> = work.into_iter().collect();
    all.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    all.into_iter().map(|(command, _)| command.to_owned()).collect()
}

fn check_name(program: &TracedProgram, name: &str, accepts_locks: bool) -> Result<(), WhatIfError> {
    let command = program.commands.iter().any(|command| command == name);
    let lock = accepts_locks && program.lock_names.iter().any(|lock| lock.contains(name));
    if command || lock {
        return Ok(());
    }
    let commands = busiest_commands(program).into_iter().take(MAX_COMMANDS);
    let locks = program.lock_names.iter().filter(|_| accepts_locks).cloned();
    let known: Vec<String> = commands.chain(locks).collect();
    Err(WhatIfError::Unknown { name: name.to_owned(), known: known.join(", ") })
}

impl WhatIfChange {
    fn label(&self) -> String {
        match self {
            Self::RemoveNamed(name) => name.clone(),
            Self::RemoveDisk => "the disk".to_owned(),
            Self::RemoveSerial => "serial work".to_owned(),
            Self::SpeedUp { command, factor } => format!("{command}={factor}x"),
        }
    }
}

/// Program on a number of CPUs.
struct Scenario<'m, 'e> {
    ensemble: &'m Ensemble<'e>,
    limits: LowerLimits<'e>,
    program: &'e TracedProgram,
    cpus: u32,
    /// Elapsed time without a change.
    elapsed: f64,
    /// Replays without a change, one for each draw.
    unchanged: Vec<ReplayResult>,
    /// Work and span of the replayed program in seconds, before they are scaled to the timed runs.
    unchanged_bounds: (f64, f64),
    /// Factor at each end of the 90% band, for the errors that the draws do not contain.
    error_factor: f64,
}

impl<'m, 'e> Scenario<'m, 'e> {
    fn new(models: &'m ModelSet<'e>, cpus: u32, elapsed: f64) -> Result<Self, WhatIfError> {
        let program = models.program(cpus).ok_or(WhatIfError::Untraced(cpus))?;
        let limits = LowerLimits::new(models, cpus).ok_or(WhatIfError::Contradicted)?;
        let ensemble = models.ensemble(cpus).ok_or(WhatIfError::NoMeasuredTrace)?;
        let error_factor = limit_error_factor(ensemble.measured_error(), program.lost_share, 0.0);
        let unchanged = ensemble.replays(cpus, GAIN_DRAWS);
        let unchanged_bounds = work_and_span(ensemble.unchanged());
        Ok(Self { ensemble, limits, program, cpus, elapsed, unchanged, unchanged_bounds, error_factor })
    }

    /// Gain from a change. With [`Filter::Notable`], a change that saves hardly anything in the
    /// first draw is not replayed further.
    fn gain(&self, change: &WhatIfChange, base: MeasuredPoint, filter: Filter) -> GainPoint {
        let (least, ratios) = match change {
            WhatIfChange::RemoveSerial => {
                (self.limits.work_and_span().0 / f64::from(self.cpus), self.without_serial())
            }
            _ => self.with_change(change, filter),
        };
        let left = Quantiles::from_draws(ratios).unwrap_or(Quantiles::certain(1.0));
        // No change reduces the elapsed time to zero or below the lower limits of what is left.
        let most = (self.elapsed - least).min(self.elapsed * (1.0 - MIN_LEFT_SHARE)).max(0.0);
        let saved = left
            .map_decreasing(|ratio| self.elapsed * (1.0 - ratio))
            .widen(self.error_factor)
            .map(|saved| saved.max(0.0).min(most));
        let gained = saved.map(|saved| {
            f64::from(base.cpus) * (base.elapsed / (self.elapsed - saved) - base.elapsed / self.elapsed)
        });
        GainPoint {
            cpus: self.cpus,
            n: self.program.n,
            elapsed_s: self.elapsed,
            saved_s: saved.middle,
            saved_band90_s: saved.band(),
            gained_cpus: gained.middle,
            gained_cpus_band90: gained.band(),
        }
    }

    /// Remaining share of the elapsed time of each draw, if serial work is divided among all CPUs.
    fn without_serial(&self) -> Vec<f64> {
        let divided_share = 1.0 - 1.0 / f64::from(self.cpus);
        let share = |replayed: &ReplayResult| replayed.serial.as_secs_f64() / seconds(replayed);
        self.unchanged.iter().map(|replayed| 1.0 - share(replayed) * divided_share).collect()
    }

    /// Lower limit of the elapsed time with a change, and the remaining share of the elapsed time
    /// of each draw.
    fn with_change(&self, change: &WhatIfChange, filter: Filter) -> (f64, Vec<f64>) {
        let (program, locks) = self.changed_program(change);
        let change = Change { program: &program, locks: &locks };
        let ratios = |draws: u64| -> Vec<f64> {
            let changed = self.ensemble.changed_replays(&change, self.cpus, draws);
            changed
                .iter()
                .zip(&self.unchanged)
                .map(|(changed, own)| seconds(changed) / seconds(own))
                .collect()
        };
        let (limits, own) = (self.limits.work_and_span(), self.unchanged_bounds);
        let first = ratios(1);
        if filter == Filter::Notable && first.iter().all(|ratio| 1.0 - ratio <= MIN_SAVED_SHARE) {
            return (0.0, first);
        }
        let (work, span) = work_and_span(&program);
        let scaled = |limit: f64, changed: f64, own: f64| if own > 0.0 { limit * changed / own } else { 0.0 };
        let least_work = scaled(limits.0, work, own.0) / f64::from(self.cpus);
        (least_work.max(scaled(limits.1, span, own.1)), ratios(GAIN_DRAWS))
    }

    /// Program with a change, and the indices of its remaining locks.
    fn changed_program(&self, change: &WhatIfChange) -> (Program, Vec<usize>) {
        let mut program = self.program.demands.program.clone();
        let is_free = |index: usize| match change {
            WhatIfChange::RemoveNamed(name) => self.program.lock_names[index].contains(name.as_str()),
            _ => false,
        };
        let kept: Vec<usize> = (0..self.ensemble.locks.len()).filter(|index| !is_free(*index)).collect();
        match change {
            WhatIfChange::RemoveNamed(name) => self.scale_command(&mut program, name, 0.0),
            WhatIfChange::SpeedUp { command, factor } => {
                self.scale_command(&mut program, command, 1.0 / factor);
            }
            WhatIfChange::RemoveDisk => {
                for step in program.scripts_mut().flatten() {
                    if let Step::UseDevice { time, .. } = step {
                        *time = Nanos::ZERO;
                    }
                }
            }
            WhatIfChange::RemoveSerial => {}
        }
        let locks: Vec<_> = kept.iter().map(|index| self.ensemble.locks[*index].clone()).collect();
        (LockedProgram::insert_locks(&program, &locks), kept)
    }

    /// Multiplies the time of a command's work by `factor`.
    fn scale_command(&self, program: &mut Program, command: &str, factor: f64) {
        let runs_command =
            |thread: &u32| self.program.commands.get(*thread as usize).is_some_and(|name| name == command);
        let Program { threads, shared_work, .. } = program;
        let own = (0..).zip(threads).filter(|(thread, _)| runs_command(thread)).map(|(_, script)| script);
        let shared = shared_work
            .iter_mut()
            .filter(|work| work.members.iter().any(runs_command))
            .flat_map(|work| &mut work.pieces);
        for step in own.chain(shared).flatten() {
            if let Step::Run(time) = step {
                *time = Nanos((time.0 as f64 * factor) as u64);
            }
        }
    }
}

/// Elapsed time of a replay in seconds; never zero.
fn seconds(replayed: &ReplayResult) -> f64 {
    replayed.elapsed.as_secs_f64().max(1e-9)
}

/// Total work and longest chain of steps of a program, in seconds.
fn work_and_span(program: &Program) -> (f64, f64) {
    let bounds = program.bounds();
    (bounds.work.as_secs_f64(), bounds.span.as_secs_f64())
}
