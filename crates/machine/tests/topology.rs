//! The reader on every recorded tree, and the recorder on this machine and on its own output.

mod support;

use morecores_machine::kernel_files::Tree;
use morecores_machine::topology::{Recording, read_from};
use morecores_study::topology::{CoreClass, Topology};
use morecores_study::usable::{CgroupLevel, Restriction};
use morecores_study::{CpuSet, Kilohertz};
use support::{recording, topology, topology_of};

fn cpus(list: &str) -> CpuSet {
    list.parse().expect("a CPU list")
}

/// Number of caches at each level: (L1 of all kinds, L2, L3).
fn caches(topology: &Topology) -> [usize; 3] {
    [1, 2, 3].map(|level| topology.caches.iter().filter(|cache| cache.level == level).count())
}

/// Restrictions as text.
fn words(topology: &Topology) -> Vec<String> {
    topology.usable.restrictions.iter().map(ToString::to_string).collect()
}

#[test]
fn a_virtual_machine_with_2_cpus() {
    let vm = topology("vm-2-cpus");
    assert_eq!((vm.packages.len(), vm.nodes.len(), vm.cores.len(), vm.threads_per_core()), (1, 1, 2, 1));
    assert_eq!(caches(&vm), [4, 2, 1]);
    assert_eq!(vm.core_types.len(), 1);
    assert_eq!((vm.usable.count, vm.usable.quota_cpus), (2, None));
    assert!(vm.clusters.is_empty(), "one core each is no cluster");
    assert_eq!((words(&vm), vm.unread), (vec![], vec![]));
}

#[test]
fn a_laptop_with_two_core_types() {
    let laptop = topology("laptop-two-core-types");
    assert_eq!((laptop.online.len(), laptop.cores.len(), laptop.threads_per_core()), (16, 12, 2));
    let types: Vec<_> = laptop.core_types.iter().map(|t| (t.class, t.cpus.to_string())).collect();
    assert_eq!(
        types,
        [(CoreClass::Performance, "0-7".to_owned()), (CoreClass::Efficiency, "8-15".to_owned())]
    );
    assert_eq!(laptop.clusters.len(), 6);
    assert_eq!(caches(&laptop), [24, 6, 1]);
    let rates: Vec<_> = laptop.cores.iter().map(|core| core.max_frequency.unwrap().0).collect();
    assert_eq!((rates[0], rates[11]), (4_700_000, 3_400_000));
}

#[test]
fn two_socket_servers() {
    let xeon = topology("server-2x32-smt");
    assert_eq!((xeon.packages.len(), xeon.nodes.len(), xeon.cores.len()), (2, 2, 64));
    assert_eq!((xeon.usable.count, xeon.threads_per_core()), (128, 2));
    assert_eq!(xeon.nodes[1].distances, [20, 10]);
    assert!(xeon.dies.is_empty(), "a die that is the whole package says nothing");
    assert_eq!(caches(&xeon), [128, 64, 2]);
    assert_eq!(xeon.node_with(morecores_study::CpuId(96)).unwrap().id, 1);

    let epyc = topology("server-2x64-smt-16-l3");
    assert_eq!((epyc.usable.count, epyc.cores.len(), caches(&epyc)), (256, 128, [256, 128, 16]));
}

#[test]
fn an_arm_board_with_capacities() {
    let board = topology("board-big-little");
    let types: Vec<_> = board.core_types.iter().map(|t| (t.class, t.cpus.to_string())).collect();
    // 1003 and 1024 are within the scheduler's margin, so they form one type.
    assert_eq!(
        types,
        [(CoreClass::Capacity(1024), "4-7".to_owned()), (CoreClass::Capacity(397), "0-3".to_owned())]
    );
    assert_eq!(board.clusters.len(), 3);
    assert!(board.dies.is_empty(), "files that are not there divide nothing");
    assert!(board.nodes.is_empty() && board.unread.is_empty(), "no NUMA is no loss: {:?}", board.unread);
}

#[test]
fn quotas_and_cpusets_on_several_levels() {
    let pod = topology("nested-quotas-v2");
    assert_eq!(pod.usable.cpus, cpus("0-3,8-11"));
    assert_eq!((pod.usable.count, pod.usable.quota_cpus), (2, Some(2.5)));
    assert_eq!(
        words(&pod),
        [
            "cpuset of own cgroup allows CPUs 0-3,8-11 (/sys/fs/cgroup/kubepods.slice/pod1/app/cpuset.cpus.effective)",
            "cpuset of parent cgroup allows CPUs 0-3,8-11 (/sys/fs/cgroup/kubepods.slice/pod1/cpuset.cpus.effective)",
            "cpuset of cgroup 2 levels up allows CPUs 0-5,8-13 (/sys/fs/cgroup/kubepods.slice/cpuset.cpus.effective)",
            "quota of own cgroup is 3 CPUs, 300 ms in every 100 ms (/sys/fs/cgroup/kubepods.slice/pod1/app/cpu.max)",
            "quota of parent cgroup is 2.5 CPUs, 250 ms in every 100 ms (/sys/fs/cgroup/kubepods.slice/pod1/cpu.max)",
        ]
    );
}

#[test]
fn a_container_reports_hidden_files() {
    let container = topology("container-namespace-v2");
    assert_eq!((container.usable.count, container.usable.quota_cpus), (1, Some(0.5)));
    assert_eq!(container.unread.len(), 1);
    assert_eq!(container.unread[0].path, "/sys/fs/cgroup");
}

#[test]
fn version_1_joined_and_hybrid() {
    let v1 = topology("quota-v1-joined");
    assert_eq!((v1.usable.cpus, v1.usable.count, v1.usable.quota_cpus), (cpus("2-5"), 1, Some(1.5)));
    let quotas = v1.usable.restrictions.iter().filter_map(|restriction| match restriction {
        Restriction::Quota { level, quota, .. } => Some((*level, quota.cpus())),
        _ => None,
    });
    assert_eq!(quotas.collect::<Vec<_>>(), [(CgroupLevel(0), 1.5), (CgroupLevel(1), 6.0)]);

    let hybrid = topology("hybrid-v1-v2");
    assert_eq!((hybrid.usable.count, hybrid.usable.quota_cpus), (4, Some(4.5)));
    assert_eq!(
        words(&hybrid),
        [
            "quota of parent cgroup is 4.5 CPUs, 450 ms in every 100 ms (/sys/fs/cgroup/cpu/ci/cpu.cfs_quota_us)"
        ]
    );
}

#[test]
fn offline_gaps_and_isolation() {
    let gaps = topology("offline-gaps-isolated");
    assert_eq!(gaps.offline, cpus("1,17"));
    assert_eq!(gaps.cores.len(), 3);
    assert_eq!(gaps.nodes.iter().map(|node| node.id).collect::<Vec<_>>(), [0, 2]);
    assert_eq!((gaps.usable.count, &gaps.usable.cpus), (4, &cpus("0,2,16,18")));
    assert_eq!(
        words(&gaps),
        [
            "CPUs 1,17 offline",
            "affinity mask allows CPUs 0,2,16,18",
            "isolcpus: CPUs 3,19 not load-balanced, used only by threads bound to them",
            "nohz_full: CPUs 3,19 without a periodic tick",
        ]
    );
    let off = topology("smt-off");
    assert_eq!((off.usable.count, off.threads_per_core()), (4, 1));
    assert_eq!(words(&off), ["SMT switched off: CPUs 4-7 offline"]);
}

#[test]
fn large_and_compact_cores_are_two_kinds_and_preferred_cores_one() {
    let kinds = |machine: &Recording| {
        let types = topology_of(machine).core_types;
        types.into_iter().map(|t| (t.class, t.cpus.to_string())).collect::<Vec<_>>()
    };
    let (large, compact) = ("0-1,6-7".to_owned(), "2-5,8-11".to_owned());
    let rated = CoreClass::HighestPerformance;
    let machine = recording("amd-two-kinds");
    assert_eq!(kinds(&machine), [(rated(196), large.clone()), (rated(140), compact.clone())]);
    let with = |file: &str, values: [u32; 6]| {
        let mut machine = machine.clone();
        for cpu in 0..12 {
            let value = values[cpu % 6].to_string();
            machine.insert(format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}"), &value);
        }
        machine
    };
    // Without the ratings, the clock rates distinguish the types.
    let clock = |rate| CoreClass::MaxClock(Kilohertz(rate));
    let unrated = with("amd_pstate_highest_perf", [166; 6]);
    assert_eq!(kinds(&unrated), [(clock(4_900_000), large), (clock(3_500_000), compact)]);
    // Preferred cores: small steps over a third of the scale, without a gap.
    let preferred = with("amd_pstate_highest_perf", [236, 226, 211, 196, 181, 166]);
    let mut preferred_alone = preferred.clone();
    for cpu in 0..12 {
        preferred_alone
            .insert(format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq"), "5000000");
    }
    assert_eq!(kinds(&preferred_alone), [(CoreClass::Uniform, "0-11".to_owned())]);
}

#[test]
fn cpus_without_load_balancing_are_reported() {
    let flags = |own: &str, parent: &str, root: &str| {
        let mut machine = recording("quota-v1-joined");
        let membership = "4:cpuset:/a/b\n3:cpu,cpuacct:/\n";
        machine.insert("/proc/self/cgroup", membership);
        let mount = "31 25 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";
        machine.insert("/proc/self/mountinfo", mount);
        machine.insert("/sys/fs/cgroup/cpuset/cgroup.sane_behavior", "0");
        for (dir, value) in [("", root), ("/a", parent), ("/a/b", own)] {
            machine.insert(format!("/sys/fs/cgroup/cpuset{dir}/cpuset.sched_load_balance"), value);
        }
        let reported = |r: &&Restriction| matches!(r, Restriction::NotBalanced { .. });
        topology_of(&machine).usable.restrictions.iter().find(reported).map(ToString::to_string)
    };
    let reported = flags("0", "0", "0").unwrap();
    assert!(
        reported.contains("not load-balanced") && reported.contains("/a/b/cpuset.sched_load_balance"),
        "{reported}"
    );
    // One balanced cpuset that holds the CPUs is enough, at any level.
    assert_eq!([flags("1", "0", "0"), flags("0", "1", "0"), flags("0", "0", "1")], [None, None, None]);
}

#[test]
fn a_partition_is_not_restricted_by_its_parent() {
    // A v2 partition root takes its CPUs out of the parent's effective set.
    let mut partition = recording("server-2x32-smt");
    partition.insert("/sys/fs/cgroup/cpuset.cpus.effective", "0-119");
    partition.insert("/sys/fs/cgroup/system.slice/cpuset.cpus.effective", "120-127");
    partition.insert("/proc/self/status", "Cpus_allowed_list:\t120-127");
    let usable = topology_of(&partition).usable;
    assert_eq!(usable.cpus, cpus("120-127"));
    assert_eq!(usable.restrictions.len(), 1, "{:?}", usable.restrictions);
}

#[test]
fn an_affinity_mask_narrower_than_the_cpuset_is_a_restriction_of_its_own() {
    let mut bound = recording("quota-v1-joined");
    bound.insert("/proc/self/status", "Cpus_allowed_list:\t3-4");
    let usable = topology_of(&bound).usable;
    assert_eq!(usable.cpus, cpus("3-4"));
    assert!(usable.restrictions.contains(&Restriction::Affinity { cpus: cpus("3-4") }));
    assert!(!words(&topology("quota-v1-joined")).iter().any(|text| text.contains("affinity")));
}

#[test]
fn without_readable_files_one_cpu_is_assumed_with_a_note() {
    let nothing = topology_of(&Recording::default());
    assert_eq!((nothing.online.to_string(), nothing.usable.count), ("0".to_owned(), 1));
    let reasons: Vec<_> = nothing.unread.iter().map(|unread| unread.why.as_str()).collect();
    for expected in ["the CPUs of the affinity mask", "no siblings known", "no package", "no caches"] {
        assert!(reasons.iter().any(|why| why.contains(expected)), "{expected}: {reasons:?}");
    }
}

#[test]
fn a_damaged_file_is_reported_and_the_rest_is_read() {
    let mut damaged = recording("server-2x32-smt");
    damaged.insert("/sys/devices/system/node/node1/cpulist", "32-x");
    damaged.insert("/sys/fs/cgroup/cpu.max", "junk");
    let topology = topology_of(&damaged);
    assert_eq!((topology.cores.len(), topology.usable.count), (64, 128));
    assert_eq!(topology.unread.len(), 1, "{:?}", topology.unread);
    assert!(topology.unread[0].path.ends_with("node1/cpulist"));
}

#[test]
fn recordings_contain_exactly_the_files_read() {
    let fixtures = support::fixtures().read_dir().unwrap();
    let names = fixtures
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "txt"));
    let mut count = 0;
    for path in names {
        let original = recording(path.file_stem().unwrap().to_str().unwrap());
        let mut tree = original.tree();
        let first = read_from(&mut tree);
        let again = topology_of(&Recording::from_tree(&tree).to_string().parse().unwrap());
        assert_eq!(first, again, "{}", path.display());
        count += 1;
    }
    assert!(count >= 11, "only {count} recordings found");
}

#[test]
fn an_unpacked_recording_gives_the_same_topology() {
    // The large servers are left out, because a temporary directory of 7,000 files takes seconds.
    for name in ["vm-2-cpus", "laptop-two-core-types", "nested-quotas-v2", "quota-v1-joined", "smt-off"] {
        let dir = tempfile::tempdir().unwrap();
        recording(name).unpack(dir.path()).unwrap();
        assert_eq!(read_from(&mut Tree::from_directory(dir.path())), topology(name), "{name}");
    }
}

#[test]
fn a_recording_of_this_machine_gives_its_topology() {
    let recording = Recording::record_machine();
    let text = recording.to_string();
    let read: Recording = text.parse().unwrap();
    assert_eq!(read, recording);
    let count = std::thread::available_parallelism().unwrap().get();
    // The standard library handles affinity and quotas too, with its own parser of the same files.
    assert_eq!(topology_of(&read).usable.count, count, "{text}");
    let private = text.lines().filter(|line| !line.starts_with('#')).find(|line| {
        (line.starts_with("/proc/self/status") && !line.contains("Cpus_allowed_list"))
            || (line.starts_with("/proc/self/mountinfo") && !line.contains(" - cgroup"))
    });
    assert_eq!(private, None);
}

#[test]
fn topologies_survive_json() {
    let laptop = topology("laptop-two-core-types");
    let json = serde_json::to_string(&laptop).unwrap();
    assert_eq!(serde_json::from_str::<Topology>(&json).unwrap(), laptop);
}
