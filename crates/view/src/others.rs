//! Work of other programs around the measurement: its amount beyond housekeeping, and its sources.
//!
//! Studies of commands and of locks share one rule. This module decides on the warnings and their
//! figures; the report writes the text.

use crate::Warning;
use morecores_study::{Nanos, OtherProgram, Quiet, StudyRecord, Subject, Surroundings};

/// Threshold of other programs' work, in CPUs' worth; more is not idle housekeeping.
const MAX_QUIET_CPUS: f64 = 0.1;
/// Threshold of the ratio of other programs' CPU time to the tree's; more is not housekeeping.
const OUTSIDE_SHARE: f64 = 0.05;
/// Smallest visible amount of other programs' work, in seconds. The clocks that count this work
/// have a resolution of 10 ms.
const VISIBLE_S: f64 = 0.1;

/// Work of other programs during a study.
#[derive(Debug)]
pub struct OtherPrograms<'a> {
    quiet: Option<Quiet>,
    programs: &'a [OtherProgram],
    /// CPU time of other programs around all measurements of the study.
    total: Nanos,
    /// Number of online CPUs of the machine.
    online_cpus: u32,
}

impl<'a> OtherPrograms<'a> {
    /// Collects the work of other programs around the runs of a study.
    pub fn from_study<S: Subject>(
        study: &'a StudyRecord<S>,
        surroundings: fn(&S::Run) -> Option<&Surroundings>,
    ) -> Self {
        let closing = study.header.closing.as_ref();
        Self {
            quiet: closing.and_then(|closing| closing.quiet),
            programs: closing.map_or(&[], |closing| &closing.other_programs),
            total: cpu_time(study.runs.iter().filter_map(surroundings)),
            online_cpus: study.header.host.topology.online.len() as u32,
        }
    }

    /// Returns a warning if the machine was busy while nothing was measured.
    pub fn busy_machine(&self) -> Option<Warning> {
        let busy_cpus = self.quiet_busy_cpus().filter(|busy| *busy > MAX_QUIET_CPUS)?;
        Some(Warning::NotQuiet { busy_cpus, of_cpus: self.online_cpus, other_programs: self.disturbers() })
    }

    /// Returns a warning if other programs worked during the measurement of `cpus` CPUs more than
    /// while nothing was measured. The cause is a daemon that works for the command, or an
    /// unrelated program.
    pub fn work_outside_tree<'s>(
        &self,
        cpus: u32,
        surroundings: impl Iterator<Item = &'s Surroundings>,
    ) -> Option<Warning> {
        let surroundings: Vec<&Surroundings> = surroundings.collect();
        let seconds = |part: fn(&Surroundings) -> Nanos| sum(&surroundings, part).as_secs_f64();
        let (wall, tree) = (seconds(|s| s.covers_ns), seconds(|s| s.tree_ns));
        let (here, elsewhere) = cpu_seconds(surroundings.iter().copied())?;
        let beyond = here + elsewhere - self.quiet_busy_cpus().unwrap_or(0.0) * wall;
        (beyond > VISIBLE_S && beyond > OUTSIDE_SHARE * tree && wall > 0.0).then(|| {
            Warning::WorkOutsideTree {
                cpus,
                busy_cpus: (here + elsewhere) / wall,
                of_cpus: self.online_cpus,
                other_programs: self.disturbers(),
            }
        })
    }

    /// Returns the CPUs' worth of work while nothing was measured.
    fn quiet_busy_cpus(&self) -> Option<f64> {
        let quiet = self.quiet?;
        let watched = quiet.watched_ns.as_secs_f64();
        (watched > 0.0).then(|| quiet.busy_ns.as_secs_f64() / watched)
    }

    /// Returns the programs that explain a good part of all other programs' work around the
    /// measurements. These programs are known for the whole study only, not for each CPU count.
    fn disturbers(&self) -> Vec<OtherProgram> {
        self.programs.iter().filter(|program| program.is_good_part_of(self.total)).cloned().collect()
    }
}

/// Returns the CPU time of other programs in seconds, on the allotted CPUs and elsewhere. Returns
/// none if nothing was read. Only sums are compared, because a single reading is known to 10 ms
/// only.
pub(crate) fn cpu_seconds<'s>(surroundings: impl Iterator<Item = &'s Surroundings>) -> Option<(f64, f64)> {
    let surroundings: Vec<&Surroundings> = surroundings.collect();
    let seconds = |part: fn(&Surroundings) -> Nanos| sum(&surroundings, part).as_secs_f64();
    surroundings.first()?;
    let here = seconds(|s| s.busy_allotted_ns) - seconds(|s| s.tree_ns) - seconds(|s| s.own_ns);
    Some((here.max(0.0), seconds(|s| s.busy_elsewhere_ns)))
}

/// Returns the CPU time of other programs on all CPUs together.
fn cpu_time<'s>(surroundings: impl Iterator<Item = &'s Surroundings>) -> Nanos {
    let surroundings: Vec<&Surroundings> = surroundings.collect();
    let busy = sum(&surroundings, |s| s.busy_allotted_ns) + sum(&surroundings, |s| s.busy_elsewhere_ns);
    busy.since(sum(&surroundings, |s| s.tree_ns) + sum(&surroundings, |s| s.own_ns))
}

fn sum(surroundings: &[&Surroundings], part: fn(&Surroundings) -> Nanos) -> Nanos {
    surroundings.iter().map(|s| part(s)).sum()
}
