//! Caches, from `cpuN/cache/indexM`.
//!
//! Many virtual machines and arm64 boards show no caches or only some of them. The reader takes the
//! files as they are.

use std::collections::BTreeMap;

use morecores_study::topology::{CacheKind, CpuCache};
use morecores_study::{Bytes, CpuSet};

use super::{CPUS, read_number, read_set};
use crate::kernel_files::Tree;

/// Reads all caches, each once, sorted by level, kind and lowest CPU.
pub(super) fn read(tree: &mut Tree, online: &CpuSet) -> Vec<CpuCache> {
    let mut caches: BTreeMap<(u8, CacheKind, CpuSet), Option<Bytes>> = BTreeMap::new();
    let mut without = CpuSet::new();
    for cpu in online.iter() {
        let dir = format!("{CPUS}/cpu{cpu}/cache");
        let indices = tree.numbered(&dir, "index");
        if indices.is_empty() {
            without.insert(cpu);
        }
        for index in indices {
            let file = |name: &str| format!("{dir}/index{index}/{name}");
            let level = read_number(tree, file("level")).and_then(|level| u8::try_from(level).ok());
            let kind = tree.read(file("type")).as_deref().and_then(parse_kind);
            let size = tree.read(file("size")).as_deref().and_then(parse_size);
            let listed = read_set(tree, file("shared_cpu_list")).unwrap_or_default();
            let (Some(level), Some(kind)) = (level, kind) else { continue };
            let mut cpus = listed.intersection(online);
            cpus.insert(cpu);
            caches.insert((level, kind, cpus), size);
        }
    }
    if !without.is_empty() {
        tree.note(
            format!("{CPUS}/cpu{{{without}}}/cache"),
            format!("no caches known for CPUs {without}, nor which of them share one"),
        );
    }
    caches.into_iter().map(|((level, kind, cpus), size)| CpuCache { level, kind, size, cpus }).collect()
}

fn parse_kind(text: &str) -> Option<CacheKind> {
    match text {
        "Data" => Some(CacheKind::Data),
        "Instruction" => Some(CacheKind::Instruction),
        "Unified" => Some(CacheKind::Unified),
        _ => None,
    }
}

/// Parses a size in KiB, such as `32K` (`size_show` in `drivers/base/cacheinfo.c`). The kernel
/// writes an unknown size as 0.
fn parse_size(text: &str) -> Option<Bytes> {
    let kib: u64 = text.strip_suffix('K')?.parse().ok()?;
    (kib > 0).then(|| Bytes::from_kib(kib))
}
