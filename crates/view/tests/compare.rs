//! Comparisons of synthetic studies with a known truth: the rate of false differences, and the rate
//! of differences found.

#![allow(clippy::expect_used, reason = "a test may panic")]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use morecores_study::*;
use morecores_testkit::{header, plan, point, run};
use morecores_view::compare::{CompareError, Side, compare};
use morecores_view::view;
use morecores_view::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// CPU counts of each study.
const COUNTS: [u32; 4] = [1, 2, 4, 8];

/// Creates a study with `runs` runs of each count. It models an Amdahl program with one tenth of
/// serial work and 10 s on one CPU. The time is multiplied by `factor` of the count, and has
/// log-normal noise of relative size `noise`.
fn study(runs: usize, noise: f64, factor: impl Fn(u32) -> f64, rng: &mut ChaCha8Rng) -> Study {
    let points: Vec<Point> = COUNTS.iter().map(|cpus| point(*cpus)).collect();
    let stop =
        Stop { precision: None, min_runs: runs as u32, max_runs: runs as u32, max_time: None, budget: None };
    let header = Header {
        host: Host { hostname: "here".into(), ..Host::default() },
        ..header(Plan { stop, ..plan(points) })
    };
    let mut all = Vec::new();
    for round in 0..runs as u32 {
        for point in &header.plan.points {
            let truth = 10.0 * (0.1 + 0.9 / f64::from(point.cpus)) * factor(point.cpus);
            let seconds = truth * (noise * normal(rng)).exp();
            all.push(Run { round, index: all.len() as u32, ..run(point, Nanos((seconds * 1e9) as u64)) });
        }
    }
    Study { header, runs: all, damaged_lines: 0, traces: Vec::new(), damaged_traces: Vec::new() }
}

/// Draws a standard normal number, by Box and Muller.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (a, b): (f64, f64) = (rng.random(), rng.random());
    (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

fn compared(base: &Study, new: &Study) -> Comparison {
    let views = [view(base, &[]), view(new, &[])];
    let side = |name, study, view| Side { name, study, view };
    compare(side("base", base, &views[0]), side("new", new, &views[1]), 0.0)
        .expect("both have the same counts")
}

fn differences(comparison: &Comparison) -> Vec<Difference> {
    let times = comparison.points.iter().map(|point| point.difference);
    times.chain(comparison.points.iter().filter_map(|p| p.speedup).map(|s| s.difference)).collect()
}

/// At most 5% of pairs of identical studies show a difference, over all their ratios together.
#[test]
fn two_studies_of_one_program_rarely_differ() {
    for (runs, noise) in [(9, 0.05), (10, 0.01)] {
        let is_alarm = |seed: u64| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let [base, new] = [0, 1].map(|_| study(runs, noise, |_| 1.0, &mut rng));
            let called = differences(&compared(&base, &new));
            assert_eq!(called.len(), 2 * COUNTS.len() - 1);
            called.iter().any(|d| matches!(d, Difference::Better | Difference::Worse))
        };
        let alarms = (0..200_u64).into_par_iter().filter(|seed| is_alarm(*seed)).count();
        assert!(alarms <= 10, "{alarms} of 200 with {runs} runs and noise of {noise}");
    }
}

/// Six runs of four counts are too few for seven ratios at once, however large the difference.
#[test]
fn too_few_runs_are_unknown_and_not_equal() {
    let mut rng = ChaCha8Rng::seed_from_u64(48);
    let compare_runs = |runs: usize, rng: &mut ChaCha8Rng| {
        let [base, new] = [1.0, 2.0].map(|factor| study(runs, 0.01, |_| factor, rng));
        compared(&base, &new)
    };
    let comparison = compare_runs(8, &mut rng);
    assert_eq!((comparison.ratios, comparison.sufficient_runs), (7, 9));
    assert!(differences(&comparison).iter().all(|d| *d == Difference::Unknown), "{comparison:?}");
    let enough = compare_runs(9, &mut rng);
    assert!(enough.points.iter().all(|point| point.difference == Difference::Worse), "{enough:?}");
}

/// The new study loses 5% on 8 CPUs alone, with 10 runs per count and noise of 1%. The comparison
/// calls the time and the speedup there worse, and nothing else.
#[test]
fn a_loss_of_five_percent_is_found_at_its_count() {
    let judge = |seed: u64| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let base = study(10, 0.01, |_| 1.0, &mut rng);
        let new = study(10, 0.01, |cpus| if cpus == 8 { 1.05 } else { 1.0 }, &mut rng);
        let comparison = compared(&base, &new);
        let (last, rest) = comparison.points.split_last().expect("four counts");
        let slower = last.speedup.is_some_and(|s| s.difference == Difference::Worse);
        let found = last.difference == Difference::Worse && slower;
        (u32::from(found), u32::from(rest.iter().any(|p| p.difference != Difference::None)))
    };
    let (found, elsewhere) =
        (1000..1200_u64).into_par_iter().map(judge).reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    assert!(found >= 190 && elsewhere <= 10, "found in {found} of 200, something else in {elsewhere}");
}

/// The interval of each ratio contains the truth, and each ratio is in its place.
#[test]
fn ratios_are_new_over_base() {
    let mut rng = ChaCha8Rng::seed_from_u64(43);
    let base = study(10, 0.005, |_| 1.0, &mut rng);
    let new = study(10, 0.005, |cpus| if cpus == 1 { 1.2 } else { 0.9 }, &mut rng);
    let comparison = compared(&base, &new);
    let ratios: Vec<Estimate> = comparison.points.iter().map(|p| p.ratio).collect();
    for (ratio, truth) in ratios.iter().zip([1.2, 0.9, 0.9, 0.9]) {
        let [low, high] = ratio.ci95.expect("ten runs");
        assert!(low < truth && truth < high && (ratio.value - truth).abs() < 0.02, "{ratio:?} {truth}");
    }
    let speedups: Vec<ComparedSpeedup> = comparison.points.iter().filter_map(|p| p.speedup).collect();
    assert_eq!(speedups.len(), 3, "of all counts but the smallest");
    for speedup in &speedups {
        assert!((speedup.ratio.value - 1.2 / 0.9).abs() < 0.03, "{speedup:?}");
        assert_eq!(speedup.difference, Difference::Better);
    }
    assert_eq!(comparison.points[0].difference, Difference::Worse);
    assert_eq!(comparison.points[1].difference, Difference::Better);
    assert!(comparison.unlike.is_empty(), "{:?}", comparison.unlike);
}

#[test]
fn studies_that_cannot_be_compared_are_refused() {
    let mut rng = ChaCha8Rng::seed_from_u64(44);
    let base = study(6, 0.01, |_| 1.0, &mut rng);
    let compare_with_base = |new: &Study| {
        let views = [view(&base, &[]), view(new, &[])];
        compare(
            Side { name: "base", study: &base, view: &views[0] },
            Side { name: "new", study: new, view: &views[1] },
            0.0,
        )
    };
    let mut other = base.clone();
    other.runs.clear();
    assert_eq!(compare_with_base(&other), Err(CompareError::NothingMeasured("new".into())));
    other = base.clone();
    other.header.plan.points = vec![Point { cpus: 3, ..point(3) }];
    other.runs.iter_mut().for_each(|run| (run.cpus, run.n) = (3, 3));
    let error = compare_with_base(&other).expect_err("other counts");
    assert_eq!(error, CompareError::NoCommonCount { base: "1,2,4,8".into(), new: "3".into() });
    other = base.clone();
    other.header.plan.metric =
        Some(Metric { name: None, regex: "x".into(), unit: Some("req/s".into()), better: Better::Higher });
    other.runs.iter_mut().for_each(|run| run.metric = Some(1.0));
    let error = compare_with_base(&other).expect_err("other metric").to_string();
    assert!(error.contains("the elapsed time, NEW req/s (more is better)"), "{error}");
}

/// The new study is slower at a size of 50 on 2 CPUs, and lacks a cell. Cells with equal values
/// on all axes are compared, and the speedup of each size has the base of the same size.
#[test]
fn cells_are_compared_by_all_their_axes() {
    let size = |mib: u64| -> Coordinates { [("size_mib".to_owned(), mib.into())].into() };
    let with_sizes = |sizes: &[u64], slower: u64| {
        let mut rng = ChaCha8Rng::seed_from_u64(47);
        let mut all = study(0, 0.0, |_| 1.0, &mut rng);
        let at = |cpus, mib| Point { axes: size(mib), ..point(cpus) };
        let of_sizes = |cpus| sizes.iter().map(move |mib| at(cpus, *mib));
        all.header.plan.points = [1, 2].into_iter().flat_map(of_sizes).collect();
        for round in 0..10 {
            for point in &all.header.plan.points {
                let mib = point.cell().number("size_mib").expect("a size");
                let factor = if mib == slower && point.cpus == 2 { 1.2 } else { 1.0 };
                let seconds = factor * 100.0 / mib as f64 * (0.01 * normal(&mut rng)).exp();
                let run = run(point, Nanos((seconds * 1e9) as u64));
                all.runs.push(Run { round, index: all.runs.len() as u32, ..run });
            }
        }
        all
    };
    let comparison = compared(&with_sizes(&[50, 100], 0), &with_sizes(&[100, 50], 50));
    let cells: Vec<_> = comparison.points.iter().map(|p| (p.cpus, p.axes.clone(), p.difference)).collect();
    let (none, worse) = (Difference::None, Difference::Worse);
    let expected = [(1, size(50), none), (1, size(100), none), (2, size(50), worse), (2, size(100), none)];
    assert_eq!(cells, expected);
    let speedups: Vec<_> = comparison.points.iter().map(|p| p.speedup.map(|s| s.difference)).collect();
    assert_eq!((comparison.ratios, speedups), (6, vec![None, None, Some(worse), Some(none)]));
    assert_eq!(comparison.unlike, []);

    let fewer = compared(&with_sizes(&[50, 100], 0), &with_sizes(&[100], 0));
    assert_eq!(fewer.points.len(), 2);
    let [unlike] = fewer.unlike.as_slice() else { panic!("{:?}", fewer.unlike) };
    let missing = "cpus = 1, n = 1, size_mib = 50; cpus = 2, n = 2, size_mib = 50";
    assert_eq!(
        (unlike.aspect, unlike.base.as_str(), unlike.new.as_str()),
        (Aspect::Cells, missing, "no further cell")
    );

    let (base, new) = (with_sizes(&[50], 0), with_sizes(&[100], 0));
    let views = [view(&base, &[]), view(&new, &[])];
    let side = |name, study, view| Side { name, study, view };
    let error = compare(side("base", &base, &views[0]), side("new", &new, &views[1]), 0.0);
    let base = missing.to_owned();
    assert_eq!(error, Err(CompareError::NoCommonCell { new: base.replace("50", "100"), base }));
}

/// Another machine, another kernel and other CPUs are reported, and the studies are compared
/// nevertheless.
#[test]
fn differences_in_the_making_are_reported() {
    let mut rng = ChaCha8Rng::seed_from_u64(45);
    let base = study(6, 0.01, |_| 1.0, &mut rng);
    let mut new = base.clone();
    new.header.host.hostname = "there".into();
    new.header.host.kernel = "6.18".into();
    new.header.plan.limit = Limit::Cpuset;
    new.header.plan.points[1].cpu_set = [CpuId(0), CpuId(7)].into_iter().collect();
    let comparison = compared(&base, &new);
    let aspects: Vec<Aspect> = comparison.unlike.iter().map(|u| u.aspect).collect();
    assert_eq!(aspects, [Aspect::Machine, Aspect::Kernel, Aspect::Limit, Aspect::CpuSet]);
    assert!(comparison.unlike[3].new.contains("0,7 at 2"), "{:?}", comparison.unlike[3]);
    assert_eq!(comparison.points.len(), 4);
}

#[test]
fn the_environment_and_every_byte_are_part_of_the_command() {
    let mut rng = ChaCha8Rng::seed_from_u64(46);
    let base = study(6, 0.01, |_| 1.0, &mut rng);
    let mismatches = |base: &Study, new: &Study| {
        let unlike = compared(base, new).unlike;
        unlike.into_iter().map(|unlike| (unlike.aspect, unlike.base, unlike.new)).collect::<Vec<_>>()
    };
    assert_eq!(mismatches(&base, &base), []);
    let command = base.header.subject.words().join(" ");
    let mut new = base.clone();
    new.header.plan.env = vec![Variable { name: "V".into(), value: Some("{n}".into()) }];
    assert_eq!(mismatches(&base, &new), [(Aspect::Command, command.clone(), format!("V={{n}} {command}"))]);
    let with = |byte: u8| {
        let mut study = base.clone();
        let word = OsStr::from_bytes(&[byte]).to_owned();
        study.header.subject = Command::Program { argv: vec!["cat".into(), word] };
        study
    };
    let bytes = mismatches(&with(0xfe), &with(0xff));
    assert_eq!(bytes, [(Aspect::Command, r#"cat "\xFE""#.to_owned(), r#"cat "\xFF""#.to_owned())]);
}
