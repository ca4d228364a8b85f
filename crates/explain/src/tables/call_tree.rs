//! Call tree of the command: the CPU time of each function with all that it calls, and the idle
//! time of other CPUs that the idle rule charges to it, by the stacks of the samples.

use std::collections::BTreeMap;

use morecores_study::trace::{SampleMode, TraceFacts};
use morecores_view::code::CallNode;

use super::functions::{
    Code, GeneratedCode, code_name, idle_scales, module_of, process_code, sample_code, source_of,
};
use super::programs::{ProgramId, Programs};
use crate::trace::{CpuSample, IdleAccounting, ThreadId, Timeline};

/// Share of the samples from which a call has a node. A choice: narrower boxes cannot be read.
const LEAST_SHARE: f64 = 0.005;

/// Largest number of calls below each other that have a node. Deeper ones count in the last.
const MOST_LEVELS: usize = 128;

/// Sums over the samples in a function that was called by certain callers.
#[derive(Debug, Default)]
struct Call {
    samples: f64,
    charged: f64,
    running: f64,
    callees: BTreeMap<Code, Call>,
}

impl Call {
    fn add(&mut self, sample: &WeightedSample) {
        self.samples += 1.0;
        self.charged += sample.charged;
        self.running += f64::from(sample.running);
    }
}

/// Figures of one sample.
struct WeightedSample {
    /// Idle CPUs charged to the thread, with the scale of its program.
    charged: f64,
    /// Number of running threads.
    running: u32,
}

/// Nodes of the tree in depth-first order, widest first: a root for each program. Empty for a trace
/// without stacks.
pub(super) fn call_tree(
    facts: &TraceFacts,
    timeline: &Timeline,
    programs: &Programs,
    idle: &IdleAccounting,
) -> Vec<CallNode> {
    let Some(period) = facts.sample_period_ns else { return Vec::new() };
    if timeline.samples.iter().all(|sample| sample.stack.is_none()) {
        return Vec::new();
    }
    let period_s = period.as_secs_f64();
    let generated = GeneratedCode::new(&facts.generated);
    let scales = idle_scales(timeline, programs, idle, period_s);
    let mut roots: BTreeMap<ProgramId, Call> = BTreeMap::new();
    for (index, sample) in timeline.samples.iter().enumerate() {
        let Some(id) = sample.thread.filter(|id| timeline.thread(*id).in_tree) else { continue };
        if sample.mode == SampleMode::Interrupt {
            continue;
        }
        let program = programs.program_at(id, sample.at);
        let weighted = WeightedSample {
            charged: idle.sample_charges[index] * scales.get(&program).copied().unwrap_or(0.0),
            running: idle.sample_running[index],
        };
        let mut call = roots.entry(program).or_default();
        call.add(&weighted);
        for code in path(facts, &generated, timeline, sample, id) {
            call = call.callees.entry(code).or_default();
            call.add(&weighted);
        }
    }
    let all: f64 = roots.values().map(|call| call.samples).sum();
    let mut nodes = Nodes { facts, period_s, least: all * LEAST_SHARE, nodes: Vec::new() };
    let mut roots: Vec<(ProgramId, Call)> = roots.into_iter().collect();
    roots.sort_by(|(_, one), (_, other)| other.samples.total_cmp(&one.samples));
    for (program, call) in &roots {
        nodes.add(None, (programs.name(*program), None, None), call);
    }
    nodes.nodes
}

/// Functions of a sample, the outermost first. A function that calls itself occurs once in a row.
fn path(
    facts: &TraceFacts,
    generated: &GeneratedCode<'_>,
    timeline: &Timeline,
    sample: &CpuSample,
    id: ThreadId,
) -> Vec<Code> {
    let process = timeline.thread(id).process;
    let callers = sample.stack.iter().flat_map(|stack| timeline.user_stacks.code(stack));
    let mut path: Vec<Code> =
        callers.map(|code| process_code(&facts.functions, generated, process, code)).collect();
    path.reverse();
    // The stack of a sample in user mode begins with the sampled function.
    if sample.mode == SampleMode::Kernel || sample.stack.is_none() {
        path.extend(sample_code(&facts.functions, generated, process, sample));
    }
    path.dedup();
    path.truncate(MOST_LEVELS);
    path
}

/// Nodes of the tree so far.
struct Nodes<'a> {
    facts: &'a TraceFacts,
    period_s: f64,
    least: f64,
    nodes: Vec<CallNode>,
}

impl Nodes<'_> {
    fn add(&mut self, parent: Option<u32>, names: (String, Option<String>, Option<String>), call: &Call) {
        if call.samples < self.least {
            return;
        }
        let number = self.nodes.len() as u32;
        let (function, module, source) = names;
        self.nodes.push(CallNode {
            caller: parent,
            function,
            module,
            source,
            cpu_s: call.samples * self.period_s,
            idle_s: call.charged * self.period_s,
            running: call.running / call.samples,
        });
        let mut callees: Vec<(&Code, &Call)> = call.callees.iter().collect();
        callees.sort_by(|(_, one), (_, other)| other.samples.total_cmp(&one.samples));
        for (code, callee) in callees {
            let names =
                (code_name(*code, self.facts), module_of(*code, self.facts), source_of(*code, self.facts));
            self.add(Some(number), names, callee);
        }
    }
}
