//! Figures of the views of studies with a known truth.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

mod studies;

use morecores_statistics::{Decision, Rounds};
use morecores_study::*;
use morecores_view::view;
use morecores_view::*;
use studies::{add_runs, clean_study, cpu, point, program, quiet_times, run, seconds, study};

fn assert_close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value} instead of {expected}");
}

#[test]
fn a_kernel_build_on_two_cpus() {
    // 104 s on one CPU and 70 s on two: the second CPU is used to 65%.
    let mut study = study(&[1, 2]);
    add_runs(&mut study, 1, &[104.0]);
    add_runs(&mut study, 2, &[70.0]);
    let view = view(&study, &[]);
    let [one, two] = &view.points[..] else { panic!("{} points", view.points.len()) };
    assert_close(1.0 - two.serial_fraction.unwrap(), 34.0 / 52.0);
    assert_eq!(((1.0 - two.serial_fraction.unwrap()) * 100.0).round(), 65.0);
    assert_close(two.speedup.value, 104.0 / 70.0);
    assert_close(two.efficiency, 52.0 / 70.0);
    assert_eq!((two.speedup.ci95, two.serial_fraction_ci95, two.noise_floor), (None, None, None));
    assert_eq!((one.speedup.value, one.efficiency, one.serial_fraction), (1.0, 1.0, None));
    assert_eq!(view.schema, VIEW_SCHEMA);
}

#[test]
fn medians_intervals_and_extremes() {
    let mut study = study(&[1, 4]);
    add_runs(&mut study, 1, &[8.0, 9.0, 7.0, 10.0, 11.0, 12.0]);
    add_runs(&mut study, 4, &[2.0, 2.0, 2.0, 2.0, 2.0, 3.0]);
    let view = view(&study, &[]);
    let (one, four) = (&view.points[0], &view.points[1]);
    let Summary { median, mean, min, max, ci95 } = one.elapsed_s;
    assert_eq!((median, mean, min, max), (9.5, 9.5, 7.0, 12.0));
    assert_eq!(ci95, Some([7.0, 12.0]), "six runs: their range");
    assert_eq!(four.elapsed_s.median, 2.0);
    assert_eq!(one.speedup.ci95, Some([1.0, 1.0]), "a point is exactly once itself");
    assert_close(four.speedup.value, 4.25);
    let [low, high] = four.speedup.ci95.unwrap();
    assert!((3.5..4.25).contains(&low) && (4.25..5.5).contains(&high), "{low} to {high}");
    let [low, high] = four.serial_fraction_ci95.unwrap();
    let serial = four.serial_fraction.unwrap();
    assert!(low <= serial && serial <= high && serial < 0.0, "superlinear: {low}, {serial}, {high}");
    assert!(one.noise_floor.unwrap() > 0.1 && four.noise_floor.unwrap() >= 0.0);
}

/// Creates a view of runs of 10 s that print a metric.
fn with_metric(better: Better, one: f64, four: f64) -> View {
    let mut study = study(&[1, 4]);
    study.header.plan.metric =
        Some(Metric { name: None, regex: "x".into(), unit: Some("ops/s".into()), better });
    for (cpus, figure) in [(1, one), (4, four)] {
        for value in quiet_times(figure) {
            let run = Run { metric: Some(value), ..run(&study, cpus, 10.0) };
            study.runs.push(run);
        }
    }
    view(&study, &[])
}

#[test]
fn a_rate_speeds_up_as_it_rises_and_a_cost_as_it_falls() {
    let rate = with_metric(Better::Higher, 100.0, 250.0);
    let metric = rate.points[1].metric.as_ref().unwrap();
    assert_eq!((metric.unit.as_deref(), metric.better), (Some("ops/s"), Better::Higher));
    assert_close(metric.summary.median, 250.0);
    assert_close(rate.points[1].speedup.value, 2.5);
    assert_close(rate.points[1].efficiency, 0.625);
    assert_close(rate.points[1].elapsed_s.median, 10.0);
    assert_close(with_metric(Better::Lower, 100.0, 40.0).points[1].speedup.value, 2.5);
    assert!(with_metric(Better::Lower, 100.0, 250.0).points[1].speedup.value < 0.5);
    assert_eq!(rate.points[0].elapsed_s.ci95, Some([10.0, 10.0]));
}

#[test]
fn the_kernel_ratio_is_that_of_the_sums() {
    let mut study = study(&[1]);
    // The mean of the two ratios would be 1/2.
    for (user, system) in [(9.0, 1.0), (0.1, 0.9)] {
        let run = Run { cpu: cpu(user, system, CpuEstimator::Cgroup), ..run(&study, 1, 10.0) };
        study.runs.push(run);
    }
    let view = view(&study, &[]);
    assert_close(view.points[0].kernel_ratio.unwrap(), 1.9 / 11.0);
    assert_close(view.points[0].cpu_percent, 55.0);
    assert_eq!(view.points[0].kernel_ratio_estimator, CpuEstimator::Cgroup);
}

/// Creates a point of forty runs of 4 ms, one tick each; three of four ticks hit user mode.
fn one_tick_runs(estimator: CpuEstimator) -> PointView {
    let mut study = study(&[1]);
    for index in 0..40 {
        let (user, system) = if index % 4 == 0 { (0.0, 0.004) } else { (0.004, 0.0) };
        let run = Run { cpu: cpu(user, system, estimator), ..run(&study, 1, 0.004) };
        study.runs.push(run);
    }
    view(&study, &[]).points.remove(0)
}

#[test]
fn short_runs_are_split_by_all_their_ticks_together() {
    for estimator in [CpuEstimator::Cgroup, CpuEstimator::CgroupV1, CpuEstimator::Taskstats] {
        let point = one_tick_runs(estimator);
        assert_close(point.kernel_ratio.unwrap(), 0.25);
        for of in [point.user_s.median, point.user_s.min, point.user_s.max] {
            assert_close(of, 0.003);
        }
        assert_close(point.system_s.median, 0.001);
        assert_eq!(point.kernel_ratio_estimator, estimator);
    }
    // The kernel scales the times of `getrusage`, which are no tick count, so single values stay.
    let point = one_tick_runs(CpuEstimator::Getrusage);
    assert_eq!((point.user_s.median, point.system_s.median, point.system_s.max), (0.004, 0.0, 0.004));
}

#[test]
fn long_runs_keep_their_own_split() {
    let mut study = study(&[1]);
    for (user, system) in [(1.0, 1.0), (1.0, 0.2), (1.0, 0.2)] {
        let run = Run { cpu: cpu(user, system, CpuEstimator::Cgroup), ..run(&study, 1, 2.0) };
        study.runs.push(run);
    }
    let point = &view(&study, &[]).points[0];
    assert_eq!((point.user_s.median, point.system_s.median, point.system_s.max), (1.0, 0.2, 1.0));
}

#[test]
fn a_point_names_the_least_accurate_estimator() {
    let mut study = clean_study(&[1]);
    study.runs[2].cpu.estimator = CpuEstimator::Taskstats;
    assert_eq!(view(&study, &[]).points[0].kernel_ratio_estimator, CpuEstimator::Taskstats);
    study.runs[5].cpu.estimator = CpuEstimator::Getrusage;
    assert_eq!(view(&study, &[]).points[0].kernel_ratio_estimator, CpuEstimator::Getrusage);
}

#[test]
fn no_cpu_time_has_no_kernel_ratio() {
    let mut study = clean_study(&[1]);
    study.runs.iter_mut().for_each(|run| run.cpu = cpu(0.0, 0.0, CpuEstimator::Cgroup));
    let point = &view(&study, &[]).points[0];
    assert_eq!((point.kernel_ratio, point.user_s.median, point.cpu_percent), (None, 0.0, 0.0));
}

#[test]
fn warm_up_and_failed_runs_are_in_no_figure() {
    let mut made = clean_study(&[1, 2]);
    let expected = view(&made, &[]).points;
    let failures =
        [Exit::Code(1), Exit::Signal(9), Exit::TimedOut].map(|exit| Run { exit, ..run(&made, 2, 0.001) });
    let warm_up = Run { phase: Phase::Warmup, ..run(&made, 1, 1000.0) };
    made.runs.splice(3..3, failures);
    made.runs.insert(0, warm_up);
    let points = view(&made, &[]).points;
    assert_eq!((points[0].failed_runs, points[1].failed_runs, points[1].runs), (0, 3, 8));
    assert_eq!(points[1].elapsed_s, expected[1].elapsed_s);
    assert_eq!(points[0], expected[0]);
}

#[test]
fn a_base_of_two_cpus_has_speedups_but_no_serial_fraction() {
    let view = view(&clean_study(&[2, 8]), &[]);
    let eight = &view.points[1];
    assert_close(eight.speedup.value, 4.0);
    assert_close(eight.efficiency, 1.0);
    assert_eq!((eight.serial_fraction, eight.serial_fraction_ci95), (None, None));
    assert_eq!((view.points[0].speedup.value, view.points[0].efficiency), (1.0, 1.0));
}

#[test]
fn one_point_is_its_own_base() {
    let view = view(&clean_study(&[4]), &[]);
    assert_eq!(view.points.len(), 1);
    assert_eq!(view.points[0].speedup, Estimate { value: 1.0, ci95: Some([1.0, 1.0]) });
    assert_eq!((view.points[0].efficiency, view.points[0].serial_fraction), (1.0, None));
}

/// Each round has its own speed; the speedup of every round is 2 within 1%.
#[test]
fn the_speedup_is_that_of_the_rounds() {
    let mut made = study(&[1, 2]);
    let speeds = [1.0, 1.4, 0.8, 1.9, 1.2, 1.0, 1.7, 0.9];
    add_runs(&mut made, 1, &speeds.map(|speed| 8.0 * speed));
    add_runs(&mut made, 2, &speeds.map(|speed| 4.0 * speed));
    made.runs.last_mut().unwrap().elapsed_ns = seconds(3.63);
    let two = &view(&made, &[]).points[1];
    let [low, high] = two.speedup.ci95.unwrap();
    assert_eq!(two.speedup.value, 2.0);
    assert!(low > 1.97 && high < 2.01, "{low} to {high}");
}

#[test]
fn each_run_has_its_speedup_within_the_round() {
    let mut made = study(&[1, 2]);
    add_runs(&mut made, 1, &[8.0, 12.0]);
    add_runs(&mut made, 2, &[4.0, 4.0]);
    let by_run = |made: &Study| {
        let timed = made.runs.iter().filter(|run| run.phase == Phase::Timed);
        timed.map(|run| run.cpus).zip(timed_run_speedups(made)).collect::<Vec<_>>()
    };
    let one = (1, Some(1.0));
    assert_eq!(by_run(&made), [one, one, (2, Some(2.0)), (2, Some(3.0))]);
    made.runs[1].exit = Exit::Code(1);
    assert_eq!(by_run(&made), [one, (1, None), (2, Some(2.0)), (2, None)]);
}

#[test]
fn more_rounds_are_needed_only_below_the_precision() {
    let needed = |precision| {
        let mut made = clean_study(&[1, 2]);
        made.header.plan.stop.precision = precision;
        made.runs[0].elapsed_ns = seconds(8.2);
        view(&made, &[]).rounds_until_precise
    };
    assert_eq!((needed(None), needed(Some(0.05))), (None, None));
    let [some, many] = [0.01, 0.003].map(|precision| needed(Some(precision)).unwrap());
    assert!(some > 8 && many > 5 * some, "{some} and {many}");
}

#[test]
fn a_base_without_a_successful_run_is_replaced_by_the_next_count() {
    let mut made = clean_study(&[1, 2, 4]);
    made.runs.iter_mut().filter(|run| run.cpus == 1).for_each(|run| run.exit = Exit::Code(2));
    let view = view(&made, &[]);
    assert_eq!(view.points.iter().map(|p| p.cpus).collect::<Vec<_>>(), [2, 4]);
    assert_eq!((view.points[0].speedup.value, view.points[1].serial_fraction), (1.0, None));
    assert_close(view.points[1].speedup.value, 2.0);
}

#[test]
fn counts_without_a_successful_run_have_no_points() {
    let empty = view(&study(&[1, 2]), &[]);
    assert!(empty.points.is_empty() && empty.warnings.is_empty(), "{:?}", empty.warnings);
    let mut failed = clean_study(&[1, 2]);
    failed.runs.iter_mut().for_each(|run| run.exit = Exit::Signal(11));
    let failed = view(&failed, &[]);
    assert!(failed.points.is_empty());
    let failures = vec![FailureCount { how: Failure::Signal(11), count: 8 }];
    let count =
        |cpus| Warning::FailedRuns { cpus, count: 8, failures: failures.clone(), success: [0].into() };
    assert_eq!(failed.warnings, [count(1), count(2)]);
}

#[test]
fn one_cpu_count_may_have_several_n() {
    let mut made = study(&[]);
    made.header.plan.points = vec![point(2, 1), point(2, 2), point(4, 4)];
    for (cpus, n, elapsed) in [(2, 1, 8.0), (2, 2, 5.0), (4, 4, 2.5)] {
        for (round, elapsed) in (0..).zip(quiet_times(elapsed)) {
            // The threads are busy, whatever the number of CPUs.
            let busy = cpu(elapsed * f64::from(n) * 0.9, elapsed * f64::from(n) * 0.1, CpuEstimator::Cgroup);
            let run = Run { n, round, cpu: busy, ..run(&made, cpus, elapsed) };
            made.runs.push(run);
        }
    }
    let view = view(&made, &[]);
    let found: Vec<_> = view.points.iter().map(|p| (p.cpus, p.n, p.runs)).collect();
    assert_eq!(found, [(2, 1, 8), (2, 2, 8), (4, 4, 8)]);
    assert_close(view.points[1].speedup.value, 1.6);
    assert_close(view.points[1].efficiency, 1.6);
    assert_close(view.points[2].speedup.value, 3.2);
    assert_close(view.points[2].efficiency, 1.6);
    // Two is best on two CPUs, and the verdict compares four CPUs with that.
    let [ranking] = &view.rankings[..] else { panic!("{:?}", view.rankings) };
    assert_eq!((ranking.cpus, ranking.best, ranking.values.len()), (2, 2, 2));
    assert_close(ranking.values[0].lead.value, 1.6);
    assert!(!ranking.values[0].may_be_best && ranking.values[1].may_be_best);
    assert_close(view.verdict.speedup.unwrap(), 2.0);
    let over_cpus = view.at_best_n();
    let points: Vec<_> = over_cpus.points.iter().map(|p| (p.cpus, p.n, p.speedup.value)).collect();
    assert_eq!(points.len(), 2);
    assert_eq!((points[0], points[1].0), ((2, 2, 1.0), 4));
    assert_close(points[1].2, 2.0);
}

/// Of several values of `{n}` the best is traced, and one for each CPU.
#[test]
fn the_best_n_and_one_for_each_cpu_are_traced() {
    let mut made = study(&[]);
    made.header.plan.points = vec![point(1, 1), point(2, 1), point(2, 2), point(2, 3), point(2, 4)];
    for (cpus, n, elapsed) in [(1, 1, 8.0), (2, 1, 8.0), (2, 2, 5.0), (2, 3, 4.5), (2, 4, 5.5)] {
        for (round, elapsed) in (0..).zip(quiet_times(elapsed)) {
            let run = Run { n, round, ..run(&made, cpus, elapsed) };
            made.runs.push(run);
        }
    }
    let plan = &made.header.plan;
    let traced = |runs: &[&Run]| -> Vec<(u32, u32)> {
        traced_points(plan, runs).iter().map(|point| (point.cpus, point.n)).collect()
    };
    assert_eq!(traced(&made.runs.iter().collect::<Vec<_>>()), [(1, 1), (2, 2), (2, 3)]);
    assert_eq!(traced(&[]), [(1, 1), (2, 1), (2, 2)], "the first stands for the best");
}

/// A search makes few runs of most values, and says how sure it is of its best.
#[test]
fn a_search_has_its_certainty_in_place_of_intervals() {
    let mut made = study(&[]);
    made.header.plan.points = [1, 2, 3].map(|n| point(2, n)).into();
    made.header.plan.goal = Goal::Tune;
    made.header.plan.stop.max_runs = 12;
    let times = [(1, &[8.0, 8.1][..]), (2, &[5.0, 5.1, 5.0, 5.05]), (3, &[5.05, 5.1, 5.1, 5.1])];
    for (n, times) in times {
        for (round, elapsed) in (0..).zip(times) {
            let run = Run { n, round, ..run(&made, 2, *elapsed) };
            made.runs.push(run);
        }
    }
    let view = view(&made, &[]);
    let [ranking] = &view.rankings[..] else { panic!("{:?}", view.rankings) };
    let search = ranking.search.expect("a search");
    assert_eq!((ranking.best, search.runs, search.grid_runs), (2, 10, 36));
    assert!((0.5..1.0).contains(&search.probability) && search.probability_as_good > 0.95, "{search:?}");
    let candidates: Vec<bool> = ranking.values.iter().map(|value| value.may_be_best).collect();
    assert_eq!(candidates, [false, true, true]);
    assert!(ranking.values[0].lead.ci95.is_some_and(|[low, high]| low > 1.4 && high < 1.8));
    assert!(!view.warnings.iter().any(|w| matches!(w, Warning::TooFewRuns { .. })), "{:?}", view.warnings);
}

/// The rounds end when the best is known, and that needs an interval for each other value.
#[test]
fn the_rounds_of_several_n_ask_which_is_best() {
    let mut made = study(&[]);
    made.header.plan.points = [1, 2, 3, 4].map(|n| point(2, n)).into();
    made.header.plan.stop =
        Stop { precision: Some(0.03), min_runs: 6, max_runs: 30, max_time: None, budget: None };
    let rule = round_rule(&made.header.plan);
    let runs = |elapsed: f64, rounds: u32| -> Vec<RoundValue> {
        (0..rounds).map(|round| RoundValue { round, value: elapsed }).collect()
    };
    let decide = |rounds: u32| {
        let samples = [2.0, 1.0, 1.001, 1.5].map(|elapsed| runs(elapsed, rounds));
        let none = std::collections::BTreeSet::new();
        rule.decide(&Rounds { made: rounds, samples: &samples, disturbed: &none })
    };
    // Six rounds leave too little of the error to each of three comparisons.
    assert_eq!((decide(6), decide(14)), (Decision::Continue, Decision::Answered));
}

#[test]
fn counters_are_medians_and_unread_ones_are_absent() {
    let mut made = clean_study(&[1]);
    for (index, run) in made.runs.iter_mut().enumerate() {
        run.rusage.minor_faults = 100 + index as u64;
        run.rusage.block_read_bytes = Bytes(4096);
        run.tree.swapped_in_pages = (index < 4).then_some(index as u64);
    }
    made.runs[0].tree.block_read_bytes = Some(Bytes(1 << 20));
    let point = &view(&made, &[]).points[0];
    assert_eq!((point.minor_faults, point.block_read_bytes, point.major_faults), (103.5, 4096.0, 0.0));
    assert_eq!((point.swapped_in_pages, point.swapped_out_pages), (Some(1.5), None));
    assert_eq!((point.max_rss_bytes, point.max_rss_is_bound, point.tree_peak_bytes), (1 << 30, false, None));
    assert_eq!(
        (point.steal_s, point.throttled_s, point.others_elsewhere_s),
        (Some(0.0), Some(0.0), Some(0.0))
    );

    for run in &mut made.runs {
        run.max_rss_floor_bytes = Bytes((1 << 30) - 4096);
        run.surroundings = None;
        run.tree.peak_memory_bytes = Some(Bytes(7));
    }
    let point = &view(&made, &[]).points[0];
    assert_eq!((point.max_rss_is_bound, point.tree_peak_bytes), (true, Some(7)));
    assert_eq!((point.steal_s, point.throttled_s, point.others_allotted_s), (None, None, None));
}

#[test]
fn other_programs_are_the_time_beyond_the_tree_and_morecores() {
    let mut made = clean_study(&[2]);
    studies::change_surroundings(&mut made, 2, |s| {
        s.busy_allotted_ns = s.tree_ns + seconds(0.5);
        s.own_ns = seconds(0.1);
        s.busy_elsewhere_ns = seconds(0.25);
        s.steal_ns = seconds(0.125);
    });
    let point = &view(&made, &[]).points[0];
    assert_close(point.others_allotted_s.unwrap(), 8.0 * 0.4);
    assert_close(point.others_elsewhere_s.unwrap(), 2.0);
    assert_close(point.steal_s.unwrap(), 1.0);
    // Coarse clocks may show less busy time than the tree used.
    studies::change_surroundings(&mut made, 2, |s| s.busy_allotted_ns = Nanos::ZERO);
    assert_eq!(view(&made, &[]).points[0].others_allotted_s, Some(0.0));
}

#[test]
fn devices_are_busy_for_a_share_of_all_runs() {
    let mut made = clean_study(&[1, 2]);
    let two = made.runs.iter().filter(|run| run.cpus == 2).count() as f64;
    let busy = |name: &str, time| DeviceTime { name: name.to_owned(), busy_ns: seconds(time) };
    studies::change_surroundings(&mut made, 2, |s| {
        (s.covers_ns, s.devices) = (seconds(4.0), vec![busy("vda", 1.0)])
    });
    let first = made.runs.iter_mut().find(|run| run.cpus == 2).and_then(|run| run.surroundings.as_mut());
    first.unwrap().devices.push(busy("eth0", 2.0));
    let points = view(&made, &[]).points;
    let [(vda, share), (eth0, small)] = &points[1].busy_devices[..] else { panic!("{points:?}") };
    assert_eq!((vda.as_str(), eth0.as_str()), ("vda", "eth0"));
    assert_close(*share, 0.25);
    assert_close(*small, 0.5 / two);
    assert!(points[0].busy_devices.is_empty());
}

#[test]
fn a_requested_precision_gives_the_intervals_of_a_sequential_design() {
    let mut made = study(&[1]);
    add_runs(&mut made, 1, &(0..20).map(|i| 10.0 + 0.01 * f64::from(i * 7 % 20)).collect::<Vec<_>>());
    let width =
        |made: &Study| view(made, &[]).points[0].elapsed_s.ci95.map(|[low, high]| high - low).unwrap();
    let fixed = width(&made);
    made.header.plan.stop.precision = Some(0.5);
    assert!(width(&made) > fixed, "looking again costs width");
}

#[test]
fn the_command_has_the_words_of_the_user() {
    let mut made = clean_study(&[1]);
    made.header.subject = program("xz -T{n} file");
    assert_eq!(view(&made, &[]).command, ["xz", "-T{n}", "file"]);
}

/// Each value on a further axis has its own curve.
#[test]
fn counts_are_compared_with_counts_of_equal_further_axes() {
    let mut study = study(&[]);
    let size = |mib: u64| -> Coordinates { [("size_mib".to_owned(), AxisValue::Number(mib))].into() };
    for (cpus, mib, elapsed) in [(1, 50, 8.0), (1, 100, 4.0), (2, 50, 4.0), (2, 100, 1.0)] {
        let point = Point { axes: size(mib), ..point(cpus, cpus) };
        study.runs.push(morecores_testkit::run(&point, seconds(elapsed)));
        study.header.plan.points.push(point);
    }
    let view = view(&study, &[]);
    let speedups: Vec<f64> = view.points.iter().map(|point| point.speedup.value).collect();
    assert_eq!(speedups, [1.0, 1.0, 2.0, 4.0]);
    assert_eq!(view.points[3].axes, size(100));
}

/// A quota is compared with the largest one, and speedups are over the smallest.
#[test]
fn quotas_are_compared_with_the_largest() {
    let mut made = study(&[]);
    let quotas = [(50, 8.0), (100, 4.06), (200, 4.0)];
    for (percent, elapsed) in quotas {
        let axes = [(QUOTA_AXIS.to_owned(), AxisValue::Number(percent))].into();
        let point = Point { axes, ..point(2, 2) };
        for (round, elapsed) in (0..).zip(quiet_times(elapsed)) {
            let throttled_periods = if percent == 50 { 9 } else { 0 };
            let throttled_ns = seconds(if percent == 50 { 3.0 } else { 0.0 });
            let used = Bandwidth { periods: 10, throttled_periods, throttled_ns };
            let tree = TreeUsage { bandwidth: Some(used), ..TreeUsage::default() };
            let busy = cpu(1.0, 0.0, CpuEstimator::Cgroup);
            let run = Run { round, tree, cpu: busy, ..morecores_testkit::run(&point, seconds(elapsed)) };
            made.runs.push(run);
        }
        made.header.plan.points.push(point);
    }
    let mut view = view(&made, &[]);
    let speedups: Vec<f64> = view.points.iter().map(|point| point.speedup.value).collect();
    assert_close(speedups[1], 8.0 / 4.06);
    assert_close(view.points[2].efficiency, speedups[2] / 4.0);
    let comparison = view.quota.take().expect("several quotas");
    let found: Vec<_> = comparison.quotas.iter().map(|q| (q.quota_percent.0, q.suffices)).collect();
    use Sufficiency::{Enough, TooSmall};
    assert_eq!(found, [(50, TooSmall), (100, Enough), (200, Enough)]);
    assert_eq!(comparison.smallest_enough().map(|quota| quota.quota_percent), Some(QuotaPercent(100)));
    assert_close(comparison.quotas[0].lead.value, 2.0);
    let throttling = comparison.quotas[0].throttling.expect("it was counted");
    assert_eq!((throttling.share, throttling.periods_share, throttling.periods), (0.75, 0.9, 10.0));
}

/// Twice the work in nearly the same time.
#[test]
fn work_that_grows_with_the_cpus_has_a_scaled_speedup() {
    let mut made = study(&[1, 2]);
    made.header.plan.scaling = Scaling::Weak;
    add_runs(&mut made, 1, &quiet_times(4.0));
    add_runs(&mut made, 2, &quiet_times(5.0));
    let speedups = timed_run_speedups(&made);
    let view = view(&made, &[]);
    let two = &view.points[1];
    assert_close(two.speedup.value, 1.6);
    assert_close(two.efficiency, 0.8);
    assert_close(two.serial_fraction.unwrap(), 0.4);
    assert_close(speedups.last().copied().flatten().unwrap(), 1.6);
    assert_eq!(view.verdict.answer, Answer::Yes);
    // In the same time as one CPU, two do 1.05 times the work: less than a quarter more.
    let mut made = study(&[1, 2]);
    made.header.plan.scaling = Scaling::Weak;
    add_runs(&mut made, 1, &quiet_times(4.2));
    add_runs(&mut made, 2, &quiet_times(8.0));
    assert_eq!(morecores_view::view(&made, &[]).verdict.answer, Answer::No);
    let rule = round_rule(&made.header.plan);
    let asked: Vec<Vec<RoundValue>> = [1, 2]
        .map(|cpus| made.runs.iter().filter(|run| run.cpus == cpus).map(|run| run.round_value()).collect())
        .into();
    let none = std::collections::BTreeSet::new();
    let samples = rule.samples(&Rounds { made: 8, samples: &asked, disturbed: &none });
    assert_close(samples[0].values[0], 1.05);
}
