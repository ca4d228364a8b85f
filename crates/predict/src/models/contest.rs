//! Which closed form to trust: by how well it fits the measured points, by how well, fitted to the smaller ones, it predicts the
//! largest, and by whether its parameters earn their place.

use super::{KernelLock, LockShare, Model, Point, Usl};

/// Models that were fitted to the same points, each with what it has to say for itself.
pub struct Contest {
    /// The simplest first; never empty.
    pub entries: Vec<Entry>,
}

/// One model.
pub struct Entry {
    /// Which.
    pub form: Form,
    /// Fitted to all points.
    pub model: Box<dyn Model>,
    /// How many of its parameters the points told: those that came out as zero are not among them.
    pub parameters: usize,
    /// Its relative error: root of the sum of squares in the fit over the points that are left to test it. Zero where none
    /// are left.
    pub residual: f64,
    /// Relative error at the largest point of the same model fitted to all others; absent where those are too few for it.
    pub back_test: Option<f64>,
    /// Its share in the prediction; all together are 1. Zero for one whose parameters did not earn their place, and for one
    /// that a richer one refuted.
    pub weight: f64,
}

/// A closed form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Each CPU helps in full.
    Ideal,
    /// A part of the work is not divided.
    Amdahl,
    /// And each pair of CPUs costs something.
    Usl,
    /// All work that takes the one lock waits for each other.
    KernelLock,
}

/// A richer model has to be more exact than each one it contains by this factor. Of three or four points, chance alone gives half
/// of the added parameters a gain of a few tenths.
const EARNS_ITS_PLACE: f64 = 2.0 / 3.0;

/// All closed forms that the points can bear, weighed. `held` is the share of lock-held time where it was measured: otherwise
/// it is fitted. `noise` is the relative standard error of a point: differences below it say nothing for or against a model.
/// `None` with fewer than two counts.
///
/// Of a model and a richer one that contains it, one is weighed: the richer one where its parameters earn their place. All that
/// are left are weighed by `1 / (noise² + residual² + back_test²)`: the precision with which they
/// were right in and out of sample. One that the smaller counts cannot bear is taken to fail the back-test as the others do.
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
    // The simplest first: who stays has beaten each model that it contains, and those are refuted by that.
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
    /// The field's name for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ideal => "ideal",
            Self::Amdahl => "Amdahl",
            Self::Usl => "USL",
            Self::KernelLock => "kernel lock",
        }
    }

    /// Whether it is `other` with a parameter more. With a measured share the lock model contains none, but then it has no
    /// parameter more either and has to earn its place all the same.
    const fn contains(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Amdahl | Self::KernelLock | Self::Usl, Self::Ideal) | (Self::Usl, Self::Amdahl)
        )
    }

    /// Fitted, and how many parameters came out as more than nothing; `None` where there are fewer points than parameters.
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
    /// The one with the largest weight.
    pub fn best(&self) -> &Entry {
        self.entries
            .iter()
            .reduce(|best, entry| if entry.weight > best.weight { entry } else { best })
            .unwrap_or(&self.entries[0])
    }

    /// How far, as a standard deviation of the logarithm, the models that have a say are apart.
    pub fn disagreement(&self, cpus: u32) -> f64 {
        let mean = self.elapsed(cpus).ln();
        let square = |entry: &Entry| entry.weight * (entry.model.elapsed(cpus).ln() - mean).powi(2);
        self.entries.iter().map(square).sum::<f64>().sqrt()
    }
}

impl Model for Contest {
    /// The weighted geometric mean of what they say.
    fn elapsed(&self, cpus: u32) -> f64 {
        self.entries.iter().map(|entry| entry.weight * entry.model.elapsed(cpus).ln()).sum::<f64>().exp()
    }

    /// Of the one with the largest weight.
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
