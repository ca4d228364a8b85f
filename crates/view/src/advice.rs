//! Advice from a view: the work that one thread did alone, and the obstacles with their gains. This
//! module estimates no gain by replay; the caller has these.

use morecores_statistics::Z95;
use morecores_study::InCell;

use crate::code::CallNode;
use crate::types::{Advice, Gain, SavedTime, SerialWork, TraceView, View};

/// Shortest time alone of a call in the advice. Dividing shorter work costs a notable part of it.
const LEAST_ALONE_S: f64 = 0.030;

/// Part of a call's time alone that its longer callees must hold together, to be named in its
/// place, and the largest number of such callees.
const HELD_BY_CALLEES: f64 = 0.8;
const MOST_CALLEES: usize = 3;

/// Share of the elapsed time in which a number of threads counts as ready.
const LEAST_READY_SHARE: f64 = 0.05;

/// Numbers of CPUs on which the division of a call is estimated.
const CPU_COUNTS: [u32; 3] = [2, 4, 16];

/// Advice on a study; `None` without a traced run on two or more CPUs, and without its timed runs.
pub fn advice(view: &View, gains: Vec<Gain>) -> Option<Advice> {
    let trace = view.main_trace().filter(|trace| trace.cpus > 1)?;
    let point = view.point(&trace.cell())?;
    let at_least = |threads: usize| trace.parallelism.runnable.iter().skip(threads).sum::<f64>();
    let most =
        (1..trace.parallelism.runnable.len()).rev().find(|threads| at_least(*threads) >= LEAST_READY_SHARE);
    Some(Advice {
        cpus: trace.cpus,
        elapsed_s: point.elapsed_s.median,
        parallel_share: at_least(2),
        ready_threads: most.unwrap_or(0) as u32,
        serial_work: serial_work(trace),
        gains,
    })
}

/// Calls that one thread executed alone, longest first; `None` without stacks. While one thread
/// runs alone, all other CPUs are charged to it.
fn serial_work(trace: &TraceView) -> Option<Vec<SerialWork>> {
    let period_s = trace.sample_period_s.filter(|_| !trace.call_tree.is_empty())?;
    let others = f64::from(trace.cpus - 1);
    let mut found = Vec::new();
    for (index, node) in trace.call_tree.iter().enumerate() {
        if node.caller.is_none() {
            collect(&trace.call_tree, index, others, &mut found);
        }
    }
    let mut work: Vec<SerialWork> = found
        .into_iter()
        .filter(|index| trace.call_tree[*index].caller.is_some())
        .map(|index| {
            let node = &trace.call_tree[index];
            let alone_s = alone_s(node, others);
            let spread = Z95 * (alone_s * period_s).sqrt();
            let caller = node.caller.map(|caller| &trace.call_tree[caller as usize]);
            SerialWork {
                command: command_of(&trace.call_tree, index).to_owned(),
                function: node.function.clone(),
                caller: caller.filter(|caller| caller.caller.is_some()).map(|caller| caller.function.clone()),
                source: node.source.clone(),
                alone_s,
                alone_ci95: [(alone_s - spread).max(0.0), alone_s + spread],
                saved: CPU_COUNTS
                    .map(|cpus| SavedTime { cpus, saved_s: alone_s * (1.0 - 1.0 / f64::from(cpus)) })
                    .to_vec(),
            }
        })
        .collect();
    work.retain(|work| work.alone_ci95[0] > 0.0);
    work.sort_by(|one, other| other.alone_s.total_cmp(&one.alone_s));
    Some(work)
}

/// Time of a call that ran alone: each of the `others` CPUs was idle meanwhile.
fn alone_s(node: &CallNode, others: f64) -> f64 {
    node.times.others_idle().0 / others
}

/// Adds the calls below `index` that say where the time alone went: the longer callees where a few
/// hold nearly all of it, else the call itself. An inlined callee is a part of its caller's loop.
fn collect(nodes: &[CallNode], index: usize, others: f64, found: &mut Vec<usize>) {
    let alone = alone_s(&nodes[index], others);
    if alone < LEAST_ALONE_S {
        return;
    }
    let is_long_callee = |at: &usize| {
        let callee = &nodes[*at];
        callee.caller == Some(index as u32) && !callee.inlined && alone_s(callee, others) >= LEAST_ALONE_S
    };
    let callees: Vec<usize> = (index + 1..nodes.len()).filter(is_long_callee).collect();
    let held: f64 = callees.iter().map(|at| alone_s(&nodes[*at], others)).sum();
    let is_command = nodes[index].caller.is_none();
    if !callees.is_empty()
        && (is_command || (held >= HELD_BY_CALLEES * alone && callees.len() <= MOST_CALLEES))
    {
        callees.into_iter().for_each(|at| collect(nodes, at, others, found));
    } else {
        found.push(index);
    }
}

/// Command that executed a call.
fn command_of(nodes: &[CallNode], index: usize) -> &str {
    let mut at = index;
    while let Some(caller) = nodes[at].caller {
        at = caller as usize;
    }
    &nodes[at].function
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Component;
    use crate::code::{CodeTime, CodeTimes};

    fn node(caller: Option<u32>, function: &str, idle_s: f64) -> CallNode {
        CallNode {
            caller,
            function: function.to_owned(),
            inlined: false,
            module: None,
            source: None,
            times: CodeTimes(vec![CodeTime {
                component: Component::IdleTooLittleWork,
                seconds: idle_s,
                error_s: 0.0,
            }]),
            running: 1.0,
        }
    }

    #[test]
    fn the_calls_that_hold_the_time_alone_are_named() {
        let nodes = [
            node(None, "prog", 1.0),
            node(Some(0), "main", 1.0),
            node(Some(1), "parse", 0.6),
            node(Some(2), "token", 0.2),
            node(Some(2), "number", 0.2),
            node(Some(1), "write_out", 0.3),
            node(Some(5), "format", 0.29),
            node(Some(1), "rest", 0.02),
        ];
        let mut found = Vec::new();
        collect(&nodes, 0, 1.0, &mut found);
        let names: Vec<&str> = found.iter().map(|at| nodes[*at].function.as_str()).collect();
        // The callees of `parse` hold two thirds of it; `write_out` only calls `format`.
        assert_eq!(names, ["parse", "format"]);
        assert_eq!(command_of(&nodes, 6), "prog");
        let mut inlined = nodes.clone();
        inlined[6].inlined = true;
        let mut found = Vec::new();
        collect(&inlined, 0, 1.0, &mut found);
        assert_eq!(found, [2, 5], "`format` is a part of `write_out`");
        let mut on_four = Vec::new();
        collect(&nodes, 0, 30.0, &mut on_four);
        assert_eq!(on_four, [1], "on 31 CPUs the same idle time is that of 33 ms alone");
    }
}
