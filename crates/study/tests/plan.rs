//! Tests of the runs that a plan adds to those it lists.

use morecores_study::{Coordinates, Plan, Point};
use morecores_testkit::{plan, point};

fn told(points: &[(u32, u32)], predict: &[u32]) -> Vec<(u32, u32)> {
    let points = points.iter().map(|(cpus, n)| Point { n: *n, ..point(*cpus) }).collect();
    let plan = Plan { predict: predict.to_vec(), ..plan(points) };
    plan.oversubscribed().iter().map(|point| (point.cpus, point.n)).collect()
}

#[test]
fn predicted_counts_run_on_the_most_cpus_and_the_largest_count_on_the_fewest() {
    assert_eq!(told(&[(1, 1), (2, 2), (4, 4)], &[8, 16]), [(1, 4), (4, 8), (4, 16)]);
}

#[test]
fn runs_of_the_sweep_are_not_repeated() {
    // A single count is its own back-test.
    assert_eq!(told(&[(2, 2)], &[8]), [(2, 8)]);
    assert_eq!(told(&[(1, 1), (1, 4), (4, 4), (4, 8)], &[8, 16]), [(4, 16)]);
}

#[test]
fn no_needless_run_is_made() {
    assert_eq!(told(&[(1, 1), (2, 2)], &[]), []);
    assert_eq!(told(&[], &[4]), []);
}

#[test]
fn each_value_on_a_further_axis_has_runs_of_its_own() {
    let size = |mib: u64| -> Coordinates { [("size_mib".to_owned(), mib.into())].into() };
    let at = |cpus, mib| Point { axes: size(mib), ..point(cpus) };
    let points = [50, 100].into_iter().flat_map(|mib| [at(1, mib), at(2, mib)]).collect();
    let plan = Plan { predict: vec![8], ..plan(points) };
    let told = |cpus, n, mib| Point { n, ..at(cpus, mib) };
    let expected = [told(1, 2, 50), told(2, 8, 50), told(1, 2, 100), told(2, 8, 100)];
    assert_eq!(plan.oversubscribed(), expected);
}
