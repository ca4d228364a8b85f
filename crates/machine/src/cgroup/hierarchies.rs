//! Position of this process in the cgroup hierarchies: its own directory for each controller, and
//! the directories above.
//!
//! The module handles version 1 (a hierarchy for each controller or for a few joined controllers),
//! version 2 (one hierarchy for all), and both at once. It finds directories, interprets none of
//! the files in them, and changes nothing.
//!
//! `/proc/self/cgroup` names a cgroup relative to the root of the process's cgroup namespace.
//! `/proc/self/mountinfo` states which cgroup each mount shows at its top, relative to that root
//! (cgroups(7), cgroup_namespaces(7)). A cgroup has a visible directory only if a mount shows it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::kernel_files::{Tree, unescape};

const CGROUP_FILE: &str = "/proc/self/cgroup";
const MOUNTS_FILE: &str = "/proc/self/mountinfo";

/// A version of the cgroup interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// A hierarchy for each controller, or for a few joined controllers.
    V1,
    /// One hierarchy for all controllers.
    V2,
}

/// A process's own cgroup in one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupDir {
    version: Version,
    mount: PathBuf,
    path: PathBuf,
    sees_root: bool,
}

impl CgroupDir {
    /// Version of the cgroup's interface.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Path of the process's own cgroup on its machine: see
    /// [`join_below_root`](crate::kernel_files::join_below_root).
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Mount point of the hierarchy, which is the highest visible cgroup.
    pub fn mount(&self) -> &Path {
        &self.mount
    }

    /// Whether the mount shows the hierarchy's true root. Most containers hide cgroups above the
    /// mount; the limits of the hidden cgroups still apply.
    pub fn sees_root(&self) -> bool {
        self.sees_root
    }

    /// The process's own cgroup, then each parent, up to and including the mount.
    pub fn ancestors(&self) -> impl Iterator<Item = &Path> + '_ {
        self.path.ancestors().take_while(|dir| dir.starts_with(&self.mount))
    }
}

/// A process's own cgroup in every visible hierarchy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hierarchies {
    /// Cgroup in version 2. It may have no controllers if version 1 has them.
    pub v2: Option<CgroupDir>,
    /// Cgroups in version 1, by controller; `cpu,cpuacct` appears under both names. A hierarchy
    /// without controllers appears as `name=systemd`.
    pub v1: BTreeMap<String, CgroupDir>,
}

impl Hierarchies {
    /// Reads the hierarchies of this process on the running machine. Cgroups that are not found are
    /// left out.
    pub fn read_own() -> Self {
        Self::read(&mut Tree::live(), |_| true)
    }

    /// Reads version 2 and the version 1 controllers that `wanted` accepts. For each cgroup without
    /// a directory here, `tree` gets a note with the reason.
    pub fn read(tree: &mut Tree, wanted: impl Fn(&str) -> bool) -> Self {
        let mounts: Vec<Mount> = tree
            .read_lines(MOUNTS_FILE, |line| Mount::parse(line).is_some_and(|mount| mount.is_wanted(&wanted)))
            .unwrap_or_default()
            .lines()
            .filter_map(Mount::parse)
            .collect();
        let memberships: Vec<Membership> = tree
            .read_lines(CGROUP_FILE, |line| Membership::parse(line).is_some_and(|m| m.is_wanted(&wanted)))
            .unwrap_or_default()
            .lines()
            .filter_map(Membership::parse)
            .collect();

        let mut found = Self::default();
        for membership in &memberships {
            match locate(&mounts, membership) {
                Ok((mount, own)) => {
                    let dir = CgroupDir {
                        version: membership.version(),
                        sees_root: sees_root(tree, membership.version(), mount),
                        mount: mount.point.clone(),
                        path: own,
                    };
                    if membership.controllers.is_empty() {
                        found.v2 = Some(dir);
                    } else {
                        found.v1.extend(membership.controllers.iter().map(|c| (c.clone(), dir.clone())));
                    }
                }
                Err(why) => tree.note(CGROUP_FILE, format!("{}: {why}", membership.name())),
            }
        }
        found
    }

    /// The process's own cgroup in the hierarchy that configures a controller. A controller that is
    /// mounted in version 1 cannot be in version 2.
    pub fn controller(&self, name: &str) -> Option<&CgroupDir> {
        self.v1.get(name).or(self.v2.as_ref())
    }
}

/// A line of `/proc/self/cgroup`.
#[derive(Debug)]
struct Membership {
    /// Empty in version 2.
    controllers: Vec<String>,
    path: String,
}

impl Membership {
    fn parse(line: &str) -> Option<Self> {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let controllers = controllers.split(',').filter(|c| !c.is_empty()).map(str::to_owned).collect();
        Some(Self { controllers, path: path.to_owned() })
    }

    fn version(&self) -> Version {
        if self.controllers.is_empty() { Version::V2 } else { Version::V1 }
    }

    fn is_wanted(&self, wanted: impl Fn(&str) -> bool) -> bool {
        self.controllers.is_empty() || self.controllers.iter().any(|c| wanted(c))
    }

    fn name(&self) -> String {
        match self.version() {
            Version::V1 => format!("cgroup {} of {}", self.path, self.controllers.join(",")),
            Version::V2 => format!("cgroup {} of version 2", self.path),
        }
    }
}

/// A line of `/proc/self/mountinfo` that mounts a cgroup hierarchy.
#[derive(Debug)]
struct Mount {
    version: Version,
    /// Cgroup at the top of the mount.
    root: String,
    point: PathBuf,
    /// Mount options; in version 1, controllers are among them.
    options: Vec<String>,
}

impl Mount {
    /// Parses the fields of proc_pid_mountinfo(5).
    fn parse(line: &str) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, point) = (unescape(place.next()?), unescape(place.next()?));
        let mut kind = kind.split(' ');
        let version = match kind.next()? {
            "cgroup" => Version::V1,
            "cgroup2" => Version::V2,
            _ => return None,
        };
        let options = kind.nth(1).unwrap_or_default().split(',').map(str::to_owned).collect();
        Some(Self { version, root, point: point.into(), options })
    }

    fn is_wanted(&self, wanted: impl Fn(&str) -> bool) -> bool {
        self.version == Version::V2 || self.options.iter().any(|option| wanted(option))
    }

    fn contains(&self, membership: &Membership) -> bool {
        self.version == membership.version()
            && membership.controllers.iter().all(|controller| self.options.contains(controller))
    }

    /// Directory of the cgroup `path`, if this mount shows it.
    fn find_dir(&self, path: &str) -> Option<PathBuf> {
        // `/..` in either path means "above the namespace's root". It tells the number of levels,
        // but not the starting cgroup.
        let outside = |path: &str| path.split('/').any(|part| part == "..");
        if outside(path) || outside(&self.root) {
            return None;
        }
        let below = Path::new(path).strip_prefix(&self.root).ok()?;
        // `join("")` would append a slash.
        Some(if below.as_os_str().is_empty() { self.point.clone() } else { self.point.join(below) })
    }
}

/// Finds the mount that shows most of the hierarchy above the cgroup, and the cgroup's directory in
/// it.
fn locate<'a>(mounts: &'a [Mount], membership: &Membership) -> Result<(&'a Mount, PathBuf), String> {
    let path = &membership.path;
    if path.ends_with(" (deleted)") {
        return Err("it has been removed; start morecores from a new session".to_owned());
    }
    // A later mount on the same directory hides an earlier one.
    let visible = |index: &usize| mounts[index + 1..].iter().all(|later| later.point != mounts[*index].point);
    let candidates: Vec<&Mount> =
        (0..mounts.len()).filter(visible).map(|i| &mounts[i]).filter(|m| m.contains(membership)).collect();
    let visible_dirs = candidates.iter().filter_map(|mount| Some((*mount, mount.find_dir(path)?)));
    visible_dirs.min_by_key(|(mount, _)| mount.root.len()).ok_or_else(|| match candidates.first() {
        None => "no such hierarchy is mounted, so its limits are unknown".to_owned(),
        Some(mount) => format!(
            "the mount at {} shows cgroup {} and what is below it, so the limits are unknown",
            mount.point.display(),
            mount.root
        ),
    })
}

/// Whether the mount shows the hierarchy's true root.
///
/// Version 1 has `cgroup.sane_behavior` only in the root; version 2 has `cgroup.events` everywhere
/// except in the root (CFTYPE_ONLY_ON_ROOT and CFTYPE_NOT_ON_ROOT in `kernel/cgroup/`).
fn sees_root(tree: &mut Tree, version: Version, mount: &Mount) -> bool {
    mount.root == "/"
        && match version {
            Version::V1 => tree.read(mount.point.join("cgroup.sane_behavior")).is_some(),
            Version::V2 => tree.read(mount.point.join("cgroup.events")).is_none(),
        }
}
