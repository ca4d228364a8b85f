//! CpuOrder in which CPUs are added: exact on known machines, by its properties on any machine.

mod support;

use std::collections::BTreeMap;

use morecores_machine::placement::{CpuOrder, PlacementError};
use morecores_study::topology::{
    CacheKind, Core, CoreClass, CoreType, CpuCache, NumaNode, Package, Topology,
};
use morecores_study::{CpuId, CpuKind, CpuSet, Placement};
use proptest::prelude::*;
use support::topology;

const POLICIES: [Placement; 3] = [Placement::CoresFirst, Placement::Compact, Placement::Spread];

fn numbers(order: &CpuOrder) -> Vec<u32> {
    order.steps().iter().map(|step| step.cpu.0).collect()
}

/// Kinds in order, with the number of repetitions: `first 1, core 3`.
fn kinds(order: &CpuOrder) -> String {
    let kinds: Vec<CpuKind> = order.steps().iter().map(|step| step.kind).collect();
    let runs = kinds.chunk_by(|a, b| a == b).map(|run| format!("{} {}", run[0], run.len()));
    runs.collect::<Vec<_>>().join(", ")
}

fn order_by(name: &str, placement: Placement) -> CpuOrder {
    let topology = topology(name);
    CpuOrder::from_policy(&topology, &topology.usable.cpus, placement)
}

#[test]
fn a_laptop_fills_fast_cores_then_slow_ones_then_siblings() {
    let order = order_by("laptop-two-core-types", Placement::CoresFirst);
    assert_eq!(numbers(&order), [0, 2, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15, 1, 3, 5, 7]);
    assert_eq!(kinds(&order), "first 1, core 3, other-core-type 8, smt-sibling 4");

    let order = order_by("laptop-two-core-types", Placement::Compact);
    assert_eq!(numbers(&order), (0..16).collect::<Vec<_>>());

    // The slow cores come in turn from their two clusters.
    let order = order_by("laptop-two-core-types", Placement::Spread);
    assert_eq!(numbers(&order), [0, 2, 4, 6, 8, 12, 9, 13, 10, 14, 11, 15, 1, 3, 5, 7]);
}

#[test]
fn a_board_begins_with_its_big_cores() {
    assert_eq!(numbers(&order_by("board-big-little", Placement::CoresFirst)), [4, 5, 6, 7, 0, 1, 2, 3]);
    assert_eq!(numbers(&order_by("board-big-little", Placement::Spread)), [4, 6, 5, 7, 0, 1, 2, 3]);
}

#[test]
fn a_server_fills_one_node_before_the_next() {
    let order = order_by("server-2x32-smt", Placement::CoresFirst);
    assert_eq!(numbers(&order), (0..128).collect::<Vec<_>>());
    assert_eq!(kinds(&order), "first 1, core 31, other-package 32, smt-sibling 64");
    assert_eq!(order.kinds_added(16, 64), [CpuKind::Core, CpuKind::OtherPackage].into());
    assert_eq!(order.cpus(33).to_string(), "0-32");

    let order = order_by("server-2x32-smt", Placement::Compact);
    assert_eq!(numbers(&order)[..4], [0, 64, 1, 65]);
    assert_eq!(order.cpus(64).to_string(), "0-31,64-95");
}

#[test]
fn spread_deals_from_packages_then_from_caches() {
    let order = order_by("server-2x64-smt-16-l3", Placement::Spread);
    // Packages begin at 0 and 64; each has eight caches of eight cores.
    assert_eq!(numbers(&order)[..6], [0, 64, 8, 72, 16, 80]);
    assert_eq!(numbers(&order)[16..18], [1, 65]);
    assert_eq!(kinds(&order).split(", ").last(), Some("smt-sibling 128"));
    // The compact order stays within one cache for eight cores, although the CPU numbers do not
    // show it.
    assert_eq!(order_by("server-2x64-smt-16-l3", Placement::Compact).cpus(16).to_string(), "0-7,128-135");
}

#[test]
fn a_sibling_whose_first_thread_is_forbidden_is_a_core() {
    let topology = topology("server-2x32-smt");
    let order = CpuOrder::from_policy(&topology, &"1,64-66".parse().unwrap(), Placement::CoresFirst);
    assert_eq!(numbers(&order), [1, 64, 66, 65]);
    assert_eq!(kinds(&order), "first 1, core 2, smt-sibling 1");
}

#[test]
fn nearer_nodes_come_before_farther_ones() {
    let mut topology = topology("server-2x32-smt");
    let node = |id, cpus: &str, distances: &[u32]| NumaNode {
        id,
        cpus: cpus.parse().unwrap(),
        distances: distances.to_vec(),
    };
    topology.nodes = vec![
        node(0, "0-15,64-79", &[10, 30, 20, 25]),
        node(1, "16-31,80-95", &[30, 10, 20, 20]),
        node(2, "32-47,96-111", &[20, 20, 10, 20]),
        node(3, "48-63,112-127", &[25, 20, 20, 10]),
    ];
    topology.caches.retain(|cache| cache.level < 3);
    let order = CpuOrder::from_policy(&topology, &topology.usable.cpus, Placement::CoresFirst);
    // Package 0 is complete first, however distant its other node is.
    assert_eq!(order.cpus(32).to_string(), "0-31");
    assert_eq!(order.cpus(48).to_string(), "0-47", "node 2 is nearer to node 0 than node 3");
    assert_eq!(kinds(&order), "first 1, core 15, other-node 16, other-package 32, smt-sibling 64");
    let order = CpuOrder::from_policy(&topology, &"20-63".parse().unwrap(), Placement::CoresFirst);
    assert_eq!(numbers(&order)[..1], [20]);
    topology.nodes[1].distances = vec![30, 10, 25, 20];
    let order = CpuOrder::from_policy(&topology, &"20-63".parse().unwrap(), Placement::CoresFirst);
    assert_eq!(order.cpus(28).to_string(), "20-31,48-63", "now node 3 is the nearest to node 1");
}

#[test]
fn a_cpu_list_keeps_its_order_or_is_refused_with_the_reason() {
    let laptop = topology("laptop-two-core-types");
    let order = CpuOrder::from_list(&laptop, "8-9,1,0").unwrap();
    assert_eq!(numbers(&order), [8, 9, 1, 0]);
    assert_eq!(kinds(&order), "first 1, core 1, other-core-type 1, smt-sibling 1");
    assert_eq!(CpuOrder::from_list(&laptop, "0,0"), Err(PlacementError::Twice(CpuId(0))));
    assert_eq!(CpuOrder::from_list(&laptop, " "), Err(PlacementError::Empty));
    for junk in ["0,,1", "a", "0-"] {
        assert!(matches!(CpuOrder::from_list(&laptop, junk), Err(PlacementError::Syntax(_))), "{junk}");
    }
    let refused =
        |name: &str, list: &str| CpuOrder::from_list(&topology(name), list).unwrap_err().to_string();
    assert_eq!(refused("laptop-two-core-types", "16"), "there is no CPU 16: this machine has CPUs 0-15");
    assert!(refused("offline-gaps-isolated", "0,1").starts_with("CPU 1 is offline"));
    assert_eq!(
        refused("offline-gaps-isolated", "3"),
        "CPU 3 may not be used (affinity mask allows CPUs 0,2,16,18): usable are CPUs 0,2,16,18"
    );
    assert!(refused("quota-v1-joined", "6").contains("cpuset of own cgroup allows CPUs 2-5"));
}

/// A machine of any shape: packages, with nodes, caches, cores and threads nested in them. The CPU
/// numbers are shuffled, and some of the caches have the fast cores.
fn machines() -> impl Strategy<Value = (Topology, CpuSet)> {
    let shape = (1..3usize, 1..3usize, 1..3usize, 1..4usize, 1..3usize);
    shape.prop_flat_map(|(packages, nodes, caches, cores, threads)| {
        let groups = packages * nodes * caches;
        let n = groups * cores * threads;
        let numbers = Just((0..n as u32).collect::<Vec<_>>()).prop_shuffle();
        (numbers, prop::collection::vec(any::<bool>(), groups), prop::collection::vec(any::<bool>(), n))
            .prop_map(move |(numbers, slow, usable)| {
                let set = |chunk: &[u32]| chunk.iter().copied().map(CpuId).collect::<CpuSet>();
                let chunks = |parts: usize| numbers.chunks(n / parts).map(set).collect::<Vec<_>>();
                let types = |wanted: bool| -> CpuSet {
                    let caches = chunks(groups).into_iter().zip(&slow).filter(|(_, slow)| **slow == wanted);
                    caches.fold(CpuSet::new(), |all, (cpus, _)| all.union(&cpus))
                };
                let class = CoreClass::Uniform;
                let core_types =
                    vec![CoreType { class, cpus: types(false) }, CoreType { class, cpus: types(true) }];
                let core_type = |cpus: &CpuSet| usize::from(cpus.is_subset(&core_types[1].cpus));
                let topology = Topology {
                    online: set(&numbers),
                    packages: chunks(packages).into_iter().map(|cpus| Package { id: None, cpus }).collect(),
                    nodes: (0..)
                        .zip(chunks(packages * nodes))
                        .map(|(id, cpus)| NumaNode { id, cpus, distances: vec![] })
                        .collect(),
                    caches: chunks(groups)
                        .into_iter()
                        .map(|cpus| CpuCache { level: 3, kind: CacheKind::Unified, size: None, cpus })
                        .collect(),
                    cores: chunks(groups * cores)
                        .into_iter()
                        .map(|cpus| Core { core_type: core_type(&cpus), max_frequency: None, cpus })
                        .collect(),
                    core_types,
                    ..Topology::default()
                };
                let usable =
                    (0..).map(CpuId).zip(usable).filter(|(_, usable)| *usable).map(|(cpu, _)| cpu).collect();
                (topology, usable)
            })
    })
}

/// Number of changes of the value along a sequence.
fn changes<T: PartialEq>(values: impl Iterator<Item = T>) -> usize {
    let values: Vec<T> = values.collect();
    values.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

proptest! {
    #[test]
    fn every_order_is_a_permutation_and_every_count_contains_the_one_before((topology, usable) in machines()) {
        for placement in POLICIES {
            let order = CpuOrder::from_policy(&topology, &usable, placement);
            prop_assert_eq!(order.steps().len(), usable.len());
            prop_assert_eq!(order.cpus(usable.len()), usable.clone());
            for n in 1..=usable.len() {
                prop_assert_eq!(order.cpus(n).len(), n);
                prop_assert!(order.cpus(n - 1).is_subset(&order.cpus(n)));
            }
        }
    }

    #[test]
    fn every_order_begins_at_the_lowest_fast_cpu((topology, usable) in machines()) {
        let fast = topology.core_types[0].cpus.intersection(&usable);
        let expected = fast.first().or(usable.first());
        for placement in POLICIES {
            let order = CpuOrder::from_policy(&topology, &usable, placement);
            prop_assert_eq!(order.steps().first().map(|step| step.cpu), expected);
        }
    }

    #[test]
    fn kinds_match_the_topology((topology, usable) in machines()) {
        for placement in POLICIES {
            let order = CpuOrder::from_policy(&topology, &usable, placement);
            for (n, step) in order.steps().iter().enumerate() {
                let first = order.steps()[0].cpu;
                let shares = topology.core_with(step.cpu).unwrap().cpus.iter().any(|c| order.cpus(n).contains(c));
                prop_assert_eq!(step.kind == CpuKind::SmtSibling, shares);
                prop_assert_eq!(step.kind == CpuKind::First, n == 0);
                if step.kind == CpuKind::Core {
                    prop_assert_eq!(topology.node_with(step.cpu), topology.node_with(first));
                    let core_type = |cpu| topology.core_with(cpu).unwrap().core_type;
                    prop_assert_eq!(core_type(step.cpu), core_type(first));
                }
                if step.kind == CpuKind::OtherPackage {
                    prop_assert_ne!(topology.package_with(step.cpu), topology.package_with(first));
                }
            }
        }
    }

    #[test]
    fn no_sibling_before_every_core((topology, usable) in machines()) {
        for placement in [Placement::CoresFirst, Placement::Spread] {
            let order = CpuOrder::from_policy(&topology, &usable, placement);
            let whole = order.steps().iter().take_while(|step| step.kind != CpuKind::SmtSibling).count();
            prop_assert_eq!(whole, topology.cores_in(&usable));
            let types = order.steps().iter().take(whole).map(|step| topology.core_with(step.cpu).unwrap().core_type);
            prop_assert!(types.is_sorted(), "a slow core before a fast one");
        }
    }

    #[test]
    fn cores_first_finishes_a_node_before_the_next((topology, usable) in machines()) {
        let order = CpuOrder::from_policy(&topology, &usable, Placement::CoresFirst);
        let whole = topology.cores_in(&usable);
        // The check is separate for each type of core, because the types follow one after the
        // other.
        let mut nodes: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for step in order.steps().iter().take(whole) {
            let core_type = topology.core_with(step.cpu).unwrap().core_type;
            nodes.entry(core_type).or_default().push(topology.node_with(step.cpu).unwrap().id);
        }
        for nodes in nodes.into_values() {
            let mut distinct = nodes.clone();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(changes(nodes.into_iter()) + 1, distinct.len());
        }
    }

    #[test]
    fn compact_finishes_a_core_before_the_next((topology, usable) in machines()) {
        let order = CpuOrder::from_policy(&topology, &usable, Placement::Compact);
        let cores = order.steps().iter().map(|step| topology.core_with(step.cpu));
        prop_assert_eq!(changes(cores) + usize::from(!usable.is_empty()), topology.cores_in(&usable));
    }

    #[test]
    fn spread_keeps_packages_even((topology, _) in machines()) {
        // On a machine with only usable cores of one type, the CPU counts of packages never differ
        // by more than one.
        prop_assume!(topology.core_types.iter().any(|t| t.cpus.is_empty()));
        let order = CpuOrder::from_policy(&topology, &topology.online, Placement::Spread);
        for n in 1..=topology.online.len() {
            let used = topology.packages.iter().map(|p| p.cpus.intersection(&order.cpus(n)).len());
            let (least, most) = (used.clone().min().unwrap(), used.max().unwrap());
            prop_assert!(most - least <= 1);
        }
    }
}
