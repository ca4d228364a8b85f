//! The caches of a machine, with equal caches on one line.

use std::collections::BTreeMap;

use morecores_study::{Bytes, CacheKind, CpuSet, Topology};

use super::count;

/// Level, kind, size and number of cores that share a cache.
type Alike = (u8, CacheKind, Option<Bytes>, usize);

/// Lines of the caches, one for each level, kind, size and number of cores that share it.
pub(super) fn lines(topology: &Topology) -> Vec<String> {
    let mut alike: BTreeMap<Alike, Vec<&CpuSet>> = BTreeMap::new();
    for cache in &topology.caches {
        let key = (cache.level, cache.kind, cache.size, topology.cores_in(&cache.cpus));
        alike.entry(key).or_default().push(&cache.cpus);
    }
    alike.into_iter().map(|(key, sets)| line(topology, key, &sets)).collect()
}

fn line(topology: &Topology, (level, kind, size, cores): Alike, sets: &[&CpuSet]) -> String {
    let name = match kind {
        CacheKind::Data => format!("L{level}d"),
        CacheKind::Instruction => format!("L{level}i"),
        CacheKind::Unified => format!("L{level}"),
    };
    let size = size.map_or_else(|| "size unknown".to_owned(), exactly);
    let shared = match cores {
        1 => "one a core".to_owned(),
        _ => format!("one for {}", count(cores, "core")),
    };
    format!("{name:3} {} x {size}, {shared}{}", sets.len(), told(topology, cores, sets))
}

/// Sets of CPUs that share each cache, unless cores or packages already imply them.
fn told(topology: &Topology, cores: usize, sets: &[&CpuSet]) -> String {
    let package = |set: &&CpuSet| topology.packages.iter().any(|package| package.cpus == **set);
    if cores == 1 || sets.iter().all(package) {
        return String::new();
    }
    format!(": {}", super::sets(sets))
}

/// Size without rounding: 1280 KiB is not 1.3 MiB.
fn exactly(size: Bytes) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    if size.0.is_multiple_of(KIB) && !size.0.is_multiple_of(MIB) {
        return format!("{} KiB", size.0 / KIB);
    }
    size.to_string()
}
