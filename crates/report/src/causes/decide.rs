//! Selects the losses worth a sentence and the culprit of each.
//!
//! Pure: no words here, and no thresholds except the choices below.

use morecores_study::{InCell, OtherProgram};
use morecores_view::code::{CodeSite, FunctionLoss, UserLockView};
use morecores_view::{
    Component, Culprit, LockView, NO_CULPRIT, OpenMpView, PointView, StackView, TraceView, View, Warning,
    invalid_baseline, oversubscribed_base, time_outside_cpus,
};

use super::{Explanation, LossCause, NamedLock, NoCauseReason, SerialTime};
use crate::component::idle_includes_others;

/// Largest number of causes in words; the table has the rest.
const MAX_CAUSES: usize = 4;

/// Share of the CPUs below which a loss is not put into words. A choice: twice the share that is
/// folded in the bars, so that the words mention nothing that the bar does not show.
const LEAST_SHARE: f64 = 0.02;

/// Share of a loss that one command must hold to be named alone.
const SOLE_SHARE: f64 = 0.8;

/// Share of a loss that a name must hold to be listed.
const LEAST_NAMED_SHARE: f64 = 0.1;

/// Largest number of names in one sentence.
const MAX_NAMES: usize = 3;

/// Relative change of a run's time by tracing, from which its causes need not be those of the timed
/// runs. A choice: beyond a quarter, the tracer or another difference between the runs is as large
/// as any named loss.
const MAX_TRACE_DIFFERENCE: f64 = 0.25;

/// Median elapsed time below which a run is too short to be traced faithfully: starting it alone
/// takes a millisecond.
const SHORT_S: f64 = 0.010;

/// Smallest difference of two speedups, that of the command's own figure and that of the whole run,
/// that withholds the causes: the causes in the run are then not those of the figure. A choice: a
/// smaller difference is seldom known.
const MAX_FIGURE_DIFFERENCE: f64 = 0.1;

/// Reason why no cause of this stack is named.
///
/// Possible reasons are:
/// - the command did not keep to its CPUs;
/// - the baseline is not valid;
/// - one of the two traced runs differed from the timed runs of its count, beyond a bound and
///   beyond all of these runs;
/// - the timed runs are too short;
/// - the requested figure covers only a part of the run;
/// - every loss may be noise.
pub fn no_cause_reason(stack: &StackView, view: &View) -> Option<NoCauseReason> {
    if let Some(outside) = time_outside_cpus(view) {
        return Some(NoCauseReason::RanOutsideCpus { cpus: outside.cpus });
    }
    if let Some(crowd) = invalid_baseline(view).filter(|crowd| crowd.cpus == stack.base_cpus) {
        return Some(NoCauseReason::NoBaseline { cpus: crowd.cpus, threads: crowd.workers.threads });
    }
    let both = [stack.cell(), stack.base_cell()];
    let trace_differs = |(point, trace): (&PointView, &TraceView)| {
        let times = 1.0 + trace.overhead?;
        let elapsed = times * point.elapsed_s.median;
        let in_range = elapsed >= point.elapsed_s.min && elapsed <= point.elapsed_s.max;
        ((times - 1.0).abs() > MAX_TRACE_DIFFERENCE && !in_range)
            .then_some(NoCauseReason::TraceDiffers { cpus: point.cpus, times })
    };
    let is_too_short = |(point, _): (&PointView, &TraceView)| {
        let seconds = point.elapsed_s.median;
        (seconds < SHORT_S).then_some(NoCauseReason::TooShort { cpus: point.cpus, seconds })
    };
    let runs = || both.iter().filter_map(|cell| view.point(cell).zip(view.trace(cell)));
    let figure_differs = || {
        let (point, base) = view.point(&both[0]).zip(view.point(&both[1]))?;
        let figure = point.metric.as_ref().map(|_| point.speedup)?;
        let whole = base.elapsed_s.median / point.elapsed_s.median;
        let differs = (figure.value / whole - 1.0).abs() > MAX_FIGURE_DIFFERENCE;
        let is_significant = figure.ci95.is_none_or(|[low, high]| whole < low || whole > high);
        (differs && is_significant).then_some(NoCauseReason::FigureDiffers {
            cpus: point.cpus,
            figure: figure.value,
            whole,
        })
    };
    let within_noise = || {
        let large = large_losses(stack);
        let largest = large.first().filter(|_| large.iter().all(|component| may_be_noise(*component, stack)));
        let component = *largest?;
        Some(NoCauseReason::WithinNoise {
            component,
            lost: component.loss(&stack.losses)?,
            ci95: component.interval(&stack.losses_ci95?)?,
            cpus: stack.cpus,
        })
    };
    runs()
        .find_map(trace_differs)
        .or_else(|| runs().find_map(is_too_short))
        .or_else(figure_differs)
        .or_else(within_noise)
}

/// Components with losses and gains large enough for words, largest first. Each exceeds a threshold
/// and the time that no rule explains, because a smaller figure may be part of that time.
fn large_losses(stack: &StackView) -> Vec<Component> {
    let least = (LEAST_SHARE * f64::from(stack.cpus)).max(stack.losses.unexplained.abs());
    let size = |component: Component| component.loss(&stack.losses).map_or(0.0, f64::abs);
    let is_large = |component: &Component| {
        let size = size(*component);
        *component != Component::Unexplained && size.is_finite() && size >= least && size != 0.0
    };
    let mut components: Vec<Component> = Component::ALL.into_iter().filter(is_large).collect();
    components.sort_by(|a, b| size(*b).total_cmp(&size(*a)));
    components
}

/// Whether the interval of a loss contains zero. False without an interval.
fn may_be_noise(component: Component, stack: &StackView) -> bool {
    let interval = stack.losses_ci95.and_then(|intervals| component.interval(&intervals));
    interval.is_some_and(|[low, high]| low <= 0.0 && high >= 0.0)
}

/// Losses and gains of one of the view's stacks that are worth words, largest first: each is large,
/// and its interval does not contain zero. Empty if there is a [`no_cause_reason`].
pub fn causes(stack: &StackView, view: &View) -> Vec<LossCause> {
    if no_cause_reason(stack, view).is_some() {
        return Vec::new();
    }
    let cause = |component: Component| LossCause {
        component,
        lost: component.loss(&stack.losses).unwrap_or(0.0),
        ci95: stack.losses_ci95.and_then(|intervals| component.interval(&intervals)),
        cpus: stack.cpus,
        base_cpus: stack.base_cpus,
        explanation: explanation(component, stack, view),
        functions: named_functions(component, stack),
    };
    let known = large_losses(stack).into_iter().filter(|component| !may_be_noise(*component, stack));
    known.take(MAX_CAUSES).map(cause).collect()
}

/// Largest loss at the largest CPU count, if that count was traced, and the losses that may be as
/// large; the tracer's own time is no cause. Empty if no loss is named.
///
/// A loss may be as large as the first if the difference does not exceed the sum of their
/// half-widths. The sum is conservative: the speedup moves both losses in the same direction.
/// Without intervals the largest loss stands alone.
pub fn main_causes(view: &View) -> Vec<LossCause> {
    let Some(largest) = view.points.last() else { return Vec::new() };
    let Some(stack) = view.stack.iter().find(|stack| stack.cell() == largest.cell()) else {
        return Vec::new();
    };
    let mut losses = causes(stack, view);
    losses.retain(|cause| cause.lost > 0.0 && cause.component != Component::Tracer);
    let Some(first) = losses.first().cloned() else { return losses };
    let half_width = |cause: &LossCause| cause.ci95.map_or(0.0, |[low, high]| (high - low) / 2.0);
    let is_first_or_as_large = |cause: &LossCause| {
        cause.component == first.component
            || first.lost - cause.lost <= half_width(&first) + half_width(cause) && cause.ci95.is_some()
    };
    losses.retain(is_first_or_as_large);
    losses
}

fn explanation(component: Component, stack: &StackView, view: &View) -> Explanation {
    let trace = view.trace(&stack.cell());
    if let Some(openmp) = openmp_waits(component, stack, view) {
        return openmp;
    }
    match component {
        Component::IdleTooLittleWork => running_commands(stack, trace),
        Component::IdleUserLock => trace.map_or(Explanation::Unknown, user_locks),
        Component::KernelLockSpin => longest_lock(trace, |l| l.spin_s),
        Component::IdleKernelLock => longest_lock(trace, |l| l.wait_s - l.spin_s),
        Component::IdleScheduling if is_not_balanced(stack, view) => Explanation::NotBalanced,
        Component::IdleScheduling if trace.is_some_and(idle_includes_others) => Explanation::PerhapsProcesses,
        Component::OtherProcesses => trace.map_or(Explanation::Unknown, other_processes),
        Component::UserWork if stack.losses.user_work > 0.0 && spins_in_user_mode(stack, view) => {
            Explanation::TightLoop(trace.map_or(0.0, tight_loop_share))
        }
        Component::UserWork if stack.losses.user_work < 0.0 => {
            let crowded = oversubscribed_base(view).filter(|crowd| crowd.cpus == stack.base_cpus);
            crowded
                .map_or(Explanation::Unknown, |crowd| Explanation::OversubscribedBase(crowd.workers.threads))
        }
        _ => Explanation::Unknown,
    }
}

/// Waits of threads in OpenMP's runtime, if they hold at least half of a loss.
fn openmp_waits(component: Component, stack: &StackView, view: &View) -> Option<Explanation> {
    let seconds: fn(&OpenMpView) -> f64 = match component {
        Component::UserWork => |row| row.spun_s + row.spun_between_s,
        Component::IdleTooLittleWork => |row| row.slept_s,
        _ => return None,
    };
    let (trace, base) = view.trace(&stack.cell()).zip(view.trace(&stack.base_cell()))?;
    let in_cpus = |trace: &TraceView| trace.openmp.iter().map(seconds).sum::<f64>() / trace.elapsed_s;
    let lost = component.loss(&stack.losses).filter(|lost| *lost > 0.0)?;
    let share = (in_cpus(trace) - stack.speedup * in_cpus(base)) / lost;
    let first = trace.openmp.iter().max_by(|one, other| seconds(one).total_cmp(&seconds(other)))?;
    let is_in_regions = component == Component::IdleTooLittleWork || first.spun_s >= first.spun_between_s;
    let region = first.regions.first().filter(|_| is_in_regions).map(|region| region.caller.clone());
    (share >= 0.5).then(|| Explanation::OpenMp { share: share.min(1.0), region })
}

/// Functions with a notable share of a loss, whose intervals are above zero. The locks of the
/// command's own have their places in the explanation.
fn named_functions(component: Component, stack: &StackView) -> Vec<(String, f64)> {
    let lost = component.loss(&stack.losses).unwrap_or(0.0);
    if lost <= 0.0 || component == Component::IdleUserLock {
        return Vec::new();
    }
    let functions = stack.functions.iter().filter(|function| function.part.loss == component);
    let share = |function: &FunctionLoss| function.part.lost_cpus / lost;
    let is_named =
        |function: &&FunctionLoss| function.part.ci95[0] > 0.0 && share(function) >= LEAST_NAMED_SHARE;
    let named = |function: &FunctionLoss| (function.function.clone(), share(function).min(1.0));
    functions.filter(is_named).take(MAX_NAMES).map(named).collect()
}

fn running_commands(stack: &StackView, trace: Option<&TraceView>) -> Explanation {
    let lost = stack.losses.idle_too_little_work;
    let share = |cpus: f64| if lost > 0.0 { cpus / lost } else { 0.0 };
    let named: Vec<_> =
        stack.culprits.iter().filter(|c| share(c.lost_cpus) >= LEAST_NAMED_SHARE).take(MAX_NAMES).collect();
    let Some(first) = named.first() else { return Explanation::Unknown };
    let alone = share(first.lost_cpus) >= SOLE_SHARE;
    let shown = if alone { 1 } else { named.len() };
    let serial = trace.filter(|_| alone).map(|trace| serial_time(trace, &first.name)).filter(|serial| {
        let idle_cpus = f64::from(stack.cpus.saturating_sub(1)) * serial.seconds / serial.elapsed_s;
        idle_cpus >= SOLE_SHARE * lost
    });
    Explanation::Commands {
        commands: named.iter().take(shown).map(|c| (command_name(c), c.lost_cpus)).collect(),
        alone,
        serial,
        waiting_in: first.waiting_in.clone(),
    }
}

/// Name of the command; none where no thread of the command ran.
fn command_name(culprit: &Culprit) -> Option<String> {
    (culprit.name != NO_CULPRIT).then(|| culprit.name.clone())
}

/// Time of a traced run in the serial phases of one command.
fn serial_time(trace: &TraceView, command: &str) -> SerialTime {
    let phases = trace.serial_phases.iter().filter(|phase| phase.culprit == command);
    SerialTime { seconds: phases.map(|phase| phase.duration_s).sum(), elapsed_s: trace.elapsed_s }
}

/// Lock with the longest waits of a kind; unknown if no lock had waits of that kind.
fn longest_lock(trace: Option<&TraceView>, waits: fn(&LockView) -> f64) -> Explanation {
    let Some(locks) = trace.map(|t| &t.locks) else { return Explanation::Unknown };
    let Some(first) = locks.iter().max_by(|a, b| waits(a).total_cmp(&waits(b))) else {
        return Explanation::Unknown;
    };
    let all: f64 = locks.iter().map(waits).sum();
    if waits(first) <= 0.0 {
        return Explanation::Unknown;
    }
    Explanation::Lock {
        symbol: first.symbol.clone(),
        caller: first.caller.clone(),
        mostly: waits(first) >= all / 2.0,
    }
}

/// Lock of the command's own with the longest waits, and the component behind most of the waits if
/// the holders of the locks waited themselves.
fn user_locks(trace: &TraceView) -> Explanation {
    let first = trace.user_locks.first();
    let waited: f64 = trace.user_locks.iter().map(|lock| lock.wait_s).sum();
    let all = trace.components.idle_user_lock_s.unwrap_or(0.0);
    let most = crate::component::holder_waits(trace).into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    Explanation::UserLocks {
        lock: first.and_then(NamedLock::from_view),
        mostly: first.is_some_and(|lock| 2.0 * lock.wait_s >= waited),
        released_in: first.and_then(main_release),
        holders_wait: most.filter(|(_, seconds)| *seconds > all / 2.0).map(|(what, _)| what),
    }
}

/// Place that released a lock after at least half of the time in which others waited. A runtime
/// takes and releases its lock by itself.
fn main_release(lock: &UserLockView) -> Option<CodeSite> {
    let first = lock.holders.first().filter(|_| lock.runtime.is_none())?;
    (2.0 * (first.seconds - first.seconds_error) >= lock.wait_s.min(lock.held_s)).then(|| first.clone())
}

fn other_processes(trace: &TraceView) -> Explanation {
    let all: f64 = trace.others.iter().map(|(_, seconds)| seconds).sum();
    let named = trace.others.iter().filter(|(_, seconds)| *seconds >= OtherProgram::GOOD_PART * all);
    let names: Vec<String> = named.take(MAX_NAMES).map(|(name, _)| name.clone()).collect();
    if names.is_empty() { Explanation::Unknown } else { Explanation::Processes(names) }
}

/// Whether the CPUs of the larger count take no thread from each other.
fn is_not_balanced(stack: &StackView, view: &View) -> bool {
    let warned = |w: &Warning| matches!(w, Warning::NotBalanced { cpus, .. } if *cpus == stack.cpus);
    view.warnings.iter().any(warned)
}

/// Whether the view warns of spinning: the analysis decides how much is too much.
fn spins_in_user_mode(stack: &StackView, view: &View) -> bool {
    let warned = |w: &Warning| matches!(w, Warning::UserSpinning { cpus, .. } if *cpus == stack.cpus);
    view.warnings.iter().any(warned)
}

/// Share of the trace's work that spins in the command's own loops.
pub(crate) fn tight_loop_share(trace: &TraceView) -> f64 {
    let work = trace.components.user_work_s + trace.components.kernel_work_s.unwrap_or(0.0);
    trace.user_spin_s.filter(|_| work > 0.0).map_or(0.0, |spin| spin / work)
}
