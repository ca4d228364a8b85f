//! Where in version 2 the study's cgroup is made, so that it has the controllers that it needs.
//!
//! A cgroup that holds processes cannot give its children controllers (cgroups(7), "no internal processes"), and
//! ours holds the shell that started us. Its parent usually gives controllers already: there the study's cgroup is
//! made beside ours, with our own limits copied, so that the command escapes none. Where the parent is out of
//! reach, it is made below ours, with the counters that need no controller.

use std::fs;
use std::path::{Path, PathBuf};

use super::{GroupError, io_error};
use crate::cgroup::CgroupDir;
use crate::undo::{Change, Journal};

/// Limits of our own cgroup that hold for everything in it. CPU weights are left out: they share, not limit.
const LIMITS: &[&str] =
    &["cpu.max", "cpuset.cpus", "cpuset.mems", "memory.high", "memory.max", "memory.swap.max", "pids.max"];

/// The place for the study's cgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Home {
    /// The cgroup it is made in.
    pub(super) parent: PathBuf,
    /// The cgroup whose limits it takes over, where it is not made below that.
    pub(super) like: Option<PathBuf>,
}

impl Home {
    /// Chooses; with `cpuset`, a place where the study's cgroup has one, enabling the controller where that can be.
    pub(super) fn find(own: &CgroupDir, cpuset: bool, journal: &mut Journal) -> Result<Self, GroupError> {
        let below = Self { parent: own.own().to_owned(), like: None };
        let above = own.own().parent().filter(|_| own.own() != own.mount());
        let beside = above.map(|parent| Self { parent: parent.to_owned(), like: Some(own.own().to_owned()) });
        let offers =
            |home: &Self, controller: &str| lists(&home.parent.join("cgroup.subtree_control"), controller);
        if !cpuset {
            let better = |home: &Self| offers(home, "memory") && writable(&home.parent);
            return Ok(beside.filter(better).unwrap_or(below));
        }
        let homes: Vec<Self> =
            beside.into_iter().chain([below]).filter(|home| writable(&home.parent)).collect();
        if let Some(home) = homes.iter().find(|home| offers(home, "cpuset")) {
            return Ok(home.clone());
        }
        let can_enable = |home: &&Self| {
            lists(&home.parent.join("cgroup.controllers"), "cpuset")
                && may_have_controllers(&home.parent, own)
        };
        let Some(home) = homes.iter().find(can_enable) else {
            return Err(GroupError::NoCpuset(
                "no cgroup that we may write to gives its children cpusets: use sudo, or \
                 `systemd-run --scope -p Delegate=yes` in front, or --limit affinity"
                    .to_owned(),
            ));
        };
        journal
            .note(Change::ControllerEnabled { dir: home.parent.clone(), controller: "cpuset".to_owned() })?;
        let file = home.parent.join("cgroup.subtree_control");
        fs::write(&file, "+cpuset").map_err(io_error("write", &file))?;
        Ok(home.clone())
    }

    /// Takes our own limits over to the study's cgroup `dir`. A limit whose controller `dir` does not have cannot be
    /// in force in ours either.
    pub(super) fn copy_limits(&self, dir: &Path) -> Result<(), GroupError> {
        let Some(like) = &self.like else { return Ok(()) };
        for limit in LIMITS {
            let Ok(value) = fs::read_to_string(like.join(limit)) else { continue };
            let file = dir.join(limit);
            let none = value.trim().is_empty() || value.trim_start().starts_with("max");
            if !none && file.exists() {
                fs::write(&file, value.trim()).map_err(io_error("write", &file))?;
            }
        }
        Ok(())
    }
}

/// Whether a list of controllers holds one.
fn lists(file: &Path, controller: &str) -> bool {
    fs::read_to_string(file).unwrap_or_default().split_ascii_whitespace().any(|listed| listed == controller)
}

fn writable(dir: &Path) -> bool {
    rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Whether a cgroup may give its children controllers: the true root, or one without processes of its own.
fn may_have_controllers(dir: &Path, own: &CgroupDir) -> bool {
    let root = own.sees_root() && dir == own.mount();
    root || fs::read_to_string(dir.join("cgroup.procs")).is_ok_and(|procs| procs.trim().is_empty())
}
