//! Forecast of each model for a CPU count: the replays of the traced program, and the closed forms
//! together. Each is judged by a back-test. `band` decides the spread of a forecast.

use std::ptr;
use std::sync::OnceLock;

use morecores_view::{ModelName, ModelView};

use super::band::capacity::CapacityRange;
use super::band::distribution::DrawnTime;
use super::band::memory_knee::MemoryKnee;
use super::band::{JointForecast, ModelForecast, ReplayTrust, error_beyond_noise, form_error, replay_error};
use super::compared_program::ComparedProgram;
use super::ensemble::Ensemble;
use super::evidence::{Evidence, MeasuredPoint, program_for};
use super::sharing::unseen_sharing;
use super::traced_program::TracedProgram;
use crate::models::{self, DrawnModel, Form, Model, ModelAverage, average_models};

/// Lower limit of the relative noise of a measurement on a machine with an operating system.
const MIN_NOISE: f64 = 0.002;

/// Name of a closed form in a prediction.
const fn model_name(form: Form) -> ModelName {
    match form {
        Form::Ideal => ModelName::Ideal,
        Form::Amdahl => ModelName::Amdahl,
        Form::Usl => ModelName::Usl,
        Form::KernelLock => ModelName::KernelLock,
        Form::Ceiling => ModelName::Ceiling,
    }
}

/// All fitted models, with the figures of the evidence that they share.
pub(super) struct ModelSet<'e> {
    pub(super) evidence: &'e Evidence,
    /// Measured points as input of the closed forms.
    pub(super) form_points: Vec<models::Point>,
    /// Root mean square of the points' relative standard errors.
    pub(super) noise: f64,
    largest: MeasuredPoint,
    average: Option<ModelAverage>,
    /// Replays of each program of the evidence, prepared at their first use. `None` for a program
    /// without a measured point.
    ensembles: Vec<OnceLock<Option<Ensemble<'e>>>>,
    /// Back-test of the replays, if a trace supports one.
    back_test: Option<BackTest>,
}

/// Prediction of the largest measured count from the smaller counts alone, compared with the truth.
#[derive(Clone, Copy)]
struct BackTest {
    /// Relative error.
    error: f64,
    /// Error beyond noise, per doubling of the CPUs.
    error_per_doubling: f64,
    /// Whether the truth is outside the band that the prediction would have had.
    is_outside_band: bool,
}

impl<'e> ModelSet<'e> {
    /// Fits all models. `None` without a point.
    pub(super) fn fit(evidence: &'e Evidence) -> Option<Self> {
        let points = &evidence.points;
        let largest = *points.last()?;
        let form_points: Vec<_> = points
            .iter()
            .map(|point| models::Point::new(point.cpus, point.elapsed).with_error(point.speedup_error))
            .collect();
        let squares: f64 = points.iter().map(|point| point.error.powi(2)).sum();
        let noise = (squares / points.len() as f64).sqrt().max(MIN_NOISE);
        Some(Self {
            evidence,
            noise,
            largest,
            average: average_models(&form_points[..evidence.alike_points().len()], MIN_NOISE),
            ensembles: evidence.programs.iter().map(|_| OnceLock::new()).collect(),
            back_test: replay_back_test(evidence, largest, noise),
            form_points,
        })
    }

    /// Trace that supports a prediction at this count.
    pub(super) fn program(&self, cpus: u32) -> Option<&'e TracedProgram> {
        program_for(self.evidence, self.largest.cpus, cpus)
    }

    /// Replays of the program that supports a prediction at this count.
    pub(super) fn ensemble(&self, cpus: u32) -> Option<&Ensemble<'e>> {
        let (evidence, program) = (self.evidence, self.program(cpus)?);
        let place = evidence.programs.iter().position(|other| ptr::eq(other, program))?;
        let prepare = || Ensemble::new(evidence, ComparedProgram::new(evidence, program), &evidence.points);
        self.ensembles[place].get_or_init(prepare).as_ref()
    }

    /// Relative error of the replay's back-test, if the truth was outside its band.
    pub(super) fn failed_back_test(&self) -> Option<f64> {
        self.back_test.filter(|test| test.is_outside_band).map(|test| test.error)
    }

    pub(super) const fn average(&self) -> Option<&ModelAverage> {
        self.average.as_ref()
    }

    /// Forecasts of all models that can predict `cpus` CPUs.
    pub(super) fn forecasts(&self, cpus: u32) -> Vec<ModelForecast> {
        [self.replay_forecast(cpus), self.form_forecast(cpus)].into_iter().flatten().collect()
    }

    fn replay_forecast(&self, cpus: u32) -> Option<ModelForecast> {
        let ensemble = self.ensemble(cpus)?;
        let (program, replayed) = (ensemble.program(), ensemble.elapsed(cpus));
        let trust = ReplayTrust {
            doublings: doublings(program.cpus, cpus),
            test_error_per_doubling: self.back_test.map(|test| test.error_per_doubling),
            measured_error: ensemble.measured_error(),
            lost_share: program.lost_share,
            has_calls: program.has_calls,
        };
        let sharing = unseen_sharing(self.evidence, &self.evidence.points);
        replayed.into_forecast(replay_error(trust), sharing)
    }

    fn form_forecast(&self, cpus: u32) -> Option<ModelForecast> {
        let average = self.average.as_ref()?;
        let base = self.evidence.points.first()?;
        let alike = self.evidence.alike_points();
        let largest = alike.last()?.cpus;
        let memory = MemoryKnee::new(&self.evidence.memory_speed, alike);
        let range = CapacityRange::for_target(largest, &self.evidence.cpu_kinds, memory.as_ref(), cpus);
        let drawn_time = |(number, draw): (u64, &DrawnModel)| {
            let capacity = range.draw(number);
            DrawnTime {
                weight: draw.weight,
                log_elapsed: draw.model.elapsed_at(capacity.effective_cpus(cpus)).ln(),
                before_knee: !capacity.has_assumed_knee_below(cpus),
            }
        };
        let draws: Vec<DrawnTime> = (0..).zip(&average.draws).map(drawn_time).collect();
        let own_error = form_error(doublings(largest, cpus), base.error);
        ModelForecast::from_draws(model_name(average.best().form), &draws, own_error, None, 0.0)
    }

    /// Name of the closed form with the largest weight.
    pub(super) fn best_form(&self) -> ModelName {
        self.average.as_ref().map_or(ModelName::NoModel, |average| model_name(average.best().form))
    }

    /// Peak of that closed form.
    pub(super) fn form_peak(&self) -> Option<f64> {
        self.average.as_ref()?.peak()
    }

    /// All models; the weight of a closed form is its share among the closed forms.
    pub(super) fn model_views(&self) -> Vec<ModelView> {
        let mut all: Vec<ModelView> = Vec::new();
        if !self.evidence.programs.is_empty() {
            let back_test = self.back_test.map(|test| test.error);
            all.push(ModelView { model: ModelName::Replay, back_test, residual: None, weight: 1.0 });
        }
        for candidate in self.average.iter().flat_map(|average| &average.candidates) {
            let (model, back_test) = (model_name(candidate.form), candidate.back_test);
            // Forms without their distinctive terms are one and the same.
            match all.iter_mut().find(|view| view.model == model) {
                Some(same) => same.weight += candidate.weight,
                None => {
                    let residual = Some(candidate.residual);
                    all.push(ModelView { model, back_test, residual, weight: candidate.weight });
                }
            }
        }
        all
    }
}

/// Number of doublings from one CPU count to another.
fn doublings(from: u32, to: u32) -> f64 {
    (f64::from(to) / f64::from(from)).log2()
}

/// Back-test of the replays: predicts the largest count from the trace on the most CPUs below it.
fn replay_back_test(evidence: &Evidence, largest: MeasuredPoint, noise: f64) -> Option<BackTest> {
    let program = program_for(evidence, largest.cpus - 1, largest.cpus)?;
    let compared = ComparedProgram::new(evidence, program);
    let known: Vec<_> = evidence.points.iter().copied().filter(|p| p.cpus <= program.cpus).collect();
    let replayed = Ensemble::new(evidence, compared, &known)?.elapsed(largest.cpus);
    let doublings = doublings(program.cpus, largest.cpus);
    let trust = ReplayTrust {
        doublings,
        test_error_per_doubling: None,
        measured_error: compared.measured?.error.hypot(largest.error),
        lost_share: program.lost_share,
        has_calls: program.has_calls,
    };
    let forecast = replayed.into_forecast(replay_error(trust), unseen_sharing(evidence, &known))?;
    let joint = JointForecast::combine(&[forecast])?;
    let error = joint.elapsed() / largest.elapsed - 1.0;
    let error_per_doubling = error_beyond_noise(error, noise) / doublings;
    let [least, most] = joint.ends();
    let is_outside_band = !(least..=most).contains(&largest.elapsed);
    Some(BackTest { error, error_per_doubling, is_outside_band })
}
