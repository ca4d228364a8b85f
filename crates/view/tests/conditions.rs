//! Conditions on figures of two studies of one program: how often chance alone fulfils them.

#![allow(clippy::expect_used, reason = "a test may panic")]

mod studies;

use morecores_study::*;
use morecores_view::compare::{Condition, judge};
use morecores_view::view;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde_json::Value;
use studies::{cpu, run, study};

/// Conditions of one call. Each is about a figure that does not change.
const CONDITIONS: [&str; 8] = [
    "elapsed_s@2 > 100%",
    "elapsed_s@2 < 100%",
    "elapsed_s@1 > 8",
    "speedup@2 < 100%",
    "user_s@2 > 100%",
    "cpu_percent@1 > 100%",
    "minor_faults@2 > 100%",
    "max_rss_bytes@1 > 100%",
];

/// Pairs of studies for each number of runs.
const PAIRS: u64 = 200;

/// Largest number of pairs in which a condition holds: three standard errors above 2.5%.
const MOST_FALSE: usize = 11;

/// Draws a standard normal number, by Box and Muller.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (a, b): (f64, f64) = (rng.random(), rng.random());
    (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// Creates the view of a study with independent noise in each figure: log-normal, normal, or of few
/// whole numbers. The median time on one CPU is 8 s.
fn drawn_view(runs: usize, rng: &mut ChaCha8Rng) -> Value {
    let mut made = study(&[1, 2]);
    made.header.plan.stop.min_runs = runs as u32;
    made.header.plan.stop.max_runs = runs as u32;
    for round in 0..runs as u32 {
        for cpus in [1, 2] {
            let elapsed = 8.0 / f64::from(cpus) * (0.05 * normal(rng)).exp();
            let drawn = run(&made, cpus, elapsed);
            let faults = (1e4 + 3.0 * normal(rng)).round() as u64;
            let rusage = Rusage { minor_faults: faults, ..drawn.rusage };
            let rusage = Rusage { max_rss_bytes: Bytes((1e9 * (1.0 + 0.02 * normal(rng))) as u64), ..rusage };
            let cpu = cpu(7.0 + 0.1 * normal(rng), 1.0, CpuEstimator::Cgroup);
            made.runs.push(Run { round, rusage, cpu, ..drawn });
        }
    }
    serde_json::to_value(view(&made, &[])).expect("a view is JSON")
}

/// Each condition of a call holds by chance in at most 2.5% of pairs. The figure is exactly at the
/// limit, which is the worst case.
#[test]
fn chance_rarely_fulfils_a_condition() {
    let conditions = CONDITIONS.map(|text| text.parse::<Condition>().expect(text));
    for runs in [6, 10, 30] {
        let held = |seed: u64| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let [base, new] = [0, 1].map(|_| drawn_view(runs, &mut rng));
            let judged =
                |condition| judge(condition, ("base", &base), ("new", &new)).expect("a figure").holds;
            conditions.each_ref().map(|condition| usize::from(judged(condition) == Some(true)))
        };
        let sum = |a: [usize; CONDITIONS.len()], b: [usize; CONDITIONS.len()]| {
            let mut sum = a;
            sum.iter_mut().zip(b).for_each(|(sum, held)| *sum += held);
            sum
        };
        let held = (0..PAIRS).into_par_iter().map(held).reduce(|| [0; CONDITIONS.len()], sum);
        for (condition, held) in CONDITIONS.iter().zip(held) {
            assert!(held <= MOST_FALSE, "{condition} with {runs} runs: {held} of {PAIRS}");
        }
    }
}

/// A change of 20% fulfils the condition, so that the rates above are not those of a test that
/// never finds anything.
#[test]
fn a_change_fulfils_its_condition() {
    let condition: Condition = "max_rss_bytes@1 > 105%".parse().expect("a condition");
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let [base, mut new] = [0, 1].map(|_| drawn_view(10, &mut rng));
    let point = &mut new["points"][0];
    for key in ["/max_rss_bytes", "/max_rss_bytes_ci95/0", "/max_rss_bytes_ci95/1"] {
        let figure = point.pointer_mut(key).expect("a figure");
        *figure = (1.2 * figure.as_f64().expect("a number")).into();
    }
    let result = judge(&condition, ("base", &base), ("new", &new)).expect("a figure");
    assert_eq!(result.holds, Some(true), "{result:?}");
}
