//! Functions of the command, with the times that each holds itself. This module estimates no time.

use std::collections::BTreeMap;

use morecores_view::code::FunctionView;

use super::code::{Call, Code, CodeMap};
use super::code_times::{CodeInput, LineTimes, Moment};
use super::programs::ProgramId;
use super::standard_library::is_of_standard_library;

/// Share of all CPU time, or of all idle time that functions hold, from which a function has a row.
/// A choice: a thousandth is below every loss that is named.
const LEAST_SHARE: f64 = 0.001;

/// Sums over all moments, by program and innermost function.
#[derive(Debug, Default)]
pub(super) struct FunctionTimes(BTreeMap<(ProgramId, Code), LineTimes>);

impl FunctionTimes {
    /// Adds a moment. Functions of a language's standard library are part of their caller where
    /// the compiler inlined them.
    pub(super) fn add(&mut self, moment: &Moment<'_>, map: &CodeMap<'_>) {
        let is_own = |call: &&Call| !call.is_inlined || !is_of_standard_library(&map.name(call.code));
        if let Some(call) = moment.calls.iter().rev().find(is_own) {
            self.0.entry((moment.program, call.code)).or_default().add(moment, call.line);
        }
    }

    /// Rows of the functions with a notable share of the time, most time first.
    pub(super) fn rows(&self, input: &CodeInput<'_>) -> Vec<FunctionView> {
        let whole = self.0.values().map(|times| times.sum.cpu_and_idle());
        let (cpu, idle) = whole.fold((0.0, 0.0), |(cpu, idle), times| (cpu + times.0, idle + times.1));
        let is_long = |seconds: f64, whole: f64| seconds > 0.0 && seconds >= LEAST_SHARE * whole;
        let is_notable = |times: &LineTimes| {
            let (own_cpu, own_idle) = times.sum.cpu_and_idle();
            is_long(own_cpu, cpu) || is_long(own_idle, idle)
        };
        let mut notable: Vec<(&(ProgramId, Code), &LineTimes)> =
            self.0.iter().filter(|(_, times)| is_notable(times)).collect();
        notable.sort_by(|(_, one), (_, other)| other.sum.seconds().total_cmp(&one.sum.seconds()));
        let row = |((program, code), times): (&(ProgramId, Code), &LineTimes)| FunctionView {
            command: input.programs.name(*program),
            function: input.map.name(*code),
            module: input.map.module(*code),
            source: input.map.source(*code, times.longest()),
            times: times.sum.to_view(),
            path_s: input.path.map(|_| times.path_s),
        };
        notable.into_iter().map(row).collect()
    }
}
