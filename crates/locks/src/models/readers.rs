//! The reader-writer lock: a writer is alone, readers see whole writes, and the last reader wakes the writer.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use super::explore;
use crate::RawAdaptiveRw;

/// Two numbers that are the same but while somebody writes. loom reports a reader beside a writer, and a read that does not
/// see what was written before.
struct Shared {
    lock: RawAdaptiveRw,
    data: UnsafeCell<[u32; 2]>,
}

#[allow(unsafe_code)]
// SAFETY: the data is touched only under the lock; loom checks that.
unsafe impl Sync for Shared {}

impl Shared {
    fn read(&self) -> u32 {
        self.lock.lock_shared();
        let seen = self.look();
        self.lock.unlock_shared();
        seen
    }

    fn write(&self) {
        self.lock.lock_exclusive();
        self.add();
        self.lock.unlock_exclusive();
    }

    /// The caller has the lock as a reader.
    fn look(&self) -> u32 {
        #[allow(unsafe_code)]
        // SAFETY: the pointer is the cell's, and the caller has the lock.
        let [one, other] = self.data.with(|data| unsafe { *data });
        assert_eq!(one, other, "half of a write was seen");
        one
    }

    /// The caller has the lock as a writer.
    fn add(&self) {
        #[allow(unsafe_code)]
        // SAFETY: as with `look`, and alone.
        self.data.with_mut(|data| unsafe { *data = [(*data)[0] + 1, (*data)[1] + 1] });
    }
}

/// Runs each beside the others, the first as the model's own thread, and expects so many writes and a lock at rest in the end.
fn beside(writes: u32, parts: &'static [fn(&Shared)]) {
    let shared = Arc::new(Shared { lock: RawAdaptiveRw::new(), data: UnsafeCell::new([0; 2]) });
    let threads: Vec<_> = parts[1..]
        .iter()
        .map(|part| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || part(&shared))
        })
        .collect();
    parts[0](&shared);
    for thread in threads {
        thread.join().expect("it does not panic");
    }
    assert_eq!(shared.look(), writes);
    assert!(shared.lock.words_are_zero());
}

fn read(shared: &Shared) {
    shared.read();
}

fn read_twice(shared: &Shared) {
    let before = shared.read();
    assert!(shared.read() >= before, "a write was undone");
}

fn write(shared: &Shared) {
    shared.write();
}

fn write_twice(shared: &Shared) {
    shared.write();
    shared.write();
}

fn try_both(shared: &Shared) {
    if shared.lock.try_lock_shared() {
        shared.look();
        assert!(!shared.lock.try_lock_exclusive(), "a reader is there");
        shared.lock.unlock_shared();
    }
    if shared.lock.try_lock_exclusive() {
        shared.add();
        assert!(!shared.lock.try_lock_shared(), "a writer is there");
        // Only what others write is counted.
        #[allow(unsafe_code)]
        // SAFETY: as with `look`, and alone.
        shared.data.with_mut(|data| unsafe { *data = [(*data)[0] - 1, (*data)[1] - 1] });
        shared.lock.unlock_exclusive();
    }
}

#[test]
fn a_reader_comes_again_beside_a_writer() {
    explore(Some(4), || beside(2, &[read_twice, write_twice]));
}

#[test]
fn two_readers_and_a_writer() {
    explore(Some(2), || beside(1, &[write, read, read]));
}

#[test]
fn two_writers_and_a_reader() {
    explore(Some(3), || beside(2, &[read, write, write]));
}

#[test]
fn a_try_does_not_wait() {
    explore(Some(2), || beside(2, &[try_both, write, write]));
}

#[test]
fn a_try_beside_a_reader_does_not_wait() {
    explore(Some(2), || beside(1, &[try_both, read, write]));
}
