//! Holds of the command's own locks, each of which was counted at the C library's functions.

use serde::{Deserialize, Serialize};

use super::code::CodeAddress;
use super::event::Tid;
use crate::Nanos;

/// All holds of the command's own locks during a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockUses {
    /// Paths of the files whose functions were probed, without symbolic links.
    pub files: Vec<String>,
    /// Sums over the holds, by process, lock, mode and calling instruction.
    pub uses: Vec<LockUse>,
    /// Time of the probes in each hold, measured on this machine before the run; absent if it could
    /// not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes_ns: Option<Nanos>,
    /// Number of holds that found no room in the tracer's tables.
    #[serde(default)]
    pub lost: u64,
}

/// Sums over the holds of one lock that began at one instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockUse {
    /// Process that took the lock.
    pub process: Tid,
    /// Address of the lock.
    pub address: u64,
    /// Mode in which the lock was held.
    pub mode: LockMode,
    /// Return address of the calls that took the lock.
    pub caller: u64,
    /// Last byte of these calls; absent if the address is in no known file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeAddress>,
    /// Number of holds.
    pub count: u64,
    /// Time of all holds, with that of the probes.
    pub held_ns: Nanos,
    /// Longest hold, with the time of the probes.
    pub longest_ns: Nanos,
    /// `CLOCK_MONOTONIC` at the end of the last hold.
    pub last_ns: Nanos,
}

/// Mode in which a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum LockMode {
    /// A mutex.
    Mutex,
    /// A reader-writer lock, together with other readers.
    Read,
    /// A reader-writer lock, alone.
    Write,
}
