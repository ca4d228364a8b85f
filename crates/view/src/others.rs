//! Work of other programs around what was measured: whether there was more than housekeeping, and by whom.
//!
//! One rule for studies of commands and of locks. Only whether and how much; the words are the report's.

use crate::Warning;
use morecores_study::lock::LockStudy;
use morecores_study::{Nanos, Neighbour, Quiet, Study, Surroundings, Topology};

/// CPUs' worth of others' work that is more than a system's idle housekeeping.
const BUSY: f64 = 0.1;
/// Others' CPU time over the tree's that is more than housekeeping.
const OUTSIDE: f64 = 0.05;
/// Seconds of others' work that their 10 ms clocks tell apart from nothing.
const VISIBLE: f64 = 0.1;

/// Other programs, as a study saw them.
#[derive(Debug)]
pub(crate) struct Others<'a> {
    quiet: Option<Quiet>,
    neighbours: &'a [Neighbour],
    /// CPU time of others around everything that was measured.
    all: Nanos,
    /// CPUs of the machine that were online.
    of_cpus: u32,
}

impl<'a> Others<'a> {
    /// Other programs around the runs of a command.
    pub(crate) fn of_study(study: &'a Study) -> Self {
        let closing = study.header.closing.as_ref();
        Self {
            quiet: closing.and_then(|closing| closing.quiet),
            neighbours: closing.map_or(&[], |closing| &closing.neighbours),
            all: cpu_time(study.runs.iter().filter_map(|run| run.surroundings.as_ref())),
            of_cpus: online(&study.header.host.topology),
        }
    }

    /// Other programs around the cells of a study of locks.
    pub(crate) fn of_locks(study: &'a LockStudy) -> Self {
        let closing = study.header.closing.as_ref();
        Self {
            quiet: closing.and_then(|closing| closing.quiet),
            neighbours: closing.map_or(&[], |closing| &closing.neighbours),
            all: cpu_time(study.runs.iter().filter_map(|run| run.surroundings.as_ref())),
            of_cpus: online(&study.header.host.topology),
        }
    }

    /// Warning that the machine was busy while nothing was measured.
    pub(crate) fn not_quiet(&self) -> Option<Warning> {
        let busy_cpus = self.busy_when_quiet().filter(|busy| *busy > BUSY)?;
        Some(Warning::NotQuiet { busy_cpus, of_cpus: self.of_cpus, neighbours: self.disturbers() })
    }

    /// Warning of work by others while `cpus` CPUs were measured, beyond what they did while nothing was: a daemon working for the
    /// command, or a neighbour.
    pub(crate) fn during<'s>(
        &self,
        cpus: u32,
        around: impl Iterator<Item = &'s Surroundings>,
    ) -> Option<Warning> {
        let around: Vec<&Surroundings> = around.collect();
        let seconds = |what: fn(&Surroundings) -> Nanos| sum(&around, what).as_secs_f64();
        let (wall, tree) = (seconds(|s| s.covers_ns), seconds(|s| s.tree_ns));
        let (here, elsewhere) = cpu_seconds(around.iter().copied())?;
        let beyond = here + elsewhere - self.busy_when_quiet().unwrap_or(0.0) * wall;
        (beyond > VISIBLE && beyond > OUTSIDE * tree && wall > 0.0).then(|| Warning::WorkOutsideTree {
            cpus,
            busy_cpus: (here + elsewhere) / wall,
            of_cpus: self.of_cpus,
            neighbours: self.disturbers(),
        })
    }

    /// CPUs' worth of work that was going on while nothing was measured.
    fn busy_when_quiet(&self) -> Option<f64> {
        let quiet = self.quiet?;
        let watched = quiet.watched_ns.as_secs_f64();
        (watched > 0.0).then(|| quiet.busy_ns.as_secs_f64() / watched)
    }

    /// Others that explain a good part of what was done beside the whole study, as they are known of that alone.
    fn disturbers(&self) -> Vec<Neighbour> {
        self.neighbours.iter().filter(|neighbour| neighbour.is_good_part_of(self.all)).cloned().collect()
    }
}

/// CPU time of others, in seconds: on the allotted CPUs and elsewhere; absent where nobody looked. Only sums are compared: single
/// readings are known to 10 ms.
pub(crate) fn cpu_seconds<'s>(around: impl Iterator<Item = &'s Surroundings>) -> Option<(f64, f64)> {
    let around: Vec<&Surroundings> = around.collect();
    let seconds = |what: fn(&Surroundings) -> Nanos| sum(&around, what).as_secs_f64();
    around.first()?;
    let here = seconds(|s| s.busy_allotted_ns) - seconds(|s| s.tree_ns) - seconds(|s| s.own_ns);
    Some((here.max(0.0), seconds(|s| s.busy_elsewhere_ns)))
}

/// CPU time of others on all CPUs together.
fn cpu_time<'s>(around: impl Iterator<Item = &'s Surroundings>) -> Nanos {
    let around: Vec<&Surroundings> = around.collect();
    let busy = sum(&around, |s| s.busy_allotted_ns) + sum(&around, |s| s.busy_elsewhere_ns);
    busy.since(sum(&around, |s| s.tree_ns) + sum(&around, |s| s.own_ns))
}

fn sum(around: &[&Surroundings], what: fn(&Surroundings) -> Nanos) -> Nanos {
    around.iter().map(|s| what(s)).sum()
}

fn online(topology: &Topology) -> u32 {
    topology.online.len() as u32
}
