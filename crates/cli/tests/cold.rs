//! Tests that a cold cache is cold, and that a remounted file system is unchanged afterwards.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

mod harness;

use std::fs;
use std::path::Path;
use std::process::Command;

use harness::{World, report_skip};

/// Runs a program and returns whether it succeeded.
fn done(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// Line of /proc/self/mounts about a directory, without its device: a loop device may get another
/// number.
fn mounted(at: &Path) -> Option<String> {
    let at = at.to_str().unwrap();
    let table = fs::read_to_string("/proc/self/mounts").unwrap();
    let line = table.lines().find(|line| line.split(' ').nth(1) == Some(at))?;
    Some(line.split_once(' ').unwrap().1.to_owned())
}

#[test]
fn every_cold_run_reads_the_device_and_a_remounted_file_system_stays() {
    let name = "every_cold_run_reads_the_device_and_a_remounted_file_system_stays";
    let world = World::new();
    let (image, mount) = (world.path("image"), world.path("mount"));
    fs::create_dir(&mount).unwrap();
    fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let (image, at) = (image.to_str().unwrap(), mount.to_str().unwrap());
    if !done("mkfs.ext4", &["-q", image]) || !done("mount", &["-o", "loop,noatime", image, at]) {
        return report_skip(
            name,
            "no file system can be made and mounted here: it needs root, mkfs.ext4 and loop devices",
        );
    }
    fs::write(mount.join("file"), vec![7; 4 << 20]).unwrap();
    let before = mounted(&mount);
    let file = mount.join("file");
    let ran =
        world.run(&format!("-q --cold --remount {at} --cpus 1 --runs 3"), &["cat", file.to_str().unwrap()]);
    let after = mounted(&mount);
    assert!(done("umount", &[at]), "it is mounted");
    ran.success();
    assert_eq!(before, after);
    for run in world.study().runs {
        assert!(run.rusage.block_read_bytes.0 >= 4 << 20, "read from the device: {run:?}");
    }
}
