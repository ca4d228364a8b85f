//! A trace distinguishes ready threads that are held back from waiting threads and from threads
//! that only lack a CPU.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{TracedRun, trace};
use morecores_study::trace::{EventKind, HoldReason, Tid};
use morecores_testkit::report_skip;

/// Spends 50 ms of CPU time: five budgets of 10 ms.
const SPEND: &str = "used=0; until [ $used -gt 50000000 ]; do read -r used rest </proc/$$/schedstat; done";

/// A control group that is removed when this value is dropped.
struct Group(PathBuf);

impl Group {
    /// Makes a group below the first of `roots` in which a new group has this file.
    fn make(roots: &[&str], name: &str, file: &str) -> Option<Self> {
        roots.iter().find_map(|root| {
            let path = Path::new(root).join(format!("morecores-test-{name}-{}", std::process::id()));
            fs::create_dir(&path).ok()?;
            let group = Self(path);
            group.0.join(file).exists().then_some(group)
        })
    }

    fn path(&self) -> std::path::Display<'_> {
        self.0.display()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Threads held back for this reason, one entry per event. Each such event comes before a switch
/// away from its thread, or after the thread's wake-up.
fn held_threads(traced: &TracedRun, wanted: HoldReason) -> Vec<Tid> {
    let mut found = Vec::new();
    for (index, event) in traced.events.iter().enumerate() {
        let EventKind::Held { tid, by } = event.kind else { continue };
        assert!(traced.tree().contains(&tid) && by == wanted, "{event:?}");
        let (before, after) = (&traced.events[..index], &traced.events[index + 1..]);
        let next = after.iter().find(|next| next.cpu == event.cpu).map(|next| &next.kind);
        let last = before.iter().rev().find(|last| last.cpu == event.cpu).map(|last| &last.kind);
        let leaves = matches!(next, Some(EventKind::Switch(switch)) if switch.prev == tid);
        let wakes = matches!(last, Some(EventKind::Waking(waking)) if waking.tid == tid);
        assert!(leaves || wakes, "{last:?}, {event:?}, {next:?}");
        found.push(tid);
    }
    found
}

#[test]
fn a_quota_holds_threads_back() {
    const NAME: &str = "a_quota_holds_threads_back";
    let (group, limit) = match Group::make(&["/sys/fs/cgroup/cpu"], "quota", "cpu.cfs_quota_us") {
        Some(group) => (group, "echo 10000 >$g/cpu.cfs_quota_us"),
        None => match Group::make(&["/sys/fs/cgroup"], "quota", "cpu.max") {
            Some(group) => (group, "echo 10000 100000 >$g/cpu.max"),
            None => return report_skip(NAME, "no group with a quota can be made here"),
        },
    };
    // The kernel's own counter shows that the group has been held back.
    let script = format!(
        "g={}; {limit}; echo $$ >$g/cgroup.procs; until grep -q 'nr_throttled [3-9]' $g/cpu.stat; do :; done",
        group.path()
    );
    let Some(traced) = trace(NAME, &script) else { return };
    let held = held_threads(&traced, HoldReason::Quota);
    assert!(held.len() >= 3, "{held:?}");
}

/// Freezes a group of a spinning and a sleeping process and thaws it again, and returns the trace.
fn freeze(name: &str, group: &Group, freeze: &str, frozen: &str, thaw: &str) -> Option<TracedRun> {
    let script = format!(
        "g={}; sh -c 'echo $$ >'$g'/cgroup.procs; exec sleep 1' & asleep=$!
         sh -c 'echo $$ >'$g'/cgroup.procs; while :; do :; done' & spins=$!
         until [ $(wc -l <$g/cgroup.procs) = 2 ]; do sleep 0.01; done; sleep 0.05
         {freeze}; until {frozen}; do sleep 0.01; done; sleep 0.02; {thaw}; sleep 0.02
         kill $spins; wait $asleep",
        group.path()
    );
    trace(name, &script)
}

/// Asserts that the spinning process was held back, and the sleeping process was not.
fn assert_only_spinner_held(traced: &TracedRun) {
    let held = held_threads(traced, HoldReason::Freezer);
    let sleeper = traced.events.iter().rev().find_map(|event| match &event.kind {
        EventKind::Exec(exec) if exec.name.to_string() == "sleep" => Some(exec.tid),
        _ => None,
    });
    assert_eq!(held.len(), 1, "{held:?}");
    assert_ne!(Some(held[0]), sleeper);
}

#[test]
fn a_group_of_version_1_that_is_frozen_holds_threads_back() {
    const NAME: &str = "a_group_of_version_1_that_is_frozen_holds_threads_back";
    let Some(group) = Group::make(&["/sys/fs/cgroup/freezer"], "freezer", "freezer.state") else {
        return report_skip(NAME, "no group of version 1 that can be frozen can be made here");
    };
    let (freeze_it, thaw) = ("echo FROZEN >$g/freezer.state", "echo THAWED >$g/freezer.state");
    let Some(traced) = freeze(NAME, &group, freeze_it, "grep -q FROZEN $g/freezer.state", thaw) else {
        return;
    };
    assert_only_spinner_held(&traced);
}

#[test]
fn a_group_of_version_2_that_is_frozen_holds_threads_back() {
    const NAME: &str = "a_group_of_version_2_that_is_frozen_holds_threads_back";
    let Some(group) = Group::make(&["/sys/fs/cgroup/unified", "/sys/fs/cgroup"], "freeze", "cgroup.freeze")
    else {
        return report_skip(NAME, "no group of version 2 can be made here");
    };
    let (freeze_it, thaw) = ("echo 1 >$g/cgroup.freeze", "echo 0 >$g/cgroup.freeze");
    let Some(traced) = freeze(NAME, &group, freeze_it, "grep -q 'frozen 1' $g/cgroup.events", thaw) else {
        return;
    };
    assert_only_spinner_held(&traced);
}

#[test]
fn the_real_time_budget_of_a_group_holds_a_thread_back() {
    const NAME: &str = "the_real_time_budget_of_a_group_holds_a_thread_back";
    let Some(group) = Group::make(&["/sys/fs/cgroup/cpu"], "rt", "cpu.rt_runtime_us") else {
        return report_skip(NAME, "no group with a real-time budget can be made here");
    };
    let budget = [("cpu.rt_period_us", "100000"), ("cpu.rt_runtime_us", "10000")];
    if budget.iter().any(|(file, value)| fs::write(group.0.join(file), value).is_err()) {
        return report_skip(NAME, "the group is given no real-time budget");
    }
    let script = format!("echo $$ >{}/cgroup.procs; exec chrt -f 1 sh -c '{SPEND}'", group.path());
    let Some(traced) = trace(NAME, &script) else { return };
    let held = held_threads(&traced, HoldReason::RealTimeBudget);
    assert!(held.len() >= 3 && held.iter().all(|tid| *tid == traced.recorded.root), "{held:?}");
}

#[test]
fn a_real_time_budget_holds_a_thread_back() {
    const NAME: &str = "a_real_time_budget_holds_a_thread_back";
    let deadline = ["-d", "--sched-runtime", "10000000", "--sched-period", "100000000", "0"];
    let may = Command::new("chrt").args(deadline).arg("true").output();
    if !may.is_ok_and(|output| output.status.success()) {
        return report_skip(NAME, "chrt cannot run a command under SCHED_DEADLINE here");
    }
    let script = format!("exec chrt {} sh -c '{SPEND}'", deadline.join(" "));
    let Some(traced) = trace(NAME, &script) else { return };
    let held = held_threads(&traced, HoldReason::RealTimeBudget);
    assert!(held.len() >= 3 && held.iter().all(|tid| *tid == traced.recorded.root), "{held:?}");
}
