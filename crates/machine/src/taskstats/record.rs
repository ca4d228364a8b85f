//! One exit record: `struct taskstats` of include/uapi/linux/taskstats.h, by its offsets.
//!
//! Fields are only ever added at the end, so that the offsets hold for every version that has the field. All are the
//! same on 32 and 64 bits by the alignment that the header demands.

use morecores_study::Nanos;

use super::message::{attribute, attributes, u16_at, u32_at, u64_at};

/// `TASKSTATS_TYPE_TGID`, `TASKSTATS_TYPE_STATS`, `TASKSTATS_TYPE_AGGR_PID`, `TASKSTATS_TYPE_AGGR_TGID`.
const TGID: u16 = 2;
const STATS: u16 = 3;
const AGGR_PID: u16 = 4;
const AGGR_TGID: u16 = 5;

/// Offsets.
const VERSION: usize = 0;
const CPU_RUN_VIRTUAL_TOTAL: usize = 72;
const AC_PID: usize = 128;
const AC_PPID: usize = 132;
const AC_UTIME: usize = 152;
const AC_STIME: usize = 160;
const AC_TGID: usize = 368;
/// The first version with `ac_tgid`.
const HAS_TGID: u16 = 12;

/// What the kernel says of a task that exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExitRecord {
    /// The thread.
    pub(super) pid: u32,
    /// Its process; before version 12 known of the last thread of a process alone, and else taken to be `pid`.
    pub(super) tgid: u32,
    /// The process that was the parent at that time, of a process and of each of its threads.
    pub(super) ppid: u32,
    /// Raw ticks: `task_cputime`, in `bacct_add_tsk` of kernel/tsacct.c.
    pub(super) user: Nanos,
    /// Likewise.
    pub(super) system: Nanos,
    /// `sum_exec_runtime`; `cpu_run_real_total` beside it is the sum of the ticks (kernel/delayacct.c).
    pub(super) run: Nanos,
}

impl ExitRecord {
    /// Reads the attributes of a message.
    pub(super) fn parse(message: &[u8]) -> Option<Self> {
        let stats = attribute(attribute(message, AGGR_PID)?, STATS)?;
        let pid = u32_at(stats, AC_PID)?;
        let own = Some(AC_TGID).filter(|_| u16_at(stats, VERSION).is_some_and(|version| version >= HAS_TGID));
        let told = own.and_then(|at| u32_at(stats, at));
        // Sent along with the last thread of a process that had several.
        let group = || {
            let group = attributes(message).find(|(kind, _)| *kind == AGGR_TGID)?.1;
            u32_at(attribute(group, TGID)?, 0)
        };
        Some(Self {
            pid,
            tgid: told.or_else(group).unwrap_or(pid),
            ppid: u32_at(stats, AC_PPID)?,
            user: Nanos::from_micros(u64_at(stats, AC_UTIME)?),
            system: Nanos::from_micros(u64_at(stats, AC_STIME)?),
            run: Nanos(u64_at(stats, CPU_RUN_VIRTUAL_TOTAL)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((value.len() + 4) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    /// A message of the given version and size of the structure.
    fn message(version: u16, size: usize, group: Option<u32>) -> Vec<u8> {
        let mut stats = vec![0u8; size];
        let mut put = |at: usize, bytes: &[u8]| {
            if let Some(place) = stats.get_mut(at..at + bytes.len()) {
                place.copy_from_slice(bytes);
            }
        };
        put(VERSION, &version.to_ne_bytes());
        put(AC_PID, &7u32.to_ne_bytes());
        put(AC_PPID, &5u32.to_ne_bytes());
        put(AC_UTIME, &4_000u64.to_ne_bytes());
        put(AC_STIME, &8_000u64.to_ne_bytes());
        put(CPU_RUN_VIRTUAL_TOTAL, &11_000_123u64.to_ne_bytes());
        put(AC_TGID, &6u32.to_ne_bytes());
        let mut bytes = packed(AGGR_PID, &[packed(1, &7u32.to_ne_bytes()), packed(STATS, &stats)].concat());
        if let Some(tgid) = group {
            bytes.extend(packed(AGGR_TGID, &packed(TGID, &tgid.to_ne_bytes())));
        }
        bytes
    }

    #[test]
    fn records_of_new_and_old_kernels() {
        let new = ExitRecord::parse(&message(13, 416, None)).unwrap();
        let times = (Nanos(4_000_000), Nanos(8_000_000), Nanos(11_000_123));
        assert_eq!((new.pid, new.tgid, new.ppid, (new.user, new.system, new.run)), (7, 6, 5, times));
        let old = |group| ExitRecord::parse(&message(8, 328, group)).unwrap().tgid;
        assert_eq!((old(None), old(Some(3))), (7, 3), "no ac_tgid there");
        assert_eq!(ExitRecord::parse(&message(8, 160, None)), None, "cut short");
        assert_eq!(ExitRecord::parse(&[]), None);
    }
}
