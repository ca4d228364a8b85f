//! CPU counts: the values that the command line accepts, and the default.

mod support;

use morecores_machine::counts::{self, CountsError};
use morecores_machine::placement::CpuOrder;
use morecores_study::topology::Topology;
use morecores_study::{CpuSet, Placement};
use support::topology;

fn defaults(topology: &Topology, placement: Placement) -> Vec<usize> {
    let order = CpuOrder::from_policy(topology, &topology.usable.cpus, placement);
    counts::default_counts(&order, topology.usable.default_count())
}

/// A machine of `n` CPUs without any further information.
fn plain(n: u32) -> Topology {
    let cpus: CpuSet = (0..n).map(morecores_study::CpuId).collect();
    let mut topology = Topology { online: cpus.clone(), present: cpus.clone(), ..Topology::default() };
    topology.usable.count = cpus.len();
    topology.usable.cpus = cpus;
    topology
}

#[test]
fn lists_are_sorted_and_collapsed() {
    let vm = plain(16);
    assert_eq!(counts::parse_counts("all,4-8, 2,1,2,6", &vm).unwrap(), [1, 2, 4, 5, 6, 7, 8, 16]);
    assert_eq!(counts::parse_counts("16", &vm).unwrap(), [16]);
    assert_eq!(counts::parse_counts("all", &vm).unwrap(), [16]);
}

#[test]
fn bad_lists_are_refused() {
    let vm = plain(4);
    assert_eq!(counts::parse_counts(" ", &vm), Err(CountsError::Empty));
    assert_eq!(counts::parse_counts("0", &vm), Err(CountsError::Zero));
    assert_eq!(counts::parse_counts("0-2", &vm), Err(CountsError::Zero));
    for junk in ["x", "1,,2", "-1", "+1", "1-", "3-2", "2.5", "ALL", "1;2"] {
        assert!(matches!(counts::parse_counts(junk, &vm), Err(CountsError::Syntax(_))), "{junk}");
    }
}

#[test]
fn too_large_a_count_is_refused_with_the_usable_count_and_the_reason() {
    let error = |name: &str, text: &str| counts::parse_counts(text, &topology(name)).unwrap_err().to_string();
    assert_eq!(error("vm-2-cpus", "1-3"), "cannot measure 3 CPUs: allowed are 2 of the 2 in this machine");
    assert_eq!(
        error("offline-gaps-isolated", "1-9999999999"),
        "cannot measure 9999999999 CPUs: allowed are 4 of the 8 in this machine: CPUs 1,17 offline; \
         affinity mask allows CPUs 0,2,16,18"
    );
}

#[test]
fn a_quota_excludes_no_count() {
    let hybrid = topology("hybrid-v1-v2");
    assert_eq!((hybrid.usable.count, hybrid.usable.cpus.len()), (4, 8));
    assert_eq!(counts::parse_counts("5-8", &hybrid).unwrap(), [5, 6, 7, 8]);
    assert_eq!(counts::parse_counts("all", &hybrid).unwrap(), [4]);
    let error = counts::parse_counts("9", &hybrid).unwrap_err().to_string();
    assert_eq!(error, "cannot measure 9 CPUs: allowed are 8 of the 8 in this machine");
}

#[test]
fn default_counts_on_plain_machines() {
    let expected: [(u32, &[usize]); 8] = [
        (1, &[1]),
        (2, &[1, 2]),
        (4, &[1, 2, 3, 4]),
        (6, &[1, 2, 3, 4, 5, 6]),
        (8, &[1, 2, 4, 6, 8]),
        (12, &[1, 2, 4, 8, 9, 12]),
        (16, &[1, 2, 4, 8, 12, 16]),
        (96, &[1, 2, 4, 8, 16, 32, 64, 96]),
    ];
    for (cpus, counts) in expected {
        assert_eq!(defaults(&plain(cpus), Placement::CoresFirst), counts, "{cpus} CPUs");
    }
}

#[test]
fn default_counts_include_the_last_of_each_kind() {
    // The laptop has 4 fast cores, 12 cores and 16 threads.
    assert_eq!(defaults(&topology("laptop-two-core-types"), Placement::CoresFirst), [1, 2, 4, 8, 12, 16]);
    assert_eq!(
        defaults(&topology("server-2x64-smt-16-l3"), Placement::CoresFirst),
        [1, 2, 4, 8, 16, 32, 64, 128, 256]
    );
    // Two sockets of 48 cores: only the end of a socket and of the whole cores is not a power of
    // two.
    let mut odd = topology("server-2x64-smt-16-l3");
    odd.usable.cpus = "0-47,64-111,128-175,192-239".parse().unwrap();
    odd.usable.count = odd.usable.cpus.len();
    let expected = [1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192];
    assert_eq!(defaults(&odd, Placement::CoresFirst), expected);
    assert_eq!(defaults(&odd, Placement::Compact), [1, 2, 4, 8, 16, 32, 64, 96, 128, 192]);
}

#[test]
fn a_quota_limits_the_default_counts() {
    assert_eq!(defaults(&topology("nested-quotas-v2"), Placement::CoresFirst), [1, 2]);
    assert_eq!(defaults(&topology("hybrid-v1-v2"), Placement::CoresFirst), [1, 2, 3, 4]);
    // The quota is 1.5 CPUs. A measurement on 2 CPUs shows whether the second CPU helps.
    assert_eq!(defaults(&topology("quota-v1-joined"), Placement::CoresFirst), [1, 2]);
}
