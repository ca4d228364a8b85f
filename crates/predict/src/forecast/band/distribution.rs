//! Predictive distribution of an elapsed time: a weighted set of draws, each blurred by the error
//! of its model.
//!
//! The values are logarithms of elapsed times. This module does not know where a draw comes from.

use statrs::distribution::{ContinuousCDF, Normal};

/// Standard deviation of the logarithm of elapsed time, towards less and towards more time.
pub(in crate::forecast) type Spread = [f64; 2];

/// Number of standard deviations between the quartiles of a normal distribution.
const QUARTILE_DISTANCE: f64 = 1.348_979_5;

/// Elapsed time of one draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::forecast) struct DrawnTime {
    /// Weight beside the other draws.
    pub(in crate::forecast) weight: f64,
    /// Logarithm of the elapsed time.
    pub(in crate::forecast) log_elapsed: f64,
    /// Whether the machine has no knee below the predicted count in this draw.
    pub(in crate::forecast) before_knee: bool,
}

/// Mixture of normal curves, one for each draw.
#[derive(Clone, Debug)]
pub(in crate::forecast) struct Distribution {
    /// Curves; never empty. Their weights add up to 1.
    curves: Vec<Curve>,
}

/// Normal curve with different deviations on its two sides.
#[derive(Clone, Copy, Debug)]
struct Curve {
    weight: f64,
    centre: f64,
    spread: Spread,
}

impl Distribution {
    /// Distribution of draws with an error of their own. `None` without a draw that has a weight
    /// and a finite value.
    pub(in crate::forecast) fn from_draws<'d>(
        draws: impl IntoIterator<Item = &'d DrawnTime>,
        spread: Spread,
    ) -> Option<Self> {
        let curves = draws
            .into_iter()
            .filter(|draw| draw.weight > 0.0 && draw.log_elapsed.is_finite())
            .map(|draw| Curve { weight: draw.weight, centre: draw.log_elapsed, spread });
        Self::normalise(curves.collect())
    }

    /// Mixture of distributions with these weights. `None` without one.
    pub(in crate::forecast) fn mix<'d>(parts: impl IntoIterator<Item = (f64, &'d Self)>) -> Option<Self> {
        let weighted = |(weight, part): (f64, &Self)| -> Vec<Curve> {
            part.curves.iter().map(|curve| Curve { weight: weight * curve.weight, ..*curve }).collect()
        };
        Self::normalise(parts.into_iter().flat_map(weighted).collect())
    }

    fn normalise(mut curves: Vec<Curve>) -> Option<Self> {
        let all: f64 = curves.iter().map(|curve| curve.weight).sum();
        curves.iter_mut().for_each(|curve| curve.weight /= all);
        (all > 0.0).then_some(Self { curves })
    }

    /// Value below which `share` of the distribution lies.
    pub(in crate::forecast) fn quantile(&self, share: f64) -> f64 {
        let reach =
            |side: f64| move |curve: &Curve| curve.centre + side * MOST_DEVIATIONS * curve.deviation(side);
        let mut low = self.curves.iter().map(reach(-1.0)).fold(f64::INFINITY, f64::min);
        let mut high = self.curves.iter().map(reach(1.0)).fold(f64::NEG_INFINITY, f64::max);
        let normal = Normal::standard();
        for _ in 0..BISECTIONS {
            let middle = low.midpoint(high);
            let below: f64 =
                self.curves.iter().map(|curve| curve.weight * curve.share_below(middle, &normal)).sum();
            if below < share { low = middle } else { high = middle }
        }
        low.midpoint(high)
    }

    pub(in crate::forecast) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Inverse of the variance that a normal distribution with the same quartiles has. A small
    /// share of draws far away does not change it.
    pub(in crate::forecast) fn precision(&self) -> f64 {
        let deviation = (self.quantile(0.75) - self.quantile(0.25)) / QUARTILE_DISTANCE;
        1.0 / deviation.powi(2).max(f64::MIN_POSITIVE)
    }

    /// Adds `distance` to all values.
    pub(in crate::forecast) fn shift(&mut self, distance: f64) {
        self.curves.iter_mut().for_each(|curve| curve.centre += distance);
    }

    /// Multiplies all distances from `middle` by `factor`.
    pub(in crate::forecast) fn widen(&mut self, middle: f64, factor: f64) {
        for curve in &mut self.curves {
            curve.centre = middle + factor * (curve.centre - middle);
            curve.spread = curve.spread.map(|deviation| factor * deviation);
        }
    }
}

/// Number of deviations beyond which a curve has ended.
const MOST_DEVIATIONS: f64 = 6.0;

/// Number of halvings of the range in which a quantile lies.
const BISECTIONS: u32 = 50;

impl Curve {
    /// Deviation on the side of this sign.
    const fn deviation(&self, side: f64) -> f64 {
        if side < 0.0 { self.spread[0] } else { self.spread[1] }
    }

    fn share_below(&self, value: f64, normal: &Normal) -> f64 {
        let distance = value - self.centre;
        let deviation = self.deviation(distance);
        if deviation > 0.0 { normal.cdf(distance / deviation) } else { f64::from(u8::from(distance >= 0.0)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_values(values: &[(f64, f64)], deviations: Spread) -> Distribution {
        let draw = |(weight, log_elapsed): &(f64, f64)| DrawnTime {
            weight: *weight,
            log_elapsed: *log_elapsed,
            before_knee: true,
        };
        Distribution::from_draws(&values.iter().map(draw).collect::<Vec<_>>(), deviations).unwrap()
    }

    #[test]
    fn one_draw_is_a_normal_curve_with_two_sides() {
        let one = from_values(&[(3.0, 1.0)], [0.1, 0.2]);
        assert!((one.median() - 1.0).abs() < 1e-9);
        assert!((one.quantile(0.05) - (1.0 - 0.164_485)).abs() < 1e-5);
        assert!((one.quantile(0.95) - (1.0 + 0.328_97)).abs() < 1e-5);
        assert!((from_values(&[(1.0, 1.0)], [0.1; 2]).precision() - 100.0).abs() < 0.01);
    }

    #[test]
    fn draws_without_error_are_steps() {
        let values: Vec<(f64, f64)> = (0..100).map(|value| (1.0, f64::from(value))).collect();
        let steps = from_values(&values, [0.0; 2]);
        assert!((steps.quantile(0.052) - 5.0).abs() < 1e-9 && (steps.quantile(0.949) - 94.0).abs() < 1e-9);
    }

    #[test]
    fn widening_keeps_the_middle() {
        let mut skewed = from_values(&[(3.0, 0.0), (1.0, 1.0)], [0.1; 2]);
        let (median, end) = (skewed.median(), skewed.quantile(0.95));
        skewed.widen(median, 2.0);
        assert!((skewed.median() - median).abs() < 1e-9);
        assert!((skewed.quantile(0.95) - (2.0 * end - median)).abs() < 1e-6);
    }

    #[test]
    fn weights_decide_a_mixture() {
        let [low, high] = [0.0, 1.0].map(|centre| from_values(&[(1.0, centre)], [0.01; 2]));
        let mixed = Distribution::mix([(1.0, &low), (9.0, &high)]).unwrap();
        assert!(mixed.quantile(0.05) < 0.1 && mixed.quantile(0.15) > 0.9);
        assert!(Distribution::mix([]).is_none());
        let none = DrawnTime { weight: 0.0, log_elapsed: 1.0, before_knee: true };
        assert!(Distribution::from_draws(&[none], [0.1; 2]).is_none());
    }
}
