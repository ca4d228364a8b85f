//! What a trace does not show and a replay needs all the same is drawn, the same way each time.

use morecores_study::Nanos;
use rand::{Rng, RngExt};

/// A time of this mean, in seconds, of something that happens at random and knows nothing of when it last did. Never nothing.
pub(super) fn exponential(random: &mut impl Rng, mean: f64) -> Nanos {
    let drawn: f64 = random.random();
    Nanos::from_secs_f64(-mean * (1.0 - drawn).ln()).max(Nanos(1))
}
