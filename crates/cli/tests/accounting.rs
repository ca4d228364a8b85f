//! Tests that a run's reported cost is its true cost, whichever process caused it, and that the run
//! was limited to the named CPUs.

mod harness;

use std::fs;

use harness::{Ran, World, is_root, report_skip, usable_cpus};
use morecores_study::{CpuEstimator, Phase, Run};

/// Shell line that keeps one CPU busy until the shell has used `hundredths` of a second of CPU
/// time. The kernel's own count decides (fields 14 and 15 of proc_pid_stat(5)), so a busy machine
/// burns no less.
fn burn(hundredths: u32) -> String {
    format!(
        "while read -r l </proc/self/stat; set -- ${{l##*) }}; [ $((${{12}} + ${{13}})) -lt {hundredths} ]; do \
         i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; done"
    )
}

fn total(run: &Run) -> f64 {
    (run.cpu.user_ns + run.cpu.system_ns).as_secs_f64()
}

fn is_by_cgroup(run: &Run) -> bool {
    matches!(run.cpu.estimator, CpuEstimator::Cgroup | CpuEstimator::CgroupV1)
}

fn sh(line: &str) -> [&str; 3] {
    ["sh", "-c", line]
}

/// CPU time that `getrusage` reports: that of the command and of every child that was waited for,
/// in seconds.
fn waited_for(run: &Run) -> f64 {
    (run.rusage.user_ns + run.rusage.system_ns).as_secs_f64()
}

/// The split of short processes into user and system time is compared in docs/methods/measure.md.
#[test]
fn short_processes_cost_at_least_the_time_of_getrusage() {
    let run = World::new().one_run("", &sh("i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done"));
    let (all, waited) = (total(&run), waited_for(&run));
    assert!(waited > 0.0 && all >= waited - 0.001, "{all} s, {waited} s by getrusage");
}

#[test]
fn cpu_time_is_counted_once() {
    let run = World::new().one_run("", &sh(&burn(50)));
    let (all, waited, elapsed) = (total(&run), waited_for(&run), run.elapsed_ns.as_secs_f64());
    assert!(all >= 0.499, "{all} s of CPU time");
    // Only the group counts the end of a process, which takes less than the work itself.
    assert!(all < 2.0 * waited, "{all} s, {waited} s by getrusage");
    assert!(elapsed >= 0.499, "{elapsed} s elapsed");
}

#[test]
fn sleep_takes_elapsed_time_and_no_cpu_time() {
    let run = World::new().one_run("", &["sleep", "0.3"]);
    let (cpu, elapsed) = (total(&run), run.elapsed_ns.as_secs_f64());
    assert!(elapsed >= 0.3, "{elapsed} s elapsed");
    assert!(cpu < elapsed, "{cpu} s of CPU time in {elapsed} s");
}

#[test]
fn a_process_without_a_waiting_parent_is_counted_if_it_ends_before_the_main_process() {
    let burner = format!("setsid sh -c '{}; echo >done' & ", burn(30));
    // The middle shell ends before the burner, so that the burner becomes a child of morecores.
    let line = "sh -c \"$1\"; while [ ! -e done ]; do sleep 0.05; done; sleep 0.1";
    let run = World::new().one_run("", &["sh", "-c", line, "sh", &burner]);
    assert!(total(&run) >= 0.28, "{} s of CPU time", total(&run));
    assert_eq!(run.survivors, [] as [&str; 0]);
}

#[test]
fn a_busy_survivor_is_named_and_ended() {
    let world = World::new();
    // The burner never ends by itself, nor would a run that waited for it.
    let burner = format!("setsid sh -c '{}; echo >burned; while :; do :; done' & ", burn(5));
    let line = "sh -c \"$1\"; while [ ! -e burned ]; do sleep 0.05; done";
    let run = world.one_run("", &["sh", "-c", line, "sh", &burner]);
    assert_eq!(run.survivors, ["sh"]);
    assert_eq!(world.processes(), []);
    if is_by_cgroup(&run) {
        // The CPU time of the burner cannot be separated, but it is included.
        assert!(total(&run) >= 0.049, "{} s of CPU time", total(&run));
    }
}

#[test]
fn with_keep_a_survivor_is_not_ended() {
    let world = World::new();
    let run = world.one_run("--keep", &sh("sleep 60 &"));
    assert_eq!(run.survivors, ["sleep"]);
    assert!(world.processes().iter().any(|(_, name)| name == "sleep"), "{:?}", world.processes());
}

#[test]
fn memory_and_faults_are_those_of_the_command() {
    // The shell variable touches 64 MiB: 16384 pages of 4 KiB, or 32 of 2 MiB if every program gets
    // huge pages.
    let huge = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    let pages = if huge.is_ok_and(|text| text.contains("[always]")) { 32 } else { 16_384 };
    let line = "x=$(head -c 67108864 /dev/zero | tr '\\0' x); : $x";
    let run = World::new().one_run("", &sh(line));
    let peak = run.rusage.max_rss_bytes.0;
    assert!((64 << 20..400 << 20).contains(&peak), "{peak} bytes");
    assert!(run.rusage.minor_faults >= pages, "{} faults", run.rusage.minor_faults);
    if let Some(tree) = run.tree.peak_memory_bytes {
        assert!(tree.0 >= 64 << 20, "{} bytes in the tree", tree.0);
    }
}

/// Prints the kernel's `Cpus_allowed_list` before and after the command tries to get more CPUs.
const WIDEN: &str = "grep Cpus_allowed_list /proc/self/status; taskset -pc 0-1 $$ >/dev/null 2>&1; \
                     grep Cpus_allowed_list /proc/self/status";

#[test]
fn affinity_confines_a_run_until_the_run_widens_it() {
    const NAME: &str = "affinity_confines_a_run_until_the_run_widens_it";
    if usable_cpus() < 2 {
        return report_skip(NAME, "there is one CPU");
    }
    let world = World::new();
    assert_eq!(world.output_of("--cpus 1", &["nproc"]), "1\n");
    assert_eq!(world.output_of("--cpus 2", &["nproc"]), "2\n");
    let line = "Cpus_allowed_list:\t";
    assert_eq!(
        world.output_of("--cpu-list 1 --cpus 1", &sh("grep Cpus_allowed_list /proc/self/status")),
        format!("{line}1\n")
    );
    assert_eq!(world.output_of("--cpu-list 0 --cpus 1", &sh(WIDEN)), format!("{line}0\n{line}0-1\n"));
}

#[test]
fn a_command_cannot_widen_its_cpuset() {
    const NAME: &str = "a_command_cannot_widen_its_cpuset";
    if !is_root() || usable_cpus() < 2 {
        return report_skip(NAME, "needs root and two CPUs");
    }
    let world = World::new();
    let line = "Cpus_allowed_list:\t0\n";
    let options = "--limit cpuset --cpu-list 0,1 --cpus 1";
    assert_eq!(world.output_of(options, &sh(WIDEN)), format!("{line}{line}"));
    assert_eq!(world.output_of("--limit cpuset --cpus 2", &["nproc"]), "2\n");
}

#[test]
fn the_command_receives_its_cpu_count_in_every_requested_way() {
    let world = World::new();
    let print =
        "echo $MORECORES_CPUS ${OMP_NUM_THREADS-unset} ${RAYON_NUM_THREADS-unset} ${GOMAXPROCS-unset}";
    assert_eq!(world.output_of("--cpus 1", &sh(print)), "1 unset unset unset\n");
    assert_eq!(world.output_of("--cpus 1 --thread-env", &sh(print)), "1 1 1 1\n");
    assert_eq!(world.output_of("--cpus 1", &["echo", "-j{n}", "{{n}}", "x{n}{{n}}"]), "-j1 {n} x1{n}\n");
    assert_eq!(world.output_of("--cpus 1 --shell", &["echo", "{n}", "|", "tr 1 a"]), "a\n");
    if usable_cpus() > 1 {
        assert_eq!(world.output_of("--cpus 2 --thread-env", &sh(print)), "2 2 2 2\n");
        assert_eq!(world.output_of("--cpus 2", &["echo", "{n}"]), "2\n");
    }
}

#[test]
fn a_script_without_an_interpreter_runs_in_sh() {
    let world = World::new();
    let script = world.script("plain", "echo \"$0 ran with $1 on $MORECORES_CPUS\"\n");
    assert_eq!(world.output_of("--cpus 1", &[&script, "x{n}"]), format!("{script} ran with x1 on 1\n"));
    // A program found on PATH also gets its own path as `$0`.
    let mut command =
        world.run_command("-q --output inherit --cpus 1 --runs 2 --warmup 0 --precision 0", &["plain"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", world.path("").display()));
    let ran = Ran::start_and_wait(command);
    assert_eq!(ran.success().stdout.lines().count(), 2, "{ran}");
}

#[test]
fn input_is_empty_or_the_whole_file() {
    let world = World::new();
    assert_eq!(world.output_of("--cpus 1", &sh("readlink /proc/self/fd/0; wc -c")), "/dev/null\n0\n");
    fs::write(world.path("input"), "one line\n").expect("the input");
    let options = "-q --output inherit --cpus 1 --runs 3 --warmup 1 --precision 0 --input input";
    let ran = world.run(options, &["cat"]);
    assert_eq!(ran.success().stdout, "one line\n".repeat(4), "{ran}");
}

#[test]
fn the_last_printed_figure_counts_and_its_ratio_is_the_speedup() {
    let world = World::new();
    // The rate is 100 on one CPU and 150 on two. The number before it belongs to a warm-up.
    let line = "echo 'rate: 7'; echo \"rate: $((50 + 50 * {n}))\"; echo done";
    let cpus = if usable_cpus() > 1 { "1,2" } else { "1" };
    let options = format!("-q --cpus {cpus} --runs 6 --precision 0 --metric rate:.([0-9]+) --unit ops/s");
    world.run(&options, &sh(line)).success();
    for run in world.timed_runs() {
        assert_eq!(run.metric, Some(if run.cpus == 1 { 100.0 } else { 150.0 }));
    }
    let view = world.shown("--json");
    assert_eq!(view["points"][0]["metric"]["median"], 100.0);
    assert_eq!(view["points"][0]["metric"]["unit"], "ops/s");
    if usable_cpus() > 1 {
        assert_eq!(view["points"][1]["speedup"]["value"], 1.5);
        assert_eq!(view["points"][1]["efficiency"], 0.75);
    }
}

#[test]
fn a_falling_cost_is_a_speedup() {
    const NAME: &str = "a_falling_cost_is_a_speedup";
    if usable_cpus() < 2 {
        return report_skip(NAME, "there is one CPU");
    }
    let world = World::new();
    let options = "-q --cpus 1,2 --runs 2 --precision 0 --metric ^[0-9]+$ --lower-is-better";
    world.run(options, &sh("echo $((60 / {n}))")).success();
    assert_eq!(world.shown("--json")["points"][1]["speedup"]["value"], 2.0);
}

#[test]
fn a_command_that_signals_its_group_ends_only_itself() {
    let world = World::new();
    let ran = world.run("--cpus 1 --runs 2 --warmup 0", &sh("kill -TERM 0; sleep 60"));
    ran.code(1).says(&["was ended by signal 15 at 1 CPU (run 1)"]);
    assert_eq!(world.timed_runs().len(), 1);
}

#[test]
fn the_command_has_the_signal_state_of_a_shells_child() {
    let world = World::new();
    // The C library reserves signals 32 and 33, which are bits 31 and 32.
    let theirs = !(0b11_u64 << 31);
    let masks = |text: &str| -> Vec<u64> {
        text.lines().map(|line| u64::from_str_radix(&line[8..], 16).expect("a mask") & theirs).collect()
    };
    let grep = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"];
    let ours = masks(&world.output_of("--cpus 1", &grep));
    let mut plain = world.command(grep[0]);
    plain.args(&grep[1..]);
    // morecores passes on the signal state that this test inherited, and resets SIGPIPE, as a
    // shell's child has it.
    assert_eq!(ours, masks(&Ran::start_and_wait(plain).stdout));
    // Signal n is bit n - 1 of the masks in proc_pid_status(5); SIGPIPE is 13.
    assert_eq!((ours.len(), ours[0], ours[1] >> 12 & 1), (2, 0, 0), "{ours:x?}");
    // SIGPIPE ends the writer together with its reader.
    assert_eq!(world.output_of("--cpus 1", &sh("yes | head -n 1")), "y\n");
}

#[test]
fn the_command_inherits_no_descriptor_of_morecores() {
    let world = World::new();
    // Descriptors that this test itself inherited are not those of morecores.
    let plain = Ran::start_and_wait({
        let mut command = world.command("ls");
        command.arg("/proc/self/fd");
        command
    });
    assert_eq!(world.output_of("--cpus 1", &["ls", "/proc/self/fd"]), plain.stdout);
}

#[test]
fn a_round_has_every_count_once_in_the_order_of_the_seed() {
    const NAME: &str = "a_round_has_every_count_once_in_the_order_of_the_seed";
    if usable_cpus() < 2 {
        return report_skip(NAME, "there is one CPU");
    }
    let orders: Vec<Vec<(Phase, u32, u32)>> = ["7", "7", "8"]
        .iter()
        .map(|seed| {
            let world = World::new();
            world.run(&format!("-q --cpus 1,2 --runs 12 --precision 0 --seed {seed}"), &["true"]).success();
            world.study().runs.iter().map(|run| (run.phase, run.round, run.cpus)).collect()
        })
        .collect();
    assert_eq!(orders[0], orders[1]);
    assert_ne!(orders[0], orders[2]);
    for round in orders[0].chunks(2) {
        assert_eq!((round[0].0, round[0].1), (round[1].0, round[1].1));
        assert_ne!(round[0].2, round[1].2);
    }
}
