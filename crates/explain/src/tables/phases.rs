//! Serial phases: long spans in which a second CPU could not have helped, and the program at
//! work in each.

use std::collections::BTreeMap;

use morecores_study::Nanos;
use morecores_study::trace::{Interrupt, TraceHeader};
use morecores_view::{IdleCause, NO_CULPRIT, SerialAndParallel, SerialPhase};

use super::concurrency::ConcurrencySpan;
use super::programs::Programs;
use crate::trace::{BlockedPeriod, Cause, Source, State, ThreadId, Timeline, Wake};

/// Shortest serial phase: 10 ms, the tick of the slowest kernels (`CONFIG_HZ=100`). For long runs
/// it is at least a thousandth of the run, so that the list stays short. For short runs it is at
/// most a twentieth of the run.
const MIN_PHASE: Nanos = Nanos::from_millis(10);
const LONG_RUN_PARTS: u64 = 1_000;
const SHORT_RUN_PARTS: u64 = 20;
/// Largest gap that does not divide a phase: one part in this many of the shortest phase. Such a
/// gap occurs when a parent runs briefly at the same time as the child that it waits for next.
const GAP_PARTS: u64 = 10;
/// Largest sum of all gaps in a phase: one part in this many of the phase. Without this limit, work
/// that is parallel half of the time in turns of a few microseconds would be one long serial phase.
const GAP_SUM_PARTS: u64 = 10;

/// Serial phases of a run, with the bounds used to find them.
#[derive(Debug)]
pub(super) struct Phases {
    /// Phases in the order of time.
    pub(super) phases: Vec<SerialPhase>,
    /// Largest gap inside a phase; a longer gap divides the phase.
    pub(super) gap: Nanos,
    /// Shortest phase; a shorter span is not a phase.
    pub(super) minimum: Nanos,
    /// Time inside the phases and outside them.
    pub(super) parts: SerialAndParallel,
}

/// Finds the phases. `blocked_periods` are the blocked times of the idle rule.
pub(super) fn phases(
    header: &TraceHeader,
    timeline: &Timeline,
    programs: &Programs,
    concurrency: &[ConcurrencySpan],
    blocked_periods: &[BlockedPeriod],
) -> Phases {
    let elapsed = timeline.elapsed();
    let minimum = Nanos(MIN_PHASE.0.max(elapsed.0 / LONG_RUN_PARTS).min(elapsed.0 / SHORT_RUN_PARTS));
    let gap = Nanos(minimum.0 / GAP_PARTS);
    let spans = find_phases(concurrency, gap, minimum);
    let culprits = phase_culprits(header, timeline, programs, blocked_periods, &spans);
    let serial: Nanos = spans.iter().map(PhaseSpan::length).sum();
    let phases = spans.iter().zip(culprits).map(|(span, culprit)| SerialPhase {
        start_s: span.from.since(timeline.began).as_secs_f64(),
        duration_s: span.length().as_secs_f64(),
        culprit: culprit.name,
        cause: culprit.cause,
    });
    Phases {
        phases: phases.collect(),
        gap,
        minimum,
        parts: SerialAndParallel {
            serial_s: serial.as_secs_f64(),
            parallel_s: elapsed.since(serial).as_secs_f64(),
        },
    }
}

/// Beginning and end of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PhaseSpan {
    from: Nanos,
    to: Nanos,
}

impl PhaseSpan {
    fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

/// Whether a second CPU would have had no work at this moment.
fn is_serial(interval: &ConcurrencySpan) -> bool {
    interval.running <= 1 && interval.runnable == 0
}

/// Whether the only ready thread is on its way to a CPU. Such a moment neither begins nor ends a
/// phase, but no other work was possible during it.
fn is_handover(interval: &ConcurrencySpan) -> bool {
    interval.running == 0 && interval.runnable == 1
}

/// Phases from left to right: each is extended as far as its gaps allow.
fn find_phases(concurrency: &[ConcurrencySpan], gap: Nanos, minimum: Nanos) -> Vec<PhaseSpan> {
    let mut found: Vec<PhaseSpan> = Vec::new();
    let mut open: Option<(PhaseSpan, Nanos)> = None;
    // Parallel time since the last serial moment of the open phase.
    let mut pending = Nanos::ZERO;
    for interval in concurrency {
        if !is_serial(interval) {
            pending += if is_handover(interval) { Nanos::ZERO } else { interval.length() };
            continue;
        }
        open = Some(match open {
            Some((span, gaps))
                if interval.from.since(span.to) <= gap
                    && (gaps + pending).0.saturating_mul(GAP_SUM_PARTS) <= interval.to.since(span.from).0 =>
            {
                (PhaseSpan { to: interval.to, ..span }, gaps + pending)
            }
            ended => {
                found.extend(ended.map(|(span, _)| span));
                (PhaseSpan { from: interval.from, to: interval.to }, Nanos::ZERO)
            }
        });
        pending = Nanos::ZERO;
    }
    found.extend(open.map(|(span, _)| span));
    found.retain(|span| span.length() >= minimum && span.length() > Nanos::ZERO);
    found
}

/// Culprit of each phase: the program that ran longest in it. If nothing ran for more than half of
/// the phase, the culprit is the cause that ended most of the blocked time.
fn phase_culprits(
    header: &TraceHeader,
    timeline: &Timeline,
    programs: &Programs,
    blocked_periods: &[BlockedPeriod],
    spans: &[PhaseSpan],
) -> Vec<PhaseCulprit> {
    let mut ran: Vec<BTreeMap<_, Nanos>> = vec![BTreeMap::new(); spans.len()];
    for (id, thread) in timeline.tree() {
        let running = thread.segments.iter().filter(|s| matches!(s.state, State::Running { .. }));
        for segment in running {
            for (index, from, to) in overlaps(spans, segment.from, segment.to) {
                for (program, time) in programs.programs_between(id, from, to) {
                    *ran[index].entry(program).or_default() += time;
                }
            }
        }
    }
    let mut blocked: Vec<BTreeMap<PhaseCulprit, Nanos>> = vec![BTreeMap::new(); spans.len()];
    for period in blocked_periods {
        for (index, from, to) in overlaps(spans, period.from, period.to) {
            let cause = period_end_cause(header, timeline, programs, period);
            *blocked[index].entry(cause).or_default() += to.since(from);
        }
    }
    let choose =
        |((span, ran), causes): ((&PhaseSpan, BTreeMap<_, Nanos>), BTreeMap<PhaseCulprit, Nanos>)| {
            let blocked: Nanos = causes.values().copied().sum();
            let runner =
                ran.into_iter().max_by_key(|(_, time)| *time).filter(|(_, time)| *time > Nanos::ZERO);
            let cause = causes.into_iter().max_by_key(|(_, time)| *time).map(|(cause, _)| cause);
            let runner = runner.map(|(program, _)| PhaseCulprit::command(programs.name(program)));
            let first_choice = if blocked.0 > span.length().0 / 2 { cause.or(runner) } else { runner };
            first_choice.unwrap_or_else(PhaseCulprit::unknown)
        };
    spans.iter().zip(ran).zip(blocked).map(choose).collect()
}

/// Phases that overlap a span of time, each with its overlapping part.
fn overlaps(spans: &[PhaseSpan], from: Nanos, to: Nanos) -> impl Iterator<Item = (usize, Nanos, Nanos)> + '_ {
    let first = spans.partition_point(|span| span.to <= from);
    spans[first..]
        .iter()
        .take_while(move |span| span.from < to)
        .enumerate()
        .map(move |(index, span)| (first + index, from.max(span.from), to.min(span.to)))
}

/// Command that ran in a phase, or the cause that ended its blocked time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PhaseCulprit {
    /// Name of a command, or words in its place.
    name: String,
    /// None for a command.
    cause: Option<IdleCause>,
}

impl PhaseCulprit {
    fn command(name: String) -> Self {
        Self { name, cause: None }
    }

    fn from_cause(cause: IdleCause, name: impl Into<String>) -> Self {
        Self { name: name.into(), cause: Some(cause) }
    }

    fn unknown() -> Self {
        Self::from_cause(IdleCause::Unknown, NO_CULPRIT)
    }
}

/// Cause that ended a blocked period.
fn period_end_cause(
    header: &TraceHeader,
    timeline: &Timeline,
    programs: &Programs,
    period: &BlockedPeriod,
) -> PhaseCulprit {
    let wake = ending_wake(timeline, period);
    let device = || wake.and_then(|wake| device_interrupt(wake.by).or(device_interrupt(wake.origin)));
    let device = || device().and_then(|number| header.facts.interrupts.get(&number).cloned());
    let outside = || wake.and_then(|wake| wake.origin.thread());
    let device_or = |name: &str| device().unwrap_or_else(|| name.to_owned());
    let (cause, name) = match period.cause {
        Some(Cause::Timer) => (IdleCause::Timer, "timer".to_owned()),
        Some(Cause::Disk) => (IdleCause::Disk, device_or("disk")),
        Some(Cause::Device) => (IdleCause::Device, device_or("device")),
        Some(Cause::Rcu) => (IdleCause::Rcu, "RCU".to_owned()),
        Some(Cause::Uninterruptible) => (IdleCause::Uninterruptible, "kernel".to_owned()),
        Some(Cause::Peer) => match outside() {
            // The tool ended the run: the event that the command waited for did not come.
            Some(id) if is_measuring_tool(timeline, id) => return PhaseCulprit::unknown(),
            Some(id) => (IdleCause::Peer, programs.thread_name(timeline, id, period.to)),
            None => (IdleCause::Peer, device_or("network")),
        },
        Some(Cause::KernelLock) => (IdleCause::KernelLock, "kernel lock".to_owned()),
        Some(Cause::UserLock) => (IdleCause::UserLock, "user lock".to_owned()),
        Some(Cause::Thread(id)) => {
            return PhaseCulprit::command(programs.name(programs.program_at(id, period.to)));
        }
        Some(Cause::Endless | Cause::Unknown) | None => (IdleCause::Unknown, device_or(NO_CULPRIT)),
    };
    PhaseCulprit::from_cause(cause, name)
}

/// Whether a thread belongs to the tracing process or to the process that started the command.
fn is_measuring_tool(timeline: &Timeline, id: ThreadId) -> bool {
    let thread = timeline.thread(id);
    let starters = timeline.tree().filter_map(|(_, t)| t.parent).map(|parent| timeline.thread(parent));
    let tools = timeline.threads.iter().filter(|t| t.tracer).chain(starters.filter(|t| !t.in_tree));
    thread.tracer || thread.process.is_some() && tools.map(|t| t.process).any(|p| p == thread.process)
}

/// Wake-up that ended a blocked period.
fn ending_wake(timeline: &Timeline, period: &BlockedPeriod) -> Option<Wake> {
    let segments = &timeline.thread(period.ended_by?).segments;
    let last = segments.get(segments.partition_point(|segment| segment.to < period.to))?;
    match last.state {
        State::Blocked(wait) if last.to == period.to => timeline.wait(wait).wake,
        _ => None,
    }
}

/// Number of the device interrupt behind a source, if there is one.
fn device_interrupt(source: Source) -> Option<u32> {
    match source {
        Source::Interrupt(Interrupt::Device(number))
        | Source::SoftIrqOfInterrupt { interrupt: Interrupt::Device(number), .. } => Some(number),
        _ => None,
    }
}
