//! How long each disk and each network interface of the machine was busy, whoever kept it so.
//!
//! A disk is busy while it has anything to do, as `iostat` counts it; an interface for as long as its wire takes for what went
//! through it, and only where the wire's speed is known (a loopback has none). Says nothing about what busy means for a run.

use std::collections::HashMap;
use std::fs;

use morecores_record::{DeviceTime, Nanos};

/// Devices used for less of the time are not worth a record.
const WORTH_RECORDING: f64 = 0.01;

/// The devices worth watching: disks that are not parts of another, and interfaces with a wire.
#[derive(Debug, Default)]
pub(super) struct Devices {
    disks: Vec<String>,
    /// Names, and bytes a second in each direction.
    wires: Vec<(String, f64)>,
}

impl Devices {
    /// Those there are.
    pub(super) fn find() -> Self {
        let wire = |name: String| {
            // In Mbit/s; -1, or an error, where there is none.
            let speed = fs::read_to_string(format!("/sys/class/net/{name}/speed")).ok()?;
            let speed: f64 = speed.trim().parse().ok()?;
            (speed > 0.0).then_some((name, speed * 1e6 / 8.0))
        };
        let wires = names("/sys/class/net").into_iter().filter_map(wire).collect();
        Self { disks: names("/sys/block"), wires }
    }

    /// How long each has been busy since the machine started.
    pub(super) fn read(&self) -> HashMap<String, Nanos> {
        let mut busy = HashMap::new();
        for disk in procfs::diskstats().unwrap_or_default() {
            if self.disks.contains(&disk.name) {
                busy.insert(disk.name, Nanos::from_millis(disk.time_in_progress));
            }
        }
        if !self.wires.is_empty() {
            let traffic = procfs::net::dev_status().unwrap_or_default();
            for (name, speed) in &self.wires {
                let Some(status) = traffic.get(name) else { continue };
                // The two directions do not share the wire.
                let seconds = status.recv_bytes.max(status.sent_bytes) as f64 / speed;
                busy.insert(name.clone(), Nanos((seconds * 1e9) as u64));
            }
        }
        busy
    }
}

/// What was busy between two readings that lie so far apart, the busiest first.
pub(super) fn between(
    earlier: &HashMap<String, Nanos>,
    later: &HashMap<String, Nanos>,
    apart: Nanos,
) -> Vec<DeviceTime> {
    let time = |(name, now): (&String, &Nanos)| {
        let busy_ns = now.since(*earlier.get(name)?);
        let worth = busy_ns.as_secs_f64() >= WORTH_RECORDING * apart.as_secs_f64();
        (worth && busy_ns > Nanos::ZERO).then(|| DeviceTime { name: name.clone(), busy_ns })
    };
    let mut used: Vec<DeviceTime> = later.iter().filter_map(time).collect();
    used.sort_by(|a, b| b.busy_ns.cmp(&a.busy_ns).then_with(|| a.name.cmp(&b.name)));
    used
}

fn names(dir: &str) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(list: &[(&str, u64)]) -> HashMap<String, Nanos> {
        list.iter().map(|(name, ms)| ((*name).to_owned(), Nanos::from_millis(*ms))).collect()
    }

    #[test]
    fn only_what_was_busy_meanwhile_and_was_there_before_is_told() {
        let before = look(&[("vda", 100), ("eth0", 5), ("vdb", 900)]);
        let after = look(&[("vda", 180), ("eth0", 95), ("vdb", 900), ("sdc", 50)]);
        let used = between(&before, &after, Nanos::from_millis(100));
        let told: Vec<_> = used.iter().map(|of| (of.name.as_str(), of.busy_ns)).collect();
        assert_eq!(told, [("eth0", Nanos::from_millis(90)), ("vda", Nanos::from_millis(80))]);
        assert!(between(&before, &after, Nanos::from_millis(100_000)).is_empty());
    }

    #[test]
    fn a_disk_that_writes_is_busy() {
        let devices = Devices::find();
        if devices.disks.is_empty() {
            println!("skipped: /sys/block is empty");
            return;
        }
        let read = devices.read();
        assert!(devices.disks.iter().any(|disk| read.contains_key(disk)), "{devices:?}");
        assert!(!read.contains_key("lo"));
    }
}
