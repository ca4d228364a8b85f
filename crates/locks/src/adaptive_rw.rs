//! The reader-writer form of the adaptive lock: many readers, or one writer.
//!
//! | word | meaning |
//! |---|---|
//! | `gate` | an adaptive lock: a writer has it for as long as it writes; a reader that comes while a writer is there passes through it |
//!
//! | bits of `readers` | name | meaning |
//! |---|---|---|
//! | 0 | `WRITER` | a writer has the gate: readers must go through it |
//! | 1 | `SLEEPS` | that writer sleeps until the last reader has left |
//! | 2 to 31 | `READER` | how many readers there are |
//!
//! A writer that waits keeps new readers out, and all queue at the gate, whose gifts see to it that nobody starves. So, as with
//! `parking_lot`, a thread that reads must not begin to read again: a writer may have come between, and both would wait for ever.
//!
//! Orderings. A reader counts itself with `Acquire` and leaves with `Release`; a writer sees the last one leave with
//! `Acquire`, so that it writes after all that was read. A writer clears its mark with `Release`, which a reader's counting
//! pairs with, and then frees the gate, which pairs with the next writer. A reader that comes through the gate has its
//! `Acquire` from that. The gate is the last word that leaving touches, as a writer; a reader that leaves touches `readers` last
//! and passes its address alone to the kernel.

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::RawAdaptive;
use crate::primitive::{Word, const_unless_modelled, pause};

const WRITER: u32 = 1;
const SLEEPS: u32 = 2;
const READER: u32 = 4;

/// Set where half as many readers are there as can be counted. No program has so many threads: their guards were forgotten.
/// The other half keeps the count from wrapping while threads find that out at the same time.
const TOO_MANY: u32 = 1 << 31;

/// Looks of a writer at readers that are about to leave, before it sleeps: those of the adaptive lock's glance.
const GLANCES: u32 = if cfg!(loom) { 1 } else { 24 };

/// Many readers, or one writer.
#[derive(Debug)]
#[repr(C)]
pub struct RawAdaptiveRw {
    gate: RawAdaptive,
    readers: Word,
}

impl RawAdaptiveRw {
    const_unless_modelled! {
        /// A free lock.
        pub fn new() -> Self {
            Self { gate: RawAdaptive::new(), readers: Word::new(0) }
        }
    }

    /// Waits until this thread may read.
    ///
    /// # Panics
    /// With 2^29 readers at once: their guards were forgotten.
    #[inline]
    pub fn lock_shared(&self) {
        if !self.try_lock_shared() {
            self.lock_shared_contended();
        }
    }

    #[cold]
    fn lock_shared_contended(&self) {
        self.gate.lock();
        let is_full = self.readers.load(Relaxed) & TOO_MANY != 0;
        if !is_full {
            // No writer: it would have the gate.
            self.readers.fetch_add(READER, Acquire);
        }
        self.gate.unlock();
        assert!(!is_full, "too many readers of a lock: were guards forgotten?");
    }

    /// Reads where no writer is there or waits. False also where more readers are there than can be counted.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        let mut seen = self.readers.load(Relaxed);
        while seen & (WRITER | TOO_MANY) == 0 {
            match self.readers.compare_exchange_weak(seen, seen + READER, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    #[inline]
    pub(crate) fn unlock_shared(&self) {
        let readers = ptr::from_ref(&self.readers);
        let seen = self.readers.fetch_sub(READER, Release);
        if seen == READER | WRITER | SLEEPS {
            Word::wake_one(readers);
        }
    }

    /// Waits until this thread alone may read and write.
    #[inline]
    pub fn lock_exclusive(&self) {
        self.gate.lock();
        if self.readers.compare_exchange(0, WRITER, Acquire, Relaxed).is_err() {
            self.await_readers();
        }
    }

    #[cold]
    fn await_readers(&self) {
        let mut seen = self.readers.fetch_or(WRITER, Acquire) | WRITER;
        let mut glances = GLANCES;
        while seen >= READER {
            if glances > 0 {
                glances -= 1;
                pause();
            } else if seen & SLEEPS == 0 {
                // Where a reader left meanwhile, the word is another and the next look tells.
                let _ = self.readers.compare_exchange(seen, seen | SLEEPS, Relaxed, Relaxed);
            } else {
                self.readers.sleep_while(seen, None);
            }
            seen = self.readers.load(Acquire);
        }
    }

    /// Writes where nobody is there.
    #[inline]
    pub fn try_lock_exclusive(&self) -> bool {
        if !self.gate.try_lock() {
            return false;
        }
        let alone = self.readers.compare_exchange(0, WRITER, Acquire, Relaxed).is_ok();
        if !alone {
            self.gate.unlock();
        }
        alone
    }

    #[inline]
    pub(crate) fn unlock_exclusive(&self) {
        // No reader is there, and none can come but through the gate.
        self.readers.store(0, Release);
        self.gate.unlock();
    }

    /// Whether anybody reads or writes.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.readers.load(Relaxed) != 0
    }

    /// Whether anybody writes, or waits until the readers have left.
    #[inline]
    pub fn is_locked_exclusive(&self) -> bool {
        self.readers.load(Relaxed) & WRITER != 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "too many readers")]
    fn the_count_of_readers_cannot_wrap() {
        let lock = RawAdaptiveRw { readers: Word::new(TOO_MANY), ..RawAdaptiveRw::new() };
        assert!(!lock.try_lock_shared());
        lock.lock_shared();
    }
}
