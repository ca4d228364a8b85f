//! Code of the command: functions of files and of processes, with the functions inlined into them,
//! and their names in a table. This module names no function itself; the header does.

use std::collections::BTreeMap;

use morecores_study::trace::{
    CodeAddress, FileLine, Function, GeneratedFunction, Module, SampleMode, Tid, TraceFacts,
};

use crate::trace::CpuSample;

/// Code that a sample found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Code {
    /// Function of this index in the header.
    Function(usize),
    /// Inlined function of a module, by the number of its name in the header's source map.
    Inlined { module: u32, name: u32 },
    /// Function of this index among those that processes generated: the first one of its name.
    Generated(usize),
    /// Code of a module outside all functions of the header.
    Module(u32),
    /// The kernel outside all functions of the header, working for the command.
    Kernel,
    /// Code without a known mapping.
    Unknown,
    /// Callers that an incomplete stack does not show.
    UnknownCallers,
}

impl Code {
    /// Whether it is a function that the trace knows.
    pub(super) const fn is_function(self) -> bool {
        matches!(self, Self::Function(_) | Self::Inlined { .. } | Self::Generated(_))
    }
}

/// Function that ran or called, at a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) code: Code,
    /// Line that ran or called; `None` if it is unknown.
    pub(super) line: Option<FileLine>,
    /// Whether the compiler inlined the function into its caller.
    pub(super) is_inlined: bool,
}

/// Code of a trace, and its names.
pub(super) struct CodeMap<'t> {
    facts: &'t TraceFacts,
    /// Index of the first generated function with the module and the name of each one. A runtime
    /// may generate a function several times, and each process has its own.
    first_of_name: Vec<usize>,
    /// Functions of the header by module and name.
    named: BTreeMap<(u32, &'t str), usize>,
}

impl Call {
    /// Call of code without a known line.
    pub(super) const fn without_line(code: Code) -> Self {
        Self { code, line: None, is_inlined: false }
    }
}

/// Calls from the outermost one, from those that begin with the innermost. A function that calls
/// itself occurs once in a row.
pub(super) fn outermost_first(mut calls: Vec<Call>) -> Vec<Call> {
    calls.reverse();
    calls.dedup_by_key(|call| call.code);
    calls
}

impl<'t> CodeMap<'t> {
    pub(super) fn new(facts: &'t TraceFacts) -> Self {
        let mut first: BTreeMap<(u32, &str), usize> = BTreeMap::new();
        let index_of_first = |(index, function): (usize, &'t GeneratedFunction)| {
            *first.entry((function.module, &function.name)).or_insert(index)
        };
        let first_of_name = facts.generated.iter().enumerate().map(index_of_first).collect();
        let named = |(index, function): (usize, &'t Function)| {
            Some(((function.module, function.name.as_deref()?), index))
        };
        let named = facts.functions.iter().enumerate().filter_map(named).collect();
        Self { facts, first_of_name, named }
    }

    /// Code at a place in a file.
    pub(super) fn code_at(&self, CodeAddress { module, offset }: CodeAddress) -> Code {
        let functions = &self.facts.functions;
        let key = |function: &Function| (function.module, function.start);
        let after = functions.partition_point(|function| key(function) <= (module, offset));
        let contains = |function: &Function| function.module == module && offset < function.end;
        match after.checked_sub(1).filter(|index| contains(&functions[*index])) {
            Some(index) => Code::Function(index),
            None => Code::Module(module),
        }
    }

    /// Calls of a process at a place, the innermost first: functions inlined there, and the
    /// function of a file or of the process that contains them.
    pub(super) fn calls_at(&self, process: Option<Tid>, code: CodeAddress) -> impl Iterator<Item = Call> {
        let range = self.facts.source_map.range(code);
        let inlined = range.into_iter().flat_map(|range| range.inlined.iter().rev());
        let inlined = inlined.map(move |(name, line)| Call {
            code: self.inlined(code.module, *name),
            line: *line,
            is_inlined: true,
        });
        let containing = match self.code_at(code) {
            Code::Module(_) => self.generated_at(process, code),
            function => function,
        };
        let line = range.map(|range| range.line);
        inlined.chain([Call { code: containing, line, is_inlined: false }])
    }

    /// Calls at the place of a sample in user mode, or in the kernel without the user's part, the
    /// innermost first; none for a sample in an interrupt. `process` is that of the sampled thread.
    pub(super) fn sample_calls(&self, process: Option<Tid>, sample: &CpuSample) -> Vec<Call> {
        match (sample.mode, sample.code) {
            (SampleMode::User, Some(code)) => self.calls_at(process, code).collect(),
            (SampleMode::User, None) => vec![Call::without_line(Code::Unknown)],
            (SampleMode::Kernel, code) => {
                vec![Call::without_line(match code.map(|code| self.code_at(code)) {
                    Some(function @ Code::Function(_)) => function,
                    _ => Code::Kernel,
                })]
            }
            (SampleMode::Interrupt, _) => Vec::new(),
        }
    }

    /// Line of the function at a place that ran or called.
    pub(super) fn line_at(&self, code: CodeAddress) -> Option<FileLine> {
        self.facts.source_map.range(code).map(|range| range.line)
    }

    /// Inlined function with this number of its name: the function of the header, if the module has
    /// one of the name.
    fn inlined(&self, module: u32, name: u32) -> Code {
        let function = self.named.get(&(module, self.facts.source_map.name(name)));
        function.map_or(Code::Inlined { module, name }, |index| Code::Function(*index))
    }

    /// Code of a process at a place outside the functions of files.
    fn generated_at(&self, process: Option<Tid>, code: CodeAddress) -> Code {
        let CodeAddress { module, offset } = code;
        let functions = &self.facts.generated;
        let key = |function: &GeneratedFunction| (function.process, function.module, function.start);
        let index = process.and_then(|process| {
            let after = functions.partition_point(|other| key(other) <= (process, module, offset));
            after.checked_sub(1).filter(|index| {
                let GeneratedFunction { process: of, module: inside, end, .. } = &functions[*index];
                (*of, *inside) == (process, module) && offset < *end
            })
        });
        index.map_or(Code::Module(module), |index| Code::Generated(self.first_of_name[index]))
    }

    /// Name of code in a table.
    pub(super) fn name(&self, code: Code) -> String {
        match code {
            Code::Function(index) => {
                let function = &self.facts.functions[index];
                let by_place = || format!("{}+{:#x}", self.file(function.module), function.start);
                function.name.clone().unwrap_or_else(by_place)
            }
            Code::Inlined { name, .. } => self.facts.source_map.name(name).to_owned(),
            Code::Generated(index) => self.facts.generated[index].name.clone(),
            Code::Module(module) => match self.file(module) {
                // The kernel's own name of code without a file has brackets.
                name if name.starts_with('[') => name.to_owned(),
                name => format!("[{name}]"),
            },
            Code::Kernel => Module::KERNEL.to_owned(),
            Code::Unknown => "[unknown]".to_owned(),
            Code::UnknownCallers => "[unknown callers]".to_owned(),
        }
    }

    /// Name of a function by a symbol; `None` for code without one.
    pub(super) fn symbol(&self, code: Code) -> Option<&'t str> {
        let Code::Function(index) = code else { return None };
        self.facts.functions[index].name.as_deref()
    }

    /// Place in the source code, `file:line`, of [`file_line`](Self::file_line).
    pub(super) fn source(&self, code: Code, line: Option<FileLine>) -> Option<String> {
        let (file, line) = self.file_line(code, line)?;
        Some(format!("{}:{line}", file_name(file)))
    }

    /// Path of the source file, and the line, else the first one of the function.
    pub(super) fn file_line(&self, code: Code, line: Option<FileLine>) -> Option<(&str, u32)> {
        let first = || match code {
            Code::Function(index) => self.facts.functions[index].source.as_ref(),
            _ => None,
        };
        let line = line.map(|line| self.facts.source_map.line(line));
        line.or_else(|| first().map(|first| (first.file.as_str(), first.line)))
    }

    /// Path of the file with code.
    pub(super) fn module(&self, code: Code) -> Option<String> {
        let number = match code {
            Code::Function(index) => self.facts.functions[index].module,
            Code::Inlined { module, .. } => module,
            Code::Generated(index) => self.facts.generated[index].module,
            Code::Module(module) => module,
            Code::Kernel => return Some(Module::KERNEL.to_owned()),
            Code::Unknown | Code::UnknownCallers => return None,
        };
        self.facts.modules.get(number as usize).map(|module| module.path.clone())
    }

    /// Names of the files of all modules, in their order.
    pub(super) fn files(&self) -> impl Iterator<Item = &'t str> {
        self.facts.modules.iter().map(|module| file_name(&module.path))
    }

    /// Name of the file of a module.
    pub(super) fn file(&self, module: u32) -> &'t str {
        self.facts.modules.get(module as usize).map_or("unknown", |module| file_name(&module.path))
    }
}

/// Last part of a path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
