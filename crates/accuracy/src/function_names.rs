//! Names that a report must have for functions: those of the source, or places in a file without
//! symbols.

use std::fs;
use std::path::Path;

use object::{Object, ObjectSegment, ObjectSymbol};

use crate::{AccuracyError, FunctionName};

/// Names of a program's functions in a report: those of the source by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FunctionNames(pub(crate) Vec<FunctionName>);

impl FunctionNames {
    /// Names of functions in a file without symbols. `symbols` is a file with the symbols of the
    /// code in `code`, and `file` the name of the file that the program maps.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or if a function has no symbol.
    pub(crate) fn without_symbols(
        symbols: &Path,
        code: &Path,
        file: &'static str,
        functions: &[&'static str],
    ) -> Result<Self, AccuracyError> {
        let failed = |path: &Path, error| AccuracyError::File {
            what: "read the symbols of",
            path: path.to_owned(),
            error,
        };
        let read = |path| fs::read(path).map_err(|error| failed(path, error));
        let (symbol_bytes, code_bytes) = (read(symbols)?, read(code)?);
        let parse = |path, bytes| {
            object::File::parse(bytes).map_err(|error| failed(path, std::io::Error::other(error)))
        };
        let (symbol_file, code_file) = (parse(symbols, &*symbol_bytes)?, parse(code, &*code_bytes)?);
        let place = |symbol: &'static str| {
            let start = address(&symbol_file, symbol).and_then(|address| offset(&code_file, address));
            let missing = || failed(symbols, std::io::Error::other(format!("no symbol of {symbol}")));
            Ok(FunctionName::Stripped { symbol, file, start: start.ok_or_else(missing)? })
        };
        functions.iter().copied().map(place).collect::<Result<_, _>>().map(Self)
    }

    /// Name of a function in a report.
    pub(crate) fn name(&self, symbol: &'static str) -> FunctionName {
        let has_symbol = |name: &&FunctionName| matches!(name, FunctionName::Stripped { symbol: own, .. } if *own == symbol);
        self.0.iter().find(has_symbol).copied().unwrap_or(FunctionName::Symbol(symbol))
    }
}

/// Address of a function. The symbols of its closures, and of its part for rare cases, are longer
/// than its own.
fn address(file: &object::File<'_>, function: &str) -> Option<u64> {
    let symbols = file.symbols().filter(|symbol| symbol.kind() == object::SymbolKind::Text);
    let named = symbols.filter_map(|symbol| Some((symbol.name().ok()?, symbol.address())));
    let own = named.filter(|(symbol, _)| is_symbol_of(symbol, function));
    own.min_by_key(|(symbol, _)| symbol.len()).map(|(_, address)| address)
}

/// Whether a symbol is that of a function or of a part of it: the name, the name with an ending of
/// GCC, or the mangled name of C++ or Rust, which has the length before the name.
fn is_symbol_of(symbol: &str, function: &str) -> bool {
    let ending = symbol.strip_prefix(function);
    let is_in_c = ending.is_some_and(|ending| ending.is_empty() || ending.starts_with('.'));
    let is_mangled = symbol.starts_with("_Z") || symbol.starts_with("_R");
    is_in_c || is_mangled && symbol.contains(&format!("{}{function}", function.len()))
}

/// Place in the file of the byte at an address.
fn offset(file: &object::File<'_>, address: u64) -> Option<u64> {
    file.segments().find_map(|segment| {
        let distance = address.checked_sub(segment.address()).filter(|at| *at < segment.size())?;
        Some(segment.file_range().0 + distance)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_has_symbols_of_its_language() {
        let own = [
            ("take_gil", "take_gil"),
            ("take_gil.lto_priv.0.cold", "take_gil"),
            ("_Z12update_indexm", "update_index"),
            ("_ZN5index12update_index17h0123456789abcdefE", "update_index"),
            ("_RNvNtCs15kBYyAo9fc_5index12update_index", "update_index"),
        ];
        for (symbol, function) in own {
            assert!(is_symbol_of(symbol, function), "{symbol}");
        }
        for symbol in ["take_gil_now", "_take_gil", "update_index12", "_Z13update_indicesm"] {
            assert!(!is_symbol_of(symbol, "take_gil") && !is_symbol_of(symbol, "update_index"), "{symbol}");
        }
    }

    #[test]
    fn a_function_without_a_symbol_is_an_error() {
        let own = std::env::current_exe().unwrap();
        let error = FunctionNames::without_symbols(&own, &own, "file", &["no_such_function"]).unwrap_err();
        assert!(error.to_string().ends_with("no symbol of no_such_function"), "{error}");
    }
}
