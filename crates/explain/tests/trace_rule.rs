//! Compares the sweep's idle rule with the rule as documented, evaluated from scratch at every
//! instant.

mod schedule_trace;

use std::collections::BTreeSet;

use morecores_explain::trace::{
    Cause, IdleTimes, Occupant, State, ThreadId, Timeline, account, apply_idle_rule, causes,
};
use morecores_study::trace::{
    Call, Event, EventKind, HoldReason, Interrupt, Object, PrevState, Switch, Tid, TraceSource, Waker, Waking,
};
use morecores_study::{CpuId, CpuSet, Nanos};
use proptest::prelude::*;
use schedule_trace::{ROOT, STRANGER, ScheduleTrace, at};

/// End of a thread's chain at an instant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChainEnd {
    Absorbs(usize),
    Nothing,
}

/// State of a thread at an instant: that of its segment that covers the instant, if any.
fn state_at(timeline: &Timeline, id: ThreadId, now: Nanos) -> Option<State> {
    timeline.thread(id).segments.iter().find(|s| s.from <= now && now < s.to).map(|s| s.state)
}

/// Whether a runnable thread was woken for a user lock and has not run since.
fn is_woken_for_lock(timeline: &Timeline, causes: &[Cause], id: ThreadId, now: Nanos) -> bool {
    let segments = &timeline.thread(id).segments;
    let before = segments.iter().take_while(|s| s.to <= now).last();
    let since = segments.iter().find(|s| s.from <= now && now < s.to).map(|s| s.from);
    before.is_some_and(|before| {
        Some(before.to) == since
            && matches!(before.state, State::Blocked(wait) if causes[wait.index()] == Cause::UserLock)
    })
}

/// Rule 2, by walking the chain.
fn chain_end(timeline: &Timeline, causes: &[Cause], id: ThreadId, now: Nanos) -> ChainEnd {
    let mut seen = BTreeSet::new();
    let mut id = id;
    while seen.insert(id) {
        let thread = timeline.thread(id);
        match state_at(timeline, id, now) {
            Some(State::Blocked(wait)) => match causes[wait.index()] {
                Cause::KernelLock => return ChainEnd::Absorbs(0),
                Cause::UserLock => return ChainEnd::Absorbs(1),
                Cause::Disk => return ChainEnd::Absorbs(2),
                Cause::Peer => return ChainEnd::Absorbs(3),
                Cause::Device => return ChainEnd::Absorbs(4),
                Cause::Rcu => return ChainEnd::Absorbs(5),
                Cause::Uninterruptible => return ChainEnd::Absorbs(6),
                Cause::Thread(on) => id = on,
                Cause::Timer | Cause::Endless | Cause::Unknown => return ChainEnd::Nothing,
            },
            Some(State::Running { .. } | State::Runnable | State::Held(_)) => return ChainEnd::Nothing,
            None => {
                let yet_to_come = thread.segments.first().is_some_and(|s| s.from > now);
                match thread.parent.filter(|_| yet_to_come || thread.segments.is_empty()) {
                    Some(parent) if timeline.thread(parent).in_tree => id = parent,
                    _ => return ChainEnd::Nothing,
                }
            }
        }
    }
    ChainEnd::Nothing
}

fn allowed_at(timeline: &Timeline, id: ThreadId, now: Nanos) -> CpuSet {
    let last = timeline.confinements.iter().rfind(|c| c.thread == id && c.at <= now);
    last.map_or(timeline.allotted.clone(), |c| c.allowed.clone())
}

/// The idle rule, evaluated instant by instant.
fn rule_by_definition(timeline: &Timeline, causes: &[Cause]) -> IdleTimes {
    let tree: Vec<ThreadId> = timeline.tree().map(|(id, _)| id).collect();
    let mut instants: BTreeSet<Nanos> = [timeline.began, timeline.ended].into();
    instants.extend(timeline.threads.iter().flat_map(|t| &t.segments).flat_map(|s| [s.from, s.to]));
    instants.extend(timeline.cpus.iter().flat_map(|c| &c.spans).flat_map(|s| [s.from, s.to]));
    instants.extend(timeline.confinements.iter().map(|c| c.at.max(timeline.began)));
    let instants: Vec<_> = instants.into_iter().collect();
    let active = |id: &ThreadId, now| {
        matches!(state_at(timeline, *id, now), Some(State::Running { .. } | State::Runnable | State::Held(_)))
    };
    let mut times = IdleTimes::default();
    for (index, pair) in instants.windows(2).enumerate() {
        let (now, length) = (pair[0], pair[1].since(pair[0]).as_secs_f64());
        let mut idle = CpuSet::new();
        let mut lost = 0.0;
        for cpu in timeline.cpus.iter().filter(|cpu| cpu.allotted) {
            let span = cpu.spans.iter().find(|s| s.from <= now && now < s.to).expect("no gap");
            if span.occupant == Occupant::Idle {
                idle.insert(cpu.cpu);
                lost += length * (1.0 - span.interrupts.as_secs_f64() / span.length().as_secs_f64());
            }
        }
        if idle.is_empty() {
            continue;
        }
        if !tree.iter().any(|id| active(id, now)) {
            let next = instants[index + 1..].iter().find(|later| tree.iter().any(|id| active(id, **later)));
            let by = next.and_then(|later| {
                let id = tree.iter().find(|id| active(id, *later)).expect("one is");
                let segments = &timeline.thread(*id).segments;
                let index =
                    segments.iter().position(|s| s.from <= *later && *later < s.to).expect("it is active");
                let before = segments[..index].last().filter(|s| s.to == *later)?;
                match before.state {
                    State::Blocked(wait) => Some(causes[wait.index()]),
                    _ => None,
                }
            });
            let waiting = |class: usize| {
                let at_end = |id: &&ThreadId| {
                    matches!(state_at(timeline, **id, now), Some(State::Blocked(_)))
                        && chain_end(timeline, causes, **id, now) == ChainEnd::Absorbs(class)
                };
                tree.iter().filter(at_end).count() as f64
            };
            let (kernel, user) = (waiting(0), waiting(1));
            let one = lost / idle.len() as f64;
            let absorbed = one * (kernel + user).min(idle.len() as f64);
            if kernel + user > 0.0 {
                times.kernel_lock += absorbed * kernel / (kernel + user);
                times.user_lock += absorbed * user / (kernel + user);
            }
            let lost = lost - absorbed;
            *match by {
                Some(Cause::KernelLock) => &mut times.kernel_lock,
                Some(Cause::UserLock) => &mut times.user_lock,
                Some(Cause::Disk) => &mut times.disk,
                Some(Cause::Peer) => &mut times.peer,
                Some(Cause::Device) => &mut times.device,
                Some(Cause::Rcu) => &mut times.rcu,
                Some(Cause::Uninterruptible) => &mut times.uninterruptible,
                Some(Cause::Timer) => &mut times.timer,
                _ => &mut times.too_little_work,
            } += lost;
            continue;
        }
        let (mut held, mut scheduling, mut pinned, mut members) = (0.0, 0.0, 0.0, [0.0; 7]);
        for id in &tree {
            match state_at(timeline, *id, now) {
                Some(State::Runnable | State::Held(_))
                    if allowed_at(timeline, *id, now).intersection(&idle).is_empty() =>
                {
                    pinned += 1.0;
                }
                Some(State::Held(_)) => held += 1.0,
                Some(State::Runnable) if is_woken_for_lock(timeline, causes, *id, now) => members[1] += 1.0,
                Some(State::Runnable) => scheduling += 1.0,
                Some(State::Blocked(_)) => {
                    if let ChainEnd::Absorbs(class) = chain_end(timeline, causes, *id, now) {
                        members[class] += 1.0;
                    }
                }
                _ => {}
            }
        }
        let one = lost / idle.len() as f64;
        let mut left = idle.len() as f64;
        let mut share = |wanted: &[f64]| -> Vec<f64> {
            let all: f64 = wanted.iter().sum();
            let given = left.min(all);
            left -= given;
            wanted.iter().map(|w| if all > 0.0 { given * w / all * one } else { 0.0 }).collect()
        };
        times.held += share(&[held])[0];
        times.scheduling += share(&[scheduling])[0];
        times.pinned += share(&[pinned])[0];
        let locks = share(&members[..2]);
        let outside = share(&members[2..]);
        times.kernel_lock += locks[0];
        times.user_lock += locks[1];
        times.disk += outside[0];
        times.peer += outside[1];
        times.device += outside[2];
        times.rcu += outside[3];
        times.uninterruptible += outside[4];
        times.too_little_work += left * one;
    }
    times
}

/// One step of a random schedule.
#[derive(Clone, Debug)]
enum Step {
    /// The CPU takes this runnable thread, or goes idle; its previous thread leaves in this way.
    Switch { cpu: u32, choice: usize, prev_state: u8, object: u64 },
    /// One of these sources wakes this sleeping thread.
    Wake { choice: usize, by: u8, waker: usize, io: bool },
    /// This thread makes another one.
    Fork { parent: usize },
    /// This thread may use these CPUs only.
    Confine { choice: usize, cpus: u8 },
    /// This thread is held back, now or at its next switch.
    Hold { choice: usize },
    /// This thread had been waiting for a kernel lock.
    Contention { choice: usize, waited: u64 },
    /// Events of a CPU are lost.
    Lose { cpu: u32 },
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..3_u32, 0..9_usize, 0..6_u8, 0..3_u64)
            .prop_map(|(cpu, choice, prev_state, object)| Step::Switch { cpu, choice, prev_state, object }),
        6 => (0..9_usize, 0..9_u8, 0..9_usize, any::<bool>())
            .prop_map(|(choice, by, waker, io)| Step::Wake { choice, by, waker, io }),
        2 => (0..9_usize).prop_map(|parent| Step::Fork { parent }),
        1 => (0..9_usize, 1..8_u8).prop_map(|(choice, cpus)| Step::Confine { choice, cpus }),
        2 => (0..9_usize).prop_map(|choice| Step::Hold { choice }),
        1 => (0..9_usize, 1..2000_u64).prop_map(|(choice, waited)| Step::Contention { choice, waited }),
        1 => (0..3_u32).prop_map(|cpu| Step::Lose { cpu }),
    ]
}

/// Plays the steps on three CPUs, the first two of them allotted, and returns the events of such a
/// machine.
fn simulate_steps(steps: &[(u16, Step)]) -> Vec<Event> {
    let mut now = at(0.0);
    let mut events: Vec<Event> = Vec::new();
    let mut running: [Option<u32>; 3] = [None; 3];
    let mut runnable = vec![ROOT];
    let mut sleeping: Vec<u32> = Vec::new();
    let mut made = ROOT;
    let pick = |list: &[u32], choice: usize| (!list.is_empty()).then(|| list[choice % list.len()]);
    for (gap, step) in steps {
        now += Nanos(u64::from(*gap));
        let mut push = |cpu: u32, kind| events.push(Event { at: now, cpu: CpuId(cpu), kind });
        let alive: Vec<u32> = running.iter().flatten().chain(&runnable).chain(&sleeping).copied().collect();
        match *step {
            Step::Switch { cpu, choice, prev_state, object } => {
                let prev = running[cpu as usize].take();
                let next = pick(&runnable, choice).filter(|_| choice < 7);
                runnable.retain(|tid| Some(*tid) != next);
                running[cpu as usize] = next;
                let prev_state = match prev_state {
                    0 | 1 => PrevState::Preempted,
                    2 if alive.len() > 2 => PrevState::Dead,
                    3 => PrevState::Uninterruptible,
                    _ => PrevState::Asleep,
                };
                if let Some(prev) = prev {
                    match prev_state {
                        PrevState::Preempted => runnable.push(prev),
                        PrevState::Dead => {}
                        _ => sleeping.push(prev),
                    }
                    push(cpu, EventKind::Awaits { tid: Tid(prev), object: Object::Futex(object) });
                }
                push(
                    cpu,
                    EventKind::Switch(Switch {
                        prev: prev.map_or(Tid::IDLE, Tid),
                        prev_state: if prev.is_some() { prev_state } else { PrevState::Preempted },
                        call: Call::Number(object as u16),
                        prev_runtime: Nanos::ZERO,
                        interrupts: Nanos(u64::from(*gap) / 3),
                        next: next.map_or(Tid::IDLE, Tid),
                    }),
                );
            }
            Step::Wake { choice, by, waker, io } => {
                let Some(tid) = pick(&sleeping, choice) else { continue };
                sleeping.retain(|other| *other != tid);
                runnable.push(tid);
                // Any thread, asleep or not: soft interrupts and workers act late on behalf of
                // threads.
                let thread = Tid(pick(&alive, waker).unwrap_or(ROOT));
                let by = match by {
                    0 => Waker::Interrupt(Interrupt::Device(7)),
                    1 => Waker::Interrupt(Interrupt::Timer),
                    2 => Waker::Thread(Tid(STRANGER)),
                    3 => Waker::SoftIrqOfThread { vector: 3, tid: thread },
                    4 => Waker::Unknown,
                    _ => Waker::Thread(thread),
                };
                push(0, EventKind::Waking(Waking { tid: Tid(tid), by, io_wait: io }));
            }
            Step::Fork { parent } => {
                let Some(parent) = pick(&alive, parent) else { continue };
                made += 1;
                let (parent, child) = (Tid(parent), Tid(made));
                push(0, EventKind::Fork(morecores_study::trace::Fork { parent, child, process: Tid(ROOT) }));
                let by = Waker::Thread(parent);
                push(0, EventKind::Waking(Waking { tid: child, by, io_wait: false }));
                runnable.push(made);
            }
            Step::Confine { choice, cpus } => {
                let Some(tid) = pick(&alive, choice) else { continue };
                let allowed = (0..3).filter(|cpu| cpus & (1 << cpu) != 0).map(CpuId).collect();
                push(0, EventKind::Confined { tid: Tid(tid), allowed });
            }
            Step::Hold { choice } => {
                let Some(tid) = pick(&alive, choice) else { continue };
                push(0, EventKind::Held { tid: Tid(tid), by: HoldReason::Quota });
            }
            Step::Contention { choice, waited } => {
                let Some((cpu, tid)) = (0..).zip(running).filter_map(|(c, t)| Some((c, t?))).nth(choice % 3)
                else {
                    continue;
                };
                push(
                    cpu,
                    EventKind::Contention(morecores_study::trace::Contention {
                        tid: Tid(tid),
                        lock: 1,
                        waited: Nanos(waited),
                        flags: Default::default(),
                        known: Default::default(),
                        stack: None,
                    }),
                );
            }
            Step::Lose { cpu } => {
                // The last events of this CPU are lost.
                let count = events.len();
                let mut lost = 0;
                for index in (0..count).rev().take(3) {
                    if events[index].cpu.0 == cpu {
                        events.remove(index);
                        lost += 1;
                    }
                }
                if lost > 0 {
                    events.push(Event { at: now, cpu: CpuId(cpu), kind: EventKind::Lost { events: lost } });
                }
            }
        }
    }
    events
}

proptest! {

    #[test]
    fn incremental_rule_equals_its_definition(steps in prop::collection::vec((0..1000_u16, any_step()), 1..120), perf in any::<bool>()) {
        let elapsed: u64 = steps.iter().map(|(gap, _)| u64::from(*gap)).sum::<u64>() + 500;
        let mut script = ScheduleTrace::new(2, elapsed as f64 / 1e6);
        let mut events = script.events();
        events.extend(simulate_steps(&steps));
        if perf {
            script.header.facts.source = TraceSource::Perf;
            events.retain(|event| !matches!(event.kind, EventKind::Waking(_) | EventKind::Contention(_)));
        }
        events.sort_by_key(|event| event.at);
        let timeline = Timeline::new(&script.header, &events);
        let causes = causes(&timeline);
        let swept = apply_idle_rule(&timeline, &causes);
        let truth = rule_by_definition(&timeline, &causes);

        let pairs = |t: &IdleTimes| {
            let ready = [t.held, t.scheduling, t.pinned];
            let waiting = [t.kernel_lock, t.user_lock, t.disk, t.peer, t.timer, t.too_little_work];
            let others = [t.device, t.rcu, t.uninterruptible];
            [ready.as_slice(), &waiting, &others].concat()
        };
        for (swept, truth) in pairs(&swept.times).into_iter().zip(pairs(&truth)) {
            prop_assert!((swept - truth).abs() < 1e-12, "{:?} {truth:?}", swept);
        }
        let charged: f64 = swept.charges.iter().map(|charge| charge.seconds).sum();
        prop_assert!((charged - swept.times.too_little_work).abs() < 1e-12);

        // The waits have all idle time of the causes that they are.
        let lost_to = |cause: Cause| -> f64 {
            let charges = swept.wait_charges.iter().zip(&causes);
            charges.filter(|(_, of)| **of == cause).map(|(charge, _)| charge).sum()
        };
        let by_cause = [
            (Cause::KernelLock, swept.times.kernel_lock),
            (Cause::UserLock, swept.times.user_lock),
            (Cause::Disk, swept.times.disk),
            (Cause::Peer, swept.times.peer),
            (Cause::Device, swept.times.device),
            (Cause::Rcu, swept.times.rcu),
            (Cause::Uninterruptible, swept.times.uninterruptible),
            (Cause::Timer, swept.times.timer),
        ];
        for (cause, time) in by_cause {
            prop_assert!((lost_to(cause) - time).abs() < 1e-12, "{cause:?}: {} {time}", lost_to(cause));
        }

        // Every CPU's spans cover the window, and no thread is in two places.
        for cpu in &timeline.cpus {
            prop_assert_eq!(cpu.spans.first().map(|s| s.from), Some(timeline.began));
            prop_assert_eq!(cpu.spans.last().map(|s| s.to), Some(timeline.ended));
            prop_assert!(cpu.spans.windows(2).all(|pair| pair[0].to == pair[1].from));
        }
        for thread in &timeline.threads {
            prop_assert!(thread.segments.windows(2).all(|pair| pair[0].to <= pair[1].from));
        }
        let running: Nanos = timeline.threads.iter().map(|thread| thread.on_cpu()).sum();
        let occupied: Nanos = timeline.cpus.iter().flat_map(|cpu| &cpu.spans)
            .filter(|s| matches!(s.occupant, Occupant::Thread(_))).map(|s| s.length()).sum();
        prop_assert_eq!(running, occupied);

        let lost: Nanos = timeline.cpus.iter().filter(|cpu| cpu.allotted).flat_map(|cpu| &cpu.spans)
            .filter(|s| s.occupant == Occupant::Lost).map(|s| s.length().since(s.interrupts)).sum();
        let accounting = account(&script.header, &timeline, swept);
        let unexplained = accounting.components.unexplained_s;
        prop_assert!((unexplained - lost.as_secs_f64()).abs() < 1e-12, "{unexplained} {lost:?}");
    }
}
