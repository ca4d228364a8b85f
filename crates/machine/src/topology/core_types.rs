//! Distinguishes the types of core.
//!
//! Intel's hybrid processors have one performance-monitoring unit for each type of core. The unit's
//! `cpus` file lists the CPUs of that type. On other machines the kernel gives each CPU a capacity
//! (`cpu_capacity`), 1024 for the fastest core. On arm64 the capacity comes from the device tree.
//!
//! Neither source distinguishes AMD's large and compact cores. There the rated performance of the
//! cores distinguishes the types, or else their highest clock rates, if the values have a gap. The
//! "preferred cores" of one type differ too, but by small steps.

use morecores_study::topology::{Core, CoreClass, CoreType};
use morecores_study::{CpuSet, Kilohertz};

use super::{CPUS, read_number, read_set};
use crate::kernel_files::Tree;

/// `Documentation/ABI/testing/sysfs-bus-event_source-devices`; `arch/x86/events/intel/core.c` has
/// the names.
const INTEL_FILES: [(&str, CoreClass); 3] = [
    ("/sys/devices/cpu_core/cpus", CoreClass::Performance),
    ("/sys/devices/cpu_atom/cpus", CoreClass::Efficiency),
    ("/sys/devices/cpu_lowpower/cpus", CoreClass::LowPower),
];

/// Sets the type of every core, and returns the types, fastest first.
pub(super) fn classify(tree: &mut Tree, online: &CpuSet, cores: &mut [Core]) -> Vec<CoreType> {
    let mut types = by_intel_files(tree, online);
    if types.len() < 2 {
        types = types_by_capacity(tree, cores);
    }
    if types.len() < 2 {
        types = by_highest_performance(tree, cores);
    }
    if types.len() < 2 {
        types = types_by_clock(cores);
    }
    if types.len() < 2 {
        types = vec![CoreType { class: CoreClass::Uniform, cpus: online.clone() }];
    }
    for core in cores {
        core.core_type =
            types.iter().position(|t| core.cpus.iter().any(|cpu| t.cpus.contains(cpu))).unwrap_or(0);
    }
    types
}

/// Types by performance-monitoring unit; empty unless the units cover all online CPUs.
fn by_intel_files(tree: &mut Tree, online: &CpuSet) -> Vec<CoreType> {
    let types: Vec<CoreType> = INTEL_FILES
        .into_iter()
        .filter_map(|(file, class)| {
            Some(CoreType { class, cpus: read_set(tree, file)?.intersection(online) })
        })
        .filter(|core_type| !core_type.cpus.is_empty())
        .collect();
    let all = types.iter().fold(CpuSet::new(), |all, t| all.union(&t.cpus));
    if all == *online { types } else { Vec::new() }
}

/// Types by capacity.
///
/// The highest clock rates of cores of one type may differ a little. The kernel's scheduler takes a
/// capacity for greater than another only if `a * 1024 > b * 1078` (`capacity_greater` in
/// `kernel/sched/fair.c`). This function uses the same margin, against the highest capacity of a
/// type.
fn types_by_capacity(tree: &mut Tree, cores: &[Core]) -> Vec<CoreType> {
    let mut capacities: Vec<(u32, &CpuSet)> = Vec::new();
    for core in cores {
        let listed =
            core.cpus.iter().filter_map(|cpu| read_number(tree, format!("{CPUS}/cpu{cpu}/cpu_capacity")));
        let Some(capacity) = listed.max().and_then(|c| u32::try_from(c).ok()) else {
            return Vec::new();
        };
        capacities.push((capacity, &core.cpus));
    }
    capacities.sort_by_key(|(capacity, _)| std::cmp::Reverse(*capacity));
    let mut types: Vec<(u32, CpuSet)> = Vec::new();
    for (capacity, cpus) in capacities {
        match types.last_mut() {
            Some((highest, members)) if u64::from(*highest) * 1024 <= u64::from(capacity) * 1078 => {
                *members = members.union(cpus);
            }
            _ => types.push((capacity, cpus.clone())),
        }
    }
    types
        .into_iter()
        .map(|(capacity, cpus)| CoreType { class: CoreClass::Capacity(capacity), cpus })
        .collect()
}

/// Smallest ratio of two neighbouring ratings that separates two types.
///
/// The ratings of preferred cores of one type differ in steps of 2% to 3%
/// (`Documentation/admin-guide/pm/amd-pstate.rst`, "highest_perf": 255, 231, 226, …). Intel's
/// favoured cores clock 2% to 6% higher. AMD's compact cores are rated and clocked at least 30%
/// lower (Ryzen 5 7545U: 4.9 and 3.5 GHz).
const LEAST_RATIO: f64 = 1.2;

/// Types by AMD's rating of each core.
fn by_highest_performance(tree: &mut Tree, cores: &[Core]) -> Vec<CoreType> {
    let rated = cores.iter().map(|core| {
        let file = |cpu| format!("{CPUS}/cpu{cpu}/cpufreq/amd_pstate_highest_perf");
        let listed = core.cpus.iter().filter_map(|cpu| read_number(tree, file(cpu)));
        Some((listed.max()?, core.cpus.clone()))
    });
    let class = |rating| CoreClass::HighestPerformance(u32::try_from(rating).unwrap_or(u32::MAX));
    rated.collect::<Option<Vec<_>>>().map_or_else(Vec::new, |rated| split_at_gaps(rated, class))
}

/// Types by each core's highest clock rate.
fn types_by_clock(cores: &[Core]) -> Vec<CoreType> {
    let rated = cores.iter().map(|core| Some((core.max_frequency?.0, core.cpus.clone())));
    let class = |rate| CoreClass::MaxClock(Kilohertz(rate));
    rated.collect::<Option<Vec<_>>>().map_or_else(Vec::new, |rated| split_at_gaps(rated, class))
}

/// Types from ratings, highest first. A new type begins at each rating that is lower than its
/// predecessor by more than [`LEAST_RATIO`].
fn split_at_gaps(mut rated: Vec<(u64, CpuSet)>, class: impl Fn(u64) -> CoreClass) -> Vec<CoreType> {
    rated.sort_by_key(|(rating, _)| std::cmp::Reverse(*rating));
    let is_like = |one: &(u64, CpuSet), next: &(u64, CpuSet)| one.0 as f64 <= LEAST_RATIO * next.0 as f64;
    let types = rated.chunk_by(is_like).map(|alike| CoreType {
        class: class(alike[0].0),
        cpus: alike.iter().fold(CpuSet::new(), |all, (_, cpus)| all.union(cpus)),
    });
    types.collect()
}
