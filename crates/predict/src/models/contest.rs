//! Choice of the closed form to trust. Three criteria decide: the fit to the measured points, the
//! prediction of the largest point from the smaller ones, and the gain from each added parameter.

use super::{KernelLock, LockShare, Model, Point, Usl};

/// Models fitted to the same points, each with its errors and its weight.
pub struct Contest {
    /// Entries with the simplest model first; never empty.
    pub entries: Vec<Entry>,
}

/// Result of one model in the contest.
pub struct Entry {
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
const EARNS_ITS_PLACE: f64 = 2.0 / 3.0;

/// Fits and weighs all closed forms that the points support.
///
/// `held` is the measured share of lock-held time; without it the share is fitted. `noise` is the
/// relative standard error of a point; differences below it count neither for nor against a model.
/// `None` with fewer than two CPU counts.
///
/// Only one of a model and a richer model that contains it gets a weight: the richer one if its
/// parameters earn their place, otherwise the simpler one. The weight of each remaining model is
/// `1 / (noise² + residual² + back_test²)`, its precision in and out of sample. A model without
/// a back-test gets the root mean square of the other models' back-test errors.
pub fn contest(points: &[Point], held: Option<LockShare>, noise: f64) -> Option<Contest> {
    let largest = *points.iter().max_by_key(|point| point.cpus)?;
    let others: Vec<_> = points.iter().copied().filter(|point| point.cpus < largest.cpus).collect();
    if others.is_empty() {
        return None;
    }
    let error = |model: &dyn Model, at: &Point| model.elapsed(at.cpus) / at.elapsed - 1.0;
    let mut entries: Vec<Entry> = Vec::new();
    for form in [Form::Ideal, Form::Amdahl, Form::KernelLock, Form::Usl] {
        let Some((model, parameters)) = form.fit(points, held) else { continue };
        let squares: f64 = points.iter().map(|point| error(&*model, point).powi(2)).sum();
        let left = points.len() - parameters.min(points.len());
        let residual = if left > 0 { (squares / left as f64).sqrt() } else { 0.0 };
        let back_test = form.fit(&others, held).map(|(model, _)| error(&*model, &largest));
        entries.push(Entry { form, model, parameters, residual, back_test, weight: 1.0 });
    }
    let spread = |entry: &Entry| (noise * noise + entry.residual * entry.residual).sqrt();
    // The simplest model comes first. A model that stays beats each model that it contains, and so
    // refutes them.
    for index in 0..entries.len() {
        let (simpler, richer) = entries.split_at_mut(index);
        let entry = &mut richer[0];
        let contained: Vec<_> = simpler.iter_mut().filter(|other| entry.form.contains(other.form)).collect();
        if contained.iter().all(|other| spread(entry) <= EARNS_ITS_PLACE * spread(other)) {
            contained.into_iter().for_each(|other| other.weight = 0.0);
        } else {
            entry.weight = 0.0;
        }
    }
    let tested: Vec<_> =
        entries.iter().filter(|entry| entry.weight > 0.0).filter_map(|entry| entry.back_test).collect();
    let usual = (tested.iter().map(|error| error * error).sum::<f64>() / tested.len().max(1) as f64).sqrt();
    for entry in entries.iter_mut().filter(|entry| entry.weight > 0.0) {
        let squares = spread(entry).powi(2) + entry.back_test.unwrap_or(usual).powi(2);
        entry.weight = 1.0 / squares.max(f64::MIN_POSITIVE);
    }
    let all: f64 = entries.iter().map(|entry| entry.weight).sum();
    entries.iter_mut().for_each(|entry| entry.weight /= all);
    Some(Contest { entries })
}

impl Form {
    /// Name of the form in the field.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ideal => "ideal",
            Self::Amdahl => "Amdahl",
            Self::Usl => "USL",
            Self::KernelLock => "kernel lock",
        }
    }

    /// Whether this form is `other` with an added parameter. With a measured share the lock model
    /// has no added parameter and contains no other form. It must still earn its place against the
    /// ideal form.
    const fn contains(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Amdahl | Self::KernelLock | Self::Usl, Self::Ideal) | (Self::Usl, Self::Amdahl)
        )
    }

    /// Fits the form and counts the parameters above zero. `None` with fewer points than
    /// parameters.
    fn fit(self, points: &[Point], held: Option<LockShare>) -> Option<(Box<dyn Model>, usize)> {
        let usl = |found: Option<Usl>| {
            let found = found?;
            let parameters = 1 + usize::from(found.alpha > 0.0) + usize::from(found.beta > 0.0);
            Some((Box::new(found) as Box<dyn Model>, parameters))
        };
        let enough = |fewest: usize| points.len() >= fewest;
        match self {
            Self::Ideal => usl(Usl::ideal(points)),
            Self::Amdahl => usl(Usl::amdahl(points).filter(|_| enough(2))),
            Self::Usl => usl(Usl::fit(points).filter(|_| enough(3))),
            Self::KernelLock => {
                let (found, parameters) = match held {
                    Some(share) => (KernelLock::scaled(points, share)?, 1),
                    None => (KernelLock::fit(points).filter(|_| enough(2))?, 2),
                };
                Some((Box::new(found), parameters))
            }
        }
    }
}

impl Contest {
    /// Entry with the largest weight.
    pub fn best(&self) -> &Entry {
        self.entries
            .iter()
            .reduce(|best, entry| if entry.weight > best.weight { entry } else { best })
            .unwrap_or(&self.entries[0])
    }

    /// Disagreement of the weighted models, as a standard deviation of the logarithm of elapsed
    /// time.
    pub fn disagreement(&self, cpus: u32) -> f64 {
        let mean = self.elapsed(cpus).ln();
        let square = |entry: &Entry| entry.weight * (entry.model.elapsed(cpus).ln() - mean).powi(2);
        self.entries.iter().map(square).sum::<f64>().sqrt()
    }
}

impl Model for Contest {
    /// Weighted geometric mean of the models' elapsed times.
    fn elapsed(&self, cpus: u32) -> f64 {
        self.entries.iter().map(|entry| entry.weight * entry.model.elapsed(cpus).ln()).sum::<f64>().exp()
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
    fn the_model_that_made_the_points_has_the_say() {
        let truth = Usl { one: 100.0, alpha: 0.1, beta: 0.0 };
        let points: Vec<_> = [1, 2, 3, 4].map(|cpus| Point::new(cpus, truth.elapsed(cpus))).into();
        let found = contest(&points, None, 0.001).unwrap();
        assert_eq!(found.best().form, Form::Amdahl);
        assert!((found.elapsed(16) / truth.elapsed(16) - 1.0).abs() < 0.03);
        let truth = KernelLock { one: 100.0, share: LockShare(0.2) };
        let points: Vec<_> = [1, 2, 3, 4].map(|cpus| Point::new(cpus, truth.elapsed(cpus))).into();
        assert_eq!(contest(&points, None, 0.001).unwrap().best().form, Form::KernelLock);
    }

    #[test]
    fn noise_earns_no_parameter_a_place() {
        let points = [Point::new(1, 100.0), Point::new(2, 50.3), Point::new(3, 33.4), Point::new(4, 25.1)];
        let found = contest(&points, None, 0.005).unwrap();
        assert_eq!(found.best().form, Form::Ideal);
        assert!(found.best().weight > 0.99);
    }

    #[test]
    fn one_count_is_no_contest() {
        assert!(contest(&[Point::new(2, 1.0)], None, 0.01).is_none());
        assert!(contest(&[], None, 0.01).is_none());
    }
}
