//! Forecast of each model for a CPU count, with its uncertainty: the replays of the traced program,
//! and the closed forms together.

use morecores_view::ModelView;

use super::ensemble::{Ensemble, likely_inflation};
use super::evidence::Evidence;
use super::traced_program::TracedProgram;
use crate::models::{Model, ModelAverage, average_models};

/// Name of the replay model.
pub(super) const REPLAY: &str = "replay";

/// Relative standard errors of the replay and of the closed forms, per doubling of the CPUs; for
/// the replay, beyond the traced count. The values come from the tuning half of the corpus: about
/// half of the replay's median error, and all of the closed forms' median error. Other terms widen
/// both.
const REPLAY_ERROR: f64 = 0.02;
const FORM_ERROR: f64 = 0.10;

/// Prediction of one model for one CPU count.
pub(super) struct ModelForecast {
    pub(super) model: String,
    pub(super) elapsed: f64,
    /// Standard deviation of the logarithm of elapsed time, towards less and towards more.
    pub(super) spread: [f64; 2],
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

/// All fitted models.
pub(super) struct ModelSet<'e> {
    pub(super) evidence: &'e Evidence,
    average: Option<ModelAverage>,
    /// Back-test of the replays: error of the logarithm per doubling, and the relative error
    /// itself.
    back_test: Option<(f64, f64)>,
}

impl<'e> ModelSet<'e> {
    /// Fits all models. `None` without a point.
    pub(super) fn fit(evidence: &'e Evidence) -> Option<Self> {
        evidence.points.last()?;
        let average = average_models(&evidence.model_points(), None, evidence.noise());
        let mut models = Self { evidence, average, back_test: None };
        models.back_test = models.replay_back_test();
        Some(models)
    }

    /// Trace that supports a prediction at this count.
    pub(super) fn program(&self, cpus: u32) -> Option<&'e TracedProgram> {
        self.evidence.program_for(self.largest(), cpus)
    }

    pub(super) const fn average(&self) -> Option<&ModelAverage> {
        self.average.as_ref()
    }

    fn largest(&self) -> u32 {
        self.evidence.points.last().map_or(0, |point| point.cpus)
    }

    /// Forecasts of all models that can predict `cpus` CPUs.
    pub(super) fn forecasts(&self, cpus: u32) -> Vec<ModelForecast> {
        [self.replay_forecast(cpus), self.form_forecast(cpus)].into_iter().flatten().collect()
    }

    /// Back-test: predicts the largest count from the trace on the most CPUs below it.
    fn replay_back_test(&self) -> Option<(f64, f64)> {
        let largest = self.evidence.points.last()?;
        let program = self.evidence.program_for(largest.cpus - 1, largest.cpus)?;
        let smaller = self.evidence.point(program.cpus)?;
        let known: Vec<_> = self.evidence.points.iter().copied().filter(|p| p.cpus <= program.cpus).collect();
        let replayed = Ensemble::new(self.evidence, program, &known).elapsed(smaller, largest.cpus);
        let error = replayed.median / largest.elapsed - 1.0;
        let doublings = (f64::from(largest.cpus) / f64::from(program.cpus)).log2();
        Some(((error.abs() - self.evidence.noise()).max(0.0) / doublings, error))
    }

    fn replay_forecast(&self, cpus: u32) -> Option<ModelForecast> {
        let program = self.program(cpus)?;
        let measured = self.evidence.point(program.cpus)?;
        let replayed = Ensemble::new(self.evidence, program, &self.evidence.points).elapsed(measured, cpus);
        let doublings = (f64::from(cpus) / f64::from(program.cpus)).log2();
        let test_error = self.back_test.map_or(0.0, |(error_per_doubling, _)| error_per_doubling * doublings);
        // Lost events may have been of any kind, so their share adds to the error.
        let own_error =
            (REPLAY_ERROR * doublings).hypot(test_error).hypot(measured.error).hypot(program.lost_share);
        // Waits that were satisfied at once left no event to replay. The real run can only take
        // longer than the replay.
        let hidden_wait_factor = if program.has_calls { 1.0 } else { 1.5 };
        let spread =
            [own_error.hypot(replayed.spread[0]), (own_error * hidden_wait_factor).hypot(replayed.spread[1])];
        Some(ModelForecast {
            model: REPLAY.to_owned(),
            elapsed: replayed.median,
            spread,
            forced_waits: replayed.forced_waits,
        })
    }

    fn form_forecast(&self, cpus: u32) -> Option<ModelForecast> {
        let average = self.average.as_ref()?;
        let doublings = (f64::from(cpus) / f64::from(self.largest())).log2();
        let best = average.best();
        let test_error =
            best.back_test.map_or(0.0, |error| (error.abs() - self.evidence.noise()).max(0.0) * doublings);
        // The closed forms mistake work that slows down beside other busy CPUs for serial work.
        let slowdown = likely_inflation(self.evidence).second * doublings;
        let own_error =
            (FORM_ERROR * doublings).hypot(test_error).hypot(slowdown).hypot(self.evidence.noise());
        let spread = own_error.hypot(average.disagreement(cpus));
        let elapsed = average.elapsed(cpus);
        Some(ModelForecast {
            model: best.form.name().to_owned(),
            elapsed,
            spread: [spread; 2],
            forced_waits: 0.0,
        })
    }

    /// Name of the closed form with the largest weight.
    pub(super) fn best_form(&self) -> &'static str {
        self.average.as_ref().map_or("none", |average| average.best().form.name())
    }

    /// Peak of that closed form.
    pub(super) fn form_peak(&self) -> Option<f64> {
        self.average.as_ref()?.peak()
    }

    /// All models; the weight of a closed form is its share among the closed forms.
    pub(super) fn model_views(&self) -> Vec<ModelView> {
        let mut all = Vec::new();
        if !self.evidence.programs.is_empty() {
            let back_test = self.back_test.map(|(_, error)| error);
            all.push(ModelView { model: REPLAY.to_owned(), back_test, residual: None, weight: 1.0 });
        }
        let forms = self.average.iter().flat_map(|average| &average.candidates);
        all.extend(forms.map(|candidate| ModelView {
            model: candidate.form.name().to_owned(),
            back_test: candidate.back_test,
            residual: Some(candidate.residual),
            weight: candidate.weight,
        }));
        all
    }
}
