//! Call tree of the command: the times of each function with all that it calls. This module names
//! no function and estimates no time.

use std::collections::BTreeMap;

use morecores_study::trace::FileLine;
use morecores_view::code::CallNode;

use super::code::{Code, CodeMap};
use super::code_times::{CodeInput, LineTimes, Moment};
use super::programs::ProgramId;

/// Share of all CPU time, or of all idle time that code holds, from which a call has a node. A
/// choice: the picture of the calls leaves out narrower boxes.
const LEAST_SHARE: f64 = 0.002;

/// Largest number of calls below each other that have a node. Deeper ones count in the last.
const MOST_LEVELS: usize = 128;

/// Sums over the moments in a function that was called by certain callers.
#[derive(Debug, Default)]
struct CallSums {
    times: LineTimes,
    /// Whether the function ran as one with code of its own.
    has_own_code: bool,
    samples: u64,
    running: u64,
    callees: BTreeMap<Code, CallSums>,
}

impl CallSums {
    fn add(&mut self, moment: &Moment<'_>, line: Option<FileLine>) {
        self.times.add(moment, line);
        if let Some(running) = moment.running {
            self.samples += 1;
            self.running += u64::from(running);
        }
    }

    fn seconds(&self) -> f64 {
        self.times.sum.seconds()
    }
}

/// Sums over all moments, by program and calls.
#[derive(Debug, Default)]
pub(super) struct CallTree(BTreeMap<ProgramId, CallSums>);

impl CallTree {
    pub(super) fn add(&mut self, moment: &Moment<'_>) {
        let mut call = self.0.entry(moment.program).or_default();
        call.add(moment, None);
        for called in moment.calls.iter().take(MOST_LEVELS) {
            call = call.callees.entry(called.code).or_default();
            call.has_own_code |= !called.is_inlined;
            call.add(moment, called.line);
        }
    }

    /// Nodes in depth-first order, most time first: a root for each program.
    pub(super) fn nodes(self, input: &CodeInput<'_>) -> Vec<CallNode> {
        let whole = self.0.values().map(|call| call.times.sum.cpu_and_idle());
        let (cpu, idle) = whole.fold((0.0, 0.0), |(cpu, idle), call| (cpu + call.0, idle + call.1));
        let least = (cpu * LEAST_SHARE, idle * LEAST_SHARE);
        let mut nodes = Nodes { map: input.map, least, nodes: Vec::new() };
        let mut roots: Vec<(ProgramId, CallSums)> = self.0.into_iter().collect();
        roots.sort_by(|(_, one), (_, other)| other.seconds().total_cmp(&one.seconds()));
        for (program, call) in &roots {
            nodes.add(None, (input.programs.name(*program), None, None), call);
        }
        nodes.nodes
    }
}

/// Nodes of the tree so far.
struct Nodes<'a> {
    map: &'a CodeMap<'a>,
    /// Least CPU time and least idle time of a node, in seconds; either suffices.
    least: (f64, f64),
    nodes: Vec<CallNode>,
}

impl Nodes<'_> {
    fn add(&mut self, parent: Option<u32>, names: (String, Option<String>, Option<String>), call: &CallSums) {
        let (cpu, idle) = call.times.sum.cpu_and_idle();
        let is_long = |seconds: f64, least: f64| seconds > 0.0 && seconds >= least;
        if !is_long(cpu, self.least.0) && !is_long(idle, self.least.1) {
            return;
        }
        let number = self.nodes.len() as u32;
        let (function, module, source) = names;
        self.nodes.push(CallNode {
            caller: parent,
            function,
            inlined: parent.is_some() && !call.has_own_code,
            module,
            source,
            times: call.times.sum.to_view(),
            running: call.running as f64 / call.samples.max(1) as f64,
        });
        let mut callees: Vec<(&Code, &CallSums)> = call.callees.iter().collect();
        callees.sort_by(|(_, one), (_, other)| other.seconds().total_cmp(&one.seconds()));
        for (code, callee) in callees {
            let source = self.map.source(*code, callee.times.longest());
            let names = (self.map.name(*code), self.map.module(*code), source);
            self.add(Some(number), names, callee);
        }
    }
}
