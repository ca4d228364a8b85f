//! Intervals of losses, by the timed runs and by several traced runs.

use morecores_view::compare::{Side, compare};
use morecores_view::{Culprit, TraceView, view};

use super::studies::{add_runs, study};
use super::{assert_close, divide_cpu_time, total, trace};

/// The speedup is 10 s divided by between 6 and 8 s, and the baseline used its CPU for user work
/// alone: the interval of the speedup is the interval of this loss, and no other.
#[test]
fn the_interval_of_the_speedup_is_that_of_the_losses() {
    let mut made = study(&[1, 2]);
    add_runs(&mut made, 1, &[10.0; 6]);
    add_runs(&mut made, 2, &[6.0, 6.9, 7.0, 7.0, 7.1, 8.0]);
    let (mut one, mut two) = (trace(1, 1, 10.0), trace(2, 2, 7.0));
    divide_cpu_time(&mut one, [1.0, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.]);
    divide_cpu_time(&mut two, [0.75, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.25]);
    let shown = view(&made, &[one.clone(), two.clone()]);
    let stack = &shown.stack[0];
    let [low, high] = shown.points[1].speedup.ci95.unwrap();
    assert!(low < high);
    let intervals = stack.losses_ci95.unwrap();
    let [lost_low, lost_high] = intervals.user_work.unwrap();
    assert_close(lost_low, 1.5 - high);
    assert_close(lost_high, 1.5 - low);
    assert_eq!(intervals.idle_too_little_work, Some([stack.losses.idle_too_little_work; 2]));
    assert_eq!((shown.traces[1].runs, shown.traces[1].components_ci95), (1, None));
    // Five runs have no interval.
    made.runs.pop();
    assert_eq!(view(&made, &[one, two]).stack[0].losses_ci95, None);
}

/// Traced runs of a program that uses one CPU fully, and idles for these numbers of CPUs on two.
fn idle_traces(idle_cpus: &[f64]) -> Vec<TraceView> {
    let mut one = trace(1, 1, 10.0);
    divide_cpu_time(&mut one, [1.0, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.]);
    let with_idle = |idle: &f64| {
        let mut two = trace(2, 2, 6.0);
        let (work, idle) = (1.0 - idle / 2.0, idle / 2.0);
        divide_cpu_time(&mut two, [work, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., idle]);
        two
    };
    [one.clone(), one].into_iter().chain(idle_cpus.iter().map(with_idle)).collect()
}

/// The distances of both studies' losses add in quadrature. A count that was traced once leaves the
/// difference without an interval.
#[test]
fn the_difference_of_two_stacks_has_an_interval() {
    let mut made = study(&[1, 2]);
    add_runs(&mut made, 1, &[10.0; 6]);
    add_runs(&mut made, 2, &[6.0; 6]);
    let stack_of = |base: &[f64], new: &[f64]| {
        let views = [base, new].map(|idle_cpus| view(&made, &idle_traces(idle_cpus)));
        let side = |name, view| Side { name, study: &made, view };
        compare(side("base", &views[0]), side("new", &views[1]), 0.0).unwrap().stack.remove(0)
    };
    let stack = stack_of(&[0.2, 0.3, 0.4], &[0.1, 0.5, 0.9]);
    assert_close(stack.grown.idle_too_little_work, 0.2);
    // Student's factor with two degrees of freedom is 4.3027; the deviations are 0.1 and 0.4.
    let half_width = 4.3027 / 3.0_f64.sqrt() * 0.1_f64.hypot(0.4);
    let intervals = stack.grown_ci95.unwrap();
    let [low, high] = intervals.idle_too_little_work.unwrap();
    assert!(
        (low - (0.2 - half_width)).abs() < 1e-4 && (high - (0.2 + half_width)).abs() < 1e-4,
        "{low} {high}"
    );
    assert_eq!(intervals.idle_disk, Some([0.0, 0.0]));
    assert_eq!(stack_of(&[0.2, 0.3, 0.4], &[0.1]).grown_ci95, None);
}

/// Three traced runs of two CPUs idle for 0.2, 0.3 and 0.4 CPUs. The speedup is exact.
#[test]
fn several_traced_runs_give_the_mean_loss_and_its_spread() {
    let mut made = study(&[1, 2]);
    add_runs(&mut made, 1, &[10.0; 6]);
    add_runs(&mut made, 2, &[6.0; 6]);
    let mut one = trace(1, 1, 10.0);
    divide_cpu_time(&mut one, [1.0, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.]);
    let with_idle = |elapsed_s: f64, idle: f64| {
        let mut two = trace(2, 2, elapsed_s);
        let (work, idle) = (1.0 - idle / 2.0, idle / 2.0);
        divide_cpu_time(&mut two, [work, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., idle]);
        two.culprits =
            vec![Culprit { name: "ld".into(), lost_cpus: idle * 2.0 * elapsed_s, waiting_in: None }];
        two
    };
    // The first of a cell is the one to show.
    let traces = [with_idle(6.0, 0.3), one, with_idle(5.0, 0.2), with_idle(7.0, 0.4)];
    let shown = view(&made, &traces);
    let two = &shown.traces[1];
    assert_eq!((shown.traces.len(), two.runs, two.elapsed_s), (2, 3, 6.0));
    let stack = &shown.stack[0];
    assert_close(stack.losses.idle_too_little_work, 0.3);
    assert_close(total(&stack.losses), 2.0 - stack.speedup);
    assert_close(stack.culprits[0].lost_cpus, 0.3);
    // Student's factor with two degrees of freedom is 4.3027, and the standard error 0.1 / √3.
    let half_width = 4.3027 * 0.1 / 3.0_f64.sqrt();
    let [low, high] = stack.losses_ci95.unwrap().idle_too_little_work.unwrap();
    assert!(
        (low - (0.3 - half_width)).abs() < 1e-4 && (high - (0.3 + half_width)).abs() < 1e-4,
        "{low} {high}"
    );
    let [low, high] = two.components_ci95.unwrap().idle_too_little_work.unwrap();
    assert!((high - low - 2.0 * half_width * 6.0).abs() < 1e-3, "{low} {high}");
    // A run that lost events does not count beside one that lost none.
    let mut lossy = traces;
    lossy[3].lost_events = 9;
    let shown = view(&made, &lossy);
    assert_eq!(shown.traces[1].runs, 2);
    assert_close(shown.stack[0].losses.idle_too_little_work, 0.25);
}
