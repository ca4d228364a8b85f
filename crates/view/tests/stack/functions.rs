//! Functions that hold the losses of a stack.

use morecores_view::code::{CallNode, CodeLoss, CodeTime, CodeTimes, FunctionView};
use morecores_view::{Component, view};

use super::studies::{add_runs, study};
use super::{assert_close, trace};

/// Creates a function that was found by `samples` samples of 10 ms each, all of them while
/// `idle_cpus` other CPUs had too little work.
fn function(name: &str, samples: f64, idle_cpus: f64) -> FunctionView {
    let time = |component, cpus: f64| CodeTime {
        component,
        seconds: samples * 0.01 * cpus,
        error_s: samples.sqrt() * 0.01 * cpus,
    };
    let idle = (idle_cpus > 0.0).then(|| time(Component::IdleTooLittleWork, idle_cpus));
    FunctionView {
        command: "main".to_owned(),
        function: name.to_owned(),
        module: Some("/usr/bin/main".to_owned()),
        source: None,
        times: CodeTimes(std::iter::once(time(Component::UserWork, 1.0)).chain(idle).collect()),
        path_s: None,
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
    let lost = |loss: Component, name: &str| {
        let mut of_loss = stack.functions.iter().filter(|function| function.part.loss == loss);
        of_loss
            .find(|function| function.function == name)
            .map(|function| (function.part.lost_cpus, function.part.ci95))
    };
    // One CPU is idle for 3 of 8 s; a standard error is a share of 1/√300, in which 1.96 of them
    // are an interval's half.
    let (idle, [low, high]) = lost(Component::IdleTooLittleWork, "parse").unwrap();
    assert_close(idle, 3.0 / 8.0);
    let half = 1.959_964 * 0.01 * 300_f64.sqrt() / 8.0;
    assert_close(low, idle - half);
    assert_close(high, idle + half);
    // The speedup is 1.25: the work of `update` is 6 of 8 s instead of 3 of 10 s, 1.25 times.
    let (extra, [low, _]) = lost(Component::UserWork, "update").unwrap();
    assert_close(extra, 6.0 / 8.0 - 1.25 * 3.0 / 10.0);
    assert!(low > 0.0);
    // The others take as long on both counts.
    assert_eq!(lost(Component::UserWork, "sum"), None);
    assert_eq!(lost(Component::UserWork, "parse"), None);
    assert_eq!(lost(Component::IdleTooLittleWork, "update"), None);
    // Two traced runs of the count have the mean of their functions.
    let mut again = two.clone();
    again.functions[0] = function("parse", 100.0, 1.0);
    let mean = view(&made, &[one, two, again]).stack.remove(0);
    let parse = mean.functions.iter().find(|function| function.part.loss == Component::IdleTooLittleWork);
    assert_close(parse.unwrap().part.lost_cpus, 2.0 / 8.0);
}

/// Call with these CPU-seconds in user mode, and waits for a disk.
fn call(caller: Option<u32>, name: &str, work_s: f64, disk_s: f64) -> CallNode {
    let time = |component, seconds| CodeTime { component, seconds, error_s: 0.0 };
    let times = [time(Component::UserWork, work_s), time(Component::IdleDisk, disk_s)];
    CallNode {
        caller,
        function: name.to_owned(),
        inlined: false,
        module: None,
        source: None,
        times: CodeTimes(times.into_iter().filter(|time| time.seconds > 0.0).collect()),
        running: 1.5,
    }
}

/// Calls are compared by their names and those of all their callers, wherever they are in the tree.
#[test]
fn calls_hold_their_part_of_a_loss_with_all_that_they_call() {
    let mut made = study(&[1, 2]);
    add_runs(&mut made, 1, &[10.0; 6]);
    add_runs(&mut made, 2, &[10.0; 6]);
    let (mut one, mut two) = (trace(1, 1, 10.0), trace(2, 2, 10.0));
    for known in [&mut one, &mut two] {
        known.components.idle_disk_s = Some(0.0);
    }
    one.call_tree = vec![
        call(None, "main", 9.0, 0.0),
        call(Some(0), "parse", 5.0, 0.0),
        call(Some(1), "sum", 1.0, 0.0),
        call(Some(0), "sum", 4.0, 0.0),
    ];
    two.call_tree = vec![
        call(None, "main", 11.0, 5.0),
        call(Some(0), "sum", 7.0, 0.0),
        call(Some(0), "parse", 4.0, 0.0),
        call(Some(2), "sum", 1.0, 0.0),
        call(Some(0), "save", 0.0, 5.0),
        call(Some(4), "write", 0.0, 4.95),
    ];
    let stack = view(&made, &[one, two]).stack.remove(0);
    type Parts = Vec<(Component, f64)>;
    let rows: Vec<(&str, Option<u32>, Parts)> = stack
        .calls
        .iter()
        .map(|call| {
            let part = |part: &CodeLoss| (part.loss, (part.lost_cpus * 1e3).round() / 1e3);
            (call.function.as_str(), call.caller, call.parts.iter().map(part).collect())
        })
        .collect();
    let (work, disk) = (Component::UserWork, Component::IdleDisk);
    // The speedup is 1. The callee with the largest part is first, and `parse` became faster. The
    // `sum` below `parse` is another call than that below `main`, and takes as long.
    let expected = [
        ("main", None, vec![(work, 0.2), (disk, 0.5)]),
        ("save", Some(0), vec![(disk, 0.5)]),
        ("write", Some(1), vec![(disk, 0.495)]),
        ("sum", Some(0), vec![(work, 0.3)]),
        ("parse", Some(0), vec![(work, -0.1)]),
    ];
    assert_eq!(rows, expected);
    assert_close(stack.calls[3].running, 1.5);
}

/// Time that one of the runs cannot tell apart counts where that run has it.
#[test]
fn unknown_components_count_in_the_one_that_contains_them() {
    let mut made = study(&[1, 2]);
    add_runs(&mut made, 1, &[10.0; 6]);
    add_runs(&mut made, 2, &[10.0; 6]);
    let (mut one, mut two) = (trace(1, 1, 10.0), trace(2, 2, 10.0));
    two.components.idle_disk_s = Some(5.0);
    one.call_tree = vec![call(None, "main", 9.0, 0.0)];
    two.call_tree = vec![call(None, "main", 9.0, 5.0)];
    let parts = view(&made, &[one, two]).stack.remove(0).calls.remove(0).parts;
    let losses: Vec<Component> = parts.iter().map(|part| part.loss).collect();
    assert_eq!(losses, [Component::IdleTooLittleWork]);
    assert_close(parts[0].lost_cpus, 0.5);
}
