//! Functions of the command, with the times that each holds itself. This module estimates no time.

use std::collections::BTreeMap;

use morecores_view::code::FunctionView;

use super::code::{Code, code_name, module_of, source_of};
use super::code_times::{CodeInput, ComponentTimes, Moment};
use super::programs::ProgramId;

/// Share of all CPU time, or of all idle time that functions hold, from which a function has a row.
/// A choice: a thousandth is below every loss that is named.
const LEAST_SHARE: f64 = 0.001;

/// Sums over all moments, by program and innermost function.
#[derive(Debug, Default)]
pub(super) struct FunctionTimes(BTreeMap<(ProgramId, Code), ComponentTimes>);

impl FunctionTimes {
    pub(super) fn add(&mut self, moment: &Moment<'_>) {
        if let Some(code) = moment.calls.last() {
            self.0.entry((moment.program, *code)).or_default().add(moment.component, moment.time);
        }
    }

    /// Rows of the functions with a notable share of the time, most time first.
    pub(super) fn rows(&self, input: &CodeInput<'_>) -> Vec<FunctionView> {
        let whole = self.0.values().map(ComponentTimes::cpu_and_idle);
        let (cpu, idle) = whole.fold((0.0, 0.0), |(cpu, idle), times| (cpu + times.0, idle + times.1));
        let is_long = |seconds: f64, whole: f64| seconds > 0.0 && seconds >= LEAST_SHARE * whole;
        let is_notable = |times: &ComponentTimes| {
            let (own_cpu, own_idle) = times.cpu_and_idle();
            is_long(own_cpu, cpu) || is_long(own_idle, idle)
        };
        let mut notable: Vec<(&(ProgramId, Code), &ComponentTimes)> =
            self.0.iter().filter(|(_, times)| is_notable(times)).collect();
        let seconds = |times: &ComponentTimes| {
            let (cpu, idle) = times.cpu_and_idle();
            cpu + idle
        };
        notable.sort_by(|(_, one), (_, other)| seconds(other).total_cmp(&seconds(one)));
        let row = |((program, code), times): (&(ProgramId, Code), &ComponentTimes)| FunctionView {
            command: input.programs.name(*program),
            function: code_name(*code, input.facts),
            module: module_of(*code, input.facts),
            source: source_of(*code, input.facts),
            times: times.to_view(),
        };
        notable.into_iter().map(row).collect()
    }
}
