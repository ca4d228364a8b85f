//! What each model says of a count, and how sure it is: the replays of what was traced, and the closed forms together.

use morecores_view::Contestant;

use super::ensemble::{Ensemble, usual_inflation};
use super::evidence::Evidence;
use super::traced::TracedProgram;
use crate::models::{Contest, Model, contest};

/// What the replays are called.
pub(super) const REPLAY: &str = "replay";

/// Relative standard error of a replay for each doubling of the CPUs beyond those traced, and of the closed forms: about half the
/// median and the whole of what they were wrong by on the tuning half of the corpus, which the other terms widen.
const REPLAY_ERROR: f64 = 0.02;
const FORMS_ERROR: f64 = 0.10;

/// One model on one count.
pub(super) struct Opinion {
    pub(super) model: String,
    pub(super) elapsed: f64,
    /// Standard deviation of its logarithm, towards less and towards more time.
    pub(super) spread: [f64; 2],
    /// Waits that it had to cut short, over threads.
    pub(super) forced: f64,
}

impl Opinion {
    /// By precision.
    pub(super) fn weight(&self) -> f64 {
        let [less, more] = self.spread;
        1.0 / (less * more).max(1e-12)
    }
}

/// All models, fitted.
pub(super) struct Panel<'e> {
    pub(super) evidence: &'e Evidence,
    contest: Option<Contest>,
    /// Of the replays, as the logarithm's error a doubling; and the relative error itself.
    back_test: Option<(f64, f64)>,
}

impl<'e> Panel<'e> {
    /// `None` without a point.
    pub(super) fn of(evidence: &'e Evidence) -> Option<Self> {
        evidence.points.last()?;
        let contest = contest(&evidence.models_points(), None, evidence.noise());
        let mut panel = Self { evidence, contest, back_test: None };
        panel.back_test = panel.replay_back_test();
        Some(panel)
    }

    /// The trace that says something of this count.
    pub(super) fn program(&self, cpus: u32) -> Option<&'e TracedProgram> {
        self.evidence.program(self.largest(), cpus)
    }

    pub(super) const fn contest(&self) -> Option<&Contest> {
        self.contest.as_ref()
    }

    fn largest(&self) -> u32 {
        self.evidence.points.last().map_or(0, |point| point.cpus)
    }

    /// What all models that can say something of `cpus` say.
    pub(super) fn opinions(&self, cpus: u32) -> Vec<Opinion> {
        [self.replay(cpus), self.forms(cpus)].into_iter().flatten().collect()
    }

    /// The largest count predicted from the trace on the most CPUs below it.
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
        // What is lost may have been anything.
        let own = (REPLAY_ERROR * doublings).hypot(tested).hypot(measured.error).hypot(program.lost_share);
        // Waits that were satisfied at once left nothing to replay: it can only take longer than the replay says.
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
        // Work that takes longer beside other CPUs' looks to them like work that is not divided.
        let slowed = usual_inflation(self.evidence).second * doublings;
        let own = (FORMS_ERROR * doublings).hypot(tested).hypot(slowed).hypot(self.evidence.noise());
        let spread = own.hypot(contest.disagreement(cpus));
        let elapsed = contest.elapsed(cpus);
        Some(Opinion { model: best.form.name().to_owned(), elapsed, spread: [spread; 2], forced: 0.0 })
    }

    /// The closed form with the largest say.
    pub(super) fn best_form(&self) -> &'static str {
        self.contest.as_ref().map_or("none", |contest| contest.best().form.name())
    }

    /// Where it puts the peak.
    pub(super) fn form_peak(&self) -> Option<f64> {
        self.contest.as_ref()?.peak()
    }

    /// All models; a closed form's weight is its share among them.
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
