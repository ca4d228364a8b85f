//! Creates the recordings under `fixtures/topology` that are modelled on a machine and not
//! recorded.
//!
//! `UPDATE_FIXTURES=1 cargo test -p morecores-machine --test models` writes them. Without the
//! variable, the test fails if a file differs from its model. `fixtures/topology/README.md` names
//! the sources.

mod support;

use std::env;
use std::fs;

use morecores_machine::topology::Recording;
use morecores_study::CpuSet;

const CPUS: &str = "/sys/devices/system/cpu";

/// A machine under construction.
struct Model {
    recording: Recording,
}

impl Model {
    /// A machine with all CPUs online and allowed, in one package, with a v2 hierarchy without
    /// limits.
    fn new(what: &str, cpus: &str) -> Self {
        let mut recording = Recording::default();
        recording.comment("modelled, not recorded: see README.md");
        recording.comment(what);
        let mut model = Self { recording };
        for file in ["possible", "present", "online"] {
            model.file(&format!("{CPUS}/{file}"), cpus);
        }
        model.file(&format!("{CPUS}/isolated"), "");
        model.file("/proc/self/status", &format!("Cpus_allowed_list:\t{cpus}"));
        model.cpus("topology/physical_package_id", "0", cpus);
        model
    }

    fn file(&mut self, path: &str, text: &str) {
        self.recording.insert(path, text);
    }

    /// Adds the same file for each of some CPUs.
    fn cpus(&mut self, file: &str, text: &str, cpus: &str) {
        for cpu in cpus.parse::<CpuSet>().expect("a CPU list").iter() {
            self.file(&format!("{CPUS}/cpu{cpu}/{file}"), text);
        }
    }

    /// Adds a file for each CPU of each set; the file holds the set.
    fn sets(&mut self, file: &str, sets: &[String]) {
        sets.iter().for_each(|set| self.cpus(file, set, set));
    }

    fn cores(&mut self, sets: &[String]) {
        self.sets("topology/core_cpus_list", sets);
    }

    fn cache(&mut self, index: u32, (level, kind, kib): (u32, &str, u32), sets: &[String]) {
        let file = |name: &str| format!("cache/index{index}/{name}");
        self.sets(&file("shared_cpu_list"), sets);
        for set in sets {
            self.cpus(&file("level"), &level.to_string(), set);
            self.cpus(&file("type"), kind, set);
            self.cpus(&file("size"), &format!("{kib}K"), set);
        }
    }

    /// Adds level 1 data and instruction caches and a level 2 cache for each of some cores.
    fn core_caches(&mut self, l1d: u32, l1i: u32, l2: u32, cores: &[String]) {
        self.cache(0, (1, "Data", l1d), cores);
        self.cache(1, (1, "Instruction", l1i), cores);
        self.cache(2, (2, "Unified", l2), cores);
    }

    fn nodes(&mut self, nodes: &[(u32, &str, &str)]) {
        let ids: Vec<String> = nodes.iter().map(|(id, ..)| id.to_string()).collect();
        self.file("/sys/devices/system/node/online", &ids.join(","));
        for (id, cpus, distance) in nodes {
            self.file(&format!("/sys/devices/system/node/node{id}/cpulist"), cpus);
            self.file(&format!("/sys/devices/system/node/node{id}/distance"), distance);
        }
    }

    /// Adds a v2 hierarchy at the usual place.
    fn cgroup_v2(&mut self, own: &str) {
        self.file("/proc/self/cgroup", &format!("0::{own}"));
        self.file(
            "/proc/self/mountinfo",
            "30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate",
        );
    }
}

/// Cores of two threads, `0,64`, `1,65`, …; the second thread's number is `offset` above the
/// first's.
fn pairs(first_threads: impl Iterator<Item = u32>, offset: u32) -> Vec<String> {
    first_threads.map(|cpu| list([cpu, cpu + offset])).collect()
}

fn singles(cpus: impl Iterator<Item = u32>) -> Vec<String> {
    cpus.map(|cpu| cpu.to_string()).collect()
}

fn list(cpus: impl IntoIterator<Item = u32>) -> String {
    cpus.into_iter().map(morecores_study::CpuId).collect::<CpuSet>().to_string()
}

fn owned(sets: &[&str]) -> Vec<String> {
    sets.iter().map(|&set| set.to_owned()).collect()
}

/// A desktop processor of `cores` cores with two threads each, for trees that test other
/// properties.
fn desktop(what: &str, cores: u32) -> Model {
    let all = list(0..2 * cores);
    let sets = pairs(0..cores, cores);
    let mut model = Model::new(what, &all);
    model.cores(&sets);
    model.core_caches(32, 32, 512, &sets);
    model.cache(3, (3, "Unified", 16_384), std::slice::from_ref(&all));
    model.nodes(&[(0, &all, "10")]);
    model
}

fn laptop() -> Model {
    let mut model = Model::new("Intel Core i7-1260P: 4 cores with two threads and 8 with one", "0-15");
    let fast = owned(&["0-1", "2-3", "4-5", "6-7"]);
    let slow = singles(8..16);
    let quads = owned(&["8-11", "12-15"]);
    model.cores(&[fast.clone(), slow.clone()].concat());
    model.sets("topology/cluster_cpus_list", &[fast.clone(), quads.clone()].concat());
    model.core_caches(48, 32, 1280, &fast);
    model.core_caches(32, 64, 2048, &slow);
    model.cache(2, (2, "Unified", 2048), &quads);
    model.cache(3, (3, "Unified", 18_432), &owned(&["0-15"]));
    model.cpus("cpufreq/cpuinfo_max_freq", "4700000", "0-7");
    model.cpus("cpufreq/cpuinfo_max_freq", "3400000", "8-15");
    model.file("/sys/devices/cpu_core/cpus", "0-7");
    model.file("/sys/devices/cpu_atom/cpus", "8-15");
    model.nodes(&[(0, "0-15", "10")]);
    model.cgroup_v2("/user.slice/user-1000.slice/session-2.scope");
    model.file("/sys/fs/cgroup/cpuset.cpus.effective", "0-15");
    model.file("/sys/fs/cgroup/user.slice/cpu.max", "max 100000");
    model
}

fn xeon() -> Model {
    let mut model = Model::new("2 x Intel Xeon Gold 6338: 32 cores with two threads each", "0-127");
    let cores = pairs(0..64, 64);
    let sockets = owned(&["0-31,64-95", "32-63,96-127"]);
    model.cpus("topology/physical_package_id", "1", &sockets[1]);
    model.cores(&cores);
    model.sets("topology/die_cpus_list", &sockets);
    model.core_caches(48, 32, 1280, &cores);
    model.cache(3, (3, "Unified", 49_152), &sockets);
    model.cpus("cpufreq/cpuinfo_max_freq", "3200000", "0-127");
    model.nodes(&[(0, &sockets[0], "10 20"), (1, &sockets[1], "20 10")]);
    model.cgroup_v2("/system.slice/sshd.service");
    model.file("/sys/fs/cgroup/cpuset.cpus.effective", "0-127");
    model
}

fn epyc() -> Model {
    let mut model = Model::new("2 x AMD EPYC 7763 (NPS1): 64 cores with two threads each", "0-255");
    let cores = pairs(0..128, 128);
    let sockets = owned(&["0-63,128-191", "64-127,192-255"]);
    let complexes: Vec<String> =
        (0..16).map(|i| list((8 * i..8 * i + 8).chain(128 + 8 * i..136 + 8 * i))).collect();
    model.cpus("topology/physical_package_id", "1", &sockets[1]);
    model.cores(&cores);
    model.sets("topology/die_cpus_list", &sockets);
    model.core_caches(32, 32, 512, &cores);
    model.cache(3, (3, "Unified", 32_768), &complexes);
    model.nodes(&[(0, &sockets[0], "10 32"), (1, &sockets[1], "32 10")]);
    model.cgroup_v2("/");
    model
}

fn board() -> Model {
    let mut model = Model::new("Rockchip RK3588: 4 Cortex-A55 and 4 Cortex-A76, no SMT", "0-7");
    model.cores(&singles(0..8));
    model.sets("topology/cluster_cpus_list", &owned(&["0-3", "4-5", "6-7"]));
    model.core_caches(32, 32, 128, &singles(0..4));
    model.core_caches(64, 64, 512, &singles(4..8));
    model.cache(3, (3, "Unified", 3_072), &owned(&["0-7"]));
    let kinds = [("397", "1800000", "0-3"), ("1003", "2352000", "4-5"), ("1024", "2400000", "6-7")];
    for (capacity, rate, cpus) in kinds {
        model.cpus("cpu_capacity", capacity, cpus);
        model.cpus("cpufreq/cpuinfo_max_freq", rate, cpus);
    }
    model.cgroup_v2("/user.slice");
    model
}

/// Large and compact cores of one instruction set, without monitoring units of their own, with one
/// capacity and one kind of cache.
fn two_kinds_by_amd() -> Model {
    let mut model =
        Model::new("AMD Phoenix 2: 2 large cores and 4 compact ones with two threads each", "0-11");
    let cores = pairs(0..6, 6);
    model.cores(&cores);
    model.core_caches(32, 32, 1024, &cores);
    model.cache(3, (3, "Unified", 16_384), &owned(&["0-11"]));
    model.cpus("cpu_capacity", "1024", "0-11");
    for (rating, rate, cpus) in [("196", "4900000", "0-1,6-7"), ("140", "3500000", "2-5,8-11")] {
        model.cpus("cpufreq/amd_pstate_highest_perf", rating, cpus);
        model.cpus("cpufreq/cpuinfo_max_freq", rate, cpus);
    }
    model.nodes(&[(0, "0-11", "10")]);
    model.cgroup_v2("/user.slice");
    model.file("/sys/fs/cgroup/cpuset.cpus.effective", "0-11");
    model
}

fn nested_quotas() -> Model {
    let mut model = desktop("a pod on an 8-core machine: quotas on two levels, cpusets on two", 8);
    let pod = "/sys/fs/cgroup/kubepods.slice/pod1";
    model.cgroup_v2("/kubepods.slice/pod1/app");
    model.file("/proc/self/status", "Cpus_allowed_list:\t0-3,8-11");
    model.file("/sys/fs/cgroup/cpuset.cpus.effective", "0-15");
    model.file("/sys/fs/cgroup/kubepods.slice/cpuset.cpus.effective", "0-5,8-13");
    model.file("/sys/fs/cgroup/kubepods.slice/cpu.max", "max 100000");
    model.file(&format!("{pod}/cpuset.cpus.effective"), "0-3,8-11");
    model.file(&format!("{pod}/cpu.max"), "250000 100000");
    model.file(&format!("{pod}/app/cpuset.cpus.effective"), "0-3,8-11");
    model.file(&format!("{pod}/app/cpu.max"), "300000 100000");
    model
}

fn container() -> Model {
    let mut model = desktop("a container with a cgroup namespace: it sees neither path nor root", 4);
    model.cgroup_v2("/");
    model.file("/sys/fs/cgroup/cgroup.events", "populated 1\nfrozen 0");
    model.file("/sys/fs/cgroup/cpu.max", "50000 100000");
    model.file("/sys/fs/cgroup/cpuset.cpus.effective", "0-7");
    model
}

fn quota_v1() -> Model {
    let mut model = desktop("version 1 with joined controllers: a build service with quota and cpuset", 8);
    let own = "/system.slice/build.service";
    model.file("/proc/self/status", "Cpus_allowed_list:\t2-5");
    model.file("/proc/self/cgroup", &format!("9:cpuset:{own}\n4:cpu,cpuacct:{own}"));
    model.file(
        "/proc/self/mountinfo",
        "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
         34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime shared:10 - cgroup cgroup rw,cpuset",
    );
    let cpu = "/sys/fs/cgroup/cpu,cpuacct";
    model.file(&format!("{cpu}/cgroup.sane_behavior"), "0");
    for (dir, quota, period) in
        [("", "-1", "100000"), ("/system.slice", "600000", "100000"), (own, "75000", "50000")]
    {
        model.file(&format!("{cpu}{dir}/cpu.cfs_quota_us"), quota);
        model.file(&format!("{cpu}{dir}/cpu.cfs_period_us"), period);
    }
    let cpuset = "/sys/fs/cgroup/cpuset";
    model.file(&format!("{cpuset}/cgroup.sane_behavior"), "0");
    for (dir, cpus) in [("", "0-15"), ("/system.slice", "0-15"), (own, "2-5")] {
        model.file(&format!("{cpuset}{dir}/cpuset.effective_cpus"), cpus);
    }
    model
}

fn hybrid() -> Model {
    let mut model = desktop("both versions: the CPU controllers in version 1, version 2 without any", 4);
    model.file("/proc/self/cgroup", "3:cpuset:/\n1:cpu:/ci/job\n0::/init.scope");
    model.file(
        "/proc/self/mountinfo",
        "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
         34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n\
         41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw",
    );
    model.file("/sys/fs/cgroup/cpu/cgroup.sane_behavior", "0");
    model.file("/sys/fs/cgroup/cpu/ci/cpu.cfs_quota_us", "450000");
    model.file("/sys/fs/cgroup/cpu/ci/cpu.cfs_period_us", "100000");
    model.file("/sys/fs/cgroup/cpu/ci/job/cpu.cfs_quota_us", "-1");
    model.file("/sys/fs/cgroup/cpu/ci/job/cpu.cfs_period_us", "100000");
    model.file("/sys/fs/cgroup/cpuset/cgroup.sane_behavior", "0");
    model.file("/sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-7");
    model
}

fn gaps() -> Model {
    let online = "0,2-3,16,18-19";
    let mut model =
        Model::new("gaps in the numbers of CPUs and nodes, one core offline, isolated CPUs", online);
    model.file(&format!("{CPUS}/possible"), "0-31");
    model.file(&format!("{CPUS}/present"), "0-3,16-19");
    model.file(&format!("{CPUS}/isolated"), "3,19");
    model.file(&format!("{CPUS}/nohz_full"), "3,19");
    model.file(&format!("{CPUS}/smt/control"), "on");
    model.file("/proc/self/status", "Cpus_allowed_list:\t0-2,16-18");
    let cores = owned(&["0,16", "2,18", "3,19"]);
    model.sets("topology/thread_siblings_list", &cores);
    model.core_caches(32, 32, 256, &cores);
    model.nodes(&[(0, "0,16", "10 21"), (2, "2-3,18-19", "21 10")]);
    model.cgroup_v2("/");
    model
}

fn smt_off() -> Model {
    let mut model = Model::new("SMT switched off: the second threads are present and offline", "0-3");
    model.file(&format!("{CPUS}/possible"), "0-7");
    model.file(&format!("{CPUS}/present"), "0-7");
    model.file(&format!("{CPUS}/smt/control"), "off");
    model.cores(&singles(0..4));
    model.core_caches(32, 32, 256, &singles(0..4));
    model.cache(3, (3, "Unified", 8_192), &owned(&["0-3"]));
    model.nodes(&[(0, "0-3", "10")]);
    model.cgroup_v2("/");
    model
}

#[test]
fn modelled_fixtures_match_their_models() {
    let models = [
        ("laptop-two-core-types", laptop()),
        ("server-2x32-smt", xeon()),
        ("server-2x64-smt-16-l3", epyc()),
        ("board-big-little", board()),
        ("amd-two-kinds", two_kinds_by_amd()),
        ("nested-quotas-v2", nested_quotas()),
        ("container-namespace-v2", container()),
        ("quota-v1-joined", quota_v1()),
        ("hybrid-v1-v2", hybrid()),
        ("offline-gaps-isolated", gaps()),
        ("smt-off", smt_off()),
    ];
    for (name, model) in models {
        let path = support::fixtures().join(name).with_extension("txt");
        let text = model.recording.to_string();
        if env::var_os("UPDATE_FIXTURES").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == text, "{} differs from its model; see the head of models.rs", path.display());
    }
}
