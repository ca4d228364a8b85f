//! The parts of the speedup stacks, their order and their names, for every report.
//!
//! This module computes no loss, draws nothing and lays out nothing.

use morecores_study::Quantity;
use morecores_study::trace::TraceSource;
use morecores_view::page::Statement;
use morecores_view::{Component, StackView, TraceView, View};

use crate::causes::no_cause_reason;
use crate::component::{
    self, IDLE_OR_OTHERS, PartLook, component_look, component_name_in, idle_includes_others, loss_name,
};
use crate::format::{count, cpu_share, cpus, join_with_and, percent, ratio, two_digits};

/// Share of the CPUs below which a loss is folded into others, if it is below at every count. A
/// choice: below this share a bar has no cell for the loss, and the error of the trace is as large.
pub(crate) const FOLDED_SHARE: f64 = 0.01;

/// Idle share of the baseline, from which the report says that the stack does not show it. A
/// choice.
const LEAST_IDLE_SHARE: f64 = 0.05;

/// One kind of part of a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The speedup.
    Speedup,
    /// A component.
    Component(Component),
    /// Components too small to be shown one by one.
    Folded,
}

impl Part {
    /// Names, signs and colours of the part.
    pub(crate) const fn look(self) -> PartLook {
        match self {
            Self::Speedup => component::SPEEDUP,
            Self::Component(component) => component_look(component),
            Self::Folded => component::FOLDED,
        }
    }
}

/// Parts of a view's stacks, equal for all stacks.
pub(crate) struct Parts {
    shown: Vec<Component>,
    folded: Vec<Component>,
    base_cpus: u32,
    /// Whether a trace counts other programs' time as idle time.
    idle_includes_others: bool,
}

impl Parts {
    /// Selects the parts in display order: the speedup, then the losses by their size at the
    /// largest count, largest first.
    pub(crate) fn from_view(view: &View, all: bool) -> Self {
        let stacks = &view.stack;
        let least = |stack: &StackView| if all { 0.0 } else { FOLDED_SHARE * f64::from(stack.cpus) };
        let loss = |c: &Component, stack: &StackView| c.loss(&stack.losses).unwrap_or(0.0);
        let is_present = |c: &Component| stacks.iter().any(|s| loss(c, s) != 0.0);
        let is_large = |c: &Component| stacks.iter().any(|s| loss(c, s).abs() >= least(s));
        let (mut shown, folded): (Vec<_>, Vec<_>) =
            Component::ALL.into_iter().filter(is_present).partition(is_large);
        if let Some(largest) = stacks.last() {
            shown.sort_by(|a, b| loss(b, largest).total_cmp(&loss(a, largest)));
        }
        let base_cpus = stacks.first().map_or(1, |s| s.base_cpus);
        Self { shown, folded, base_cpus, idle_includes_others: view.traces.iter().any(idle_includes_others) }
    }

    /// All parts, in display order.
    pub(crate) fn rows(&self) -> Vec<Part> {
        let mut rows = vec![Part::Speedup];
        rows.extend(self.shown.iter().map(|c| Part::Component(*c)));
        rows.extend((!self.folded.is_empty()).then_some(Part::Folded));
        rows
    }

    /// CPUs of a part at one count; zero if the traces cannot distinguish the part.
    pub(crate) fn cpus(&self, part: Part, stack: &StackView) -> f64 {
        match part {
            Part::Speedup => stack.speedup * f64::from(stack.base_cpus),
            Part::Component(component) => component.loss(&stack.losses).unwrap_or(0.0),
            Part::Folded => self.folded.iter().filter_map(|c| c.loss(&stack.losses)).sum(),
        }
    }

    /// CPUs of a part at one count, as text; a dash if the traces cannot distinguish the part.
    pub(crate) fn figure(&self, part: Part, stack: &StackView) -> String {
        match part {
            Part::Component(component) if component.loss(&stack.losses).is_none() => "-".to_owned(),
            part => cpu_share(self.cpus(part, stack)),
        }
    }

    /// Name of a part.
    pub(crate) fn name(&self, part: Part) -> String {
        match part {
            Part::Speedup if self.base_cpus == 1 => component::SPEEDUP.name.to_owned(),
            Part::Speedup => format!("speedup, times {} CPUs", self.base_cpus),
            Part::Component(Component::IdleScheduling) if self.idle_includes_others => {
                IDLE_OR_OTHERS.to_owned()
            }
            Part::Component(component) => loss_name(component).to_owned(),
            Part::Folded => folded_name(),
        }
    }
}

/// Name of the folded parts.
pub(crate) fn folded_name() -> String {
    format!("{} (each below {})", component::FOLDED.name, Quantity::Share.whole_text(FOLDED_SHARE))
}

/// Notes that the figures need: the baseline of the comparison, and how the figures were obtained.
pub(crate) fn stack_notes(view: &View) -> Vec<String> {
    let Some(stack) = view.stack.last() else { return Vec::new() };
    let n =
        if stack.n == stack.base_n { String::new() } else { format!(", where {{n}} was {}", stack.base_n) };
    let is_gained = |s: &StackView, c: Component| {
        c.loss(&s.losses).is_some_and(|loss| loss <= -FOLDED_SHARE * f64::from(s.cpus))
    };
    let below = view.stack.iter().any(|s| Component::ALL.iter().any(|c| is_gained(s, *c)));
    let below = if below { " Below zero: CPUs gained." } else { "" };
    let compared = format!("Each loss is the excess over the runs on {}{n}.{below}", cpus(stack.base_cpus));
    let notes =
        [Some(compared), loss_interval_note(stack), tracing_note(&view.traces), untraced_note(&view.traces)];
    notes.into_iter().flatten().collect()
}

/// Widest interval of the losses of a stack; none without intervals.
fn loss_interval_note(stack: &StackView) -> Option<String> {
    let intervals = stack.losses_ci95?;
    let half_width = |c: Component| c.interval(&intervals).map(|[low, high]| (high - low) / 2.0);
    let (widest, width) = Component::ALL
        .into_iter()
        .filter_map(|c| Some((c, half_width(c)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(format!(
        "95% intervals of the losses on {}: at most ±{} CPUs (\"{}\").",
        cpus(stack.cpus),
        cpu_share(width),
        loss_name(widest)
    ))
}

/// Kinds of time that the traces could not distinguish; their losses are counted in other
/// components.
pub(crate) fn untraced_note(traces: &[TraceView]) -> Option<String> {
    if traces.iter().any(|trace| trace.source == TraceSource::Perf) {
        let show =
            if traces.len() == 1 { "Without BPF this trace shows" } else { "The traces without BPF show" };
        return Some(format!(
            "{show} when threads ran, not why they waited: kernel locks, interrupts and steal count as \
             work, other programs as idle time. Functions have user-mode time only. `morecores doctor` \
             says how to enable BPF."
        ));
    }
    let mut what: Vec<&str> = Vec::new();
    for untraced in traces.iter().flat_map(|t| &t.untraced) {
        if !what.contains(&untraced.what.as_str()) {
            what.push(&untraced.what);
        }
    }
    (!what.is_empty()).then(|| format!("Not traced: {}. `morecores doctor` says why.", join_with_and(what)))
}

/// Method of the traced runs, and the cost of tracing.
fn tracing_note(traces: &[TraceView]) -> Option<String> {
    if traces.is_empty() {
        return None;
    }
    let mut sources: Vec<&str> = Vec::new();
    for source in traces.iter().map(|t| source_name(t.source)) {
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    let overhead = traces.iter().filter_map(|t| t.overhead).reduce(f64::max);
    let overhead = match overhead {
        None => String::new(),
        Some(o) if o > 0.0 && traces.len() > 1 => format!(", at most {}", overhead_text(o)),
        Some(o) => format!(", {}", overhead_text(o)),
    };
    let events: u64 = traces.iter().map(|t| t.events).sum();
    let lost = if traces.iter().all(|t| t.lost_events == 0) { ", none lost" } else { "" };
    let runs = || traces.iter().map(|trace| trace.runs);
    let runs = match (runs().min().unwrap_or(1), runs().max().unwrap_or(1)) {
        (1, 1) => "one traced run".to_owned(),
        (fewest, most) if fewest == most => format!("{most} traced runs"),
        (fewest, most) => format!("{fewest} to {most} traced runs"),
    };
    Some(format!(
        "The losses come from {runs} of each count, by {}{overhead}; {} events{lost}.",
        join_with_and(sources),
        count(events as f64)
    ))
}

/// Cost of tracing as words.
pub(crate) fn overhead_text(overhead: f64) -> String {
    if overhead <= 0.0 {
        "no slower than the timed runs".to_owned()
    } else {
        format!("{} slower than the timed runs", percent(overhead))
    }
}

/// Source of the events, as words that follow "by".
pub(crate) fn source_name(source: TraceSource) -> &'static str {
    match source {
        TraceSource::Bpf => "eBPF",
        TraceSource::BpfWithSystemCalls => "eBPF with every system call",
        TraceSource::Perf => "perf events",
    }
}

/// Mark of a trace that lost events.
pub(crate) fn lossy_note(trace: &TraceView) -> Option<Statement> {
    let lost = match trace.lost_events {
        1 => "1 event".to_owned(),
        more => format!("{} events", count(more as f64)),
    };
    let rest = || format!("the trace on {} lost {lost}, so its figures are guesses", cpus(trace.cpus));
    (trace.lost_events > 0).then(|| Statement::new("lossy", rest()))
}

/// Facts that the stack does not show, as clauses: the speedup of the serial phases and of the
/// rest, and the baseline's idle share. Empty if the traced runs were not like the timed runs.
pub(crate) fn part_notes(stack: &StackView, view: &View) -> Vec<String> {
    if no_cause_reason(stack, view).is_some() {
        return Vec::new();
    }
    let base = view.trace(&stack.base_cell());
    [part_speedups_note(stack), base.and_then(idle_baseline_note)].into_iter().flatten().collect()
}

fn part_speedups_note(stack: &StackView) -> Option<String> {
    let base = cpus(stack.base_cpus);
    let ideal = f64::from(stack.cpus) / f64::from(stack.base_cpus);
    let ran = |speedup: f64| format!("ran {} times as fast as on {base}", ratio(speedup));
    let ideal = format!("(ideal: {})", two_digits(ideal));
    match (stack.serial_speedup, stack.parallel_speedup) {
        (Some(serial), Some(parallel)) => Some(format!(
            "its serial phases {}, its parallel stretches {} times {ideal}",
            ran(serial),
            ratio(parallel)
        )),
        (Some(serial), None) => Some(format!("its serial phases {}", ran(serial))),
        (None, Some(parallel)) => Some(format!("its parallel stretches {} {ideal}", ran(parallel))),
        (None, None) => None,
    }
}

/// Idle share of the baseline: a stack holds only the idle time beyond it.
fn idle_baseline_note(base: &TraceView) -> Option<String> {
    let whole = f64::from(base.cpus) * base.elapsed_s;
    let idle = |c: &Component| c.seconds(&base.components).filter(|_| c.is_idle()).unwrap_or(0.0);
    let all: f64 = Component::ALL.iter().map(idle).sum();
    let largest = Component::ALL.into_iter().max_by(|a, b| idle(a).total_cmp(&idle(b)))?;
    (whole > 0.0 && all >= LEAST_IDLE_SHARE * whole).then(|| {
        format!(
            "{} of the CPU time on {} was idle already, mostly \"{}\"; the losses come in addition",
            percent(all / whole),
            cpus(base.cpus),
            component_name_in(base, largest)
        )
    })
}
