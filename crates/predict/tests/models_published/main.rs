//! Tests of the closed forms against published measurements: the largest CPU count is left out,
//! predicted, and compared.
//!
//! The bounds were set before the predictions were made. Each is the largest permitted error,
//! relative to the published value.
#![allow(clippy::print_stdout)] // The table, for `--nocapture`.

mod job_model;

use job_model::{JobModel, lock_share, with_share};
use morecores_catalogue::{Percentage, PublishedFacts, PublishedRow};
use morecores_predict::forecast::{Evidence, MeasuredPoint, forecast};
use morecores_predict::models::{Model, Point, Usl, average_models};
use morecores_view::Abstention;

/// Relative error of a printed value. The sources print two or three digits, and this is half of
/// the last digit of a time of some 100 s.
const NOISE: f64 = 0.005;

fn published_facts() -> PublishedFacts {
    PublishedFacts::read().expect("the facts are part of the build")
}

fn row<'p>(published: &'p PublishedFacts, id: &'p str) -> &'p PublishedRow {
    published.rows(id).find(|row| row.id == id).unwrap_or_else(|| panic!("no row {id}"))
}

/// Times of the rows `003.TABLE.…`, for the multiprocessor kernel.
fn times(published: &PublishedFacts, table: &str, cpus: &[u32]) -> Vec<Point> {
    let id =
        |cpus: u32| if cpus == 1 { format!("003.{table}.1CPUSMP") } else { format!("003.{table}.{cpus}CPU") };
    let time = |cpus: u32| row(published, &id(cpus)).elapsed_s().expect("a time");
    cpus.iter().map(|&cpus| Point::new(cpus, time(cpus))).collect()
}

/// Times from speedups, in units of the time on one CPU.
fn speedups(published: &PublishedFacts, test: &str, cpus: &[u32]) -> Vec<Point> {
    let speedup = |cpus: u32| row(published, &format!("004.{test}.{cpus}")).speedup().expect("a speedup");
    let one = (cpus[0] == 1).then(|| Point::new(1, 1.0));
    one.into_iter().chain(cpus[1..].iter().map(|&cpus| Point::new(cpus, 1.0 / speedup(cpus)))).collect()
}

/// Asserts that the prediction from all points but the last is within `bound` of the last point.
fn assert_predicts(label: &str, mut points: Vec<Point>, bound: f64) {
    let largest = points.pop().expect("points");
    let average = average_models(&points, NOISE).expect("a model");
    let error = average.elapsed(largest.cpus) / largest.elapsed - 1.0;
    let share = |candidate: &morecores_predict::models::Candidate| {
        format!("{:?} {:.0}%", candidate.form, 100.0 * candidate.weight)
    };
    let shares: Vec<_> = average.candidates.iter().map(share).collect();
    println!(
        "{label}: {:+.2}% at {} CPUs (at most {:.1}%; {})",
        100.0 * error,
        largest.cpus,
        100.0 * bound,
        shares.join(", ")
    );
    assert!(error.abs() <= bound, "{label}: {error}");
}

#[test]
fn matrix_multiply() {
    let published = published_facts();
    assert_predicts("matrix multiply, 1-3 to 4", times(&published, "T2", &[1, 2, 3, 4]), 0.024);
    assert_predicts("matrix multiply, 1-2 to 4", times(&published, "T2", &[1, 2, 4]), 0.024);
    // The paper prints "less than 0.1" percent, and 254 s and 257 s on one CPU.
    let share = lock_share(0.001, 254.0, 257.0);
    let points = times(&published, "T2", &[1, 2, 3, 4]);
    let error = with_share(&points[..3], share).elapsed(4) / points[3].elapsed - 1.0;
    println!("matrix multiply by the printed share: {:+.2}%", 100.0 * error);
    assert!(error.abs() <= 0.01, "{error}");
}

#[test]
fn parallel_make() {
    let published = published_facts();
    assert_predicts("parallel make, 1-2 to 4", times(&published, "T4", &[1, 2, 4]), 0.03);
    assert_predicts("parallel make, 1-3 to 4", times(&published, "T4", &[1, 2, 3, 4]), 0.015);
}

#[test]
fn waits_for_the_kernel_lock_of_a_parallel_make() {
    let published = published_facts();
    let waiting = |cpus: u32| match row(&published, &format!("003.T4.{cpus}CPU")).waiting_ratio_percent {
        Some(Percentage::Exact(percent)) => Some(percent / 100.0),
        _ => None,
    };
    let known = |cpus: &[u32]| -> Vec<_> {
        times(&published, "T4", cpus).into_iter().map(|point| (point, waiting(point.cpus))).collect()
    };
    let truth = waiting(4).expect("a waiting ratio");
    for from in [&[1, 2][..], &[1, 2, 3]] {
        // `make -j4` runs four jobs at once.
        let found = JobModel::fit(&known(from), 4).expect("waits").waiting_ratio(4);
        let error = found / truth - 1.0;
        println!(
            "waiting ratio of make -j4 from {from:?}: {:.2}%, published {:.2}%",
            100.0 * found,
            100.0 * truth
        );
        assert!(error.abs() <= 0.10, "{error}");
    }
}

#[test]
fn dg_ux_multiuser() {
    let published = published_facts();
    for test in ["T4.avg", "T4.max"] {
        assert_predicts(
            &format!("DG/UX multiuser ({test})"),
            speedups(&published, test, &[1, 2, 4, 8]),
            0.024,
        );
    }
}

#[test]
fn dg_ux_kernel_build() {
    assert_predicts(
        "DG/UX kernel build, parallel part",
        speedups(&published_facts(), "T3.par", &[1, 2, 4, 8]),
        0.024,
    );
}

/// Asserts that the forecast of the largest count from the others gives only a band, and returns
/// its reason.
fn assert_abstains(label: &str, mut points: Vec<Point>, busy_devices: Vec<(String, f64)>) -> Abstention {
    let largest = points.pop().expect("points");
    // The times are printed to 0.01 s.
    let measured = |point: Point| {
        let error = 0.005 / point.elapsed;
        MeasuredPoint {
            cpus: point.cpus,
            elapsed: point.elapsed,
            error,
            speedup_error: error,
            deviation: error,
            work: None,
            kernel: None,
        }
    };
    let points = points.into_iter().map(measured).collect();
    let evidence = Evidence { points, is_time: true, busy_devices, ..Evidence::default() };
    let found = forecast(&evidence, &[largest.cpus]).expect("a prediction");
    let point = &found.points[0];
    let [least, most] = point.elapsed_band90_s.expect("a band of time");
    println!(
        "{label}: abstains; {least:.2} to {most:.2} s at {} CPUs, published {:.2} s",
        largest.cpus, largest.elapsed
    );
    assert!(point.elapsed_s.is_none() && point.speedup.is_none(), "{label}: {point:?}");
    assert!(least <= largest.elapsed && largest.elapsed <= most, "{label}: {point:?}");
    found.abstained.expect("a reason")
}

#[test]
fn web_server() {
    let published = published_facts();
    // According to the source, the network interface was the limit in these tables.
    let wire = || vec![("the wire".to_owned(), 1.0)];
    for table in ["T8", "T9"] {
        let two = assert_abstains(
            &format!("web server ({table}), 1-2 to 4"),
            times(&published, table, &[1, 2, 4]),
            vec![],
        );
        assert!(matches!(two, Abstention::SteepFromTwoPoints { .. }), "{two:?}");
        let counts = [1, 2, 3, 4];
        let all = assert_abstains(
            &format!("web server ({table}), 1-3 to 4"),
            times(&published, table, &counts),
            wire(),
        );
        assert!(matches!(all, Abstention::Saturated { .. }), "{all:?}");
    }
}

/// Compares the mean and worst errors of the average and of a plain law at the largest counts.
#[test]
fn average_beats_the_universal_scalability_law() {
    let published = published_facts();
    let counts = [1, 2, 3, 4];
    let sets = [
        times(&published, "T2", &counts),
        times(&published, "T4", &counts),
        speedups(&published, "T4.avg", &[1, 2, 4, 8]),
        speedups(&published, "T4.max", &[1, 2, 4, 8]),
        speedups(&published, "T3.par", &[1, 2, 4, 8]),
    ];
    let (mut ours, mut law) = (Vec::new(), Vec::new());
    for mut points in sets {
        let largest = points.pop().expect("points");
        let relative_error = |elapsed: f64| (elapsed / largest.elapsed - 1.0).abs();
        ours.push(relative_error(average_models(&points, NOISE).expect("a model").elapsed(largest.cpus)));
        law.push(relative_error(Usl::fit(&points).expect("a fit").elapsed(largest.cpus)));
    }
    let score = |errors: &[f64]| {
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        [mean, errors.iter().copied().fold(0.0, f64::max)]
    };
    let [ours, law] = [score(&ours), score(&law)];
    println!(
        "make, matrix multiply and DG/UX: {:.2}% on average, {:.2}% at worst; the universal scalability law {:.2}%, {:.2}%",
        100.0 * ours[0],
        100.0 * ours[1],
        100.0 * law[0],
        100.0 * law[1]
    );
    assert!(ours[0] < law[0] && ours[1] < law[1], "{ours:?} {law:?}");
}
