//! Functions and variables by their places in files. Each file is opened once.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{CodeInfo, Input, Sym, Symbolized, Symbolizer as SymbolReader};
use morecores_study::trace::{Function, InlinedFunction, Mapping, Module, SourceLine, SourcePlace, Variable};

use crate::SymbolError;
use crate::elf::ElfFile;
use crate::go_functions::{GoFunction, GoFunctions};
use crate::name::source_name;
use crate::reader_panic::catch_reader_panic;
use crate::vdso;

/// Source of names. It keeps the files that it has read.
#[derive(Debug)]
pub struct Symbolizer {
    reader: SymbolReader,
    /// Located files of other mount namespaces.
    located: HashMap<Module, OwnedFd>,
    files: HashMap<Module, Result<SymbolFile, SymbolError>>,
}

/// Address that blazesym 0.2.7 gives a function in several parts, such as one with a part for rare
/// cases elsewhere. It gives such a function no size, and finds it by the extents of its parts.
const NO_ADDRESS: u64 = 0;

/// Source of a file's symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Symbols {
    /// Symbol tables of the file.
    File,
    /// Symbol table of a debug file that was added.
    DebugFile,
    /// Debug information in the file, or in a debug file with its build identifier.
    Debug,
}

/// Use of a debug file for the names of a module's functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DebugFile {
    /// It may have the names that are missing.
    Useful {
        /// Build identifier of the module in hexadecimal.
        build_id: String,
    },
    /// Names are missing, and no build identifier tells which debug file has them.
    Unidentified,
    /// No name is missing, or the module's own symbols are complete.
    Useless,
}

/// File with names.
#[derive(Clone, Debug)]
struct SymbolFile {
    path: PathBuf,
    elf: ElfFile,
    /// Path of a debug file that was added.
    debug_file: Option<PathBuf>,
    /// Functions of a program of Go, read at the first need.
    go_functions: OnceCell<Option<GoFunctions>>,
    /// Sources at whose damage the reader panicked. They are not read again.
    damaged: RefCell<BTreeSet<Symbols>>,
}

impl Default for Symbolizer {
    fn default() -> Self {
        Self::new()
    }
}

impl Symbolizer {
    /// Symbolizer that has read no file. Debug files are those below `/usr/lib/debug`.
    pub fn new() -> Self {
        let reader = SymbolReader::builder()
            // Without the language of a symbol, it would read the name `m` of C as a type of C++.
            .enable_demangling(false)
            .enable_code_info(true)
            .enable_inlined_fns(true)
            .build();
        Self { reader, located: HashMap::new(), files: HashMap::new() }
    }

    /// Symbolizer that reads these located files in place of those at the modules' paths.
    pub fn with_located_files(located: HashMap<Module, OwnedFd>) -> Self {
        Self { located, ..Self::new() }
    }

    /// Functions of a module that contain these offsets in its file: each once, sorted by start.
    /// `number` is the module's number in the result. An offset outside all symbols has the extent
    /// of its function by the unwind table, without a name; it has no function if the table has
    /// none.
    ///
    /// # Errors
    /// [`SymbolError`]: the file cannot be read, is none, or was replaced since it was mapped.
    pub fn functions(
        &mut self,
        number: u32,
        module: &Module,
        offsets: &BTreeSet<u64>,
    ) -> Result<Vec<Function>, SymbolError> {
        let file = open(&mut self.files, &self.located, module)?;
        let mut functions: Vec<Function> = Vec::new();
        for offset in offsets {
            if functions.last().is_some_and(|last| *offset < last.end) {
                continue;
            }
            let Some(address) = file.elf.address(*offset) else { continue };
            functions.extend(function_at(&self.reader, file, number, address));
        }
        functions.sort_unstable_by_key(|function| (function.start, function.end));
        functions.dedup_by_key(|function| function.start);
        Ok(functions)
    }

    /// Whether a debug file may name functions that contain these offsets in a module's file: some
    /// have no name, and the file has no full symbol table. A debug file below `/usr/lib/debug` has
    /// been read already.
    ///
    /// # Errors
    /// Those of [`functions`](Self::functions).
    pub fn debug_file(&mut self, module: &Module, offsets: &BTreeSet<u64>) -> Result<DebugFile, SymbolError> {
        let file = open(&mut self.files, &self.located, module)?;
        if file.elf.has_symbol_table || file.debug_file.is_some() {
            return Ok(DebugFile::Useless);
        }
        let mut addresses = offsets.iter().filter_map(|offset| file.elf.address(*offset));
        let is_named = |address| {
            containing_symbol(&self.reader, file, address).is_some() || file.go_function(address).is_some()
        };
        if addresses.all(is_named) {
            return Ok(DebugFile::Useless);
        }
        Ok(match &file.elf.build_id {
            None => DebugFile::Unidentified,
            Some(id) if installed_debug_file(id).is_some_and(|path| path.exists()) => DebugFile::Useless,
            Some(id) => DebugFile::Useful { build_id: id.clone() },
        })
    }

    /// Adds the debug file of a module. Its symbols and debug information count as those of the
    /// module's file.
    ///
    /// # Errors
    /// [`SymbolError::Unreadable`] and [`SymbolError::OtherBuildId`] for the debug file, and those
    /// of [`functions`](Self::functions).
    pub fn add_debug_file(&mut self, module: &Module, path: &Path) -> Result<(), SymbolError> {
        let file = open(&mut self.files, &self.located, module)?;
        let text = || path.display().to_string();
        let unreadable = |why| SymbolError::Unreadable { path: text(), why };
        let debug = ElfFile::read(path).map_err(unreadable)?;
        if debug.build_id.is_none() || debug.build_id != file.elf.build_id {
            return Err(SymbolError::OtherBuildId { path: text() });
        }
        if !debug.fits_in_memory {
            return Err(unreadable("a section of it is damaged".to_owned()));
        }
        file.debug_file = Some(path.to_owned());
        // The damage was that of another file.
        file.damaged.borrow_mut().remove(&Symbols::Debug);
        Ok(())
    }

    /// Places in the source code of the instructions at these offsets in a module's file, sorted.
    /// Neighbouring instructions with the same place have one element. An instruction has none if
    /// the debug information has no line for it. `number` is the module's number in the result.
    ///
    /// # Errors
    /// Those of [`functions`](Self::functions).
    pub fn source_places(
        &mut self,
        number: u32,
        module: &Module,
        offsets: &BTreeSet<u64>,
    ) -> Result<Vec<SourcePlace>, SymbolError> {
        let file = open(&mut self.files, &self.located, module)?;
        let mut places: Vec<SourcePlace> = Vec::new();
        for offset in offsets {
            let Some(address) = file.elf.address(*offset) else { continue };
            let Some(symbol) = symbol_at(&self.reader, file, Symbols::Debug, address) else { continue };
            let Some(line) = symbol.code_info.as_deref().and_then(source_line) else { continue };
            let inlined = symbol.inlined.iter().map(|function| InlinedFunction {
                name: source_name(&function.name),
                line: function.code_info.as_ref().and_then(source_line),
            });
            let inlined: Vec<InlinedFunction> = inlined.collect();
            let end = offset.saturating_add(1);
            match places.last_mut() {
                Some(last) if (&last.line, &last.inlined) == (&line, &inlined) => last.end = end,
                _ => places.push(SourcePlace { module: number, start: *offset, end, line, inlined }),
            }
        }
        Ok(places)
    }

    /// Variable of a module at an `address` of a process that has its code mapped as `code`. `None`
    /// if the address is not in the module's data, or in none of its named variables.
    ///
    /// # Errors
    /// Those of [`functions`](Self::functions).
    pub fn variable(
        &mut self,
        module: &Module,
        code: &Mapping,
        address: u64,
    ) -> Result<Option<Variable>, SymbolError> {
        let file = open(&mut self.files, &self.located, module)?;
        let Some(place) = file.elf.data_address(code.start, code.offset, address) else { return Ok(None) };
        let symbol = containing_symbol(&self.reader, file, place);
        Ok(symbol.map(|symbol| Variable {
            process: code.process,
            address,
            module: code.module,
            name: source_name(&symbol.name),
            offset: place - symbol.addr,
        }))
    }
}

/// File of a module, opened at its first use.
fn open<'f>(
    files: &'f mut HashMap<Module, Result<SymbolFile, SymbolError>>,
    located: &HashMap<Module, OwnedFd>,
    module: &Module,
) -> Result<&'f mut SymbolFile, SymbolError> {
    let open = || SymbolFile::open(module, located.get(module));
    let file = files.entry(module.clone()).or_insert_with(open);
    file.as_mut().map_err(|error| error.clone())
}

impl SymbolFile {
    fn open(module: &Module, located: Option<&OwnedFd>) -> Result<Self, SymbolError> {
        let (path, elf) = checked_file(module, located)?;
        Ok(Self { path, elf, debug_file: None, go_functions: OnceCell::new(), damaged: RefCell::default() })
    }

    /// Function at an address by the table of Go's runtime, in code of the file.
    fn go_function(&self, address: u64) -> Option<GoFunction> {
        let functions = self.go_functions.get_or_init(|| GoFunctions::read(&self.path)).as_ref()?;
        let function = functions.function(address)?;
        let length = function.range.end - function.range.start;
        self.elf.has_range(function.range.start, length).then_some(function)
    }

    /// Reader's source of these symbols; none without the file that has them.
    fn source(&self, symbols: Symbols) -> Option<Source<'_>> {
        let debug_file = self.debug_file.as_deref();
        let path = match symbols {
            Symbols::File => &self.path,
            Symbols::DebugFile => debug_file?,
            Symbols::Debug => debug_file.unwrap_or(&self.path),
        };
        let mut elf = Elf::new(path);
        elf.debug_syms = symbols == Symbols::Debug;
        Some(Source::Elf(elf))
    }
}

/// Path and structure of a module's file, if the file is still the one that was mapped. `located`
/// is the file of a module in another mount namespace.
pub(crate) fn checked_file(
    module: &Module,
    located: Option<&OwnedFd>,
) -> Result<(PathBuf, ElfFile), SymbolError> {
    let name = module.path.clone();
    let path = match located {
        Some(file) => Some(PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))),
        None if name == vdso::NAME => vdso::image_path(),
        None => module.has_path().then(|| PathBuf::from(&name)),
    };
    let Some(path) = path else { return Err(SymbolError::NoFile { name }) };
    let elf = ElfFile::read(&path).map_err(|why| SymbolError::Unreadable { path: name.clone(), why })?;
    match (&module.build_id, &elf.build_id) {
        (Some(mapped), Some(now)) if mapped != now => Err(SymbolError::Replaced { path: name }),
        (Some(_), None) => Err(SymbolError::Replaced { path: name }),
        _ => Ok((path, elf)),
    }
}

/// Path at which a package installs the debug file with a build identifier (`.build-id` in the
/// manual of GDB, "Debugging Information in Separate Files").
fn installed_debug_file(build_id: &str) -> Option<PathBuf> {
    let (first, rest) = build_id.split_at_checked(2)?;
    Some(PathBuf::from(format!("/usr/lib/debug/.build-id/{first}/{rest}.debug")))
}

/// Function at an address of the file.
fn function_at(reader: &SymbolReader, file: &SymbolFile, number: u32, address: u64) -> Option<Function> {
    let unwind = file.elf.function(address);
    let symbol = containing_symbol(reader, file, address);
    let go = if symbol.is_none() { file.go_function(address) } else { None };
    if let Some(GoFunction { range, name, source }) = go {
        let start = file.elf.offset(range.start)?;
        let end = start.checked_add(range.end - range.start)?;
        let source = source.map(|(file, line)| SourceLine { file, line });
        return Some(Function { module: number, start, end, name: Some(source_name(&name)), source });
    }
    let (extent, name) = match (symbol, unwind) {
        (Some(symbol), unwind) => {
            let extent = match symbol.size {
                Some(size) => symbol.addr..symbol.addr.saturating_add(size as u64),
                // A symbol without a size has that of the unwind table.
                None => unwind?,
            };
            (extent, Some(source_name(&symbol.name)))
        }
        (None, Some(unwind)) => (unwind, None),
        (None, None) => return None,
    };
    let start = file.elf.offset(extent.start)?;
    Some(Function {
        module: number,
        start,
        end: start.checked_add(extent.end - extent.start)?,
        source: name.is_some().then(|| first_line(reader, file, extent.start)).flatten(),
        name,
    })
}

/// Symbol that contains an address. A symbol without a size counts if the unwind table has a
/// function that begins with it, or if it is a function in several parts. The symbols of the file
/// come first: each part of a function has its own.
fn containing_symbol(reader: &SymbolReader, file: &SymbolFile, address: u64) -> Option<Sym<'static>> {
    let unwind = file.elf.function(address);
    let contains = |symbols: Symbols, symbol: &Sym<'_>| match symbol.size {
        Some(size) => {
            let size = size as u64;
            address.checked_sub(symbol.addr).is_some_and(|distance| distance < size)
                && file.elf.has_range(symbol.addr, size)
        }
        None => unwind.as_ref().is_some_and(|function| {
            let is_in_parts = symbols == Symbols::Debug && symbol.addr == NO_ADDRESS;
            function.start == symbol.addr || (is_in_parts && !symbol.name.is_empty())
        }),
    };
    // The reader returns the last symbol before the address. That may be a label or a shorter
    // symbol in the middle of a function, whose own symbol is at its start.
    let start = unwind.as_ref().map(|function| function.start).filter(|start| *start != address);
    let places = [Some(address), start];
    let sources = [Symbols::File, Symbols::DebugFile, Symbols::Debug].into_iter();
    sources
        .flat_map(|symbols| places.iter().flatten().map(move |place| (symbols, *place)))
        .filter_map(|(symbols, place)| Some((symbols, symbol_at(reader, file, symbols, place)?)))
        .find(|(symbols, symbol)| contains(*symbols, symbol))
        .map(|(_, symbol)| symbol)
}

/// Symbol that the reader finds for an address: none from a damaged source.
fn symbol_at(
    reader: &SymbolReader,
    file: &SymbolFile,
    symbols: Symbols,
    address: u64,
) -> Option<Sym<'static>> {
    if !file.elf.fits_in_memory || file.damaged.borrow().contains(&symbols) {
        return None;
    }
    let source = file.source(symbols)?;
    // blazesym 0.2.7 panics at some damaged line tables. It holds no lock and keeps no half-made
    // value then; a study must not be lost for the name of a function.
    let result = catch_reader_panic(|| reader.symbolize_single(&source, Input::VirtOffset(address)));
    match result {
        Some(Ok(Symbolized::Sym(symbol))) => Some(symbol.into_owned()),
        Some(_) => None,
        None => {
            file.damaged.borrow_mut().insert(symbols);
            None
        }
    }
}

/// Line of the first instruction of a function.
fn first_line(reader: &SymbolReader, file: &SymbolFile, start: u64) -> Option<SourceLine> {
    source_line(symbol_at(reader, file, Symbols::Debug, start)?.code_info.as_deref()?)
}

/// Line of an instruction; `None` if the file is known alone.
fn source_line(code: &CodeInfo<'_>) -> Option<SourceLine> {
    let path: &Path = &code.to_path();
    Some(SourceLine { file: path.to_string_lossy().into_owned(), line: code.line.filter(|line| *line > 0)? })
}
