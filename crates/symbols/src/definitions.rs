//! Functions that a file defines under given names, and the dynamic linker that a program asks for.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection, ObjectSymbol, ReadCache, SymbolKind};

use crate::SymbolError;
use crate::elf::ElfFile;

/// Offsets of the first instructions of the functions that a file defines under these names, each
/// place once, sorted. They are found in the table for the dynamic linker, and in that of the
/// linker. A name can have several versions.
///
/// # Errors
/// [`SymbolError::Unreadable`].
pub fn function_offsets<'n>(path: &Path, names: &[&'n str]) -> Result<Vec<(&'n str, u64)>, SymbolError> {
    let elf = ElfFile::read(path).map_err(|why| unreadable(path, why))?;
    let cache = ReadCache::new(File::open(path).map_err(|error| unreadable(path, error.to_string()))?);
    let object = object::File::parse(&cache).map_err(|error| unreadable(path, error.to_string()))?;
    let symbols = object.dynamic_symbols().chain(object.symbols());
    let functions = symbols.filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Text);
    let mut found: Vec<(&str, u64)> = functions
        .filter_map(|symbol| {
            let name = symbol.name().ok()?;
            let name = names.iter().find(|wanted| **wanted == name)?;
            Some((*name, elf.offset(symbol.address())?))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Path of the dynamic linker that a program asks for; `None` for a program without one.
///
/// # Errors
/// [`SymbolError::Unreadable`].
pub fn dynamic_linker(path: &Path) -> Result<Option<PathBuf>, SymbolError> {
    let metadata = fs::metadata(path).map_err(|error| unreadable(path, error.to_string()))?;
    if !metadata.is_file() {
        return Err(unreadable(path, "it is no regular file".to_owned()));
    }
    let cache = ReadCache::new(File::open(path).map_err(|error| unreadable(path, error.to_string()))?);
    let object = object::File::parse(&cache).map_err(|error| unreadable(path, error.to_string()))?;
    let Some(section) = object.section_by_name(".interp") else { return Ok(None) };
    let data = section.data().map_err(|error| unreadable(path, error.to_string()))?;
    let name = data.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(Some(PathBuf::from(OsStr::from_bytes(name))))
}

fn unreadable(path: &Path, why: String) -> SymbolError {
    SymbolError::Unreadable { path: path.display().to_string(), why }
}
