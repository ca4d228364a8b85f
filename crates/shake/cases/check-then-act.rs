//! A check and an act, each under the lock, and the lock given up in between.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

static SEATS: Mutex<i32> = Mutex::new(0);

fn work(turns: u32) {
    for turn in 0..turns {
        black_box(turn);
    }
}

/// Takes a seat if there is one.
fn book() {
    if cfg!(twin) {
        let mut seats = SEATS.lock().unwrap();
        if *seats > 0 {
            *seats -= 1;
        }
    } else {
        let is_free = *SEATS.lock().unwrap() > 0;
        if is_free {
            *SEATS.lock().unwrap() -= 1;
        }
    }
}

fn worker() {
    for _ in 0..20 {
        work(40_000);
        book();
    }
}

fn main() -> ExitCode {
    *SEATS.lock().unwrap() = 39;
    thread::scope(|scope| {
        scope.spawn(worker);
        scope.spawn(worker);
    });
    ExitCode::from(u8::from(*SEATS.lock().unwrap() < 0))
}
