//! Checks of a trace against itself: two countings of one quantity that agree in every trace
//! without damage.
//!
//! Little's law and the utilisation law hold in every interval of any system, without assumptions
//! about distributions: Denning & Buzen, *The operational analysis of queueing network models*, ACM
//! Computing Surveys 10(3), 1978. A trace that violates one has lost events or assigned them
//! wrongly. This module counts and compares; it decides no cause and repairs nothing.

use std::collections::{HashMap, HashSet};

use morecores_study::Nanos;
use morecores_study::trace::{Event, EventKind, Object, PrevState, Tid, TraceSource};
use morecores_view::{LawViolation, OperationalLaw};

use crate::trace::{Accounting, State, Thread, Timeline, Wait};

/// Relative difference of the two countings that is no rounding: the bound of the accuracy of
/// components (docs/methods/explain.md, "Accuracy").
const TOLERANCE: f64 = 0.03;
/// Number of events by which two countings must differ too. Fewer may belong to threads that waited
/// as the trace began or ended.
const LEAST_EVENTS: f64 = 20.0;
/// Seconds by which two CPU times must differ too. A choice: a few ticks of the kernel.
const LEAST_SECONDS: f64 = 0.02;

/// Events of the tree's threads, counted without the timeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// Switches to a thread that an earlier event shows.
    pub dispatches: u64,
    /// Wake-ups of threads that wait for a futex.
    pub futex_wakes: u64,
    /// Wake-ups of all other waiting threads.
    pub other_wakes: u64,
    /// CPU time that the kernel accounted to the threads between their switches.
    pub runtime: Nanos,
}

/// State of a thread by the events so far.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Whether the thread left its CPU to wait and was not woken yet.
    waits: bool,
    futex: bool,
    /// Accounted CPU time at its last switch.
    runtime: Option<Nanos>,
}

impl EventCounts {
    /// Counts the events of the threads of the tree in the window of the run.
    pub fn new(timeline: &Timeline, events: &[Event]) -> Self {
        let numbers = |in_tree: bool| {
            let threads = timeline.threads.iter().filter(move |thread| thread.in_tree == in_tree);
            threads.map(|thread| thread.tid).collect::<HashSet<Tid>>()
        };
        let others = numbers(false);
        let tree: HashSet<Tid> = numbers(true).into_iter().filter(|tid| !others.contains(tid)).collect();
        let mut counts = Self::default();
        let mut seen: HashMap<Tid, Seen> = HashMap::new();
        for event in events.iter().filter(|event| event.at <= timeline.ended) {
            let in_window = u64::from(event.at >= timeline.began);
            match &event.kind {
                EventKind::Awaits { tid, object } if tree.contains(tid) => {
                    seen.entry(*tid).or_default().futex = matches!(object, Object::Futex(_));
                }
                EventKind::Waking(waking) if tree.contains(&waking.tid) => {
                    let thread = seen.entry(waking.tid).or_default();
                    if thread.waits && thread.futex {
                        counts.futex_wakes += in_window;
                    } else if thread.waits {
                        counts.other_wakes += in_window;
                    }
                    (thread.waits, thread.futex) = (false, false);
                }
                EventKind::Switch(switch) => {
                    if tree.contains(&switch.prev) {
                        let thread = seen.entry(switch.prev).or_default();
                        thread.waits = is_wait(switch.prev_state);
                        let before = thread.runtime.replace(switch.prev_runtime);
                        if let Some(before) = before.filter(|_| in_window == 1) {
                            counts.runtime += switch.prev_runtime.since(before);
                        }
                    }
                    if tree.contains(&switch.next) {
                        counts.dispatches += in_window * u64::from(seen.contains_key(&switch.next));
                        let thread = seen.entry(switch.next).or_default();
                        (thread.waits, thread.futex) = (false, false);
                    }
                }
                _ => {}
            }
        }
        counts
    }
}

/// Whether a thread that left its CPU in this state waits for something.
fn is_wait(state: PrevState) -> bool {
    matches!(state, PrevState::Asleep | PrevState::Uninterruptible | PrevState::Unknown)
}

/// Longest time, in seconds, that the kernel accounts to a thread before its switch: the wake-up of
/// an idle CPU takes some 10 µs, and longer on a virtual CPU. A choice.
const LONGEST_WAKE_S: f64 = 50e-6;

/// Stays at one place by the timeline: their number and their total time in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Stays {
    number: f64,
    seconds: f64,
}

impl FromIterator<Nanos> for Stays {
    fn from_iter<T: IntoIterator<Item = Nanos>>(lengths: T) -> Self {
        lengths.into_iter().fold(Self::default(), |sum, length| Self {
            number: sum.number + 1.0,
            seconds: sum.seconds + length.as_secs_f64(),
        })
    }
}

impl Stays {
    /// Little's law, times the elapsed time: the area under the number present is the number of
    /// departures times the mean stay. The departures are the events, and the area is that of the
    /// timeline.
    fn violation(self, law: OperationalLaw, departures: u64) -> Option<LawViolation> {
        let departures = departures as f64;
        let difference = (departures - self.number).abs();
        let counted_s = departures * self.seconds / self.number;
        let is_violated = difference > LEAST_EVENTS && difference > TOLERANCE * self.number.max(departures);
        (is_violated && counted_s.is_finite()).then_some(LawViolation {
            law,
            counted_s,
            integrated_s: self.seconds,
        })
    }
}

/// Laws that the trace of the command violates; none for a trace of perf events, which has no
/// wake-ups.
pub(crate) fn violations(
    counts: &EventCounts,
    timeline: &Timeline,
    accounting: &Accounting,
) -> Vec<LawViolation> {
    if timeline.source == TraceSource::Perf {
        return Vec::new();
    }
    let is_in_tree = |wait: &&Wait| timeline.thread(wait.thread).in_tree;
    let ended = || timeline.waits.iter().filter(is_in_tree).filter(|wait| wait.ended && wait.to > wait.from);
    let waits = |futex: bool| -> Stays {
        let is_kind =
            |wait: &&Wait| matches!(wait.object, Object::Futex(_)) == futex && is_wait(wait.prev_state);
        ended().filter(is_kind).map(|wait| wait.to.since(wait.from)).collect()
    };
    let ready: Stays = timeline.tree().flat_map(|(_, thread)| ready_times(thread)).collect();
    let queues = [
        ready.violation(OperationalLaw::RunQueue, counts.dispatches),
        waits(true).violation(OperationalLaw::FutexWaits, counts.futex_wakes),
        waits(false).violation(OperationalLaw::OtherWaits, counts.other_wakes),
    ];
    queues.into_iter().flatten().chain(cpu_time_violation(counts, timeline, accounting)).collect()
}

/// Times for which a thread was ready before it got a CPU.
fn ready_times(thread: &Thread) -> Vec<Nanos> {
    let mut times = Vec::new();
    let mut ready: Option<(Nanos, Nanos)> = None;
    for segment in &thread.segments {
        match segment.state {
            State::Runnable | State::Held(_) => {
                let from = ready.filter(|(_, to)| *to == segment.from).map_or(segment.from, |(from, _)| from);
                ready = Some((from, segment.to));
            }
            State::Running { .. } => {
                let waited = ready.take().filter(|(_, to)| *to == segment.from);
                times.extend(waited.map(|(from, to)| to.since(from)));
            }
            State::Blocked(_) => ready = None,
        }
    }
    times
}

/// Utilisation law: the busy time of the CPUs is the number of services times their mean. The busy
/// time is that of the switches, and the services are those that the kernel accounted. They may
/// differ by interrupts, by steal, and by the time that a CPU takes to wake up. A lost switch that
/// lengthens a service looks like steal, so that only lost services are found.
fn cpu_time_violation(
    counts: &EventCounts,
    timeline: &Timeline,
    accounting: &Accounting,
) -> Option<LawViolation> {
    let counted_s = counts.runtime.as_secs_f64();
    // The account of a thread is read at its switches, so its first and its unfinished service do
    // not count.
    let integrated_s: f64 = timeline
        .tree()
        .flat_map(|(_, thread)| {
            let is_running = |state: State| matches!(state, State::Running { .. });
            let services = thread.segments.iter().filter(move |segment| is_running(segment.state)).skip(1);
            services.filter(|segment| segment.to < timeline.ended)
        })
        .map(|segment| segment.length().as_secs_f64())
        .sum();
    let components = &accounting.components;
    let known = components.interrupt_s.unwrap_or(0.0) + components.steal_s.unwrap_or(0.0);
    let waking = accounting.overaccounted_s.min(LONGEST_WAKE_S * counts.dispatches as f64);
    let allowed = known + waking + TOLERANCE * integrated_s + LEAST_SECONDS;
    (counted_s > 0.0 && (counted_s - integrated_s).abs() > allowed).then_some(LawViolation {
        law: OperationalLaw::CpuTime,
        counted_s,
        integrated_s,
    })
}
