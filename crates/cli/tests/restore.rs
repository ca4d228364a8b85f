//! Tests that the machine is restored however a study ends: CPUs, cpusets, affinities, cgroups.
//!
//! The file has one test: it takes CPUs offline, which would disturb any other test.

mod harness;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use harness::{Ran, World, is_root, left_by, report_skip, start, wait_until};

const NAME: &str = "every_change_is_undone";
const ONLINE: &str = "/sys/devices/system/cpu/online";
/// Switch of the CPU that this test takes offline.
const CPU_1: &str = "/sys/devices/system/cpu/cpu1/online";
const CPUSETS: &str = "/sys/fs/cgroup/cpuset";

/// State that must not change.
#[derive(Debug, PartialEq, Eq)]
struct State {
    online: String,
    cpuset: Option<String>,
    bound: String,
}

/// Process bound to CPU 1 and, if cpusets have version 1, a cpuset that contains CPU 1.
struct ObservedState {
    bound: Child,
    cpuset: Option<PathBuf>,
}

impl ObservedState {
    fn new() -> Self {
        let sleep = ["-c", "1", "sleep", "600"];
        let bound =
            Command::new("taskset").args(sleep).stdout(Stdio::null()).spawn().expect("taskset (util-linux)");
        let cpuset = fs::exists(format!("{CPUSETS}/cpuset.cpus")).unwrap_or(false).then(|| {
            let dir = Path::new(CPUSETS).join(format!("put-back-test-{}", std::process::id()));
            let inner = dir.join("inner");
            fs::create_dir_all(&inner).expect("a cpuset");
            // A child cpuset gets its CPUs from its parent, so both must be restored, in order.
            for dir in [&dir, &inner] {
                let mems = fs::read(format!("{CPUSETS}/cpuset.mems")).expect("memory nodes");
                fs::write(dir.join("cpuset.mems"), mems).expect("memory nodes");
                fs::write(dir.join("cpuset.cpus"), "0-1").expect("CPUs");
            }
            inner
        });
        let observed = Self { bound, cpuset };
        wait_until("a process is bound to CPU 1", || observed.affinity() == "1");
        observed
    }

    fn affinity(&self) -> String {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.bound.id())).expect("the bound process");
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        line.expect("its CPUs").trim().to_owned()
    }

    fn state(&self) -> State {
        let text = |path: &Path| fs::read_to_string(path).expect("a state").trim().to_owned();
        State {
            online: text(Path::new(ONLINE)),
            cpuset: self.cpuset.as_ref().map(|dir| text(&dir.join("cpuset.cpus"))),
            bound: self.affinity(),
        }
    }
}

impl Drop for ObservedState {
    fn drop(&mut self) {
        // The clean-up also follows a failure: the next test needs its CPUs.
        let _ = fs::write(CPU_1, "1");
        let _ = self.bound.kill();
        let _ = self.bound.wait();
        for dir in self.cpuset.iter().flat_map(|dir| dir.ancestors().take(2)) {
            let _ = fs::remove_dir(dir);
        }
    }
}

/// Runs a study of a long command on CPU 0 alone, and sends it a signal in the middle of its first
/// run.
fn interrupted(limit: &str, signal: &str, observed: &ObservedState) -> Ran {
    let world = World::new();
    let options = format!("-q --cpus 1 --limit {limit}");
    let study = start(world.run_command(&options, &["sh", "-c", "echo >started; exec sleep 600"]));
    wait_until("the command runs", || world.path("started").exists());
    let during = observed.state();
    let pid = study.pid();
    assert!(left_by(pid).len() >= 2, "a cgroup and a journal: {:?}", left_by(pid));
    if limit == "hotplug" {
        assert_eq!(
            (during.online.as_str(), during.cpuset.as_deref().unwrap_or("0")),
            ("0", "0"),
            "{during:?}"
        );
    }
    study.signal(signal);
    let ran = study.wait();
    if signal != "KILL" {
        assert_eq!(world.processes(), [], "the command has ended too\n{ran}");
    }
    ran
}

#[test]
fn every_change_is_undone() {
    if !is_root() {
        return report_skip(NAME, "cpusets and hotplug need root");
    }
    if harness::usable_cpus() < 2 {
        return report_skip(NAME, "there is one CPU");
    }
    let mut limits = vec!["cpuset"];
    if fs::exists(CPU_1).unwrap_or(false) {
        limits.push("hotplug");
    } else {
        report_skip(NAME, "CPU 1 cannot be taken offline; the part with cpusets ran");
    }
    let observed = ObservedState::new();
    let before = observed.state();
    for limit in limits {
        put_back_after_everything(limit, &observed, &before);
        if limit == "hotplug" {
            an_offline_cpu_is_refused_as_such();
        }
    }
}

/// Requests CPU 1 inside a study that has taken it offline. The outer study restores the CPU in any
/// case.
fn an_offline_cpu_is_refused_as_such() {
    let world = World::new();
    let binary = env!("CARGO_BIN_EXE_morecores");
    let line = format!(
        "{binary} run --cpu-list 0,1 -- touch trace; echo status $?; \
         {binary} run --cpus 2 -- touch trace; echo status $?; {binary} topology"
    );
    let options = "-q --output inherit --limit hotplug --cpus 1 --runs 1 --warmup 0";
    let ran = world.run(options, &["sh", "-c", &line]);
    ran.success().prints(&["status 2 status 2", "offline"]);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert!(lines.len() == 2 && lines[0].contains("CPU 1") && lines[0].contains("offline"), "{ran}");
    assert!(lines[1].contains("2 CPUs"), "{ran}");
    assert_eq!(world.names(), ["study".to_owned()].into(), "nothing else was run or made\n{ran}");
}

fn put_back_after_everything(limit: &str, observed: &ObservedState, before: &State) {
    let is_as_before = |when: &str, ran: &Ran| {
        assert_eq!(observed.state(), *before, "{limit}: after {when}\n{ran}");
        assert_eq!(left_by(ran.pid), Default::default(), "{limit}: after {when}\n{ran}");
    };
    let options = format!("-q --cpus 1,2 --runs 3 --warmup 0 --precision 0 --limit {limit}");
    let world = World::new();
    let success = world.run(&options, &["true"]);
    is_as_before("success", success.success());
    let runs = world.timed_runs();
    assert_eq!((runs.len(), runs[0].limit.to_string().as_str()), (6, limit));

    let failed = World::new().run(&options, &["false"]);
    is_as_before("a failing command", failed.code(1));

    let impossible = World::new().run(&format!("{options} --metric (x)"), &["true"]);
    is_as_before("an error in mid-study", impossible.code(1).says(&["matched nothing"]));

    for (signal, status) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let ran = interrupted(limit, signal, observed);
        is_as_before(signal, ran.code(status));
    }

    let killed = interrupted(limit, "KILL", observed);
    assert_ne!(left_by(killed.pid), Default::default(), "{limit}: SIGKILL leaves everything as it is");
    assert_eq!(observed.state() == *before, limit == "cpuset");
    let next = World::new().run("-q --runs 1 --warmup 0", &["true"]);
    let repaired = format!("undid a change that process {} left when it was killed", killed.pid);
    is_as_before("SIGKILL and the next start", next.success().says(&[&repaired]));
    is_as_before("SIGKILL and the next start", &killed);
    let third = World::new().run("-q --runs 1 --warmup 0", &["true"]);
    assert!(!third.stderr.contains(&repaired), "it is repaired once\n{third}");
}
