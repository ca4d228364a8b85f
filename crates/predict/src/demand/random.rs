//! Reproducible random draws for quantities that a trace does not show and a replay needs.

use morecores_study::Nanos;
use rand::{Rng, RngExt};

/// Exponentially distributed time with this mean in seconds, as for events without memory. Never
/// zero.
pub(super) fn exponential(random: &mut impl Rng, mean: f64) -> Nanos {
    let drawn: f64 = random.random();
    Nanos::from_secs_f64(-mean * (1.0 - drawn).ln()).max(Nanos(1))
}
