//! Serial phases: long stretches in which no second CPU could have helped, and who was at work meanwhile.

use std::collections::BTreeMap;

use morecores_study::Nanos;
use morecores_study::trace::{Interrupt, TraceHeader};
use morecores_view::{NOBODY, SerialAndParallel, SerialPhase};

use super::concurrency::Moment;
use super::programs::Programs;
use crate::trace::{Cause, Silence, Source, State, ThreadId, Timeline, Wake};

/// The least serial phase: 10 ms, the tick of the slowest kernels (`CONFIG_HZ=100`), but of long runs no less than a
/// thousandth, so that a list of them stays a list; of short ones no more than a twentieth.
const LEAST: Nanos = Nanos::from_millis(10);
const LEAST_OF_LONG: u64 = 1_000;
const LEAST_OF_SHORT: u64 = 20;
/// A gap of up to a tenth of the least phase does not divide one: a parent that goes on for a moment beside the child
/// that it waits for next.
const GAP: u64 = 10;
/// All gaps together may be so much of a phase: one part in this many. Without that, work that is parallel half of the
/// time by turns of a few microseconds would be one long serial phase.
const GAPS: u64 = 10;

/// The serial phases of a run, with the bounds that made them.
#[derive(Debug)]
pub(super) struct Phases {
    /// In the order of time.
    pub(super) phases: Vec<SerialPhase>,
    /// A longer gap divides a phase.
    pub(super) gap: Nanos,
    /// A shorter stretch is none.
    pub(super) minimum: Nanos,
    /// Time in the phases and outside them.
    pub(super) parts: SerialAndParallel,
}

/// Finds them; `silences` are those of the idle rule.
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

/// When a phase was.
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

/// Whether a second CPU could have done nothing at this moment.
fn is_serial(moment: &Moment) -> bool {
    moment.running <= 1 && moment.runnable == 0
}

/// Whether the only thread with anything to do is on its way to a CPU. That is part of no phase's beginning or end, but
/// nothing else could have been done meanwhile.
fn is_handover(moment: &Moment) -> bool {
    moment.running == 0 && moment.runnable == 1
}

/// The phases, found from left to right: each is extended as far as its gaps allow.
fn spans(moments: &[Moment], gap: Nanos, minimum: Nanos) -> Vec<Span> {
    let mut found: Vec<Span> = Vec::new();
    let mut open: Option<(Span, Nanos)> = None;
    // Parallel time since the open phase's last serial moment.
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

/// Of each phase, the program that ran longest in it; where nothing ran for more than half of it, what ended most of
/// the silence.
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

/// The phases that a stretch of time is part of, and which part of it.
fn overlaps(spans: &[Span], from: Nanos, to: Nanos) -> impl Iterator<Item = (usize, Nanos, Nanos)> + '_ {
    let first = spans.partition_point(|span| span.to <= from);
    spans[first..]
        .iter()
        .take_while(move |span| span.from < to)
        .enumerate()
        .map(move |(index, span)| (first + index, from.max(span.from), to.min(span.to)))
}

/// What ended a silence, in words that can stand where a program's name does.
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
            // It ended the run: whatever the command was waiting for did not come.
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

/// Whether a thread is of the process that traced, or of the one that started the command.
fn is_tool(timeline: &Timeline, id: ThreadId) -> bool {
    let thread = timeline.thread(id);
    let starters = timeline.tree().filter_map(|(_, t)| t.parent).map(|parent| timeline.thread(parent));
    let tools = timeline.threads.iter().filter(|t| t.tracer).chain(starters.filter(|t| !t.in_tree));
    thread.tracer || thread.process.is_some() && tools.map(|t| t.process).any(|p| p == thread.process)
}

/// The wake-up that ended a silence.
fn wake(timeline: &Timeline, silence: &Silence) -> Option<Wake> {
    let segments = &timeline.thread(silence.broken_by?).segments;
    let last = segments.get(segments.partition_point(|segment| segment.to < silence.to))?;
    match last.state {
        State::Blocked(wait) if last.to == silence.to => timeline.wait(wait).wake,
        _ => None,
    }
}

/// The number of the device's interrupt that did something, where one did.
fn device(source: Source) -> Option<u32> {
    match source {
        Source::Interrupt(Interrupt::Device(number))
        | Source::SoftIrqOfInterrupt { interrupt: Interrupt::Device(number), .. } => Some(number),
        _ => None,
    }
}
