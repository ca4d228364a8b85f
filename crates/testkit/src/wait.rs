//! Waiting for what another process or thread is to do. A test must not tell how fast a machine is, so its patience is
//! that of somebody who gives the test up: no machine on which tests are worth running takes so long.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time after which a test fails rather than waits for ever. What is waited for takes milliseconds on an idle machine; a
/// process of the lowest priority beside busy ones has a sixtieth of a CPU, and tests run several at once.
const PATIENCE: Duration = Duration::from_secs(300);

/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(2);

/// Waits until something holds that must come to hold.
///
/// # Panics
/// A condition that does not hold after five minutes.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "waited for {PATIENCE:?} in vain until {what}");
        sleep(PAUSE);
    }
}
