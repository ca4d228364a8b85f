//! Functions of the running kernel, by its own list of symbols. This module must not read other
//! files: the list has the kernel's modules and BPF programs too.
//!
//! `blazesym` reads this list as well, but without the kind of a symbol and without the end of a
//! function, which is the start of the next symbol. `procfs` does not read it.

use std::collections::BTreeSet;
use std::fs;

use morecores_study::trace::{Function, KernelFrame};

use crate::SymbolError;
use crate::name::source_name;

/// Symbols of the running kernel.
const KALLSYMS: &str = "/proc/kallsyms";

/// Symbol of the kernel. It extends to the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Symbol {
    address: u64,
    /// Name of a function; none for data.
    function: Option<String>,
}

/// Functions of the running kernel, by address.
#[derive(Clone, Debug)]
pub struct KernelSymbols(Vec<Symbol>);

impl KernelSymbols {
    /// Reads the symbols that the kernel shows to this process.
    ///
    /// # Errors
    /// [`SymbolError::Unreadable`], and [`SymbolError::HiddenKernel`] if the kernel hides the
    /// addresses.
    pub fn read() -> Result<Self, SymbolError> {
        match fs::read_to_string(KALLSYMS) {
            Ok(text) => Self::parse(&text),
            Err(error) => Err(SymbolError::Unreadable { path: KALLSYMS.to_owned(), why: error.to_string() }),
        }
    }

    /// Parses lines such as `ffffffff81000000 T _text`; a module's line ends with `[module]`. All
    /// addresses are zeros for a reader without the privilege to see them.
    fn parse(text: &str) -> Result<Self, SymbolError> {
        let symbol = |line: &str| {
            let mut words = line.split_ascii_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok().filter(|address| *address != 0)?;
            let (kind, name) = (words.next()?, words.next()?);
            let function = matches!(kind, "t" | "T" | "w" | "W").then(|| name.to_owned());
            Some(Symbol { address, function })
        };
        let mut symbols: Vec<Symbol> = text.lines().filter_map(symbol).collect();
        if symbols.iter().all(|symbol| symbol.function.is_none()) {
            return Err(SymbolError::HiddenKernel);
        }
        // Of several names for an address, the kernel lists the one that it uses itself first.
        symbols.sort_by_key(|symbol| (symbol.address, symbol.function.is_none()));
        symbols.dedup_by_key(|symbol| symbol.address);
        Ok(Self(symbols))
    }

    /// Frame of a stack with this address: a function, or else the address.
    pub fn frame(&self, address: u64) -> KernelFrame {
        match self.function(0, address) {
            Some(Function { start, name: Some(symbol), .. }) => {
                KernelFrame { symbol, offset: address - start }
            }
            _ => KernelFrame::without_name(address),
        }
    }

    /// Functions that contain these addresses: each once, sorted by start. `module` is the kernel's
    /// number among the modules of a trace.
    pub fn functions(&self, module: u32, addresses: &BTreeSet<u64>) -> Vec<Function> {
        let mut functions: Vec<Function> = Vec::new();
        for address in addresses {
            if functions.last().is_none_or(|last| *address >= last.end) {
                functions.extend(self.function(module, *address));
            }
        }
        functions
    }

    /// Function that contains an address.
    fn function(&self, module: u32, address: u64) -> Option<Function> {
        let next = self.0.partition_point(|symbol| symbol.address <= address);
        let Symbol { address: start, function } = self.0.get(next.checked_sub(1)?)?;
        let name = Some(source_name(function.as_ref()?));
        let end = self.0.get(next).map_or(u64::MAX, |symbol| symbol.address);
        Some(Function { module, start: *start, end, name, source: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first name of an address counts, a name of data for none of them.
    const TEXT: &str = "ffffffff81000100 T mutex_lock\nffffffff81000000 t first\n\
                        ffffffff81000000 T _text\n0000000000000000 A hidden\n\
                        ffffffff81000180 D data\nffffffff81000100 A also_data\n\
                        ffffffffc0000000 t late\t[module]\nno line\n";

    #[test]
    fn an_address_belongs_to_the_function_that_begins_before_it() {
        let symbols = KernelSymbols::parse(TEXT).expect("it has functions");
        let frame = |symbol: &str, offset| KernelFrame { symbol: symbol.to_owned(), offset };
        assert_eq!(symbols.frame(0xffff_ffff_8100_017f), frame("mutex_lock", 0x7f));
        assert_eq!(symbols.frame(0xffff_ffff_8100_0000), frame("first", 0));
        assert_eq!(symbols.frame(0xffff_ffff_c000_0001), frame("late", 1));
        assert_eq!(symbols.frame(0xffff_ffff_8100_0190), frame("0xffffffff81000190", 0));
        assert_eq!(symbols.frame(0x10), frame("0x10", 0));
    }

    #[test]
    fn functions_extend_to_the_next_symbol() {
        let symbols = KernelSymbols::parse(TEXT).expect("it has functions");
        let addresses = [0x10, 0xffff_ffff_8100_0001, 0xffff_ffff_8100_00ff, 0xffff_ffff_8100_0120];
        let addresses = addresses.into_iter().chain([0xffff_ffff_8100_0180]).collect();
        let function = |name: &str, start, end| {
            let name = Some(name.to_owned());
            Function { module: 7, start, end, name, source: None }
        };
        let expected = [
            function("first", 0xffff_ffff_8100_0000, 0xffff_ffff_8100_0100),
            function("mutex_lock", 0xffff_ffff_8100_0100, 0xffff_ffff_8100_0180),
        ];
        assert_eq!(symbols.functions(7, &addresses), expected);
    }

    #[test]
    fn hidden_addresses_are_an_error() {
        let hidden = "0000000000000000 T _text\n0000000000000000 t late\t[module]\n";
        assert_eq!(KernelSymbols::parse(hidden).err(), Some(SymbolError::HiddenKernel));
        assert_eq!(KernelSymbols::parse("").err(), Some(SymbolError::HiddenKernel));
    }
}
