//! First limit on the scaling of a program, and lower bounds on elapsed time that hold on any
//! machine.

use morecores_study::Nanos;
use morecores_view::{BoundsView, FirstLimit, Resource};

use super::evidence::Evidence;
use super::model_set::ModelSet;
use super::traced_program::TracedProgram;
use crate::models::Form;
use crate::replay::{Bounds, Inflation, Shape};

/// Number of CPUs beyond which a limit is not reported: its inputs are known only to about a
/// percent.
const MAX_LIMIT_CPUS: f64 = 512.0;

/// Inflation below which the value is noise: CPU time is known to about this precision.
const MIN_INFLATION: f64 = 0.01;

/// Bounds with names, scaled to a run without the tracer.
pub(super) fn bounds(program: &TracedProgram, bounds: &Bounds, untraced_elapsed_ratio: f64) -> BoundsView {
    let seconds = |time: &Nanos| time.as_secs_f64() * untraced_elapsed_ratio;
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

/// Name for the disk: a trace does not distinguish further devices.
pub(super) const DISK: &str = "the disk";

/// Memory limit, if the largest target does not fit in memory. It precedes all other limits,
/// because the command does not run at all without enough memory.
pub(super) fn memory_size_limit(evidence: &Evidence, targets: &[u32]) -> Option<FirstLimit> {
    let (budget, largest) = (evidence.memory?, *targets.last()?);
    let needed = budget.demand.bytes_on(largest);
    (needed > budget.limit).then(|| FirstLimit {
        resource: Resource::MemorySize {
            needed_bytes: needed as u64,
            limit_bytes: budget.limit as u64,
            at_cpus: largest,
        },
        cpus: budget.demand.cpus_within(budget.limit),
    })
}

/// Limit that allows the smallest number of busy CPUs.
pub(super) fn first_limit(
    models: &ModelSet<'_>,
    traced: Option<(&TracedProgram, &Bounds)>,
) -> Option<FirstLimit> {
    let mut limits = Vec::new();
    match traced {
        Some((program, bounds)) => add_program_limits(program, bounds, &mut limits),
        None => add_form_limits(models, &mut limits),
    }
    limits.extend(memory_limit(models));
    limits
        .into_iter()
        .filter(|limit| limit.cpus.is_finite() && limit.cpus <= MAX_LIMIT_CPUS)
        .min_by(|a, b| a.cpus.total_cmp(&b.cpus))
}

fn add_program_limits(program: &TracedProgram, bounds: &Bounds, limits: &mut Vec<FirstLimit>) {
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

fn add_form_limits(models: &ModelSet<'_>, limits: &mut Vec<FirstLimit>) {
    let Some(average) = models.average() else { return };
    let best = average.best();
    match best.form {
        Form::Ideal => {}
        Form::KernelLock => {
            // The lock is saturated once more CPUs change nothing. The limit is the ratio of the
            // time on one CPU to the time at the limit.
            let most = best.model.elapsed(1) / best.model.elapsed(LIMIT_CPUS);
            limits.push(FirstLimit { resource: Resource::Lock { name: "one lock".to_owned() }, cpus: most });
        }
        Form::Amdahl => {
            let most = best.model.elapsed(1) / best.model.elapsed(LIMIT_CPUS);
            limits.push(FirstLimit { resource: Resource::SerialWork { command: None }, cpus: most });
        }
        Form::Usl => {
            limits.extend(best.model.peak().map(|cpus| FirstLimit { resource: Resource::Coherency, cpus }));
        }
    }
}

/// Number of CPUs at which a closed form is at its limit.
const LIMIT_CPUS: u32 = 4096;

/// Limit from the slowdown, if it continues linearly: `n / (1 + s(n-1))` stays below `1/s` for all
/// n.
fn memory_limit(models: &ModelSet<'_>) -> Option<FirstLimit> {
    let first = models.evidence.points.first().filter(|point| point.cpus == 1)?;
    let measured: Vec<(f64, f64)> = models.evidence.points[1..]
        .iter()
        .filter_map(|point| Some((point.work? / point.elapsed, point.work? / first.work?)))
        .collect();
    let fitted = Inflation::fit(Shape::Linear, &measured);
    (fitted.second > MIN_INFLATION)
        .then(|| FirstLimit { resource: Resource::Memory, cpus: (1.0 / fitted.second).max(1.0) })
}
