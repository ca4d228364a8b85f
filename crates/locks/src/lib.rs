//! Locks that spin, sleep, block or adapt, behind the traits of [`lock_api`]: drop-in replacements
//! for those of `parking_lot`.
//!
//! | lock | behaviour of a waiting thread | type |
//! |---|---|---|
//! | 1 | spins until the lock is free | [`RawSpin`]; [`RawSpinBackoff`] looks less and less often |
//! | 2 | sleeps between attempts | [`RawSleep`] |
//! | 3 | blocks until it is woken | [`RawBlock`] |
//! | 4 | spins while that is cheaper than blocking, then blocks | [`RawAdaptive`], [`RawAdaptiveRw`] |
//! | | spins, first come, first served | [`RawTicket`], [`RawMcs`] |
//!
//! The numbers in the table follow I. S. Jørgensen, "SMP - Symmetrical Multiprocessing" (EDM/2).
//! The article improves one lock in four steps and leaves two exercises. The first is the number of
//! spins, which [`cost`] and the adaptive lock's spin history answer. The second is nested
//! ownership, which [`ReentrantAdaptiveMutex`] provides.
//!
//! ```
//! use morecores_locks::{AdaptiveMutex, AdaptiveRwLock, ReentrantAdaptiveMutex};
//!
//! static TOTAL: AdaptiveMutex<u64> = AdaptiveMutex::new(0);
//! *TOTAL.lock() += 1;
//!
//! let settings = AdaptiveRwLock::new(vec![1, 2]);
//! assert_eq!(settings.read().len(), 2);
//! settings.write().push(3);
//!
//! let nested = ReentrantAdaptiveMutex::new(5);
//! let outer = nested.lock();
//! let inner = nested.lock();
//! assert_eq!(*outer, *inner);
//! ```
//!
//! No lock starts a thread. The limit on spinning uses a default cost of a sleep and a wake-up. A
//! program calls [`prepare`] once at its start to use the cost on this machine instead; [`prepare`]
//! measures it in two threads of its own.
//!
//! The crate is `no_std` and for Linux, whose futex the blocking locks use. The crate must not know
//! the rest of morecores: it neither measures locks nor prints.
#![cfg_attr(not(any(test, loom)), no_std)]

mod adaptive;
mod adaptive_rw;
#[cfg(not(loom))]
mod aliases;
mod block;
#[cfg(not(loom))]
pub mod cost;
mod mcs;
#[cfg(all(test, loom))]
mod models;
mod primitive;
#[cfg(not(loom))]
mod raw;
mod sleep;
mod spin;
mod ticket;

pub use adaptive::RawAdaptive;
pub use adaptive_rw::RawAdaptiveRw;
#[cfg(not(loom))]
pub use aliases::*;
pub use block::RawBlock;
#[cfg(not(loom))]
pub use cost::prepare;
pub use mcs::RawMcs;
pub use sleep::RawSleep;
pub use spin::{RawSpin, RawSpinBackoff};
pub use ticket::RawTicket;
