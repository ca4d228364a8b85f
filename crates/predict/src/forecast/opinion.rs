//! Opinion of each model on a CPU count, with its uncertainty: the replays of the traced program,
//! and the closed forms together.

use morecores_view::Contestant;

use super::ensemble::{Ensemble, usual_inflation};
use super::evidence::Evidence;
use super::traced::TracedProgram;
use crate::models::{Contest, Model, contest};

/// Name of the replay model.
pub(super) const REPLAY: &str = "replay";

/// Relative standard errors of the replay and of the closed forms, per doubling of the CPUs; for
/// the replay, beyond the traced count. The values come from the tuning half of the corpus: about
/// half of the replay's median error, and all of the closed forms' median error. Other terms widen
/// both.
const REPLAY_ERROR: f64 = 0.02;
const FORMS_ERROR: f64 = 0.10;

/// Prediction of one model for one CPU count.
pub(super) struct Opinion {
    pub(super) model: String,
    pub(super) elapsed: f64,
    /// Standard deviation of the logarithm of elapsed time, towards less and towards more.
    pub(super) spread: [f64; 2],
    /// Forced waits per thread.
    pub(super) forced: f64,
}

impl Opinion {
    /// Weight by precision.
    pub(super) fn weight(&self) -> f64 {
        let [less, more] = self.spread;
        1.0 / (less * more).max(1e-12)
    }
}

/// All fitted models.
pub(super) struct Panel<'e> {
    pub(super) evidence: &'e Evidence,
    contest: Option<Contest>,
    /// Back-test of the replays: error of the logarithm per doubling, and the relative error
    /// itself.
    back_test: Option<(f64, f64)>,
}

impl<'e> Panel<'e> {
    /// Fits all models. `None` without a point.
    pub(super) fn of(evidence: &'e Evidence) -> Option<Self> {
        evidence.points.last()?;
        let contest = contest(&evidence.models_points(), None, evidence.noise());
        let mut panel = Self { evidence, contest, back_test: None };
        panel.back_test = panel.replay_back_test();
        Some(panel)
    }

    /// Trace that supports a prediction at this count.
    pub(super) fn program(&self, cpus: u32) -> Option<&'e TracedProgram> {
        self.evidence.program(self.largest(), cpus)
    }

    pub(super) const fn contest(&self) -> Option<&Contest> {
        self.contest.as_ref()
    }

    fn largest(&self) -> u32 {
        self.evidence.points.last().map_or(0, |point| point.cpus)
    }

    /// Opinions of all models that can predict `cpus` CPUs.
    pub(super) fn opinions(&self, cpus: u32) -> Vec<Opinion> {
        [self.replay(cpus), self.forms(cpus)].into_iter().flatten().collect()
    }

    /// Back-test: predicts the largest count from the trace on the most CPUs below it.
    fn replay_back_test(&self) -> Option<(f64, f64)> {
        let largest = self.evidence.points.last()?;
        let program = self.evidence.program(largest.cpus - 1, largest.cpus)?;
        let smaller = self.evidence.point(program.cpus)?;
        let known: Vec<_> = self.evidence.points.iter().copied().filter(|p| p.cpus <= program.cpus).collect();
        let told = Ensemble::new(self.evidence, program, &known).elapsed(smaller, largest.cpus);
        let error = told.median / largest.elapsed - 1.0;
        let doublings = (f64::from(largest.cpus) / f64::from(program.cpus)).log2();
        Some(((error.abs() - self.evidence.noise()).max(0.0) / doublings, error))
    }

    fn replay(&self, cpus: u32) -> Option<Opinion> {
        let program = self.program(cpus)?;
        let measured = self.evidence.point(program.cpus)?;
        let told = Ensemble::new(self.evidence, program, &self.evidence.points).elapsed(measured, cpus);
        let doublings = (f64::from(cpus) / f64::from(program.cpus)).log2();
        let tested = self.back_test.map_or(0.0, |(a_doubling, _)| a_doubling * doublings);
        // Lost events may have been of any kind, so their share adds to the error.
        let own = (REPLAY_ERROR * doublings).hypot(tested).hypot(measured.error).hypot(program.lost_share);
        // Waits that were satisfied at once left no event to replay. The real run can only take
        // longer than the replay.
        let invisible = if program.has_calls { 1.0 } else { 1.5 };
        let spread = [own.hypot(told.spread[0]), (own * invisible).hypot(told.spread[1])];
        Some(Opinion { model: REPLAY.to_owned(), elapsed: told.median, spread, forced: told.forced })
    }

    fn forms(&self, cpus: u32) -> Option<Opinion> {
        let contest = self.contest.as_ref()?;
        let doublings = (f64::from(cpus) / f64::from(self.largest())).log2();
        let best = contest.best();
        let tested =
            best.back_test.map_or(0.0, |error| (error.abs() - self.evidence.noise()).max(0.0) * doublings);
        // The closed forms mistake work that slows down beside other busy CPUs for serial work.
        let slowed = usual_inflation(self.evidence).second * doublings;
        let own = (FORMS_ERROR * doublings).hypot(tested).hypot(slowed).hypot(self.evidence.noise());
        let spread = own.hypot(contest.disagreement(cpus));
        let elapsed = contest.elapsed(cpus);
        Some(Opinion { model: best.form.name().to_owned(), elapsed, spread: [spread; 2], forced: 0.0 })
    }

    /// Name of the closed form with the largest weight.
    pub(super) fn best_form(&self) -> &'static str {
        self.contest.as_ref().map_or("none", |contest| contest.best().form.name())
    }

    /// Peak of that closed form.
    pub(super) fn form_peak(&self) -> Option<f64> {
        self.contest.as_ref()?.peak()
    }

    /// All models; the weight of a closed form is its share among the closed forms.
    pub(super) fn contestants(&self) -> Vec<Contestant> {
        let mut all = Vec::new();
        if !self.evidence.programs.is_empty() {
            let back_test = self.back_test.map(|(_, error)| error);
            all.push(Contestant { model: REPLAY.to_owned(), back_test, residual: None, weight: 1.0 });
        }
        let forms = self.contest.iter().flat_map(|contest| &contest.entries);
        all.extend(forms.map(|entry| Contestant {
            model: entry.form.name().to_owned(),
            back_test: entry.back_test,
            residual: Some(entry.residual),
            weight: entry.weight,
        }));
        all
    }
}
