//! Prints the duration of the analysis of a trace. In the trace, processes make each other in
//! turns, wait for each other, and sleep on a disk, on the requested number of CPUs.
//!
//!     cargo run --release -p morecores-explain --example trace_speed -- 1000000 2
#![allow(clippy::print_stdout)]

#[path = "../tests/schedule_trace/mod.rs"]
mod schedule_trace;

use std::time::Instant;

use morecores_explain::trace::{Timeline, account, apply_idle_rule, causes};
use morecores_study::trace::{
    Call, Event, EventKind, Fork, Interrupt, Object, PrevState, Switch, Tid, Waker, Waking,
};
use morecores_study::{CpuId, Nanos};
use schedule_trace::{ROOT, ScheduleTrace, at};

/// Time between two events of one CPU.
const STEP: u64 = 2_000;

fn main() {
    let number = |index: usize, otherwise: u32| -> u32 {
        std::env::args().nth(index).and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let (count, cpus) = (number(1, 1_000_000), number(2, 2));
    let events = generate_events(count, cpus);
    let ended = events.last().map_or(0.0, |event| event.at.since(at(0.0)).as_secs_f64() * 1e3);
    let script = ScheduleTrace::new(cpus, ended);
    let begin = Instant::now();
    let mut last_print = begin;
    let mut print_duration = |stage: &str| {
        println!("{stage:12} {:7.1} ms", last_print.elapsed().as_secs_f64() * 1e3);
        last_print = Instant::now();
    };
    let timeline = Timeline::new(&script.header, &events);
    print_duration("timeline");
    let causes = causes(&timeline);
    print_duration("causes");
    let idle = apply_idle_rule(&timeline, &causes);
    print_duration("idle rule");
    let accounting = account(&script.header, &timeline, idle);
    print_duration("components");
    let total = begin.elapsed().as_secs_f64();
    println!("{} events, {} threads: {total:.3} s", events.len(), timeline.threads.len());
    println!("{:?}", accounting.components);
}

/// Generates events: each CPU takes the next runnable of some forty threads, which leave in turns
/// for a futex, a disk, or for good.
fn generate_events(count: u32, cpus: u32) -> Vec<Event> {
    let mut events = ScheduleTrace::new(cpus, 1.0).events();
    let mut running: Vec<Option<u32>> = vec![None; cpus as usize];
    let mut runnable = std::collections::VecDeque::from([ROOT]);
    let mut sleeping = std::collections::VecDeque::new();
    let (mut made, mut now) = (ROOT, at(0.0));
    for turn in 0..count {
        if events.len() >= count as usize {
            break;
        }
        now += Nanos(STEP / u64::from(cpus));
        let cpu = CpuId(turn % cpus);
        let mut push = |kind| events.push(Event { at: now, cpu, kind });
        let prev = running[cpu.0 as usize].take();
        let alive = runnable.len() + sleeping.len();
        if let Some(parent) = prev.filter(|_| alive < 40) {
            made += 1;
            let (parent, child) = (Tid(parent), Tid(made));
            push(EventKind::Fork(Fork { parent, child, process: Tid(ROOT) }));
            push(EventKind::Waking(Waking { tid: child, by: Waker::Thread(parent), io_wait: false }));
            runnable.push_back(made);
        }
        if turn % 4 != 0
            && let Some(tid) = sleeping.pop_front()
        {
            let by = match prev {
                Some(prev) if turn % 3 != 0 => Waker::Thread(Tid(prev)),
                _ => Waker::Interrupt(Interrupt::Device(24)),
            };
            push(EventKind::Waking(Waking { tid: Tid(tid), by, io_wait: false }));
            runnable.push_back(tid);
        }
        let next = if turn % 7 == 0 { None } else { runnable.pop_front() };
        let prev_state = match turn % 50 {
            0 if prev != Some(ROOT) => PrevState::Dead,
            1..10 => PrevState::Uninterruptible,
            _ => PrevState::Asleep,
        };
        if let Some(prev) = prev {
            if prev_state != PrevState::Dead {
                sleeping.push_back(prev);
            }
            let object = Object::Futex(u64::from(turn % 5));
            push(EventKind::Awaits { tid: Tid(prev), object });
        }
        running[cpu.0 as usize] = next;
        let call = Call::Number((turn % 5) as u16);
        push(EventKind::Switch(Switch {
            prev: prev.map_or(Tid::IDLE, Tid),
            prev_state,
            call,
            prev_runtime: Nanos::ZERO,
            interrupts: Nanos(100),
            next: next.map_or(Tid::IDLE, Tid),
        }));
    }
    events
}
