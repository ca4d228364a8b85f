//! Measurement of the machine's memory: copies and accesses at random on 1, 2, 4, … CPUs at once.
//!
//! The memory of each CPU's thread is its own and larger than the caches. This module computes
//! nothing from the figures.

mod work;

use std::time::Duration;

use morecores_study::memory_speed::{MemorySpeed, MemorySpeedPoint};
use morecores_study::topology::{CacheKind, Topology};
use morecores_study::{Bytes, CpuSet};
use procfs::{Current as _, Meminfo};

use crate::activity::CpuClocks;
use crate::cgroup::{Hierarchies, memory_limit};
use crate::clock::{monotonic, process_cpu};
use crate::pinned_threads::{PinnedThreadError, run_together};
use crate::placement::CpuOrder;

/// Length of the copies of a round, and of its accesses: some thousand copies of a chunk.
const REPETITION: Duration = Duration::from_millis(40);

/// Number of rounds: six values are the fewest that give a median a 95% interval.
const MOST_ROUNDS: usize = 6;

/// Memory of the threads that share a last-level cache, as a multiple of this cache: one access in
/// eight at random still finds its data there.
const CACHE_MULTIPLE: u64 = 8;

/// Least memory of a thread: above all caches that a CPU has for itself.
const LEAST_PER_CPU: Bytes = Bytes(64 << 20);

/// Part of the available memory that the measurement may use, as a divisor.
const AVAILABLE_DIVISOR: u64 = 4;

/// Measures with the first 1, 2, 4, … and `most` CPUs of `order`. It makes at least one round and
/// at most six, and begins no further one that would exceed `budget`. Counts for which the
/// available memory does not suffice are left out.
///
/// The order of the counts rotates from round to round, so that a drift does not look like an
/// effect of the CPUs.
///
/// # Errors
/// A CPU cannot be used, or a thread cannot be started.
pub fn measure(
    topology: &Topology,
    order: &CpuOrder,
    most: usize,
    budget: Duration,
) -> Result<MemorySpeed, PinnedThreadError> {
    let available = available_memory();
    let new_point = |count: usize| {
        let cpus = order.cpus(count);
        let bytes_per_cpu = bytes_per_cpu(topology, &cpus);
        MemorySpeedPoint { cpus, bytes_per_cpu, copy_bytes_per_s: Vec::new(), access_ns: Vec::new() }
    };
    let fits = |point: &MemorySpeedPoint| {
        point.bytes_per_cpu.0.saturating_mul(point.cpus.len() as u64) <= available.0 / AVAILABLE_DIVISOR
    };
    let points = doubling_counts(most.min(order.steps().len())).into_iter().map(new_point);
    let mut speed = MemorySpeed { points: points.filter(fits).collect(), ..MemorySpeed::default() };

    let cpus: CpuSet = speed.points.iter().flat_map(|point| point.cpus.iter()).collect();
    let (clocks, own, begin) = (CpuClocks::read(), process_cpu(), monotonic());
    for round in 0..MOST_ROUNDS {
        let round_begin = monotonic();
        let count = speed.points.len();
        for place in 0..count {
            add_round(&mut speed.points[(round + place) % count])?;
        }
        let now = monotonic();
        if Duration::from(now.since(begin)) + Duration::from(now.since(round_begin)) > budget {
            break;
        }
    }
    let others = CpuClocks::read().since(&clocks, |cpu| cpus.contains(cpu));
    speed.lasted_ns = monotonic().since(begin);
    speed.others_ns = others.busy.since(process_cpu().since(own));
    speed.steal_ns = others.steal;
    Ok(speed)
}

/// Measures one round on the CPUs of a point.
fn add_round(point: &mut MemorySpeedPoint) -> Result<(), PinnedThreadError> {
    let bytes = point.bytes_per_cpu;
    let figures = run_together(
        &point.cpus,
        || work::Memory::new(bytes),
        |_, mut memory| (memory.copy_bytes_per_s(REPETITION), memory.access_ns(REPETITION)),
    )?;
    let count = figures.len() as f64;
    point.copy_bytes_per_s.push(figures.iter().map(|(copy, _)| copy).sum());
    point.access_ns.push(figures.iter().map(|(_, access)| access).sum::<f64>() / count);
    Ok(())
}

/// Powers of two up to `most`, and `most` itself.
fn doubling_counts(most: usize) -> Vec<usize> {
    let powers = (0..usize::BITS).map(|power| 1 << power).take_while(|count| *count < most);
    powers.chain((most > 0).then_some(most)).collect()
}

/// Memory of each of `cpus` when all of them are used: a multiple of the last-level cache, divided
/// by the CPUs that share it.
fn bytes_per_cpu(topology: &Topology, cpus: &CpuSet) -> Bytes {
    let holds_data = |kind: CacheKind| kind != CacheKind::Instruction;
    let caches = || topology.caches.iter().filter(|cache| holds_data(cache.kind));
    let last_level = caches().map(|cache| cache.level).max();
    let shares = caches().filter(|cache| Some(cache.level) == last_level).filter_map(|cache| {
        let sharing = cache.cpus.iter().filter(|cpu| cpus.contains(*cpu)).count() as u64;
        (CACHE_MULTIPLE * cache.size?.0).checked_div(sharing)
    });
    LEAST_PER_CPU.max(Bytes(shares.max().unwrap_or(0)))
}

/// Memory that can be used without swapping, within the limits of the cgroups; zero if unknown.
fn available_memory() -> Bytes {
    let free = Meminfo::current().ok().and_then(|info| info.mem_available).map_or(Bytes(0), Bytes);
    memory_limit(&Hierarchies::read_own()).map_or(free, |limit| limit.min(free))
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_study::topology::CpuCache;

    #[test]
    fn counts_double_and_end_with_all() {
        assert_eq!(doubling_counts(6), [1, 2, 4, 6]);
        assert_eq!(doubling_counts(8), [1, 2, 4, 8]);
        assert_eq!(doubling_counts(1), [1]);
        assert!(doubling_counts(0).is_empty());
    }

    #[test]
    fn threads_that_share_a_cache_share_the_memory_that_exceeds_it() {
        let set = |text: &str| text.parse::<CpuSet>().expect("a set");
        let cache = |level: u8, mib: u64, cpus: &str| CpuCache {
            level,
            kind: CacheKind::Unified,
            size: Some(Bytes(mib << 20)),
            cpus: set(cpus),
        };
        let caches = vec![cache(2, 1, "0"), cache(2, 1, "1"), cache(3, 32, "0-3"), cache(3, 32, "4-7")];
        let topology = Topology { caches, ..Topology::default() };
        assert_eq!(bytes_per_cpu(&topology, &set("0")), Bytes(256 << 20));
        assert_eq!(bytes_per_cpu(&topology, &set("0-1")), Bytes(128 << 20));
        assert_eq!(bytes_per_cpu(&topology, &set("0,4")), Bytes(256 << 20));
        assert_eq!(bytes_per_cpu(&topology, &set("0-7")), Bytes(64 << 20));
        assert_eq!(bytes_per_cpu(&Topology::default(), &set("0")), LEAST_PER_CPU);
    }
}
