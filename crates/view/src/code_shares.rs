//! Shares of the CPUs that functions and calls hold over all traced runs of a cell. This module
//! compares no counts.

use std::collections::{BTreeMap, HashMap};

use crate::Component;
use crate::code::{CodeTimes, FunctionView};
use crate::traced_runs::TracedRuns;

/// Identity of a function in the traced runs of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FunctionKey<'a> {
    pub(crate) command: &'a str,
    pub(crate) function: &'a str,
    pub(crate) module: Option<&'a str>,
}

impl<'a> FunctionKey<'a> {
    fn new(function: &'a FunctionView) -> Self {
        let FunctionView { command, function, module, .. } = function;
        Self { command, function, module: module.as_deref() }
    }
}

/// Share that was estimated from samples, in CPUs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SampledShare {
    pub(crate) value: f64,
    /// Standard error.
    pub(crate) error: f64,
}

/// Shares of code by component.
#[derive(Clone, Debug, Default)]
pub(crate) struct CodeShares(BTreeMap<Component, SampledShare>);

impl CodeShares {
    /// Adds independent times, each second of which is this share.
    fn add(&mut self, times: &CodeTimes, per_second: f64) {
        for time in &times.0 {
            let share = self.0.entry(time.component).or_default();
            share.value += time.seconds * per_second;
            share.error = share.error.hypot(time.error_s * per_second);
        }
    }

    /// Components with a share.
    pub(crate) fn components(&self) -> impl Iterator<Item = Component> + '_ {
        self.0.keys().copied()
    }

    /// Sum of the shares of these components.
    pub(crate) fn sum(&self, components: &[Component]) -> SampledShare {
        let shares = components.iter().filter_map(|component| self.0.get(component));
        shares.fold(SampledShare::default(), |sum, share| SampledShare {
            value: sum.value + share.value,
            error: sum.error.hypot(share.error),
        })
    }
}

/// Shares of one function.
#[derive(Clone, Debug, Default)]
pub(crate) struct FunctionShares<'a> {
    pub(crate) source: Option<&'a str>,
    pub(crate) shares: CodeShares,
}

/// Means over the runs for each function.
pub(crate) fn function_shares<'a>(runs: &TracedRuns<'a>) -> BTreeMap<FunctionKey<'a>, FunctionShares<'a>> {
    let mut functions: BTreeMap<FunctionKey<'_>, FunctionShares<'_>> = BTreeMap::new();
    for (run, per_second) in runs.with_share_of_a_second() {
        for function in &run.functions {
            let shares = functions.entry(FunctionKey::new(function)).or_default();
            shares.source = function.source.as_deref();
            shares.shares.add(&function.times, per_second);
        }
    }
    functions
}

/// Shares of a call on two counts.
#[derive(Clone, Debug)]
pub(crate) struct CallShares<'a> {
    /// Index of the caller.
    pub(crate) caller: Option<usize>,
    pub(crate) function: &'a str,
    pub(crate) module: Option<&'a str>,
    pub(crate) source: Option<&'a str>,
    pub(crate) here: CodeShares,
    pub(crate) base: CodeShares,
    cpu_s: f64,
    running_s: f64,
}

impl CallShares<'_> {
    /// Mean number of running threads here; zero without a sample here.
    pub(crate) fn running(&self) -> f64 {
        if self.cpu_s > 0.0 { self.running_s / self.cpu_s } else { 0.0 }
    }
}

/// Calls of both counts, a caller before its callees: the means over the runs.
pub(crate) fn call_shares<'a>(here: &TracedRuns<'a>, base: &TracedRuns<'a>) -> Vec<CallShares<'a>> {
    type CallKey<'a> = (Option<usize>, &'a str, Option<&'a str>);
    let mut calls: Vec<CallShares<'_>> = Vec::new();
    let mut known: HashMap<CallKey<'_>, usize> = HashMap::new();
    for (runs, is_here) in [(here, true), (base, false)] {
        for (run, per_second) in runs.with_share_of_a_second() {
            let mut indices: Vec<usize> = Vec::with_capacity(run.call_tree.len());
            for node in &run.call_tree {
                let caller = node.caller.and_then(|caller| indices.get(caller as usize).copied());
                let (function, module) = (node.function.as_str(), node.module.as_deref());
                let index = *known.entry((caller, function, module)).or_insert_with(|| {
                    let source = node.source.as_deref();
                    let (here, base) = (CodeShares::default(), CodeShares::default());
                    calls.push(CallShares {
                        caller,
                        function,
                        module,
                        source,
                        here,
                        base,
                        cpu_s: 0.0,
                        running_s: 0.0,
                    });
                    calls.len() - 1
                });
                indices.push(index);
                let call = &mut calls[index];
                if is_here {
                    let (cpu_s, _) = node.times.cpu();
                    call.here.add(&node.times, per_second);
                    call.cpu_s += cpu_s;
                    call.running_s += cpu_s * node.running;
                } else {
                    call.base.add(&node.times, per_second);
                }
            }
        }
    }
    calls
}
