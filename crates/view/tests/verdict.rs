//! Answers to studies whose truth is known, with the shares of wrong answers.

mod studies;

use std::ops::RangeInclusive;

use morecores_study::{Nanos, Stop, Study};
use morecores_view::{Answer, Reason, Verdict, View, view};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use studies::{add_runs, change_surroundings, clean_study, quiet_times, run, seconds, study};

/// Studies simulated for a share of wrong answers.
const STUDIES: u64 = 200;

/// Study of rounds on these counts. The elapsed time of a run is `time(cpus)` with normal noise of
/// the relative standard deviation `noise`.
fn noisy_study(counts: &[u32], rounds: u32, noise: f64, seed: u64, time: impl Fn(u32) -> f64) -> Study {
    let mut made = study(counts);
    made.header.plan.stop =
        Stop { precision: Some(0.01), min_runs: 6, max_runs: 30, max_time: None, budget: None };
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for round in 0..rounds {
        for &cpus in counts {
            // The sum of twelve uniform numbers has a variance of one and is close to normal.
            let normal = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
            let mut made_run = run(&made, cpus, time(cpus) * (1.0 + noise * normal).max(0.05));
            made_run.round = round;
            made.runs.push(made_run);
        }
    }
    made
}

/// Share of the simulated studies whose verdict is of this kind.
fn share(study: impl Fn(u64) -> Study + Sync, is_kind: impl Fn(&Verdict) -> bool + Sync) -> f64 {
    let found = (0..STUDIES).into_par_iter().filter(|seed| is_kind(&view(&study(*seed), &[]).verdict));
    found.count() as f64 / STUDIES as f64
}

fn amdahl(serial: f64) -> impl Fn(u32) -> f64 + Sync {
    move |cpus| serial + (1.0 - serial) / f64::from(cpus)
}

#[test]
fn a_gain_that_noise_hides_is_not_denied() {
    let study = |seed| noisy_study(&[1, 2], 6, 0.2, seed, |cpus| if cpus == 1 { 1.5 } else { 1.0 });
    let denied = share(study, |verdict| verdict.answer == Answer::No);
    assert!(denied <= 0.05, "{denied}");
    let open = share(study, |verdict| verdict.answer == Answer::Unknown && verdict.ci95.is_some());
    assert!(open >= 0.5, "{open}");
}

#[test]
fn no_gain_is_not_promised() {
    let study = |seed| noisy_study(&[1, 2, 4], 6, 0.2, seed, |_| 1.0);
    let promised = share(study, |verdict| verdict.answer == Answer::Yes);
    assert!(promised <= 0.05, "{promised}");
}

#[test]
fn a_bound_just_reached_is_seldom_called_yes_or_no() {
    // On the bound, each answer may be wrong, and each interval errs on either side in 2.5%.
    let study = |seed| noisy_study(&[1, 2], 9, 0.1, seed, |cpus| if cpus == 1 { 1.25 } else { 1.0 });
    let told = share(study, |verdict| verdict.answer != Answer::Unknown);
    assert!(told <= 0.07, "{told}");
}

#[test]
fn too_small_a_count_is_seldom_recommended() {
    const COUNTS: RangeInclusive<u32> = 1..=8;
    let counts: Vec<u32> = COUNTS.collect();
    let speedup = |cpus| 1.0 / amdahl(0.05)(cpus);
    // The smallest count within 5% of the best.
    let enough = COUNTS.into_iter().find(|cpus| speedup(*cpus) >= 0.95 * speedup(8)).unwrap();
    assert_eq!(enough, 8);
    let study = |seed| noisy_study(&counts, 6, 0.1, seed, amdahl(0.05));
    let too_small = share(study, |verdict| verdict.up_to.is_some_and(|cpus| cpus < enough));
    assert!(too_small <= 0.05, "{too_small}");
    let yes = share(study, |verdict| verdict.answer == Answer::Yes);
    assert!(yes >= 0.95, "{yes}");
}

#[test]
fn the_named_rounds_usually_tell() {
    // True gain of 0.4 of a CPU, noise of 10%.
    let study =
        |rounds, seed| noisy_study(&[1, 2], rounds, 0.1, seed, |cpus| if cpus == 1 { 1.4 } else { 1.0 });
    let first = |seed| view(&study(6, seed), &[]).verdict;
    let open: Vec<(u64, u32)> =
        (0..STUDIES).into_par_iter().filter_map(|seed| Some((seed, first(seed).rounds_needed?))).collect();
    assert!(open.len() > 50, "{}", open.len());
    let told = open
        .par_iter()
        .filter(|(seed, rounds)| view(&study(*rounds, *seed), &[]).verdict.answer != Answer::Unknown)
        .count();
    let share = told as f64 / open.len() as f64;
    assert!(share > 0.5, "{share}");
}

fn verdict(study: &Study) -> Verdict {
    view(study, &[]).verdict
}

#[test]
fn an_answer_names_its_count_and_bound() {
    let ideal = verdict(&clean_study(&[1, 2, 4]));
    assert_eq!((ideal.answer, ideal.reason, ideal.cpus), (Answer::Yes, Reason::WorthIt, Some(4)));
    assert_eq!((ideal.up_to, ideal.rounds_needed, ideal.worth), (Some(4), None, 0.25));
    let mut flat = study(&[1, 2, 4, 8]);
    for (cpus, time) in [(1, 8.0), (2, 4.1), (4, 4.0), (8, 4.4)] {
        add_runs(&mut flat, cpus, &quiet_times(time));
    }
    let up_to_two = verdict(&flat);
    assert_eq!((up_to_two.answer, up_to_two.cpus, up_to_two.up_to), (Answer::Yes, Some(2), Some(2)));
    // A CPU must bring itself, which the second one does not.
    flat.header.plan.worth = Some(1.0);
    let strict = verdict(&flat);
    assert_eq!((strict.answer, strict.reason, strict.worth), (Answer::No, Reason::NotWorthIt, 1.0));
    assert_eq!((strict.cpus, strict.up_to), (Some(4), None), "the fastest count");
}

#[test]
fn more_than_a_tenth_taken_leaves_the_question_open() {
    let mut taken = clean_study(&[1, 2]);
    for cpus in [1, 2] {
        assert_eq!(verdict(&taken).answer, Answer::Yes);
        for (share, answer) in [(0.12, Answer::Unknown), (0.08, Answer::Yes)] {
            let steal = seconds(share * 8.0);
            change_surroundings(&mut taken, cpus, |around| around.steal_ns = steal);
            assert_eq!(verdict(&taken).answer, answer, "{cpus} CPUs, {share}");
        }
    }
    change_surroundings(&mut taken, 2, |around| around.throttled_ns = Some(seconds(1.0)));
    let verdict = verdict(&taken);
    assert_eq!((verdict.reason, verdict.rounds_needed), (Reason::CpusTaken, None));
}

/// Study of `rounds` on one and two CPUs, in which others disturb the last ones. The speedup is
/// 1.95 in quiet rounds and 1.1 in disturbed ones.
fn beside_a_neighbour(rounds: u32, disturbed: u32) -> Study {
    let mut made = study(&[1, 2]);
    for round in 0..rounds {
        let is_disturbed = round >= rounds - disturbed;
        let pair = if is_disturbed { [8.0, 8.0 / 1.1] } else { [8.0, 8.0 / 1.95] };
        for (cpus, elapsed) in [1, 2].into_iter().zip(pair) {
            let mut made_run = run(&made, cpus, elapsed * (1.0 + f64::from(round) / 10_000.0));
            if let Some(around) = made_run.surroundings.as_mut().filter(|_| is_disturbed && cpus == 2) {
                around.busy_allotted_ns = around.tree_ns + seconds(0.6 * elapsed);
            }
            made.runs.push(made_run);
        }
    }
    made
}

#[test]
fn the_verdict_is_that_of_the_quiet_rounds() {
    let shown = view(&beside_a_neighbour(9, 3), &[]);
    assert_eq!((shown.verdict.answer, shown.points[1].runs), (Answer::Yes, 6));
    assert!((shown.verdict.speedup.unwrap() - 1.95).abs() < 0.01, "{:?}", shown.verdict);
    assert_eq!(shown.disturbed_rounds, [6, 7, 8]);
    assert!(shown.leaves_out(6) && !shown.leaves_out(5));
    let with_them = shown.verdict_with_disturbed.unwrap();
    assert_eq!((with_them.answer, with_them.reason), (Answer::Unknown, Reason::CpusTaken));
    // Too few quiet rounds for an interval: every round counts.
    let all = view(&beside_a_neighbour(8, 3), &[]);
    assert_eq!((all.verdict.reason, all.verdict_with_disturbed), (Reason::CpusTaken, None));
    assert!(!all.leaves_out(6));
    assert_eq!((all.points[1].runs, all.disturbed_rounds), (8, vec![5, 6, 7]));
    // The plan may count disturbed rounds.
    let mut kept = beside_a_neighbour(9, 3);
    kept.header.plan.keep_disturbed = true;
    let kept = view(&kept, &[]);
    assert_eq!((kept.verdict.reason, kept.points[1].runs), (Reason::CpusTaken, 9));
    assert_eq!((kept.verdict_with_disturbed, kept.disturbed_rounds.len()), (None, 3));
}

#[test]
fn the_times_do_not_choose_the_disturbed_rounds() {
    let made = beside_a_neighbour(9, 3);
    for turn in 0..made.runs.len() {
        let mut turned = made.clone();
        let mut times: Vec<Nanos> = made.runs.iter().map(|run| run.elapsed_ns).collect();
        times.rotate_left(turn);
        turned.runs.iter_mut().zip(times).for_each(|(run, time)| run.elapsed_ns = time);
        assert_eq!(view(&turned, &[]).disturbed_rounds, [6, 7, 8]);
    }
}

#[test]
fn without_an_interval_the_smallest_number_of_rounds_is_named() {
    let mut few = study(&[1, 2]);
    for cpus in [1, 2] {
        add_runs(&mut few, cpus, &[8.0 / f64::from(cpus); 3]);
    }
    let verdict = verdict(&few);
    assert_eq!((verdict.answer, verdict.reason), (Answer::Unknown, Reason::TooFewRuns));
    assert_eq!(verdict.rounds_needed, Some(6));
    let read: View = serde_json::from_str(&serde_json::to_string(&view(&few, &[])).unwrap()).unwrap();
    assert_eq!(read.verdict, verdict);
}
