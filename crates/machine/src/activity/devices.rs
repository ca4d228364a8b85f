//! Busy time of each disk and each network interface of the machine, whatever program caused it.
//!
//! A disk is busy while it has any request, as `iostat` counts it. A disk that serves several
//! requests at once may be busy and still have spare capacity. An interface is busy for as long as
//! its link needs to transmit the transferred bytes. An interface counts only if its speed is
//! known. This module does not judge the effect of a busy device on a run.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use morecores_study::{DeviceTime, Nanos};

/// Smallest busy fraction of the time that is recorded.
const LEAST_BUSY_SHARE: f64 = 0.01;

/// Watched devices: disks and interfaces that are hardware of this machine or of its hypervisor.
/// Partitions, loop devices, bridges and tunnels are left out, because they are busy when the
/// underlying devices are.
#[derive(Debug, Default)]
pub(super) struct Devices {
    disks: Vec<String>,
    /// Names, and bytes per second in each direction.
    links: Vec<(String, f64)>,
}

/// Busy time of each device since the machine started, by name.
#[derive(Debug, Default)]
pub(super) struct DeviceReading {
    disks: HashMap<String, Nanos>,
    /// Transmission times of the received and of the sent bytes. The two directions do not share
    /// the link.
    links: HashMap<String, [Nanos; 2]>,
}

impl Devices {
    /// Finds the devices of this machine.
    pub(super) fn find() -> Self {
        let link = |name: String| {
            // The speed is in Mbit/s; it is -1 or an error if the interface has none.
            let speed = fs::read_to_string(format!("/sys/class/net/{name}/speed")).ok()?;
            let speed: f64 = speed.trim().parse().ok()?;
            (speed > 0.0).then_some((name, speed * 1e6 / 8.0))
        };
        let links = hardware_names("/sys/class/net").filter_map(link).collect();
        Self { disks: hardware_names("/sys/block").collect(), links }
    }

    pub(super) fn read(&self) -> DeviceReading {
        let mut reading = DeviceReading::default();
        let disks = procfs::diskstats().unwrap_or_default().into_iter();
        let disks = disks.filter(|disk| self.disks.contains(&disk.name));
        reading.disks = disks.map(|disk| (disk.name, Nanos::from_millis(disk.time_in_progress))).collect();
        if !self.links.is_empty() {
            let traffic = procfs::net::dev_status().unwrap_or_default();
            let time = |(name, speed): &(String, f64)| {
                let status = traffic.get(name)?;
                let transfer_time = |bytes: u64| Nanos::from_secs_f64(bytes as f64 / speed);
                Some((name.clone(), [transfer_time(status.recv_bytes), transfer_time(status.sent_bytes)]))
            };
            reading.links = self.links.iter().filter_map(time).collect();
        }
        reading
    }
}

/// Devices that were busy between two readings `interval` from each other, busiest first. A link
/// counts by its busier direction.
pub(super) fn busy_times(earlier: &DeviceReading, later: &DeviceReading, interval: Nanos) -> Vec<DeviceTime> {
    let disk = |(name, now): (&String, &Nanos)| Some((name.clone(), now.since(*earlier.disks.get(name)?)));
    let link = |(name, now): (&String, &[Nanos; 2])| {
        let then = earlier.links.get(name)?;
        Some((name.clone(), now[0].since(then[0]).max(now[1].since(then[1]))))
    };
    let disks = later.disks.iter().filter_map(disk);
    let mut used: Vec<DeviceTime> = disks
        .chain(later.links.iter().filter_map(link))
        .filter(|(_, busy)| busy.as_secs_f64() > LEAST_BUSY_SHARE * interval.as_secs_f64())
        .map(|(name, busy_ns)| DeviceTime { name, busy_ns })
        .collect();
    used.sort_by(|a, b| b.busy_ns.cmp(&a.busy_ns).then_with(|| a.name.cmp(&b.name)));
    used
}

/// Names of the entries of a /sys directory that have a hardware device.
fn hardware_names(folder: &str) -> impl Iterator<Item = String> {
    let folder = Path::new(folder);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let real = entries.filter(|entry| entry.path().join("device").exists());
    real.filter_map(|entry| entry.file_name().into_string().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    fn reading(disks: &[(&str, u64)], link: [u64; 2]) -> DeviceReading {
        DeviceReading {
            disks: disks.iter().map(|(name, ms)| ((*name).to_owned(), MS(*ms))).collect(),
            links: HashMap::from([("eth0".to_owned(), link.map(MS))]),
        }
    }

    fn busy_pairs(earlier: &DeviceReading, later: &DeviceReading, interval: Nanos) -> Vec<(String, Nanos)> {
        busy_times(earlier, later, interval).into_iter().map(|device| (device.name, device.busy_ns)).collect()
    }

    #[test]
    fn only_devices_present_before_and_busy_since_are_reported() {
        let before = reading(&[("vda", 100), ("vdb", 900)], [5, 5]);
        let after = reading(&[("vda", 180), ("vdb", 900), ("sdc", 50)], [5, 5]);
        assert_eq!(busy_pairs(&before, &after, MS(100)), [("vda".to_owned(), MS(80))]);
        assert_eq!(busy_pairs(&before, &after, MS(100_000)), []);
    }

    #[test]
    fn a_network_link_is_as_busy_as_its_busier_direction() {
        // Much had been received before; only sent bytes are new.
        let (before, after) = (reading(&[], [9_000, 10]), reading(&[], [9_001, 100]));
        assert_eq!(busy_pairs(&before, &after, MS(100)), [("eth0".to_owned(), MS(90))]);
    }

    #[test]
    fn devices_made_of_other_devices_are_not_watched() {
        let devices = Devices::find();
        let is_virtual = |name: &String| {
            ["loop", "ram", "zram", "dm-", "lo"].iter().any(|prefix| name.starts_with(prefix))
        };
        assert!(!devices.disks.iter().chain(devices.links.iter().map(|(name, _)| name)).any(is_virtual));
        let read = devices.read();
        assert!(devices.disks.iter().all(|disk| read.disks.contains_key(disk)), "{devices:?}");
    }
}
