//! Code of the command: functions of files and of processes, and their names in a table. This
//! module names no function itself; the header does.

use std::collections::BTreeMap;

use morecores_study::trace::{CodeAddress, Function, GeneratedFunction, Module, SampleMode, Tid, TraceFacts};

use crate::trace::CpuSample;

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
    /// Callers that an incomplete stack does not show.
    UnknownCallers,
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
        Code::UnknownCallers => "[unknown callers]".to_owned(),
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
        Code::Unknown | Code::UnknownCallers => return None,
    };
    facts.modules.get(number as usize).map(|module| module.path.clone())
}

/// Last part of a path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
