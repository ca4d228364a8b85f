//! Closed forms fitted to the same points, each with its weight, and the fits to points that the
//! measurement could as well have shown.
//!
//! No form is excluded: noise hides the difference between a form and one that contains it, and a
//! prediction without the richer form would be bolder the less is known.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, Normal};

use super::{Ceiling, KernelLock, Model, Point, Usl};

/// Models fitted to the same points, each with its errors and its weight.
pub struct ModelAverage {
    /// Entries with the simplest model first; never empty. Their weights add up to 1.
    pub candidates: Vec<Candidate>,
    /// Fits to points with drawn errors, of all forms together; never empty.
    pub draws: Vec<DrawnModel>,
}

/// Candidate model with its errors and its weight.
pub struct Candidate {
    /// Form of the fitted model. A form without its distinctive term is the form that is left: a
    /// lock that is never held is the ideal form.
    pub form: Form,
    /// Model fitted to all points.
    pub model: Box<dyn Model>,
    /// Relative error of the fit: root of the sum of squares divided by the residual degrees of
    /// freedom. Zero when no degrees of freedom are left.
    pub residual: f64,
    /// Relative error at the largest point when the model is fitted to all other points. Absent
    /// when those points are too few for the model.
    pub back_test: Option<f64>,
    /// Weight of the model in the prediction; never zero, except for a model that the points
    /// refute beyond the range of numbers.
    pub weight: f64,
}

/// Model fitted to one draw of the points.
pub struct DrawnModel {
    /// Weight of the draw, in the unit of the other draws' weights.
    pub weight: f64,
    /// Form that was fitted; its distinctive term may be absent.
    pub form: Form,
    /// Fitted model.
    pub model: Box<dyn Model>,
}

/// Closed form of elapsed time against CPU count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Perfect scaling: each CPU helps in full.
    Ideal,
    /// Amdahl's law: part of the work is serial.
    Amdahl,
    /// Kernel-lock model: all work under the one lock is serialised.
    KernelLock,
    /// Ceiling: every CPU helps in full until the longest chain of work, or the number of threads,
    /// is the limit.
    Ceiling,
    /// Universal scalability law: Amdahl's law plus a cost for each pair of CPUs.
    Usl,
}

/// Forms that are fitted. The ideal form is no form of its own: the others without their
/// distinctive terms are ideal.
const FITTED: [Form; 4] = [Form::Amdahl, Form::KernelLock, Form::Ceiling, Form::Usl];

/// Number of draws of the points.
const DRAWS: u64 = 100;

/// Fits and weighs all closed forms that the points support. `None` with fewer than two CPU
/// counts.
///
/// The weight of a form is its likelihood at its best fit, times its prior odds. The noise of the
/// likelihood is the root mean square of the points' errors, or `least_noise` if that is larger. If
/// no form fits to within the noise, the noise is that of the form that fits best.
pub fn average_models(points: &[Point], least_noise: f64) -> Option<ModelAverage> {
    let largest = *points.iter().max_by_key(|point| point.cpus)?;
    let others: Vec<_> = points.iter().copied().filter(|point| point.cpus < largest.cpus).collect();
    if others.is_empty() {
        return None;
    }
    let noise = root_mean_square(points.iter().map(|point| point.error).filter(|error| *error > 0.0));
    let noise = noise.max(least_noise);
    let fits: Vec<(Form, Fit)> = FITTED.iter().filter_map(|form| Some((*form, form.fit(points)?))).collect();
    let least = fits.iter().filter_map(|(_, fit)| fit.reduced_square(points)).fold(f64::INFINITY, f64::min);
    let inflation = if least.is_finite() { (least.sqrt() / noise).max(1.0) } else { 1.0 };
    let weight = |(form, fit): &(Form, Fit)| {
        form.prior_odds() * (-0.5 * fit.square(points) / (noise * inflation).powi(2)).exp()
    };
    let weights: Vec<f64> = fits.iter().map(weight).collect();
    let all: f64 = weights.iter().sum();
    let draws = draw_models(points, &fits, &weights, least_noise, inflation);
    let candidate = |((form, fit), weight): ((Form, Fit), f64)| Candidate {
        form: fit.form,
        residual: fit.reduced_square(points).map_or(0.0, f64::sqrt),
        back_test: form.fit(&others).map(|other| relative_error(&*other.model, &largest)),
        model: fit.model,
        weight: weight / all,
    };
    let candidates = fits.into_iter().zip(weights).map(candidate).collect();
    Some(ModelAverage { candidates, draws })
}

/// Fits of each form to the points with drawn errors.
///
/// The errors of the first point are those of the scale of all times, so they are not drawn. A fit
/// without its distinctive term counts for Amdahl's law alone, which contains it.
fn draw_models(
    points: &[Point],
    fits: &[(Form, Fit)],
    weights: &[f64],
    least_noise: f64,
    inflation: f64,
) -> Vec<DrawnModel> {
    let normal = Normal::standard();
    let mut draws = Vec::new();
    for number in 0..DRAWS {
        let mut rng = ChaCha8Rng::seed_from_u64(number);
        let with_error = |point: &Point| {
            // Values at the ends of the distribution would be those of one draw alone.
            let deviate = normal.inverse_cdf(rng.random_range(0.001..0.999));
            let error = inflation * point.error.max(least_noise);
            Point { elapsed: point.elapsed * (error * deviate).exp(), ..*point }
        };
        let drawn: Vec<Point> =
            points[..1].iter().copied().chain(points[1..].iter().map(with_error)).collect();
        for ((form, _), weight) in fits.iter().zip(weights) {
            let found = form.fit(&drawn).filter(|fit| *form == Form::Amdahl || fit.form == *form);
            draws.extend(found.map(|fit| DrawnModel { weight: *weight, form: *form, model: fit.model }));
        }
    }
    draws
}

fn relative_error(model: &dyn Model, point: &Point) -> f64 {
    model.elapsed(point.cpus) / point.elapsed - 1.0
}

fn root_mean_square(values: impl Iterator<Item = f64>) -> f64 {
    let (count, squares) = values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value * value));
    if count > 0.0 { (squares / count).sqrt() } else { 0.0 }
}

/// Fitted form.
struct Fit {
    model: Box<dyn Model>,
    /// Form that the terms above zero make.
    form: Form,
    /// Number of parameters above zero.
    parameters: usize,
}

impl Fit {
    fn from_usl(model: Usl) -> Self {
        let form = match (model.alpha > 0.0, model.beta > 0.0) {
            (_, true) => Form::Usl,
            (true, false) => Form::Amdahl,
            (false, false) => Form::Ideal,
        };
        let parameters = 1 + usize::from(model.alpha > 0.0) + usize::from(model.beta > 0.0);
        Self { model: Box::new(model), form, parameters }
    }

    /// Fit of a form with one parameter besides the scale. It is ideal if the parameter does
    /// nothing at the fitted points.
    fn with_share(model: Box<dyn Model>, form: Form, acts: bool) -> Self {
        let (form, parameters) = if acts { (form, 2) } else { (Form::Ideal, 1) };
        Self { model, form, parameters }
    }

    /// Sum of the squares of the relative errors.
    fn square(&self, points: &[Point]) -> f64 {
        points.iter().map(|point| relative_error(&*self.model, point).powi(2)).sum()
    }

    /// Sum of squares by residual degree of freedom; absent when none is left.
    fn reduced_square(&self, points: &[Point]) -> Option<f64> {
        let left = points.len().checked_sub(self.parameters).filter(|left| *left > 0)?;
        Some(self.square(points) / left as f64)
    }
}

impl Form {
    /// Odds of the form before the points are known: one half for each parameter beyond the two of
    /// Amdahl's law, and one half for a ceiling inside the measured counts. The values are choices.
    const fn prior_odds(self) -> f64 {
        match self {
            Self::Ideal | Self::Amdahl | Self::KernelLock => 1.0,
            Self::Ceiling | Self::Usl => 0.5,
        }
    }

    /// Fits the form to the points. `None` with fewer points than parameters, and for a ceiling
    /// with two points: it would be a ceiling at what they show.
    fn fit(self, points: &[Point]) -> Option<Fit> {
        let enough = points.len() >= self.least_points();
        match self {
            Self::Ideal => None,
            Self::Amdahl => Usl::amdahl(points).filter(|_| enough).map(Fit::from_usl),
            Self::Usl => Usl::fit(points).filter(|_| enough).map(Fit::from_usl),
            Self::KernelLock => {
                let found = KernelLock::fit(points).filter(|_| enough)?;
                Some(Fit::with_share(Box::new(found), self, found.share > 0.0))
            }
            Self::Ceiling => {
                let found = Ceiling::fit(points).filter(|_| enough)?;
                let largest = points.iter().map(|point| point.cpus).max()?;
                Some(Fit::with_share(Box::new(found), self, found.most_cpus < f64::from(largest)))
            }
        }
    }

    /// Fewest points that determine the form.
    const fn least_points(self) -> usize {
        match self {
            Self::Ideal => 1,
            Self::Amdahl | Self::KernelLock => 2,
            Self::Ceiling | Self::Usl => 3,
        }
    }
}

impl ModelAverage {
    /// Entry with the largest weight.
    pub fn best(&self) -> &Candidate {
        self.candidates
            .iter()
            .reduce(|best, candidate| if candidate.weight > best.weight { candidate } else { best })
            .unwrap_or(&self.candidates[0])
    }
}

impl Model for ModelAverage {
    /// Weighted geometric mean of the models' elapsed times.
    fn elapsed(&self, cpus: u32) -> f64 {
        self.candidates
            .iter()
            .map(|candidate| candidate.weight * candidate.model.elapsed(cpus).ln())
            .sum::<f64>()
            .exp()
    }

    /// Peak of the model with the largest weight.
    fn peak(&self) -> Option<f64> {
        self.best().model.peak()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points_of(truth: &dyn Model, counts: &[u32], error: f64) -> Vec<Point> {
        counts.iter().map(|cpus| Point::new(*cpus, truth.elapsed(*cpus)).with_error(error)).collect()
    }

    #[test]
    fn true_model_has_the_largest_weight() {
        let truth = Usl { one_cpu_elapsed: 100.0, alpha: 0.1, beta: 0.0 };
        let fitted = average_models(&points_of(&truth, &[1, 2, 3, 4], 0.001), 0.001).unwrap();
        assert_eq!(fitted.best().form, Form::Amdahl);
        assert!((fitted.elapsed(16) / truth.elapsed(16) - 1.0).abs() < 0.03);
        let truth = KernelLock { one_cpu_elapsed: 100.0, share: 0.2 };
        let fitted = average_models(&points_of(&truth, &[1, 2, 3, 4], 0.001), 0.001).unwrap();
        assert_eq!(fitted.best().form, Form::KernelLock);
        let truth = Ceiling { one_cpu_elapsed: 100.0, most_cpus: 2.5 };
        let fitted = average_models(&points_of(&truth, &[1, 2, 3, 4], 0.001), 0.001).unwrap();
        assert_eq!(fitted.best().form, Form::Ceiling);
        assert!((fitted.elapsed(64) / truth.elapsed(64) - 1.0).abs() < 0.01);
    }

    /// With noise, a serial fraction of 5% is as likely as none. The draws hold both.
    #[test]
    fn noise_does_not_remove_the_serial_fraction() {
        for error in [0.01, 0.05, 0.1] {
            let truth = Usl { one_cpu_elapsed: 100.0, alpha: 0.05, beta: 0.0 };
            let fitted = average_models(&points_of(&truth, &[1, 2], error), 0.002).unwrap();
            let speedup = |model: &dyn Model| model.elapsed(1) / model.elapsed(64);
            assert!(speedup(&fitted) < 20.0, "{error}: {}", speedup(&fitted));
            let all: f64 = fitted.draws.iter().map(|draw| draw.weight).sum();
            let bold = fitted.draws.iter().filter(|draw| speedup(&*draw.model) > 60.0);
            let bold = bold.map(|draw| draw.weight).sum::<f64>() / all;
            assert!(bold < 0.5 && (bold > 0.05) == (error > 0.01), "{error}: {bold}");
        }
    }

    #[test]
    fn form_without_its_term_is_the_ideal_form() {
        let points: Vec<_> = [(1, 100.0), (2, 49.0), (4, 24.0)].map(|(n, t)| Point::new(n, t)).into();
        let fitted = average_models(&points, 0.005).unwrap();
        assert!(fitted.candidates.iter().all(|candidate| candidate.form == Form::Ideal));
        assert!(fitted.draws.iter().all(|draw| draw.model.elapsed(8) > 10.0));
    }

    #[test]
    fn one_count_gives_no_average() {
        assert!(average_models(&[Point::new(2, 1.0)], 0.01).is_none());
        assert!(average_models(&[], 0.01).is_none());
    }
}
