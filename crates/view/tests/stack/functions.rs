//! Functions that hold the losses of a stack.

use morecores_view::code::{FunctionView, SampledLoss};
use morecores_view::view;

use super::studies::{add_runs, study};
use super::{assert_close, trace};

/// Creates a function that was found by `samples` samples of 10 ms each, all of them while
/// `idle_cpus` other CPUs had too little work.
fn function(name: &str, samples: f64, idle_cpus: f64) -> FunctionView {
    let (cpu_s, cpu_error_s) = (samples * 0.01, samples.sqrt() * 0.01);
    FunctionView {
        command: "main".to_owned(),
        function: name.to_owned(),
        module: Some("/usr/bin/main".to_owned()),
        source: None,
        cpu_s,
        cpu_error_s,
        idle_s: cpu_s * idle_cpus,
        idle_error_s: cpu_error_s * idle_cpus,
    }
}

/// A serial function leaves the second CPU idle; another slows down; the third does neither.
#[test]
fn functions_hold_their_part_of_a_loss() {
    let mut made = study(&[1, 2]);
    add_runs(&mut made, 1, &[10.0; 6]);
    add_runs(&mut made, 2, &[8.0; 6]);
    let (mut one, mut two) = (trace(1, 1, 10.0), trace(2, 2, 8.0));
    one.functions =
        vec![function("parse", 300.0, 0.0), function("update", 300.0, 0.0), function("sum", 400.0, 0.0)];
    two.functions =
        vec![function("parse", 300.0, 1.0), function("update", 600.0, 0.0), function("sum", 400.0, 0.0)];
    let stack = view(&made, &[one.clone(), two.clone()]).stack.remove(0);
    let lost = |loss: SampledLoss, name: &str| {
        let mut of_loss = stack.functions.iter().filter(|function| function.loss == loss);
        of_loss.find(|function| function.function == name).map(|function| (function.lost_cpus, function.ci95))
    };
    // One CPU is idle for 3 of 8 s; a standard error is a share of 1/√300, in which 1.96 of them
    // are an interval's half.
    let (idle, [low, high]) = lost(SampledLoss::IdleTooLittleWork, "parse").unwrap();
    assert_close(idle, 3.0 / 8.0);
    let half = 1.959_964 * 0.01 * 300_f64.sqrt() / 8.0;
    assert_close(low, idle - half);
    assert_close(high, idle + half);
    // The speedup is 1.25: the work of `update` is 6 of 8 s instead of 3 of 10 s, 1.25 times.
    let (extra, [low, _]) = lost(SampledLoss::UserWork, "update").unwrap();
    assert_close(extra, 6.0 / 8.0 - 1.25 * 3.0 / 10.0);
    assert!(low > 0.0);
    // The others take as long on both counts.
    assert_eq!(lost(SampledLoss::UserWork, "sum"), None);
    assert_eq!(lost(SampledLoss::UserWork, "parse"), None);
    assert_eq!(lost(SampledLoss::IdleTooLittleWork, "update"), None);
    // Two traced runs of the count have the mean of their functions.
    let mut again = two.clone();
    again.functions[0] = function("parse", 100.0, 1.0);
    let mean = view(&made, &[one, two, again]).stack.remove(0);
    let parse = mean.functions.iter().find(|function| function.loss == SampledLoss::IdleTooLittleWork);
    assert_close(parse.unwrap().lost_cpus, 2.0 / 8.0);
}

/// A function of the kernel takes no time in user mode, and may be the one that runs alone.
#[test]
fn functions_of_the_kernel_hold_no_time_in_user_mode() {
    let mut made = study(&[1, 2]);
    add_runs(&mut made, 1, &[10.0; 6]);
    add_runs(&mut made, 2, &[8.0; 6]);
    let (mut one, mut two) = (trace(1, 1, 10.0), trace(2, 2, 8.0));
    let in_kernel = |samples, idle_cpus| FunctionView {
        module: Some("[kernel]".to_owned()),
        ..function("clear_page", samples, idle_cpus)
    };
    one.functions = vec![in_kernel(300.0, 0.0)];
    two.functions = vec![in_kernel(600.0, 1.0)];
    let functions = view(&made, &[one, two]).stack.remove(0).functions;
    let losses: Vec<SampledLoss> = functions.iter().map(|function| function.loss).collect();
    assert_eq!(losses, [SampledLoss::IdleTooLittleWork]);
}
