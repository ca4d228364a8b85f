//! A counter of atomic loads and stores. Each is atomic; an increment of both is not. The compiler
//! makes one instruction of it, without LOCK.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static COUNTER: AtomicU32 = AtomicU32::new(0);

fn work(turns: u32) {
    for turn in 0..turns {
        black_box(turn);
    }
}

fn increment() {
    if cfg!(twin) {
        COUNTER.fetch_add(1, Ordering::Relaxed);
    } else {
        COUNTER.store(COUNTER.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

fn worker() {
    for _ in 0..20 {
        work(40_000);
        increment();
    }
}

fn main() -> ExitCode {
    thread::scope(|scope| {
        scope.spawn(worker);
        scope.spawn(worker);
    });
    ExitCode::from(u8::from(COUNTER.load(Ordering::Relaxed) != 40))
}
