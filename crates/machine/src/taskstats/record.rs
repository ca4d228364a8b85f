//! An exit record: `struct taskstats` of include/uapi/linux/taskstats.h, by its offsets.
//!
//! New fields are only added at the end, so the offsets are valid for every version that has the
//! field. The alignment in the header makes all offsets equal on 32 and 64 bits.

use morecores_study::Nanos;

use super::message::{attribute, attributes, read_u16, read_u32, read_u64};

/// `TASKSTATS_TYPE_TGID`, `TASKSTATS_TYPE_STATS`, `TASKSTATS_TYPE_AGGR_PID` and
/// `TASKSTATS_TYPE_AGGR_TGID`.
const TGID: u16 = 2;
const STATS: u16 = 3;
const AGGR_PID: u16 = 4;
const AGGR_TGID: u16 = 5;

/// Offsets of the fields in bytes.
const VERSION: usize = 0;
const CPU_RUN_VIRTUAL_TOTAL: usize = 72;
const AC_PID: usize = 128;
const AC_PPID: usize = 132;
const AC_UTIME: usize = 152;
const AC_STIME: usize = 160;
const AC_TGID: usize = 368;
/// First version with `ac_tgid`.
const HAS_TGID: u16 = 12;

/// Kernel's record of a task that exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExitRecord {
    /// Number of the thread.
    pub(super) pid: u32,
    /// Number of the thread's process. Before version 12, only the record of the last thread of a
    /// process has it; otherwise it is assumed to be `pid`.
    pub(super) tgid: u32,
    /// Number of the parent process at the time of the exit; equal for a process and each of its
    /// threads.
    pub(super) ppid: u32,
    /// User time in raw ticks: `task_cputime`, in `bacct_add_tsk` of kernel/tsacct.c.
    pub(super) user: Nanos,
    /// System time in raw ticks, from the same source.
    pub(super) system: Nanos,
    /// Time on a CPU, `sum_exec_runtime`; the neighbouring `cpu_run_real_total` is the sum of the
    /// ticks (kernel/delayacct.c).
    pub(super) run: Nanos,
}

impl ExitRecord {
    /// Parses the attributes of a message.
    pub(super) fn parse(message: &[u8]) -> Option<Self> {
        let stats = attribute(attribute(message, AGGR_PID)?, STATS)?;
        let pid = read_u32(stats, AC_PID)?;
        let own =
            Some(AC_TGID).filter(|_| read_u16(stats, VERSION).is_some_and(|version| version >= HAS_TGID));
        let group_id = own.and_then(|at| read_u32(stats, at));
        // The kernel sends this attribute with the last thread of a process that had several.
        let group = || {
            let group = attributes(message).find(|(kind, _)| *kind == AGGR_TGID)?.1;
            read_u32(attribute(group, TGID)?, 0)
        };
        Some(Self {
            pid,
            tgid: group_id.or_else(group).unwrap_or(pid),
            ppid: read_u32(stats, AC_PPID)?,
            user: Nanos::from_micros(read_u64(stats, AC_UTIME)?),
            system: Nanos::from_micros(read_u64(stats, AC_STIME)?),
            run: Nanos(read_u64(stats, CPU_RUN_VIRTUAL_TOTAL)?),
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

    /// A message with the given version and size of the structure.
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
    fn records_of_new_and_old_kernels_are_parsed() {
        let new = ExitRecord::parse(&message(13, 416, None)).unwrap();
        let times = (Nanos(4_000_000), Nanos(8_000_000), Nanos(11_000_123));
        assert_eq!((new.pid, new.tgid, new.ppid, (new.user, new.system, new.run)), (7, 6, 5, times));
        let old = |group| ExitRecord::parse(&message(8, 328, group)).unwrap().tgid;
        assert_eq!((old(None), old(Some(3))), (7, 3), "no ac_tgid there");
        assert_eq!(ExitRecord::parse(&message(8, 160, None)), None, "cut short");
        assert_eq!(ExitRecord::parse(&[]), None);
    }
}
