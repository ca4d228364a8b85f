//! Selection of the CPUs that are measured alone, and of the pairs that are measured together.

use morecores_study::noise::CpuRelation;
use morecores_study::topology::Topology;
use morecores_study::{CpuId, CpuSet};

/// At most `most` of the CPUs, evenly spread, so that the sample covers every package of a large
/// machine.
pub(super) fn sample_evenly(cpus: &CpuSet, most: usize) -> CpuSet {
    if cpus.len() <= most {
        return cpus.clone();
    }
    let all: Vec<CpuId> = cpus.iter().collect();
    (0..most).map(|i| all[i * all.len() / most]).collect()
}

/// One pair of each kind, if one of `alone` and another of `cpus` can form it.
pub(super) fn related_pairs(
    topology: &Topology,
    alone: &CpuSet,
    cpus: &CpuSet,
) -> Vec<(CpuRelation, CpuSet)> {
    let mut found = Vec::new();
    for relation in [CpuRelation::Siblings, CpuRelation::Cores, CpuRelation::Packages] {
        let pair = alone.iter().find_map(|one| {
            let other =
                cpus.iter().find(|other| *other != one && cpu_relation(topology, one, *other) == relation)?;
            Some(CpuSet::from_iter([one, other]))
        });
        found.extend(pair.map(|pair| (relation, pair)));
    }
    found
}

fn cpu_relation(topology: &Topology, one: CpuId, other: CpuId) -> CpuRelation {
    let together = |a: Option<&CpuSet>| a.is_some_and(|set| set.contains(other));
    if together(topology.core_with(one).map(|core| &core.cpus)) {
        CpuRelation::Siblings
    } else if topology.packages.len() < 2 || together(topology.package_with(one).map(|package| &package.cpus))
    {
        CpuRelation::Cores
    } else {
        CpuRelation::Packages
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_study::topology::{Core, Package};

    fn set(text: &str) -> CpuSet {
        text.parse().unwrap()
    }

    /// Two packages of two cores of two threads, numbered as in Linux: sibling numbers are far
    /// apart.
    fn machine() -> Topology {
        let core = |cpus| Core { cpus: set(cpus), core_type: 0, max_frequency: None };
        Topology {
            packages: vec![
                Package { id: Some(0), cpus: set("0-1,4-5") },
                Package { id: Some(1), cpus: set("2-3,6-7") },
            ],
            cores: ["0,4", "1,5", "2,6", "3,7"].map(core).to_vec(),
            ..Topology::default()
        }
    }

    #[test]
    fn each_relation_of_cpus_has_a_pair() {
        let all = set("0-7");
        let expected = [
            (CpuRelation::Siblings, set("0,4")),
            (CpuRelation::Cores, set("0-1")),
            (CpuRelation::Packages, set("0,2")),
        ];
        assert_eq!(related_pairs(&machine(), &all, &all), expected);
        assert_eq!(related_pairs(&machine(), &set("0-1"), &set("0-1")), expected[1..2]);
        assert_eq!(related_pairs(&Topology::default(), &all, &all), [(CpuRelation::Cores, set("0-1"))]);
    }

    #[test]
    fn a_large_machine_is_sampled_from_end_to_end() {
        assert_eq!(sample_evenly(&set("0-3"), 16), set("0-3"));
        assert_eq!(sample_evenly(&set("0-63"), 4), set("0,16,32,48"));
        assert_eq!(sample_evenly(&set("0-16"), 16).len(), 16);
    }
}
