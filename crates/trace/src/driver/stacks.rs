//! Kernel stacks: converts the programs' stack map into function names.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use libbpf_rs::{MapCore, MapFlags};
use morecores_study::trace::{KernelFrame, KernelStack};

/// All stacks of the map, by the number in the events.
pub(super) fn read_stacks(map: &impl MapCore) -> io::Result<BTreeMap<u32, KernelStack>> {
    let keys: Vec<Vec<u8>> = map.keys().collect();
    if keys.is_empty() {
        return Ok(BTreeMap::new());
    }
    let symbols = Symbols::read_kernel()?;
    let mut stacks = BTreeMap::new();
    for key in keys {
        let Ok(number) = <[u8; 4]>::try_from(key.as_slice()).map(u32::from_ne_bytes) else { continue };
        let Ok(Some(value)) = map.lookup(&key, MapFlags::ANY) else { continue };
        let addresses = value.as_chunks::<8>().0.iter().map(|bytes| u64::from_ne_bytes(*bytes));
        let frames = addresses.take_while(|address| *address != 0).map(|address| symbols.frame(address));
        stacks.insert(number, frames.collect());
    }
    Ok(stacks)
}

/// The kernel's functions, by address.
struct Symbols(Vec<(u64, String)>);

impl Symbols {
    fn read_kernel() -> io::Result<Self> {
        Ok(Self::parse(&fs::read_to_string("/proc/kallsyms")?))
    }

    /// Parses lines such as `ffffffff81000000 T _text`; a module's line ends with `[module]`. The
    /// addresses are zeros for a reader without the privilege to see them. `procfs` does not read
    /// this file.
    fn parse(text: &str) -> Self {
        let mut symbols: Vec<(u64, String)> = text
            .lines()
            .filter_map(|line| {
                let mut words = line.split_ascii_whitespace();
                let address = u64::from_str_radix(words.next()?, 16).ok().filter(|address| *address != 0)?;
                let kind = words.next()?;
                matches!(kind, "t" | "T" | "w" | "W").then_some((address, words.next()?.to_owned()))
            })
            .collect();
        symbols.sort_unstable_by_key(|(address, _)| *address);
        Self(symbols)
    }

    fn frame(&self, address: u64) -> KernelFrame {
        let next = self.0.partition_point(|(start, _)| *start <= address);
        match next.checked_sub(1).map(|index| &self.0[index]) {
            Some((start, symbol)) => KernelFrame { symbol: symbol.clone(), offset: address - start },
            None => KernelFrame { symbol: format!("{address:#x}"), offset: 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_the_function_that_begins_before_it() {
        let symbols = Symbols::parse(
            "ffffffff81000100 T mutex_lock\nffffffff81000000 t first\n0000000000000000 A hidden\n\
             ffffffff81000180 D data\nffffffffc0000000 t late\t[module]\n",
        );
        let named = |address| symbols.frame(address);
        assert_eq!(
            named(0xffff_ffff_8100_0190),
            KernelFrame { symbol: "mutex_lock".to_owned(), offset: 0x90 }
        );
        assert_eq!(named(0xffff_ffff_c000_0001).symbol, "late");
        assert_eq!(named(0x10).symbol, "0x10");
    }
}
