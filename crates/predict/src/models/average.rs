//! Choice of the closed form to trust. Three criteria decide: the fit to the measured points, the
//! prediction of the largest point from the smaller ones, and the gain from each added parameter.

use super::{KernelLock, LockShare, Model, Point, Usl};

/// Models fitted to the same points, each with its errors and its weight.
pub struct ModelAverage {
    /// Entries with the simplest model first; never empty.
    pub candidates: Vec<Candidate>,
}

/// Candidate model with its errors and its weight.
pub struct Candidate {
    /// Form of the model.
    pub form: Form,
    /// Model fitted to all points.
    pub model: Box<dyn Model>,
    /// Number of parameters that the points determine; parameters that the fit set to zero do not
    /// count.
    pub parameters: usize,
    /// Relative error of the fit: root of the sum of squares divided by the residual degrees of
    /// freedom. Zero when no degrees of freedom are left.
    pub residual: f64,
    /// Relative error at the largest point when the model is fitted to all other points. Absent
    /// when those points are too few for the model.
    pub back_test: Option<f64>,
    /// Weight of the model in the prediction; the weights add up to 1. Zero for a model whose added
    /// parameters bring too little, and for a model that a richer one refuted.
    pub weight: f64,
}

/// Closed form of elapsed time against CPU count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Perfect scaling: each CPU helps in full.
    Ideal,
    /// Amdahl's law: part of the work is serial.
    Amdahl,
    /// Universal scalability law: Amdahl's law plus a cost for each pair of CPUs.
    Usl,
    /// Kernel-lock model: all work under the one lock is serialised.
    KernelLock,
}

/// Largest ratio of a richer model's error to the error of each model that it contains. Above this
/// ratio the richer model is dropped. With three or four points, chance alone gives half of the
/// added parameters a gain of a few tenths.
const MAX_ERROR_RATIO: f64 = 2.0 / 3.0;

/// Fits and weighs all closed forms that the points support.
///
/// `lock_share` is the measured share of lock-held time; without it the share is fitted. `noise` is
/// the relative standard error of a point; differences below it count neither for nor against a
/// model. `None` with fewer than two CPU counts.
///
/// Only one of a model and a richer model that contains it gets a weight: the richer one if its
/// parameters reduce the error enough, otherwise the simpler one. The weight of each remaining
/// model is `1 / (noise² + residual² + back_test²)`, its precision in and out of sample. A model
/// without a back-test gets the root mean square of the other models' back-test errors.
pub fn average_models(points: &[Point], lock_share: Option<LockShare>, noise: f64) -> Option<ModelAverage> {
    let largest = *points.iter().max_by_key(|point| point.cpus)?;
    let others: Vec<_> = points.iter().copied().filter(|point| point.cpus < largest.cpus).collect();
    if others.is_empty() {
        return None;
    }
    let error = |model: &dyn Model, point: &Point| model.elapsed(point.cpus) / point.elapsed - 1.0;
    let mut candidates: Vec<Candidate> = Vec::new();
    for form in [Form::Ideal, Form::Amdahl, Form::KernelLock, Form::Usl] {
        let Some((model, parameters)) = form.fit(points, lock_share) else { continue };
        let squares: f64 = points.iter().map(|point| error(&*model, point).powi(2)).sum();
        let left = points.len() - parameters.min(points.len());
        let residual = if left > 0 { (squares / left as f64).sqrt() } else { 0.0 };
        let back_test = form.fit(&others, lock_share).map(|(model, _)| error(&*model, &largest));
        candidates.push(Candidate { form, model, parameters, residual, back_test, weight: 1.0 });
    }
    let spread = |candidate: &Candidate| (noise * noise + candidate.residual * candidate.residual).sqrt();
    // The simplest model comes first. A model that stays beats each model that it contains, and so
    // refutes them.
    for index in 0..candidates.len() {
        let (simpler, richer) = candidates.split_at_mut(index);
        let candidate = &mut richer[0];
        let contained: Vec<_> =
            simpler.iter_mut().filter(|other| candidate.form.contains(other.form)).collect();
        if contained.iter().all(|other| spread(candidate) <= MAX_ERROR_RATIO * spread(other)) {
            contained.into_iter().for_each(|other| other.weight = 0.0);
        } else {
            candidate.weight = 0.0;
        }
    }
    let tested: Vec<_> = candidates
        .iter()
        .filter(|candidate| candidate.weight > 0.0)
        .filter_map(|candidate| candidate.back_test)
        .collect();
    let typical = (tested.iter().map(|error| error * error).sum::<f64>() / tested.len().max(1) as f64).sqrt();
    for candidate in candidates.iter_mut().filter(|candidate| candidate.weight > 0.0) {
        let squares = spread(candidate).powi(2) + candidate.back_test.unwrap_or(typical).powi(2);
        candidate.weight = 1.0 / squares.max(f64::MIN_POSITIVE);
    }
    let all: f64 = candidates.iter().map(|candidate| candidate.weight).sum();
    candidates.iter_mut().for_each(|candidate| candidate.weight /= all);
    Some(ModelAverage { candidates })
}

impl Form {
    /// Whether this form is `other` with an added parameter. With a measured share the lock model
    /// has no added parameter and contains no other form. It must still reduce the error of the
    /// ideal form enough.
    const fn contains(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Amdahl | Self::KernelLock | Self::Usl, Self::Ideal) | (Self::Usl, Self::Amdahl)
        )
    }

    /// Fits the form and counts the parameters above zero. `None` with fewer points than
    /// parameters.
    fn fit(self, points: &[Point], lock_share: Option<LockShare>) -> Option<(Box<dyn Model>, usize)> {
        let usl = |fitted: Option<Usl>| {
            let fitted = fitted?;
            let parameters = 1 + usize::from(fitted.alpha > 0.0) + usize::from(fitted.beta > 0.0);
            Some((Box::new(fitted) as Box<dyn Model>, parameters))
        };
        let enough = |fewest: usize| points.len() >= fewest;
        match self {
            Self::Ideal => usl(Usl::ideal(points)),
            Self::Amdahl => usl(Usl::amdahl(points).filter(|_| enough(2))),
            Self::Usl => usl(Usl::fit(points).filter(|_| enough(3))),
            Self::KernelLock => {
                let (fitted, parameters) = match lock_share {
                    Some(share) => (KernelLock::fit_time(points, share)?, 1),
                    None => (KernelLock::fit(points).filter(|_| enough(2))?, 2),
                };
                Some((Box::new(fitted), parameters))
            }
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

    /// Disagreement of the weighted models, as a standard deviation of the logarithm of elapsed
    /// time.
    pub fn disagreement(&self, cpus: u32) -> f64 {
        let mean = self.elapsed(cpus).ln();
        let square =
            |candidate: &Candidate| candidate.weight * (candidate.model.elapsed(cpus).ln() - mean).powi(2);
        self.candidates.iter().map(square).sum::<f64>().sqrt()
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

    #[test]
    fn true_model_has_the_largest_weight() {
        let truth = Usl { one_cpu_elapsed: 100.0, alpha: 0.1, beta: 0.0 };
        let points: Vec<_> = [1, 2, 3, 4].map(|cpus| Point::new(cpus, truth.elapsed(cpus))).into();
        let fitted = average_models(&points, None, 0.001).unwrap();
        assert_eq!(fitted.best().form, Form::Amdahl);
        assert!((fitted.elapsed(16) / truth.elapsed(16) - 1.0).abs() < 0.03);
        let truth = KernelLock { one_cpu_elapsed: 100.0, share: LockShare(0.2) };
        let points: Vec<_> = [1, 2, 3, 4].map(|cpus| Point::new(cpus, truth.elapsed(cpus))).into();
        assert_eq!(average_models(&points, None, 0.001).unwrap().best().form, Form::KernelLock);
    }

    #[test]
    fn noise_adds_no_parameter() {
        let points = [Point::new(1, 100.0), Point::new(2, 50.3), Point::new(3, 33.4), Point::new(4, 25.1)];
        let fitted = average_models(&points, None, 0.005).unwrap();
        assert_eq!(fitted.best().form, Form::Ideal);
        assert!(fitted.best().weight > 0.99);
    }

    #[test]
    fn one_count_gives_no_average() {
        assert!(average_models(&[Point::new(2, 1.0)], None, 0.01).is_none());
        assert!(average_models(&[], None, 0.01).is_none());
    }
}
