//! Kernel stacks: converts the programs' stack map into function names. This module must not look
//! up names itself.

use std::collections::BTreeMap;

use libbpf_rs::{MapCore, MapFlags};
use morecores_study::trace::{KernelFrame, KernelStack};
use morecores_symbols::KernelSymbols;

/// All stacks of the map, by the number in the events. Their functions have addresses instead of
/// names if the kernel does not show its symbols.
pub(super) fn read_stacks(map: &impl MapCore) -> BTreeMap<u32, KernelStack> {
    let keys: Vec<Vec<u8>> = map.keys().collect();
    if keys.is_empty() {
        return BTreeMap::new();
    }
    let symbols = KernelSymbols::read().ok();
    let frame = |address: u64| match &symbols {
        Some(symbols) => symbols.frame(address),
        None => KernelFrame::without_name(address),
    };
    let mut stacks = BTreeMap::new();
    for key in keys {
        let Ok(number) = <[u8; 4]>::try_from(key.as_slice()).map(u32::from_ne_bytes) else { continue };
        let Ok(Some(value)) = map.lookup(&key, MapFlags::ANY) else { continue };
        let addresses = value.as_chunks::<8>().0.iter().map(|bytes| u64::from_ne_bytes(*bytes));
        stacks.insert(number, addresses.take_while(|address| *address != 0).map(frame).collect());
    }
    stacks
}
