//! Tells kinds of core apart.
//!
//! Intel's hybrid processors have a performance-monitoring unit for each kind, whose `cpus` file lists its
//! CPUs. Elsewhere the kernel gives a capacity (`cpu_capacity`), 1024 for the fastest core; so arm64, from
//! the device tree. Where neither does, as of AMD's large and compact cores, the performance that the cores are rated at
//! tells, or their highest clock rates, where there is a gap between them: the "preferred cores" of one kind differ
//! too, but by small steps.

use morecores_study::{Core, CoreClass, CoreType, CpuSet, Kilohertz};

use super::{CPUS, number, set};
use crate::tree::Tree;

/// `Documentation/ABI/testing/sysfs-bus-event_source-devices`; the names are those of `arch/x86/events/intel/core.c`.
const INTEL: [(&str, CoreClass); 3] = [
    ("/sys/devices/cpu_core/cpus", CoreClass::Performance),
    ("/sys/devices/cpu_atom/cpus", CoreClass::Efficiency),
    ("/sys/devices/cpu_lowpower/cpus", CoreClass::LowPower),
];

/// Sets the type of every core, and returns the types, the fastest first.
pub(super) fn classify(tree: &mut Tree, online: &CpuSet, cores: &mut [Core]) -> Vec<CoreType> {
    let mut types = intel(tree, online);
    if types.len() < 2 {
        types = by_capacity(tree, cores);
    }
    if types.len() < 2 {
        types = by_highest_performance(tree, cores);
    }
    if types.len() < 2 {
        types = by_clock(cores);
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

/// The types by performance-monitoring unit; only where they divide all online CPUs among them.
fn intel(tree: &mut Tree, online: &CpuSet) -> Vec<CoreType> {
    let types: Vec<CoreType> = INTEL
        .into_iter()
        .filter_map(|(file, class)| Some(CoreType { class, cpus: set(tree, file)?.intersection(online) }))
        .filter(|core_type| !core_type.cpus.is_empty())
        .collect();
    let all = types.iter().fold(CpuSet::new(), |all, t| all.union(&t.cpus));
    if all == *online { types } else { Vec::new() }
}

/// The types by capacity. Cores of one kind may differ a little in their highest clock rate; the kernel's
/// scheduler takes a capacity for greater than another only where `a * 1024 > b * 1078`
/// (`capacity_greater` in `kernel/sched/fair.c`), and so do we, against the highest of a type.
fn by_capacity(tree: &mut Tree, cores: &[Core]) -> Vec<CoreType> {
    let mut capacities: Vec<(u32, &CpuSet)> = Vec::new();
    for core in cores {
        let told = core.cpus.iter().filter_map(|cpu| number(tree, format!("{CPUS}/cpu{cpu}/cpu_capacity")));
        let Some(capacity) = told.max().and_then(|c| u32::try_from(c).ok()) else {
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

/// The least ratio of two neighbouring ratings that makes two kinds. Preferred cores of one kind are rated in steps of
/// 2% to 3% (`Documentation/admin-guide/pm/amd-pstate.rst`, "highest_perf": 255, 231, 226, …), and Intel's favoured
/// cores clock 2% to 6% higher; AMD's compact cores are rated and clocked 30% lower and more (Ryzen 5 7545U: 4.9 and
/// 3.5 GHz).
const GAP: f64 = 1.2;

/// The types by AMD's rating of each core.
fn by_highest_performance(tree: &mut Tree, cores: &[Core]) -> Vec<CoreType> {
    let rated = cores.iter().map(|core| {
        let file = |cpu| format!("{CPUS}/cpu{cpu}/cpufreq/amd_pstate_highest_perf");
        let told = core.cpus.iter().filter_map(|cpu| number(tree, file(cpu)));
        Some((told.max()?, core.cpus.clone()))
    });
    let class = |rating| CoreClass::HighestPerformance(u32::try_from(rating).unwrap_or(u32::MAX));
    rated.collect::<Option<Vec<_>>>().map_or_else(Vec::new, |rated| by_gaps(rated, class))
}

/// The types by each core's highest clock rate.
fn by_clock(cores: &[Core]) -> Vec<CoreType> {
    let rated = cores.iter().map(|core| Some((core.max_frequency?.0, core.cpus.clone())));
    let class = |rate| CoreClass::MaxClock(Kilohertz(rate));
    rated.collect::<Option<Vec<_>>>().map_or_else(Vec::new, |rated| by_gaps(rated, class))
}

/// Types from ratings, the highest first: a new one wherever the next rating is lower by more than [`GAP`].
fn by_gaps(mut rated: Vec<(u64, CpuSet)>, class: impl Fn(u64) -> CoreClass) -> Vec<CoreType> {
    rated.sort_by_key(|(rating, _)| std::cmp::Reverse(*rating));
    let is_like = |one: &(u64, CpuSet), next: &(u64, CpuSet)| one.0 as f64 <= GAP * next.0 as f64;
    let types = rated.chunk_by(is_like).map(|alike| CoreType {
        class: class(alike[0].0),
        cpus: alike.iter().fold(CpuSet::new(), |all, (_, cpus)| all.union(cpus)),
    });
    types.collect()
}
