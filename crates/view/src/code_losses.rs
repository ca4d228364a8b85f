//! Code that holds the losses of a speedup stack: functions, and calls with all that they call.
//! This module knows no event and no address.

use std::collections::BTreeSet;

use morecores_statistics::Z95;

use crate::Component;
use crate::code::{CallLoss, CodeLoss, FunctionLoss};
use crate::code_shares::{CallShares, CodeShares, FunctionKey, SampledShare, call_shares, function_shares};
use crate::stack::covered_components;
use crate::traced_runs::TracedRuns;

/// Loss or gain below which code has no part, in CPUs. A choice: a hundredth is half of the
/// smallest share of two CPUs that is put into words.
const LEAST_CPUS: f64 = 0.01;

/// Speedup of a stack, with its 95% interval if it has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StackSpeedup {
    pub(crate) value: f64,
    pub(crate) ci95: Option<[f64; 2]>,
}

/// Two counts whose code is compared.
pub(crate) struct CodeComparison<'r, 'a> {
    pub(crate) here: &'r TracedRuns<'a>,
    pub(crate) base: &'r TracedRuns<'a>,
    pub(crate) speedup: StackSpeedup,
}

impl CodeComparison<'_, '_> {
    /// Losses of all functions, most lost CPUs first.
    pub(crate) fn function_losses(&self) -> Vec<FunctionLoss> {
        let (here, base) = (function_shares(self.here), function_shares(self.base));
        if here.is_empty() || base.is_empty() {
            return Vec::new();
        }
        let none = CodeShares::default();
        let mut losses: Vec<FunctionLoss> = Vec::new();
        let keys: BTreeSet<&FunctionKey<'_>> = here.keys().chain(base.keys()).collect();
        for key in keys {
            let [here, base] = [here.get(key), base.get(key)];
            let shares = [here, base].map(|side| side.map_or(&none, |side| &side.shares));
            let source = here.or(base).and_then(|side| side.source);
            losses.extend(self.parts(shares).into_iter().map(|part| FunctionLoss {
                command: key.command.to_owned(),
                function: key.function.to_owned(),
                module: key.module.map(str::to_owned),
                source: source.map(str::to_owned),
                part,
            }));
        }
        losses.sort_by(|a, b| b.part.lost_cpus.total_cmp(&a.part.lost_cpus));
        losses
    }

    /// Calls with a notable part of a loss, and their callers, depth first. Of the callees of one
    /// call, that with the largest part of any loss is first.
    pub(crate) fn call_losses(&self) -> Vec<CallLoss> {
        let is_empty = |runs: &TracedRuns<'_>| runs.shown.call_tree.is_empty();
        if is_empty(self.here) || is_empty(self.base) {
            return Vec::new();
        }
        let calls = call_shares(self.here, self.base);
        let parts: Vec<Vec<CodeLoss>> =
            calls.iter().map(|call| self.parts([&call.here, &call.base])).collect();
        let mut is_kept: Vec<bool> = parts.iter().map(|parts| !parts.is_empty()).collect();
        let mut callees: Vec<Vec<usize>> = vec![Vec::new(); calls.len()];
        let mut roots: Vec<usize> = Vec::new();
        for (index, call) in calls.iter().enumerate().rev() {
            if is_kept[index] {
                match call.caller {
                    Some(caller) => {
                        is_kept[caller] = true;
                        callees[caller].push(index);
                    }
                    None => roots.push(index),
                }
            }
        }
        let largest = |index: &usize| parts[*index].iter().map(|part| part.lost_cpus).fold(0.0, f64::max);
        for siblings in callees.iter_mut().chain([&mut roots]) {
            siblings.sort_by(|a, b| largest(b).total_cmp(&largest(a)).then(a.cmp(b)));
        }
        let mut losses: Vec<CallLoss> = Vec::new();
        // Calls still to be visited, with the index of their caller's loss; the next one is last.
        let mut open: Vec<(usize, Option<u32>)> = roots.iter().rev().map(|root| (*root, None)).collect();
        while let Some((index, caller)) = open.pop() {
            let number = losses.len() as u32;
            losses.push(call_loss(&calls[index], caller, &parts[index]));
            open.extend(callees[index].iter().rev().map(|callee| (*callee, Some(number))));
        }
        losses
    }

    /// Notable parts of the losses, from the shares here and in the baseline. Each part is
    /// `a - S·b`, with the shares `a` here and `b` of the baseline. Its interval has the distances
    /// of Zou & Donner, as those of the components.
    fn parts(&self, [here, base]: [&CodeShares; 2]) -> Vec<CodeLoss> {
        let is_known =
            |component| self.here.share(component).is_some() && self.base.share(component).is_some();
        let part = |loss: Component| {
            let components = covered_components(loss, is_known)?;
            let (lost_cpus, ci95) = difference(here.sum(&components), base.sum(&components), self.speedup);
            (lost_cpus.abs() >= LEAST_CPUS).then_some(CodeLoss { loss, lost_cpus, ci95 })
        };
        let container = |component: Component| {
            std::iter::successors(Some(component), |inner| inner.container()).find(|outer| is_known(*outer))
        };
        let losses: BTreeSet<Component> =
            here.components().chain(base.components()).filter_map(container).collect();
        losses.into_iter().filter_map(part).collect()
    }
}

fn call_loss(call: &CallShares<'_>, caller: Option<u32>, parts: &[CodeLoss]) -> CallLoss {
    CallLoss {
        caller,
        function: call.function.to_owned(),
        module: call.module.map(str::to_owned),
        source: call.source.map(str::to_owned),
        running: call.running(),
        parts: parts.to_vec(),
    }
}

/// Part of a loss, and its 95% interval.
fn difference(here: SampledShare, base: SampledShare, speedup: StackSpeedup) -> (f64, [f64; 2]) {
    let lost = here.value - speedup.value * base.value;
    let spread = Z95 * here.error.hypot(speedup.value * base.error);
    let [slowest, fastest] = speedup.ci95.unwrap_or([speedup.value; 2]);
    let distance = |of_speedup: f64| spread.hypot(base.value * of_speedup);
    (lost, [lost - distance(fastest - speedup.value), lost + distance(speedup.value - slowest)])
}
