//! Tests that every count is measured under a CPU quota, and that the report names the effect of
//! the quota.

mod harness;

use std::fs;
use std::path::{Path, PathBuf};

use harness::{Ran, World, is_root, report_skip, usable_cpus};

/// Cgroup whose processes together may use one and a half CPUs. It is removed on drop, after the
/// processes have ended.
struct OneAndAHalf(PathBuf);

impl OneAndAHalf {
    /// Makes the cgroup; the reason as an error if that is impossible.
    fn new(world: &World) -> Result<Self, String> {
        if !is_root() {
            return Err("it takes root to set a quota".to_owned());
        }
        let (v1, v2) = (Path::new("/sys/fs/cgroup/cpu"), Path::new("/sys/fs/cgroup"));
        let name = world.path("").file_name().map(|name| name.to_owned()).ok_or("no name")?;
        let (parent, limits): (&Path, &[(&str, &str)]) = if v1.is_dir() {
            (v1, &[("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "150000")])
        } else {
            (v2, &[("cpu.max", "150000 100000")])
        };
        let group = Self(parent.join(name));
        let made = fs::create_dir(&group.0)
            .and_then(|()| limits.iter().try_for_each(|(file, value)| fs::write(group.0.join(file), value)));
        made.map(|()| group).map_err(|error| format!("no cgroup with a quota here: {error}"))
    }

    /// Runs `morecores` with these arguments in the cgroup.
    fn morecores(&self, world: &World, arguments: &[&str]) -> Ran {
        let mut command = world.command("sh");
        command.args(["-c", "echo $$ >\"$1\"/cgroup.procs && shift && exec \"$@\"", "sh"]);
        command.arg(&self.0).arg(env!("CARGO_BIN_EXE_morecores")).args(arguments);
        Ran::start_and_wait(command)
    }
}

impl Drop for OneAndAHalf {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_count_above_a_fractional_quota_is_measured_with_a_warning() {
    const NAME: &str = "a_count_above_a_fractional_quota_is_measured_with_a_warning";
    let world = World::new();
    if usable_cpus() < 2 {
        return report_skip(NAME, "it takes two CPUs");
    }
    let group = match OneAndAHalf::new(&world) {
        Ok(group) => group,
        Err(reason) => return report_skip(NAME, &reason),
    };
    let run = "run -o study --wide --trace off --runs 1 --warmup 0 -- sleep 0.1";
    let options: Vec<&str> = run.split_whitespace().collect();
    // The command takes longer than a tick: below that, nothing is known about other activity
    // around a run. The test gives no `--cpus`, since one count would answer nothing.
    let ran = group.morecores(&world, &options);
    ran.success().prints(&["A CPU quota allows the time of 1.5 CPUs, fewer than allotted at 2 CPUs"]);
    let counts: Vec<u32> = world.study().header.plan.points.iter().map(|point| point.cpus).collect();
    assert_eq!(counts, [1, 2]);
    let points = world.shown("--json")["points"].clone();
    assert!(points[1]["throttled_s"].is_f64(), "{points}");
    // A count above the machine's CPUs is still refused.
    let refused = group.morecores(&world, &["run", "--cpus", "1,99999", "--", "true"]);
    refused.refused(2, &["cannot measure 99999 CPUs"]);
}
