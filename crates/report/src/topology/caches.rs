//! The caches of a machine, with equal caches on one line.

use std::collections::BTreeMap;

use morecores_study::topology::{CacheKind, Topology};
use morecores_study::{Bytes, CpuSet};

use super::count_text;

/// Level, kind, size and number of cores that share a cache.
type CacheGroup = (u8, CacheKind, Option<Bytes>, usize);

/// Lines of the caches, one for each level, kind, size and number of cores that share it.
pub(super) fn cache_lines(topology: &Topology) -> Vec<String> {
    let mut groups: BTreeMap<CacheGroup, Vec<&CpuSet>> = BTreeMap::new();
    for cache in &topology.caches {
        let key = (cache.level, cache.kind, cache.size, topology.cores_in(&cache.cpus));
        groups.entry(key).or_default().push(&cache.cpus);
    }
    groups.into_iter().map(|(key, sets)| cache_line(topology, key, &sets)).collect()
}

fn cache_line(topology: &Topology, (level, kind, size, cores): CacheGroup, sets: &[&CpuSet]) -> String {
    let name = match kind {
        CacheKind::Data => format!("L{level}d"),
        CacheKind::Instruction => format!("L{level}i"),
        CacheKind::Unified => format!("L{level}"),
    };
    let size = size.map_or_else(|| "size unknown".to_owned(), exact_size);
    let shared = match cores {
        1 => "one a core".to_owned(),
        _ => format!("one for {}", count_text(cores, "core")),
    };
    format!("{name:3} {} x {size}, {shared}{}", sets.len(), sets_text(topology, cores, sets))
}

/// Sets of CPUs that share each cache, unless cores or packages already imply them.
fn sets_text(topology: &Topology, cores: usize, sets: &[&CpuSet]) -> String {
    let package = |set: &&CpuSet| topology.packages.iter().any(|package| package.cpus == **set);
    if cores == 1 || sets.iter().all(package) {
        return String::new();
    }
    format!(": {}", super::join_sets(sets))
}

/// Size without rounding: 1280 KiB is not 1.3 MiB.
fn exact_size(size: Bytes) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    if size.0.is_multiple_of(KIB) && !size.0.is_multiple_of(MIB) {
        return format!("{} KiB", size.0 / KIB);
    }
    size.to_string()
}
