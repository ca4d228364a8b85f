//! Losses and speedups of traces with a known truth.

use morecores_study::*;
use morecores_view::view;
use morecores_view::*;
use proptest::prelude::*;

use super::studies::{self, add_runs, study};
use super::{assert_close, divide_cpu_time, total, trace};

/// A run of 10 s on one CPU has 4 s of serial work. On two CPUs it takes 7 s, with one CPU idle for
/// 4 s.
#[test]
fn the_idle_cpu_of_a_serial_part_is_the_whole_loss() {
    let mut made = study(&[1, 2]);
    add_runs(&mut made, 1, &[10.0; 6]);
    add_runs(&mut made, 2, &[7.0; 6]);
    let mut one = trace(1, 1, 10.0);
    divide_cpu_time(&mut one, [0.9, 0.1, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.]);
    one.parts = SerialAndParallel { serial_s: 4.0, parallel_s: 6.0 };
    let mut two = trace(2, 2, 7.0);
    let idle = 4.0 / 14.0;
    divide_cpu_time(
        &mut two,
        [9.0 / 14.0, 1.0 / 14.0, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., idle],
    );
    two.parts = SerialAndParallel { serial_s: 4.0, parallel_s: 3.0 };
    two.culprits = vec![Culprit { name: "ld".into(), lost_cpus: 4.0, waiting_in: Some("wait4".into()) }];

    let view = view(&made, &[two, one]);
    assert_eq!(view.traces.iter().map(|t| t.cpus).collect::<Vec<_>>(), [1, 2]);
    let [stack] = &view.stack[..] else { panic!("{:?}", view.stack) };
    assert_eq!((stack.cpus, stack.n, stack.base_cpus, stack.base_n), (2, 2, 1, 1));
    assert_close(stack.speedup, 10.0 / 7.0);
    assert_close(stack.losses.idle_too_little_work, 4.0 / 7.0);
    assert_close(stack.losses.user_work, 0.0);
    assert_close(stack.losses.kernel_work.unwrap(), 0.0);
    assert_close(total(&stack.losses), 2.0 - 10.0 / 7.0);
    let [ld] = &stack.culprits[..] else { panic!("{:?}", stack.culprits) };
    assert_close(ld.lost_cpus, 4.0 / 7.0);
    assert_eq!((&*ld.name, ld.waiting_in.as_deref()), ("ld", Some("wait4")));
    assert_close(stack.serial_speedup.unwrap(), 1.0);
    assert_close(stack.parallel_speedup.unwrap(), 2.0);
}

/// The scaling is perfect, with 10 s of work. Other programs took 2 s of one traced run, on two
/// CPUs or on one, and nothing of the timed runs.
#[test]
fn time_taken_by_others_in_a_traced_run_alone_is_no_gain_and_no_loss() {
    let stack_of = |one_s: f64, two_s: f64, around: f64| {
        let mut made = study(&[1, 2]);
        add_runs(&mut made, 1, &[10.0; 6]);
        add_runs(&mut made, 2, &[5.0; 6]);
        studies::change_surroundings(&mut made, 2, |s| s.busy_allotted_ns += studies::seconds(around));
        let traced = |cpus: u32, elapsed_s: f64| {
            let mut trace = trace(cpus, cpus, elapsed_s);
            let whole = f64::from(cpus) * elapsed_s;
            let [user, kernel] = [9.0 / whole, 1.0 / whole];
            divide_cpu_time(
                &mut trace,
                [user, kernel, 0., 0., 1.0 - user - kernel, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.],
            );
            trace
        };
        view(&made, &[traced(1, one_s), traced(2, two_s)]).stack[0].losses
    };
    for losses in [stack_of(10.0, 6.0, 0.0), stack_of(12.0, 5.0, 0.0)] {
        assert_close(losses.user_work, 0.0);
        assert_close(losses.kernel_work.unwrap(), 0.0);
        assert_close(losses.other_processes, 0.0);
        assert_close(total(&losses), 0.0);
    }
    // If other programs took as much of each timed run, the traced run is like the timed ones. The
    // stack is then not corrected.
    let losses = stack_of(10.0, 6.0, 5.0 / 3.0);
    assert_close(losses.user_work, 9.0 / 6.0 - 2.0 * 0.9);
    assert_close(losses.other_processes, 2.0 / 6.0);
}

/// The same work costs more CPU time on two CPUs, which is a positive loss of user work. Kernel
/// work shrinks, so its loss is below zero.
#[test]
fn work_that_grows_is_lost_and_work_that_shrinks_is_gained() {
    let mut made = study(&[1, 2]);
    add_runs(&mut made, 1, &[10.0; 6]);
    add_runs(&mut made, 2, &[5.5; 6]);
    let mut one = trace(1, 1, 10.0);
    divide_cpu_time(&mut one, [0.8, 0.2, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.]);
    let mut two = trace(2, 2, 5.5);
    divide_cpu_time(
        &mut two,
        [9.5 / 11.0, 1.5 / 11.0, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.],
    );
    let stack = &view(&made, &[one, two]).stack[0];
    assert_close(stack.losses.user_work, 1.5 / 5.5);
    assert_close(stack.losses.kernel_work.unwrap(), -0.5 / 5.5);
    assert_close(total(&stack.losses), 2.0 - stack.speedup);
}

/// The idle time that culprits of the baseline no longer cause appears under their names.
#[test]
fn culprits_are_less_the_baselines_share_and_add_up() {
    let mut made = study(&[2, 4]);
    add_runs(&mut made, 2, &[6.0; 6]);
    add_runs(&mut made, 4, &[4.0; 6]);
    let culprit = |name: &str, lost_cpus| Culprit { name: name.into(), lost_cpus, waiting_in: None };
    let mut two = trace(2, 2, 6.0);
    two.components.idle_too_little_work_s = 3.0;
    two.culprits = vec![culprit("ld", 2.0), culprit("once", 1.0)];
    let mut four = trace(4, 4, 4.0);
    four.components.idle_too_little_work_s = 7.0;
    four.culprits = vec![culprit("cc1", 1.0), culprit("ld", 6.0)];
    let view = view(&made, &[two, four]);
    let stack = &view.stack[0];
    let found: Vec<(&str, f64)> = stack.culprits.iter().map(|c| (&*c.name, c.lost_cpus)).collect();
    assert_eq!(found, [("ld", 1.5 - 1.5 / 3.0), ("cc1", 0.25), ("once", -1.5 / 6.0)]);
    assert_close(found.iter().map(|(_, lost)| lost).sum(), stack.losses.idle_too_little_work);
    assert_eq!((stack.base_cpus, stack.base_n), (2, 2));
}

#[test]
fn a_part_too_short_to_divide_has_no_speedup() {
    let mut made = study(&[1, 2]);
    add_runs(&mut made, 1, &[10.0; 6]);
    add_runs(&mut made, 2, &[5.0; 6]);
    let mut one = trace(1, 1, 10.0);
    one.parts = SerialAndParallel { serial_s: 0.2, parallel_s: 9.8 };
    let mut two = trace(2, 2, 5.0);
    two.parts = SerialAndParallel { serial_s: 0.009, parallel_s: 4.991 };
    let stack = view(&made, &[one.clone(), two.clone()]).stack.remove(0);
    assert_eq!(stack.serial_speedup, None);
    assert_close(stack.parallel_speedup.unwrap(), 9.8 / 4.991);
    // For a program that runs for a fixed time, the parts of the elapsed time say nothing.
    made.header.plan.metric =
        Some(Metric { name: None, regex: "x".into(), unit: None, better: Better::Higher });
    for run in &mut made.runs {
        run.metric = Some(f64::from(run.cpus));
    }
    two.parts.serial_s = 0.1;
    let stack = view(&made, &[one, two]).stack.remove(0);
    assert_eq!((stack.serial_speedup, stack.parallel_speedup), (None, None));
    assert_close(stack.speedup, 2.0);
}

/// `make -j1` runs everything serially. Its single long serial phase is not the serial part of
/// `make -j2`.
#[test]
fn a_program_that_is_serial_on_one_cpu_has_only_a_parallel_speedup() {
    let mut made = study(&[1, 2]);
    add_runs(&mut made, 1, &[10.0; 6]);
    add_runs(&mut made, 2, &[5.5; 6]);
    let mut one = trace(1, 1, 10.0);
    one.parts = SerialAndParallel { serial_s: 9.9, parallel_s: 0.1 };
    let mut two = trace(2, 2, 5.5);
    two.parts = SerialAndParallel { serial_s: 1.0, parallel_s: 4.5 };
    let stack = view(&made, &[one, two]).stack.remove(0);
    assert_eq!(stack.serial_speedup, None);
    assert_close(stack.parallel_speedup.unwrap(), (10.0 - 1.0) / 4.5);
}

/// Two traces on one CPU and on two have equal components. One trace or both cannot tell some of
/// them apart.
#[test]
fn an_unknown_part_counts_with_the_component_that_contains_it() {
    let stack_of = |change: fn(&mut TraceView, &mut TraceView)| {
        let mut made = study(&[1, 2]);
        add_runs(&mut made, 1, &[4.0; 6]);
        add_runs(&mut made, 2, &[4.0; 6]);
        let (mut one, mut two) = (trace(1, 1, 4.0), trace(2, 2, 4.0));
        divide_cpu_time(&mut one, [1.0 / 17.0; 16]);
        divide_cpu_time(&mut two, [1.0 / 17.0; 16]);
        change(&mut one, &mut two);
        let view = view(&made, &[one, two]);
        let losses = view.stack[0].losses;
        assert_close(1.0 + total(&losses), 2.0);
        losses
    };
    let told = stack_of(|_, _| ());
    assert_close(told.user_work, 1.0 / 17.0);
    assert!(told.kernel_work.is_some() && told.idle_timer.is_some());
    // The user work of the baseline contains its kernel work.
    let losses = stack_of(|one, _| {
        one.components.user_work_s += one.components.kernel_work_s.take().unwrap();
    });
    assert_eq!((losses.kernel_work, losses.kernel_lock_spin.is_some()), (None, true));
    assert_close(losses.user_work, 2.0 / 17.0);
    // Spinning is part of kernel work here. It is part of user work if kernel work is not told
    // apart either.
    let losses = stack_of(|_, two| {
        *two.components.kernel_work_s.as_mut().unwrap() += two.components.kernel_lock_spin_s.take().unwrap();
    });
    assert_eq!(losses.kernel_lock_spin, None);
    assert_close(losses.kernel_work.unwrap(), 2.0 / 17.0);
    let losses = stack_of(|one, two| {
        for c in [&mut one.components, &mut two.components] {
            c.user_work_s += c.kernel_lock_spin_s.take().unwrap() + c.kernel_work_s.take().unwrap();
        }
    });
    assert_close(losses.user_work, 3.0 / 17.0);
    // Waits, pinned threads and threads held back.
    let losses = stack_of(|_, two| {
        let c = &mut two.components;
        c.idle_too_little_work_s += c.idle_disk_s.take().unwrap() + c.idle_kernel_lock_s.take().unwrap();
        c.idle_scheduling_s += c.idle_pinned_s.take().unwrap() + c.idle_held_s.take().unwrap();
    });
    assert_eq!((losses.idle_disk, losses.idle_kernel_lock), (None, None));
    assert_eq!((losses.idle_held, losses.idle_pinned), (None, None));
    assert_close(losses.idle_too_little_work, 3.0 / 17.0);
    assert_close(losses.idle_scheduling, 3.0 / 17.0);
}

fn weights() -> impl Strategy<Value = [f64; 16]> {
    prop::array::uniform16(0.0..0.1f64)
}

proptest! {
    /// The equation `n = S·b + Σ losses` holds for any components, even if they exceed the whole.
    #[test]
    fn the_height_of_a_stack_is_its_cpu_count(
        base in 1u32..4, more in 1u32..60,
        (base_elapsed, elapsed) in (0.01..1e4f64, 0.01..1e4f64),
        (timed_base, timed) in (0.01..1e4f64, 0.01..1e4f64),
        here in weights(), there in weights(), rate: bool,
    ) {
        let cpus = base + more;
        let mut made = study(&[base, cpus]);
        add_runs(&mut made, base, &[timed_base]);
        add_runs(&mut made, cpus, &[timed]);
        if rate {
            made.header.plan.metric = Some(Metric { name: None, regex: "x".into(), unit: None, better: Better::Higher });
            made.runs.iter_mut().for_each(|run| run.metric = Some(run.elapsed_ns.as_secs_f64()));
        }
        let (mut one, mut many) = (trace(base, base, base_elapsed), trace(cpus, cpus, elapsed));
        divide_cpu_time(&mut one, there);
        divide_cpu_time(&mut many, here);
        let view = view(&made, &[one, many]);
        let stack = &view.stack[0];
        let sum = stack.speedup * f64::from(base) + total(&stack.losses);
        // Sums of 16 rounded numbers of the size of the speedup.
        let slack = 1e-12 * (f64::from(cpus) + stack.speedup * f64::from(base));
        prop_assert!((sum - f64::from(cpus)).abs() <= slack, "{sum} instead of {cpus}");
        prop_assert_eq!(stack.speedup, view.points[1].speedup.value);
    }
}
