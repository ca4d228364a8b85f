//! Gain from removing an obstacle: the same replay with and without it.

use std::collections::BTreeMap;

use morecores_study::Nanos;
use morecores_view::{Gain, GainKind, GainPoint};

use super::ensemble::usual_inflation;
use super::evidence::{Evidence, Measured};
use super::forecast;
use super::locked::Locked;
use super::traced::TracedProgram;
use crate::demand::LockUse;
use crate::replay::{Machine, Program, Step, replay};

/// Hypothetical change to a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Locks whose name contains this text are free, and commands with this name take no time.
    Without(String),
    /// The disk serves every request at once.
    WithoutDisk,
    /// Serial work is divided among all CPUs.
    WithoutSerial,
    /// A command runs faster.
    Faster {
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
    #[error("no lock or command of the trace is called `{name}`: there are {known}")]
    Unknown {
        /// Requested name.
        name: String,
        /// Available names.
        known: String,
    },
    /// No trace describes the program for this number of CPUs.
    #[error("no trace is of the command for {0} CPUs: `morecores run --predict={0}` makes one")]
    Untraced(u32),
    /// The study measures a metric of the command; a replay only gives elapsed time.
    #[error("the study is about a metric, and a replay tells elapsed time alone")]
    NotOfTime,
    /// No traced run has a measured count.
    #[error("no traced run is of a measured CPU count: there is nothing to compare with")]
    NothingTraced,
}

/// Number of commands to try without a request: those with the most CPU time.
const MOST_COMMANDS: usize = 5;

/// Speedup to try for a command.
const FASTER: f64 = 2.0;

/// Saved time over elapsed time below which a change is not listed.
const WORTH: f64 = 0.005;

/// Smallest share of the elapsed time that remains after any change.
const LEAST_LEFT: f64 = 0.001;

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
    changes: &[Change],
    cpus: Option<&[u32]>,
) -> Result<Vec<Gain>, WhatIfError> {
    if !evidence.is_time {
        return Err(WhatIfError::NotOfTime);
    }
    let base = *evidence.points.first().ok_or(WhatIfError::NothingTraced)?;
    let largest = evidence.points.last().map_or(1, |point| point.cpus);
    let own = evidence.program(largest, largest).ok_or(WhatIfError::NothingTraced)?;
    let counts: Vec<u32> = match cpus {
        Some(cpus) => cpus.to_vec(),
        None => {
            let more =
                evidence.programs.iter().map(|program| program.n).filter(|n| *n > largest && evidence.told_n);
            let mut all: Vec<u32> = std::iter::once(largest).chain(more).collect();
            if !evidence.told_n {
                all.push(2 * largest);
            }
            all.sort_unstable();
            all.dedup();
            all
        }
    };
    let mut sites = Vec::new();
    for &count in &counts {
        let program = evidence.program(largest, count).ok_or(WhatIfError::Untraced(count))?;
        let now = expected(evidence, count).ok_or(WhatIfError::NothingTraced)?;
        sites.push(Site::new(evidence, program, now, count));
    }
    let found = if changes.is_empty() { everything(own) } else { changes.to_vec() };
    let mut gains = Vec::new();
    for change in &found {
        if let Change::Without(name) | Change::Faster { command: name, .. } = change {
            known(own, name, matches!(change, Change::Without(_)))?;
        }
        let points = sites.iter().map(|site| site.gain(change, base)).collect();
        gains.push(Gain { change: change.words(), kind: kind(own, change), points });
    }
    if changes.is_empty() {
        gains.retain(|gain| gain.points.iter().any(|point| point.saved_s > WORTH * point.elapsed_s));
        gains.sort_by(|a, b| gained(b).total_cmp(&gained(a)));
    }
    Ok(gains)
}

/// Elapsed time at a count without changes: the measured time, otherwise the predicted time, even
/// one too uncertain to report.
fn expected(evidence: &Evidence, cpus: u32) -> Option<f64> {
    if let Some(measured) = evidence.point(cpus) {
        return Some(measured.elapsed);
    }
    let point = forecast(evidence, &[cpus])?.points.pop()?;
    let middle = |[least, most]: [f64; 2]| (least * most).sqrt();
    point.elapsed_s.or_else(|| point.elapsed_band90_s.map(middle))
}

/// Kind of the object that `change` changes in `program`. A name shared by a lock and a command
/// means the lock.
fn kind(program: &TracedProgram, change: &Change) -> GainKind {
    match change {
        Change::WithoutDisk => GainKind::Disk,
        Change::WithoutSerial => GainKind::Serial,
        Change::Without(name) if program.lock_names.iter().any(|lock| lock.contains(name.as_str())) => {
            GainKind::Lock
        }
        Change::Without(_) | Change::Faster { .. } => GainKind::Command,
    }
}

/// Time saved at the largest count.
fn gained(gain: &Gain) -> f64 {
    gain.points.last().map_or(0.0, |point| point.saved_s)
}

/// All possible changes: each lock, the commands with the most CPU time, the disk, the serial work.
fn everything(program: &TracedProgram) -> Vec<Change> {
    let mut changes = vec![Change::WithoutDisk, Change::WithoutSerial];
    changes.extend(program.lock_names.iter().map(|name| Change::Without(name.clone())));
    let faster = |command: String| Change::Faster { command, factor: FASTER };
    changes.extend(busiest(program).into_iter().take(MOST_COMMANDS).map(faster));
    changes
}

/// Commands, most CPU time first.
fn busiest(program: &TracedProgram) -> Vec<String> {
    let mut work: BTreeMap<&str, Nanos> = BTreeMap::new();
    for (command, script) in program.commands.iter().zip(&program.demands.program.threads) {
        *work.entry(command).or_default() += script.iter().map(Step::work).sum::<Nanos>();
    }
    for bag in &program.demands.program.bags {
        let Some(command) = bag.members.first().and_then(|member| program.commands.get(*member as usize))
        else {
            continue;
        };
        *work.entry(command).or_default() += bag.pieces.iter().flatten().map(Step::work).sum::<Nanos>();
    }
    let mut all: Vec<_> = work.into_iter().collect();
    all.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    all.into_iter().map(|(command, _)| command.to_owned()).collect()
}

fn known(program: &TracedProgram, name: &str, locks_too: bool) -> Result<(), WhatIfError> {
    let command = program.commands.iter().any(|command| command == name);
    let lock = locks_too && program.lock_names.iter().any(|lock| lock.contains(name));
    if command || lock {
        return Ok(());
    }
    let commands = busiest(program).into_iter().take(MOST_COMMANDS);
    let locks = program.lock_names.iter().filter(|_| locks_too).cloned();
    let known: Vec<String> = commands.chain(locks).collect();
    Err(WhatIfError::Unknown { name: name.to_owned(), known: known.join(", ") })
}

impl Change {
    fn words(&self) -> String {
        match self {
            Self::Without(name) => name.clone(),
            Self::WithoutDisk => "the disk".to_owned(),
            Self::WithoutSerial => "serial work".to_owned(),
            Self::Faster { command, factor } => format!("{command}={factor}x"),
        }
    }
}

/// Program on a number of CPUs.
struct Site<'p> {
    program: &'p TracedProgram,
    locks: Vec<LockUse>,
    there: Machine,
    cpus: u32,
    /// Ratio of seconds on the machine to seconds in the replay.
    scale: f64,
    now: f64,
    alone: f64,
}

impl<'p> Site<'p> {
    fn new(evidence: &Evidence, program: &'p TracedProgram, now: f64, cpus: u32) -> Self {
        let inflation = usual_inflation(evidence);
        let Locked { locks, whole } = Locked::of(evidence, program, inflation);
        let there = program.machine(cpus, inflation);
        let replayed = replay(&whole, &there);
        let scale = now / replayed.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        let alone = scale * replayed.alone.as_secs_f64();
        Self { program, locks, there, cpus, scale, now, alone }
    }

    fn gain(&self, change: &Change, base: Measured) -> GainPoint {
        let then = match change {
            Change::WithoutSerial => self.now - self.alone * (1.0 - 1.0 / f64::from(self.cpus)),
            _ => self.replayed(change),
        };
        // No change reduces the elapsed time to zero.
        let then = then.max(self.now * LEAST_LEFT);
        GainPoint {
            cpus: self.cpus,
            n: self.program.n,
            elapsed_s: self.now,
            saved_s: self.now - then,
            gained_cpus: f64::from(base.cpus) * (base.elapsed / then - base.elapsed / self.now),
        }
    }

    fn replayed(&self, change: &Change) -> f64 {
        let mut program = self.program.demands.program.clone();
        let mut locks = self.locks.clone();
        match change {
            Change::Without(name) => {
                let free = |of: &LockUse| {
                    let place = self.program.locks.iter().position(|own| own.lock == of.lock);
                    place.is_some_and(|place| self.program.lock_names[place].contains(name.as_str()))
                };
                locks.retain(|of| !free(of));
                self.paced(&mut program, name, 0.0);
            }
            Change::Faster { command, factor } => self.paced(&mut program, command, 1.0 / factor),
            Change::WithoutDisk => {
                for step in program.scripts_mut().flatten() {
                    if let Step::Serve { time, .. } = step {
                        *time = Nanos::ZERO;
                    }
                }
            }
            Change::WithoutSerial => {}
        }
        let program = Locked::with(&program, &locks);
        self.scale * replay(&program, &self.there).elapsed.as_secs_f64()
    }

    /// Multiplies the time of a command's work by `factor`.
    fn paced(&self, program: &mut Program, command: &str, factor: f64) {
        let is_its =
            |thread: &u32| self.program.commands.get(*thread as usize).is_some_and(|name| name == command);
        let Program { threads, bags, .. } = program;
        let own = (0..).zip(threads).filter(|(thread, _)| is_its(thread)).map(|(_, script)| script);
        let shared =
            bags.iter_mut().filter(|bag| bag.members.iter().any(is_its)).flat_map(|bag| &mut bag.pieces);
        for step in own.chain(shared).flatten() {
            if let Step::Run(time) = step {
                *time = Nanos((time.0 as f64 * factor) as u64);
            }
        }
    }
}
