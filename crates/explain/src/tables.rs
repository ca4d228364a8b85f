//! The report of one traced run: its components and the tables.
//!
//! This module puts the parts together. Each part is computed from the timeline alone and does not
//! depend on another part.

mod call_stacks;
mod call_tree;
mod callers;
mod code;
mod code_sites;
mod code_times;
mod commands;
mod concurrency;
mod counted_holds;
mod critical_path;
mod culprits;
mod efficiency;
mod functions;
mod lanes;
mod locks;
mod openmp;
mod phases;
mod programs;
mod runtimes;
mod spinning;
mod stack_coverage;
mod standard_library;
mod threads;
mod user_locks;
mod wait_kinds;
mod wait_places;
mod waiting;
mod waits;
mod workers;

use morecores_study::Nanos;
use morecores_study::trace::{TraceHeader, TraceSource};
use morecores_view::code::{CallNode, FunctionView};
use morecores_view::{SerialPhase, TraceView};

use call_stacks::StackTimes;
use call_tree::CallTree;
use code::CodeMap;
use code_sites::CodeSites;
use code_times::CodeInput;
use concurrency::StillTimes;
use critical_path::CriticalPath;
use functions::FunctionTimes;

use crate::DecodedTrace;
use crate::operational_laws::violations;
use crate::trace::{BlockedPeriod, Cause, IdleAccounting, account, apply_idle_rule, idle_causes};
pub use call_stacks::{CallStack, SampledStack, StackFunction};
pub use lanes::{CommandLanes, Lane, Lanes, lanes};
pub use programs::Programs;
pub use user_locks::user_lock_names;

/// Serial phases of a traced run, as in its report. `blocked_periods` are those of the idle rule.
pub fn serial_phases(
    trace: &DecodedTrace<'_>,
    programs: &Programs,
    blocked_periods: &[BlockedPeriod],
) -> Vec<SerialPhase> {
    let concurrency = concurrency::concurrency_spans(&trace.timeline);
    phases::phases(trace.header, &trace.timeline, programs, &concurrency, blocked_periods).phases
}

/// All figures derived from one traced run. The tracing overhead is absent, since it needs the
/// untraced runs, which [`view`](morecores_view::view()) has. `arch` is the architecture of the
/// traced machine. It decides the names of the system calls.
pub fn trace_view(trace: &DecodedTrace<'_>, arch: &str) -> TraceView {
    let DecodedTrace { header, timeline, counts, missing_events: _ } = trace;
    let causes = idle_causes(timeline);
    let accounting = account(header, timeline, apply_idle_rule(timeline, &causes));
    let span_parts = &accounting.span_parts;
    let programs = Programs::from_timeline(timeline);
    let concurrency = concurrency::concurrency_spans(timeline);
    let phases = phases::phases(header, timeline, &programs, &concurrency, &accounting.idle.blocked_periods);
    let lock_wait_times = accounting.locks_are_traced.then(|| waiting::lock_wait_times(timeline));
    let commands = commands::commands(header, timeline, span_parts, &programs, lock_wait_times.as_deref());
    let map = CodeMap::new(&header.facts);
    let sites = CodeSites::new(&map, timeline);
    // The waits of perf events have no stacks, and their samples no kernel mode.
    let openmp = match header.facts.source {
        TraceSource::Perf => Vec::new(),
        _ => openmp::openmp(&map, timeline, &programs, &causes),
    };
    // Perf events show no wake-up.
    let has_wakes = header.facts.source != TraceSource::Perf;
    let path = has_wakes.then(|| CriticalPath::find(timeline, &causes));
    let path_times = path.as_ref().map(CriticalPath::running_times);
    let code = code_tables(trace, &map, &programs, &causes, &accounting.idle, &sites, path.as_ref());
    let kernel_spin_s = accounting.components.kernel_lock_spin_s.unwrap_or(0.0);
    let user_spin_s = spinning::user_spin_s(&map, timeline, &accounting);
    TraceView {
        cpus: header.run.cpus,
        n: header.run.n,
        axes: header.run.axes.clone(),
        cpu_set: header.run.cpu_set.clone(),
        source: header.facts.source,
        runs: 1,
        elapsed_s: timeline.elapsed().as_secs_f64(),
        overhead: None,
        events: header.facts.events,
        lost_events: trace.lost_events(),
        misfits: timeline.misfits,
        law_violations: violations(counts, timeline, &accounting),
        components: accounting.components,
        components_ci95: None,
        unexplained_by_cpu: accounting.unexplained,
        overaccounted_s: accounting.overaccounted_s,
        user_spin_s,
        outside_cpu_s: accounting.outside_cpu_s,
        outside_tree_s: accounting.outside_tree_s,
        kernel_ratio: accounting.kernel_ratio,
        kernel_ratio_estimator: accounting.kernel_ratio_estimator,
        waiting_ratio: commands.waiting_ratio,
        lock_ratio: None,
        parallelism: concurrency::parallelism(&concurrency, header.run.cpus),
        workers: workers::workers(timeline),
        serial_phases: phases.phases,
        serial_gap_s: phases.gap.as_secs_f64(),
        serial_minimum_s: phases.minimum.as_secs_f64(),
        parts: phases.parts,
        commands: commands.rows,
        locks: locks::locks(header, timeline),
        user_locks: user_locks::user_locks(&header.facts, timeline, &programs, &causes, &sites),
        lock_holds: counted_holds::counted_holds(&header.facts, timeline, &programs, &map),
        waits: waits::waits(timeline, &programs, &sites, arch),
        openmp,
        critical_path: path
            .as_ref()
            .map(|path| path.to_view(&programs, &StillTimes::new(timeline, &causes, &concurrency), arch)),
        threads: threads::threads(timeline, &programs, &concurrency, path_times.as_deref()),
        efficiency_times: Some(efficiency::efficiency_times(timeline, kernel_spin_s, path.as_ref())),
        culprits: culprits::culprits(timeline, &programs, &accounting.idle.charges, arch),
        call_tree: code.call_tree,
        sample_period_s: header.facts.sample_period_ns.map(Nanos::as_secs_f64),
        stack_coverage: stack_coverage::stack_coverage(timeline),
        functions: code.functions,
        others: culprits::other_programs(timeline, span_parts, &programs),
        untold_others_s: other_programs_s(header),
        behind_user_lock: accounting.idle.times.behind_user_lock,
        untraced: header.facts.untraced.clone(),
    }
}

/// Tables of the code that holds the time of a run.
#[derive(Default)]
struct CodeTables {
    functions: Vec<FunctionView>,
    call_tree: Vec<CallNode>,
}

/// Functions, and the call tree; none for a trace without samples or without mappings of code. The
/// tree is empty for a trace without stacks.
fn code_tables(
    trace: &DecodedTrace<'_>,
    map: &CodeMap<'_>,
    programs: &Programs,
    causes: &[Cause],
    idle: &IdleAccounting,
    sites: &CodeSites<'_>,
    path: Option<&CriticalPath<'_>>,
) -> CodeTables {
    let Some(input) = code_input(trace, map, programs, causes, idle, sites, path) else {
        return CodeTables::default();
    };
    let (mut functions, mut calls) = (FunctionTimes::default(), CallTree::default());
    input.visit_moments(|moment| {
        functions.add(moment, map);
        calls.add(moment);
    });
    let has_stacks = trace.timeline.samples.iter().any(|sample| sample.stack.is_some());
    let call_tree = if has_stacks { calls.nodes(&input) } else { Vec::new() };
    CodeTables { functions: functions.rows(&input), call_tree }
}

/// Input of the tables of code; none for a trace without samples or without mappings of code.
fn code_input<'a>(
    trace: &'a DecodedTrace<'_>,
    map: &'a CodeMap<'a>,
    programs: &'a Programs,
    causes: &'a [Cause],
    idle: &'a IdleAccounting,
    sites: &'a CodeSites<'a>,
    path: Option<&'a CriticalPath<'a>>,
) -> Option<CodeInput<'a>> {
    let DecodedTrace { header, timeline, .. } = trace;
    let facts = &header.facts;
    let period_s = facts.sample_period_ns.filter(|_| !facts.modules.is_empty())?.as_secs_f64();
    Some(CodeInput { source: facts.source, map, timeline, programs, idle, causes, sites, path, period_s })
}

/// All call stacks of a traced run, with the times that each stands for; empty for a trace without
/// samples or without mappings of code.
pub fn call_stacks(trace: &DecodedTrace<'_>) -> Vec<CallStack> {
    with_code_input(trace, |input| {
        let mut times = StackTimes::default();
        input.visit_moments(|moment| times.add(moment));
        times.into_rows(input)
    })
}

/// Samples of a traced run with their calls, in the order of time; empty for a trace without
/// samples or without mappings of code.
pub fn sampled_stacks(trace: &DecodedTrace<'_>) -> Vec<SampledStack> {
    with_code_input(trace, call_stacks::sampled_stacks)
}

/// Result of `read` for the code of a trace; the default without code.
fn with_code_input<T: Default>(trace: &DecodedTrace<'_>, read: impl FnOnce(&CodeInput<'_>) -> T) -> T {
    let DecodedTrace { header, timeline, .. } = trace;
    let causes = idle_causes(timeline);
    let idle = account(header, timeline, apply_idle_rule(timeline, &causes)).idle;
    let programs = Programs::from_timeline(timeline);
    let map = CodeMap::new(&header.facts);
    let sites = CodeSites::new(&map, timeline);
    let input = code_input(trace, &map, &programs, &causes, &idle, &sites, None);
    input.map_or_else(T::default, |input| read(&input))
}

/// CPU time of other programs by the CPUs' counters, where the events do not show it: perf events
/// cover the command alone.
fn other_programs_s(header: &TraceHeader) -> Option<f64> {
    let around = header.run.surroundings.as_ref().filter(|_| header.facts.source == TraceSource::Perf)?;
    let ours = around.tree_ns.as_secs_f64() + around.own_ns.as_secs_f64();
    Some((around.busy_allotted_ns.as_secs_f64() - ours).max(0.0))
}
