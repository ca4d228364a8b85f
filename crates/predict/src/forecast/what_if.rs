//! Gain from removing an obstacle: the same replay with and without it.

use std::collections::BTreeMap;

use morecores_study::Nanos;
use morecores_view::{Gain, GainKind, GainPoint};

use super::compared_program::ComparedProgram;
use super::ensemble::likely_inflation;
use super::evidence::{Evidence, MeasuredPoint, point_at, program_for};
use super::forecast;
use super::locked_program::LockedProgram;
use super::traced_program::TracedProgram;
use crate::demand::LockUse;
use crate::replay::{Inflation, Machine, Program, Step, replay};

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
    #[error("the study measures a metric, but a replay gives only elapsed time")]
    NotTime,
    /// No traced run has a measured count.
    #[error("no traced run has a measured CPU count, so there is nothing to compare with")]
    NoMeasuredTrace,
}

/// Number of commands to try without a request: those with the most CPU time.
const MAX_COMMANDS: usize = 5;

/// Speedup to try for a command.
const TRIAL_SPEEDUP: f64 = 2.0;

/// Saved time over elapsed time below which a change is not listed.
const MIN_SAVED_SHARE: f64 = 0.005;

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
    let inflation = likely_inflation(evidence.is_time, &evidence.points);
    let mut scenarios = Vec::new();
    for &count in &counts {
        let program = program_for(evidence, largest, count).ok_or(WhatIfError::Untraced(count))?;
        let elapsed = expected_elapsed(evidence, count).ok_or(WhatIfError::NoMeasuredTrace)?;
        let compared = ComparedProgram::new(evidence, program);
        scenarios.push(Scenario::new(compared, inflation, elapsed, count));
    }
    let changed = if changes.is_empty() { possible_changes(own) } else { changes.to_vec() };
    let mut gains = Vec::new();
    for change in &changed {
        if let WhatIfChange::RemoveNamed(name) | WhatIfChange::SpeedUp { command: name, .. } = change {
            check_name(own, name, matches!(change, WhatIfChange::RemoveNamed(_)))?;
        }
        let points = scenarios.iter().map(|scenario| scenario.gain(change, base)).collect();
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
struct Scenario<'p> {
    program: &'p TracedProgram,
    locks: Vec<LockUse>,
    machine: Machine,
    cpus: u32,
    /// Ratio of seconds on the machine to seconds in the replay.
    scale: f64,
    elapsed: f64,
    serial: f64,
}

impl<'p> Scenario<'p> {
    fn new(compared: ComparedProgram<'p>, inflation: Inflation, elapsed: f64, cpus: u32) -> Self {
        let program = compared.program;
        let LockedProgram { locks, program: program_with_locks } =
            LockedProgram::calibrate(program, compared.dedicated, inflation);
        let machine = program.machine(cpus, inflation);
        let replayed = replay(&program_with_locks, &machine);
        let scale = elapsed / replayed.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        let serial = scale * replayed.serial.as_secs_f64();
        Self { program, locks, machine, cpus, scale, elapsed, serial }
    }

    fn gain(&self, change: &WhatIfChange, base: MeasuredPoint) -> GainPoint {
        let then = match change {
            WhatIfChange::RemoveSerial => self.elapsed - self.serial * (1.0 - 1.0 / f64::from(self.cpus)),
            _ => self.elapsed_with(change),
        };
        // No change reduces the elapsed time to zero.
        let then = then.max(self.elapsed * MIN_LEFT_SHARE);
        GainPoint {
            cpus: self.cpus,
            n: self.program.n,
            elapsed_s: self.elapsed,
            saved_s: self.elapsed - then,
            gained_cpus: f64::from(base.cpus) * (base.elapsed / then - base.elapsed / self.elapsed),
        }
    }

    fn elapsed_with(&self, change: &WhatIfChange) -> f64 {
        let mut program = self.program.demands.program.clone();
        let mut locks = self.locks.clone();
        match change {
            WhatIfChange::RemoveNamed(name) => {
                let free = |lock: &LockUse| {
                    let index = self.program.locks.iter().position(|own| own.id == lock.id);
                    index.is_some_and(|index| self.program.lock_names[index].contains(name.as_str()))
                };
                locks.retain(|lock| !free(lock));
                self.scale_command(&mut program, name, 0.0);
            }
            WhatIfChange::SpeedUp { command, factor } => {
                self.scale_command(&mut program, command, 1.0 / factor)
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
        let program = LockedProgram::insert_locks(&program, &locks);
        self.scale * replay(&program, &self.machine).elapsed.as_secs_f64()
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
