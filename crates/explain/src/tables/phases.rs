//! Serial phases: long stretches in which a second CPU could not have helped, and the program at
//! work in each.

use std::collections::BTreeMap;

use morecores_study::Nanos;
use morecores_study::trace::{Interrupt, TraceHeader};
use morecores_view::{NOBODY, SerialAndParallel, SerialPhase};

use super::concurrency::Moment;
use super::programs::Programs;
use crate::trace::{Cause, Silence, Source, State, ThreadId, Timeline, Wake};

/// Shortest serial phase: 10 ms, the tick of the slowest kernels (`CONFIG_HZ=100`). For long runs
/// it is at least a thousandth of the run, so that the list stays short. For short runs it is at
/// most a twentieth of the run.
const LEAST: Nanos = Nanos::from_millis(10);
const LEAST_OF_LONG: u64 = 1_000;
const LEAST_OF_SHORT: u64 = 20;
/// Largest gap that does not divide a phase: one part in this many of the shortest phase. Such a
/// gap occurs when a parent runs briefly beside the child that it waits for next.
const GAP: u64 = 10;
/// Largest sum of all gaps in a phase: one part in this many of the phase. Without this limit, work
/// that is parallel half of the time in turns of a few microseconds would be one long serial phase.
const GAPS: u64 = 10;

/// Serial phases of a run, with the bounds used to find them.
#[derive(Debug)]
pub(super) struct Phases {
    /// Phases in the order of time.
    pub(super) phases: Vec<SerialPhase>,
    /// Largest gap inside a phase; a longer gap divides the phase.
    pub(super) gap: Nanos,
    /// Shortest phase; a shorter stretch is not a phase.
    pub(super) minimum: Nanos,
    /// Time inside the phases and outside them.
    pub(super) parts: SerialAndParallel,
}

/// Finds the phases. `silences` are the silences of the idle rule.
pub(super) fn phases(
    header: &TraceHeader,
    timeline: &Timeline,
    programs: &Programs,
    moments: &[Moment],
    silences: &[Silence],
) -> Phases {
    let elapsed = timeline.elapsed();
    let minimum = Nanos(LEAST.0.max(elapsed.0 / LEAST_OF_LONG).min(elapsed.0 / LEAST_OF_SHORT));
    let gap = Nanos(minimum.0 / GAP);
    let spans = spans(moments, gap, minimum);
    let culprits = culprits(header, timeline, programs, silences, &spans);
    let serial: Nanos = spans.iter().map(Span::length).sum();
    let phases = spans.iter().zip(culprits).map(|(span, culprit)| SerialPhase {
        start_s: span.from.since(timeline.began).as_secs_f64(),
        duration_s: span.length().as_secs_f64(),
        culprit,
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
struct Span {
    from: Nanos,
    to: Nanos,
}

impl Span {
    fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

/// Whether a second CPU would have had no work at this moment.
fn is_serial(moment: &Moment) -> bool {
    moment.running <= 1 && moment.runnable == 0
}

/// Whether the only ready thread is on its way to a CPU. Such a moment neither begins nor ends a
/// phase, but no other work was possible during it.
fn is_handover(moment: &Moment) -> bool {
    moment.running == 0 && moment.runnable == 1
}

/// Phases from left to right: each is extended as far as its gaps allow.
fn spans(moments: &[Moment], gap: Nanos, minimum: Nanos) -> Vec<Span> {
    let mut found: Vec<Span> = Vec::new();
    let mut open: Option<(Span, Nanos)> = None;
    // Parallel time since the last serial moment of the open phase.
    let mut pending = Nanos::ZERO;
    for moment in moments {
        if !is_serial(moment) {
            pending += if is_handover(moment) { Nanos::ZERO } else { moment.length() };
            continue;
        }
        open = Some(match open {
            Some((span, gaps))
                if moment.from.since(span.to) <= gap
                    && (gaps + pending).0.saturating_mul(GAPS) <= moment.to.since(span.from).0 =>
            {
                (Span { to: moment.to, ..span }, gaps + pending)
            }
            ended => {
                found.extend(ended.map(|(span, _)| span));
                (Span { from: moment.from, to: moment.to }, Nanos::ZERO)
            }
        });
        pending = Nanos::ZERO;
    }
    found.extend(open.map(|(span, _)| span));
    found.retain(|span| span.length() >= minimum && span.length() > Nanos::ZERO);
    found
}

/// Culprit of each phase: the program that ran longest in it. If nothing ran for more than half of
/// the phase, the culprit is the cause that ended most of the silence.
fn culprits(
    header: &TraceHeader,
    timeline: &Timeline,
    programs: &Programs,
    silences: &[Silence],
    spans: &[Span],
) -> Vec<String> {
    let mut ran: Vec<BTreeMap<_, Nanos>> = vec![BTreeMap::new(); spans.len()];
    for (id, thread) in timeline.tree() {
        let running = thread.segments.iter().filter(|s| matches!(s.state, State::Running { .. }));
        for segment in running {
            for (index, from, to) in overlaps(spans, segment.from, segment.to) {
                for (program, time) in programs.between(id, from, to) {
                    *ran[index].entry(program).or_default() += time;
                }
            }
        }
    }
    let mut silent: Vec<BTreeMap<String, Nanos>> = vec![BTreeMap::new(); spans.len()];
    for silence in silences {
        for (index, from, to) in overlaps(spans, silence.from, silence.to) {
            let ender = ender(header, timeline, programs, silence);
            *silent[index].entry(ender).or_default() += to.since(from);
        }
    }
    let choose = |((span, ran), enders): ((&Span, BTreeMap<_, Nanos>), BTreeMap<String, Nanos>)| {
        let silent: Nanos = enders.values().copied().sum();
        let runner = ran.into_iter().max_by_key(|(_, time)| *time).filter(|(_, time)| *time > Nanos::ZERO);
        let ender = enders.into_iter().max_by_key(|(_, time)| *time).map(|(ender, _)| ender);
        let runner = runner.map(|(program, _)| programs.name(program));
        let first_choice = if silent.0 > span.length().0 / 2 { ender.or(runner) } else { runner };
        first_choice.unwrap_or_else(|| NOBODY.to_owned())
    };
    spans.iter().zip(ran).zip(silent).map(choose).collect()
}

/// Phases that overlap a stretch of time, each with its overlapping part.
fn overlaps(spans: &[Span], from: Nanos, to: Nanos) -> impl Iterator<Item = (usize, Nanos, Nanos)> + '_ {
    let first = spans.partition_point(|span| span.to <= from);
    spans[first..]
        .iter()
        .take_while(move |span| span.from < to)
        .enumerate()
        .map(move |(index, span)| (first + index, from.max(span.from), to.min(span.to)))
}

/// Cause that ended a silence, in words that fit in the place of a program's name.
fn ender(header: &TraceHeader, timeline: &Timeline, programs: &Programs, silence: &Silence) -> String {
    let wake = wake(timeline, silence);
    let device = || wake.and_then(|wake| device(wake.by).or(device(wake.origin)));
    let device = || device().and_then(|number| header.interrupts.get(&number).cloned());
    let outside = || wake.and_then(|wake| wake.origin.thread());
    match silence.cause {
        Some(Cause::Timer) => "timer".to_owned(),
        Some(Cause::Disk) => device().unwrap_or_else(|| "disk".to_owned()),
        Some(Cause::Device) => device().unwrap_or_else(|| "device".to_owned()),
        Some(Cause::Rcu) => "RCU".to_owned(),
        Some(Cause::Uninterruptible) => "kernel".to_owned(),
        Some(Cause::Peer) => match outside() {
            // The tool ended the run: the event that the command waited for did not come.
            Some(id) if is_tool(timeline, id) => NOBODY.to_owned(),
            Some(id) => programs.name_of(timeline, id, silence.to),
            None => device().unwrap_or_else(|| "network".to_owned()),
        },
        Some(Cause::KernelLock) => "kernel lock".to_owned(),
        Some(Cause::UserLock) => "user lock".to_owned(),
        Some(Cause::Thread(id)) => programs.name(programs.at(id, silence.to)),
        Some(Cause::Endless | Cause::Unknown) | None => device().unwrap_or_else(|| NOBODY.to_owned()),
    }
}

/// Whether a thread belongs to the tracing process or to the process that started the command.
fn is_tool(timeline: &Timeline, id: ThreadId) -> bool {
    let thread = timeline.thread(id);
    let starters = timeline.tree().filter_map(|(_, t)| t.parent).map(|parent| timeline.thread(parent));
    let tools = timeline.threads.iter().filter(|t| t.tracer).chain(starters.filter(|t| !t.in_tree));
    thread.tracer || thread.process.is_some() && tools.map(|t| t.process).any(|p| p == thread.process)
}

/// Wake-up that ended a silence.
fn wake(timeline: &Timeline, silence: &Silence) -> Option<Wake> {
    let segments = &timeline.thread(silence.broken_by?).segments;
    let last = segments.get(segments.partition_point(|segment| segment.to < silence.to))?;
    match last.state {
        State::Blocked(wait) if last.to == silence.to => timeline.wait(wait).wake,
        _ => None,
    }
}

/// Number of the device interrupt behind a source, if there is one.
fn device(source: Source) -> Option<u32> {
    match source {
        Source::Interrupt(Interrupt::Device(number))
        | Source::SoftIrqOfInterrupt { interrupt: Interrupt::Device(number), .. } => Some(number),
        _ => None,
    }
}
