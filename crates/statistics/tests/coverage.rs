//! Tests that the 95% intervals hold the true value: 2,000 seeded trials on noise with a known
//! median.
//!
//! `cargo run --release -p morecores-statistics --example coverage` prints the whole tables, with
//! widths.

use morecores_statistics::{Design, StoppingRule, median_interval, paired_ratio_interval, ratio_interval};

mod support;
use support::{
    Noise, RoundNoise, draw_speedups, measure_until_stopped, ratios, rounds_until_answered,
    rounds_until_stopped, run_trials,
};

/// Coverage that the product promises for an interval called 95%.
const PROMISED_COVERAGE: f64 = 0.94;
const TRIALS: usize = 2000;

#[test]
fn median_interval_covers_at_6_10_and_30_runs() {
    for (name, noise) in Noise::normal_lognormal_bimodal(0.05) {
        for runs in [6, 10, 30] {
            let results = run_trials(TRIALS, 1, |rng, results| {
                let values = noise.draw_runs(runs, rng);
                results.add(median_interval(&values, Design::Fixed).unwrap(), noise.median(), runs);
            });
            assert!(results.coverage() >= PROMISED_COVERAGE, "{name}, {runs} runs: {results:?}");
        }
    }
}

/// Covers spreads below, at and above the precision, and a noise with two almost equally likely
/// speeds. That noise is the worst case of a rule that looks after every round with ordinary
/// intervals (81% at 100 runs).
#[test]
fn median_interval_covers_under_the_stopping_rule() {
    let even = Noise::Bimodal { slow: 0.49, gap: 0.1, sd: 0.002 };
    let noises = [0.005, 0.01, 0.02]
        .into_iter()
        .flat_map(Noise::normal_lognormal_bimodal)
        .chain([("two speeds", even)]);
    let rule = StoppingRule { precision: 0.01, min_runs: 6, max_runs: 50 };
    for (name, noise) in noises {
        let results = run_trials(TRIALS, 2, |rng, results| {
            let point = &measure_until_stopped(&rule, &[noise], rng)[0];
            results.add(median_interval(point, rule.design()).unwrap(), noise.median(), point.len());
        });
        assert!(results.coverage() >= PROMISED_COVERAGE, "{name} {noise:?}: {results:?}");
    }
}

/// Runs a quarter of the trials, because a ratio is slow to compute without optimisation; the
/// example runs all trials.
#[test]
fn ratio_interval_covers_at_6_10_and_30_runs() {
    for (name, noise) in Noise::normal_lognormal_bimodal(0.05) {
        for runs in [6, 10, 30] {
            let results = run_trials(TRIALS / 4, 3, |rng, results| {
                let (base, here) = (noise.draw_runs(runs, rng), noise.draw_runs(runs, rng));
                results.add(ratio_interval(&base, &here, Design::Fixed).unwrap(), 1.0, runs);
            });
            assert!(results.coverage() >= PROMISED_COVERAGE, "{name}, {runs} runs: {results:?}");
        }
    }
}

#[test]
fn speedup_interval_covers_at_6_to_100_rounds() {
    for (name, noise) in RoundNoise::ALL {
        for rounds in [6, 10, 30, 100] {
            let results = run_trials(4 * TRIALS, 4, |rng, results| {
                let ratios = ratios(&noise.draw_rounds(rounds, rng));
                results.add(paired_ratio_interval(&ratios, Design::Fixed).unwrap(), 1.0, rounds);
            });
            assert!(results.coverage() >= PROMISED_COVERAGE, "{name}, {rounds} rounds: {results:?}");
        }
    }
}

/// Covers precisions at which the rule stops early, late and at the maximum.
#[test]
fn speedup_interval_covers_under_the_stopping_rule() {
    for (name, noise) in RoundNoise::ALL {
        for (precision, max_runs) in [(1.0 / 30.0, 30), (0.015, 30), (0.01, 100)] {
            let rule = StoppingRule { precision, min_runs: 6, max_runs };
            let results = run_trials(TRIALS, 5, |rng, results| {
                let samples = noise.draw_rounds(max_runs, rng);
                let rounds = rounds_until_stopped(&rule, &samples);
                let interval = paired_ratio_interval(&ratios(&samples)[..rounds], rule.design()).unwrap();
                results.add(interval, 1.0, rounds);
            });
            assert!(results.coverage() >= PROMISED_COVERAGE, "{name}, {precision}: {results:?}");
        }
    }
}

/// Covers rounds that end when the answer stands, for true speedups below, at and above the bound.
#[test]
fn an_early_answer_is_seldom_wrong_and_its_interval_covers() {
    const BOUND: f64 = 1.25;
    let rule = StoppingRule::DEFAULT_OF_SPEEDUPS;
    for noise in [0.01, 0.05, 0.2] {
        for speedup in [1.0, 1.2, BOUND, 1.3, 1.95] {
            let (mut no, mut yes) = (0, 0);
            let results = run_trials(TRIALS, 7, |rng, results| {
                let speedups = draw_speedups(speedup, noise, rule.max_runs, rng);
                let rounds = rounds_until_answered(&rule, &speedups, Some(BOUND));
                let interval = paired_ratio_interval(&speedups[..rounds], rule.design()).unwrap();
                no += usize::from(interval.hi < BOUND);
                yes += usize::from(interval.lo >= BOUND);
                results.add(interval, speedup, rounds);
            });
            let name = format!("noise {noise}, speedup {speedup}");
            assert!(results.coverage() >= PROMISED_COVERAGE, "{name}: {results:?}");
            assert!(speedup < BOUND || no <= TRIALS / 20, "{name}: {no} wrong no");
            assert!(speedup > BOUND || yes <= TRIALS / 20, "{name}: {yes} wrong yes");
        }
    }
}

/// Compares mean widths with those of the ratio of medians, over a few trials.
#[test]
fn pairs_are_far_narrower_with_a_common_factor_and_hardly_wider_without() {
    for (name, noise) in RoundNoise::ALL {
        let [paired, unpaired] = [true, false].map(|is_paired| {
            run_trials(40, 6, |rng, results| {
                let samples = noise.draw_rounds(10, rng);
                let [base, here] = &samples;
                let interval = match is_paired {
                    true => paired_ratio_interval(&ratios(&samples), Design::Fixed),
                    false => ratio_interval(base, here, Design::Fixed),
                };
                results.add(interval.unwrap(), 1.0, 10);
            })
        });
        let narrower = unpaired.mean_width() / paired.mean_width();
        let least = if matches!(noise, RoundNoise::CommonFactor) { 5.0 } else { 1.0 / 1.2 };
        assert!(narrower >= least, "{name}: {narrower}");
    }
}
