//! Prints the tables of `docs/methods/measure.md`: the coverage of each interval, and its width.
//!
//!     cargo run --release -p morecores-statistics --example coverage [SEED [TRIALS]]
//!
//! Widths are relative to the true value, which is near 1.
// Printing is the only output of an example.
#![allow(clippy::print_stdout)]

use std::env;

use morecores_statistics::{
    Decision, Design, Disturbances, Interval, StoppingRule, has_two_speeds, median, median_interval,
    noise_floor, paired_ratio_interval, ratio_interval,
};
use morecores_study::RoundValue;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

#[path = "../tests/support/mod.rs"]
mod support;
use support::{
    Noise, RoundNoise, TrialResults, clean_noises, draw_normal, draw_rounds, draw_speedups,
    measure_until_stopped, medians, ratios, rounds_until_answered, rounds_until_stopped, run_trials,
};

/// Draws the runs of a study with a number of rounds and of counts.
type DrawStudy<'a> = dyn Fn(usize, usize, &mut ChaCha8Rng) -> Vec<Vec<RoundValue>> + 'a;

const TWO_EQUAL_SPEEDS: Noise = Noise::Bimodal { slow: 0.49, gap: 0.1, sd: 0.002 };

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
    print_medians(seed, count);
    print_stopped_medians(seed, count);
    print_peeking(seed, count);
    print_ratios(seed, count);
    print_stopped_ratios(seed, count);
    print_rounds(seed, count);
    print_stopped_rounds(seed, count);
    print_answered_rounds(seed, count);
    print_dependence(seed, count);
    print_floors(seed, count);
    print_checks(seed, count);
    print_disturbances(seed, count);
}

/// Text of coverage and half of the mean width, such as `97.1% ±0.0123`.
fn render_cell(results: &TrialResults) -> String {
    format!("{:.1}% ±{:.4}", 100.0 * results.coverage(), results.mean_width() / 2.0)
}

fn print_row(cells: impl IntoIterator<Item = String>) {
    println!("| {} |", cells.into_iter().collect::<Vec<_>>().join(" | "));
}

/// Prints a heading and the head of a Markdown table.
fn print_heading(title: &str, heads: &[&str]) {
    println!("\n### {title}\n");
    print_row(heads.iter().map(|h| (*h).to_owned()));
    print_row(heads.iter().map(|_| "---".to_owned()));
}

fn print_medians(seed: u64, count: usize) {
    print_heading("Median, a fixed number of runs", &["noise 5%", "runs", "order statistics", "bootstrap"]);
    let extra = [("exponential", Noise::Exponential { mean: 0.05 }), ("two speeds 49:51", TWO_EQUAL_SPEEDS)];
    for (name, noise) in Noise::normal_lognormal_bimodal(0.05).into_iter().chain(extra) {
        for runs in [6, 10, 30, 100, 1000] {
            let exact = run_trials(count, seed, |rng, results| {
                let values = noise.draw_runs(runs, rng);
                results.add(
                    median_interval(&values, Design::Fixed).expect("six or more"),
                    noise.median(),
                    runs,
                );
            });
            // 400 draws from 1,000 values cost as much as all other rows; fewer trials show enough.
            let resampled = run_trials(if runs > 100 { count / 10 } else { count }, seed, |rng, results| {
                let values = noise.draw_runs(runs, rng);
                results.add(
                    percentile_interval(400, || resampled_median(&values, rng)),
                    noise.median(),
                    runs,
                );
            });
            print_row([name.to_owned(), runs.to_string(), render_cell(&exact), render_cell(&resampled)]);
        }
    }
}

/// Median of a resample: as many values as the sample has, drawn with replacement.
fn resampled_median(values: &[f64], rng: &mut ChaCha8Rng) -> f64 {
    let drawn: Vec<f64> = values.iter().map(|_| values[rng.random_range(0..values.len())]).collect();
    median(&drawn).expect("as many as there were")
}

/// Middle 95% of `draws` draws: Efron's percentile interval.
fn percentile_interval(draws: usize, draw: impl FnMut() -> f64) -> Interval {
    let mut drawn: Vec<f64> = std::iter::repeat_with(draw).take(draws).collect();
    drawn.sort_unstable_by(f64::total_cmp);
    let tail = draws / 40;
    Interval { lo: drawn[tail], hi: drawn[draws - 1 - tail] }
}

fn print_stopped_medians(seed: u64, count: usize) {
    let heads = ["noise", "up to 30", "runs", "up to 100", "runs", "up to 1000", "runs"];
    print_heading("Median under the stopping rule, precision 1%, one point", &heads);
    let spreads = [0.003, 0.005, 0.008, 0.01, 0.015, 0.02, 0.03, 0.05];
    let three = spreads.iter().flat_map(|&spread| {
        Noise::normal_lognormal_bimodal(spread)
            .map(|(name, noise)| (format!("{name} {:.1}%", 100.0 * spread), noise))
    });
    let others = [
        ("exponential 1%", Noise::Exponential { mean: 0.01 }),
        ("exponential 3%", Noise::Exponential { mean: 0.03 }),
        ("two speeds 45:55, 3% apart", Noise::Bimodal { slow: 0.45, gap: 0.03, sd: 0.005 }),
        ("two speeds 49:51, 10% apart", TWO_EQUAL_SPEEDS),
    ];
    for (name, noise) in three.chain(others.map(|(name, noise)| (name.to_owned(), noise))) {
        let cells = [30, 100, 1000].into_iter().flat_map(|max_runs| {
            let rule = StoppingRule { precision: 0.01, min_runs: 6, max_runs };
            let results = run_trials(count, seed, |rng, results| {
                let point = &measure_until_stopped(&rule, &[noise], rng)[0];
                results.add(expect_interval(point, rule.design()), noise.median(), point.len());
            });
            [render_cell(&results), format!("{:.1}", results.mean_runs())]
        });
        print_row(std::iter::once(name).chain(cells));
    }
}

fn expect_interval(values: &[f64], design: Design) -> Interval {
    median_interval(values, design).expect("the rule ends no study before six runs")
}

/// Shows the error that the rule prevents: a look after every round, each time with the ordinary
/// interval.
fn print_peeking(seed: u64, count: usize) {
    print_heading(
        "Looking after every round with ordinary intervals, up to 100",
        &["noise", "median", "runs"],
    );
    for (name, noise) in
        Noise::normal_lognormal_bimodal(0.02).into_iter().chain([("two speeds 49:51", TWO_EQUAL_SPEEDS)])
    {
        let results = run_trials(count, seed, |rng, results| {
            let mut values = noise.draw_runs(6, rng);
            while expect_interval(&values, Design::Fixed).half_width() > 0.01 && values.len() < 100 {
                values.push(noise.draw(rng));
            }
            results.add(expect_interval(&values, Design::Fixed), noise.median(), values.len());
        });
        print_row([name.to_owned(), render_cell(&results), format!("{:.1}", results.mean_runs())]);
    }
}

/// Pairs of noises, the first for `base` and the second for `here`.
fn noise_pairs(spread: f64) -> Vec<(&'static str, Noise, Noise)> {
    let [(_, normal), (_, lognormal), (_, bimodal)] = Noise::normal_lognormal_bimodal(spread);
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
        ("two speeds 49:51, none", TWO_EQUAL_SPEEDS, Noise::None),
        ("two speeds 49:51, 51:49", TWO_EQUAL_SPEEDS, Noise::Bimodal { slow: 0.51, gap: 0.1, sd: 0.002 }),
    ]
}

fn print_ratios(seed: u64, count: usize) {
    print_heading("Ratio of medians, fixed numbers of runs", &["noise 5%", "runs", "morecores", "bootstrap"]);
    for (name, base, here) in noise_pairs(0.05) {
        for (above, below) in [(6, 6), (7, 7), (10, 10), (30, 30), (6, 30), (100, 100)] {
            let truth = base.median() / here.median();
            let mut resampled = TrialResults::default();
            let results = run_trials(count, seed, |rng, results| {
                let (base, here) = (base.draw_runs(above, rng), here.draw_runs(below, rng));
                let ours = ratio_interval(&base, &here, Design::Fixed).expect("six or more, positive");
                results.add(ours, truth, above);
                let drawn = || resampled_median(&base, rng) / resampled_median(&here, rng);
                resampled.add(percentile_interval(400, drawn), truth, above);
            });
            print_row([
                name.to_owned(),
                format!("{above}+{below}"),
                render_cell(&results),
                render_cell(&resampled),
            ]);
        }
    }
}

fn print_stopped_ratios(seed: u64, count: usize) {
    let heads = ["noise 2%", "up to", "ratio", "as if fixed", "median of the base", "runs"];
    print_heading("Ratio of medians under the stopping rule, precision 1%", &heads);
    for (name, base, here) in noise_pairs(0.02) {
        for max_runs in [30, 100, 1000] {
            let rule = StoppingRule { precision: 0.01, min_runs: 6, max_runs };
            let truth = base.median() / here.median();
            let (mut fixed, mut single) = (TrialResults::default(), TrialResults::default());
            let results = run_trials(count, seed, |rng, results| {
                let points = measure_until_stopped(&rule, &[base, here], rng);
                let ratio = |design| ratio_interval(&points[0], &points[1], design).expect("six or more");
                results.add(ratio(rule.design()), truth, points[0].len());
                fixed.add(ratio(Design::Fixed), truth, points[0].len());
                single.add(expect_interval(&points[0], rule.design()), base.median(), points[0].len());
            });
            let runs = format!("{:.1}", results.mean_runs());
            print_row([
                name.to_owned(),
                max_runs.to_string(),
                render_cell(&results),
                render_cell(&fixed),
                render_cell(&single),
                runs,
            ]);
        }
    }
}

fn print_rounds(seed: u64, count: usize) {
    let heads = ["noise", "rounds", "ratios within rounds", "ratio of medians"];
    print_heading("Speedup, a fixed number of rounds", &heads);
    for (name, noise) in RoundNoise::ALL {
        for rounds in [6, 10, 30, 100] {
            let mut medians = TrialResults::default();
            let paired = run_trials(count, seed, |rng, results| {
                let samples = noise.draw_rounds(rounds, rng);
                let [base, here] = &samples;
                let interval = paired_ratio_interval(&ratios(&samples), Design::Fixed);
                results.add(interval.expect("six or more"), 1.0, rounds);
                let interval = ratio_interval(base, here, Design::Fixed);
                medians.add(interval.expect("six or more"), 1.0, rounds);
            });
            print_row([name.to_owned(), rounds.to_string(), render_cell(&paired), render_cell(&medians)]);
        }
    }
}

fn print_stopped_rounds(seed: u64, count: usize) {
    let heads = ["noise", "precision, up to", "ratios within rounds", "ratio of medians", "rounds"];
    print_heading("Speedup under the stopping rule, of the ratios", &heads);
    for (name, noise) in RoundNoise::ALL {
        for (precision, max_runs) in [(1.0 / 30.0, 30), (0.01, 30), (0.01, 100)] {
            let rule = StoppingRule { precision, min_runs: 6, max_runs };
            let mut medians = TrialResults::default();
            let paired = run_trials(count, seed, |rng, results| {
                let samples = noise.draw_rounds(max_runs, rng);
                let rounds = rounds_until_stopped(&rule, &samples);
                let interval = paired_ratio_interval(&ratios(&samples)[..rounds], rule.design());
                results.add(interval.expect("six or more"), 1.0, rounds);
                let [base, here] = samples.each_ref().map(|sample| &sample[..rounds]);
                let interval = ratio_interval(base, here, rule.design());
                medians.add(interval.expect("six or more"), 1.0, rounds);
            });
            print_row([
                name.to_owned(),
                format!("{:.1}%, {max_runs}", 100.0 * precision),
                render_cell(&paired),
                render_cell(&medians),
                format!("{:.1}", paired.mean_runs()),
            ]);
        }
    }
}

/// Shows the rule that ends when the answer stands beside the rule that ends at the precision.
fn print_answered_rounds(seed: u64, count: usize) {
    const BOUND: f64 = 1.25;
    let heads = ["noise", "speedup", "no", "yes", "coverage", "rounds", "rounds until precise"];
    print_heading("Speedup under the rule that ends when the answer stands, bound 1.25", &heads);
    let rule = StoppingRule::DEFAULT_OF_SPEEDUPS;
    for noise in [0.01, 0.02, 0.05, 0.1, 0.2] {
        for speedup in [1.0, 1.2, BOUND, 1.3, 1.5, 1.95] {
            let (mut no, mut yes) = (0, 0);
            let mut precise = TrialResults::default();
            let answered = run_trials(count, seed, |rng, results| {
                let speedups = draw_speedups(speedup, noise, rule.max_runs, rng);
                let interval = |rounds: usize| {
                    paired_ratio_interval(&speedups[..rounds], rule.design()).expect("six or more")
                };
                let rounds = rounds_until_answered(&rule, &speedups, Some(BOUND));
                no += usize::from(interval(rounds).hi < BOUND);
                yes += usize::from(interval(rounds).lo >= BOUND);
                results.add(interval(rounds), speedup, rounds);
                let rounds = rounds_until_answered(&rule, &speedups, None);
                precise.add(interval(rounds), speedup, rounds);
            });
            let share = |found: usize| format!("{:.1}%", 100.0 * found as f64 / count as f64);
            print_row([
                format!("{:.0}%", 100.0 * noise),
                format!("{speedup:.2}"),
                share(no),
                share(yes),
                render_cell(&answered),
                format!("{:.1}", answered.mean_runs()),
                format!("{:.1}", precise.mean_runs()),
            ]);
        }
    }
}

/// Shows runs that are not independent: each run depends on the previous run, or all runs get
/// slower together.
fn print_dependence(seed: u64, count: usize) {
    let heads = ["runs depend", "10 runs", "30 runs", "100 runs", "rule, up to 100", "runs", "ratio 30+30"];
    print_heading("Normal noise of 2% that is not independent", &heads);
    for (name, memory, drift) in DEPENDENCES {
        let draw_runs = |runs: usize, rng: &mut ChaCha8Rng| dependent_runs(runs, memory, drift, rng);
        let fixed = [10, 30, 100].map(|n| {
            render_cell(&run_trials(count, seed, |rng, results| {
                results.add(expect_interval(&draw_runs(n, rng), Design::Fixed), 1.0, n);
            }))
        });
        let rule = StoppingRule { precision: 0.01, min_runs: 6, max_runs: 100 };
        let stopped = run_trials(count, seed, |rng, results| {
            let all = draw_runs(100, rng);
            let mut rounds = rule.next_look(0);
            while rule.decide(&medians(&[&all[..rounds]])) == Decision::Continue {
                rounds = rule.next_look(rounds);
            }
            let truth = 1.0 + drift / 30.0 * (rounds as f64 - 100.0) / 2.0;
            results.add(expect_interval(&all[..rounds], rule.design()), truth, rounds);
        });
        let ratio = run_trials(count, seed, |rng, results| {
            let (base, here) = (draw_runs(30, rng), draw_runs(30, rng));
            results.add(ratio_interval(&base, &here, Design::Fixed).expect("thirty"), 1.0, 30);
        });
        let rest = [render_cell(&stopped), format!("{:.1}", stopped.mean_runs()), render_cell(&ratio)];
        print_row(std::iter::once(name.to_owned()).chain(fixed).chain(rest));
    }
}

/// Normal noise of 2%, plus a drift of `drift` over 30 runs; each run has the correlation `memory`
/// with the previous run. The true value of a drift is the median at its middle.
fn dependent_runs(runs: usize, memory: f64, drift: f64, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut state = draw_normal(rng);
    let mut run = |i| {
        let value = 1.0 + 0.02 * state + drift / 30.0 * (i as f64 - (runs - 1) as f64 / 2.0);
        state = memory * state + (1.0 - memory * memory).sqrt() * draw_normal(rng);
        value
    };
    (0..runs).map(&mut run).collect()
}

/// Shows the share of samples in which the checks of the assumptions warn.
fn print_checks(seed: u64, count: usize) {
    let share = |hits: usize| format!("{:.1}%", 100.0 * hits as f64 / count as f64);
    let share_of = |check: &dyn Fn(&mut ChaCha8Rng) -> bool| {
        share((0..count).filter(|&trial| check(&mut support::trial_generator(seed, trial))).count())
    };
    print_heading("Two speeds found", &["noise 2%", "6 runs", "10 runs", "30 runs", "100 runs"]);
    let even = Noise::Bimodal { slow: 0.45, gap: 0.1, sd: 0.005 };
    let others = [
        ("exponential", Noise::Exponential { mean: 0.02 }),
        ("two speeds 45:55", even),
        ("49:51", TWO_EQUAL_SPEEDS),
    ];
    for (name, noise) in Noise::normal_lognormal_bimodal(0.02).into_iter().chain(others) {
        let found = [6, 10, 30, 100].map(|runs| share_of(&|rng| has_two_speeds(&noise.draw_runs(runs, rng))));
        print_row(std::iter::once(name.to_owned()).chain(found));
    }
}

/// Shows the share of pairs without a true difference that differ by more than the floor of one
/// sample. It also compares the floor with the true 95% quantile of that difference.
fn print_floors(seed: u64, count: usize) {
    let heads = ["noise 2%", "runs", "floor, mean", "true 95% quantile", "within the floor"];
    print_heading("Noise floor", &heads);
    for (name, noise) in
        Noise::normal_lognormal_bimodal(0.02).into_iter().chain([("two speeds 49:51", TWO_EQUAL_SPEEDS)])
    {
        for runs in [6, 10, 30, 100] {
            let (mut floors, mut differences) = (0.0, Vec::new());
            let results = run_trials(count, seed, |rng, results| {
                let (a, b) = (noise.draw_runs(runs, rng), noise.draw_runs(runs, rng));
                let floor = noise_floor(&a).expect("six or more");
                let [a, b] = [a, b].map(|sample| median(&sample).expect("six or more"));
                let difference = a.max(b) / a.min(b) - 1.0;
                floors += floor;
                differences.push(difference);
                results.add(Interval { lo: 0.0, hi: floor }, difference, runs);
            });
            differences.sort_unstable_by(f64::total_cmp);
            let share = |n: usize| format!("{:.1}%", 100.0 * n as f64 / count as f64);
            print_row([
                name.to_owned(),
                runs.to_string(),
                format!("{:.4}", floors / count as f64),
                format!("{:.4}", differences[count * 95 / 100]),
                share(results.covering),
            ]);
        }
    }
}

/// Shows how often the tests of a whole study find a disturbance, in undisturbed studies and in
/// disturbed ones.
fn print_disturbances(seed: u64, count: usize) {
    let sizes = [(1, 6), (1, 20), (3, 6), (3, 10), (3, 20), (8, 30)];
    let names: Vec<String> = sizes.iter().map(|(counts, rounds)| format!("{counts} × {rounds}")).collect();
    let heads: Vec<&str> =
        std::iter::once("counts × rounds").chain(names.iter().map(String::as_str)).collect();
    let print = |name: &str, draw: &DrawStudy<'_>| {
        let cells = sizes.map(|(counts, rounds)| {
            let mut found = [0_usize; 4];
            for trial in 0..count {
                let runs = draw(counts, rounds, &mut support::trial_generator(seed, trial));
                let disturbances = Disturbances::find(&runs, seed);
                let each = [
                    !(disturbances.drifting.is_empty() && disturbances.dependent.is_empty()),
                    disturbances.has_slow_first_round,
                    disturbances.has_many_outliers,
                ];
                found.iter_mut().zip(each).for_each(|(found, now)| *found += usize::from(now));
                found[3] += usize::from(each.contains(&true));
            }
            let [drift, first, far, any] = found.map(|found| 100.0 * found as f64 / count as f64);
            format!("{any:.1}% ({drift:.1}, {first:.1}, {far:.1})")
        });
        print_row(std::iter::once(name.to_owned()).chain(cells));
    };
    print_heading("Undisturbed studies with an alarm (drift, first round, outliers)", &heads);
    for (common_name, common) in [("", 0.0), (", common factor of 1%", 0.01), (", common factor of 5%", 0.05)]
    {
        for (name, noise) in clean_noises(0.01) {
            print(&format!("{name}{common_name}"), &|counts, rounds, rng| {
                draw_rounds(noise, common, counts, rounds, rng)
            });
        }
    }
    print_heading("Disturbed studies with an alarm (drift, first round, outliers)", &heads);
    let normal = Noise::Normal { sd: 0.01 };
    let disturb = |change: &'static dyn Fn(usize, usize, usize) -> f64| {
        move |counts: usize, rounds: usize, rng: &mut ChaCha8Rng| {
            let mut runs = draw_rounds(normal, 0.0, counts, rounds, rng);
            for (at, runs) in runs.iter_mut().enumerate() {
                runs.iter_mut()
                    .enumerate()
                    .for_each(|(round, run)| run.value *= 1.0 + 0.01 * change(at, round, rounds));
            }
            runs
        }
    };
    print("drift of 2 sd", &disturb(&|_, round, rounds| 2.0 * round as f64 / (rounds - 1) as f64));
    print("drift of 4 sd", &disturb(&|_, round, rounds| 4.0 * round as f64 / (rounds - 1) as f64));
    print(
        "drift of 4 sd, one count",
        &disturb(&|at, round, rounds| if at == 0 { 4.0 * round as f64 / (rounds - 1) as f64 } else { 0.0 }),
    );
    print("step of 2 sd", &disturb(&|_, round, rounds| if 2 * round < rounds { 0.0 } else { 2.0 }));
    print("first round 5 sd slow", &disturb(&|_, round, _| if round == 0 { 5.0 } else { 0.0 }));
    print("first round 10 sd slow", &disturb(&|_, round, _| if round == 0 { 10.0 } else { 0.0 }));
    print(
        "first run of one count 20 sd slow",
        &disturb(&|at, round, _| if at == 0 && round == 0 { 20.0 } else { 0.0 }),
    );
    print(
        "every fifth run 10 sd slow",
        &disturb(&|at, round, _| if (round + 2 * at) % 5 == 3 { 10.0 } else { 0.0 }),
    );
    for correlation in [0.4, 0.8] {
        print(&format!("correlation {correlation} with the round before"), &|counts, rounds, rng| {
            let mut runs = draw_rounds(Noise::None, 0.0, counts, rounds, rng);
            for runs in &mut runs {
                let values = dependent_runs(rounds, correlation, 0.0, rng);
                runs.iter_mut().zip(values).for_each(|(run, value)| run.value = value);
            }
            runs
        });
    }
}
