//! Width of the band of a prediction. This module alone decides it.
//!
//! The band is a pair of quantiles of a [`Distribution`]. It arises in five steps:
//!
//! 1. [`draws`]: the replays of one program differ by the quantities that no trace shows, and the
//!    fits of the closed forms by the errors of the measured points. [`capacity`] draws what no
//!    smaller machine shows; [`memory_knee`] knows what the machine's memory shows.
//! 2. [`replay_error`] and [`form_error`] are the errors of the models themselves: by distance, by
//!    the back-test, by the measurement, and by what the data lack.
//! 3. [`ModelForecast::from_draws`] widens the band of a replay from one CPU by the errors on real
//!    commands whose threads share memory.
//! 4. [`JointForecast`] mixes the models by their precision.
//! 5. [`JointForecast::widen`] widens the distribution if a rule advises against predicting.
//!    [`JointForecast::predicted_point`] turns it into the band and withholds a point whose band
//!    carries no information.
//!
//! This module replays nothing, fits nothing and does not see the evidence.

pub(super) mod capacity;
pub(super) mod distribution;
pub(super) mod draws;
mod even;
pub(super) mod memory_knee;

use morecores_view::{ModelName, PredictedPoint};

use super::evidence::MeasuredPoint;
use super::quantiles::Quantiles;
use super::sharing::UnseenSharing;
use distribution::{Distribution, DrawnTime, Spread};

/// Shares of the distribution below the ends of a 90% band.
const BAND90: [f64; 2] = [0.05, 0.95];

/// Number of standard deviations on each side of the mean that hold 90% of a normal distribution,
/// and that of Student's distribution with one degree of freedom: one back-test is one error, not a
/// standard deviation.
const Z90: f64 = 1.644_853_6;
const STUDENT90: f64 = 6.313_751_5;

/// Ratio of a band's ends above which the prediction carries no information, if it is also above
/// the factor by which the count exceeds the measured ones.
const WIDE_BAND: f64 = 4.0;

/// Factor on the distances from the median when a rule advises against predicting. This factor is a
/// choice: with it, the band of a published web server that abstains holds its measured time.
const DOUBT_FACTOR: f64 = 2.0;

/// Relative standard errors of the replay and of the closed forms, per doubling of the CPUs; for
/// the replay, beyond the traced count. The values come from the tuning halves of the corpora:
/// with 2% for the replay the bands of twice one CPU hold 84% there, with 4% they hold 88%; without
/// an error of the closed forms theirs hold 70%. Other terms widen both.
const REPLAY_ERROR: f64 = 0.04;
const FORM_ERROR: f64 = 0.10;

/// Factor on the distances of a replay's band from its middle, if only one CPU was measured, for
/// programs whose threads share memory. The source is the tuning half of the exam of real commands,
/// from 1 to 2 CPUs. A value is the distance of a true time from the prediction, divided by that of
/// the band's end without this factor. The factor is a tolerance limit of the values: with 90%
/// confidence it holds 85% of such commands (S. S. Wilks, Annals of Mathematical Statistics 12,
/// 1941), for 19 commands the largest. `make exam` prints the factor that corrects the present one.
const SHARED_FACTOR: f64 = 2.65;

const fn sharing_factor(sharing: UnseenSharing) -> f64 {
    match sharing {
        UnseenSharing::Nothing => 1.0,
        UnseenSharing::Memory => SHARED_FACTOR,
    }
}

/// Factor on the replay's own error towards more time, if the trace has no system calls. Waits that
/// were satisfied at once left no event to replay. The real run can only take longer than the
/// replay.
const HIDDEN_WAIT_FACTOR: f64 = 1.5;

/// Ratio of the ends of a band from which it carries no information, for a count of `cpus` and the
/// largest measured count. From no gain to an ideal one is no information at any distance.
pub(super) fn wide_band(largest: u32, cpus: u32) -> f64 {
    WIDE_BAND.max(f64::from(cpus) / f64::from(largest))
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

/// Error of a model itself, besides the differences between its draws.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnError {
    /// Likely error. It decides the weight of the model.
    likely: Spread,
    /// Error whose normal 90% range holds the true one: what is known from one back-test alone is
    /// less certain.
    band: Spread,
}

/// Error of the replay itself.
pub(super) fn replay_error(trust: ReplayTrust) -> OwnError {
    let ReplayTrust { doublings, test_error_per_doubling, measured_error, lost_share, has_calls } = trust;
    let test_error = test_error_per_doubling.map_or(0.0, |error| error * doublings);
    let other_errors = (REPLAY_ERROR * doublings).hypot(measured_error).hypot(lost_share);
    let hidden_wait_factor = if has_calls { 1.0 } else { HIDDEN_WAIT_FACTOR };
    let spread = |test_error: f64| {
        let error = other_errors.hypot(test_error);
        [error, error * hidden_wait_factor]
    };
    OwnError { likely: spread(test_error), band: spread(STUDENT90 / Z90 * test_error) }
}

/// Error of the closed forms themselves. `doublings` are those beyond the largest measured count,
/// `base_error` is the relative standard error of the smallest count's time.
pub(super) fn form_error(doublings: f64, base_error: f64) -> OwnError {
    let error = [(FORM_ERROR * doublings).hypot(base_error); 2];
    OwnError { likely: error, band: error }
}

/// Factor at each end of the 90% band of a limit from replays, for the errors that the draws do not
/// contain: that of the replay itself, that of the measured time that scales it, that of the lost
/// events, and that of the limit's own `input`. All are relative.
pub(super) fn limit_error_factor(measured_error: f64, lost_share: f64, input: f64) -> f64 {
    (Z90 * REPLAY_ERROR.hypot(measured_error).hypot(lost_share).hypot(input)).exp()
}

/// Prediction of one model for one CPU count.
pub(super) struct ModelForecast {
    pub(super) model: ModelName,
    distribution: Distribution,
    /// Distribution of the draws without a knee, with the likely error. It decides the point and
    /// the weight: the chance of a knee is a prior, which only the band must hold.
    without_knee: Distribution,
    /// Forced waits per thread.
    pub(super) forced_waits: f64,
}

impl ModelForecast {
    /// Forecast from draws and the error of the model itself. The band is wider or narrower by what
    /// is known of programs with the same unseen sharing; a knee stays where it is. `None` without
    /// a draw.
    pub(super) fn from_draws(
        model: ModelName,
        draws: &[DrawnTime],
        own_error: OwnError,
        sharing: Option<UnseenSharing>,
        forced_waits: f64,
    ) -> Option<Self> {
        let smooth = draws.iter().filter(|draw| draw.before_knee);
        let without_knee = Distribution::from_draws(smooth, own_error.likely)
            .or_else(|| Distribution::from_draws(draws, own_error.likely))?;
        let (middle, factor) = (without_knee.median(), sharing.map_or(1.0, sharing_factor));
        let calibrate = |draw: &DrawnTime| DrawnTime {
            log_elapsed: middle + factor * (draw.log_elapsed - middle),
            ..*draw
        };
        let calibrated: Vec<DrawnTime> =
            draws.iter().map(|draw| if draw.before_knee { calibrate(draw) } else { *draw }).collect();
        let distribution =
            Distribution::from_draws(&calibrated, own_error.band.map(|deviation| factor * deviation))?;
        Some(Self { model, distribution, without_knee, forced_waits })
    }

    /// Precision of the forecast without a knee: its weight.
    pub(super) fn weight(&self) -> f64 {
        self.without_knee.precision()
    }
}

/// Joint forecast of all models for one CPU count.
pub(super) struct JointForecast {
    distribution: Distribution,
    /// Median of the logarithm of elapsed time without a knee.
    middle: f64,
    /// Least elapsed time by the lower limits, at their 5% quantile.
    least: f64,
    /// Elapsed time that the band contains in any case.
    most: f64,
    /// Name of the model with the largest weight.
    model: ModelName,
}

/// Known limits of a predicted point.
#[derive(Clone, Copy, Debug)]
pub(super) struct PointLimits {
    /// Smallest measured count.
    pub(super) base: MeasuredPoint,
    /// Largest measured speedup divided by the ideal one, at least 1: larger caches, for example.
    pub(super) best_efficiency: f64,
    /// Ratio of the ends of the band above which it carries no information.
    pub(super) wide: f64,
}

impl JointForecast {
    /// Mixes forecasts, weighted by precision.
    pub(super) fn combine(forecasts: &[ModelForecast]) -> Option<Self> {
        let best = forecasts.iter().max_by(|a, b| a.weight().total_cmp(&b.weight()))?;
        let mix = |part: fn(&ModelForecast) -> &Distribution| {
            Distribution::mix(forecasts.iter().map(|forecast| (forecast.weight(), part(forecast))))
        };
        Some(Self {
            distribution: mix(|forecast| &forecast.distribution)?,
            middle: mix(|forecast| &forecast.without_knee)?.median(),
            least: 0.0,
            most: 0.0,
            model: best.model,
        })
    }

    /// Widens the distribution for a prediction that a rule advises against.
    pub(super) fn widen(&mut self) {
        self.distribution.widen(self.middle, DOUBT_FACTOR);
    }

    /// Raises the forecast to the lower limits of elapsed time: the middle to their median, and the
    /// lower end of the band to their 5% quantile.
    pub(super) fn raise_to(&mut self, limits: Quantiles) {
        let missing = (limits.middle.ln() - self.middle).max(0.0);
        self.middle += missing;
        self.distribution.shift(missing);
        self.least = limits.low;
    }

    /// Extends the band to this elapsed time.
    pub(super) const fn extend_to(&mut self, elapsed: f64) {
        self.most = elapsed;
    }

    /// Predicted elapsed time.
    pub(super) fn elapsed(&self) -> f64 {
        self.middle.exp()
    }

    /// Ends of the band of elapsed time, without the limit by the ideal speedup.
    pub(super) fn ends(&self) -> [f64; 2] {
        let [least, most] = BAND90.map(|share| self.distribution.quantile(share).exp());
        [least.max(self.least), most.max(self.most)]
    }

    /// Point at `cpus` with its band, relative to the smallest measured count. The elapsed times
    /// are those of a time only if `is_time`; the values between the ends are absent if `withheld`.
    pub(super) fn predicted_point(
        &self,
        cpus: u32,
        limits: PointLimits,
        is_time: bool,
        withheld: bool,
    ) -> PredictedPoint {
        let PointLimits { base, best_efficiency, wide } = limits;
        let elapsed = self.elapsed();
        // Only caches give a speedup above the ideal, and then the measured counts show it. The
        // time to which the ideal refers is known only to its error. A prediction beyond the limit
        // keeps its band: it would otherwise end at the point.
        let ideal = base.elapsed * f64::from(base.cpus) / f64::from(cpus) / best_efficiency;
        let limit = ideal * (-Z90 * base.error).exp();
        let [least, most] = self.ends();
        let least = if limit < elapsed { least.max(limit) } else { least };
        let given = !withheld && most / least <= wide;
        PredictedPoint {
            cpus,
            elapsed_s: (is_time && given).then_some(elapsed),
            speedup: given.then_some(base.elapsed / elapsed),
            band90: [base.elapsed / most, base.elapsed / least],
            elapsed_band90_s: is_time.then_some([least, most]),
            model: self.model,
        }
    }
}
