//! Descriptions of sites for people: function, source line and instruction.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::iter;
use std::path::PathBuf;

use iced_x86::{Formatter, Instruction, IntelFormatter, OpKind, SymbolResolver, SymbolResult};
use morecores_findings::{CodePlace, Description, StackDescription, WaitDescription};
use morecores_study::trace::{Mapping, Module, SourceLine, SourcePlace, Tid};
use morecores_symbols::{Symbolizer, source_name};
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

use crate::imports::Imports;
use crate::instruction::{LONGEST, decode, is_call};
use crate::tracer::{LockWait, ThreadStack};

/// Folders with the sources of standard libraries: of Rust, and of C++ as GCC and LLVM have them.
const LIBRARY_SOURCES: [&str; 3] = ["/rustc/", "/include/c++/", "/library/std/src/"];

/// Describes places. It keeps the files that it has read.
#[derive(Debug, Default)]
pub(crate) struct Describer {
    symbolizer: Symbolizer,
    files: HashMap<PathBuf, Vec<u8>>,
}

impl Describer {
    pub(crate) fn describe(&mut self, place: &CodePlace) -> Description {
        let module = Module { path: place.file.display().to_string(), build_id: None };
        let offsets = BTreeSet::from([place.offset]);
        let function = self.symbolizer.functions(0, &module, &offsets).ok();
        let function = function.and_then(|functions| functions.into_iter().next()?.name);
        let places = self.symbolizer.source_places(0, &module, &offsets).ok();
        let (function, source) = match places.and_then(|places| places.into_iter().next()) {
            Some(place) => own_frame(function, place),
            None => (function, None),
        };
        let content = self
            .files
            .entry(place.file.clone())
            .or_insert_with_key(|path| fs::read(path).unwrap_or_default());
        Description { function, source, instruction: instruction_text(content, place.offset) }
    }
}

impl Describer {
    pub(crate) fn describe_stack(&mut self, stack: &ThreadStack) -> StackDescription {
        let frames = stack.frames.iter().map(|frame| self.describe(frame)).collect();
        StackDescription { thread: stack.thread, frames }
    }

    pub(crate) fn describe_wait(&mut self, wait: &LockWait) -> WaitDescription {
        let lock = wait.code.iter().find_map(|code| {
            let module = Module { path: code.file.display().to_string(), build_id: None };
            let (start, length) = (code.start, code.end - code.start);
            let mapping = Mapping { process: Tid(0), start, length, offset: code.offset, module: 0 };
            let variable = self.symbolizer.variable(&module, &mapping, wait.address).ok()??;
            let offset = if variable.offset > 0 { format!("+{}", variable.offset) } else { String::new() };
            Some(variable.name + &offset)
        });
        WaitDescription { thread: wait.thread, lock, holder: wait.owner }
    }
}

/// Name and line of the innermost function that is not of a library. Of several functions that the
/// compiler inlined into one, that is the one that the author of the program knows.
fn own_frame(function: Option<String>, place: SourcePlace) -> (Option<String>, Option<SourceLine>) {
    let outermost = (function, Some(place.line));
    let inlined = place.inlined.into_iter().map(|inlined| (Some(inlined.name), inlined.line));
    let mut frames: Vec<_> = iter::once(outermost).chain(inlined).collect();
    let is_own = |(_, line): &(Option<String>, Option<SourceLine>)| {
        line.as_ref().is_some_and(|line| !LIBRARY_SOURCES.iter().any(|folder| line.file.contains(folder)))
    };
    let own = frames.iter().rposition(is_own).unwrap_or(frames.len() - 1);
    frames.swap_remove(own)
}

/// Text of the instruction at an offset of a file. Variables have their names.
fn instruction_text(content: &[u8], offset: u64) -> Option<String> {
    let file = object::File::parse(content).ok()?;
    let address = file.segments().find_map(|segment| {
        let (start, length) = segment.file_range();
        (start..start + length).contains(&offset).then(|| segment.address() + (offset - start))
    })?;
    let bytes = content.get(usize::try_from(offset).ok()?..)?;
    let instruction = decode(&bytes[..bytes.len().min(LONGEST)], address)?;
    if is_call(&instruction)
        && let Some(name) = Imports::read(&file).called_function(&instruction)
    {
        return Some(format!("call {name}"));
    }
    let names = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.size() > 0)
        .filter(|symbol| symbol.kind() != SymbolKind::Tls)
        .filter_map(|symbol| Some((symbol.address(), symbol.size(), source_name(symbol.name().ok()?))))
        .collect();
    let mut formatter = IntelFormatter::with_options(Some(Box::new(Names(names))), None);
    formatter.options_mut().set_space_after_operand_separator(true);
    formatter.options_mut().set_hex_prefix("0x");
    formatter.options_mut().set_hex_suffix("");
    let mut text = String::new();
    formatter.format(&instruction, &mut text);
    Some(text)
}

/// Symbols with address, size and name.
struct Names(Vec<(u64, u64, String)>);

impl SymbolResolver for Names {
    fn symbol(
        &mut self,
        instruction: &Instruction,
        operand: u32,
        _: Option<u32>,
        address: u64,
        _: u32,
    ) -> Option<SymbolResult<'_>> {
        // A displacement from a register is no address.
        if instruction.op_kind(operand) == OpKind::Memory && !instruction.is_ip_rel_memory_operand() {
            return None;
        }
        let contains = |(start, size, _): &&(u64, u64, String)| (*start..start + size).contains(&address);
        let (start, _, name) = self.0.iter().find(contains)?;
        Some(SymbolResult::with_str(*start, name))
    }
}
