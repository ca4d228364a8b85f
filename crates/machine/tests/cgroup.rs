//! Cgroup directories in the layouts that distributions and containers produce.

use std::path::Path;

use morecores_machine::cgroup::{Hierarchies, Version};
use morecores_machine::kernel_files::Tree;
use morecores_machine::topology::Recording;

/// A v2 mount with systemd's usual options.
const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate";

/// Unpacks the two files and all other given files, and reads all hierarchies.
fn read(cgroup: &str, mountinfo: &str, others: &[&str]) -> (Hierarchies, Vec<String>) {
    let mut recording = Recording::default();
    recording.insert("/proc/self/cgroup", cgroup);
    recording.insert("/proc/self/mountinfo", mountinfo);
    others.iter().for_each(|path| recording.insert(*path, "0"));
    let dir = tempfile::tempdir().expect("a temporary directory");
    recording.unpack(dir.path()).expect("unpacks");
    let mut tree = Tree::from_directory(dir.path());
    let hierarchies = Hierarchies::read(&mut tree, |_| true);
    (hierarchies, tree.unread().iter().map(|unread| unread.why.clone()).collect())
}

#[test]
fn version_2_is_found_on_a_plain_host() {
    let (found, unread) = read("0::/user.slice/user-1000.slice", V2, &[]);
    let own = found.controller("cpu").unwrap();
    assert_eq!(own.version(), Version::V2);
    let up: Vec<_> = own.ancestors().map(|dir| dir.to_str().unwrap()).collect();
    assert_eq!(
        up,
        ["/sys/fs/cgroup/user.slice/user-1000.slice", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"]
    );
    assert!(own.sees_root());
    assert_eq!(unread, [""; 0]);
}

#[test]
fn a_cgroup_namespace_hides_its_ancestors() {
    let (found, _) = read("0::/", V2, &["/sys/fs/cgroup/cgroup.events"]);
    let own = found.v2.unwrap();
    assert_eq!(own.path(), Path::new("/sys/fs/cgroup"));
    assert!(!own.sees_root());
}

#[test]
fn joined_version_1_controllers_share_a_directory() {
    let mounts = "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                  34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                  35 31 0:32 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd";
    let (found, unread) = read(
        "4:cpu,cpuacct:/jobs/a\n3:cpuset:/\n1:name=systemd:/init.scope",
        mounts,
        &["/sys/fs/cgroup/cpu,cpuacct/cgroup.sane_behavior"],
    );
    assert_eq!(found.v1["cpu"], found.v1["cpuacct"]);
    assert_eq!(found.v1["cpu"].path(), Path::new("/sys/fs/cgroup/cpu,cpuacct/jobs/a"));
    assert!(found.v1["cpu"].sees_root());
    assert!(!found.v1["cpuset"].sees_root(), "its mount has no cgroup.sane_behavior");
    assert_eq!(found.v1["name=systemd"].path(), Path::new("/sys/fs/cgroup/systemd/init.scope"));
    assert!(found.v2.is_none());
    assert_eq!(unread, [""; 0]);
}

#[test]
fn a_controller_is_looked_up_where_it_is_mounted() {
    let mounts = "33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                  41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";
    let (found, _) = read("1:cpu:/v1\n0::/v2", mounts, &[]);
    assert_eq!(found.controller("cpu").unwrap().path(), Path::new("/sys/fs/cgroup/cpu/v1"));
    assert_eq!(found.controller("memory").unwrap().path(), Path::new("/sys/fs/cgroup/unified/v2"));
}

#[test]
fn a_bind_mount_of_the_containers_own_cgroup_is_found() {
    let mounts = "33 31 0:30 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu";
    let own = |path: &str| {
        let (found, unread) = read(&format!("1:cpu:{path}"), mounts, &[]);
        (found.v1.get("cpu").map(|dir| dir.path().to_str().unwrap().to_owned()), unread)
    };
    assert_eq!(own("/docker/abc").0.as_deref(), Some("/sys/fs/cgroup/cpu"));
    assert_eq!(own("/docker/abc/x").0.as_deref(), Some("/sys/fs/cgroup/cpu/x"));
    // A cgroup with a longer name is not a child, and the mount does not show a cgroup outside.
    for outside in ["/docker/abcd", "/", "/../other"] {
        let (dir, unread) = own(outside);
        assert_eq!(dir, None, "{outside}");
        assert!(unread[0].contains("shows cgroup /docker/abc"), "{unread:?}");
    }
}

#[test]
fn nothing_outside_the_namespace_is_guessed() {
    let (found, unread) = read("0::/../../other", V2, &[]);
    assert!(found.v2.is_none());
    assert_eq!(unread.len(), 1);
    let (found, _) = read("0::/", &V2.replacen(" / ", " /../.. ", 1), &[]);
    assert!(found.v2.is_none());
}

#[test]
fn a_removed_cgroup_and_a_missing_mount_are_reported() {
    let (found, unread) = read("0::/a (deleted)\n2:cpu:/", V2, &[]);
    assert_eq!(found, Hierarchies::default());
    assert!(unread[0].contains("has been removed"), "{unread:?}");
    assert!(unread[1].contains("cgroup / of cpu: no such hierarchy is mounted"), "{unread:?}");
}

#[test]
fn the_mount_that_shows_most_is_used() {
    let bind = "40 30 0:26 /a /mnt/a\\040b rw - cgroup2 cgroup2 rw";
    for mounts in [format!("{V2}\n{bind}"), format!("{bind}\n{V2}")] {
        let (found, _) = read("0::/a/b", &mounts, &[]);
        assert_eq!(found.v2.unwrap().path(), Path::new("/sys/fs/cgroup/a/b"));
    }
    let (found, _) = read("0::/a/b", bind, &[]);
    assert_eq!(found.v2.unwrap().path(), Path::new("/mnt/a b/b"), "escaped mount point");
    // A later mount on the same directory hides the first.
    let (found, _) = read("0::/a/b", &format!("{V2}\n{}", V2.replacen(" / ", " /a ", 1)), &[]);
    assert_eq!(found.v2.unwrap().path(), Path::new("/sys/fs/cgroup/b"));
}
