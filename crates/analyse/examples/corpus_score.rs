//! How far replays of traces with `{n}` as the target are from the truth, over the programs of the corpus that are there for
//! tuning; beside them the universal scalability law:
//!
//!     cargo run --release -p morecores-analyse --example corpus_score [-- each]
//!
//! With `each` also every replay that is more than 8% off, with its program.
#![allow(clippy::print_stdout)]

#[path = "../tests/corpus/mod.rs"]
mod corpus;

use std::collections::BTreeMap;

use corpus::{Program, Size, TUNING, Watch, trace, truth};
use morecores_analyse::demand::{Demands, LockUse, calibrated, demands, lock_uses, with_locks};
use morecores_analyse::models::{Model, Point, Usl};
use morecores_analyse::replay::{Inflation, LockPolicy, Machine, Shape, replay};
use morecores_analyse::trace::Timeline;

/// Points of each lock at which its users take it.
const POINTS: u32 = 2000;
/// The noise of the traced runs.
const SEED: u64 = 99;

struct Read {
    elapsed: f64,
    demands: Demands,
    locks: Vec<LockUse>,
}

/// What an exact trace of `program` on `cpus` CPUs tells.
fn read(program: &Program, cpus: u32, n: u32) -> Option<Read> {
    let traced = trace(program, Size { cpus, n }, SEED, Watch::Exact);
    let timeline = Timeline::new(&traced.header, &traced.events);
    let demands = demands(&timeline)?;
    let locks = lock_uses(&timeline, &demands);
    Some(Read { elapsed: timeline.elapsed().as_secs_f64(), demands, locks })
}

/// Elapsed seconds by a replay at the count that was traced, and on `to` CPUs. Slowdown from the CPU time of the same program on
/// one CPU.
fn replayed(read: &Read, alone: &Read, from: u32, to: u32) -> (f64, f64) {
    let work = |read: &Read| read.demands.program.bounds().work.as_secs_f64();
    let measured = (work(read) / read.elapsed, work(read) / work(alone));
    let inflation = Inflation::fit(Shape::Logarithmic, &[measured]);
    let machine = |cpus| Machine {
        slowdown: inflation.slowdown(cpus),
        locks: LockPolicy::Barging,
        ..Machine::new(cpus)
    };
    let locks = calibrated(&read.demands.program, &read.locks, &machine(from), POINTS);
    let program = with_locks(&read.demands.program, &locks, POINTS);
    let on = |cpus| replay(&program, &machine(cpus)).elapsed.as_secs_f64();
    (on(from), on(to))
}

fn main() {
    let each = std::env::args().any(|argument| argument == "each");
    let mut errors: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (seed, program) in TUNING.zip(corpus::corpus(TUNING)) {
        let mut add = |name: String, error: f64| errors.entry(name).or_default().push(error);
        let times = [1, 2, 4, 8, 16].map(|cpus| Point::new(cpus, truth(&program, cpus).as_secs_f64()));
        for (known, target) in [(2, times[3]), (3, times[4])] {
            let largest = times[known - 1].cpus;
            if let Some(usl) = Usl::fit(&times[..known]) {
                add(
                    format!("USL 1-{largest} to {}", target.cpus),
                    usl.elapsed(target.cpus) / target.elapsed - 1.0,
                );
            }
        }
        for (from, to) in [(1, times[1]), (2, times[3]), (4, times[4])] {
            let (Some(read), Some(alone)) = (read(&program, from, to.cpus), read(&program, 1, to.cpus))
            else {
                continue;
            };
            let (itself, there) = replayed(&read, &alone, from, to.cpus);
            let error = read.elapsed * there / itself / to.elapsed - 1.0;
            add(format!("replay {from} to {}", to.cpus), error);
            add(format!("replay {from} to itself"), itself / read.elapsed - 1.0);
            if each && error.abs() > 0.08 {
                println!("{seed}, {from} to {}: {:+.1}%: {program}", to.cpus, 100.0 * error);
            }
        }
    }
    for (name, errors) in errors {
        let bias = errors.iter().sum::<f64>() / errors.len() as f64;
        let mut sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let at = |share: f64| 100.0 * sizes[((sizes.len() - 1) as f64 * share) as usize];
        println!(
            "{name:20} median {:5.1}%, 90th percentile {:5.1}%, worst {:5.1}%, bias {:+.1}%",
            at(0.5),
            at(0.9),
            at(1.0),
            100.0 * bias
        );
    }
}
