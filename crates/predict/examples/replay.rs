//! Replays each trace of a study on other numbers of CPUs, and prints the elapsed times in seconds
//! beside the traced ones:
//!
//!     cargo run --release -p morecores-predict --example replay -- STUDY 1,2,4,8
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::time::Instant;

use morecores_explain::trace::Timeline;
use morecores_predict::demand::{Demands, add_locks, calibrate_locks, lock_uses};
use morecores_predict::replay::{Machine, replay};
use morecores_study::trace::read_trace_events;
use morecores_study::{Nanos, Study};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args().collect();
    let [_, study, counts] = &arguments[..] else { return Err("replay STUDY CPUS".into()) };
    let path = Path::new(study);
    let counts: Vec<u32> = counts.split(',').map(str::parse).collect::<Result<_, _>>()?;
    for header in &Study::read(path)?.traces {
        let timeline = Timeline::new(header, &read_trace_events(path, header)?.events);
        let Some(demands) = Demands::from_timeline(&timeline) else { continue };
        let locks = lock_uses(&timeline, &demands);
        let any = Machine::new(header.run.cpus);
        let traced_machine = Machine {
            slice: demands.slice.unwrap_or(any.slice),
            wake_latency: demands.wake_latency.or(header.facts.wake_latency_ns).unwrap_or(Nanos::ZERO),
            ..any
        };
        let locks = calibrate_locks(&demands.program, &locks, &traced_machine, 2000);
        let program = add_locks(&demands.program, &locks, 2000);
        let bounds = demands.program.bounds();
        println!(
            "{} CPUs, n {}: traced {:.3} s; {} threads, {} steps, {} locks; work {:.3} s, span {:.3} s",
            header.run.cpus,
            header.run.n,
            timeline.elapsed().as_secs_f64(),
            demands.threads.len(),
            program.steps(),
            locks.len(),
            bounds.work.as_secs_f64(),
            bounds.span.as_secs_f64(),
        );
        for lock in &locks {
            println!(
                "  {:?}: share {:.4} of {} users, {:.4} s waited in {} waits",
                lock.policy,
                lock.share,
                lock.users.len(),
                lock.waited.as_secs_f64(),
                lock.waits,
            );
        }
        for &cpus in &counts {
            let begin = Instant::now();
            let replayed = replay(&program, &Machine { cpus, ..traced_machine.clone() });
            println!(
                "  on {cpus:3}: {:.3} s, alone {:.3} s, {} forced, in {:.1} ms",
                replayed.elapsed.as_secs_f64(),
                replayed.serial.as_secs_f64(),
                replayed.forced_waits,
                begin.elapsed().as_secs_f64() * 1e3,
            );
        }
    }
    Ok(())
}
