//! All call stacks of a traced run with the times that each stands for, without rows for a part of
//! them: for flame graphs and profiles of other programs.

use std::collections::BTreeMap;

use morecores_study::Nanos;
use morecores_study::trace::{FileLine, SampleMode};
use morecores_view::Component;

use super::code::{Code, CodeMap};
use super::code_times::{CodeInput, Moment};
use super::programs::ProgramId;
use crate::trace::ThreadId;

/// Calls of a command at which a time was found.
#[derive(Clone, Debug, PartialEq)]
pub struct CallStack {
    /// Name of the command.
    pub command: String,
    /// Component of the time: work, or idle time while threads waited here or ran here alone.
    pub component: Component,
    /// Functions, the outermost first.
    pub functions: Vec<StackFunction>,
    /// Estimated time, in CPU-seconds.
    pub seconds: f64,
}

/// Sample of a thread of the command, with its calls.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledStack {
    /// Sampled thread.
    pub thread: ThreadId,
    /// Time of the sample.
    pub at: Nanos,
    /// Functions, the outermost first.
    pub functions: Vec<StackFunction>,
}

/// Function of a call stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StackFunction {
    /// Name, as in [`FunctionView`](morecores_view::code::FunctionView).
    pub name: String,
    /// Path of the file with its code; none for unknown code.
    pub module: Option<String>,
    /// Source file and line that ran or called, else those of the function; none if unknown.
    pub line: Option<(String, u32)>,
}

type Key = (ProgramId, Component, Vec<(Code, Option<FileLine>)>);

/// Times by stack.
#[derive(Debug, Default)]
pub(super) struct StackTimes(BTreeMap<Key, f64>);

impl StackTimes {
    pub(super) fn add(&mut self, moment: &Moment<'_>) {
        let calls = moment.calls.iter().map(|call| (call.code, call.line)).collect();
        *self.0.entry((moment.program, moment.component, calls)).or_default() += moment.time.seconds();
    }

    /// All stacks with some time.
    pub(super) fn into_rows(self, input: &CodeInput<'_>) -> Vec<CallStack> {
        let rows = self.0.into_iter().filter(|(_, seconds)| *seconds > 0.0);
        let row = |((program, component, calls), seconds): (Key, f64)| CallStack {
            command: input.programs.name(program),
            component,
            functions: calls.into_iter().map(|(code, line)| function(input.map, code, line)).collect(),
            seconds,
        };
        rows.map(row).collect()
    }
}

/// Samples of the command's threads in user mode and in the kernel, in the order of time.
pub(super) fn sampled_stacks(input: &CodeInput<'_>) -> Vec<SampledStack> {
    let sampled = input.timeline.samples.iter().filter_map(|sample| {
        let thread = sample.thread.filter(|id| input.timeline.thread(*id).in_tree)?;
        let calls = input.sample_calls(sample, thread);
        let functions = calls.iter().map(|call| function(input.map, call.code, call.line)).collect();
        (sample.mode != SampleMode::Interrupt).then_some(SampledStack { thread, at: sample.at, functions })
    });
    sampled.collect()
}

fn function(map: &CodeMap<'_>, code: Code, line: Option<FileLine>) -> StackFunction {
    let line = map.file_line(code, line).map(|(file, line)| (file.to_owned(), line));
    StackFunction { name: map.name(code), module: map.module(code), line }
}
