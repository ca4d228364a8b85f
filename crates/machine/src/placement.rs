//! Order in which a sweep adds CPUs.
//!
//! The functions are pure: they turn a topology and a policy into an order. An order is one list,
//! and count `n` gets its first `n` CPUs. Every step thus keeps the CPUs of the previous step and
//! differs only by the added CPUs.
//!
//! All policies begin at the lowest usable CPU of the fastest type of core. For each usable CPU
//! they use
//!
//! - its *thread number*: the number of usable threads of its core before it. If CPU 0 is
//!   forbidden, its sibling CPU 64 is a first thread, and so a whole core;
//! - the *type* of its core, fastest first;
//! - its *path*: package, NUMA node, die, caches from the last level to level 3, cluster, level 2
//!   cache, core. At each level, the group of the first CPU comes first. The other nodes follow by
//!   distance from that CPU's node, and packages by their nearest node. Nodes of equal distance,
//!   and all other groups, follow by their lowest usable CPU.
//!
//! | policy | order |
//! |---|---|
//! | cores-first | by thread number, then type, then path: every core of the machine before any sibling; the fast cores of all nodes before slow ones; one node, and in it one cache, before the next |
//! | compact | by type, then path, then thread number: every thread of a core before the next core |
//! | spread | by thread number, then type; within those, CPUs are dealt in turn from the packages, in a package from its nodes, in a node from its dies, and so on down the path |
//!
//! An efficiency core comes before the sibling of a performance core because it has execution units
//! of its own. Linux fills such machines in a similar order: it does not prefer a sibling of a busy
//! core, whatever the sibling's priority (`sched_use_asym_prio` in `kernel/sched/fair.c`).

use std::collections::{BTreeMap, BTreeSet};

use morecores_study::topology::{CacheKind, Topology};
use morecores_study::usable::Restriction;
use morecores_study::{CpuId, CpuKind, CpuSet, PlacedCpu, Placement};

/// CPUs in the order in which a sweep adds them, each with its kind relative to the CPUs before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuOrder(Vec<PlacedCpu>);

/// Reason for which a list of CPUs cannot be an order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// The list names no CPU.
    #[error("the CPU list is empty: write one like 0-3,8")]
    Empty,
    /// The text is not a CPU list.
    #[error(transparent)]
    Syntax(#[from] morecores_study::ParseCpuSetError),
    /// The list names a CPU more than once.
    #[error("CPU {0} is in the list twice: name each CPU once")]
    Twice(CpuId),
    /// The machine has no such CPU.
    #[error("there is no CPU {cpu}: this machine has CPUs {present}")]
    Absent {
        /// Requested CPU.
        cpu: CpuId,
        /// CPUs of the machine.
        present: CpuSet,
    },
    /// The CPU is switched off.
    #[error("CPU {0} is offline: leave it out, or write 1 to /sys/devices/system/cpu/cpu{0}/online as root")]
    Offline(CpuId),
    /// The CPU is online, but a restriction forbids it.
    #[error("CPU {cpu} may not be used ({}): usable are CPUs {usable}", join_restrictions(restrictions))]
    Forbidden {
        /// Requested CPU.
        cpu: CpuId,
        /// Usable CPUs.
        usable: CpuSet,
        /// Restrictions that forbid the CPU.
        restrictions: Vec<Restriction>,
    },
}

fn join_restrictions(restrictions: &[Restriction]) -> String {
    restrictions.iter().map(Restriction::to_string).collect::<Vec<_>>().join("; ")
}

impl CpuOrder {
    /// Order in which a policy adds the CPUs of `usable`, which are online CPUs of `topology`.
    pub fn from_policy(topology: &Topology, usable: &CpuSet, placement: Placement) -> Self {
        let mut places = cpu_positions(topology, usable);
        match placement {
            Placement::CoresFirst => places.sort_by_cached_key(|p| (p.thread, p.core_type, p.path.clone())),
            Placement::Compact => places.sort_by_cached_key(|p| (p.core_type, p.path.clone(), p.thread)),
            Placement::Spread => {
                let mut classes: BTreeMap<(usize, usize), Vec<CpuPosition>> = BTreeMap::new();
                for place in places {
                    classes.entry((place.thread, place.core_type)).or_default().push(place);
                }
                places = classes.into_values().flat_map(|class| interleave(class, 0)).collect();
            }
        }
        Self::with_kinds(topology, places.into_iter().map(|place| place.cpu))
    }

    /// Order of a list such as `0,2,1` or `8-11,0`, exactly as written.
    pub fn from_list(topology: &Topology, list: &str) -> Result<Self, PlacementError> {
        let mut cpus = Vec::new();
        if list.parse::<CpuSet>()?.is_empty() {
            return Err(PlacementError::Empty);
        }
        for part in list.split(',') {
            cpus.extend(part.parse::<CpuSet>()?.iter());
        }
        let mut named = CpuSet::new();
        for &cpu in &cpus {
            if !named.insert(cpu) {
                return Err(PlacementError::Twice(cpu));
            }
            check_allowed(topology, cpu)?;
        }
        Ok(Self::with_kinds(topology, cpus.into_iter()))
    }

    fn with_kinds(topology: &Topology, cpus: impl Iterator<Item = CpuId>) -> Self {
        let mut order: Vec<PlacedCpu> = Vec::new();
        let mut before = CpuSet::new();
        for cpu in cpus {
            let kind = match order.first() {
                None => CpuKind::First,
                Some(first) => cpu_kind(topology, first.cpu, &before, cpu),
            };
            before.insert(cpu);
            order.push(PlacedCpu { cpu, kind });
        }
        Self(order)
    }

    /// Steps of the order, first CPU first.
    pub fn steps(&self) -> &[PlacedCpu] {
        &self.0
    }

    /// CPUs that count `n` gets: the first `n`, or all CPUs if there are fewer.
    pub fn cpus(&self, n: usize) -> CpuSet {
        self.0.iter().take(n).map(|step| step.cpu).collect()
    }

    /// Kinds of CPU that count `n` adds to count `before`.
    pub fn kinds_added(&self, before: usize, n: usize) -> BTreeSet<CpuKind> {
        self.0.iter().take(n).skip(before).map(|step| step.kind).collect()
    }
}

fn check_allowed(topology: &Topology, cpu: CpuId) -> Result<(), PlacementError> {
    let usable = &topology.usable;
    if usable.cpus.contains(cpu) {
        return Ok(());
    }
    if !topology.present.contains(cpu) {
        return Err(PlacementError::Absent { cpu, present: topology.present.clone() });
    }
    if topology.offline.contains(cpu) {
        return Err(PlacementError::Offline(cpu));
    }
    let forbids = |restriction: &&Restriction| match restriction {
        Restriction::Affinity { cpus } | Restriction::Cpuset { cpus, .. } => !cpus.contains(cpu),
        _ => false,
    };
    let restrictions = usable.restrictions.iter().filter(forbids).cloned().collect();
    Err(PlacementError::Forbidden { cpu, usable: usable.cpus.clone(), restrictions })
}

/// Kind of `cpu`, given the first CPU and all CPUs before it; see [`CpuKind`].
fn cpu_kind(topology: &Topology, first: CpuId, before: &CpuSet, cpu: CpuId) -> CpuKind {
    let core = topology.core_with(cpu);
    if core.is_some_and(|core| core.cpus.iter().any(|thread| before.contains(thread))) {
        return CpuKind::SmtSibling;
    }
    let core_type = |cpu| topology.core_with(cpu).map(|core| core.core_type);
    let package = |cpu| topology.package_with(cpu).map(|package| &package.cpus);
    let node = |cpu| topology.node_with(cpu).map(|node| node.id);
    if core_type(cpu) != core_type(first) {
        CpuKind::OtherCoreType
    } else if package(cpu) != package(first) {
        CpuKind::OtherPackage
    } else if node(cpu) != node(first) {
        CpuKind::OtherNode
    } else {
        CpuKind::Core
    }
}

/// Position of a CPU; the module's documentation defines the fields.
#[derive(Debug)]
struct CpuPosition {
    cpu: CpuId,
    thread: usize,
    core_type: usize,
    path: Vec<u32>,
}

fn cpu_positions(topology: &Topology, usable: &CpuSet) -> Vec<CpuPosition> {
    let core_type = |cpu| topology.core_with(cpu).map_or(0, |core| core.core_type);
    let Some(first) = usable.iter().min_by_key(|&cpu| (core_type(cpu), cpu)) else {
        return Vec::new();
    };
    let nodes = node_ranks(topology, usable, first);
    let packages = package_ranks(topology, usable, &nodes, first);
    let groups = cpu_groups(topology);
    let cores: Vec<&CpuSet> = topology.cores.iter().map(|core| &core.cpus).collect();
    usable
        .iter()
        .map(|cpu| {
            let thread = topology.core_with(cpu).map_or(0, |core| {
                core.cpus.iter().filter(|&sibling| sibling < cpu && usable.contains(sibling)).count()
            });
            // Position of the CPU's set: 0 for the first CPU's set, otherwise by the set's lowest
            // usable CPU.
            let position = |sets: &[&CpuSet]| {
                let set = sets.iter().find(|set| set.contains(cpu))?;
                if set.contains(first) { Some(0) } else { Some(set.intersection(usable).first()?.0 + 1) }
            };
            // A core without a cache of some level forms a group of its own at that level.
            let core = position(&cores).unwrap_or(cpu.0 + 1);
            let mut path = vec![set_rank(&packages, cpu), set_rank(&nodes, cpu)];
            path.extend(groups.iter().map(|sets| position(sets).unwrap_or(core)));
            path.push(core);
            CpuPosition { cpu, thread, core_type: core_type(cpu), path }
        })
        .collect()
}

/// Groups between node and core, largest first; only groups that the topology knows.
fn cpu_groups(topology: &Topology) -> Vec<Vec<&CpuSet>> {
    let level = |level: u8| -> Vec<&CpuSet> {
        let holds_data = topology.caches.iter().filter(|cache| cache.kind != CacheKind::Instruction);
        holds_data.filter(|cache| cache.level == level).map(|cache| &cache.cpus).collect()
    };
    let last = topology.caches.iter().map(|cache| cache.level).max().unwrap_or(0);
    let mut groups = vec![topology.dies.iter().collect()];
    groups.extend((3..=last).rev().map(level));
    groups.push(topology.clusters.iter().collect());
    groups.push(level(2));
    groups.retain(|sets| !sets.is_empty());
    groups
}

/// Nodes that have usable CPUs, nearest to `first` first. Without NUMA the list is empty, and every
/// CPU has rank 0.
fn node_ranks<'a>(topology: &'a Topology, usable: &CpuSet, first: CpuId) -> Vec<&'a CpuSet> {
    let first_node = topology.node_with(first);
    let mut nodes: Vec<_> = topology
        .nodes
        .iter()
        .enumerate()
        .filter_map(|(index, node)| {
            let lowest = node.cpus.intersection(usable).first()?;
            let distance =
                first_node.and_then(|first_node| first_node.distances.get(index)).copied().unwrap_or(0);
            let away = first_node.is_some_and(|first_node| first_node.id != node.id);
            Some(((away, distance, lowest), &node.cpus))
        })
        .collect();
    nodes.sort();
    nodes.into_iter().map(|(_, cpus)| cpus).collect()
}

/// Packages that have usable CPUs: the first CPU's package, then the others by their nearest node.
fn package_ranks<'a>(
    topology: &'a Topology,
    usable: &CpuSet,
    nodes: &[&CpuSet],
    first: CpuId,
) -> Vec<&'a CpuSet> {
    let mut packages: Vec<_> = topology
        .packages
        .iter()
        .filter_map(|package| {
            let here = package.cpus.intersection(usable);
            let nearest = here.iter().map(|cpu| set_rank(nodes, cpu)).min()?;
            Some(((!here.contains(first), nearest, here.first()), &package.cpus))
        })
        .collect();
    packages.sort();
    packages.into_iter().map(|(_, cpus)| cpus).collect()
}

/// Position of the set that contains `cpu`, or 0 if no set does.
fn set_rank(sets: &[&CpuSet], cpu: CpuId) -> u32 {
    sets.iter().zip(0..).find(|(set, _)| set.contains(cpu)).map_or(0, |(_, rank)| rank)
}

/// Deals CPUs in turn from the groups at `depth` of the path; each group is dealt in the same
/// manner one level down.
fn interleave(places: Vec<CpuPosition>, depth: usize) -> Vec<CpuPosition> {
    let mut groups: BTreeMap<Option<u32>, Vec<CpuPosition>> = BTreeMap::new();
    for place in places {
        groups.entry(place.path.get(depth).copied()).or_default().push(place);
    }
    // The path ends here, so these CPUs belong to one core.
    if groups.contains_key(&None) {
        return groups.into_values().flatten().collect();
    }
    let mut iterators: Vec<_> =
        groups.into_values().map(|group| interleave(group, depth + 1).into_iter()).collect();
    let mut order = Vec::new();
    while !iterators.is_empty() {
        iterators.retain_mut(|iterator| match iterator.next() {
            Some(place) => {
                order.push(place);
                true
            }
            None => false,
        });
    }
    order
}
