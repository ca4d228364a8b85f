//! Selects the losses worth a sentence and the culprit of each.
//!
//! Pure: no words here, and no thresholds except the choices below.

use morecores_study::Neighbour;
use morecores_view::{LockView, PointView, StackView, TraceView, View, Warning};

use super::{Blame, Cause, Withheld};
use crate::Component;
use crate::component::idle_or_others;
use crate::verdict::{crowd, no_baseline, outside};

/// Largest number of causes in words; the table has the rest.
const MOST: usize = 4;

/// Share of the CPUs below which a loss is not put into words. A choice: twice the share that is
/// folded in the bars, so that the words mention nothing that the bar does not show.
const WORTH_SAYING: f64 = 0.02;

/// Share of a loss that one command must hold to be named alone.
const ALONE: f64 = 0.8;

/// Share of a loss that a name must hold to be listed.
const WORTH_NAMING: f64 = 0.1;

/// Largest number of names in one sentence.
const NAMES: usize = 3;

/// Relative change of a run's time by tracing, from which its causes need not be those of the timed
/// runs. A choice: beyond a quarter, the tracer or another difference between the runs is as large
/// as any named loss.
const UNLIKE: f64 = 0.25;

/// Median elapsed time below which a run is too short to be traced faithfully: starting it alone
/// takes a millisecond.
const SHORT_S: f64 = 0.010;

/// Smallest difference of two speedups, that of the command's own figure and that of the whole run,
/// that withholds the causes: the causes in the run are then not those of the figure. A choice: a
/// smaller difference is seldom known.
const OTHERWISE: f64 = 0.1;

/// Reason why no cause of this stack is named.
///
/// Possible reasons are:
/// - the command did not keep to its CPUs;
/// - the baseline is not valid;
/// - one of the two traced runs differed from the timed runs of its count, beyond a bound and
///   beyond all of these runs;
/// - the timed runs are too short;
/// - the requested figure covers only a part of the run.
pub fn withheld(stack: &StackView, view: &View) -> Option<Withheld> {
    if let Some(outside) = outside(view) {
        return Some(Withheld::NotHeld { cpus: outside.cpus });
    }
    if let Some(crowd) = no_baseline(view).filter(|crowd| crowd.cpus == stack.base_cpus) {
        return Some(Withheld::NoBaseline { cpus: crowd.cpus, threads: crowd.workers.threads });
    }
    let both = [(stack.cpus, stack.n), (stack.base_cpus, stack.base_n)];
    let of = |(cpus, n): (u32, u32)| {
        let point = view.points.iter().find(|p| (p.cpus, p.n) == (cpus, n))?;
        Some((point, view.trace(cpus, n)?))
    };
    let unlike = |(point, trace): (&PointView, &TraceView)| {
        let times = 1.0 + trace.overhead?;
        let elapsed = times * point.elapsed_s.median;
        let like_one = elapsed >= point.elapsed_s.min && elapsed <= point.elapsed_s.max;
        ((times - 1.0).abs() > UNLIKE && !like_one).then_some(Withheld::Unlike { cpus: point.cpus, times })
    };
    let short = |(point, _): (&PointView, &TraceView)| {
        let seconds = point.elapsed_s.median;
        (seconds < SHORT_S).then_some(Withheld::Short { cpus: point.cpus, seconds })
    };
    let runs = || both.into_iter().filter_map(of);
    let of_a_part = || {
        let measured = |(cpus, n): (u32, u32)| view.points.iter().find(|p| (p.cpus, p.n) == (cpus, n));
        let (point, base) = (measured(both[0])?, measured(both[1])?);
        let figure = point.metric.as_ref().map(|_| point.speedup)?;
        let whole = base.elapsed_s.median / point.elapsed_s.median;
        let apart = (figure.value / whole - 1.0).abs() > OTHERWISE;
        let told_apart = figure.ci95.is_none_or(|[low, high]| whole < low || whole > high);
        (apart && told_apart).then_some(Withheld::Figure { cpus: point.cpus, figure: figure.value, whole })
    };
    runs().find_map(unlike).or_else(|| runs().find_map(short)).or_else(of_a_part)
}

/// Losses and gains of one of the view's stacks that are worth words, largest first. Each exceeds a
/// threshold and the time that no rule explains, because a smaller figure may be part of that time.
/// Empty if the causes are [`withheld`].
pub fn causes(stack: &StackView, view: &View) -> Vec<Cause> {
    if withheld(stack, view).is_some() {
        return Vec::new();
    }
    let least = (WORTH_SAYING * f64::from(stack.cpus)).max(stack.losses.unexplained.abs());
    let said = |component: &Component| {
        let Some(lost) = component.loss(&stack.losses) else { return false };
        *component != Component::Unexplained && lost.is_finite() && lost.abs() >= least && lost != 0.0
    };
    let mut components: Vec<Component> = Component::ALL.into_iter().filter(said).collect();
    let lost = |c: Component| c.loss(&stack.losses).unwrap_or(0.0);
    let size = |c: &Component| lost(*c).abs();
    components.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let cause = |component: Component| Cause {
        component,
        lost: lost(component),
        cpus: stack.cpus,
        base_cpus: stack.base_cpus,
        blame: blame(component, stack, view),
    };
    components.into_iter().take(MOST).map(cause).collect()
}

/// Largest loss at the largest CPU count, if that count was traced; the tracer's own time is no
/// cause.
pub fn main_cause(view: &View) -> Option<Cause> {
    let largest = view.points.last()?;
    let stack = view.stack.iter().find(|s| (s.cpus, s.n) == (largest.cpus, largest.n))?;
    causes(stack, view).into_iter().find(|c| c.lost > 0.0 && c.component != Component::Tracer)
}

fn blame(component: Component, stack: &StackView, view: &View) -> Blame {
    let trace = view.trace(stack.cpus, stack.n);
    match component {
        Component::IdleTooLittleWork => ran(stack),
        Component::IdleUserLock => trace.map_or(Blame::Unknown, behind_lock),
        Component::KernelLockSpin => lock(trace, |l| l.spin_s),
        Component::IdleKernelLock => lock(trace, |l| l.wait_s - l.spin_s),
        Component::IdleScheduling if stay(stack, view) => Blame::NotBalanced,
        Component::IdleScheduling if trace.is_some_and(idle_or_others) => Blame::PerhapsProcesses,
        Component::OtherProcesses => trace.map_or(Blame::Unknown, others),
        Component::UserWork if stack.losses.user_work > 0.0 && spins(stack, view) => {
            Blame::TightLoop(trace.map_or(0.0, tight_loop))
        }
        Component::UserWork if stack.losses.user_work < 0.0 => {
            let of_base = crowd(view).filter(|crowd| crowd.cpus == stack.base_cpus);
            of_base.map_or(Blame::Unknown, |crowd| Blame::CrowdedBase(crowd.workers.threads))
        }
        _ => Blame::Unknown,
    }
}

fn ran(stack: &StackView) -> Blame {
    let lost = stack.losses.idle_too_little_work;
    let share = |cpus: f64| if lost > 0.0 { cpus / lost } else { 0.0 };
    let named: Vec<_> =
        stack.culprits.iter().filter(|c| share(c.lost_cpus) >= WORTH_NAMING).take(NAMES).collect();
    let Some(first) = named.first() else { return Blame::Unknown };
    let alone = share(first.lost_cpus) >= ALONE;
    let shown = if alone { 1 } else { named.len() };
    Blame::Ran {
        commands: named.iter().take(shown).map(|c| (c.name.clone(), c.lost_cpus)).collect(),
        alone,
        waiting_in: first.waiting_in.clone(),
    }
}

/// Lock with the longest waits of a kind; unknown if no lock had waits of that kind.
fn lock(trace: Option<&TraceView>, waits: fn(&LockView) -> f64) -> Blame {
    let Some(locks) = trace.map(|t| &t.locks) else { return Blame::Unknown };
    let Some(first) = locks.iter().max_by(|a, b| waits(a).total_cmp(&waits(b))) else {
        return Blame::Unknown;
    };
    let all: f64 = locks.iter().map(waits).sum();
    if waits(first) <= 0.0 {
        return Blame::Unknown;
    }
    Blame::Lock {
        symbol: first.symbol.clone(),
        caller: first.caller.clone(),
        mostly: waits(first) >= all / 2.0,
    }
}

/// Component behind most of the waits for the command's own locks, if the holders of the locks
/// waited themselves.
fn behind_lock(trace: &TraceView) -> Blame {
    let all = trace.components.idle_user_lock_s.unwrap_or(0.0);
    let most = crate::component::behind(trace).into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    most.filter(|(_, seconds)| *seconds > all / 2.0).map_or(Blame::Unknown, |(what, _)| Blame::Behind(what))
}

fn others(trace: &TraceView) -> Blame {
    let all: f64 = trace.others.iter().map(|(_, seconds)| seconds).sum();
    let named = trace.others.iter().filter(|(_, seconds)| *seconds >= Neighbour::GOOD_PART * all);
    let names: Vec<String> = named.take(NAMES).map(|(name, _)| name.clone()).collect();
    if names.is_empty() { Blame::Unknown } else { Blame::Processes(names) }
}

/// Whether the CPUs of the larger count take no thread from each other.
fn stay(stack: &StackView, view: &View) -> bool {
    let warned = |w: &Warning| matches!(w, Warning::NotBalanced { cpus, .. } if *cpus == stack.cpus);
    view.warnings.iter().any(warned)
}

/// Whether the view warns of spinning: the analysis decides how much is too much.
fn spins(stack: &StackView, view: &View) -> bool {
    let warned = |w: &Warning| matches!(w, Warning::UserSpinning { cpus, .. } if *cpus == stack.cpus);
    view.warnings.iter().any(warned)
}

/// Share of the trace's work that spins in the command's own loops.
pub(crate) fn tight_loop(trace: &TraceView) -> f64 {
    let work = trace.components.user_work_s + trace.components.kernel_work_s.unwrap_or(0.0);
    trace.user_spin_s.filter(|_| work > 0.0).map_or(0.0, |spin| spin / work)
}
