//! Fixed work: arithmetic in registers.

use std::hint::black_box;

use morecores_study::Nanos;

use crate::clock::monotonic;

/// Number of independent chains. They keep a core's execution units full, so that a second thread
/// of the core slows the first.
const CHAINS: usize = 8;

/// Knuth's 64-bit multiplier, *The Art of Computer Programming*, volume 2, section 3.3.4, table 1,
/// line 26.
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

/// Runs `steps` steps; returns the duration in nanoseconds, and the instant of the end.
pub(super) fn time_repetition(steps: u64) -> (u64, Nanos) {
    let begin = monotonic();
    black_box(compute_chains(black_box(steps)));
    let end = monotonic();
    (end.since(begin).0, end)
}

/// Makes `steps` steps; each is a multiplication, an addition, a shift and an exclusive or on each
/// chain.
fn compute_chains(steps: u64) -> [u64; CHAINS] {
    let mut values: [u64; CHAINS] = std::array::from_fn(|i| i as u64 + 1);
    for _ in 0..steps {
        for value in &mut values {
            *value = value.wrapping_mul(MULTIPLIER).wrapping_add(1);
            *value ^= *value >> 33;
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_of_the_loop_is_made() {
        // Expected values, computed by hand for two steps of the first and the last chain.
        let step = |v: u64| {
            let v = v.wrapping_mul(MULTIPLIER).wrapping_add(1);
            v ^ (v >> 33)
        };
        assert_eq!(compute_chains(2)[0], step(step(1)));
        assert_eq!(compute_chains(2)[7], step(step(8)));
    }
}
