//! Tests of every lock as programs use it: it excludes, it loses no wake-up, a try does not wait,
//! and nested ownership nests. The models (`src/models.rs`) check every order of steps on a
//! modelled machine; these tests run on the real one.
#![allow(clippy::expect_used, reason = "a test may panic")]

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use lock_api::{Mutex, RawMutex, RwLock};
use morecores_locks::{
    AdaptiveMutex, AdaptiveRwLock, RawAdaptive, RawAdaptiveRw, RawBlock, RawMcs, RawSleep, RawSpin,
    RawSpinBackoff, RawTicket, ReentrantAdaptiveMutex,
};

/// More threads than a small machine has CPUs, but few enough for locks that spin in order of
/// arrival.
const THREADS: u64 = 4;

/// Adds under the lock without an atomic operation, so that a failure to exclude loses additions.
fn check_exclusion<R: RawMutex + Sync + Send>(turns: u64) {
    let counter = Mutex::<R, u64>::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for turn in 0..turns {
                    let mut counter = counter.lock();
                    *counter += 1;
                    // The owner sometimes holds the lock long enough for others to go to sleep.
                    if turn % 256 == 0 {
                        thread::yield_now();
                    }
                }
            });
        }
    });
    assert_eq!(*counter.lock(), THREADS * turns);
    assert!(!counter.is_locked());
}

/// Checks that a try fails at once while another thread owns the lock, and succeeds afterwards.
fn check_try<R: RawMutex + Sync + Send>() {
    let data = Mutex::<R, u8>::new(1);
    {
        let _guard = data.lock();
        assert!(data.is_locked());
        thread::scope(|scope| {
            assert!(scope.spawn(|| data.try_lock().is_none()).join().expect("a thread"));
        });
    }
    let guard = data.try_lock().expect("it is free");
    assert!(data.try_lock().is_none());
    drop(guard);
    assert!(!data.is_locked());
}

/// Checks that a thread that waits while the owner sleeps gets the lock afterwards. A lost wake-up
/// would make it wait for ever.
fn check_handoff<R: RawMutex + Sync + Send>() {
    let data = Mutex::<R, bool>::new(false);
    let (started, has_started) = mpsc::channel();
    let mut guard = data.lock();
    thread::scope(|scope| {
        let data = &data;
        let waiter = scope.spawn(move || {
            started.send(()).expect("the other thread listens");
            *data.lock()
        });
        has_started.recv().expect("the other thread comes");
        thread::sleep(Duration::from_millis(30));
        *guard = true;
        drop(guard);
        assert!(waiter.join().expect("a thread"), "it did not wait for the owner");
    });
}

macro_rules! each_lock {
    ($($name:ident: $lock:ty, $turns:expr;)*) => { $(
        #[test]
        fn $name() {
            check_exclusion::<$lock>($turns);
            check_try::<$lock>();
            check_handoff::<$lock>();
        }
    )* };
}

each_lock! {
    spin: RawSpin, 20_000;
    spin_backoff: RawSpinBackoff, 20_000;
    sleep: RawSleep, 5_000;
    block: RawBlock, 50_000;
    adaptive: RawAdaptive, 200_000;
    // Each handoff to a thread that is off its CPU takes a time slice.
    ticket: RawTicket, 60;
    mcs: RawMcs, 60;
}

#[test]
fn readers_read_together_and_a_writer_is_alone() {
    let data = RwLock::<RawAdaptiveRw, [u64; 2]>::new([0; 2]);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..20_000 {
                    let mut data = data.write();
                    data[0] += 1;
                    data[1] += 1;
                }
            });
            scope.spawn(|| {
                for _ in 0..20_000 {
                    let data = data.read();
                    assert_eq!(data[0], data[1], "half of a write was seen");
                }
            });
        }
    });
    assert_eq!(*data.read(), [40_000; 2]);
    let first = data.read();
    assert!(data.try_read().is_some() && data.try_write().is_none());
    drop(first);
    let writer = data.try_write().expect("nobody is there");
    assert!(data.try_read().is_none() && data.try_write().is_none());
    drop(writer);
    assert!(!data.is_locked());
}

#[test]
fn a_writer_gets_the_lock_despite_constant_readers() {
    let data = AdaptiveRwLock::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| while !*data.read() {});
        }
        thread::sleep(Duration::from_millis(20));
        *data.write() = true;
    });
}

#[test]
fn an_owner_may_lock_again_and_others_may_not() {
    let nested = ReentrantAdaptiveMutex::new(5);
    let outer = nested.lock();
    let inner = nested.lock();
    let others_get_it =
        || thread::scope(|scope| scope.spawn(|| nested.try_lock().is_some()).join().expect("a thread"));
    assert_eq!(*outer + *inner, 10);
    assert!(!others_get_it());
    drop(inner);
    assert!(!others_get_it(), "unlocked once of twice");
    drop(outer);
    assert!(others_get_it());
}

#[test]
fn a_thread_that_never_pauses_does_not_starve_others() {
    let data = AdaptiveMutex::new(0_u64);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        // The thread takes the lock again before a woken thread can arrive. Without handoffs the
        // other thread gets the lock only by luck, which takes long or for ever. The models check
        // the order.
        let (data, stop) = (&data, &stop);
        scope.spawn(move || {
            while !stop.load(Relaxed) {
                let mut data = data.lock();
                for _ in 0..20_000 {
                    *data = black_box(*data + 1);
                }
            }
        });
        for _ in 0..50 {
            thread::sleep(Duration::from_millis(1));
            *data.lock() += 1;
        }
        stop.store(true, Relaxed);
    });
    assert_eq!(*data.lock() % 20_000, 50, "each turn was made whole");
}
