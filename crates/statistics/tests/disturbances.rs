//! Tests of the rate of false alarms of [`Disturbances`], and of what it finds: seeded trials.
//!
//! `cargo run --release -p morecores-statistics --example coverage` prints the whole tables.

use morecores_statistics::Disturbances;
use morecores_study::RoundValue;
use rand_chacha::ChaCha8Rng;

mod support;
use support::{Noise, clean_noises, draw_rounds, trial_generator};

/// Largest number of 1,000 undisturbed studies with an alarm: 1%, and three standard errors.
const MOST_ALARMS: usize = 19;

/// Number of studies in which `is_found` is true of the result; `draw` makes the runs of one.
fn count_found(
    trials: usize,
    draw: impl Fn(&mut ChaCha8Rng) -> Vec<Vec<RoundValue>>,
    is_found: impl Fn(&Disturbances) -> bool,
) -> usize {
    let found = |trial: usize| Disturbances::find(&draw(&mut trial_generator(11, trial)), trial as u64);
    (0..trials).filter(|&trial| is_found(&found(trial))).count()
}

#[test]
fn undisturbed_studies_raise_an_alarm_in_one_percent() {
    for (name, noise) in clean_noises(0.01) {
        for (counts, rounds, common) in [(1, 6, 0.0), (3, 10, 0.0), (3, 10, 0.05), (4, 20, 0.02)] {
            let draw = |rng: &mut ChaCha8Rng| draw_rounds(noise, common, counts, rounds, rng);
            let alarms = count_found(1000, draw, |found| *found != Disturbances::default());
            assert!(alarms <= MOST_ALARMS, "{name}, {counts} × {rounds}, {common}: {alarms} of 1000");
        }
    }
}

#[test]
fn a_drift_and_a_slow_first_round_are_found_in_most_studies() {
    let disturbed = |change: fn(usize) -> f64| {
        move |rng: &mut ChaCha8Rng| {
            let mut runs = draw_rounds(Noise::Normal { sd: 0.01 }, 0.0, 3, 20, rng);
            for (round, run) in runs.iter_mut().flat_map(|runs| runs.iter_mut().enumerate()) {
                run.value += 0.01 * change(round);
            }
            runs
        }
    };
    // A drift of two standard deviations over 20 rounds.
    let drift = disturbed(|round| 2.0 * round as f64 / 19.0);
    let found = count_found(100, drift, |found| !found.drifting.is_empty());
    assert!(found > 50, "drift found in {found} of 100");
    let first = disturbed(|round| if round == 0 { 5.0 } else { 0.0 });
    let found = count_found(100, first, |found| found.has_slow_first_round);
    assert!(found > 90, "a slow first round found in {found} of 100");
}
