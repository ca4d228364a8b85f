//! Table of locks that the laboratory knows: their names, and the way each lock waits.

use serde::{Deserialize, Serialize};

use crate::AxisValue;

/// Origin of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockOrigin {
    /// Lock of `morecores-locks`.
    Own,
    /// Lock of the C library, the standard library, another crate or the kernel.
    System,
}

/// Behaviour of a thread while another thread has the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitStrategy {
    /// Spins until the lock is free.
    Spins,
    /// Sleeps for a fixed time between tries.
    Sleeps,
    /// Blocks until the unlocking thread wakes it.
    Blocks,
    /// Spins for a bounded time, then blocks until it is woken.
    SpinsThenBlocks,
}

/// Lock of the laboratory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum LockName {
    /// Implementation 1: spins until the lock is free (test and test-and-set).
    Spin,
    /// Implementation 1 with a longer wait after each failed try.
    SpinBackoff,
    /// Implementation 2: sleeps between tries.
    Sleep,
    /// Implementation 3: blocks on an event, with a count of waiters.
    Block,
    /// Implementation 4: spins a bounded number of times, then blocks.
    Adaptive,
    /// Spinning lock that serves waiters in their order of arrival.
    Ticket,
    /// Spinning lock that serves waiters in order; each waiter spins on its own word
    /// (Mellor-Crummey and Scott).
    Mcs,
    /// `std::sync::Mutex`.
    Std,
    /// `parking_lot::Mutex`.
    ParkingLot,
    /// `pthread_mutex_t` of the default kind.
    PthreadNormal,
    /// `pthread_mutex_t` of the kind `PTHREAD_MUTEX_ADAPTIVE_NP`.
    PthreadAdaptive,
    /// `pthread_spinlock_t`.
    PthreadSpin,
    /// Loop around a C11 `atomic_flag`.
    C11Spin,
    /// Kernel lock, reached through a system call that takes it.
    Kernel,
}

impl LockName {
    /// All locks, those of `morecores-locks` first, in the order in which they are shown.
    pub const ALL: [Self; 14] = [
        Self::Spin,
        Self::SpinBackoff,
        Self::Sleep,
        Self::Block,
        Self::Adaptive,
        Self::Ticket,
        Self::Mcs,
        Self::Std,
        Self::ParkingLot,
        Self::PthreadNormal,
        Self::PthreadAdaptive,
        Self::PthreadSpin,
        Self::C11Spin,
        Self::Kernel,
    ];

    /// Locks with which `adaptive` is compared: the locks that programs use today.
    pub const PEERS: [Self; 4] = [Self::Std, Self::ParkingLot, Self::PthreadNormal, Self::PthreadAdaptive];

    /// Name of the lock on the command line, in tables and in JSON.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// Origin of the lock.
    pub const fn origin(self) -> LockOrigin {
        self.row().1
    }

    /// Behaviour of the lock's waiters.
    pub const fn wait_strategy(self) -> WaitStrategy {
        self.row().2
    }

    /// Short description of the lock.
    pub const fn title(self) -> &'static str {
        self.row().3
    }

    const fn row(self) -> (&'static str, LockOrigin, WaitStrategy, &'static str) {
        use LockOrigin::{Own, System};
        use WaitStrategy::{Blocks, Sleeps, Spins, SpinsThenBlocks};
        match self {
            Self::Spin => ("spin", Own, Spins, "1: spins until it is free"),
            Self::SpinBackoff => {
                ("spin-backoff", Own, Spins, "1 with backoff: spins, ever longer between tries")
            }
            Self::Sleep => ("sleep", Own, Sleeps, "2: sleeps between tries"),
            Self::Block => ("block", Own, Blocks, "3: blocks, and counts its waiters"),
            Self::Adaptive => ("adaptive", Own, SpinsThenBlocks, "4: spins a bounded time, then blocks"),
            Self::Ticket => ("ticket", Own, Spins, "first come, first served, spinning"),
            Self::Mcs => ("mcs", Own, Spins, "a queue of spinners, each on a word of its own"),
            Self::Std => ("std", System, SpinsThenBlocks, "std::sync::Mutex"),
            Self::ParkingLot => ("parking-lot", System, SpinsThenBlocks, "parking_lot::Mutex"),
            Self::PthreadNormal => ("pthread-normal", System, Blocks, "pthread_mutex_t"),
            Self::PthreadAdaptive => {
                ("pthread-adaptive", System, SpinsThenBlocks, "pthread_mutex_t, PTHREAD_MUTEX_ADAPTIVE_NP")
            }
            Self::PthreadSpin => ("pthread-spin", System, Spins, "pthread_spinlock_t"),
            Self::C11Spin => ("c11-spin", System, Spins, "C11 atomic_flag in a loop"),
            Self::Kernel => ("kernel", System, SpinsThenBlocks, "a mutex of the kernel, by a system call"),
        }
    }
}

impl std::fmt::Display for LockName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// Error for a name that no lock has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no lock `{0}`; there are: {names}", names = LockName::ALL.map(LockName::name).join(", "))]
pub struct UnknownLock(pub String);

impl std::str::FromStr for LockName {
    type Err = UnknownLock;

    fn from_str(text: &str) -> Result<Self, UnknownLock> {
        Self::ALL.into_iter().find(|lock| lock.name() == text).ok_or_else(|| UnknownLock(text.to_owned()))
    }
}

impl From<LockName> for AxisValue {
    fn from(name: LockName) -> Self {
        Self::Text(name.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_has_one_name_everywhere() {
        for lock in LockName::ALL {
            assert_eq!(lock.name().parse(), Ok(lock));
            assert_eq!(serde_json::to_value(lock).unwrap(), lock.name());
        }
        let error = "spine".parse::<LockName>().unwrap_err().to_string();
        assert!(error.starts_with("there is no lock `spine`; there are: spin, spin-backoff"), "{error}");
    }
}
