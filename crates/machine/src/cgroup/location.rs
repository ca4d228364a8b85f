//! Place in version 2 for the study's cgroup, chosen so that the cgroup has the controllers that it
//! needs.
//!
//! A cgroup that holds processes cannot give controllers to its children (cgroups(7), "no internal
//! processes"). The cgroup of this process also holds the shell that started morecores. Its parent
//! usually gives controllers to its children already.
//!
//! The study's cgroup is therefore created beside the cgroup of this process. It gets a copy of
//! that cgroup's limits and weights. The command thus escapes no limit, and keeps its share of the
//! machine. It is created below the cgroup of this process in three cases: that cgroup is the
//! highest visible one, its parent gives no memory controller to children, or this user may not
//! write to the parent. It then has only the counters that need no controller.
//!
//! `--limit cpuset` and `--limit quota` need a writable place that offers their controller. If
//! neither place does, the controller is enabled in the first place that allows it, after a note in
//! the journal.

use std::fs;
use std::path::{Path, PathBuf};

use tracing::debug;

use super::group::{GroupError, io_error};
use super::hierarchies::CgroupDir;
use crate::undo::{Change, Journal};

/// Files of this process's cgroup that hold one value, a limit or a weight for all processes in it.
const VALUE_FILES: &[&str] = &[
    "cpu.max",
    "cpu.max.burst",
    "cpu.idle",
    "cpu.weight",
    "cpu.uclamp.min",
    "cpu.uclamp.max",
    "cpuset.cpus",
    "cpuset.mems",
    "memory.min",
    "memory.low",
    "memory.high",
    "memory.max",
    "memory.swap.high",
    "memory.swap.max",
    "pids.max",
];

/// Files with a line for each device, and in some a line for all other devices. The kernel accepts
/// one line at a time.
const DEVICE_FILES: &[&str] = &["io.weight", "io.bfq.weight", "io.max", "io.latency"];

/// The place for the study's cgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GroupLocation {
    /// Cgroup in which the study's cgroup is created.
    pub(super) parent: PathBuf,
    /// Cgroup whose limits are copied, unless the study's cgroup is below it.
    pub(super) limits_from: Option<PathBuf>,
}

impl GroupLocation {
    /// Chooses the place. It must offer the `required` controller, which is enabled if necessary
    /// and possible.
    pub(super) fn find(
        own: &CgroupDir,
        required: Option<&'static str>,
        journal: &mut Journal,
    ) -> Result<Self, GroupError> {
        let Some(controller) = required else { return Ok(Self::choose_for_counters(own)) };
        let location = Self::choose_for_limit(own, controller)?;
        if !location.offers(controller) {
            location.enable(controller, journal)?;
        }
        Ok(location)
    }

    fn inside(own: &CgroupDir) -> Self {
        Self { parent: own.path().to_owned(), limits_from: None }
    }

    /// Place beside the cgroup of this process; none if that cgroup is the highest visible one.
    fn sibling(own: &CgroupDir) -> Option<Self> {
        let above = own.path().parent().filter(|_| own.path() != own.mount())?;
        Some(Self { parent: above.to_owned(), limits_from: Some(own.path().to_owned()) })
    }

    fn offers(&self, controller: &str) -> bool {
        list_contains(&self.parent.join("cgroup.subtree_control"), controller)
    }

    fn choose_for_counters(own: &CgroupDir) -> Self {
        let sibling = Self::sibling(own);
        let flaw = match &sibling {
            None => Some("it is the highest visible one"),
            Some(location) if !location.offers("memory") => {
                Some("its parent gives no memory controller to children")
            }
            Some(location) if !is_writable(&location.parent) => Some("this user may not write to its parent"),
            Some(_) => None,
        };
        let place = if flaw.is_none() { "beside" } else { "below" };
        let why = flaw.map(|flaw| format!(": {flaw}")).unwrap_or_default();
        debug!("place of the new cgroup: {place} {}{why}", own.path().display());
        sibling.filter(|_| flaw.is_none()).unwrap_or_else(|| Self::inside(own))
    }

    /// Chooses a writable place that offers the controller, or otherwise one where it can be
    /// enabled.
    fn choose_for_limit(own: &CgroupDir, controller: &'static str) -> Result<Self, GroupError> {
        let places = Self::sibling(own).into_iter().chain([Self::inside(own)]);
        let locations: Vec<Self> = places.filter(|location| is_writable(&location.parent)).collect();
        let can_enable = |location: &&Self| {
            list_contains(&location.parent.join("cgroup.controllers"), controller)
                && may_have_controllers(&location.parent, own)
        };
        let offering = locations.iter().find(|location| location.offers(controller));
        offering.or_else(|| locations.iter().find(can_enable)).cloned().ok_or_else(|| {
            let why = "no writable cgroup gives it to its children: use sudo, or \
                       `systemd-run --scope -p Delegate=yes` in front, or --limit affinity";
            GroupError::NoController { controller, why: why.to_owned() }
        })
    }

    fn enable(&self, controller: &str, journal: &mut Journal) -> Result<(), GroupError> {
        let dir = self.parent.clone();
        journal.note(Change::ControllerEnabled { dir, controller: controller.to_owned() })?;
        let file = self.parent.join("cgroup.subtree_control");
        fs::write(&file, format!("+{controller}")).map_err(io_error("write", &file))?;
        debug!("enabled the controller {controller} below {}", self.parent.display());
        Ok(())
    }

    /// Copies the limits and weights of this process's cgroup to the study's cgroup `dir`. If `dir`
    /// lacks a controller, this process's cgroup has no limit by that controller either.
    pub(super) fn copy_limits(&self, dir: &Path) -> Result<(), GroupError> {
        let Some(limits_from) = &self.limits_from else { return Ok(()) };
        let read = |dir: &Path, name: &str| fs::read_to_string(dir.join(name)).ok();
        for (name, line) in lines_to_write(|name| read(limits_from, name), |name| read(dir, name)) {
            let file = dir.join(name);
            debug!("copied from {}: {name} = {line}", limits_from.display());
            fs::write(&file, line).map_err(io_error("write", &file))?;
        }
        Ok(())
    }
}

/// Lines to write to the files of a new cgroup so that their content equals that of `ours`: pairs
/// of a file name and a line, in the order that the kernel requires.
fn lines_to_write(
    ours: impl Fn(&str) -> Option<String>,
    new: impl Fn(&str) -> Option<String>,
) -> Vec<(&'static str, String)> {
    let is_idle = ours("cpu.idle").is_some_and(|value| value.trim() == "1");
    let mut lines = Vec::new();
    for name in VALUE_FILES.iter().chain(DEVICE_FILES) {
        let (Some(ours), Some(new)) = (ours(name), new(name)) else { continue };
        // The kernel refuses a weight for an idle cgroup (EINVAL).
        if is_idle && *name == "cpu.weight" {
            continue;
        }
        let has = |line: &str| new.lines().any(|there| there.trim() == line);
        let wanted = ours.lines().map(str::trim).filter(|line| !line.is_empty() && !has(line));
        lines.extend(wanted.map(|line| (*name, line.to_owned())));
    }
    lines
}

/// Whether a list of controllers contains `controller`.
fn list_contains(file: &Path, controller: &str) -> bool {
    fs::read_to_string(file).unwrap_or_default().split_ascii_whitespace().any(|listed| listed == controller)
}

fn is_writable(dir: &Path) -> bool {
    rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Whether a cgroup may give controllers to its children: the true root may, and so may a cgroup
/// without processes of its own.
fn may_have_controllers(dir: &Path, own: &CgroupDir) -> bool {
    let root = own.sees_root() && dir == own.mount();
    root || fs::read_to_string(dir.join("cgroup.procs")).is_ok_and(|procs| procs.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Files of a new cgroup in Linux 6.12.
    fn new_cgroup() -> BTreeMap<&'static str, &'static str> {
        BTreeMap::from([
            ("cpu.max", "max 100000\n"),
            ("cpu.weight", "100\n"),
            ("cpu.idle", "0\n"),
            ("cpu.uclamp.min", "0.00\n"),
            ("cpu.uclamp.max", "max\n"),
            ("memory.max", "max\n"),
            ("io.weight", "default 100\n"),
            ("io.max", ""),
        ])
    }

    fn written(changed: &[(&'static str, &'static str)]) -> Vec<(&'static str, String)> {
        let (mut ours, new) = (new_cgroup(), new_cgroup());
        ours.extend(changed.iter().copied());
        let read = |files: &BTreeMap<_, &str>, name: &str| files.get(name).map(|text| (*text).to_owned());
        lines_to_write(|name| read(&ours, name), |name| read(&new, name))
    }

    #[test]
    fn limits_and_weights_that_differ_are_written_line_by_line() {
        assert_eq!(written(&[]), []);
        let lines = written(&[
            ("cpu.max", "150000 100000\n"),
            ("cpu.weight", "10\n"),
            ("cpu.uclamp.max", "50.00\n"),
            ("io.weight", "default 100\n8:16 200\n"),
            (
                "io.max",
                "8:16 rbps=1048576 wbps=max riops=max wiops=max\n8:0 rbps=max wbps=5 riops=max wiops=max\n",
            ),
        ]);
        let lines: Vec<(&str, &str)> = lines.iter().map(|(name, line)| (*name, line.as_str())).collect();
        assert_eq!(
            lines,
            [
                ("cpu.max", "150000 100000"),
                ("cpu.weight", "10"),
                ("cpu.uclamp.max", "50.00"),
                ("io.weight", "8:16 200"),
                ("io.max", "8:16 rbps=1048576 wbps=max riops=max wiops=max"),
                ("io.max", "8:0 rbps=max wbps=5 riops=max wiops=max"),
            ]
        );
    }

    #[test]
    fn an_idle_cgroup_has_no_weight() {
        assert_eq!(written(&[("cpu.idle", "1\n"), ("cpu.weight", "0\n")]), [("cpu.idle", "1".to_owned())]);
    }

    #[test]
    fn limits_of_a_missing_controller_are_not_written() {
        assert_eq!(written(&[("pids.max", "100\n")]), []);
    }
}
