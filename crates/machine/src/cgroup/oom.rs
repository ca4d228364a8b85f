//! Processes that the kernel kills for memory: their number in a run, and their names.
//!
//! The number is the kernel's own count (`oom_kill`), for the smallest available set of processes.
//! The kernel's log is read for names only if the count has grown.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use morecores_study::{Bytes, MemoryKills};

use super::counters::Counter;
use super::hierarchies::{CgroupDir, Hierarchies, Version};

/// Counter of kills around each run.
#[derive(Debug)]
pub struct OomKills {
    counter: Option<Counter>,
    before: u64,
    limit: Option<Bytes>,
}

impl OomKills {
    /// Opens the first available counter: of the cgroup `group`, whose memory a controller counts;
    /// else of this process's cgroup; else of the whole machine.
    pub fn new(hierarchies: &Hierarchies, group: Option<&Path>) -> Self {
        let own = hierarchies.controller("memory");
        let dirs = group.into_iter().chain(own.map(CgroupDir::path));
        // `oom_kill` exists in version 2, and in version 1 since Linux 4.13
        // (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst).
        let files = dirs.flat_map(|dir| ["memory.events", "memory.oom_control"].map(|file| dir.join(file)));
        let candidates = files.chain([PathBuf::from("/proc/vmstat")]);
        let counter = candidates.filter_map(Counter::open).find_map(|mut counter| {
            count(&mut counter)?;
            Some(counter)
        });
        Self { counter, before: 0, limit: memory_limit(hierarchies) }
    }

    /// Notes the count before a run.
    pub fn begin(&mut self) {
        self.before = self.counter.as_mut().and_then(count).unwrap_or(0);
    }

    /// Kills since [`begin`](Self::begin); absent if there were none, or if no counter is
    /// available.
    pub fn end(&mut self) -> Option<MemoryKills> {
        let killed = count(self.counter.as_mut()?)?.saturating_sub(self.before);
        (killed > 0).then(|| MemoryKills { count: killed, names: victims(&kernel_log(), killed as usize) })
    }

    /// Smallest memory limit of the cgroups around this process; absent if none limits it.
    pub fn limit(&self) -> Option<Bytes> {
        self.limit
    }
}

fn count(counter: &mut Counter) -> Option<u64> {
    let [kills] = counter.fields(["oom_kill"])?;
    kills
}

/// Smallest memory limit of the cgroups around this process; absent if none limits it. Version 1
/// represents no limit by a huge number.
pub fn memory_limit(hierarchies: &Hierarchies) -> Option<Bytes> {
    const NONE: u64 = i64::MAX as u64 / 2;
    let own = hierarchies.controller("memory")?;
    let file = match own.version() {
        Version::V1 => "memory.limit_in_bytes",
        Version::V2 => "memory.max",
    };
    let read = |dir: &Path| fs::read_to_string(dir.join(file)).ok()?.trim().parse::<u64>().ok();
    own.ancestors().filter_map(read).filter(|limit| *limit < NONE).min().map(Bytes)
}

/// Readable part of the kernel's log.
fn kernel_log() -> String {
    let mut text = String::new();
    let log = File::options().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg");
    let Ok(mut log) = log else { return text };
    // Each call returns one record of at most this length (Documentation/ABI/testing/dev-kmsg).
    let mut record = [0; 8192];
    loop {
        match log.read(&mut record) {
            Ok(length) if length > 0 => text.push_str(&String::from_utf8_lossy(&record[..length])),
            // The kernel overwrote records during the read; the following records are still
            // available.
            Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
            _ => return text,
        }
    }
}

/// Names of the last `count` processes that were killed for memory according to a kernel log, each
/// once. Empty if the log holds fewer.
fn victims(log: &str, count: usize) -> Vec<String> {
    let victim = |line: &str| {
        // mm/oom_kill.c: "Out of memory: Killed process 7 (name) total-vm:…", with "Memory cgroup
        // out of memory:" in a cgroup.
        let (head, rest) = line.split_once("Killed process ")?;
        let is_kill = head.to_ascii_lowercase().contains("out of memory");
        let name = rest.split_once(" (")?.1.split_once(") total-vm")?.0;
        is_kill.then(|| name.to_owned())
    };
    let all: Vec<String> = log.lines().filter_map(victim).collect();
    let Some(first) = all.len().checked_sub(count) else { return Vec::new() };
    let mut names = all[first..].to_vec();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_victims_are_named() {
        let log = "6,812,99,-;cgroup: new\n\
                   3,813,100,-;Memory cgroup out of memory: Killed process 17 (old) total-vm:1kB, anon-rss:1kB\n\
                   3,814,101,-;Memory cgroup out of memory: Killed process 18 (python3) total-vm:1kB, UID:0\n\
                   3,815,102,-;oom_reaper: reaped process 18 (python3), now anon-rss:0kB\n\
                   3,816,103,-;Out of memory: Killed process 19 (a) b) total-vm:1kB, anon-rss:1kB\n";
        assert_eq!(victims(log, 1), ["a) b"]);
        assert_eq!(victims(log, 2), ["a) b", "python3"]);
        assert_eq!(victims(log, 4), [] as [&str; 0], "some are no longer in the log");
    }

    #[test]
    fn kills_are_counted_from_the_start_of_a_run() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("a/b");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("memory.events"), "low 0\noom 3\noom_kill 2\n").unwrap();
        let mut kills = OomKills::new(&Hierarchies::default(), Some(&own));
        kills.begin();
        fs::write(own.join("memory.events"), "low 0\noom 3\noom_kill 2\n").unwrap();
        assert_eq!(kills.end(), None);
        fs::write(own.join("memory.events"), "low 0\noom 9\noom_kill 7\n").unwrap();
        assert_eq!(kills.end().unwrap().count, 5);
    }
}
