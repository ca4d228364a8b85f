//! What stops a program first, and what no machine can beat.

use morecores_study::Nanos;
use morecores_view::{BoundsView, FirstLimit, Resource};

use super::evidence::Evidence;
use super::opinion::Panel;
use super::traced::TracedProgram;
use crate::models::Form;
use crate::replay::{Bounds, Inflation, Shape};

/// A limit beyond so many CPUs is out of sight: what it rests on is known to a percent or so.
const SIGHT: f64 = 512.0;

/// What of an inflation is noise: CPU time is known to about this.
const LEAST_INFLATION: f64 = 0.01;

/// The same with names, and as long as it takes in a run that is not traced.
pub(super) fn bounds(program: &TracedProgram, bounds: &Bounds, timed_over_traced: f64) -> BoundsView {
    let seconds = |time: &Nanos| time.as_secs_f64() * timed_over_traced;
    let mut locks: Vec<(String, f64)> =
        program.lock_names.iter().cloned().zip(bounds.holds.iter().map(seconds)).collect();
    locks.sort_by(|a, b| b.1.total_cmp(&a.1));
    BoundsView {
        work_s: seconds(&bounds.work),
        span_s: seconds(&bounds.span),
        locks,
        devices: bounds.services.iter().map(|time| (DISK.to_owned(), seconds(time))).collect(),
    }
}

/// The only device that a trace tells apart.
pub(super) const DISK: &str = "the disk";

/// The size of the memory, where one of the targets does not fit: it comes first, since there the command does not run at
/// all.
pub(super) fn memory_size(evidence: &Evidence, targets: &[u32]) -> Option<FirstLimit> {
    let (room, largest) = (evidence.memory?, *targets.last()?);
    let needed = room.demand.at(largest);
    (needed > room.limit).then(|| FirstLimit {
        resource: Resource::MemorySize {
            needed_bytes: needed as u64,
            limit_bytes: room.limit as u64,
            at_cpus: largest,
        },
        cpus: room.demand.most(room.limit),
    })
}

/// What allows the fewest CPUs' worth of work at a time.
pub(super) fn first_limit(
    panel: &Panel<'_>,
    traced: Option<(&TracedProgram, &Bounds)>,
) -> Option<FirstLimit> {
    let mut limits = Vec::new();
    match traced {
        Some((program, bounds)) => of_program(program, bounds, &mut limits),
        None => of_forms(panel, &mut limits),
    }
    limits.extend(memory(panel));
    limits
        .into_iter()
        .filter(|limit| limit.cpus.is_finite() && limit.cpus <= SIGHT)
        .min_by(|a, b| a.cpus.total_cmp(&b.cpus))
}

fn of_program(program: &TracedProgram, bounds: &Bounds, limits: &mut Vec<FirstLimit>) {
    let work = bounds.work.as_secs_f64();
    let mut add = |resource, time: f64| {
        if time > 0.0 {
            limits.push(FirstLimit { resource, cpus: (work / time).max(1.0) });
        }
    };
    add(Resource::SerialWork { command: program.serial_command.clone() }, bounds.span.as_secs_f64());
    for (name, hold) in program.lock_names.iter().zip(&bounds.holds) {
        add(Resource::Lock { name: name.clone() }, hold.as_secs_f64());
    }
    for service in &bounds.services {
        add(Resource::Device { name: DISK.to_owned() }, service.as_secs_f64());
    }
}

fn of_forms(panel: &Panel<'_>, limits: &mut Vec<FirstLimit>) {
    let Some(contest) = panel.contest() else { return };
    let best = contest.best();
    match best.form {
        Form::Ideal => {}
        Form::KernelLock => {
            // The lock is saturated where more CPUs change nothing: at the ratio of one CPU's time to the limit's.
            let most = best.model.elapsed(1) / best.model.elapsed(MANY);
            limits.push(FirstLimit { resource: Resource::Lock { name: "one lock".to_owned() }, cpus: most });
        }
        Form::Amdahl => {
            let most = best.model.elapsed(1) / best.model.elapsed(MANY);
            limits.push(FirstLimit { resource: Resource::SerialWork { command: None }, cpus: most });
        }
        Form::Usl => {
            limits.extend(best.model.peak().map(|cpus| FirstLimit { resource: Resource::Coherency, cpus }));
        }
    }
}

/// So many CPUs that a closed form is at its limit.
const MANY: u32 = 4096;

/// What the slowdown leaves of any number of CPUs, if it goes on evenly as it began: `n / (1 + s(n-1))` for all n is below `1/s`.
fn memory(panel: &Panel<'_>) -> Option<FirstLimit> {
    let first = panel.evidence.points.first().filter(|point| point.cpus == 1)?;
    let measured: Vec<(f64, f64)> = panel.evidence.points[1..]
        .iter()
        .filter_map(|point| Some((point.work? / point.elapsed, point.work? / first.work?)))
        .collect();
    let fitted = Inflation::fit(Shape::Linear, &measured);
    (fitted.second > LEAST_INFLATION)
        .then(|| FirstLimit { resource: Resource::Memory, cpus: (1.0 / fitted.second).max(1.0) })
}
