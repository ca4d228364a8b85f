//! The reader-writer form of the adaptive lock: many readers, or one writer.
//!
//! | word | meaning |
//! |---|---|
//! | `write_lock` | an adaptive lock: a writer holds it while it writes; a reader that arrives while a writer is present passes through it |
//!
//! | bits of `readers` | name | meaning |
//! |---|---|---|
//! | 0 | `WRITER` | a writer holds the write lock: readers must pass through it |
//! | 1 | `WRITER_SLEEPS` | that writer sleeps until the last reader has left |
//! | 2 to 31 | `READER` | number of readers |
//!
//! A waiting writer keeps new readers out, and all threads queue at the write lock, whose handoffs
//! prevent starvation. As with `parking_lot`, a reading thread must therefore not begin to read
//! again: with a writer in between, both would wait for ever.
//!
//! Orderings. A reader counts itself with `Acquire` and leaves with `Release`. A writer sees the
//! last reader leave with `Acquire`, so that it writes after all reads. A writer clears its mark
//! with `Release`, which pairs with a reader's counting. Then it frees the write lock, which pairs
//! with the next writer. A reader that passes through the write lock gets its `Acquire` from it. A
//! leaving writer touches the write lock last. A leaving reader touches `readers` last and passes
//! only its address to the kernel.

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::RawAdaptive;
use crate::primitive::{FutexWord, const_unless_modelled, pause};

const WRITER: u32 = 1;
const WRITER_SLEEPS: u32 = 2;
const READER: u32 = 4;

/// Bit that is set when the readers reach half of the largest possible count. No program has so
/// many threads, so guards must have been forgotten. The other half keeps the count from wrapping
/// while several threads find this out at one time.
const READER_OVERFLOW: u32 = 1 << 31;

/// Number of a writer's looks at leaving readers before it sleeps, as in the first
/// spin of the adaptive lock.
const SPIN_TRIES: u32 = if cfg!(loom) { 1 } else { 24 };

/// Adaptive reader-writer lock: many readers, or one writer.
#[derive(Debug)]
#[repr(C)]
pub struct RawAdaptiveRw {
    write_lock: RawAdaptive,
    readers: FutexWord,
}

impl RawAdaptiveRw {
    const_unless_modelled! {
        /// A free lock.
        pub fn new() -> Self {
            Self { write_lock: RawAdaptive::new(), readers: FutexWord::new(0) }
        }
    }

    /// Waits until this thread may read.
    ///
    /// # Panics
    /// With 2^29 concurrent readers, which means that guards were forgotten.
    #[inline]
    pub fn lock_shared(&self) {
        if !self.try_lock_shared() {
            self.lock_shared_contended();
        }
    }

    #[cold]
    fn lock_shared_contended(&self) {
        self.write_lock.lock();
        let is_full = self.readers.load(Relaxed) & READER_OVERFLOW != 0;
        if !is_full {
            // There is no writer: it would hold the write lock.
            self.readers.fetch_add(READER, Acquire);
        }
        self.write_lock.unlock();
        assert!(!is_full, "too many readers of a lock: were guards forgotten?");
    }

    /// Acquires the lock for reading if no writer is present or waits. Returns false also if the
    /// readers exceed the largest count.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        let mut seen = self.readers.load(Relaxed);
        while seen & (WRITER | READER_OVERFLOW) == 0 {
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
        if seen == READER | WRITER | WRITER_SLEEPS {
            FutexWord::wake_one(readers);
        }
    }

    /// Waits until this thread may read and write exclusively.
    #[inline]
    pub fn lock_exclusive(&self) {
        self.write_lock.lock();
        if self.readers.compare_exchange(0, WRITER, Acquire, Relaxed).is_err() {
            self.wait_for_readers();
        }
    }

    #[cold]
    fn wait_for_readers(&self) {
        let mut seen = self.readers.fetch_or(WRITER, Acquire) | WRITER;
        let mut spin_tries = SPIN_TRIES;
        while seen >= READER {
            if spin_tries > 0 {
                spin_tries -= 1;
                pause();
            } else if seen & WRITER_SLEEPS == 0 {
                // If a reader left in between, the word has changed, and the next look sees the
                // change.
                let _ = self.readers.compare_exchange(seen, seen | WRITER_SLEEPS, Relaxed, Relaxed);
            } else {
                self.readers.sleep_while(seen, None);
            }
            seen = self.readers.load(Acquire);
        }
    }

    /// Acquires the lock for writing if there are no readers and no writer.
    #[inline]
    pub fn try_lock_exclusive(&self) -> bool {
        if !self.write_lock.try_lock() {
            return false;
        }
        let is_exclusive = self.readers.compare_exchange(0, WRITER, Acquire, Relaxed).is_ok();
        if !is_exclusive {
            self.write_lock.unlock();
        }
        is_exclusive
    }

    #[inline]
    pub(crate) fn unlock_exclusive(&self) {
        // There is no reader, and new readers can only come through the write lock.
        self.readers.store(0, Release);
        self.write_lock.unlock();
    }

    /// Whether the lock has a reader or a writer.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.readers.load(Relaxed) != 0
    }

    /// Whether a writer is present, or waits until the readers have left.
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
        let lock = RawAdaptiveRw { readers: FutexWord::new(READER_OVERFLOW), ..RawAdaptiveRw::new() };
        assert!(!lock.try_lock_shared());
        lock.lock_shared();
    }
}
