//! Locks that spin, sleep, block or adapt, behind the traits of [`lock_api`]: they drop in where `parking_lot` is used.
//!
//! | lock | while another has it, a thread | type |
//! |---|---|---|
//! | 1 | spins until it is free | [`RawSpin`]; [`RawSpinBackoff`] looks ever less often |
//! | 2 | sleeps between tries | [`RawSleep`] |
//! | 3 | blocks until it is woken | [`RawBlock`] |
//! | 4 | spins while that is cheaper than blocking, then blocks | [`RawAdaptive`], [`RawAdaptiveRw`] |
//! | | spins, first come, first served | [`RawTicket`], [`RawMcs`] |
//!
//! The numbers are those of I. S. Jørgensen, "SMP - Symmetrical Multiprocessing" (EDM/2), who mends one lock in four
//! steps and leaves two exercises: how many times to spin, which [`cost`] and the experience that an adaptive lock
//! gathers answer, and nested ownership, which is [`ReentrantAdaptiveMutex`].
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
//! No lock starts a thread. The bound on spinning rests on a default price of a sleep and a wake-up; a program that wants this machine's
//! calls [`prepare`] once at its start, which measures it in two threads of its own.
//!
//! `no_std`; for Linux, whose futex the blocking ones use. The crate knows nothing of the rest of morecores, and must not:
//! it neither measures locks nor prints.
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
