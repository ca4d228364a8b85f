//! Waiting for another process or thread. A test must not depend on the speed of the machine. The
//! time limit is therefore longer than any machine needs on which running tests makes sense.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time after which a test fails instead of waiting for ever. On an idle machine the awaited event
/// takes milliseconds. A process of the lowest priority beside busy ones has a sixtieth of a CPU,
/// and several tests run at once.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Pause between two checks of the condition.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Waits until a condition holds.
///
/// # Panics
/// Panics if the condition does not hold after five minutes.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < TIMEOUT, "waited for {TIMEOUT:?} in vain until {what}");
        sleep(POLL_INTERVAL);
    }
}
