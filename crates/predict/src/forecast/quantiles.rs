//! Median and 90% range of a figure over the draws of an ensemble. This module knows neither draws
//! nor programs.

/// Median of a figure, with the 5% and 95% quantiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Quantiles {
    /// 5% quantile.
    pub(super) low: f64,
    /// Median.
    pub(super) middle: f64,
    /// 95% quantile.
    pub(super) high: f64,
}

impl Quantiles {
    /// Quantiles of these values. `None` without a value.
    pub(super) fn from_draws(mut values: Vec<f64>) -> Option<Self> {
        values.sort_unstable_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let quantile = |share: f64| values[(last as f64 * share).round() as usize];
        Some(Self { low: quantile(0.05), middle: quantile(0.5), high: quantile(0.95) })
    }

    /// Figure without a spread.
    pub(super) const fn certain(value: f64) -> Self {
        Self { low: value, middle: value, high: value }
    }

    /// Ends of the 90% band.
    pub(super) const fn band(self) -> [f64; 2] {
        [self.low, self.high]
    }

    /// Quantiles of an increasing function of the figure.
    pub(super) fn map(self, function: impl Fn(f64) -> f64) -> Self {
        Self { low: function(self.low), middle: function(self.middle), high: function(self.high) }
    }

    /// Quantiles of a decreasing function of the figure.
    pub(super) fn map_decreasing(self, function: impl Fn(f64) -> f64) -> Self {
        Self { low: function(self.high), middle: function(self.middle), high: function(self.low) }
    }

    /// Quantiles with a further, independent error: `factor` at each end of the 90% band.
    pub(super) fn widen(self, factor: f64) -> Self {
        let wider = |ratio: f64| ratio.ln().hypot(factor.ln()).exp();
        if self.middle <= 0.0 {
            return self;
        }
        Self {
            low: self.middle / wider(self.middle / self.low),
            middle: self.middle,
            high: self.middle * wider(self.high / self.middle),
        }
    }

    /// Larger value of the two figures at each quantile.
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            low: self.low.max(other.low),
            middle: self.middle.max(other.middle),
            high: self.high.max(other.high),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_draws() {
        let of_40 = Quantiles::from_draws((0..41).rev().map(f64::from).collect()).unwrap();
        assert_eq!(of_40, Quantiles { low: 2.0, middle: 20.0, high: 38.0 });
        assert_eq!(of_40.map_decreasing(|value| -value).band(), [-38.0, -2.0]);
        assert_eq!(Quantiles::from_draws(Vec::new()), None);
        let wider = Quantiles { low: 50.0, middle: 100.0, high: 100.0 }.widen(1.5);
        assert!(wider.low < 50.0 && wider.middle == 100.0 && (wider.high - 150.0).abs() < 1e-9, "{wider:?}");
    }
}
