//! Width of the band of a prediction. This module alone decides it.
//!
//! A spread is a standard deviation of the logarithm of elapsed time. It arises in four steps:
//!
//! 1. [`draws`]: the replays of one program differ by the quantities that no trace shows.
//!    [`Middle::from_log_ratios`] turns them into a spread.
//! 2. [`replay_spread`] and [`form_spread`] add the error of the model itself: by distance, by its
//!    back-test, by the measurement, and by what its data lack.
//! 3. [`JointForecast`] weighs the models and adds their disagreement.
//! 4. [`JointForecast::widen`] widens the spread if a rule advises against predicting.
//!    [`JointForecast::predicted_point`] turns it into the band and withholds a point whose band
//!    carries no information.
//!
//! This module replays nothing, fits nothing and does not see the evidence.

pub(super) mod draws;

use morecores_view::{ModelName, PredictedPoint};

use super::evidence::MeasuredPoint;
use super::quantiles::Quantiles;

/// Number of standard deviations on each side of the mean that hold 90% of a normal distribution.
const Z90: f64 = 1.644_853_6;

/// Upper limit of a band, as a multiple of the ideal speedup. This limit is a choice: it leaves
/// room for the gain from larger total caches.
const MAX_SUPERLINEAR: f64 = 1.2;

/// Ratio of a band's ends above which the prediction carries no information.
pub(super) const WIDE_BAND: f64 = 4.0;

/// Factor on the spread of the models when a rule advises against predicting. This factor is a
/// choice.
const DOUBT_FACTOR: f64 = 2.0;

/// Relative standard errors of the replay and of the closed forms, per doubling of the CPUs; for
/// the replay, beyond the traced count. The values come from the tuning half of the corpus: about
/// half of the replay's median error, and all of the closed forms' median error. Other terms widen
/// both.
const REPLAY_ERROR: f64 = 0.02;
const FORM_ERROR: f64 = 0.10;

/// Factor on the replay's own error towards more time, if the trace has no system calls. Waits that
/// were satisfied at once left no event to replay. The real run can only take longer than the
/// replay.
const HIDDEN_WAIT_FACTOR: f64 = 1.5;

/// Standard deviation of the logarithm of elapsed time, towards less and towards more time.
pub(super) type Spread = [f64; 2];

/// Median and spread of replays with drawn quantities.
#[derive(Clone, Copy, Debug)]
pub(super) struct Middle {
    /// Median of the logarithms.
    pub(super) median: f64,
    pub(super) spread: Spread,
}

impl Middle {
    /// Median of these logarithms of ratios, and the spread that puts their 5% and 95% quantiles at
    /// the ends of a 90% band. There is at least one ratio.
    pub(super) fn from_log_ratios(mut ratios: Vec<f64>) -> Self {
        ratios.sort_unstable_by(f64::total_cmp);
        let quantile = |share: f64| ratios[((ratios.len() - 1) as f64 * share).round() as usize];
        let median = quantile(0.5);
        Self { median, spread: [(median - quantile(0.05)) / Z90, (quantile(0.95) - median) / Z90] }
    }
}

/// Error of a back-test beyond the noise of the measurement.
pub(super) fn error_beyond_noise(error: f64, noise: f64) -> f64 {
    (error.abs() - noise).max(0.0)
}

/// Facts that decide the replay's own error.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplayTrust {
    /// Doublings from the traced count to the predicted one.
    pub(super) doublings: f64,
    /// Error of the back-test beyond noise, per doubling; absent without a back-test.
    pub(super) test_error_per_doubling: Option<f64>,
    /// Relative standard error of the measured time that scales the replay.
    pub(super) measured_error: f64,
    /// Lost events over all events. They may have been of any kind, so their share adds to the
    /// error.
    pub(super) lost_share: f64,
    /// Whether the trace contains every system call.
    pub(super) has_calls: bool,
}

/// Spread of the replay model: that of the drawn replays, with the replay's own error.
pub(super) fn replay_spread(drawn: Spread, trust: ReplayTrust) -> Spread {
    let ReplayTrust { doublings, test_error_per_doubling, measured_error, lost_share, has_calls } = trust;
    let test_error = test_error_per_doubling.map_or(0.0, |error| error * doublings);
    let own_error = (REPLAY_ERROR * doublings).hypot(test_error).hypot(measured_error).hypot(lost_share);
    let hidden_wait_factor = if has_calls { 1.0 } else { HIDDEN_WAIT_FACTOR };
    [own_error.hypot(drawn[0]), (own_error * hidden_wait_factor).hypot(drawn[1])]
}

/// Whether the truth is outside the 90% band of a prediction with this spread. `log_error` is the
/// logarithm of the predicted elapsed time over the true one.
pub(super) fn is_outside_band([less, more]: Spread, log_error: f64) -> bool {
    log_error > Z90 * less || -log_error > Z90 * more
}

/// Facts that decide the error of the closed forms.
#[derive(Clone, Copy, Debug)]
pub(super) struct FormTrust {
    /// Doublings from the largest measured count to the predicted one.
    pub(super) doublings: f64,
    /// Relative error of the best form's back-test; absent without a back-test.
    pub(super) test_error: Option<f64>,
    /// Relative noise of the measurement.
    pub(super) noise: f64,
    /// Extra time of work with a second busy CPU. The closed forms mistake this slowdown for serial
    /// work.
    pub(super) slowdown: f64,
    /// Standard deviation between the forms.
    pub(super) disagreement: f64,
}

/// Spread of the closed forms together.
pub(super) fn form_spread(trust: FormTrust) -> Spread {
    let FormTrust { doublings, test_error, noise, slowdown, disagreement } = trust;
    let test_error = test_error.map_or(0.0, |error| error_beyond_noise(error, noise) * doublings);
    let own_error = (FORM_ERROR * doublings).hypot(test_error).hypot(slowdown * doublings).hypot(noise);
    [own_error.hypot(disagreement); 2]
}

/// Prediction of one model for one CPU count.
pub(super) struct ModelForecast {
    pub(super) model: ModelName,
    pub(super) elapsed: f64,
    pub(super) spread: Spread,
    /// Forced waits per thread.
    pub(super) forced_waits: f64,
}

impl ModelForecast {
    /// Weight by precision.
    pub(super) fn weight(&self) -> f64 {
        let [less, more] = self.spread;
        1.0 / (less * more).max(1e-12)
    }
}

/// Joint forecast of all models for one CPU count.
pub(super) struct JointForecast {
    /// Mean of the logarithm of elapsed time.
    mean: f64,
    spread: Spread,
    /// Least elapsed time by the lower limits, at their 5% quantile.
    least: f64,
    /// Name of the model with the largest weight.
    model: ModelName,
}

impl JointForecast {
    /// Combines forecasts, weighted by precision. The variance between the forecasts is added to
    /// the variance of each forecast.
    pub(super) fn combine(forecasts: &[ModelForecast]) -> Option<Self> {
        let first = forecasts.first()?;
        let all: f64 = forecasts.iter().map(ModelForecast::weight).sum();
        let weighted_mean = |value: &dyn Fn(&ModelForecast) -> f64| {
            forecasts.iter().map(|o| o.weight() / all * value(o)).sum::<f64>()
        };
        let mean = weighted_mean(&|forecast| forecast.elapsed.ln());
        let between = weighted_mean(&|forecast| (forecast.elapsed.ln() - mean).powi(2));
        let model = forecasts.iter().fold(first, |best, o| if o.weight() > best.weight() { o } else { best });
        let spread =
            [0, 1].map(|side| (weighted_mean(&|forecast| forecast.spread[side].powi(2)) + between).sqrt());
        Some(Self { mean, spread, least: 0.0, model: model.model })
    }

    /// Widens the spread for a prediction that a rule advises against.
    pub(super) fn widen(&mut self) {
        self.spread = self.spread.map(|spread| DOUBT_FACTOR * spread);
    }

    /// Raises the forecast to the lower limits of elapsed time: the mean to their median, and the
    /// lower end of the band to their 5% quantile.
    pub(super) fn raise_to(&mut self, limits: Quantiles) {
        self.mean = self.mean.max(limits.middle.ln());
        self.least = limits.low;
    }

    /// Elapsed time at the mean.
    pub(super) fn elapsed(&self) -> f64 {
        self.mean.exp()
    }

    /// Ends of the band of elapsed time, without the limit by the ideal speedup.
    pub(super) fn ends(&self) -> [f64; 2] {
        let [less, more] = self.spread;
        [(self.mean - Z90 * less).exp().max(self.least), (self.mean + Z90 * more).exp()]
    }

    /// Point at `cpus` with its band, relative to `base`. The elapsed times are those of a time
    /// only if `is_time`; the values between the ends are absent if `withheld`.
    pub(super) fn predicted_point(
        &self,
        cpus: u32,
        base: MeasuredPoint,
        is_time: bool,
        withheld: bool,
    ) -> PredictedPoint {
        let elapsed = self.elapsed();
        // Only caches can give a speedup above the ideal, and that gain has a limit.
        let ideal = base.elapsed * f64::from(base.cpus) / f64::from(cpus);
        let [least, most] = self.ends();
        let least = least.max(ideal / MAX_SUPERLINEAR).min(elapsed);
        let wide = most / least > WIDE_BAND;
        PredictedPoint {
            cpus,
            elapsed_s: (is_time && !withheld && !wide).then_some(elapsed),
            speedup: (!withheld && !wide).then_some(base.elapsed / elapsed),
            band90: [base.elapsed / most, base.elapsed / least],
            elapsed_band90_s: is_time.then_some([least, most]),
            model: self.model,
        }
    }
}
