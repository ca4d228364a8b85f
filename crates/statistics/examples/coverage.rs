//! Prints the tables of `docs/methods/measure.md`: the coverage of each interval, and its width.
//!
//!     cargo run --release -p morecores-statistics --example coverage [SEED [TRIALS]]
//!
//! Widths are relative to the true value, which is near 1.
// Printing is the only output of an example.
#![allow(clippy::print_stdout)]

use std::env;

use morecores_statistics::{
    Decision, Design, Interval, StoppingRule, compare_same, median, median_interval, noise_floor,
    ratio_interval, serial_correlation, two_speeds,
};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

#[path = "../tests/support/mod.rs"]
mod support;
use support::{Noise, Shown, normal, trials, until_stopped};

const EVEN: Noise = Noise::Bimodal { slow: 0.49, gap: 0.1, sd: 0.002 };

/// Dependences between runs: a name, the correlation of each run with the previous run, and the
/// drift over 30 runs.
const DEPENDENCES: [(&str, f64, f64); 6] = [
    ("not at all", 0.0, 0.0),
    ("correlation 0.2 with the run before", 0.2, 0.0),
    ("correlation 0.5", 0.5, 0.0),
    ("correlation 0.8", 0.8, 0.0),
    ("drift of 1% over 30 runs", 0.0, 0.01),
    ("drift of 4% over 30 runs", 0.0, 0.04),
];

fn main() {
    let mut arguments = env::args().skip(1).filter_map(|a| a.parse().ok());
    let seed = arguments.next().unwrap_or(1);
    let count = arguments.next().unwrap_or(2000) as usize;
    println!("Seed {seed}, {count} trials a row.");
    medians(seed, count);
    stopping(seed, count);
    peeking(seed, count);
    ratios(seed, count);
    stopped_ratios(seed, count);
    dependence(seed, count);
    floors(seed, count);
    checks(seed, count);
}

/// Text of coverage and half of the mean width, such as `97.1% ±0.0123`.
fn cell(shown: &Shown) -> String {
    format!("{:.1}% ±{:.4}", 100.0 * shown.coverage(), shown.mean_width() / 2.0)
}

fn row(cells: impl IntoIterator<Item = String>) {
    println!("| {} |", cells.into_iter().collect::<Vec<_>>().join(" | "));
}

/// Prints a heading and the head of a Markdown table.
fn table(title: &str, heads: &[&str]) {
    println!("\n### {title}\n");
    row(heads.iter().map(|h| (*h).to_owned()));
    row(heads.iter().map(|_| "---".to_owned()));
}

fn medians(seed: u64, count: usize) {
    table("Median, a fixed number of runs", &["noise 5%", "runs", "order statistics", "bootstrap"]);
    let extra = [("exponential", Noise::Exponential { mean: 0.05 }), ("two speeds 49:51", EVEN)];
    for (name, noise) in Noise::three(0.05).into_iter().chain(extra) {
        for runs in [6, 10, 30, 100, 1000] {
            let exact = trials(count, seed, |rng, shown| {
                let values = noise.runs(runs, rng);
                shown.add(
                    median_interval(&values, Design::Fixed).expect("six or more"),
                    noise.median(),
                    runs,
                );
            });
            // 400 draws from 1,000 values cost as much as all other rows; fewer trials show enough.
            let resampled = trials(if runs > 100 { count / 10 } else { count }, seed, |rng, shown| {
                let values = noise.runs(runs, rng);
                shown.add(percentiles(400, || middle_of_resample(&values, rng)), noise.median(), runs);
            });
            row([name.to_owned(), runs.to_string(), cell(&exact), cell(&resampled)]);
        }
    }
}

/// Median of a resample: as many values as the sample has, drawn with replacement.
fn middle_of_resample(values: &[f64], rng: &mut ChaCha8Rng) -> f64 {
    let drawn: Vec<f64> = values.iter().map(|_| values[rng.random_range(0..values.len())]).collect();
    median(&drawn).expect("as many as there were")
}

/// Middle 95% of `draws` draws: Efron's percentile interval.
fn percentiles(draws: usize, draw: impl FnMut() -> f64) -> Interval {
    let mut drawn: Vec<f64> = std::iter::repeat_with(draw).take(draws).collect();
    drawn.sort_unstable_by(f64::total_cmp);
    let tail = draws / 40;
    Interval { lo: drawn[tail], hi: drawn[draws - 1 - tail] }
}

fn stopping(seed: u64, count: usize) {
    let heads = ["noise", "up to 30", "runs", "up to 100", "runs", "up to 1000", "runs"];
    table("Median under the stopping rule, precision 1%, one point", &heads);
    let spreads = [0.003, 0.005, 0.008, 0.01, 0.015, 0.02, 0.03, 0.05];
    let three = spreads.iter().flat_map(|&spread| {
        Noise::three(spread).map(|(name, noise)| (format!("{name} {:.1}%", 100.0 * spread), noise))
    });
    let others = [
        ("exponential 1%", Noise::Exponential { mean: 0.01 }),
        ("exponential 3%", Noise::Exponential { mean: 0.03 }),
        ("two speeds 45:55, 3% apart", Noise::Bimodal { slow: 0.45, gap: 0.03, sd: 0.005 }),
        ("two speeds 49:51, 10% apart", EVEN),
    ];
    for (name, noise) in three.chain(others.map(|(name, noise)| (name.to_owned(), noise))) {
        let cells = [30, 100, 1000].into_iter().flat_map(|max_runs| {
            let rule = StoppingRule { precision: 0.01, min_runs: 6, max_runs };
            let shown = trials(count, seed, |rng, shown| {
                let point = &until_stopped(&rule, &[noise], rng)[0];
                shown.add(interval(point, rule.design()), noise.median(), point.len());
            });
            [cell(&shown), format!("{:.1}", shown.mean_runs())]
        });
        row(std::iter::once(name).chain(cells));
    }
}

fn interval(values: &[f64], design: Design) -> Interval {
    median_interval(values, design).expect("the rule ends no study before six runs")
}

/// Shows the error that the rule prevents: a look after every round, each time with the ordinary
/// interval.
fn peeking(seed: u64, count: usize) {
    table("Looking after every round with ordinary intervals, up to 100", &["noise", "median", "runs"]);
    for (name, noise) in Noise::three(0.02).into_iter().chain([("two speeds 49:51", EVEN)]) {
        let shown = trials(count, seed, |rng, shown| {
            let mut values = noise.runs(6, rng);
            while interval(&values, Design::Fixed).half_width() > 0.01 && values.len() < 100 {
                values.push(noise.draw(rng));
            }
            shown.add(interval(&values, Design::Fixed), noise.median(), values.len());
        });
        row([name.to_owned(), cell(&shown), format!("{:.1}", shown.mean_runs())]);
    }
}

/// Pairs of noises, the first for `base` and the second for `here`.
fn pairs(spread: f64) -> Vec<(&'static str, Noise, Noise)> {
    let [(_, normal), (_, lognormal), (_, bimodal)] = Noise::three(spread);
    let quiet = Noise::Normal { sd: spread / 5.0 };
    let slow = Noise::Bimodal { slow: 0.7, gap: 2.0 * spread, sd: spread / 4.0 };
    vec![
        ("normal, normal", normal, normal),
        ("lognormal, lognormal", lognormal, lognormal),
        ("bimodal, bimodal", bimodal, bimodal),
        ("normal, a fifth of it", normal, quiet),
        ("normal, none", normal, Noise::None),
        ("none, exponential", Noise::None, Noise::Exponential { mean: spread }),
        ("bimodal, none", bimodal, Noise::None),
        ("bimodal 30:70, 70:30", bimodal, slow),
        ("two speeds 49:51, none", EVEN, Noise::None),
        ("two speeds 49:51, 51:49", EVEN, Noise::Bimodal { slow: 0.51, gap: 0.1, sd: 0.002 }),
    ]
}

fn ratios(seed: u64, count: usize) {
    table("Ratio of medians, fixed numbers of runs", &["noise 5%", "runs", "morecores", "bootstrap"]);
    for (name, base, here) in pairs(0.05) {
        for (above, below) in [(6, 6), (7, 7), (10, 10), (30, 30), (6, 30), (100, 100)] {
            let truth = base.median() / here.median();
            let mut resampled = Shown::default();
            let shown = trials(count, seed, |rng, shown| {
                let (base, here) = (base.runs(above, rng), here.runs(below, rng));
                let ours = ratio_interval(&base, &here, Design::Fixed).expect("six or more, positive");
                shown.add(ours, truth, above);
                let drawn = || middle_of_resample(&base, rng) / middle_of_resample(&here, rng);
                resampled.add(percentiles(400, drawn), truth, above);
            });
            row([name.to_owned(), format!("{above}+{below}"), cell(&shown), cell(&resampled)]);
        }
    }
}

fn stopped_ratios(seed: u64, count: usize) {
    let heads = ["noise 2%", "up to", "ratio", "as if fixed", "median of the base", "runs"];
    table("Ratio of medians under the stopping rule, precision 1%", &heads);
    for (name, base, here) in pairs(0.02) {
        for max_runs in [30, 100, 1000] {
            let rule = StoppingRule { precision: 0.01, min_runs: 6, max_runs };
            let truth = base.median() / here.median();
            let (mut fixed, mut single) = (Shown::default(), Shown::default());
            let shown = trials(count, seed, |rng, shown| {
                let points = until_stopped(&rule, &[base, here], rng);
                let ratio = |design| ratio_interval(&points[0], &points[1], design).expect("six or more");
                shown.add(ratio(rule.design()), truth, points[0].len());
                fixed.add(ratio(Design::Fixed), truth, points[0].len());
                single.add(interval(&points[0], rule.design()), base.median(), points[0].len());
            });
            let runs = format!("{:.1}", shown.mean_runs());
            row([name.to_owned(), max_runs.to_string(), cell(&shown), cell(&fixed), cell(&single), runs]);
        }
    }
}

/// Shows runs that are not independent: each run depends on the previous run, or all runs get
/// slower together.
fn dependence(seed: u64, count: usize) {
    let heads = ["runs depend", "10 runs", "30 runs", "100 runs", "rule, up to 100", "runs", "ratio 30+30"];
    table("Normal noise of 2% that is not independent", &heads);
    for (name, memory, drift) in DEPENDENCES {
        let runs = |runs: usize, rng: &mut ChaCha8Rng| dependent(runs, memory, drift, rng);
        let fixed = [10, 30, 100].map(|n| {
            cell(&trials(count, seed, |rng, shown| {
                shown.add(interval(&runs(n, rng), Design::Fixed), 1.0, n);
            }))
        });
        let rule = StoppingRule { precision: 0.01, min_runs: 6, max_runs: 100 };
        let stopped = trials(count, seed, |rng, shown| {
            let all = runs(100, rng);
            let mut rounds = rule.next_look(0);
            while rule.decide(&[&all[..rounds]]) == Decision::Continue {
                rounds = rule.next_look(rounds);
            }
            let truth = 1.0 + drift / 30.0 * (rounds as f64 - 100.0) / 2.0;
            shown.add(interval(&all[..rounds], rule.design()), truth, rounds);
        });
        let ratio = trials(count, seed, |rng, shown| {
            let (base, here) = (runs(30, rng), runs(30, rng));
            shown.add(ratio_interval(&base, &here, Design::Fixed).expect("thirty"), 1.0, 30);
        });
        let rest = [cell(&stopped), format!("{:.1}", stopped.mean_runs()), cell(&ratio)];
        row(std::iter::once(name.to_owned()).chain(fixed).chain(rest));
    }
}

/// Normal noise of 2%, plus a drift of `drift` over 30 runs; each run has the correlation `memory`
/// with the previous run. The true value of a drift is the median at its middle.
fn dependent(runs: usize, memory: f64, drift: f64, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut state = normal(rng);
    let mut run = |i| {
        let value = 1.0 + 0.02 * state + drift / 30.0 * (i as f64 - (runs - 1) as f64 / 2.0);
        state = memory * state + (1.0 - memory * memory).sqrt() * normal(rng);
        value
    };
    (0..runs).map(&mut run).collect()
}

/// Shows the share of samples in which the checks of the assumptions warn.
fn checks(seed: u64, count: usize) {
    let share = |hits: usize| format!("{:.1}%", 100.0 * hits as f64 / count as f64);
    let share_of = |check: &dyn Fn(&mut ChaCha8Rng) -> bool| {
        share((0..count).filter(|&trial| check(&mut support::generator(seed, trial))).count())
    };
    table("Two speeds found", &["noise 2%", "6 runs", "10 runs", "30 runs", "100 runs"]);
    let even = Noise::Bimodal { slow: 0.45, gap: 0.1, sd: 0.005 };
    let others =
        [("exponential", Noise::Exponential { mean: 0.02 }), ("two speeds 45:55", even), ("49:51", EVEN)];
    for (name, noise) in Noise::three(0.02).into_iter().chain(others) {
        let found = [6, 10, 30, 100].map(|runs| share_of(&|rng| two_speeds(&noise.runs(runs, rng))));
        row(std::iter::once(name.to_owned()).chain(found));
    }
    table("Dependence found at 1%", &["runs depend", "10 runs", "30 runs", "100 runs"]);
    for (name, memory, drift) in DEPENDENCES {
        let found = [10, 30, 100].map(|runs| {
            share_of(&|rng| {
                serial_correlation(&dependent(runs, memory, drift, rng))
                    .is_some_and(|found| found.chance < 0.01)
            })
        });
        row(std::iter::once(name.to_owned()).chain(found));
    }
}

/// Shows the share of pairs without a true difference that differ by more than the floor of one
/// sample. It also compares the floor with the true 95% quantile of that difference.
fn floors(seed: u64, count: usize) {
    let heads =
        ["noise 2%", "runs", "floor, mean", "true 95% quantile", "within the floor", "within, both pooled"];
    table("Noise floor", &heads);
    for (name, noise) in Noise::three(0.02).into_iter().chain([("two speeds 49:51", EVEN)]) {
        for runs in [6, 10, 30, 100] {
            let (mut floors, mut pooled, mut differences) = (0.0, 0, Vec::new());
            let shown = trials(count, seed, |rng, shown| {
                let (a, b) = (noise.runs(runs, rng), noise.runs(runs, rng));
                let floor = noise_floor(&a).expect("six or more");
                let same = compare_same(&a, &b, 1).expect("six or more");
                floors += floor;
                pooled += usize::from(same.difference <= same.floor);
                differences.push(same.difference);
                shown.add(Interval { lo: 0.0, hi: floor }, same.difference, runs);
            });
            differences.sort_unstable_by(f64::total_cmp);
            let share = |n: usize| format!("{:.1}%", 100.0 * n as f64 / count as f64);
            row([
                name.to_owned(),
                runs.to_string(),
                format!("{:.4}", floors / count as f64),
                format!("{:.4}", differences[count * 95 / 100]),
                share(shown.held),
                share(pooled),
            ]);
        }
    }
}
