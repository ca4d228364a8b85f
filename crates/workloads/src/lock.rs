//! The measured locks as one trait: each guards a number and is used as a program would use it.
//!
//! All dispatch is static, so that an uncontended lock does not pay for a call through a pointer.
//! The time measurements are elsewhere.

use std::sync::{Mutex, PoisonError};

use lock_api::RawMutex;

/// A lock around a number, initially free and zero.
pub trait Lock: Default + Sync {
    /// Prepares the lock for use at its final place: a lock of the C library must not be moved
    /// afterwards.
    fn initialise(&mut self) {}

    /// Acquires the lock, runs `work` on the number, and releases the lock.
    fn with<T>(&self, work: impl FnOnce(&mut u64) -> T) -> T;
}

impl Lock for Mutex<u64> {
    #[inline(always)]
    fn with<T>(&self, work: impl FnOnce(&mut u64) -> T) -> T {
        work(&mut self.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<R: RawMutex + Sync> Lock for lock_api::Mutex<R, u64>
where
    Self: Sync,
{
    #[inline(always)]
    fn with<T>(&self, work: impl FnOnce(&mut u64) -> T) -> T {
        work(&mut self.lock())
    }
}

/// A lock at its final place, with its number and padding. The lock's cache line contains nothing
/// else, and neither does the line that CPUs prefetch with it.
#[derive(Debug)]
#[repr(align(128))]
pub struct PaddedLock<L>(L);

impl<L: Lock> PaddedLock<L> {
    /// A free lock around zero.
    pub fn new() -> Box<Self> {
        let mut lock = Box::new(Self(L::default()));
        lock.0.initialise();
        lock
    }

    /// Acquires the lock, runs `work` on the number, and releases the lock.
    #[inline(always)]
    pub fn with<T>(&self, work: impl FnOnce(&mut u64) -> T) -> T {
        self.0.with(work)
    }
}

/// Lock type of each name.
pub mod table {
    use lock_api::Mutex;
    use morecores_locks as locks;

    /// [`locks::RawSpin`] around a number.
    pub type Spin = Mutex<locks::RawSpin, u64>;
    /// [`locks::RawSpinBackoff`] around a number.
    pub type SpinBackoff = Mutex<locks::RawSpinBackoff, u64>;
    /// [`locks::RawSleep`] around a number.
    pub type Sleep = Mutex<locks::RawSleep, u64>;
    /// [`locks::RawBlock`] around a number.
    pub type Block = Mutex<locks::RawBlock, u64>;
    /// [`locks::RawAdaptive`] around a number.
    pub type Adaptive = Mutex<locks::RawAdaptive, u64>;
    /// [`locks::RawTicket`] around a number.
    pub type Ticket = Mutex<locks::RawTicket, u64>;
    /// [`locks::RawMcs`] around a number.
    pub type Mcs = Mutex<locks::RawMcs, u64>;
    /// Mutex of the standard library around a number.
    pub type Std = std::sync::Mutex<u64>;
    /// Mutex of `parking_lot` around a number.
    pub type ParkingLot = Mutex<parking_lot::RawMutex, u64>;
    pub use crate::c_lock::{C11Spin, PthreadAdaptive, PthreadNormal, PthreadSpin};
}

/// Evaluates an expression with `$lock` as the type of the named lock, or the other expression for
/// a kernel lock. A kernel lock guards no data of a program.
#[macro_export]
macro_rules! with_lock {
    ($name:expr, $lock:ident => $body:expr, kernel => $kernel:expr $(,)?) => {{
        use $crate::lock::table;
        macro_rules! with_type {
            ($type:ty) => {{
                type $lock = $type;
                $body
            }};
        }
        match $name {
            ::morecores_study::lock::LockName::Spin => with_type!(table::Spin),
            ::morecores_study::lock::LockName::SpinBackoff => with_type!(table::SpinBackoff),
            ::morecores_study::lock::LockName::Sleep => with_type!(table::Sleep),
            ::morecores_study::lock::LockName::Block => with_type!(table::Block),
            ::morecores_study::lock::LockName::Adaptive => with_type!(table::Adaptive),
            ::morecores_study::lock::LockName::Ticket => with_type!(table::Ticket),
            ::morecores_study::lock::LockName::Mcs => with_type!(table::Mcs),
            ::morecores_study::lock::LockName::Std => with_type!(table::Std),
            ::morecores_study::lock::LockName::ParkingLot => with_type!(table::ParkingLot),
            ::morecores_study::lock::LockName::PthreadNormal => with_type!(table::PthreadNormal),
            ::morecores_study::lock::LockName::PthreadAdaptive => with_type!(table::PthreadAdaptive),
            ::morecores_study::lock::LockName::PthreadSpin => with_type!(table::PthreadSpin),
            ::morecores_study::lock::LockName::C11Spin => with_type!(table::C11Spin),
            ::morecores_study::lock::LockName::Kernel => $kernel,
        }
    }};
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::team;
    use morecores_study::lock::LockName;
    use std::time::{Duration, Instant};

    /// Four threads add one twice each, and compare the number in between, so that an intruder is
    /// detected. The test is limited by time: a lock that is handed out in turn costs a time slice
    /// whenever its next owner is not running.
    fn check_exclusion<L: Lock>(name: LockName) {
        let lock = &*PaddedLock::<L>::new();
        let end = Instant::now() + Duration::from_millis(30);
        let piece = || {
            let mut added = 0_u64;
            while Instant::now() < end {
                for _ in 0..10 {
                    lock.with(|number| {
                        let before = std::hint::black_box(*number);
                        *number = std::hint::black_box(before + 1);
                    });
                }
                added += 10;
            }
            added
        };
        let added: u64 = team::run("lock", vec![piece; 4]).unwrap().iter().sum();
        assert_eq!(lock.with(|number| *number), added, "{name}");
    }

    #[test]
    fn every_lock_excludes() {
        for name in LockName::ALL {
            with_lock!(name, L => check_exclusion::<L>(name), kernel => ());
        }
    }

    #[test]
    fn a_lock_and_its_number_lie_in_lines_of_their_own() {
        for name in LockName::ALL {
            with_lock!(name, L => assert_eq!(align_of::<PaddedLock<L>>(), 128), kernel => ());
        }
    }
}
