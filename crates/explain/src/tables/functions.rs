//! Functions that the command ran, by samples: the CPU time of each, and the idle time of other
//! CPUs that the idle rule charges to it. This module names no function; the header does.

use std::collections::BTreeMap;

use morecores_study::trace::{CodeAddress, Function, GeneratedFunction, Module, SampleMode, Tid, TraceFacts};
use morecores_view::code::FunctionView;

use super::programs::{ProgramId, Programs};
use crate::trace::{CpuSample, IdleAccounting, Timeline};

/// Share of the command's samples from which a function has a row. A choice: a thousandth is below
/// every loss that is named.
const LEAST_SHARE: f64 = 0.001;

/// Code that a sample found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Code {
    /// Function of this index in the header.
    Function(usize),
    /// Function of this index among those that processes generated: the first one of its name.
    Generated(usize),
    /// Code of a module outside all functions of the header.
    Module(u32),
    /// The kernel outside all functions of the header, working for the command.
    Kernel,
    /// Code without a known mapping.
    Unknown,
}

/// Sums over the samples of one function in one program.
#[derive(Clone, Copy, Debug, Default)]
struct SampleSum {
    samples: u32,
    /// Idle CPUs charged at the samples, and the sum of their squares.
    charged: f64,
    charged_squares: f64,
}

/// Rows of all functions with a notable share of the samples, most time first; empty for a trace
/// without samples or without mappings of code.
///
/// A sample stands for the time between two samples. The charges of a program's samples are scaled
/// to the program's idle time, which is known without samples. The standard errors are those of
/// independent samples.
pub(super) fn functions(
    facts: &TraceFacts,
    timeline: &Timeline,
    programs: &Programs,
    idle: &IdleAccounting,
) -> Vec<FunctionView> {
    let Some(period) = facts.sample_period_ns.filter(|_| !facts.modules.is_empty()) else {
        return Vec::new();
    };
    let period_s = period.as_secs_f64();
    let generated = GeneratedCode::new(&facts.generated);
    let mut sums: BTreeMap<(ProgramId, Code), SampleSum> = BTreeMap::new();
    for (sample, &charge) in timeline.samples.iter().zip(&idle.sample_charges) {
        let Some(id) = sample.thread.filter(|id| timeline.thread(*id).in_tree) else { continue };
        let process = timeline.thread(id).process;
        let Some(code) = sample_code(&facts.functions, &generated, process, sample) else { continue };
        let sum = sums.entry((programs.program_at(id, sample.at), code)).or_default();
        sum.samples += 1;
        sum.charged += charge;
        sum.charged_squares += charge * charge;
    }
    let scales = idle_scales(timeline, programs, idle, period_s);
    let all: u32 = sums.values().map(|sum| sum.samples).sum();
    let least = (f64::from(all) * LEAST_SHARE).ceil() as u32;
    let row = |((program, code), sum): (&(ProgramId, Code), &SampleSum)| {
        let charge_s = period_s * scales.get(program).copied().unwrap_or(0.0);
        FunctionView {
            command: programs.name(*program),
            function: code_name(*code, facts),
            module: module_of(*code, facts),
            source: source_of(*code, facts),
            cpu_s: f64::from(sum.samples) * period_s,
            cpu_error_s: f64::from(sum.samples).sqrt() * period_s,
            idle_s: sum.charged * charge_s,
            idle_error_s: sum.charged_squares.sqrt() * charge_s,
        }
    };
    let mut rows: Vec<FunctionView> = sums.iter().filter(|(_, sum)| sum.samples >= least).map(row).collect();
    rows.sort_by(|a, b| (b.cpu_s + b.idle_s).total_cmp(&(a.cpu_s + a.idle_s)));
    rows
}

/// Code that a sample found; `None` for a sample in an interrupt. `process` is that of the sampled
/// thread.
pub(super) fn sample_code(
    functions: &[Function],
    generated: &GeneratedCode<'_>,
    process: Option<Tid>,
    sample: &CpuSample,
) -> Option<Code> {
    match sample.mode {
        SampleMode::User => {
            let code = sample.code.map(|code| process_code(functions, generated, process, code));
            Some(code.unwrap_or(Code::Unknown))
        }
        SampleMode::Kernel => Some(match sample.code.map(|code| code_at(functions, code)) {
            Some(function @ Code::Function(_)) => function,
            _ => Code::Kernel,
        }),
        SampleMode::Interrupt => None,
    }
}

/// Code of a process at a place: a function of a file, or one that the process generated.
pub(super) fn process_code(
    functions: &[Function],
    generated: &GeneratedCode<'_>,
    process: Option<Tid>,
    code: CodeAddress,
) -> Code {
    match code_at(functions, code) {
        Code::Module(_) => generated.code_at(process, code),
        function => function,
    }
}

/// Code at a place in a file. `functions` are in the order of modules and places.
pub(super) fn code_at(functions: &[Function], CodeAddress { module, offset }: CodeAddress) -> Code {
    let after = functions.partition_point(|function| (function.module, function.start) <= (module, offset));
    let contains = |function: &Function| function.module == module && offset < function.end;
    match after.checked_sub(1).filter(|index| contains(&functions[*index])) {
        Some(index) => Code::Function(index),
        None => Code::Module(module),
    }
}

/// Functions that processes generated.
pub(super) struct GeneratedCode<'t> {
    /// Functions in the order of processes, modules and places.
    functions: &'t [GeneratedFunction],
    /// Index of the first function with the module and the name of each function. A runtime may
    /// generate a function several times, and each process has its own.
    first_of_name: Vec<usize>,
}

impl<'t> GeneratedCode<'t> {
    pub(super) fn new(functions: &'t [GeneratedFunction]) -> Self {
        let mut first: BTreeMap<(u32, &str), usize> = BTreeMap::new();
        let index_of_first = |(index, function): (usize, &'t GeneratedFunction)| {
            *first.entry((function.module, &function.name)).or_insert(index)
        };
        let first_of_name = functions.iter().enumerate().map(index_of_first).collect();
        Self { functions, first_of_name }
    }

    /// Code of a process at a place outside the functions of files.
    fn code_at(&self, process: Option<Tid>, code: CodeAddress) -> Code {
        let CodeAddress { module, offset } = code;
        let key = |function: &GeneratedFunction| (function.process, function.module, function.start);
        let index = process.and_then(|process| {
            let after = self.functions.partition_point(|other| key(other) <= (process, module, offset));
            after.checked_sub(1).filter(|index| {
                let GeneratedFunction { process: of, module: inside, end, .. } = &self.functions[*index];
                (*of, *inside) == (process, module) && offset < *end
            })
        });
        index.map_or(Code::Module(module), |index| Code::Generated(self.first_of_name[index]))
    }
}

/// Idle time charged to each program, over the estimate of it by the program's samples.
pub(super) fn idle_scales(
    timeline: &Timeline,
    programs: &Programs,
    idle: &IdleAccounting,
    period_s: f64,
) -> BTreeMap<ProgramId, f64> {
    let mut charged: BTreeMap<ProgramId, f64> = BTreeMap::new();
    for (sample, charge) in timeline.samples.iter().zip(&idle.sample_charges) {
        if let Some(id) = sample.thread.filter(|_| sample.mode != SampleMode::Interrupt) {
            *charged.entry(programs.program_at(id, sample.at)).or_default() += charge;
        }
    }
    let mut scales: BTreeMap<ProgramId, f64> = BTreeMap::new();
    for charge in &idle.charges {
        let Some(id) = charge.thread else { continue };
        *scales.entry(programs.charged_program(timeline, id, charge.name_index)).or_default() +=
            charge.seconds;
    }
    for (program, scale) in &mut scales {
        let estimate = period_s * charged.get(program).copied().unwrap_or(0.0);
        *scale = if estimate > 0.0 { *scale / estimate } else { 0.0 };
    }
    scales
}

/// Name of code in a table.
pub(super) fn code_name(code: Code, facts: &TraceFacts) -> String {
    let file =
        |module: u32| facts.modules.get(module as usize).map_or("unknown", |module| file_name(&module.path));
    match code {
        Code::Function(index) => facts.functions.get(index).map_or_else(String::new, |function| {
            let by_place = || format!("{}+{:#x}", file(function.module), function.start);
            function.name.clone().unwrap_or_else(by_place)
        }),
        Code::Generated(index) => facts.generated.get(index).map_or_else(String::new, |f| f.name.clone()),
        Code::Module(module) => match file(module) {
            // The kernel's own name of code without a file has brackets.
            name if name.starts_with('[') => name.to_owned(),
            name => format!("[{name}]"),
        },
        Code::Kernel => Module::KERNEL.to_owned(),
        Code::Unknown => "[unknown]".to_owned(),
    }
}

/// Place of a function in the source code, `file:line`.
pub(super) fn source_of(code: Code, facts: &TraceFacts) -> Option<String> {
    let Code::Function(index) = code else { return None };
    let source = facts.functions.get(index)?.source.as_ref()?;
    Some(format!("{}:{}", file_name(&source.file), source.line))
}

/// Path of the file with code.
pub(super) fn module_of(code: Code, facts: &TraceFacts) -> Option<String> {
    let number = match code {
        Code::Function(index) => facts.functions.get(index)?.module,
        Code::Generated(index) => facts.generated.get(index)?.module,
        Code::Module(module) => module,
        Code::Kernel => return Some(Module::KERNEL.to_owned()),
        Code::Unknown => return None,
    };
    facts.modules.get(number as usize).map(|module| module.path.clone())
}

/// Last part of a path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
