//! Tests of memory: the memory charged to a command, kills by the kernel for lack of memory, and
//! memory as the limit of larger machines.

mod harness;

use std::fs;
use std::path::PathBuf;

use harness::{Ran, World, report_skip, usable_cpus};
use morecores_study::Run;

/// Memory cgroup of 300 MB, in the available version. It is removed on drop.
struct Limited {
    dir: PathBuf,
}

impl Limited {
    /// Makes the cgroup; none if no memory cgroup can be made.
    fn new(name: &str) -> Option<Self> {
        let text = fs::read_to_string("/proc/self/cgroup").ok()?;
        let v1 = text.lines().find_map(|line| line.split_once(":memory:"));
        let (parent, files) = match v1 {
            Some((_, own)) => {
                (format!("/sys/fs/cgroup/memory{own}"), [("memory.limit_in_bytes", "300M")].to_vec())
            }
            None => {
                ("/sys/fs/cgroup".to_owned(), [("memory.max", "300M"), ("memory.swap.max", "0")].to_vec())
            }
        };
        let dir = PathBuf::from(parent).join(format!("{name}-{}", std::process::id()));
        fs::create_dir(&dir).ok()?;
        let limited = Self { dir };
        for (file, value) in files {
            fs::write(limited.dir.join(file), value).ok()?;
        }
        Some(limited)
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.dir);
    }
}

/// Two jobs that hold 200 MB each, as many at once as there are CPUs. Each holds an endless line.
const JOBS: &str =
    "seq 2 | xargs -P {n} -I x sh -c '(head -c 200000000 /dev/zero; sleep 0.5) | tail -n 1 >/dev/null'";

#[test]
fn a_process_killed_for_memory_is_named_with_need_and_available_memory() {
    let name = "a_process_killed_for_memory_is_named_with_need_and_available_memory";
    let Some(limited) = Limited::new("morecores-test-oom").filter(|_| usable_cpus() > 1) else {
        return report_skip(
            name,
            "needs two CPUs, and a memory cgroup (root can make one where there is the controller)",
        );
    };
    let world = World::new();
    let run = |options: &[&str]| {
        let line = format!("echo $$ >{}/cgroup.procs; exec \"$@\"", limited.dir.display());
        let mut command = world.command("sh");
        command.args(["-c", &line, "sh", env!("CARGO_BIN_EXE_morecores"), "run", "--wide", "--trace", "off"]);
        command.args(["--warmup", "0", "--runs", "1"]).args(options).args(["--shell", "--", JOBS]);
        Ran::start_and_wait(command)
    };
    let figures = [
        "The kernel killed",
        "for lack of memory at 2 CPUs: each job needs about 19",
        "the limit is 300 MiB",
    ];
    run(&["--cpus", "1,2", "--ignore-failure", "-o", "study"]).success().prints(&figures);
    let killed = |run: &Run| run.tree.killed_for_memory.is_some();
    for run in world.study().runs {
        assert_eq!((killed(&run), run.exit.is_success()), (run.cpus == 2, run.cpus == 1));
    }
    run(&["-q", "--cpus", "2", "-o", "other"]).code(1).says(&["The kernel killed", "the limit is 300 MiB"]);
}

/// The command prints 300 MB at full speed, most of them in one line.
#[test]
fn output_of_a_command_does_not_count_as_its_memory() {
    let name = "output_of_a_command_does_not_count_as_its_memory";
    let world = World::new();
    let line = "head -c 300000000 /dev/zero; echo; echo 'rate 7'";
    let run = world.one_run("--metric rate.([0-9]+)", &["sh", "-c", line]);
    assert_eq!(run.metric, Some(7.0), "the end of it is kept");
    let Some(peak) = run.tree.peak_memory_bytes else {
        return report_skip(name, "no cgroup counts memory (root has one)");
    };
    assert!(peak.0 < 100_000_000, "{peak}");
}

#[test]
fn memory_is_the_first_limit_of_a_machine_with_too_little() {
    let name = "memory_is_the_first_limit_of_a_machine_with_too_little";
    let world = World::new();
    // Each job holds 20 MB.
    let jobs =
        "seq {n} | xargs -P {n} -I x sh -c '(head -c 20000000 /dev/zero; sleep 0.3) | tail -n 1 >/dev/null'";
    world.run("-q --warmup 0 --runs 1 --precision 0 --shell", &[jobs]).success();
    let runs = world.study().runs;
    if usable_cpus() < 2 || runs.iter().any(|run| run.tree.needed_memory_bytes.is_none()) {
        return report_skip(name, "needs two CPUs and a cgroup that counts memory (root has one)");
    }
    let predict = |memory: &str| world.morecores(&["predict", "study", "--cpus", "64", "--memory", memory]);
    predict("256M")
        .success()
        .prints(&["The first limit is memory: 64 CPUs need about", "and 256 MiB are available"]);
    let enough = predict("64G");
    enough.success();
    assert!(!enough.stdout.contains("The first limit is memory:"), "{enough}");
    predict("lots").refused(2, &["--memory `lots`: write a size like 64K, 512M or 2G"]);
}
