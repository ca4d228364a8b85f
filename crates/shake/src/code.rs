//! Code of a process: the places of its instructions in files, which are the same in every run, and
//! their addresses in one address space.

use std::io;
use std::path::PathBuf;

use morecores_findings::CodePlace;
use morecores_study::trace::CodeAddress;
use nix::unistd::Pid;
use procfs::process::{MMPermissions, MMapPath, MemoryMaps, Process};

/// File that an address space maps as code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CodeMapping {
    pub(crate) file: PathBuf,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Offset of the first byte in the file.
    pub(crate) offset: u64,
}

/// All mappings of one address space at one instant.
#[derive(Clone, Debug, Default)]
pub(crate) struct CodeMap {
    /// Mappings of files as code, by address.
    code: Vec<CodeMapping>,
    /// Start and end of every mapping, by address.
    used: Vec<(u64, u64)>,
}

impl CodeMap {
    /// Reads the mappings of a process.
    ///
    /// # Errors
    /// The process has ended.
    pub(crate) fn read(process: Pid) -> io::Result<Self> {
        let maps = Process::new(process.as_raw()).and_then(|process| process.maps());
        Ok(Self::from_maps(&maps.map_err(io::Error::other)?))
    }

    fn from_maps(maps: &MemoryMaps) -> Self {
        let mut map = Self::default();
        for mapping in maps {
            let (start, end) = mapping.address;
            map.used.push((start, end));
            if let MMapPath::Path(file) = &mapping.pathname
                && mapping.perms.contains(MMPermissions::EXECUTE)
            {
                let (file, offset) = (file.clone(), mapping.offset);
                map.code.push(CodeMapping { file, start, end, offset });
            }
        }
        map
    }

    pub(crate) fn mappings(&self) -> &[CodeMapping] {
        &self.code
    }

    /// Mapping that has an address.
    fn at(&self, address: u64) -> Option<&CodeMapping> {
        self.code.iter().find(|mapping| (mapping.start..mapping.end).contains(&address))
    }

    /// Place of the instruction at an address.
    pub(crate) fn place(&self, address: u64) -> Option<CodePlace> {
        let mapping = self.at(address)?;
        Some(CodePlace { file: mapping.file.clone(), offset: address - mapping.start + mapping.offset })
    }

    /// Code at an address, by the number of its mapping.
    pub(crate) fn locate(&self, address: u64) -> Option<CodeAddress> {
        let contains = |mapping: &CodeMapping| (mapping.start..mapping.end).contains(&address);
        let module = self.code.iter().position(contains)?;
        let mapping = &self.code[module];
        Some(CodeAddress { module: module as u32, offset: address - mapping.start + mapping.offset })
    }

    /// Address of a place, and its mapping.
    pub(crate) fn address(&self, place: &CodePlace) -> Option<(u64, &CodeMapping)> {
        self.code.iter().find_map(|mapping| {
            let inside = place.offset.checked_sub(mapping.offset)?;
            let address = mapping.start.checked_add(inside)?;
            (mapping.file == place.file && address < mapping.end).then_some((address, mapping))
        })
    }

    /// Start of `length` unused bytes that instructions in `mapping` can reach, by a displacement
    /// of 32 bits from any byte to any byte.
    pub(crate) fn gap_near(&self, mapping: &CodeMapping, length: u64) -> Option<u64> {
        /// A quarter of the reach: the data of a file lie on either side of its code.
        const REACH: u64 = 1 << 29;
        /// Distance to other mappings, which may grow.
        const MARGIN: u64 = 1 << 20;
        let starts = self.used.iter().map(|(start, _)| *start).skip(1).chain([u64::MAX]);
        let gaps = self.used.iter().map(|(_, end)| *end).zip(starts);
        let fits = |(from, to): (u64, u64)| {
            let start = from.checked_add(MARGIN)?;
            let near = start.abs_diff(mapping.start) < REACH;
            (near && start.checked_add(length + MARGIN)? <= to).then_some(start)
        };
        gaps.filter_map(fits).min_by_key(|start| start.abs_diff(mapping.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_map() -> CodeMap {
        let code = CodeMapping { file: "/a".into(), start: 0x1000_0000, end: 0x1000_2000, offset: 0x1000 };
        CodeMap { code: vec![code], used: vec![(0x1000_0000, 0x1000_2000), (0x1000_3000, 0x1000_4000)] }
    }

    #[test]
    fn places_and_addresses_correspond() {
        let (map, place) = (code_map(), CodePlace { file: "/a".into(), offset: 0x1234 });
        assert_eq!(map.address(&place).map(|(address, _)| address), Some(0x1000_0234));
        assert_eq!(map.place(0x1000_0234), Some(place));
        assert_eq!(map.place(0x1000_3000), None);
        assert_eq!(map.address(&CodePlace { file: "/a".into(), offset: 0x3000 }), None);
        assert_eq!(map.address(&CodePlace { file: "/a".into(), offset: 0 }), None);
        assert_eq!(map.address(&CodePlace { file: "/b".into(), offset: 0x1234 }), None);
    }

    #[test]
    fn a_gap_keeps_its_distance() {
        let map = code_map();
        let gap = map.gap_near(&map.code[0], 0x1000).unwrap();
        assert_eq!(gap, 0x1000_4000 + (1 << 20));
        let far = CodeMapping { start: 0x7000_0000_0000, ..map.code[0].clone() };
        assert_eq!(map.gap_near(&far, 0x1000), None);
    }

    #[test]
    fn this_process_has_its_own_code() {
        let map = CodeMap::read(Pid::this()).unwrap();
        let address = CodeMap::read as fn(Pid) -> io::Result<CodeMap> as usize as u64;
        let place = map.place(address).unwrap();
        assert_eq!(map.address(&place).map(|(address, _)| address), Some(address));
        assert!(map.mappings().iter().any(|mapping| mapping.file == place.file));
    }
}
